// Sends an ACP agent's reports to the kernel: in order, without waiting for each, and with a limit of pending reports. Guarantees
// that reading stops while too many reports wait to be written to disk. Test: test/processes/acp/turns.test.ts.
import type { Ack, Report } from '../../kernel/model/reports.ts'
import type { KernelPort } from '../port.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { truncate } from '../../kernel/util/truncate.ts'

/** Number of pending reports above which reading stops. */
const MAX_PENDING = 64
const MAX_NOTE_CHARS = 1_000

export class ReportQueue {
  readonly #kernel: KernelPort
  #pending = 0
  #room = Promise.withResolvers<void>()
  #hasNotedRefusal = false

  constructor(kernel: KernelPort) {
    this.#kernel = kernel
  }

  /** Sends a report. Never rejects; returns `late` if the kernel ignores or refuses the report. */
  async send(report: Report): Promise<Ack> {
    this.#pending += 1
    try {
      return await this.#kernel.report(report)
    } catch (error) {
      this.#noteRefusal(report, error)
      return 'late'
    } finally {
      this.#pending -= 1
      this.#room.resolve()
      this.#room = Promise.withResolvers()
    }
  }

  note(text: string): void {
    this.post({ type: 'note', text: truncate(text, MAX_NOTE_CHARS) })
  }

  /** Sends a report without waiting for the result. */
  post(report: Report): void {
    // `send` never rejects.
    this.send(report).catch(() => undefined)
  }

  /** Resolves when few enough reports are pending to read more output. */
  async waitForRoom(): Promise<void> {
    while (this.#pending > MAX_PENDING && !this.#kernel.signal.aborted) await this.#room.promise
  }

  /** Notes once that the kernel refused a report, which is a defect in reeve. Refusals after the end are ignored. */
  #noteRefusal(report: Report, error: unknown): void {
    if (this.#hasNotedRefusal || this.#kernel.signal.aborted) return
    this.#hasNotedRefusal = true
    this.note(`not recorded: ${report.type}: ${errorText(error)}`)
  }
}
