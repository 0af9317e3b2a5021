// What the turns of one incarnation share, and the few ways in which they wait: for an acknowledgement, at the gate, for
// time to pass. Two signals end a wait: the turn's (an interruption) and the incarnation's (its end).
// Test: test/e2e/native.test.ts.
import type { Ack, Asking, Permit, Report } from '../../kernel/reports.ts'
import type { KernelPort, Launch } from '../port.ts'
import type { Chain } from './chain.ts'
import type { Context } from './context.ts'
import type { RetryPolicy } from './retry.ts'
import type { Freezer } from './tools/freezer.ts'
import type { Toolbox } from './tools/toolbox.ts'

export interface Work {
  readonly kernel: KernelPort
  readonly launch: Launch
  /** the model that is asked now, and those that are asked when it cannot answer */
  readonly model: Chain
  readonly context: Context
  readonly toolbox: Toolbox
  readonly freezer: Freezer
  readonly retry: RetryPolicy
  /** aborted when the incarnation ends; nothing more is reported then */
  readonly ending: AbortSignal
  /** a hold is there: asking for a model call would only be answered `held` */
  isPaused(): boolean
  /** aborted when the next pause begins, or the one that is on has begun */
  pausing(): AbortSignal
  /** what is in flight, in words, by call */
  readonly inFlight: Map<string, string>
  /** tool calls that have begun and have not ended, also those whose end nobody waits for any more */
  readonly running: Set<Promise<unknown>>
}

export interface Turn {
  readonly id: number
  /** aborted by an interruption, and by the end of the incarnation */
  readonly signal: AbortSignal
  /** the last text of the model in this turn */
  lastText: string
}

/** The kernel wants no more of this turn. */
export class TurnOver extends Error {}

/** The turn cannot go on; the message says why. */
export class TurnFailed extends Error {}

/** Says something to the kernel and waits until it is on disk. */
export function say(work: Work, report: Report): Promise<Ack> {
  return abortable(work.kernel.report(report), work.ending)
}

/** Asks whether a call to the model may begin. */
export function askToBegin(work: Work, asking: Asking): Promise<Permit> {
  return abortable(work.kernel.begin(asking), work.ending)
}

/** Waits until the process has no hold. */
export function gate(work: Work, turn: Turn): Promise<void> {
  return abortable(work.kernel.clear(), turn.signal)
}

/** The promise, or a rejection as soon as the signal aborts. What the promise becomes later is nobody's business. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  return result
}
