// The states of a task. Has the table of states × events, which `nextState` applies. An event that the table does not allow throws CONFLICT
// and changes nothing. Only an explicit `retry`, or the user's `reopen`, opens a closed task again.
// Test: test/tables/kernel/crew/state/transition-tables.test.ts.
import { KernelError } from '../../model/errors.ts'
import { stateText } from './phases.ts'
import type { TaskState } from '../../model/crew/words.ts'

/**
 * What happens to a task:
 * `assign`: it is given to a worker. `report`: its worker reports it as complete. `review`: it is given to a reviewer.
 * `unreview`: it is taken from its reviewer. `failVerify`: its verify command failed. `deny`: it is sent back.
 * `approve`: a review approves it. `ask`: the user is asked about it. `pass`: the gate approves its commit.
 * `commit`: its commit starts. `committed`: its commit exists.
 * `differ`: its commit differs from the approved files. `requeue`, `done`, `fail`, `cancel`: the attempt or the task ends.
 * `retry`, `reopen`: the closed task is opened again.
 */
export type TaskEvent =
  | 'assign'
  | 'report'
  | 'review'
  | 'unreview'
  | 'failVerify'
  | 'deny'
  | 'approve'
  | 'ask'
  | 'pass'
  | 'commit'
  | 'committed'
  | 'differ'
  | 'requeue'
  | 'done'
  | 'fail'
  | 'cancel'
  | 'retry'
  | 'reopen'

type Row = { readonly [E in TaskEvent]: TaskState | 'illegal' }

const ALL_ILLEGAL: Row = {
  assign: 'illegal',
  report: 'illegal',
  review: 'illegal',
  unreview: 'illegal',
  failVerify: 'illegal',
  deny: 'illegal',
  approve: 'illegal',
  ask: 'illegal',
  pass: 'illegal',
  commit: 'illegal',
  committed: 'illegal',
  differ: 'illegal',
  requeue: 'illegal',
  done: 'illegal',
  fail: 'illegal',
  cancel: 'illegal',
  retry: 'illegal',
  reopen: 'illegal',
}
/** An open task: before its commit starts, the user or a coordinator may close it at any time. */
const OPEN_STATE: Row = { ...ALL_ILLEGAL, done: 'done', fail: 'failed', cancel: 'cancelled' }
/** A task that a worker has: it may also go back to the queue. */
const HELD_STATE: Row = { ...OPEN_STATE, requeue: 'queued' }

export const TASK_STATE_TABLE: { readonly [S in TaskState]: Row } = {
  queued: { ...OPEN_STATE, assign: 'implementing', ask: 'waiting' },
  implementing: { ...HELD_STATE, report: 'awaiting_review' },
  awaiting_review: { ...HELD_STATE, review: 'in_review', failVerify: 'addressing_feedback', ask: 'waiting', pass: 'approved' },
  in_review: { ...HELD_STATE, unreview: 'awaiting_review', deny: 'addressing_feedback', approve: 'approved' },
  addressing_feedback: { ...HELD_STATE, report: 'awaiting_review' },
  approved: { ...HELD_STATE, ask: 'waiting', pass: 'approved', commit: 'committing' },
  waiting: { ...HELD_STATE, review: 'in_review', deny: 'addressing_feedback', approve: 'approved', pass: 'approved' },
  committing: { ...ALL_ILLEGAL, committed: 'merging', differ: 'awaiting_review', requeue: 'queued', done: 'done', fail: 'failed' },
  merging: { ...ALL_ILLEGAL, requeue: 'queued', done: 'done', fail: 'failed' },
  done: { ...ALL_ILLEGAL, reopen: 'queued' },
  failed: { ...ALL_ILLEGAL, retry: 'queued' },
  cancelled: { ...ALL_ILLEGAL, retry: 'queued' },
}

/** The state after an event. Errors: CONFLICT if the table does not allow the event. */
export function nextState(state: TaskState, event: TaskEvent): TaskState {
  const next = TASK_STATE_TABLE[state][event]
  if (next === 'illegal') throw new KernelError('CONFLICT', `"${event}" is not possible for a task that is ${stateText(state)}`)
  return next
}

export function isClosed({ state }: { readonly state: TaskState }): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

/** Whether the task is being committed or merged. Such work is never interrupted. */
export function isCommittingOrMerging({ state }: { readonly state: TaskState }): boolean {
  return state === 'committing' || state === 'merging'
}
