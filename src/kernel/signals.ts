// The five signals: number, whether they can be blocked, and the one place that decides a disposition:
// blocked → pending, else the handler, else the default. The numbers are the kernel's; the command line takes POSIX ones.
// Test: test/tables/signals.test.ts.
import type { Handler, Sender, Signal, Uuid } from './types.ts'

/** A blocked signal that waits. `dueMono` is set for what a person sent: it is delivered then at the latest. */
export interface PendingSignal {
  readonly signal: Signal
  readonly by: Sender
  readonly root: Uuid | null
  readonly graceMs: number | null
  readonly dueMono: number | null
  readonly via?: string
}

/** What became of a signal that arrived. */
export type Disposition = 'default' | 'ignored' | 'message' | 'pending'

/** A signal that was sent to this process. */
export interface SentSignal {
  readonly signal: Signal
  readonly by: Sender
  /** the client that asked, as it calls itself: `cli/0.1.0 pid=123`. For people to read, never to be trusted */
  readonly via?: string
  /** the process whose subtree was meant; null for a single one */
  readonly root: Uuid | null
  readonly disposition: Disposition
  /** wall time in ms */
  readonly at: number
  /** it was not enough: SIGKILL followed after so long */
  readonly escalatedMs?: number
}

export interface SignalState {
  readonly mask: readonly Signal[]
  readonly pending: readonly PendingSignal[]
  readonly handlers: Readonly<Partial<Record<Signal, Handler>>>
  /** the last few that were sent, oldest first, over all incarnations; absent: none */
  readonly recent?: readonly SentSignal[]
}

interface SignalRow {
  readonly number: 1 | 2 | 3 | 4 | 5
  readonly blockable: boolean
  /** what `128 + n` of the exit code is made from */
  readonly posix: number
}

export const SIGNALS: Readonly<Record<Signal, SignalRow>> = {
  SIGTERM: { number: 1, blockable: true, posix: 15 },
  SIGKILL: { number: 2, blockable: false, posix: 9 },
  SIGINT: { number: 3, blockable: true, posix: 2 },
  SIGPAUSE: { number: 4, blockable: true, posix: 19 },
  SIGRESUME: { number: 5, blockable: true, posix: 18 },
}

/** What a person sends is deferred by a mask or by `ignore` for so long at most. */
export const DEFER_MS = 10_000

export const NO_SIGNALS: SignalState = { mask: [], pending: [], handlers: {} }

/** The id of the message that tells of a signal; `seq` is of the fact before it. */
export function messageOf(seq: number): string {
  return `signal-${seq}`
}

export function isOfSignal(id: string): boolean {
  return id.startsWith('signal-')
}

/** signals that a row remembers */
const MAX_RECENT = 5

export function remember(state: SignalState, sent: SentSignal): SignalState {
  return { ...state, recent: [...(state.recent ?? []).slice(1 - MAX_RECENT), sent] }
}

/** The last one of its kind was not enough. */
export function rememberEscalation(state: SignalState, from: Signal, afterMs: number): SignalState {
  const { recent = [] } = state
  const last = recent.findLastIndex(({ signal }) => signal === from)
  return last < 0 ? state : { ...state, recent: recent.with(last, { ...recent[last] as SentSignal, escalatedMs: afterMs }) }
}

/** A new incarnation has no mask, no handlers, and the same past. */
export function forgotten({ recent }: SignalState): SignalState {
  return recent ? { ...NO_SIGNALS, recent } : NO_SIGNALS
}

/** What happens to a signal that arrives now. `force` is a deferred one whose time is over. */
export function disposition(state: SignalState, signal: Signal, force = false): Disposition {
  if (!SIGNALS[signal].blockable) return 'default'
  // Of what a person sent only SIGTERM is told: its grace runs all the same.
  if (force) return signal === 'SIGTERM' && state.handlers[signal] === 'message' ? 'message' : 'default'
  if (state.mask.includes(signal)) return 'pending'
  switch (state.handlers[signal] ?? 'default') {
    case 'default': return 'default'
    case 'ignore': return 'ignored'
    case 'message': return 'message'
  }
}
