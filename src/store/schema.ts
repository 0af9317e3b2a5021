// The database file: how it is opened, its tables, and the migrations between their versions. A released migration is never edited: each
// change is a new migration at the end. No code may open the file through `fs`, because closing such a descriptor drops SQLite's POSIX
// locks; `chmod` opens no descriptor. Test: test/tables/store/opening.test.ts.
import { randomInt } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../kernel/model/errors.ts'
import { damageError } from './errors.ts'

/**
 * A page of 16 KiB has room for seven rows of 2 KiB with little waste; a page of 4 KiB for one. A commit costs little more than with
 * 4 KiB.
 */
export const PAGE_BYTES = 16_384

/** The number of WAL pages (1.5 MiB) at which SQLite makes a WAL checkpoint, so that one blocks for a few ms at most. */
export const WAL_CHECKPOINT_PAGES = 96

/** The size to which SQLite shrinks its WAL file after a WAL checkpoint, in bytes. */
const WAL_BYTES = WAL_CHECKPOINT_PAGES * PAGE_BYTES

/** The size of the page cache in KiB. */
const CACHE_KIB = 8_192
/** The size during the start, which reads each row only once. It is small, because SQLite never returns the memory. */
const START_CACHE_KIB = 512

/** The upper bound of store identities, which is the limit of `randomInt`. */
const MAX_IDENTITY = 2 ** 48 - 1

/**
 * The tables, by migration.
 *
 * `journal` contains the facts. It has no index by process, because such an index would cost a page per process in each group commit.
 * With 50 agents that halved the throughput, as measured. `places` is that index in blocks; the open block is in the process's row
 * (`open`).
 * `processes` has one row per process. `live` is 0 for an ended process. `sum` is a CRC-32 over the other columns of the row.
 * `tombstones` contains the removed processes. `doomed` contains the keys of removed processes that still have facts to sweep.
 * `shared` counts the references to a blob beyond the first one. Most blobs have one reference, and therefore no row in `shared`.
 *
 * Forks: a fork's own facts have the numbers after `base`. The facts up to `base` belong to the process `origin` or to its origins.
 * `origin` is the key of the process that has the fact `base`. `forked_from` is the UUID of the process that was forked.
 * `kept` contains removed processes whose facts up to `upto` are still needed by forks. If such a process is in `doomed` too, only
 * its facts after `upto` are swept.
 *
 * `spent` is the usage ledger by process, hour and model (`marks`: 1 unpriced, 2 estimated). It covers the journal up to the cursor
 * `spent` in `meta`, and each process up to the fact `seq` of its row in `spenders`. `root` is the row of the topmost ancestor.
 * These rows stay when the process is removed.
 *
 * `journal_reborn` finds the process that had a PID: it indexes only facts that assign one (spawned, resumed, rehydrated, forked).
 * Its condition is a chain of OR, because for a longer IN list SQLite would build a table at each insert: 0.9 µs a fact, as measured.
 * `moment` is the state of the process right after the fact; null in facts that are older than the column.
 */
const MIGRATIONS: readonly string[] = [
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
  'ALTER TABLE journal ADD COLUMN moment TEXT;',
  'CREATE INDEX journal_reborn ON journal (pid) WHERE type IN (1, 12, 13, 48);',
  `DROP INDEX journal_reborn;
   CREATE INDEX journal_reborn ON journal (pid) WHERE type = 1 OR type = 12 OR type = 13 OR type = 48;`,
]

/** The schema version that this code writes. */
export const SCHEMA_VERSION = MIGRATIONS.length

/** Opens or creates the database for exclusive use, and migrates its tables to the current version. */
export function openDatabase(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false })
  try {
    // The lock mode is set before the WAL is read, so that SQLite needs no shared-memory file and refuses other processes.
    db.exec(`PRAGMA locking_mode = exclusive; PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = incremental; PRAGMA user_version;`)
    chmodSync(file, 0o600)
    db.exec('PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA temp_store = memory')
    db.exec(
      `PRAGMA wal_autocheckpoint = ${WAL_CHECKPOINT_PAGES}; PRAGMA journal_size_limit = ${WAL_BYTES}; PRAGMA cache_size = -${START_CACHE_KIB}`,
    )
    migrate(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Returns the random number that names the store; generates it at the first call. */
export function identityOf(db: DatabaseSync): number {
  db.prepare("INSERT OR IGNORE INTO meta VALUES ('identity', ?1, -?1)").run(randomInt(1, MAX_IDENTITY))
  return metaValue('identity', db.prepare("SELECT value, copy FROM meta WHERE name = 'identity'").get())
}

/** Raises the counters, so that a PID or cursor that another store of this home has assigned is not assigned again. */
export function raiseCounters(db: DatabaseSync, counters: Readonly<Record<'pid' | 'cursor', number>>): void {
  const raise = db.prepare('UPDATE meta SET value = ?1, copy = -?1 WHERE name = ?2 AND value < ?1')
  inTransaction(db, () => {
    for (const [name, value] of Object.entries(counters)) raise.run(value, name)
  })
}

/** Makes a WAL checkpoint: copies the whole WAL into the database file, and truncates the WAL. */
export function makeWalCheckpoint(db: DatabaseSync): void {
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Sets the page cache to its full size, after the start. */
export function growCache(db: DatabaseSync): void {
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
    throw new KernelError('STORE_NEWER', `The store has schema ${from}; this version knows ${SCHEMA_VERSION}.`, {
      schema: from,
      known: SCHEMA_VERSION,
    })
  }
  for (const [index, sql] of MIGRATIONS.entries()) {
    if (index >= from)
      inTransaction(db, () => db.exec(`${sql} UPDATE meta SET value = ${index + 1}, copy = ${-index - 1} WHERE name = 'schema'`))
  }
}

/** Returns the number in a row of `meta`. `copy` is the negated number, so that a changed bit is detected. Errors: `STORE_DAMAGED`. */
export function metaValue(name: string, row: Readonly<Record<string, unknown>> | undefined): number {
  const value = row?.['value']
  if (typeof value === 'number' && value >= 0 && value + Number(row?.['copy']) === 0) return value
  throw damageError({ table: 'meta' }, `${name} is ${String(value)}, which is damaged`)
}

/** Runs `work` in a transaction, and rolls it back if `work` throws. */
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
