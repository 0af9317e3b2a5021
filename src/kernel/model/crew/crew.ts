// The state of a crew: its tasks, members, open jobs and counters. This is a part of a crew's row. The row must stay small: the texts of
// tasks are in facts, and the row has their sequence numbers (seqs). Only `foldCrew` (fold.ts) makes a new value.
// Test: test/simulation/crew.test.ts.
import type { Job } from './facts.ts'
import type { Sender, Uuid } from '../ids.ts'
import type { UsageTotals } from '../usage.ts'
import type {
  MemberId,
  TaskId,
  WorkerRole,
  Role,
  Phase,
  TaskState,
  ReviewVerdict,
  CrewOutcome,
  AskedFor,
  KeptFiles,
  TaskAgent,
  TaskLimits,
  Leave,
  TaskTexts,
  TaskCheck,
  TaskKind,
  MemberState,
} from './words.ts'

export interface Crew {
  readonly tasks: readonly Task[]
  /** every member that the crew ever had, in order of creation */
  readonly members: readonly Member[]
  /** jobs that the daemon has not answered yet, oldest first */
  readonly jobs: readonly Job[]
  /** the first members have been requested */
  readonly begun: boolean
  readonly nextWorker: number
  readonly nextCoordinator: number
  readonly nextTask: number
  readonly nextJob: number
  /** number of the last message to a member; 0 before the first */
  readonly messages: number
  /** number of members lost since a worker last reported a result */
  readonly fruitless: number
  /** why the crew starts nothing more until the user resumes it; absent: it is not halted */
  readonly halted?: string
  /** number of consecutive notices to the coordinator that no task makes progress */
  readonly stalls: number
  /** how the crew ends; `ended`: its members have been retired; null: it is not ending */
  readonly ending: { readonly outcome: CrewOutcome; readonly summary: string; readonly ended: boolean } | null
}

export interface Task {
  readonly id: TaskId
  readonly kind: TaskKind
  readonly title: string
  /** the sequence numbers of the facts that have its texts */
  readonly seqs: TaskTexts
  readonly needs: readonly TaskId[]
  readonly role: WorkerRole | null
  readonly reviews: boolean
  /** tasks of higher priority are assigned, reviewed and merged first; absent: 0 */
  readonly priority?: number
  readonly limits?: TaskLimits
  /** the required agent and model; absent: any worker of a suitable role */
  readonly who?: TaskAgent
  /** usage of the turns of this attempt */
  readonly used?: UsageTotals
  /** start of this attempt, wall time in ms */
  readonly triedAt?: number
  /** `own`: the verify command in the fact `task.added` runs; `none`: no command runs; absent: the crew's command runs */
  readonly verify?: 'own' | 'none'
  /** the last run of the verify command in this attempt */
  readonly check?: TaskCheck | null
  readonly state: TaskState
  /** the member that implements the task, or did so when it was done */
  readonly implementer: MemberId | null
  /** every member that ever implemented the task; these review it only if no other worker can */
  readonly implementers: readonly MemberId[]
  readonly reviewer: MemberId | null
  readonly verdict: ReviewVerdict | null
  /** number of failed attempts, for any reason */
  readonly attempts: number
  /** the implementer has begun a turn for the task, so the attempt counts; absent in old rows */
  readonly begun?: boolean
  /** number of workers that were lost before their first turn for the task, or whose files were lost */
  readonly losses?: number
  /** the ref from which the next implementer's files come; null or absent: the implementer starts from the crew's branch */
  readonly keeps?: KeptFiles | null
  /** the task waits for the user, its files are on its review ref, and its worker is free */
  readonly parked?: boolean
  /** number of attempts that a reviewer or the user denied */
  readonly denials: number
  /** number of consecutive reviewers that gave no verdict */
  readonly unreviewed: number
  /** the reviewers that gave no verdict, and the reason of the last one; null or absent: none */
  readonly silent?: { readonly members: readonly MemberId[]; readonly reason: string } | null
  /** the implementer's files are ready, and it has received the task */
  readonly prepared: boolean
  /** the reviewer has received the review request */
  readonly briefed: boolean
  /** the commit gate has approved the task */
  readonly cleared: boolean
  /** the commit of the implementer's branch before the attempt */
  readonly base: string | null
  readonly commit: string | null
  /** the commit of the crew's branch after the merge */
  readonly merged: string | null
  /** the conflict task that must finish first */
  readonly conflict: TaskId | null
  /** number of reminders to commit */
  readonly commitTries: number
  /** the commit that the last reviewer was asked to review; null or absent: none */
  readonly viewed?: string | null
  /** the entry of the task in the merge queue; null or absent before its approval */
  readonly landing?: Landing | null
  /** the open question to the user */
  readonly ask: { readonly id: string; readonly for: AskedFor } | null
  /** number of questions to the user about the task, answered ones included */
  readonly asks: number
  /** the reason of the last failure or of the end; at most 200 characters */
  readonly reason: string | null
  /** the sender who marked the task as done without a review or commit */
  readonly byWord?: Sender
  /** a ref with the uncommitted files of an earlier attempt */
  readonly salvaged: string | null
  /** the needed task whose failure is the only cause of this task's failure */
  readonly lostNeed?: TaskId | null
  /** the result of the task before it was reopened */
  readonly earlier?: { readonly commit: string | null; readonly merged: string | null }
  /** number of retries by a coordinator */
  readonly retries?: number
  readonly spent: UsageTotals
  /** wall ms */
  readonly times: { readonly added: number; readonly started: number | null; readonly ended: number | null }
}

