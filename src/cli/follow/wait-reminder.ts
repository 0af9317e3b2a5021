// Reports without a terminal that a command waits for a blocked process: since when, and what ends the wait. The report comes once for each
// block, after two seconds. A terminal shows the state in its last rows instead. Test: test/e2e/cli/blocked.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import { formatClock } from '../../faces/format.ts'
import { findBlock } from '../print/blocked.ts'
import type { Output } from '../print/output.ts'
import { processTitle } from '../print/process-text.ts'

/** the time after which a block is no short one */
const REMIND_MS = 2_000

export class WaitReminder {
  readonly #out: Output
  #timer: NodeJS.Timeout | undefined
  #report: Promise<void> | undefined
  /** the beginning of the block that the timer waits for, or that was reported */
  #since: string | null = null

  constructor(out: Output) {
    this.#out = out
  }

  /** Must be called with each state in which a block may have begun or ended. */
  onState(process: ProcessView): void {
    if (this.#out.isLively || this.#out.json) return
    const since = findBlock(process) ? blockedSince(process) : null
    if (since === this.#since) return
    clearTimeout(this.#timer)
    this.#since = since
    if (since !== null)
      this.#timer = setTimeout(() => {
        this.#report = this.#print(process, since)
      }, REMIND_MS).unref()
  }

  async #print(process: ProcessView, since: string): Promise<void> {
    const what = process.status === 'suspended' ? 'it continues or ends' : 'it is answered or ends'
    await this.#out.message(
      this.#out.paintMessage(
        'dim',
        `  ${processTitle(process)} waits since ${formatClock(since, Date.now())}, and this command waits until ${what}; \`reeve stop ${process.pid}\` ends both`,
      ),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await this.#report
  }
}

function blockedSince({ holds, asks, since }: ProcessView): string {
  return holds.map(({ at }) => at).toSorted()[0] ?? asks[0]?.at ?? since
}
