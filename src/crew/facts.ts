// The closed union of a crew's facts, all on the crew's own journal: its state is the fold of them. Texts stand here once.
// Owns the stored format: a field may be added, none may change its meaning. Test: test/simulation/crew.test.ts.
import type { AskedFor, CrewOutcome, Job, JobResult, Leave, MemberId, Role, TaskId, Verdict, WorkerRole } from './types.ts'
import type { Sender, Uuid } from '../kernel/types.ts'
import type { Spent } from '../kernel/spent.ts'

/** What became of a turn's end. `waits`: something else goes on with it; `through`: let through after the last reminder. */
export type TurnEnd = 'complete' | 'exempt' | 'waits' | 'reminded' | 'through' | 'failed'

export type CrewFact =
  /** its staff is asked for; a later start has none */
  | { readonly type: 'crew.begun' }
  /** a member is wanted */
  | { readonly type: 'crew.member'; readonly member: MemberId; readonly role: Role }
  /** it has a process that runs, or has one again; `inherits`: what its predecessors never read is being brought over */
  | { readonly type: 'crew.joined'; readonly member: MemberId; readonly process: Uuid; readonly inherits?: true }
  /** it has all that its predecessors never read */
  | { readonly type: 'crew.inherited'; readonly member: MemberId }
  /** it was asked to go */
  | { readonly type: 'crew.leaving'; readonly member: MemberId; readonly how: Leave; readonly reason: string }
  /** `by`: a person ended it */
  | { readonly type: 'crew.left'; readonly member: MemberId; readonly how: Leave; readonly reason: string; readonly by?: 'user' }
  /** `heir` has its task, its phase and, as soon as it is there, its messages */
  | { readonly type: 'crew.replaced'; readonly member: MemberId; readonly heir: MemberId; readonly summary: string }
  /** its successor did not come: it stays, where it lives */
  | { readonly type: 'crew.kept'; readonly member: MemberId }
  | { readonly type: 'crew.held'; readonly member: MemberId; readonly held: boolean; readonly reason?: string }
  | { readonly type: 'crew.full'; readonly member: MemberId; readonly share: number }
  /** a turn began; `resets`: a person or coordinator spoke */
  | { readonly type: 'crew.turn.begun'; readonly member: MemberId; readonly turn: number; readonly resets: boolean }
  | { readonly type: 'crew.turn'; readonly member: MemberId; readonly turn: number; readonly outcome: 'ok' | 'error' | 'interrupted'; readonly end: TurnEnd; readonly queued: number; readonly task?: TaskId; readonly spent?: Spent; readonly error?: string }
  /** a member called one of its tools, and was answered `note` */
  | { readonly type: 'crew.heard'; readonly member: MemberId; readonly call: string | null; readonly tool: string; readonly note: string }
  | { readonly type: 'crew.job'; readonly job: Job }
  | { readonly type: 'crew.job.done'; readonly job: number; readonly result: JobResult }
  /** a message was put into a member's queue, where its text is */
  | { readonly type: 'crew.sent'; readonly message: number; readonly to: MemberId; readonly from: Sender; readonly task?: TaskId }
  | { readonly type: 'crew.notified'; readonly text: string }
  /** the coordinator was told that nothing goes on */
  | { readonly type: 'crew.stalled' }
  | { readonly type: 'crew.ending'; readonly outcome: CrewOutcome; readonly summary: string }
  /** nothing is left to wait for: its members are retired, and it ends */
  | { readonly type: 'crew.ended' }
  | { readonly type: 'task.added'; readonly task: TaskId; readonly kind: 'work' | 'human' | 'conflict'; readonly title: string; readonly text: string; readonly acceptance?: string; readonly needs: readonly TaskId[]; readonly role: WorkerRole | null; readonly reviews: boolean; readonly by: Sender }
  | { readonly type: 'task.assigned'; readonly task: TaskId; readonly member: MemberId }
  /** its implementer has clean files and the task */
  | { readonly type: 'task.prepared'; readonly task: TaskId; readonly base: string | null; readonly salvaged?: string }
  | { readonly type: 'task.reported'; readonly task: TaskId; readonly member: MemberId; readonly summary: string }
  /** `earlier`: the reviewer held it once, because there is nobody else */
  | { readonly type: 'task.review'; readonly task: TaskId; readonly member: MemberId; readonly earlier?: true }
  /** its reviewer has been told what to look at */
  | { readonly type: 'task.briefed'; readonly task: TaskId }
  /** its reviewer gave no verdict; `by`: a person ended it, which nobody else need answer for */
  | { readonly type: 'task.unreviewed'; readonly task: TaskId; readonly member: MemberId; readonly reason: string; readonly by?: 'user' }
  /** `member` null: a person's; a denial counts as an attempt */
  | { readonly type: 'task.verdict'; readonly task: TaskId; readonly member: MemberId | null; readonly verdict: Verdict; readonly comments: string }
  | { readonly type: 'task.asked'; readonly task: TaskId; readonly id: string; readonly for: AskedFor; readonly question: string; readonly options: readonly string[] }
  | { readonly type: 'task.answered'; readonly task: TaskId; readonly option: string | null; readonly text: string | null }
  /** it may be committed; `by` null: it has no gate */
  | { readonly type: 'task.approved'; readonly task: TaskId; readonly by: Sender | null }
  | { readonly type: 'task.committing'; readonly task: TaskId }
  /** its worker was reminded to commit */
  | { readonly type: 'task.uncommitted'; readonly task: TaskId; readonly reason: string }
  | { readonly type: 'task.committed'; readonly task: TaskId; readonly commit: string }
  | { readonly type: 'task.merged'; readonly task: TaskId; readonly merged: string }
  | { readonly type: 'task.conflict'; readonly task: TaskId; readonly conflict: TaskId; readonly files: readonly string[] }
  | { readonly type: 'task.requeued'; readonly task: TaskId; readonly reason: string; readonly counts: boolean }
  | { readonly type: 'task.done'; readonly task: TaskId; readonly reason: string | null }
  | { readonly type: 'task.failed'; readonly task: TaskId; readonly reason: string }
  | { readonly type: 'task.cancelled'; readonly task: TaskId; readonly reason: string }
  /** the thread of a task; `task` null: about none */
  | { readonly type: 'task.message'; readonly task: TaskId | null; readonly from: MemberId; readonly to: string; readonly text: string }

export type CrewFactType = CrewFact['type']

/** A fact in its place on the crew's journal. */
export interface CrewRecord {
  readonly seq: number
  /** wall time in ms */
  readonly at: number
  readonly body: CrewFact
}
