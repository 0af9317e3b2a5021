// The state that all turns of one incarnation share, and the functions by which a turn waits for the kernel. A turn waits for
// an acknowledgement, for a grant, or until the process has no hold. A wait ends early when the turn is interrupted or the
// incarnation ends.
// Test: test/processes/native/tool-loop.test.ts.
import { raceAbort } from '../common/race-abort.ts'
import type { Ack, CallRequest, CallGrant, Report } from '../../kernel/model/reports.ts'
import type { KernelPort, Launch } from '../port.ts'
import type { FallbackChain } from './models/fallback-chain.ts'
import type { Context } from './context/context.ts'
import type { RetryPolicy } from './models/retry.ts'
import type { FreezableTimers } from '../common/freezable-timers.ts'
import type { Toolbox } from './tools/toolbox.ts'
import type { PauseGate } from '../common/pause-gate.ts'
import type { CallPolicy } from './permissions/call-policy.ts'
import type { OpenQuestions } from './permissions/questions.ts'
import type { NativeSpec } from '../../kernel/model/process-spec.ts'

export interface RunContext {
  readonly kernel: KernelPort
  readonly launch: Launch<NativeSpec>
  /** the current model and its fallbacks */
  readonly model: FallbackChain
  readonly context: Context
  readonly toolbox: Toolbox
  readonly timers: FreezableTimers
  readonly retry: RetryPolicy
  /** aborted when the incarnation ends; after that, nothing more is reported */
  readonly endSignal: AbortSignal
  /** True while the process has a hold. The kernel would answer a request for a model call with `held`. */
  isPaused(): boolean
  /** The signal that aborts when the next pause begins. During a pause it is already aborted. */
  pauseSignal(): AbortSignal
  /** closed during a pause */
  readonly pauseGate: PauseGate
  readonly policy: CallPolicy
  readonly questions: OpenQuestions
  /** descriptions of the calls in flight, by call id; the model call has the id `model` */
  readonly inFlight: Map<string, string>
  /** the tool calls that have begun and not ended, including those whose result is no longer awaited */
  readonly runningCalls: Set<Promise<unknown>>
}

export interface Turn {
  readonly id: number
  /** aborted by an interruption, and by the end of the incarnation */
  readonly signal: AbortSignal
  /** the last text of the model in this turn */
  lastText: string
}

/** The turn must end now, because the kernel accepts no more reports of it. */
export class TurnRevoked extends Error {}

/** The turn has failed; the message has the reason. */
export class TurnFailed extends Error {}

/** Sends a report to the kernel and waits until it is written to disk. */
export function reportDurably(run: RunContext, report: Report): Promise<Ack> {
  return raceAbort(run.kernel.report(report), run.endSignal)
}

/** Asks the kernel whether a model call may begin. */
export function requestGrant(run: RunContext, request: CallRequest): Promise<CallGrant> {
  return raceAbort(run.kernel.requestCall(request), run.endSignal)
}

/** Waits until the process has no hold. */
export function waitUntilUnheld(run: RunContext, turn: Turn): Promise<void> {
  return raceAbort(run.kernel.waitUntilUnpaused(), turn.signal)
}
