// The signals of the kernel: their numbers, which of them can be blocked, and the grace of a stop. One function decides the disposition of
// a signal: a blocked signal stays pending, any other gets the disposition of its handler. The numbers are the kernel's own; the command
// line takes POSIX numbers. Test: test/tables/kernel/model/signals.test.ts.
import type { Sender, Uuid } from './ids.ts'
import { SIGNALS, type Handler, type Signal } from './words.ts'

/**
 * The time in ms between SIGTERM and SIGKILL for a stop by the user, a supervisor, a crew or a compose run. An agent whose clean-up is
 * known to take longer gets more.
 */
export const STOP_GRACE_MS = 10_000

/** A signal that was sent but not delivered yet. */
export interface PendingSignal {
  readonly signal: Signal
  readonly by: Sender
  readonly root: Uuid | null
  readonly graceMs: number | null
  /** the latest time of delivery, in monotonic ms; null: the signal may wait forever */
  readonly dueMono: number | null
  readonly via?: string
}

/** What happens to a signal that arrives. */
export const DISPOSITIONS = ['default', 'ignored', 'message', 'pending'] as const
export type Disposition = (typeof DISPOSITIONS)[number]

/** A signal that was sent to this process. */
export interface SentSignal {
  readonly signal: Signal
  readonly by: Sender
  /** the client that sent it, such as `cli/0.1.0 pid=123`; clients state this themselves, so it is for display only */
  readonly via?: string
  /** the root of the signalled subtree; null for a single process */
  readonly root: Uuid | null
  readonly disposition: Disposition
  /** wall time in ms */
  readonly at: number
  /** ms after which SIGKILL followed; absent: the signal was enough */
  readonly escalatedMs?: number
}

export interface SignalState {
  readonly mask: readonly Signal[]
  readonly pending: readonly PendingSignal[]
  readonly handlers: Readonly<Partial<Record<Signal, Handler>>>
  /** the last few signals, oldest first, over all incarnations; absent: none */
  readonly recent?: readonly SentSignal[]
}

interface SignalRow {
  /** the number in the API; it never changes */
  readonly number: number
  /** it can be blocked, and handled */
  readonly blockable: boolean
  /** its default action may end the process */
  readonly mayEnd: boolean
  /** the exit code is `128 + posix` */
  readonly posix: number
}

export const SIGNAL_TABLE: Readonly<Record<Signal, SignalRow>> = {
  SIGTERM: { number: 1, blockable: true, mayEnd: true, posix: 15 },
  SIGKILL: { number: 2, blockable: false, mayEnd: true, posix: 9 },
  SIGINT: { number: 3, blockable: true, mayEnd: true, posix: 2 },
  SIGPAUSE: { number: 4, blockable: true, mayEnd: false, posix: 19 },
  SIGRESUME: { number: 5, blockable: true, mayEnd: false, posix: 18 },
}

export const BLOCKABLE_SIGNALS: readonly Signal[] = SIGNALS.filter((name) => SIGNAL_TABLE[name].blockable)

/** The maximum time, in ms, for which a mask or `ignore` defers a signal from the user or a supervisor. */
export const DEFER_MS = 10_000

export const NO_SIGNALS: SignalState = { mask: [], pending: [], handlers: {} }

/** The id of the message that announces a signal. `seq`: the process's last fact. */
export function signalMessageId(seq: number): string {
  return `signal-${seq}`
}

export function isSignalMessage(id: string): boolean {
  return id.startsWith('signal-')
}

/** The id of a message by which the kernel warns an agent in its open turn. `seq`: the process's last fact. */
export function noticeId(seq: number): string {
  return `notice-${seq}`
}

export function isNotice(id: string): boolean {
  return id.startsWith('notice-')
}

/** maximum number of signals that a row remembers */
const MAX_RECENT_SIGNALS = 5

export function rememberSignal(state: SignalState, sent: SentSignal): SignalState {
  return { ...state, recent: [...(state.recent ?? []).slice(1 - MAX_RECENT_SIGNALS), sent] }
}

/** Records, for the newest signal of this kind, that SIGKILL followed. */
export function rememberEscalation(state: SignalState, from: Signal, afterMs: number): SignalState {
  const { recent = [] } = state
  const last = recent.findLastIndex(({ signal }) => signal === from)
  return last < 0 ? state : { ...state, recent: recent.with(last, { ...(recent[last] as SentSignal), escalatedMs: afterMs }) }
}

/** A new incarnation has no mask and no handlers, but keeps the recent signals. */
export function resetSignals({ recent }: SignalState): SignalState {
  return recent ? { ...NO_SIGNALS, recent } : NO_SIGNALS
}

/** The disposition of a signal that arrives now. `force`: the deferral of the signal is over, so it cannot be deferred again. */
export function dispositionOf(state: SignalState, signal: Signal, force = false): Disposition {
  if (!SIGNAL_TABLE[signal].blockable) return 'default'
  // A forced signal skips its handler. For SIGTERM the handler may still run, because its grace bounds it.
  if (force) return signal === 'SIGTERM' && state.handlers[signal] === 'message' ? 'message' : 'default'
  if (state.mask.includes(signal)) return 'pending'
  switch (state.handlers[signal] ?? 'default') {
    case 'default':
      return 'default'
    case 'ignore':
      return 'ignored'
    case 'message':
      return 'message'
  }
}
