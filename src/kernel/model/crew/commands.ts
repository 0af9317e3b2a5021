// The commands that change a crew, and the acts, which are the changes that a command causes outside the crew's row. Also has the
// permitted issuer of each command. Only types and data. Test: test/tables/kernel/crew/state/transition-tables.test.ts.
import type { CrewFact, Job, JobResult } from './facts.ts'
import type { Sender, Uuid } from '../ids.ts'
import type { Cause } from '../words.ts'
import type { UsageTotals } from '../usage.ts'
import type { CrewShellCommand, CrewOutcome, MemberId, TaskId, TaskLimits, ReviewVerdict, WorkerRole } from './words.ts'

/** A task to add to a crew. */
export interface NewTask {
  readonly id?: TaskId
  readonly title: string
  readonly text: string
  readonly acceptance?: string
  readonly needs?: readonly TaskId[]
  /** `human`: a question for the user, whose answer is the result */
  readonly kind?: 'work' | 'human'
  /** the role that implements the task; a `researcher` commits nothing */
  readonly role?: WorkerRole
  /** whether the result is reviewed; absent: the crew's setting */
  readonly reviews?: boolean
  /** absent: 0 */
  readonly priority?: number
  /** the verify command; absent: the crew's command; false: none */
  readonly verify?: CrewShellCommand | false
  readonly limits?: TaskLimits
  /** the agent that implements the task; absent: the role's agent */
  readonly agent?: string
  readonly model?: string
  /** the result of this task in an earlier crew; the task is then done from the beginning */
  readonly taken?: TakenTask
}

/** The result of a task in an earlier crew. */
export interface TakenTask {
  readonly crew: Uuid
  readonly name: string
  readonly commit: string | null
  /** the merge commit; null: there is no commit, or the commit is on a separate branch */
  readonly merged: string | null
  readonly report?: string
  /** the sender who marked the task as done without a review or commit */
  readonly byWord?: Sender
}

/** Commands of the user, of coordinators, and of the engine (engine.ts), which needs no permission. */
export type LeadCommand =
  | ({ readonly type: 'add_task' } & NewTask)
  /** adds all tasks or none; the tasks may depend on each other */
  | { readonly type: 'add_tasks'; readonly tasks: readonly NewTask[] }
  /** `task`: the new worker uses the agent and model that this task requires */
  | { readonly type: 'spawn_worker'; readonly role: WorkerRole; readonly task?: TaskId }
  | { readonly type: 'assign_task'; readonly task: TaskId; readonly member: MemberId }
  | { readonly type: 'assign_review'; readonly task: TaskId; readonly member: MemberId }
  /** asks the user for the review, because no member can review the task */
  | { readonly type: 'ask_review'; readonly task: TaskId }
  | { readonly type: 'approve_commit'; readonly task: TaskId }
  | { readonly type: 'send_message'; readonly to: MemberId | 'all'; readonly text: string; readonly task?: TaskId; readonly now?: boolean }
  /** `summary`: what the successor must know of the work so far */
  | { readonly type: 'replace_worker'; readonly member: MemberId; readonly summary: string }
  /** ends a worker for good */
  | { readonly type: 'retire_worker'; readonly member: MemberId; readonly reason: string }
  /** ends a worker's process, which can be resumed */
  | { readonly type: 'stop_worker'; readonly member: MemberId; readonly reason: string }
  | { readonly type: 'cancel_task'; readonly task: TaskId; readonly reason: string; readonly requeue: boolean }
  /** requeues a failed or cancelled task, together with the tasks that failed because of it */
  | { readonly type: 'retry_task'; readonly task: TaskId }
  /** requeues a done task whose result the user rejects */
  | { readonly type: 'reopen_task'; readonly task: TaskId; readonly comments: string }
  /** changes the given fields only */
  | {
      readonly type: 'edit_task'
      readonly task: TaskId
      readonly title?: string
      readonly text?: string
      readonly acceptance?: string
      readonly needs?: readonly TaskId[]
      readonly role?: WorkerRole
      readonly reviews?: boolean
      /** replaces all limits of the task */
      readonly limits?: TaskLimits
      /** if `agent` or `model` is given, both are replaced; null: the role's default */
      readonly agent?: string | null
      readonly model?: string | null
    }
  /** `before`: the task directly before which this one is placed, with the same priority; otherwise `priority` is given */
  | { readonly type: 'set_priority'; readonly task: TaskId; readonly priority?: number; readonly before?: TaskId }
  | { readonly type: 'mark_task_done'; readonly task: TaskId; readonly reason: string }
  | { readonly type: 'mark_task_failed'; readonly task: TaskId; readonly reason: string }
  | { readonly type: 'notify_user'; readonly text: string }
  /** while tasks are open, `completed` is refused; the other outcomes cancel the open tasks */
  | { readonly type: 'complete_crew'; readonly summary: string; readonly outcome: CrewOutcome }

