// Schemas of API requests that start and show crews: one zod schema for each body and each query. ../schemas.ts has the other requests.
// Test: test/e2e/crew/up.test.ts.
import { z } from 'zod'
import { limitsRule } from '../../../config/limit-rules.ts'
import { MAX_WORKERS } from '../../../config/crew/crews.ts'
import { copyPatterns } from '../../../config/crew/copy-patterns.ts'
import { commandArgv, commandLine, MAX_COMMAND_MS } from '../../../config/crew/shell-commands.ts'
import { MAX_NEW_TASKS, taskIdRule, taskLimits } from '../../../config/crew/tasks.ts'
import { dir, env, flag } from '../schemas.ts'
import { COMMIT_GATES, MERGE_MODES, TASK_ROLES, WORKER_ROLES, type WorkerRole } from '../../../kernel/model/crew/words.ts'
import { PERMISSION_POLICIES } from '../../../kernel/model/words.ts'

const MAX_TEXT_CHARS = 100_000

const roleAgentFields = {
  agent: z.string().min(1).max(200).exactOptional(),
  model: z.string().min(1).max(1_000).exactOptional(),
  permissions: z.enum(PERMISSION_POLICIES).exactOptional().describe('the answer to permission requests of the agent'),
  limits: limitsRule.exactOptional(),
}
const roleAgent = z.strictObject(roleAgentFields).describe('The agent and model of a role; absent fields: as for the crew.')
const count = z.int().min(0).max(MAX_WORKERS)
const optionalCount = count.exactOptional()
const countOfRole = Object.fromEntries(WORKER_ROLES.map((role) => [role, optionalCount])) as Readonly<
  Record<WorkerRole, typeof optionalCount>
>

const run = z
  .strictObject({
    command: z.union([commandLine, commandArgv]),
    timeoutMs: z.int().min(1).max(MAX_COMMAND_MS).exactOptional().describe('default: 10 minutes'),
  })
  .describe('A command that reeve runs in the files of a worker: a text runs in a shell, a list runs directly.')
export const crewCommandSettings = z.union([z.literal(false), run])

/** A task in the request that starts a crew. */
export const crewTask = z.strictObject({
  id: taskIdRule.exactOptional().describe('default: `task-N`'),
  title: z.string().trim().min(1).max(200).exactOptional().describe('default: the first line of the text'),
  text: z.string().trim().min(1).max(MAX_TEXT_CHARS),
  acceptance: z.string().trim().min(1).max(MAX_TEXT_CHARS).exactOptional(),
  needs: z.array(taskIdRule).max(MAX_NEW_TASKS).exactOptional(),
  kind: z.enum(['work', 'human']).exactOptional().describe('`human`: a question for the user, whose answer is the result'),
  role: z.enum(TASK_ROLES).exactOptional().describe('the role of its worker; a researcher answers the task, and commits nothing'),
  reviews: z.boolean().exactOptional(),
  verify: crewCommandSettings.exactOptional().describe('the verify command, which replaces that of the crew; false: no command'),
  priority: z
    .int()
    .min(-1_000)
    .max(1_000)
    .exactOptional()
    .describe('tasks with a higher priority are assigned, reviewed and merged first; default: 0'),
  limits: taskLimits.exactOptional().describe('limits of one attempt, with its reviews; an attempt that exceeds a limit fails'),
  agent: z
    .string()
    .min(1)
    .max(500)
    .exactOptional()
    .describe('the agent that does the task, which replaces the agent of its role; without `model` it uses its own model'),
  model: z.string().min(1).max(500).exactOptional(),
})

export const crewUpBody = z
  .strictObject({
    ...roleAgentFields,
    crew: z
      .string()
      .min(1)
      .max(64)
      .exactOptional()
      .describe(
        'the name of a crew in `file`, else in the nearest reeve.yaml, else in the configuration of the user; default: the only crew there',
      ),
    file: dir.exactOptional().describe('the file that defines the crew'),
    name: z.string().min(1).max(64).exactOptional().describe('default: the name of the crew'),
    cwd: dir,
    env: env.exactOptional(),
    coordinator: z
      .union([z.string().min(1).max(200), roleAgent])
      .exactOptional()
      .describe('`engine` (the default: rules without a model), the name of an agent, or the settings of an agent'),
    workers: z
      .union([count, z.strictObject(countOfRole)])
      .exactOptional()
      .describe('the number of workers, or of each role'),
    gate: z.enum(COMMIT_GATES).exactOptional(),
    merge: z.enum(MERGE_MODES).exactOptional(),
    reviews: z.boolean().exactOptional(),
    worktrees: z.boolean().exactOptional(),
    stay: z.boolean().exactOptional(),
    anew: z.boolean().exactOptional().describe('true: does all tasks, even those that an earlier crew of this name has finished'),
    verify: crewCommandSettings
      .exactOptional()
      .describe('the command that checks a task before its review and before its merge; false: no check'),
    setup: crewCommandSettings
      .exactOptional()
      .describe('the command that runs once in each new worktree, before its worker starts; false: no setup'),
    copy: copyPatterns
      .exactOptional()
      .describe('patterns, as in `.gitignore`, of ignored files that are copied from the checkout into each new worktree'),
    maxAttempts: z.int().min(1).max(100).exactOptional(),
    maxWorkers: z.int().min(1).max(MAX_WORKERS).exactOptional(),
    handOver: z
      .number()
      .gt(0.1)
      .lte(1)
      .nullable()
      .exactOptional()
      .describe('the share of its context window at which a worker hands its task over to a successor; null: never'),
    tasks: z
      .union([dir, z.array(crewTask).min(1).max(MAX_NEW_TASKS)])
      .exactOptional()
      .describe('the absolute path of a task file, or the tasks themselves'),
  })
  .describe('POST /v1/crews. Starts a crew of a file, with overrides, or a crew that only the body defines.')

/** Bodies by the names of their types in src/api/views/crew-up.ts. */
export const CREW_UP_BODIES = {
  CrewWhoBody: roleAgent,
  CrewRunBody: run,
  CrewTaskLimits: taskLimits,
  CrewTaskBody: crewTask,
  CrewUpBody: crewUpBody,
}

export const rolesQuery = z.strictObject({ cwd: dir })
export const crewsQuery = z.strictObject({ all: flag.optional() })
export const taskQuery = z.strictObject({ id: z.string().min(1).max(200) })
