// How much of what one incarnation says is kept in the journal. Beyond that its output goes, and what its steps said;
// that they happened, and what they cost, is recorded as ever. Test: test/tables/command-kept.test.ts.
import type { AssistantPart } from '../../kernel/facts.ts'
import type { Report } from '../../kernel/reports.ts'

const MIB = 1024 * 1024

export class Kept {
  readonly #mostBytes: number
  #bytes = 0
  #told = false

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** What is reported in place of this report, in order. */
  of(report: Report): readonly Report[] {
    if (this.#bytes >= this.#mostBytes) return without(report)
    this.#bytes += sizeOf(report)
    if (this.#bytes < this.#mostBytes || this.#told) return [report]
    this.#told = true
    return [report, { type: 'note', text: `its output is more than ${this.#mostBytes / MIB} MiB: no more of it is kept` }]
  }
}

function without(report: Report): readonly Report[] {
  if (report.type === 'output' || report.type === 'note') return []
  if (report.type === 'model.finished') return [{ ...report, message: report.message.filter((part) => part.type === 'tool-call').map((part) => ({ ...part, input: null })) }]
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
