// Everything that changes a crew is a command, and everything that comes of one outside its row is an act.
// Owns both unions and who may say what (MAY). Must never carry anything but data. Test: test/tables/crew-machines.test.ts.
import type { CrewFact } from './facts.ts'
import type { CrewOutcome, Job, JobResult, MemberId, TaskId, Verdict, WorkerRole } from './types.ts'
import type { Cause, Sender, Uuid } from '../kernel/types.ts'
import type { Spent } from '../kernel/spent.ts'

export interface NewTask {
  readonly id?: TaskId
  readonly title: string
  readonly text: string
  readonly acceptance?: string
  readonly needs?: readonly TaskId[]
  /** `human`: a question for a person, whose answer is its result */
  readonly kind?: 'work' | 'human'
  /** who is to do it: `researcher` commits nothing */
  readonly role?: WorkerRole
  /** absent: as the crew says */
  readonly reviews?: boolean
}

/** What people and coordinators say. */
export type LeadCommand =
  | ({ readonly type: 'add_task' } & NewTask)
  /** all or none; they may need each other */
  | { readonly type: 'add_tasks'; readonly tasks: readonly NewTask[] }
  | { readonly type: 'spawn_worker'; readonly role: WorkerRole }
  | { readonly type: 'assign_task'; readonly task: TaskId; readonly member: MemberId }
  | { readonly type: 'assign_review'; readonly task: TaskId; readonly member: MemberId }
  /** a person is asked, because no member can review it */
  | { readonly type: 'ask_review'; readonly task: TaskId }
  | { readonly type: 'approve_commit'; readonly task: TaskId }
  | { readonly type: 'send_message'; readonly to: MemberId | 'all'; readonly text: string; readonly task?: TaskId }
  | { readonly type: 'replace_worker'; readonly member: MemberId; readonly summary: string }
  | { readonly type: 'retire_worker'; readonly member: MemberId; readonly reason: string }
  | { readonly type: 'stop_worker'; readonly member: MemberId; readonly reason: string }
  | { readonly type: 'cancel_task'; readonly task: TaskId; readonly reason: string; readonly requeue: boolean }
  | { readonly type: 'mark_task_done'; readonly task: TaskId; readonly reason: string }
  | { readonly type: 'mark_task_failed'; readonly task: TaskId; readonly reason: string }
  | { readonly type: 'notify_user'; readonly text: string }
  /** with tasks that are open only as `failed` or `cancelled`: those are cancelled */
  | { readonly type: 'complete_crew'; readonly summary: string; readonly outcome: CrewOutcome }

/** What workers say, each in a turn. */
export type WorkerCommand =
  | { readonly type: 'post_message'; readonly to: 'coordinator' | TaskId; readonly text: string }
  | { readonly type: 'report_implementation_complete'; readonly summary: string }
  | { readonly type: 'report_review_verdict'; readonly verdict: Verdict; readonly comments: string }
  | { readonly type: 'signal_ready' }

/** What the kernel and the daemon say. */
export type SystemCommand =
  /** the crew's process runs, for the first time or again: open jobs are asked again */
  | { readonly type: 'begin' }
  /** the crew goes on after a pause: what was not decided meanwhile is */
  | { readonly type: 'woken' }
  /** a member's process runs, for the first time or again; `turn`: the one that goes on; `queued`: messages that wait for it */
  | { readonly type: 'member_on'; readonly member: MemberId; readonly uuid: Uuid; readonly turn: number | null; readonly queued?: number }
  /** it is paused, or not any more; `reason`: of the hold */
  | { readonly type: 'member_held'; readonly member: MemberId; readonly held: boolean; readonly reason?: string }
  | { readonly type: 'turn_begun'; readonly member: MemberId; readonly turn: number; readonly from: readonly Sender[] }
  /** `queued`: messages that wait for it; `text`: what it said last; `spent`: what the turn cost */
  | { readonly type: 'turn_ended'; readonly member: MemberId; readonly turn: number; readonly outcome: 'ok' | 'error' | 'interrupted'; readonly text?: string; readonly error?: string; readonly queued?: number; readonly spent?: Spent }
  /** it has ended and does not come back by itself */
  | { readonly type: 'member_gone'; readonly member: MemberId; readonly cause: Cause; readonly reason: string }
  | { readonly type: 'member_full'; readonly member: MemberId; readonly share: number }
  | { readonly type: 'job_done'; readonly job: number; readonly result: JobResult }
  /** a person answered what was asked; `id`: which ask */
  | { readonly type: 'answered'; readonly task: TaskId; readonly id?: string; readonly option: string | null; readonly text: string | null }

