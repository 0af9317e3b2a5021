// Detects that the event loop was blocked, and logs for how long and probably by which work. This code runs on the same loop, so it
// reports a block only when that is over. A daemon that hangs for good is reported by the command line, and ended by the service
// manager's watchdog. A separate thread would detect it, but costs 17 MB. Test: test/tables/daemon/host/event-loop-watch.test.ts.
import type { Clock } from '../loop/clock.ts'

const CHECK_MS = 2_000
/** A timer that fires at least this late shows a blocked loop; a smaller delay only shows a busy machine. */
const STALL_MS = 1_000
/** The number of starts of work that are remembered. */
const MAX_STARTS = 64

/** The start of a piece of work, in monotonic ms. */
interface Start {
  readonly what: string
  readonly at: number
}

export class EventLoopWatch {
  readonly #clock: Clock
  readonly #log: (message: string, error: unknown) => void
  /** a ring buffer; `#next` is the index of the next entry to write */
  readonly #starts: Start[] = []
  #next = 0
  #cancel = (): void => {}

  constructor(clock: Clock, log: (message: string, error: unknown) => void) {
    this.#clock = clock
    this.#log = log
  }

  start(): void {
    const armedAt = this.#clock.now().mono
    this.#cancel = this.#clock.after(CHECK_MS, () => {
      const now = this.#clock.now().mono
      const lateMs = now - armedAt - CHECK_MS
      if (lateMs >= STALL_MS)
        this.#log(`the event loop was blocked for ${(lateMs / 1_000).toFixed(1)} s; ${this.#describeCause(armedAt, now)}`, null)
      this.start()
    })
  }

  stop(): void {
    this.#cancel()
  }

  /** Records the start of work that may block the loop: a request, an input or an effect. */
  recordStart(what: string): void {
    this.#starts[this.#next] = { what, at: this.#clock.now().mono }
    this.#next = (this.#next + 1) % MAX_STARTS
  }

  /** Describes the probable cause: the work after whose start the longest time passed before the next start. */
  #describeCause(from: number, to: number): string {
    const inOrder = [...this.#starts.slice(this.#next), ...this.#starts.slice(0, this.#next)].filter(({ at }) => at >= from)
    const gaps = inOrder.map(({ what, at }, index) => ({ what, ms: (inOrder[index + 1]?.at ?? to) - at }))
    const longest = gaps.reduce<{ what: string; ms: number } | null>((most, gap) => (most === null || gap.ms > most.ms ? gap : most), null)
    if (longest === null || longest.ms < STALL_MS)
      return "no known work had started: the program was stopped, the machine slept, or an agent's output was being processed"
    return `the last work that started before it: ${longest.what}`
  }
}
