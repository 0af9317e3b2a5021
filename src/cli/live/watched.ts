// A process and its living children as the daemon sees them, asked again after each event, and once a second while there are
// children, whose events are not ours. Must never start a daemon: the one that it watches may have been stopped.
// Test: test/e2e/cli-live.test.ts.
import type { ProcessView } from '../../api/views.ts'
import { connect } from '../../index.ts'
import { hasEnded } from '../describe.ts'
import type { Seen } from './rows.ts'
import { Throttle } from './throttle.ts'

/** Between two questions. */
const EVERY_MS = 200
/** Children that are asked about; there is no room for more. */
const MAX_CHILDREN = 8

export class Watched implements Disposable {
  readonly #reeve = connect({ start: false })
  readonly #changed: () => void
  readonly #asking: Throttle
  process: Seen
  children: readonly Seen[] = []
  /** also those that are not asked about */
  childCount = 0

  constructor(process: ProcessView, changed: () => void) {
    this.#changed = changed
    this.process = seen(process)
    this.#asking = new Throttle(EVERY_MS, () => {
      // A daemon that does not answer now is asked at the next event; what is shown stays as it was.
      this.#ask().catch(() => {})
    })
    if (process.children.length > 0) this.ask()
  }

  ask(): void {
    this.#asking.ask()
  }

  tick(): void {
    if (this.childCount > 0) this.ask()
  }

  [Symbol.dispose](): void {
    this.#asking[Symbol.dispose]()
  }

  async #ask(): Promise<void> {
    const view = await this.#reeve.get(this.process.view.uuid)
    const children = await Promise.all(view.children.slice(0, MAX_CHILDREN).map((uuid) => this.#reeve.get(uuid)))
    this.process = seen(view)
    const living = children.filter((child) => !hasEnded(child))
    this.children = living.map(seen)
    this.childCount = view.children.length - (children.length - living.length)
    this.#changed()
  }
}

function seen(view: ProcessView): Seen {
  return { view, at: performance.now() }
}
