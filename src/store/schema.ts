// The database file: how it is opened, its tables, and the steps from one version of them to the next.
// Owns the format on disk. A step that was released is never edited: a change is a new step at the end.
// The file is never opened through `fs`: closing such a descriptor would drop SQLite's POSIX locks. chmod opens nothing.
// Test: test/tables/store-open.test.ts.
import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../kernel/errors.ts'
import { damaged } from './errors.ts'

/** 16 KiB hold seven rows of 2 KiB with little waste (4 KiB hold one), and cost one commit little more than 4 KiB do. */
export const PAGE_BYTES = 16_384

/** The log is folded into the database at this many pages (1.5 MiB): each fold is then a pause of a few ms at most. */
const CHECKPOINT_PAGES = 96

/** What the log file may keep after a fold, in bytes. */
const LOG_BYTES = CHECKPOINT_PAGES * PAGE_BYTES

/** The page cache, in KiB; and while the rows of a start go through it, each once: the system does not get back what it took. */
const CACHE_KIB = 8_192
const START_CACHE_KIB = 512

/**
 * `journal` has no index by process: one costs a page per process in each group commit (measured: half of the throughput of 50
 * agents). `places` is that index in blocks instead, and the block that is not full yet stands in the process's row (`open`).
 * `live` of a process is 0 when it is dead. `sum` is a CRC-32 over the other columns of the row.
 * `tombstones` are the removed processes; `doomed` are the keys of those whose facts are not all gone yet. `shared` says how often
 * a blob is named beyond the first time: most are named once, and have no row there.
 * A fork's own facts have the numbers after `base`; those up to it are facts of the process `origin`, or of what that goes on
 * from. `origin` is the key of who has the fact `base`; `forked_from` is the UUID of who was forked. `kept` are the removed
 * processes whose facts up to `upto` forks go on from: what is left to sweep of a doomed one that is also kept comes after those.
 * `spent` is what each process used in each hour of each model (`marks`: 1 unpriced, 2 estimated), as far as the journal was taken
 * in: up to the cursor `spent` of `meta`, and of a process up to the fact `seq` of its row in `spenders`. `root` is the row of the
 * first of its line of spawns. These rows stay when the process goes.
 */