/** What a decision is made with. `seq`: the last fact on the crew's journal; the facts of the decision follow it without a gap. */
export interface Ctx {
  readonly by: By
  /** wall time in ms */
  readonly at: number
  readonly seq: number
  /** the crew's process is suspended: nothing new is begun by itself */
  readonly paused?: boolean
}

export type Command = LeadCommand | WorkerCommand | SystemCommand

/** Who says it. `turn` and `call`: of a member's tool call; a call with the same id is answered the same, and changes nothing. */
export type By =
  | { readonly type: 'person' }
  | { readonly type: 'member'; readonly id: MemberId; readonly turn: number | null; readonly call: string | null }
  | { readonly type: 'system' }
  | { readonly type: 'engine' }

type Speaker = 'lead' | 'worker' | 'system'

/** Who may say what: people and coordinators lead, workers report, the kernel tells. */
export const MAY: { readonly [C in Command['type']]: Speaker } = {
  add_task: 'lead', add_tasks: 'lead', spawn_worker: 'lead', assign_task: 'lead', assign_review: 'lead', ask_review: 'lead', approve_commit: 'lead', send_message: 'lead',
  replace_worker: 'lead', retire_worker: 'lead', stop_worker: 'lead', cancel_task: 'lead', mark_task_done: 'lead', mark_task_failed: 'lead',
  notify_user: 'lead', complete_crew: 'lead',
  post_message: 'worker', report_implementation_complete: 'worker', report_review_verdict: 'worker', signal_ready: 'worker',
  begin: 'system', woken: 'system', member_on: 'system', member_held: 'system', turn_begun: 'system', turn_ended: 'system', member_gone: 'system', member_full: 'system',
  job_done: 'system', answered: 'system',
}

/** What is to be done outside the crew's row, in order. The kernel makes facts, queue entries, signals and effects of it in the same commit. */
export type Act =
  /** into the queue of the member's process, or kept for it; `id` is unique within the crew; `first`: it does not wait for what predecessors left */
  | { readonly type: 'message'; readonly to: MemberId; readonly id: string; readonly from: Sender; readonly text: string; readonly task: TaskId | null; readonly first?: true }
  /** what waits in the queues of these goes over to `to`, in order, and then what was kept for it; null: back to who wrote it */
  | { readonly type: 'move'; readonly from: readonly MemberId[]; readonly to: MemberId | null }
  | { readonly type: 'job'; readonly job: Job }
  /** retire: what waits goes back to its senders, exit 0 `retired`; stop: what waits is kept */
  | { readonly type: 'stop'; readonly member: MemberId; readonly how: 'retire' | 'stop'; readonly reason: string }
  /** its turn is ended */
  | { readonly type: 'interrupt'; readonly member: MemberId }
  /** SIGTERM and SIGPAUSE are blocked, or not any more */
  | { readonly type: 'mask'; readonly member: MemberId; readonly on: boolean }
  | { readonly type: 'ask'; readonly task: TaskId; readonly id: string; readonly question: string; readonly options: readonly string[] }
  | { readonly type: 'unask'; readonly task: TaskId; readonly id: string }
  | { readonly type: 'notify'; readonly text: string }
  /** a note of the kind that is shown where things go wrong */
  | { readonly type: 'warn'; readonly text: string }
  /** the members are retired first */
  | { readonly type: 'end'; readonly outcome: CrewOutcome; readonly summary: string }

/** What one command did. `note` is what its sender is told, in words. */
export interface Decided {
  readonly facts: readonly CrewFact[]
  readonly acts: readonly Act[]
  readonly note: string
}
