// Schemas of the start of a crew and of its plan, for src/api/views/crew-up.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { taskLimits } from '../../../../config/crew/tasks.ts'
import { limitsRule } from '../../../../config/limit-rules.ts'
import { WORKER_ROLES } from '../../../../kernel/model/crew/words.ts'
import { PERMISSION_POLICIES } from '../../../../kernel/model/words.ts'
import { role, rules } from './crew.ts'
import { count, text, texts, time, version } from '../fields.ts'
import { process } from '../process.ts'

const command = z.object({ command: z.union([text, texts]), timeoutMs: count.exactOptional() }).nullable()

const plannedTask = z.object({
  id: text,
  title: text,
  kind: z.enum(['work', 'human']),
  role: text.nullable(),
  needs: texts,
  reviews: z.boolean(),
  priority: z.int(),
  limits: taskLimits.nullable(),
  agent: text.nullable().describe('the agent that the task names; null: the agent of its role'),
  model: text.nullable(),
  by: z
    .object({ role: z.enum(WORKER_ROLES), agent: text, model: text.nullable() })
    .nullable()
    .describe('the worker that would do the task; null: none, or not known yet'),
  verify: command.describe('the command that must pass for the task; null: none'),
  takenOver: z.boolean().describe('true: an earlier crew has finished the task'),
  commit: text.nullable(),
  again: text.nullable().describe('why a task that an earlier crew has done is done again; null: it is not'),
})

const plannedMember = z.object({
  role,
  count,
  agent: text,
  model: text.nullable(),
  permissions: z.enum(PERMISSION_POLICIES).nullable(),
  limits: limitsRule,
  verify: command.describe('the command that must pass for the work of this role'),
})

const crewPlan = z
  .object({
    version,
    name: text,
    cwd: text,
    branch: text.nullable().describe('the branch of the crew; null: it works without a repository'),
    base: text.nullable(),
    ...rules,
    stay: z.boolean(),
    maxAttempts: count,
    maxWorkers: count,
    verify: command,
    setup: command,
    copy: texts,
    copied: texts.describe('the files that match `copy` and `.worktreeinclude` now, which each worktree would get'),
    limits: limitsRule.describe('limits of all members together'),
    members: z.array(plannedMember),
    tasks: z.array(plannedTask).describe('the tasks, in the order in which they would be assigned'),
    from: z
      .object({ uuid: text, pid: count, name: text.nullable(), endedAt: time.nullable() })
      .nullable()
      .describe('the earlier crew whose finished tasks are taken over; null: none'),
    notes: texts,
  })
  .describe('The crew that the same request to /v1/crews would start. Nothing is started or created.')

const crewUp = z.object({
  version,
  process,
  branch: text.nullable(),
  base: text.nullable(),
  tasks: count,
  notes: texts.describe('remarks about the start for the user'),
})

export const crewUpAnswers = { crewUp, crewPlan }

export const CREW_UP_TYPES = {
  PlannedTaskView: plannedTask,
  PlannedMemberView: plannedMember,
  CrewPlanView: crewPlan,
  CrewUpView: crewUp,
}
