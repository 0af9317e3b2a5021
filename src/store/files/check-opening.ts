// Checks, before SQLite opens the store, that it is the store this home had and that its write-ahead log (WAL) is whole. The user may
// accept a mismatch. A copy of the old WAL is then kept, and no PID or cursor is assigned twice. Must not change the store, unless a
// mismatch is accepted. The caller holds the lock of the state directory.
// Tests: test/tables/store/files/identity.test.ts, test/tables/store/files/wal-check.test.ts.
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../../kernel/model/errors.ts'
import { asideDir } from './aside-dir.ts'
import { compareIdentity, identityError, readBootId, readIdentity } from './identity.ts'
import type { StoreState, Identity } from './identity.ts'
import { checkWal } from './wal-check.ts'
import type { WalExpectation } from './wal-check.ts'
import { metaValue } from '../schema.ts'
import type { Counters } from '../store.ts'

/** The maximum number of PIDs and of cursors that a crashed daemon assigned after its last write of the identity file. */
const COUNTER_MARGIN = 20_000

export interface OpeningCheck {
  /** new PIDs and cursors must be above these; null if the store's counters can be trusted */
  readonly minCounters: Counters | null
  /** whether the WAL has bytes after its last commit; a WAL checkpoint must then follow at once, or these bytes count as damage later */
  readonly hasLeftoverWal: boolean
}

export interface OpeningDeps {
  readonly dir: string
  /** whether the user accepts the store as it is */
  readonly accept: boolean
  readonly log: (message: string) => void
}

/** Checks the store. Errors: `STORE_DAMAGED` for a mismatch that is not accepted and for files that cannot be read; `STORE_LOCKED`. */
export function checkOpening({ dir, accept, log }: OpeningDeps): OpeningCheck {
  const acceptIfAllowed = <T>(check: () => T, fallback: T): T => {
    try {
      return check()
    } catch (error) {
      if (!accept || !(error instanceof KernelError) || error.code !== 'STORE_DAMAGED') throw error
      log(`accepted: ${error.message}`)
      return fallback
    }
  }
  const identity = acceptIfAllowed(() => readIdentity(dir), null)
  const walFile = join(dir, 'store.db-wal')
  const mayHaveGaps = identity === null || identity.boot === null || identity.boot !== readBootId()
  const { hasLeftoverWal, isWalRejected } = acceptIfAllowed(
    () => ({ ...checkWalWithHint(dir, walFile, { mayHaveGaps, known: identity?.log ?? null }), isWalRejected: false }),
    {
      hasLeftoverWal: true,
      isWalRejected: true,
    },
  )
  if (isWalRejected) log(`kept a copy of the write-ahead log as ${keepWal(dir, walFile)}`)
  if (isWalAlone(dir)) {
    acceptIfAllowed(() => {
      throw identityError('store.db is empty or missing, but its write-ahead log exists')
    }, null)
    log(`kept a copy of the write-ahead log as ${keepWal(dir, walFile)}`)
    rmSync(walFile)
  }
  const found = readStoreState(dir)
  const mismatch = identity && compareIdentity(identity, found)
  if (identity === null || mismatch === null) return { minCounters: null, hasLeftoverWal }
  acceptIfAllowed(() => {
    throw identityError(mismatch)
  }, null)
  return { minCounters: countersAbove(identity), hasLeftoverWal }
}

function checkWalWithHint(dir: string, walFile: string, expectation: WalExpectation): { readonly hasLeftoverWal: boolean } {
  try {
    return checkWal(walFile, expectation)
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    throw new KernelError(
      error.code,
      error.message,
      error.details,
      `Nothing was changed. Restore an undamaged copy of ${dir}, or drop the commits after that position: \`reeve daemon start --accept-store\`.`,
    )
  }
}

function countersAbove({ pid, cursor, orderly }: Identity): Counters {
  const margin = orderly ? 0 : COUNTER_MARGIN
  return { pid: pid + margin, cursor: cursor + margin }
}

function keepWal(dir: string, walFile: string): string {
  mkdirSync(asideDir(dir), { recursive: true, mode: 0o700 })
  const copy = join(asideDir(dir), `store.db-wal.${Date.now()}`)
  copyFileSync(walFile, copy)
  return copy
}

/** Whether there is a WAL without a database; SQLite would remove such a WAL. */
function isWalAlone(dir: string): boolean {
  return sizeOf(join(dir, 'store.db')) === 0 && sizeOf(join(dir, 'store.db-wal')) > 0
}

function sizeOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? found.size : 0
}

/** Reads the store's counters; null if there is no store or it is empty. SQLite opens the file read-only and changes nothing. */
function readStoreState(dir: string): StoreState | null {
  const file = join(dir, 'store.db')
  if (sizeOf(file) === 0) return null
  const temporaryFiles = [`${file}-shm`, `${file}-wal`].filter((path) => !existsSync(path))
  try {
    using db = new DatabaseSync(file, { readOnly: true })
    return readCounters(db)
  } finally {
    for (const path of temporaryFiles) rmSync(path, { force: true })
  }
}

function readCounters(db: DatabaseSync): StoreState | null {
  const tables = new Set(
    db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map((row) => row['name']),
  )
  if (!tables.has('meta') || !tables.has('journal')) return null
  const rowOf = db.prepare('SELECT value, copy FROM meta WHERE name = ?')
  const value = (name: string): number => metaValue(name, rowOf.get(name))
  const newest = Number(db.prepare('SELECT cursor FROM journal ORDER BY cursor DESC LIMIT 1').get()?.['cursor'] ?? 0)
  return { store: rowOf.get('identity') ? value('identity') : null, pid: value('pid'), cursor: Math.max(value('cursor'), newest) }
}
