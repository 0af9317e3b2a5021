// The closed union of a crew's facts. The crew's own journal has all of them, and its state is their fold. The texts of tasks are stored in
// facts only. This is the stored format: a field may be added, but no field may change its meaning. Test: test/simulation/crew.test.ts.
import type { VerifyResult, SetupResult } from './shell-command-results.ts'
import type { Sender, Uuid } from '../ids.ts'
import type { UsageTotals } from '../usage.ts'
import type {
  AskedFor,
  CrewShellCommand,
  CrewOutcome,
  KeptFiles,
  Leave,
  MemberId,
  Role,
  TaskId,
  TaskLimits,
  ReviewVerdict,
  VerifyStage,
  TaskAgent,
  WorkerRole,
  TaskKind,
} from './words.ts'

/**
 * How a member's turn ended. `complete`: with a closing tool, or none was required; `exempt`: the first turn of the member,
 * or an interrupted turn of an idle member; `waits`: a message or a job will continue the member; `reminded`: the member is
 * reminded of the tool; `through`: no reminder is left, and the turn is accepted; `failed`: with an error.
 */
export type TurnEnd = 'complete' | 'exempt' | 'waits' | 'reminded' | 'through' | 'failed'

/** `via`: the session of the page, `web:ID`, whose command asked for this very fact. Consequences of the command lack it. */
export type CrewFact =
  /** the first members are requested; emitted at the first start only */
  | { readonly type: 'crew.begun' }
  /** a member is requested; `who`: overrides of the role's agent or model */
  | { readonly type: 'crew.member'; readonly member: MemberId; readonly role: Role; readonly who?: TaskAgent; readonly via?: string }
  /** the member's process has started or resumed; `inherits`: unread messages of its predecessors are being moved to it */
  | { readonly type: 'crew.joined'; readonly member: MemberId; readonly process: Uuid; readonly inherits?: true }
  /** the setup of the member's worktree ended: files were copied and the setup command ran */
  | ({ readonly type: 'crew.setup'; readonly member: MemberId; readonly ok: boolean } & Omit<SetupResult, 'type'>)
  /** all unread messages of its predecessors have been moved to the member */
  | { readonly type: 'crew.inherited'; readonly member: MemberId }
  /** the member was asked to leave */
  | { readonly type: 'crew.leaving'; readonly member: MemberId; readonly how: Leave; readonly reason: string; readonly via?: string }
  /** the member has left; `by`: the user ended its process */
  | {
      readonly type: 'crew.left'
      readonly member: MemberId
      readonly how: Leave
      readonly reason: string
      readonly by?: 'user'
      readonly via?: string
    }
  /** the successor `heir` takes over the task and phase at once, and the messages when it has started */
  | { readonly type: 'crew.replaced'; readonly member: MemberId; readonly heir: MemberId; readonly summary: string; readonly via?: string }
  /** the successor could not start: the member stays if its process is alive */
  | { readonly type: 'crew.kept'; readonly member: MemberId }
  /** the member was paused or resumed; `wakes`: the hold ends automatically */
  | { readonly type: 'crew.held'; readonly member: MemberId; readonly held: boolean; readonly reason?: string; readonly wakes?: true }
  /** the member's context is nearly full; `share`: the used part of the context, from 0 to 1 */
  | { readonly type: 'crew.full'; readonly member: MemberId; readonly share: number }
  /** a turn began; `resets`: the message is from the user or a coordinator, so reminders count from 0 again */
  | { readonly type: 'crew.turn.begun'; readonly member: MemberId; readonly turn: number; readonly resets: boolean }
  | {
      readonly type: 'crew.turn'
      readonly member: MemberId
      readonly turn: number
      readonly outcome: 'ok' | 'error' | 'interrupted'
      readonly end: TurnEnd
      readonly queued: number
      readonly task?: TaskId
      readonly spent?: UsageTotals
      readonly error?: string
    }
  /** a member called one of its tools and got the answer `note` */
  | { readonly type: 'crew.heard'; readonly member: MemberId; readonly call: string | null; readonly tool: string; readonly note: string }
  | { readonly type: 'crew.job'; readonly job: Job }
  | { readonly type: 'crew.job.done'; readonly job: number; readonly result: JobResult }
  /** a message was queued for a member; the queue has its text */
  | {
      readonly type: 'crew.sent'
      readonly message: number
      readonly to: MemberId
      readonly from: Sender
      readonly task?: TaskId
      readonly via?: string
    }
  | { readonly type: 'crew.notified'; readonly text: string; readonly via?: string }
  /** the coordinator was notified that no task makes progress */
  | { readonly type: 'crew.stalled' }
  /** the crew starts nothing more until the user repairs the cause and resumes it; null: the halt has ended */
  | { readonly type: 'crew.halted'; readonly reason: string | null }
  | { readonly type: 'crew.ending'; readonly outcome: CrewOutcome; readonly summary: string; readonly via?: string }
  /** no turn and no job is open: the members are retired, and the crew ends */
  | { readonly type: 'crew.ended' }
  | {
      readonly type: 'task.added'
      readonly task: TaskId
      readonly kind: TaskKind
      readonly title: string
      readonly text: string
      readonly acceptance?: string
      readonly needs: readonly TaskId[]
      readonly role: WorkerRole | null
      readonly reviews: boolean
      readonly by: Sender
      readonly limits?: TaskLimits
      readonly priority?: number
      /** overrides the crew's command; false: no command */
      readonly verify?: CrewShellCommand | false
      /** the required agent and model */
      readonly who?: TaskAgent
      readonly via?: string
    }
  /** the task has a new position: its priority and, within it, the task that follows */
  | {
      readonly type: 'task.ordered'
      readonly task: TaskId
      readonly priority: number
      readonly before?: TaskId
      readonly by: Sender
      readonly via?: string
    }
  | { readonly type: 'task.assigned'; readonly task: TaskId; readonly member: MemberId; readonly via?: string }
  /** the implementer has clean files and has received the task */
  | { readonly type: 'task.prepared'; readonly task: TaskId; readonly base: string | null; readonly salvaged?: string }
  | { readonly type: 'task.reported'; readonly task: TaskId; readonly member: MemberId; readonly summary: string }
  /** a reviewer was assigned; `earlier`: the reviewer once implemented the task, but no other worker can review it */
  | { readonly type: 'task.review'; readonly task: TaskId; readonly member: MemberId; readonly earlier?: true; readonly via?: string }
  /** the verify command ran; after a failure the attempt counts as failed, and the task goes back to the implementer */
  | ({
      readonly type: 'task.verify'
      readonly task: TaskId
      readonly member: MemberId
      readonly stage: VerifyStage
      readonly ok: boolean
    } & Omit<VerifyResult, 'type'>)
  /** the reviewer received the review request; `head`: a commit with all files of the change */
  | { readonly type: 'task.briefed'; readonly task: TaskId; readonly head?: string }
  /** the reviewer gave no verdict; `by`: the user ended the reviewer, so this does not count against the task */
  | { readonly type: 'task.unreviewed'; readonly task: TaskId; readonly member: MemberId; readonly reason: string; readonly by?: 'user' }
  /** `member` is null for a verdict of the user; a denial counts as a failed attempt */
  | {
      readonly type: 'task.verdict'
      readonly task: TaskId
      readonly member: MemberId | null
      readonly verdict: ReviewVerdict
      readonly comments: string
    }
  | {
      readonly type: 'task.asked'
      readonly task: TaskId
      readonly id: string
      readonly for: AskedFor
      readonly question: string
      readonly options: readonly string[]
    }
  | { readonly type: 'task.answered'; readonly task: TaskId; readonly option: string | null; readonly text: string | null }
  /** the task may be committed; `by` is null when the crew has no gate */
  | { readonly type: 'task.approved'; readonly task: TaskId; readonly by: Sender | null; readonly via?: string }
  | { readonly type: 'task.committing'; readonly task: TaskId }
  /** the worker was reminded to commit */
  | { readonly type: 'task.uncommitted'; readonly task: TaskId; readonly reason: string }
  /** `note`: a remark of git or a hook about the commit */
  | { readonly type: 'task.committed'; readonly task: TaskId; readonly commit: string; readonly note?: string }
  /** the author must resolve a conflict with the crew's branch in `files`; `tasks`: the tasks that changed them there */
  | { readonly type: 'task.resolving'; readonly task: TaskId; readonly files: readonly string[]; readonly tasks: readonly TaskId[] }
  /** the commit differs from the approved one (`from`) and is reviewed again */
  | {
      readonly type: 'task.differs'
      readonly task: TaskId
      readonly commit: string
      readonly from: string
      readonly files: readonly string[]
    }
  | { readonly type: 'task.merged'; readonly task: TaskId; readonly merged: string }
  | { readonly type: 'task.conflict'; readonly task: TaskId; readonly conflict: TaskId; readonly files: readonly string[] }
  /** the conflict task is done; `unmerged`: it has merged nothing */
  | { readonly type: 'task.resolved'; readonly task: TaskId; readonly conflict: TaskId; readonly unmerged?: true }
  /** the task is committed, but the crew's branch cannot be moved for this reason */
  | { readonly type: 'task.blocked'; readonly task: TaskId; readonly reason: string }
  /** the task waits for the user; its review ref has its files, and its worker is free */
  | { readonly type: 'task.parked'; readonly task: TaskId }
  /** the author has the task again; its files are restored next */
  | { readonly type: 'task.resumed'; readonly task: TaskId; readonly member: MemberId }
  /**
   * the attempt ended. `counts`: it counts as failed; `lost`: the worker or its files were lost; `keeps`: the ref from
   * which the next files come
   */
  | {
      readonly type: 'task.requeued'
      readonly task: TaskId
      readonly reason: string
      readonly counts: boolean
      readonly lost?: true
      readonly keeps?: KeptFiles
      readonly via?: string
    }
  /** `by`: the sender who marked it done; nothing was reviewed or committed */
  | { readonly type: 'task.done'; readonly task: TaskId; readonly reason: string | null; readonly by?: Sender; readonly via?: string }
  /** `need`: the needed task whose failure is the only cause of this one */
  | { readonly type: 'task.failed'; readonly task: TaskId; readonly reason: string; readonly need?: TaskId; readonly via?: string }
  | { readonly type: 'task.cancelled'; readonly task: TaskId; readonly reason: string; readonly via?: string }
  /** the task was done by an earlier crew: its result and report */
  | {
      readonly type: 'task.taken'
      readonly task: TaskId
      readonly crew: Uuid
      readonly name: string
      readonly commit: string | null
      readonly merged: string | null
      readonly report?: string
      readonly byWord?: Sender
    }
  /** the failed or cancelled task is queued again; its attempts count from 0 */
  | { readonly type: 'task.retried'; readonly task: TaskId; readonly by: Sender; readonly via?: string }
  /** the user rejected the done task: it is queued again, and its attempts count from 0 */
  | { readonly type: 'task.reopened'; readonly task: TaskId; readonly comments: string; readonly by: Sender; readonly via?: string }
  /** only the fields that are present change */
  | {
      readonly type: 'task.edited'
      readonly task: TaskId
      readonly title?: string
      readonly text?: string
      readonly acceptance?: string
      readonly needs?: readonly TaskId[]
      readonly role?: WorkerRole
      readonly reviews?: boolean
      readonly by: Sender
      /** replaces all limits; {}: no limits */
      readonly limits?: TaskLimits
      /** replaces the required agent and model; {}: the role's default */
      readonly who?: TaskAgent
      readonly via?: string
    }
  /** a message in the thread of a task; `task` null: it is about no task */
  | { readonly type: 'task.message'; readonly task: TaskId | null; readonly from: MemberId; readonly to: string; readonly text: string }

