// Limits how much text of one incarnation is recorded. Beyond the limit, output, notes and the texts of steps are dropped. Steps and their
// costs are still recorded. Test: test/tables/drivers/command/recorded-output-limit.test.ts.
import type { AssistantPart } from '../../kernel/model/facts.ts'
import type { Report } from '../../kernel/model/reports.ts'
import { MIB } from '../../kernel/util/mib.ts'

export class RecordedOutputLimit {
  readonly #maxBytes: number
  #bytes = 0
  #hasNotedLimit = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Returns the reports to send instead of this one, in order. */
  allow(report: Report): readonly Report[] {
    if (this.#bytes >= this.#maxBytes) return withoutText(report)
    this.#bytes += sizeOf(report)
    if (this.#bytes < this.#maxBytes || this.#hasNotedLimit) return [report]
    this.#hasNotedLimit = true
    return [report, { type: 'note', text: `its output is more than ${this.#maxBytes / MIB} MiB: no more of it is kept` }]
  }
}

function withoutText(report: Report): readonly Report[] {
  if (report.type === 'output' || report.type === 'note') return []
  if (report.type === 'model.finished')
    return [{ ...report, message: report.message.filter((part) => part.type === 'tool-call').map((part) => ({ ...part, input: null })) }]
  return report.type === 'tool.finished' ? [{ ...report, content: '(not kept)' }] : [report]
}

function sizeOf(report: Report): number {
  if (report.type === 'output' || report.type === 'note') return Buffer.byteLength(report.text)
  if (report.type === 'tool.finished') return Buffer.byteLength(report.content)
  return report.type === 'model.finished' ? report.message.reduce((sum, part) => sum + partSize(part), 0) : 0
}

function partSize(part: AssistantPart): number {
  return Buffer.byteLength(part.type === 'tool-call' ? JSON.stringify(part.input ?? null) : part.text)
}
