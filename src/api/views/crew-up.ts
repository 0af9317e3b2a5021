// The JSON of the API: the start of a crew, its plan, and the roles of crews. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/crew/up.test.ts.
import type { CommitGate, Role, TaskRole, WorkerRole } from '../../kernel/model/crew/words.ts'
import type { Limits, PermissionPolicy } from '../../kernel/model/words.ts'
import type { ProcessView } from './process.ts'

/** The agent and model of a role; absent fields: as for the crew. */
export interface CrewWhoBody {
  agent?: string
  model?: string
  /** the answer to permission requests of the agent */
  permissions?: PermissionPolicy
  limits?: Limits
}

/** A command that reeve runs in the files of a worker: a text runs in a shell, a list runs directly. */
export interface CrewRunBody {
  command: string | string[]
  /** default: 10 minutes */
  timeoutMs?: number
}

export interface CrewTaskLimits {
  budgetUsd?: number
  budgetTokens?: number
  maxSteps?: number
  timeoutMs?: number
}

export interface CrewTaskBody {
  /** default: `task-N` */
  id?: string
  /** default: the first line of the text */
  title?: string
  text: string
  acceptance?: string
  needs?: string[]
  /** `human`: a question for the user, whose answer is the result */
  kind?: 'work' | 'human'
  /** the role of its worker; a researcher answers the task, and commits nothing */
  role?: TaskRole
  reviews?: boolean
  /** the verify command, which replaces that of the crew; false: no command */
  verify?: false | CrewRunBody
  /** tasks with a higher priority are assigned, reviewed and merged first; default: 0 */
  priority?: number
  /** limits of one attempt, with its reviews; an attempt that exceeds a limit fails */
  limits?: CrewTaskLimits
  /** the agent that does the task, which replaces the agent of its role; without `model` it uses its own model */
  agent?: string
  model?: string
}

/** POST /v1/crews. Starts a crew of a file, with overrides, or a crew that only the body defines. */
export interface CrewUpBody {
  agent?: string
  model?: string
  /** the answer to permission requests of the agent */
  permissions?: PermissionPolicy
  limits?: Limits
  /** the name of a crew in `file`, else in the nearest reeve.yaml, else in the configuration of the user; default: the only crew there */
  crew?: string
  /** the file that defines the crew */
  file?: string
  /** default: the name of the crew */
  name?: string
  cwd: string
  env?: Record<string, string>
  /** `engine` (the default: rules without a model), the name of an agent, or the settings of an agent */
  coordinator?: string | CrewWhoBody
  /** the number of workers, or of each role */
  workers?:
    | number
    | {
        generic?: number
        implementer?: number
        reviewer?: number
        researcher?: number
      }
  gate?: CommitGate
  merge?: 'auto' | 'leave'
  reviews?: boolean
  worktrees?: boolean
  stay?: boolean
  /** true: does all tasks, even those that an earlier crew of this name has finished */
  anew?: boolean
  /** the command that checks a task before its review and before its merge; false: no check */
  verify?: false | CrewRunBody
  /** the command that runs once in each new worktree, before its worker starts; false: no setup */
  setup?: false | CrewRunBody
  /** patterns, as in `.gitignore`, of ignored files that are copied from the checkout into each new worktree */
  copy?: string[]
  maxAttempts?: number
  maxWorkers?: number
  /** the share of its context window at which a worker hands its task over to a successor; null: never */
  handOver?: number | null
  /** the absolute path of a task file, or the tasks themselves */
  tasks?: string | CrewTaskBody[]
}

export interface PlannedTaskView {
  id: string
  title: string
  kind: 'work' | 'human'
  role: string | null
  needs: string[]
  reviews: boolean
  priority: number
  limits: CrewTaskLimits | null
  /** the agent that the task names; null: the agent of its role */
  agent: string | null
  model: string | null
  /** the worker that would do the task; null: none, or not known yet */
  by: { role: WorkerRole; agent: string; model: string | null } | null
  /** the command that must pass for the task; null: none */
  verify: { command: string | string[]; timeoutMs?: number } | null
  /** true: an earlier crew has finished the task */
  takenOver: boolean
  commit: string | null
  /** why a task that an earlier crew has done is done again; null: it is not */
  again: string | null
}

export interface PlannedMemberView {
  role: Role
  count: number
  agent: string
  model: string | null
  permissions: PermissionPolicy | null
  limits: Limits
  /** the command that must pass for the work of this role */
  verify: { command: string | string[]; timeoutMs?: number } | null
}

/** The crew that the same request to /v1/crews would start. Nothing is started or created. */
export interface CrewPlanView {
  version: 1
  name: string
  cwd: string
  /** the branch of the crew; null: it works without a repository */
  branch: string | null
  base: string | null
  coordinator: 'engine' | 'agent'
  gate: CommitGate
  merge: 'auto' | 'leave'
  reviews: boolean
  stay: boolean
  maxAttempts: number
  maxWorkers: number
  verify: { command: string | string[]; timeoutMs?: number } | null
  setup: { command: string | string[]; timeoutMs?: number } | null
  copy: string[]
  /** the files that match `copy` and `.worktreeinclude` now, which each worktree would get */
  copied: string[]
  /** limits of all members together */
  limits: Limits
  members: PlannedMemberView[]
  /** the tasks, in the order in which they would be assigned */
  tasks: PlannedTaskView[]
  /** the earlier crew whose finished tasks are taken over; null: none */
  from: {
    uuid: string
    pid: number
    name: string | null
    endedAt: string | null
  } | null
  notes: string[]
}

export interface CrewUpView {
  version: 1
  process: ProcessView
  branch: string | null
  base: string | null
  tasks: number
  /** remarks about the start for the user */
  notes: string[]
}

/** The prompt of a role, and its source. */
export interface RoleView {
  role: Role
  source: 'project' | 'user' | 'built-in'
  /** null for built-in prompts */
  file: string | null
  prompt: string
}

/** An invalid file. `line` 0 means the file as a whole. */
export interface RoleProblem {
  role: Role
  file: string
  line: number
  message: string
}

export interface RolesView {
  version: 1
  roles: RoleView[]
  /** the invalid files, whose roles are missing in `roles` */
  errors: RoleProblem[]
}
