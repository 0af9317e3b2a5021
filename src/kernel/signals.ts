// The five signals: number, whether they can be blocked, and the one place that decides a disposition:
// blocked → pending, else the handler, else the default. The numbers are the kernel's; the command line takes POSIX ones.
// Test: test/tables/signals.test.ts.
import type { Disposition, SentSignal, Signal, SignalState } from './types.ts'

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
  if (!SIGNALS[signal].blockable || force) return 'default'
  if (state.mask.includes(signal)) return 'pending'
  switch (state.handlers[signal] ?? 'default') {
    case 'default': return 'default'
    case 'ignore': return 'ignored'
    case 'message': return 'message'
  }
}
