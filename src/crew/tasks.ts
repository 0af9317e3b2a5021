// The states of a task. Owns the one table of states × events and the one function that makes a new state; what is not in the
// table is CONFLICT, and changes nothing. `done`, `failed` and `cancelled` have no successor: what is complete is never downgraded.
// Test: test/tables/crew-machines.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { TaskState } from './types.ts'

/** Given to a worker · reported · given to a reviewer · taken from it · sent back · found good · a person is asked · its gate says yes · may be committed · is · and its end. */
export type TaskEvent = 'assign' | 'report' | 'review' | 'unreview' | 'deny' | 'approve' | 'ask' | 'pass' | 'commit' | 'committed' | 'requeue' | 'done' | 'fail' | 'cancel'

type Row = { readonly [E in TaskEvent]: TaskState | 'illegal' }

const CLOSED: Row = {
  assign: 'illegal', report: 'illegal', review: 'illegal', unreview: 'illegal', deny: 'illegal', approve: 'illegal', ask: 'illegal', pass: 'illegal',
  commit: 'illegal', committed: 'illegal', requeue: 'illegal', done: 'illegal', fail: 'illegal', cancel: 'illegal',
}
/** What a person or coordinator may do with it at any time, until it is being committed. */
const OPEN: Row = { ...CLOSED, done: 'done', fail: 'failed', cancel: 'cancelled' }
const HELD: Row = { ...OPEN, requeue: 'queued' }

export const TASKS: { readonly [S in TaskState]: Row } = {
  queued: { ...OPEN, assign: 'implementing', ask: 'waiting' },
  implementing: { ...HELD, report: 'awaiting_review' },
  awaiting_review: { ...HELD, review: 'in_review', ask: 'waiting', pass: 'approved' },
  in_review: { ...HELD, unreview: 'awaiting_review', deny: 'addressing_feedback', approve: 'approved' },
  addressing_feedback: { ...HELD, report: 'awaiting_review' },
  approved: { ...HELD, ask: 'waiting', pass: 'approved', commit: 'committing' },
  waiting: { ...HELD, deny: 'addressing_feedback', approve: 'approved', pass: 'approved' },
  committing: { ...CLOSED, committed: 'merging', requeue: 'queued', done: 'done', fail: 'failed' },
  merging: { ...CLOSED, requeue: 'queued', done: 'done', fail: 'failed' },
  done: CLOSED,
  failed: CLOSED,
  cancelled: CLOSED,
}

/** The state after an event. Errors: CONFLICT where the table has none. */
export function nextState(state: TaskState, event: TaskEvent): TaskState {
  const next = TASKS[state][event]
  if (next === 'illegal') throw new KernelError('CONFLICT', `a task that is ${state.replaceAll('_', ' ')} cannot ${event}`)
  return next
}

/**
 * What it is called is a part of the name of a branch: git takes no `..`, and nothing that ends like a lock of its own. Nor is it
 * called like a member, which messages are sent to by the same word.
 */
export const TASK_ID = /^(?!.*\.\.|.*\.(?:lock)?$|(?:coordinator|worker)(?:-\d+)?$|all$)[a-z0-9][a-z0-9._-]{0,39}$/

export function isClosed({ state }: { readonly state: TaskState }): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

/** Its commit is being made, or merged: that is waited for. */
export function isLanding({ state }: { readonly state: TaskState }): boolean {
  return state === 'committing' || state === 'merging'
}
