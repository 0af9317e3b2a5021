// Reads and writes named numbers in the table `meta`, other than the counters. Each number has a negated copy that reveals damage.
// Tests: test/tables/store/daemon-runs.test.ts, test/e2e/daemon/notifications.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import { metaValue } from './schema.ts'

/** Returns the number with a name; null if it was never written. Errors: `STORE_DAMAGED`. */
export function readMeta(db: DatabaseSync, name: string): number | null {
  const row = db.prepare('SELECT value, copy FROM meta WHERE name = ?').get(name)
  return row ? metaValue(name, row) : null
}

/** Writes the numbers in one transaction. */
export function writeMeta(db: DatabaseSync, rows: readonly (readonly [name: string, value: number])[]): void {
  const put = db.prepare('INSERT INTO meta VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value, copy = excluded.copy')
  db.exec('BEGIN IMMEDIATE')
  try {
    for (const [name, value] of rows) put.run(name, value, -value)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