export type CrewFactType = CrewFact['type']

/** A fact with its position on the crew's journal. */
export interface CrewRecord {
  readonly seq: number
  /** wall time in ms */
  readonly at: number
  readonly body: CrewFact
}

/** A merge that may become the new head of the crew's branch. */
export interface MergeCandidate {
  /** the commit of the task */
  readonly commit: string
  /** the commit that merges the task's commit into the branch */
  readonly candidate: string
  /** the head of the branch when the candidate was made */
  readonly head: string
}

/** A job for the daemon. Open jobs are requested again after a crash, so each job must be repeatable. Jobs of one member run in order. */
export type JobWork =
  | { readonly type: 'spawn'; readonly member: MemberId }
  /** copies files into the member's new worktree and runs the setup command */
  | { readonly type: 'setup'; readonly member: MemberId }
  /**
   * resets the member's worktree to the files of the member `from`, including uncommitted ones. `from` null: to the
   * task's ref `keeps`, else to the crew's branch. `read`: seqs of facts to return
   */
  | {
      readonly type: 'prepare'
      readonly member: MemberId
      readonly task: TaskId
      readonly from: MemberId | null
      readonly read: readonly number[]
      readonly keeps?: KeptFiles
    }
  /** collects what a reviewer needs to know about the files of `implementer` */
  | {
      readonly type: 'brief'
      readonly member: MemberId
      readonly task: TaskId
      readonly implementer: MemberId | null
      readonly read: readonly number[]
      readonly commit?: string
    }
  /** checks whether a commit merges into the crew's branch; `reviewed`: the commit, null: the member's files */
  | { readonly type: 'check'; readonly member: MemberId; readonly task: TaskId; readonly reviewed: string | null }
  /**
   * checks that the commit of the task equals `reviewed`. `merges`: a commit that must be its ancestor. `force`: reeve
   * commits the files. `instead`: reeve commits the reviewed files, because no worker is left
   */
  | {
      readonly type: 'commit'
      readonly member: MemberId
      readonly task: TaskId
      readonly base: string | null
      readonly force: boolean
      readonly reviewed?: string
      readonly merges?: string
      readonly instead?: true
    }
  /** makes a merge candidate for the crew's branch. `patient`: first waits until no other program uses or moves the branch */
  | { readonly type: 'merge'; readonly member: MemberId; readonly task: TaskId; readonly commit: string; readonly patient?: true }
  /** moves the crew's branch from `head` to the candidate, unless the branch is no longer at `head` */
  | ({ readonly type: 'land'; readonly member: MemberId; readonly task: TaskId } & MergeCandidate)
  /**
   * runs the verify command in the files of a member, or of the merge candidate `merge`; `read`: seq of the fact that
   * has the task's command
   */
  | {
      readonly type: 'verify'
      readonly member: MemberId
      readonly task: TaskId
      readonly read: readonly number[]
      readonly merge?: MergeCandidate
    }
  /** stores the files of a task that will wait for the user, on its review ref */
  | { readonly type: 'park'; readonly member: MemberId; readonly task: TaskId }
  /** stores the files of a cancelled task on a ref, then resets the worktree to its base */
  | { readonly type: 'reset'; readonly member: MemberId; readonly task: TaskId }
  /** stores the files of a departed member on a ref */
  | { readonly type: 'salvage'; readonly member: MemberId; readonly task: TaskId }