/** Commands of workers, which call them within a turn. */
export type WorkerCommand =
  | { readonly type: 'post_message'; readonly to: 'coordinator' | TaskId; readonly text: string }
  | { readonly type: 'report_implementation_complete'; readonly summary: string }
  | { readonly type: 'report_review_verdict'; readonly verdict: ReviewVerdict; readonly comments: string }
  | { readonly type: 'signal_ready' }

/** Commands of the kernel and the daemon. */
export type SystemCommand =
  /** the crew's process has started or resumed, so its open jobs are requested again */
  | { readonly type: 'begin' }
  /** the crew continues after a pause, so its rules are applied again */
  | { readonly type: 'unpaused' }
  /** a member's process has started or resumed; `turn`: the open turn, which continues; `queued`: number of queued messages */
  | {
      readonly type: 'member_running'
      readonly member: MemberId
      readonly uuid: Uuid
      readonly turn: number | null
      readonly queued?: number
    }
  /** a member was paused or resumed; `reason`: the reason of the hold; `wakes`: the hold ends automatically; `note`: an explanation */
  | {
      readonly type: 'member_held'
      readonly member: MemberId
      readonly held: boolean
      readonly reason?: string
      readonly wakes?: true
      readonly note?: string
    }
  | { readonly type: 'turn_begun'; readonly member: MemberId; readonly turn: number; readonly from: readonly Sender[] }
  /** `queued`: number of queued messages; `text`: the last text of the agent; `spent`: usage of the turn */
  | {
      readonly type: 'turn_ended'
      readonly member: MemberId
      readonly turn: number
      readonly outcome: 'ok' | 'error' | 'interrupted'
      readonly text?: string
      readonly error?: string
      readonly queued?: number
      readonly spent?: UsageTotals
    }
  /** a member's process has ended, and no policy restarts it */
  | { readonly type: 'member_gone'; readonly member: MemberId; readonly cause: Cause; readonly reason: string }
  /** a model call finished in a turn for a task with limits; `spent`: usage since the turn began */
  | { readonly type: 'member_usage'; readonly member: MemberId; readonly spent: UsageTotals }
  /** a member's context is nearly full; `share`: the used part of the context, from 0 to 1 */
  | { readonly type: 'member_context_full'; readonly member: MemberId; readonly share: number }
  | { readonly type: 'job_done'; readonly job: number; readonly result: JobResult }
  /** the user answered a question; `id`: the question's id */
  | { readonly type: 'answered'; readonly task: TaskId; readonly id?: string; readonly option: string | null; readonly text: string | null }

/** The circumstances of a decision. */
export interface CrewContext {
  readonly by: Issuer
  /** wall time in ms */
  readonly at: number
  /** the last fact of the crew's journal; the facts of the decision follow it without a gap */
  readonly seq: number
  /** the crew's process is not working, so its rules start nothing new */
  readonly paused?: boolean
}

export type Command = LeadCommand | WorkerCommand | SystemCommand

export type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>

