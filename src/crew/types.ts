// The words of a crew as types: what was asked for, and what is known of its tasks, members and open jobs.
// Owns the shape of a crew's row: small (ids, numbers, short titles); texts stand in facts. Only `fold` (fold.ts) makes a new value.
// Must never name I/O, time or chance. Tested through test/simulation/crew.test.ts.
import type { Spent } from '../kernel/spent.ts'
import type { CrewFact } from './facts.ts'
import type { ProcessSpec, Uuid } from '../kernel/types.ts'

/** Never used again within a crew. The successor of `coordinator` is `coordinator-2`. */
export type MemberId = 'coordinator' | `coordinator-${number}` | `worker-${number}`

/** `[a-z0-9][a-z0-9._-]{0,39}`; one that is given none is `task-N`. */
export type TaskId = string

export type WorkerRole = 'generic' | 'implementer' | 'reviewer' | 'researcher'
export type Role = 'coordinator' | WorkerRole

export type Phase = 'idle' | 'implementing' | 'awaiting_review' | 'reviewing' | 'addressing_feedback' | 'committing'

/** `approved` waits for its gate or for the commit lock, `waiting` for a person. The last three have no successor. */
export type TaskState =
  | 'queued' | 'implementing' | 'awaiting_review' | 'in_review' | 'addressing_feedback' | 'approved'
  | 'committing' | 'merging' | 'waiting' | 'done' | 'failed' | 'cancelled'

/** Who says yes to a commit after the review: nobody else, the coordinator, or a person. */
export type Gate = 'auto' | 'coordinator' | 'human'
export type Merge = 'auto' | 'leave'
export type Verdict = 'APPROVED' | 'DENIED'
export type CrewOutcome = 'completed' | 'failed' | 'cancelled'

/** What was asked for at `crew up`. Recorded once. */
export interface CrewSpec {
  readonly coordinator: 'engine' | 'agent'
  readonly gate: Gate
  readonly merge: Merge
  /** tasks are reviewed, unless a task says otherwise */
  readonly reviews: boolean
  /** tries of one task: denied, failed, lost; then it has failed */
  readonly maxAttempts: number
  /** workers that live at the same time */
  readonly maxWorkers: number
  /** who is started with it */
  readonly staff: readonly { readonly role: WorkerRole; readonly count: number }[]
  /** null: it works on no repository, and commits nothing */
  readonly git: CrewGitSpec | null
  /** the share of a member's context at which it is replaced; null: never */
  readonly handOver: number | null
  /** it stays when all tasks are done */
  readonly stay: boolean
  /** the template of a member, whole: one that is made later is the same */
  readonly roles: { readonly [R in Role]?: ProcessSpec }
}

export interface CrewGitSpec {
  readonly repository: string
  /** the commit that the crew's branch began at */
  readonly base: string
  /** the crew's own: `reeve/NAME` */
  readonly branch: string
}

/** On the spec of each member. */
export interface MemberSpec {
  readonly crew: Uuid
  readonly id: MemberId
  readonly role: Role
}

export interface Crew {
  readonly tasks: readonly Task[]
  /** all that it ever had, in the order of their making */
  readonly members: readonly Member[]
  /** what the daemon was asked to do and has not answered, oldest first */
  readonly jobs: readonly Job[]
  /** its staff has been asked for */
  readonly begun: boolean
  readonly nextWorker: number
  readonly nextCoordinator: number
  readonly nextTask: number
  readonly nextJob: number
  /** the number of the last message to a member; 0: there was none */
  readonly messages: number
  /** members lost since a worker last reported something */
  readonly fruitless: number
  /** times in a row that the coordinator was told that nothing goes on */
  readonly stalls: number
  readonly ending: { readonly outcome: CrewOutcome; readonly summary: string; readonly ended: boolean } | null
}

/** Numbers of facts on the crew's journal: what to do, the last report, verdict, answer of a person, and hand-over; null: there is none. */
export interface TaskTexts {
  readonly text: number
  readonly report: number | null
  readonly verdict: number | null
  readonly answer: number | null
  readonly handover: number | null
}

/** Why a person is asked: for the task itself, for its commit, or for a review that nobody else can do. */
export type AskedFor = 'human' | 'gate' | 'review'

export interface Task {
  readonly id: TaskId
  readonly kind: 'work' | 'human' | 'conflict'
  readonly title: string
  /** the facts with its texts */
  readonly seqs: TaskTexts
  readonly needs: readonly TaskId[]
  readonly role: WorkerRole | null
  readonly reviews: boolean
  readonly state: TaskState
  /** who holds it now, or held it when it was done */
  readonly implementer: MemberId | null
  /** all that ever held it: none of them reviews it where there is anybody else */
  readonly implementers: readonly MemberId[]
  readonly reviewer: MemberId | null
  readonly verdict: Verdict | null
  /** tries that have failed, for any reason */
  readonly attempts: number
  /** how many of them were denied */
  readonly denials: number
  /** reviewers in a row that gave no verdict */
  readonly unreviewed: number
  /** the implementer's files are ready, and it has the task */
  readonly prepared: boolean
  /** the reviewer knows what to review */
  readonly briefed: boolean
  /** its gate said yes */
  readonly cleared: boolean
  /** the commit that the implementer's branch was at before it began */
  readonly base: string | null
  readonly commit: string | null
  /** the crew's branch after the merge */
  readonly merged: string | null
  /** the conflict task that it waits for */
  readonly conflict: TaskId | null
  /** reminders to commit */
  readonly commitTries: number
  /** what a person is asked */
  readonly ask: { readonly id: string; readonly for: AskedFor } | null
  readonly asks: number
  /** of the last failure, or of its end; at most 200 characters */
  readonly reason: string | null
  /** a ref with what an earlier try left uncommitted */
  readonly salvaged: string | null
  readonly spent: Spent
  /** wall ms */
  readonly times: { readonly added: number; readonly started: number | null; readonly ended: number | null }
}