/** An entry of the merge queue. It exists from the approval of a task until its commit is on the crew's branch. */
export interface Landing {
  /** the seq of the approval fact; tasks are merged in this order */
  readonly since: number
  /** the task blocks the queue, although no commit or merge is in progress */
  readonly holds?: true
  /** files in conflict with the crew's branch; the author resolves them while committing */
  readonly resolves?: readonly string[]
  /** a commit that differs from the approved one (`from`), and needs a new review */
  readonly differs?: { readonly commit: string; readonly from: string; readonly files: readonly string[] }
  /** why the crew's branch cannot be moved; the user has been notified */
  readonly blocked?: string
  /** a conflict task that is done but merged nothing */
  readonly unresolved?: TaskId
  /** number of merges that failed because the crew's branch was moved by another program */
  readonly moves?: number
}

export interface Member {
  readonly id: MemberId
  readonly role: Role
  /** the agent and model that it was spawned with; it gets only reviews, and tasks that require the same */
  readonly who?: TaskAgent
  /** null while the process is being started */
  readonly uuid: Uuid | null
  readonly state: MemberState
  /** how and why the member leaves or left */
  readonly leave: { readonly how: Leave; readonly reason: string } | null
  readonly phase: Phase
  /** the task that the member implements or reviews */
  readonly task: TaskId | null
  /** the task that it implements, while it reviews another one; null or absent: none */
  readonly own?: TaskId | null
  /** the task in `own` was denied during the review, and the member has not received the comments yet */
  readonly unheard?: true
  readonly turn: MemberTurn
  /** true until its first turn ends */
  readonly fresh: boolean
  /** the member is paused and gets no new work */
  readonly held: boolean
  /** the reason of the hold */
  readonly heldFor?: string
  /** the hold ends automatically */
  readonly wakes?: true
  /** the successor that took over its work; the member leaves when the successor is running */
  readonly heir: MemberId | null
  /** the member whose work this one took over */
  readonly heirOf: MemberId | null
  /** the predecessor's summary, kept until this member is running; null for a worker with a task: a fact has the summary */
  readonly summary: string | null
  /** a message was queued for it since its last turn began */
  readonly told: boolean
  /** its context is nearly full, and it was asked for a summary */
  readonly full: boolean
  /** the cancelled task whose files must be reset when the turn ends */
  readonly cleanup: TaskId | null
  /** unread messages of its predecessors are being moved to it; newer messages must come after them */
  readonly inherits?: true
  /** the setup of its worktree succeeded */
  readonly setUp?: true
  /** its last tool calls, with their answers, for repeated calls */
  readonly heard: readonly { readonly call: string; readonly note: string }[]
}

export interface MemberTurn {
  /** the number of the turn in progress; null: none */
  readonly open: number | null
  /** phase and task at the start of the turn */
  readonly phase: Phase
  readonly task: TaskId | null
  /** the turn has called one of the four tools that close a turn */
  readonly answered: boolean
  /** the turn has called `signal_ready` and no other closing tool */
  readonly saidReady?: true
  /** number of reminders since the last message of the user or a coordinator */
  readonly reminders: number
}
