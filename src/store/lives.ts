// How the daemons of this store have ended, as far as the next one can see: a start that found no orderly end before it.
// Owns four rows of `meta`. Says nothing about processes. Test: test/tables/store-lives.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import { metaValue } from './schema.ts'

/** The newest first. */
const DEATHS = ['died1', 'died2', 'died3'] as const
/** Wall time of the start of the daemon that lives; 0 after an orderly end. */
const LIFE = 'life'

/** A daemon begins. Gives the wall times in ms at which one was found dead, newest first, three at most. */
export function beginLife(db: DatabaseSync, at: number): readonly number[] {
  const known = DEATHS.map((name) => read(db, name)).filter((time) => time > 0)
  const deaths = (read(db, LIFE) > 0 ? [at, ...known] : known).slice(0, DEATHS.length)
  write(db, [[LIFE, at], ...DEATHS.map((name, index): [string, number] => [name, deaths[index] ?? 0])])
  return deaths
}

/** It ends in good order. */
export function endLife(db: DatabaseSync): void {
  write(db, [[LIFE, 0]])
}

function read(db: DatabaseSync, name: string): number {
  const row = db.prepare('SELECT value, copy FROM meta WHERE name = ?').get(name)
  return row ? metaValue(name, row) : 0
}

function write(db: DatabaseSync, rows: readonly (readonly [name: string, value: number])[]): void {
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