const STEPS: readonly string[] = [
  `CREATE TABLE processes (
     key INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, reversed TEXT NOT NULL, pid INTEGER NOT NULL, name TEXT,
     live INTEGER NOT NULL, exited_at INTEGER, spec_seq INTEGER NOT NULL, spec_cursor INTEGER NOT NULL,
     seq INTEGER NOT NULL, open TEXT NOT NULL, sum INTEGER NOT NULL, body TEXT NOT NULL
   ) STRICT;
   CREATE INDEX processes_live ON processes (key) WHERE live = 1;
   CREATE INDEX processes_dead ON processes (exited_at, uuid) WHERE live = 0;
   CREATE INDEX processes_pid ON processes (pid);
   CREATE INDEX processes_name ON processes (name, key) WHERE name IS NOT NULL;
   CREATE INDEX processes_reversed ON processes (reversed);
   CREATE TABLE journal (
     cursor INTEGER PRIMARY KEY, process INTEGER NOT NULL, seq INTEGER NOT NULL, pid INTEGER NOT NULL, at INTEGER NOT NULL,
     type INTEGER NOT NULL, sum INTEGER NOT NULL, body TEXT NOT NULL, refs TEXT
   ) STRICT;
   CREATE TABLE places (
     process INTEGER NOT NULL, block INTEGER NOT NULL, first INTEGER NOT NULL, entries TEXT NOT NULL, PRIMARY KEY (process, block)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE blobs (key INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
   INSERT INTO meta VALUES ('pid', 0, 0), ('cursor', 0, 0), ('settled', 0, 0);
   CREATE TRIGGER journal_cursor BEFORE DELETE ON journal BEGIN
     UPDATE meta SET value = OLD.cursor, copy = -OLD.cursor WHERE name = 'cursor' AND value < OLD.cursor;
   END;`,
  `CREATE TABLE tombstones (
     uuid TEXT PRIMARY KEY, reversed TEXT NOT NULL, pid INTEGER NOT NULL, name TEXT, removed_at INTEGER NOT NULL, sum INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX tombstones_reversed ON tombstones (reversed);
   CREATE INDEX tombstones_pid ON tombstones (pid);
   CREATE INDEX tombstones_name ON tombstones (name, removed_at) WHERE name IS NOT NULL;
   CREATE TABLE doomed (key INTEGER PRIMARY KEY) STRICT;
   CREATE TABLE shared (blob INTEGER PRIMARY KEY, more INTEGER NOT NULL) STRICT;
   INSERT INTO shared SELECT b.key, count(*) - 1 FROM journal j, json_each(j.refs) r, blobs b
     WHERE j.refs IS NOT NULL AND b.hash = unhex(json_extract(r.value, '$[1]')) GROUP BY b.key HAVING count(*) > 1;`,
  `ALTER TABLE processes ADD COLUMN forked_from TEXT;
   ALTER TABLE processes ADD COLUMN origin INTEGER;
   ALTER TABLE processes ADD COLUMN base INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE processes ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX processes_forked ON processes (forked_from, key) WHERE forked_from IS NOT NULL;
   CREATE INDEX processes_origin ON processes (origin, base) WHERE origin IS NOT NULL;
   CREATE INDEX processes_collectable ON processes (coalesce(exited_at, -1), uuid) WHERE live = 0 AND pinned = 0;
   CREATE TABLE kept (
     key INTEGER PRIMARY KEY, uuid TEXT NOT NULL, origin INTEGER, base INTEGER NOT NULL, upto INTEGER NOT NULL, sum INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX kept_origin ON kept (origin, base) WHERE origin IS NOT NULL;
   ALTER TABLE tombstones ADD COLUMN forked_from TEXT;
   CREATE INDEX tombstones_forked ON tombstones (forked_from, removed_at) WHERE forked_from IS NOT NULL;
   ALTER TABLE doomed ADD COLUMN origin INTEGER;`,
  `CREATE TABLE spenders (
     id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, root INTEGER NOT NULL, seq INTEGER NOT NULL, state TEXT NOT NULL, sum INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE spent (
     spender INTEGER NOT NULL, hour INTEGER NOT NULL, model TEXT NOT NULL, steps INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
     cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, usd REAL NOT NULL, marks INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (spender, hour, model)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO meta VALUES ('spent', 0, 0);`,
]

/** The version of the schema that this code writes. */
export const SCHEMA_VERSION = STEPS.length

/** Opens or makes the database, alone in its use, and brings its tables to the present version. */
export function openDatabase(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false })
  try {
    // Exclusive before the first look at the log: no shared-memory file then, and another process that opens the store is refused.
    db.exec(`PRAGMA locking_mode = exclusive; PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = incremental; PRAGMA user_version;`)
    chmodSync(file, 0o600)
    db.exec('PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA temp_store = memory')
    db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA journal_size_limit = ${LOG_BYTES}; PRAGMA cache_size = -${START_CACHE_KIB}`)
    migrate(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** For all that comes after a start. */
export function rememberMore(db: DatabaseSync): void {
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
}

function migrate(db: DatabaseSync): void {
  const found = inTransaction(db, () => {
    db.exec('CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL, copy INTEGER NOT NULL) STRICT, WITHOUT ROWID')
    db.exec("INSERT OR IGNORE INTO meta VALUES ('schema', 0, 0)")
    return db.prepare("SELECT value, copy FROM meta WHERE name = 'schema'").get()
  })
  const from = metaValue('schema', found)
  if (from > SCHEMA_VERSION) {
    throw new KernelError('STORE_NEWER', `The store has schema ${from}; this version knows ${SCHEMA_VERSION}.`, { schema: from, known: SCHEMA_VERSION })
  }
  for (const [index, sql] of STEPS.entries()) {
    if (index >= from) inTransaction(db, () => db.exec(`${sql} UPDATE meta SET value = ${index + 1}, copy = ${-index - 1} WHERE name = 'schema'`))
  }
}

/** The number in a row of `meta`; `copy` is the same number negated, so that a changed bit shows. */
export function metaValue(name: string, row: Readonly<Record<string, unknown>> | undefined): number {
  const value = row?.['value']
  if (typeof value === 'number' && value >= 0 && value + Number(row?.['copy']) === 0) return value
  throw damaged({ table: 'meta' }, `${name} is ${String(value)}, which is not what was written`)
}

/** All or nothing: what fails leaves no trace and no open transaction. */
function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
