// The route for the user's commands to a crew, and the schema of these commands.
// Test: test/e2e/crew/crew.test.ts, test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { MAX_NEW_TASKS, taskIdRule, taskLimits } from '../../../config/crew/tasks.ts'
import { crewCommandSettings } from './schemas.ts'
import { defineRoute, type ApiRoute } from '../route.ts'
import { CREW_OUTCOMES, TASK_ROLES, WORKER_ROLES } from '../../../kernel/model/crew/words.ts'

const MAX_TEXT_CHARS = 100_000
const text = z.string().trim().min(1).max(MAX_TEXT_CHARS)
const reason = z.string().trim().min(1).max(2_000)
const shortText = z.string().trim().min(1).max(500)
const task = z.string().min(1).max(40)
const priority = z.int().min(-1_000).max(1_000).describe('tasks with a higher priority come first; default: 0')
const member = z.string().regex(/^(worker|coordinator)(-\d{1,9})?$/, 'must be the id of a member, such as worker-1')
const line = z
  .strictObject({ file: z.string().min(1).max(4_096), line: z.int().min(1).max(1e9), text: z.string().trim().min(1).max(4_000) })
  .describe('A comment on a line of a change; `line` counts from 1, in the file after the change.')
const lines = z.array(line).max(100)

const command = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('add_task'),
      id: taskIdRule.exactOptional(),
      title: z.string().trim().min(1).max(200).exactOptional(),
      text,
      acceptance: text.exactOptional(),
      needs: z.array(taskIdRule).max(MAX_NEW_TASKS).exactOptional(),
      kind: z.enum(['work', 'human']).exactOptional(),
      role: z.enum(TASK_ROLES).exactOptional(),
      reviews: z.boolean().exactOptional(),
      verify: crewCommandSettings.exactOptional(),
      priority: priority.exactOptional(),
      limits: taskLimits.exactOptional(),
      agent: shortText.exactOptional(),
      model: shortText.exactOptional(),
    }),
    z.strictObject({
      type: z.literal('spawn_worker'),
      role: z.enum(WORKER_ROLES),
      task: task.exactOptional(),
    }),
    z.strictObject({ type: z.literal('assign_task'), task, member }),
    z.strictObject({ type: z.literal('assign_review'), task, member }),
    z.strictObject({ type: z.literal('approve_commit'), task }),
    z.strictObject({ type: z.literal('deny_task'), task, reason: text.exactOptional(), lines: lines.exactOptional() }),
    z.strictObject({
      type: z.literal('send_message'),
      to: z.union([member, z.literal('all')]),
      text,
      task: task.exactOptional(),
      now: z.boolean().exactOptional(),
    }),
    z.strictObject({ type: z.literal('replace_worker'), member, summary: text }),
    z.strictObject({ type: z.literal('retire_worker'), member, reason }),
    z.strictObject({ type: z.literal('stop_worker'), member, reason }),
    z.strictObject({ type: z.literal('cancel_task'), task, reason, requeue: z.boolean() }),
    z.strictObject({ type: z.literal('retry_task'), task }),
    z.strictObject({ type: z.literal('reopen_task'), task, comments: text.exactOptional(), lines: lines.exactOptional() }),
    z.strictObject({
      type: z.literal('edit_task'),
      task,
      title: z.string().trim().min(1).max(200).exactOptional(),
      text: text.exactOptional(),
      acceptance: text.exactOptional(),
      needs: z.array(taskIdRule).max(MAX_NEW_TASKS).exactOptional(),
      role: z.enum(TASK_ROLES).exactOptional(),
      reviews: z.boolean().exactOptional(),
      limits: taskLimits.describe('replaces all limits of the task').exactOptional(),
      agent: shortText.nullable().describe('replaces agent and model of the task; null: those of its role').exactOptional(),
      model: shortText.nullable().exactOptional(),
    }),
    z.strictObject({ type: z.literal('set_priority'), task, priority: priority.exactOptional(), before: task.exactOptional() }),
    z.strictObject({ type: z.literal('mark_task_done'), task, reason }),
    z.strictObject({ type: z.literal('mark_task_failed'), task, reason }),
    z.strictObject({ type: z.literal('notify_user'), text: reason }),
    z.strictObject({ type: z.literal('complete_crew'), summary: text, outcome: z.enum(CREW_OUTCOMES) }),
  ])
  .describe('POST /v1/crews/:ref/commands: a command of the user to a crew.')

/** The bodies by the names of their types in src/api/views. */
export const CREW_COMMAND_BODIES = { LineCommentBody: line, CrewCommandBody: command }

export const CREW_COMMAND_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'tellCrew',
    method: 'POST',
    path: '/v1/crews/:ref/commands',
    right: 'steer',
    summary: 'Sends a command to a crew in the name of the user: adds or assigns a task, sends a message, ends the crew.',
    body: command,
    answer: 'crewSteer',
    errors: ['CONFLICT', 'PERMISSION', 'RESOURCE_EXHAUSTED', 'DISK_FULL', 'READ_ONLY'],
    example: { type: 'assign_task', task: 'lexer', member: 'worker-1' },
    handle: ({ crews, via }, { ref, body }) => crews.runUserCommand(ref, body, via),
  }),
]