export type Job = JobWork & { readonly job: number }

export type JobOf<T extends Job['type']> = Extract<Job, { type: T }>

/** The result of a job. */
export type JobResult =
  /** the job failed; `lost`: the member whose files cannot be opened; `of` `task`: the job would fail for every member */
  | { readonly type: 'error'; readonly error: string; readonly lost?: MemberId; readonly of?: 'task' }
  | { readonly type: 'spawned'; readonly uuid: Uuid }
  /**
   * `read`: the requested facts, which are not recorded again. `salvaged`: a ref with files that were found in the
   * worktree. `kept`: the ref from which the new files come. `without`: why the predecessor's files are missing
   */
  | {
      readonly type: 'prepared'
      readonly base: string | null
      readonly read: readonly CrewFact[]
      readonly salvaged?: string
      readonly kept?: string
      readonly without?: string
    }
  /** the directory, branch and current commit of the implementer */
  | {
      readonly type: 'briefed'
      readonly dir: string | null
      readonly branch: string | null
      readonly head: string | null
      readonly read: readonly CrewFact[]
    }
  /**
   * `commit` null: the worker has committed nothing; `dirty`: it has uncommitted files; `output`: the text of git or a
   * hook about the commit
   */
  | { readonly type: 'committed'; readonly commit: string | null; readonly dirty: boolean; readonly output?: string }
  /** of a merge: the candidate, which is on no branch yet, and the current head of the crew's branch */
  | {
      readonly type: 'candidate'
      readonly candidate: string
      readonly head: string
      /** the candidate's tree; absent when it was not read */
      readonly tree?: string
    }
  /** the crew's branch contains the commit, as was checked */
  | { readonly type: 'merged'; readonly merged: string }
  /** of `land`: another program has moved the branch; `by`: the author and message in the reflog */
  | { readonly type: 'moved'; readonly by?: string }
  /** of a merge or `land`: the branch is checked out in another worktree */
  | { readonly type: 'occupied'; readonly reason: string }
  /** of a merge: `files` are in conflict; `branch`: a branch that keeps the commit even if the worker's branch is deleted */
  | { readonly type: 'conflict'; readonly files: readonly string[]; readonly branch?: string; readonly commit?: string }
  /**
   * of a commit: it differs from the approved files; `from`: a commit of the approved files, merged with the part of the
   * crew's branch that the commit contains
   */
  | { readonly type: 'differs'; readonly commit: string; readonly from: string; readonly files: readonly string[] }
  /** of a check: the files in conflict with the crew's branch, and the tasks that changed them there */
  | { readonly type: 'checked'; readonly files: readonly string[]; readonly tasks: readonly TaskId[] }
  /** of a merge: the commit was not merged for this reason, and is on the branch `branch` */
  | { readonly type: 'left'; readonly branch: string; readonly reason: string }
  | VerifyResult
  | SetupResult
  /** of `park`: the review ref has the files */
  | { readonly type: 'parked' }
  /** of `reset` and `salvage`: the ref with the files; null: there were none */
  | { readonly type: 'salvaged'; readonly ref: string | null }

export type JobResultOf<T extends JobResult['type']> = Extract<JobResult, { type: T }>

export type CrewFactOf<T extends CrewFact['type']> = Extract<CrewFact, { type: T }>
