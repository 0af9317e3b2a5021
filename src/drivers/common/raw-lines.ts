// Keeps the original output lines of an external agent, for users who set `keep_raw`. reeve derives its events from these lines. Limits the
// characters of each line, and with `last` the number of kept lines. Only messages of the agent's protocol are raw lines. Tests:
// test/e2e/external/raw-lines.test.ts.
import type { KeepRaw } from '../../kernel/model/spec-parts.ts'
import type { Report } from '../../kernel/model/reports.ts'

/** With `keep_raw: last`: the number of newest lines that are kept until the turn or the program ends. */
const MAX_LAST_LINES = 100
/** The longest part of a line that is kept, in characters. */
const MAX_LINE_CHARS = 64 * 1024

export class RawLines {
  readonly #keepRaw: KeepRaw | undefined
  #last: Report[] = []

  constructor(keepRaw: KeepRaw | undefined) {
    this.#keepRaw = keepRaw
  }

  /** Adds a line. Returns the reports that must be sent at once. */
  add(line: string): readonly Report[] {
    if (this.#keepRaw === undefined) return []
    const report = toRawReport(line.trimEnd())
    if (this.#keepRaw === 'all') return [report]
    if (this.#last.push(report) > MAX_LAST_LINES) this.#last.shift()
    return []
  }

  /** Removes the kept lines and returns them as reports. Called when the turn or the program ends. */
  drain(): readonly Report[] {
    const last = this.#last
    this.#last = []
    return last
  }
}

function toRawReport(line: string): Report {
  return line.length <= MAX_LINE_CHARS
    ? { type: 'raw', raw: line }
    : { type: 'raw', raw: line.slice(0, MAX_LINE_CHARS), left: line.length - MAX_LINE_CHARS }
}
