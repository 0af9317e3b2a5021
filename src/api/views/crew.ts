// The JSON of the API: a crew, its members, its tasks, and the commands of the user. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/crew/crew.test.ts.
import type {
  AskedFor,
  CommitGate,
  CrewOutcome,
  Leave,
  Phase,
  ReviewVerdict,
  Role,
  TaskRole,
  TaskState,
  WorkerRole,
} from '../../kernel/model/crew/words.ts'
import type { Status } from '../../kernel/model/status.ts'
import type { CrewRunBody, CrewTaskLimits } from './crew-up.ts'
import type { AskView, HoldView } from './process.ts'

/** The result of a `verify` command. `stage`: whether the reported work or the merged branch was checked. */
export interface VerifyView {
  stage: 'review' | 'merge'
  command: string
  ok: boolean
  code: number | null
  ms: number
  /** the commit whose files were checked; null: no commit */
  commit: string | null
  tree: string | null
}

/** A task of a crew. */
export interface CrewTaskView {
  id: string
  kind: 'work' | 'human' | 'conflict'
  title: string
  state: TaskState
  needs: string[]
  role: string | null
  reviews: boolean
  /** tasks with a higher priority are assigned, reviewed and merged first; default: 0 */
  priority: number
  /** limits of one attempt, with its reviews */
  limits: CrewTaskLimits | null
  /** the agent that the task names; null: the agent of its role */
  agent: string | null
  model: string | null
  /** the member that does the task, or has done it */
  implementer: string | null
  /** the last result of the verify command in this attempt; null: the command has not run */
  check: VerifyView | null
  /** `own`: the task has its own command; `none`: it has no command; null: it has the command of the crew */
  verify: 'own' | 'none' | null
  /** all members that have worked on the task */
  implementers: string[]
  reviewer: string | null
  verdict: ReviewVerdict | null
  /** the number of failed attempts, for any reason */
  attempts: number
  /** the number of attempts that a reviewer or the user denied */
  denials: number
  base: string | null
  commit: string | null
  /** the commit of the crew branch after the merge; null: not merged */
  merged: string | null
  /** the id of the task that resolves the merge conflict; null: no conflict */
  conflict: string | null
  /** why the task ended, or why the last attempt failed */
  reason: string | null
  /** who declared the task done without a review or a commit; null for all other tasks */
  byWord: string | null
  /** the git ref with the uncommitted files of an earlier attempt; null: none */
  salvaged: string | null
  /** what the user is asked about the task: its content, its commit, or its review; null: nothing */
  asks: AskedFor | null
  /** the usage of all turns about this task */
  spent: {
    inputTokens: number
    outputTokens: number
    cacheReadTokens: number
    cacheWriteTokens: number
    costUsd: number | null
    unpriced: boolean
  }
  addedAt: string
  startedAt: string | null
  endedAt: string | null
}

/** A member of a crew. */
export interface CrewMemberView {
  id: string
  role: Role
  state: 'starting' | 'on' | 'leaving' | 'gone'
  phase: Phase
  task: string | null
  /** how and why the member left, or is leaving; null: it stays */
  leave: { how: Leave; reason: string } | null
  /** null: the member is still being started */
  uuid: string | null
  pid: number | null
  agent: string | null
  status: Status | null
  /** null: the member has no worktree, or not yet */
  worktree: { dir: string; branch: string } | null
  queueCount: number
  contextTokens: number
  contextWindow: number | null
  costUsd: number | null
  unpriced: boolean
  elapsedMs: number
  /** the text of the NOTE column */
  note: string | null
  /** why the process is suspended */
  holds: HoldView[]
  /** the open questions for the user */
  asks: AskView[]
}

/** A crew: a coordinator, its workers and their tasks. */
export interface CrewView {
  uuid: string
  pid: number
  name: string | null
  status: Status
  cwd: string
  coordinator: 'engine' | 'agent'
  gate: CommitGate
  merge: 'auto' | 'leave'
  reviews: boolean
  /** the branch of the crew; null: it works without a repository */
  branch: string | null
  base: string | null
  createdAt: string
  exitedAt: string | null
  elapsedMs: number
  costUsd: number | null
  unpriced: boolean
  /** the text of the NOTE column */
  note: string | null
  /** what the crew waits for, as text */
  waitsFor: string[]
  /** why the process is suspended */
  holds: HoldView[]
  /** the open questions for the user */
  asks: AskView[]
  ending: { outcome: CrewOutcome; summary: string } | null
  exit: { code: number; reason: string } | null
  /** true: the crew ended before its work was done, and can be resumed */
  resumable: boolean
  tasks: CrewTaskView[]
  members: CrewMemberView[]
}

/** An event of a task. `text`: the complete message, report or verdict. */
export interface TaskEventView {
  seq: number
  at: string
  type: string
  what: string
  text: string | null
}

