// Stores reports that are being delivered: a report is on disk before it is sent, and removed when the daemon has confirmed it. If the
// daemon dies, its next start delivers the stored reports (src/daemon/mcp/outbox.ts). Test: test/e2e/mcp/bridge.test.ts.
import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { OutboxRecord } from '../../api/views/mcp.ts'
import { REPORT_TOOLS } from '../../kernel/model/crew/words.ts'

/** the tools by which crew workers report; a worker can repeat all other calls */
const REPORTS: ReadonlySet<string> = new Set(REPORT_TOOLS)

export class ReportOutbox {
  readonly #dir: string
  readonly #sender: Pick<OutboxRecord, 'uuid' | 'pid'>

  constructor(dir: string, sender: Pick<OutboxRecord, 'uuid' | 'pid'>) {
    this.#dir = dir
    this.#sender = sender
  }

  /** Stores a report and returns its id. Returns null for a call that is not a report. */
  store(name: string, input: unknown): string | null {
    if (!REPORTS.has(name)) return null
    const id = randomUUID()
    const record: OutboxRecord = { version: 1, id, ...this.#sender, name, input, at: Date.now() }
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    const path = join(this.#dir, `${id}.json`)
    // The complete file is renamed, so that a reader never sees a partial one.
    const file = openSync(`${path}.new`, 'wx', 0o600)
    writeSync(file, JSON.stringify(record))
    fsyncSync(file)
    closeSync(file)
    renameSync(`${path}.new`, path)
    return id
  }

  /** Removes a delivered report. */
  remove(id: string): void {
    rmSync(join(this.#dir, `${id}.json`), { force: true })
  }
}