/** How one left: it did its work, was stopped, did not live, or has a successor. Only the stopped and lost may come back. */
export type Leave = 'retired' | 'stopped' | 'lost' | 'replaced'

export interface Member {
  readonly id: MemberId
  readonly role: Role
  /** null: it is being started */
  readonly uuid: Uuid | null
  readonly state: 'starting' | 'on' | 'leaving' | 'gone'
  /** how and why it leaves or left */
  readonly leave: { readonly how: Leave; readonly reason: string } | null
  readonly phase: Phase
  /** what it implements or reviews */
  readonly task: TaskId | null
  readonly turn: Turn
  /** its first turn has not ended */
  readonly fresh: boolean
  /** it is paused: it gets nothing new */
  readonly held: boolean
  /** the reason of the hold */
  readonly heldFor?: string
  /** its successor, which has its work; it goes when that is there */
  readonly heir: MemberId | null
  readonly heirOf: MemberId | null
  /** what its predecessor wrote for it, until it is there; of a worker with a task it stands in a fact */
  readonly summary: string | null
  /** a message was put into its queue since its last turn began */
  readonly told: boolean
  /** its context is nearly full: it was asked for a summary */
  readonly full: boolean
  /** its files are to be reset when its turn has ended: the task that was cancelled */
  readonly cleanup: TaskId | null
  /** what its predecessors never read is being brought over: what comes meanwhile waits behind that */
  readonly inherits?: true
  /** its last calls by id, with what they were answered */
  readonly heard: readonly { readonly call: string; readonly note: string }[]
}

export interface Turn {
  /** the turn that is on */
  readonly open: number | null
  /** its phase and task when the turn began */
  readonly phase: Phase
  readonly task: TaskId | null
  /** one of the four closing tools was called in it */
  readonly answered: boolean
  /** reminders since the last message of a person or coordinator */
  readonly reminders: number
}

/** What the daemon is asked to do. It may be asked again after a crash, so each can be repeated; those of one member are done in order. */
export type JobWork =
  | { readonly type: 'spawn'; readonly member: MemberId }
  /** the member's worktree is brought to the crew's branch, clean; with `from`: to what that member left, uncommitted files too. `read`: facts of the crew's journal that are wanted */
  | { readonly type: 'prepare'; readonly member: MemberId; readonly task: TaskId; readonly from: MemberId | null; readonly read: readonly number[] }
  /** what a reviewer has to know of the files of `implementer` */
  | { readonly type: 'brief'; readonly member: MemberId; readonly task: TaskId; readonly implementer: MemberId | null; readonly read: readonly number[] }
  /** has the member's branch moved since `base`? `force`: what is not committed is committed */
  | { readonly type: 'commit'; readonly member: MemberId; readonly task: TaskId; readonly base: string | null; readonly force: boolean }
  | { readonly type: 'merge'; readonly member: MemberId; readonly task: TaskId; readonly commit: string }
  /** after a cancel: salvaged, then back to the base */
  | { readonly type: 'reset'; readonly member: MemberId; readonly task: TaskId }
  /** what a member that is gone left is put on a ref */
  | { readonly type: 'salvage'; readonly member: MemberId; readonly task: TaskId }

export type Job = JobWork & { readonly job: number }

/** How a job went. `error` of any: it could not be done. */
export type JobResult =
  | { readonly type: 'error'; readonly error: string }
  | { readonly type: 'spawned'; readonly uuid: Uuid }
  /** `read`: the facts that were wanted; they are not recorded again. `salvaged`: a ref with what was left there */
  | { readonly type: 'prepared'; readonly base: string | null; readonly read: readonly CrewFact[]; readonly salvaged?: string }
  /** where the implementer works, its branch, and the commit that this is at */
  | { readonly type: 'briefed'; readonly dir: string | null; readonly branch: string | null; readonly head: string | null; readonly read: readonly CrewFact[] }
  /** commit null: the branch has not moved; dirty: there is something to commit; `output`: what git or a hook said against it, or what is to be known of a commit */
  | { readonly type: 'committed'; readonly commit: string | null; readonly dirty: boolean; readonly output?: string }
  | { readonly type: 'merged'; readonly merged: string }
  /** `branch`: has the commit, whatever becomes of its worker's own */
  | { readonly type: 'conflict'; readonly files: readonly string[]; readonly branch?: string }
  /** of a merge: the commit stays on a branch of its own, for this reason */
  | { readonly type: 'left'; readonly branch: string; readonly reason: string }
  /** of reset and salvage; null: there was nothing */
  | { readonly type: 'salvaged'; readonly ref: string | null }
