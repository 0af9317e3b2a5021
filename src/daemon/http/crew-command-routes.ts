// What people say to a crew, as a route and the schema of what it takes. Test: test/e2e/crew.test.ts, test/e2e/openapi.test.ts.
import { z } from 'zod'
import { taskIdRule } from '../../config/crew-tasks.ts'
import { of } from './exact.ts'
import { route, type Route } from './route.ts'
import type { CrewCommandBody } from '../../api/crew-views.ts'

const MAX_TEXT = 100_000
const text = z.string().trim().min(1).max(MAX_TEXT)
const reason = z.string().trim().min(1).max(2_000)
const task = z.string().min(1).max(40)
const member = z.string().regex(/^(worker|coordinator)(-\d{1,9})?$/, 'must be the id of a member, such as worker-1')

const command = of<CrewCommandBody>()(z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('add_task'), id: taskIdRule.exactOptional(), title: z.string().trim().min(1).max(200).exactOptional(), text, acceptance: text.exactOptional(),
    needs: z.array(taskIdRule).max(500).exactOptional(), kind: z.enum(['work', 'human']).exactOptional(), role: z.enum(['generic', 'implementer', 'researcher']).exactOptional(), reviews: z.boolean().exactOptional(),
  }),
  z.strictObject({ type: z.literal('spawn_worker'), role: z.enum(['generic', 'implementer', 'reviewer', 'researcher']) }),
  z.strictObject({ type: z.literal('assign_task'), task, member }),
  z.strictObject({ type: z.literal('assign_review'), task, member }),
  z.strictObject({ type: z.literal('approve_commit'), task }),
  z.strictObject({ type: z.literal('send_message'), to: z.union([member, z.literal('all')]), text, task: task.exactOptional() }),
  z.strictObject({ type: z.literal('replace_worker'), member, summary: text }),
  z.strictObject({ type: z.literal('retire_worker'), member, reason }),
  z.strictObject({ type: z.literal('stop_worker'), member, reason }),
  z.strictObject({ type: z.literal('cancel_task'), task, reason, requeue: z.boolean() }),
  z.strictObject({ type: z.literal('mark_task_done'), task, reason }),
  z.strictObject({ type: z.literal('mark_task_failed'), task, reason }),
  z.strictObject({ type: z.literal('notify_user'), text: reason }),
  z.strictObject({ type: z.literal('complete_crew'), summary: text, outcome: z.enum(['completed', 'failed', 'cancelled']) }),
]))

export const CREW_COMMANDS: readonly Route[] = [
  route({
    id: 'tellCrew', method: 'POST', path: '/v1/crews/:ref/commands', summary: 'Says something to a crew, as a person: a task for it, who is to do one, a message, its end.', body: command, answer: 'crewSteer',
    errors: ['CONFLICT', 'PERMISSION', 'RESOURCE_EXHAUSTED', 'DISK_FULL', 'READ_ONLY'], example: { type: 'assign_task', task: 'lexer', member: 'worker-1' },
    handle: ({ crews }, { ref, body }) => crews.steer(ref, body),
  }),
]
