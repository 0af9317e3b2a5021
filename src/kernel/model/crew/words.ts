// The closed word lists of crews, and small value types made of them. Must import only types, so that every part may
// load it. Test: test/simulation/crew.test.ts.
import type { Limits } from '../words.ts'

/** The id of a member, unique within a crew and never reused. The successor of `coordinator` is `coordinator-2`. */
export type MemberId = 'coordinator' | `coordinator-${number}` | `worker-${number}`

/** The id of a task: `[A-Za-z0-9][A-Za-z0-9._-]{0,39}`, unique without regard to case. The default is `task-N`. */
export type TaskId = string

export const WORKER_ROLES = ['generic', 'implementer', 'reviewer', 'researcher'] as const
export type WorkerRole = (typeof WORKER_ROLES)[number]

/** The roles that a task may require. */
export const TASK_ROLES = ['generic', 'implementer', 'researcher'] as const
export type TaskRole = (typeof TASK_ROLES)[number]

export const ROLES = ['coordinator', ...WORKER_ROLES] as const
export type Role = (typeof ROLES)[number]

export const PHASES = ['idle', 'implementing', 'awaiting_review', 'reviewing', 'addressing_feedback', 'committing'] as const
export type Phase = (typeof PHASES)[number]

/**
 * An `approved` task waits for the commit gate or the merge queue, a `waiting` task for the user. The last three states
 * are final until `retry_task` or `reopen_task`.
 */
export const TASK_STATES = [
  'queued',
  'implementing',
  'awaiting_review',
  'in_review',
  'addressing_feedback',
  'approved',
  'committing',
  'merging',
  'waiting',
  'done',
  'failed',
  'cancelled',
] as const
export type TaskState = (typeof TASK_STATES)[number]

/** The approval that a commit needs after the review: none, the coordinator's, or the user's. */
export const COMMIT_GATES = ['auto', 'coordinator', 'human'] as const
export type CommitGate = (typeof COMMIT_GATES)[number]

/** What happens to the commit of a task: reeve merges it into the crew's branch (`auto`), or it stays on a separate branch (`leave`). */
export const MERGE_MODES = ['auto', 'leave'] as const
export type MergeMode = (typeof MERGE_MODES)[number]

export const REVIEW_VERDICTS = ['APPROVED', 'DENIED'] as const
export type ReviewVerdict = (typeof REVIEW_VERDICTS)[number]

export const CREW_OUTCOMES = ['completed', 'failed', 'cancelled'] as const
export type CrewOutcome = (typeof CREW_OUTCOMES)[number]

/** A command that reeve runs in a member's files. A shell runs a string. A list is executed as given. */
export interface CrewShellCommand {
  readonly command: string | readonly string[]
  readonly timeoutMs: number
}

/** The seqs of the facts that have a task's texts, on the crew's journal. Null: there is none. */
export interface TaskTexts {
  readonly text: number
  /** the last report */
  readonly report: number | null
  /** the last verdict */
  readonly verdict: number | null
  /** the last answer of the user */
  readonly answer: number | null
  /** the summary of the last predecessor */
  readonly handover: number | null
  /** the last edit of the text, and of the acceptance; absent: none */
  readonly newText?: number
  readonly newAcceptance?: number
  /** the last time that the task was reopened; absent: never */
  readonly reopened?: number
  /** the last run of the verify command that failed on the merged files */
  readonly verify?: number | null
}

/** What the user is asked for: the task itself (`human`), its commit (`gate`), or a review that no worker can do. */
export const ASKED_FOR = ['human', 'gate', 'review'] as const
export type AskedFor = (typeof ASKED_FOR)[number]

/** The ref whose files the next attempt starts from. */
export type KeptFiles = 'review' | 'salvage'

/** The last result of a task's verify command. */
export interface TaskCheck {
  readonly stage: VerifyStage
  /** at most 200 characters */
  readonly command: string
  readonly ok: boolean
  readonly code: number | null
  readonly ms: number
  /** the verified files; null outside a repository */
  readonly commit: string | null
  readonly tree: string | null
}

/** The files that are verified: those that the worker reported (`review`), or a merge candidate (`merge`). */
export const VERIFY_STAGES = ['review', 'merge'] as const
export type VerifyStage = (typeof VERIFY_STAGES)[number]

/** Overrides of the role's agent, its model, or both. */
export interface TaskAgent {
  readonly agent?: string
  readonly model?: string
}

/** Limits of one attempt at a task, its reviews included. */
export type TaskLimits = Pick<Limits, 'budgetUsd' | 'budgetTokens' | 'maxSteps' | 'timeoutMs'>

/**
 * How a member left: its work is done, it was stopped, its process failed, or a successor took over. Only `stopped` and
 * `lost` members may return.
 */
export const LEAVES = ['retired', 'stopped', 'lost', 'replaced'] as const
export type Leave = (typeof LEAVES)[number]

/** The kinds of tasks. `human`: the user answers; `conflict`: a worker resolves a merge conflict. */
export const TASK_KINDS = ['work', 'human', 'conflict'] as const
export type TaskKind = (typeof TASK_KINDS)[number]

/** `starting`: the process is being started; `on`: the member takes part; `leaving`: it was asked to leave; `gone`: it has left. */
export const MEMBER_STATES = ['starting', 'on', 'leaving', 'gone'] as const
export type MemberState = (typeof MEMBER_STATES)[number]

/** How a command ended. `late`: it exceeded its timeout and was killed; `unable`: it could not be started. */
export const COMMAND_ENDS = ['exited', 'late', 'unable'] as const
export type CommandEnd = (typeof COMMAND_ENDS)[number]

/** The version of a change that a client requests: the files for the review, the task's commit, or the newest of all (`auto`). */
export const DIFF_SELECTIONS = ['auto', 'review', 'commit'] as const
export type DiffSelection = (typeof DIFF_SELECTIONS)[number]

/** How a file has changed. `type`: for example from a file to a link. */
export const FILE_CHANGES = ['added', 'changed', 'deleted', 'renamed', 'copied', 'type'] as const
export type FileChange = (typeof FILE_CHANGES)[number]

/** The tools by which a worker reports. Each of them closes a turn. */
export const REPORT_TOOLS = ['post_message', 'report_implementation_complete', 'report_review_verdict', 'signal_ready'] as const