/** A task with its texts. `history` includes its messages. */
export interface TaskDetailView {
  id: string
  kind: 'work' | 'human' | 'conflict'
  title: string
  state: TaskState
  needs: string[]
  role: string | null
  reviews: boolean
  /** tasks with a higher priority are assigned, reviewed and merged first; default: 0 */
  priority: number
  /** limits of one attempt, with its reviews */
  limits: CrewTaskLimits | null
  /** the agent that the task names; null: the agent of its role */
  agent: string | null
  model: string | null
  /** the member that does the task, or has done it */
  implementer: string | null
  /** the last result of the verify command in this attempt; null: the command has not run */
  check: VerifyView | null
  /** `own`: the task has its own command; `none`: it has no command; null: it has the command of the crew */
  verify: 'own' | 'none' | null
  /** all members that have worked on the task */
  implementers: string[]
  reviewer: string | null
  verdict: ReviewVerdict | null
  /** the number of failed attempts, for any reason */
  attempts: number
  /** the number of attempts that a reviewer or the user denied */
  denials: number
  base: string | null
  commit: string | null
  /** the commit of the crew branch after the merge; null: not merged */
  merged: string | null
  /** the id of the task that resolves the merge conflict; null: no conflict */
  conflict: string | null
  /** why the task ended, or why the last attempt failed */
  reason: string | null
  /** who declared the task done without a review or a commit; null for all other tasks */
  byWord: string | null
  /** the git ref with the uncommitted files of an earlier attempt; null: none */
  salvaged: string | null
  /** what the user is asked about the task: its content, its commit, or its review; null: nothing */
  asks: AskedFor | null
  /** the usage of all turns about this task */
  spent: {
    inputTokens: number
    outputTokens: number
    cacheReadTokens: number
    cacheWriteTokens: number
    costUsd: number | null
    unpriced: boolean
  }
  addedAt: string
  startedAt: string | null
  endedAt: string | null
  text: string
  acceptance: string | null
  report: string | null
  comments: string | null
  history: TaskEventView[]
}

export interface CrewsView {
  version: 1
  crews: CrewView[]
}

export interface CrewSteerView {
  version: 1
  crew: CrewView
  /** the outcome of the command, as text */
  note: string | null
}

/** A comment on a line of a change; `line` counts from 1, in the file after the change. */
export interface LineCommentBody {
  file: string
  line: number
  text: string
}

/** POST /v1/crews/:ref/commands: a command of the user to a crew. */
export type CrewCommandBody =
  | {
      type: 'add_task'
      id?: string
      title?: string
      text: string
      acceptance?: string
      needs?: string[]
      kind?: 'work' | 'human'
      role?: TaskRole
      reviews?: boolean
      verify?: false | CrewRunBody
      /** tasks with a higher priority come first; default: 0 */
      priority?: number
      limits?: CrewTaskLimits
      agent?: string
      model?: string
    }
  | {
      type: 'spawn_worker'
      role: WorkerRole
      task?: string
    }
  | {
      type: 'assign_task'
      task: string
      member: string
    }
  | {
      type: 'assign_review'
      task: string
      member: string
    }
  | {
      type: 'approve_commit'
      task: string
    }
  | {
      type: 'deny_task'
      task: string
      reason?: string
      lines?: LineCommentBody[]
    }
  | {
      type: 'send_message'
      to: string | 'all'
      text: string
      task?: string
      now?: boolean
    }
  | {
      type: 'replace_worker'
      member: string
      summary: string
    }
  | {
      type: 'retire_worker'
      member: string
      reason: string
    }
  | {
      type: 'stop_worker'
      member: string
      reason: string
    }
  | {
      type: 'cancel_task'
      task: string
      reason: string
      requeue: boolean
    }
  | {
      type: 'retry_task'
      task: string
    }
  | {
      type: 'reopen_task'
      task: string
      comments?: string
      lines?: LineCommentBody[]
    }
  | {
      type: 'edit_task'
      task: string
      title?: string
      text?: string
      acceptance?: string
      needs?: string[]
      role?: TaskRole
      reviews?: boolean
      /** replaces all limits of the task */
      limits?: CrewTaskLimits
      /** replaces agent and model of the task; null: those of its role */
      agent?: string | null
      model?: string | null
    }
  | {
      type: 'set_priority'
      task: string
      /** tasks with a higher priority come first; default: 0 */
      priority?: number
      before?: string
    }
  | {
      type: 'mark_task_done'
      task: string
      reason: string
    }
  | {
      type: 'mark_task_failed'
      task: string
      reason: string
    }
  | {
      type: 'notify_user'
      text: string
    }
  | {
      type: 'complete_crew'
      summary: string
      outcome: CrewOutcome
    }
