// Reports that are on their way: each stands on disk before it is told, and is gone when it is answered. What is left when the
// daemon dies it delivers at its next start (src/daemon/mcp/outbox.ts). Test: test/e2e/mcp-bridge.test.ts.
import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { OutboxRecord } from '../../api/mcp-views.ts'

/** What workers of a crew report; all else is only asked, or can be asked again. */
const REPORTS: ReadonlySet<string> = new Set(['post_message', 'report_implementation_complete', 'report_review_verdict', 'signal_ready'])

export class Outbox {
  readonly #dir: string
  readonly #by: Pick<OutboxRecord, 'uuid' | 'pid'>

  constructor(dir: string, by: Pick<OutboxRecord, 'uuid' | 'pid'>) {
    this.#dir = dir
    this.#by = by
  }

  /** Its id, once it is on disk; null: it is no report. */
  keep(name: string, input: unknown): string | null {
    if (!REPORTS.has(name)) return null
    const id = randomUUID()
    const record: OutboxRecord = { version: 1, id, ...this.#by, name, input, at: Date.now() }
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    const path = join(this.#dir, `${id}.json`)
    // Whole or not at all: who reads it finds no half.
    const file = openSync(`${path}.new`, 'wx', 0o600)
    writeSync(file, JSON.stringify(record))
    fsyncSync(file)
    closeSync(file)
    renameSync(`${path}.new`, path)
    return id
  }

  done(id: string): void {
    rmSync(join(this.#dir, `${id}.json`), { force: true })
  }
}
