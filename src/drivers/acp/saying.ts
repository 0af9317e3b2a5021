// What an agent of the protocol says to the kernel: in order, without waiting for each, and with a limit to how much is
// on its way. Owns that nobody reads on while too much is not on disk yet. Test: test/processes/acp.test.ts.
import type { Ack, Report } from '../../kernel/reports.ts'
import type { KernelPort } from '../port.ts'

/** Reports on their way at which reading stops. */
const MAX_ON_WAY = 64
const MAX_NOTE_CHARS = 1_000

export class Saying {
  readonly #kernel: KernelPort
  #onWay = 0
  #room = Promise.withResolvers<void>()
  #refused = false

  constructor(kernel: KernelPort) {
    this.#kernel = kernel
  }

  /** Never rejects: if the kernel no longer listens there is nobody to tell. */
  async say(report: Report): Promise<Ack> {
    this.#onWay += 1
    try {
      return await this.#kernel.report(report)
    } catch (error) {
      this.#tellRefused(report, error)
      return 'late'
    } finally {
      this.#onWay -= 1
      this.#room.resolve()
      this.#room = Promise.withResolvers()
    }
  }

  note(text: string): void {
    this.tell({ type: 'note', text: text.slice(0, MAX_NOTE_CHARS) })
  }

  /** The same as `say` for those who need no answer. */
  tell(report: Report): void {
    this.say(report).catch(() => undefined)
  }

  /** Resolves when so little is on its way that more may be read. */
  async room(): Promise<void> {
    while (this.#onWay > MAX_ON_WAY && !this.#kernel.signal.aborted) await this.#room.promise
  }

  /** A report that the kernel cannot take is a defect, and is told once; after the end it is nothing. */
  #tellRefused(report: Report, error: unknown): void {
    if (this.#refused || this.#kernel.signal.aborted) return
    this.#refused = true
    this.note(`not recorded: ${report.type}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
