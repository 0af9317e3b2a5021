// Polls the views of a process and its living children after each event of the process. The events of children are not received, so a
// process with children is also polled once a second. Must never start a daemon, because the user may have stopped it. Test:
// test/e2e/cli/live.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import { connect } from '../../index.ts'
import { hasEnded } from '../print/process-text.ts'
import type { SampledProcess } from './format-rows.ts'
import { Throttle } from './throttle.ts'

/** the shortest time between two polls */
const MIN_INTERVAL_MS = 200
/** the greatest number of children to poll: the footer has no room for more */
const MAX_CHILDREN = 8

export class ProcessPoller implements Disposable {
  readonly #reeve = connect({ start: false })
  readonly #onChange: () => void
  readonly #throttle: Throttle
  process: SampledProcess
  children: readonly SampledProcess[] = []
  /** the number of all children */
  childCount = 0

  constructor(process: ProcessView, onChange: () => void) {
    this.#onChange = onChange
    this.process = toSample(process)
    this.#throttle = new Throttle(MIN_INTERVAL_MS, () => {
      // Without an answer the rows stay as they are, until the next event.
      this.#poll().catch(() => {})
    })
    if (process.children.length > 0) this.requestPoll()
  }

  /** Requests a poll. */
  requestPoll(): void {
    this.#throttle.request()
  }

  /** Called once a second. */
  tick(): void {
    if (this.childCount > 0) this.requestPoll()
  }

  [Symbol.dispose](): void {
    this.#throttle[Symbol.dispose]()
  }

  async #poll(): Promise<void> {
    const view = await this.#reeve.get(this.process.view.uuid)
    const children = await Promise.all(view.children.slice(0, MAX_CHILDREN).map((uuid) => this.#reeve.get(uuid)))
    this.process = toSample(view)
    const living = children.filter((child) => !hasEnded(child))
    this.children = living.map(toSample)
    this.childCount = view.children.length - (children.length - living.length)
    this.#onChange()
  }
}

function toSample(view: ProcessView): SampledProcess {
  return { view, receivedAt: performance.now() }
}
