// Without a terminal, reports that a model has not begun its answer within a minute, once for each call. A terminal shows the open call in
// its last rows instead. Test: test/tables/cli/follow/slow-call-reminder.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import { formatElapsed } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { processTitle } from '../print/process-text.ts'

/** the time after which a call without any output is reported */
const SLOW_MS = 60_000

type Reporter = Pick<Output, 'isLively' | 'json' | 'message' | 'paintMessage'>

export class SlowCallReminder {
  readonly #out: Reporter
  readonly #read: () => Promise<ProcessView>
  readonly #slowMs: number
  #timer: NodeJS.Timeout | undefined
  #report: Promise<void> | undefined

  /** `read`: reads the current state of the process. */
  constructor(out: Reporter, read: () => Promise<ProcessView>, slowMs = SLOW_MS) {
    this.#out = out
    this.#read = read
    this.#slowMs = slowMs
  }

  /** Must be called with the type of each fact of the process. */
  onFact(type: string | undefined): void {
    if (type === undefined || this.#out.isLively || this.#out.json) return
    if (type !== 'model.started' && type !== 'model.finished' && type !== 'model.failed' && type !== 'process.exited') return
    clearTimeout(this.#timer)
    if (type !== 'model.started') return
    this.#timer = setTimeout(() => {
      this.#report = this.#print()
    }, this.#slowMs).unref()
  }

  async #print(): Promise<void> {
    // Without an answer of the daemon nothing is known about the call.
    const process = await this.#read().catch(() => null)
    const { doing } = process ?? {}
    if (!process || doing?.what !== 'model' || doing.out !== undefined || process.status === 'suspended') return
    const elapsed = formatElapsed(Date.now() - Date.parse(doing.since))
    await this.#out.message(
      this.#out.paintMessage('dim', `  ${processTitle(process)} calls the model, which has not answered for ${elapsed}`),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await this.#report
  }
}