/** The issuer of a command. */
export type Issuer =
  | { readonly type: 'user' }
  /** `turn` and `call` identify the member's tool call; a repeated call gets the same answer and changes nothing */
  | { readonly type: 'member'; readonly id: MemberId; readonly turn: number | null; readonly call: string | null }
  | { readonly type: 'system' }

type IssuerKind = 'lead' | 'worker' | 'system'

/**
 * The permitted issuer of each command: `lead` is the user or a coordinator, `system` the kernel or the daemon. The engine needs no
 * permission.
 */
export const COMMAND_ISSUERS: { readonly [C in Command['type']]: IssuerKind } = {
  add_task: 'lead',
  add_tasks: 'lead',
  spawn_worker: 'lead',
  assign_task: 'lead',
  assign_review: 'lead',
  ask_review: 'lead',
  approve_commit: 'lead',
  send_message: 'lead',
  replace_worker: 'lead',
  retire_worker: 'lead',
  stop_worker: 'lead',
  cancel_task: 'lead',
  set_priority: 'lead',
  retry_task: 'lead',
  reopen_task: 'lead',
  edit_task: 'lead',
  mark_task_done: 'lead',
  mark_task_failed: 'lead',
  notify_user: 'lead',
  complete_crew: 'lead',
  post_message: 'worker',
  report_implementation_complete: 'worker',
  report_review_verdict: 'worker',
  signal_ready: 'worker',
  begin: 'system',
  unpaused: 'system',
  member_running: 'system',
  member_held: 'system',
  turn_begun: 'system',
  turn_ended: 'system',
  member_gone: 'system',
  member_context_full: 'system',
  member_usage: 'system',
  job_done: 'system',
  answered: 'system',
}

/** A change outside the crew's row. The kernel carries out the acts of a decision in order, in the same commit. */
export type Act =
  /** queues a message for a member; `id`: unique within the crew; `first`: it comes before messages that predecessors left */
  | {
      readonly type: 'message'
      readonly to: MemberId
      readonly id: string
      readonly from: Sender
      readonly text: string
      readonly task: TaskId | null
      readonly first?: true
      readonly urgent?: true
    }
  /** moves the queued messages of the members `from` to the member `to`, in order; null: back to their senders */
  | { readonly type: 'move'; readonly from: readonly MemberId[]; readonly to: MemberId | null }
  /** requests a job from the daemon */
  | { readonly type: 'job'; readonly job: Job }
  /** ends a member's process. `retire`: its exit is `retired`, and queued messages return to their senders; `stop`: they stay queued */
  | { readonly type: 'stop'; readonly member: MemberId; readonly how: 'retire' | 'stop'; readonly reason: string }
  /** marks a member as retired, because its process has already ended */
  | { readonly type: 'retire'; readonly member: MemberId; readonly reason: string }
  /** ends the member's turn */
  | { readonly type: 'interrupt'; readonly member: MemberId }
  /** blocks (`on`) or unblocks SIGTERM and SIGPAUSE */
  | { readonly type: 'mask'; readonly member: MemberId; readonly on: boolean }
  /** asks the user a question about a task */
  | { readonly type: 'ask'; readonly task: TaskId; readonly id: string; readonly question: string; readonly options: readonly string[] }
  /** withdraws an open question to the user */
  | { readonly type: 'unask'; readonly task: TaskId; readonly id: string }
  /** sends the user a notification */
  | { readonly type: 'notify'; readonly text: string }
  /** shows the user a warning */
  | { readonly type: 'warn'; readonly text: string }
  /** holds the crew's process until the user resumes it */
  | { readonly type: 'hold' }
  /** ends the crew, after its members */
  | { readonly type: 'end'; readonly outcome: CrewOutcome; readonly summary: string }

/** The result of one command. */
export interface CrewDecision {
  readonly facts: readonly CrewFact[]
  /** this number of facts, the first ones, are what the command asked for; the others are their consequences */
  readonly directCount: number
  readonly acts: readonly Act[]
  /** the answer to the issuer, such as `task-3: added` */
  readonly note: string
}
