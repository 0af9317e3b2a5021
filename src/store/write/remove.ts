// Removes dead processes. The first transaction deletes the row, adds a tombstone and marks the key as a pending deletion. From
// then on no reader sees the process. A sweep deletes the process's facts, and long texts without other references, in limited
// transactions, newest first. After a crash the key is still marked, and the next start continues. PIDs and cursors never
// decrease, because `meta` has their highest values. Facts that forks need are kept until the last of those forks and its facts
// are gone; this repeats up the lineage. Must never touch a process that is not dead.
// Tests: test/tables/store/write/remove.test.ts, test/properties/store.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../../kernel/model/errors.ts'
import { damageError } from '../errors.ts'
import type { HeadCache } from './head-cache.ts'
import { BLOCK_FACTS, blockOf, firstCursor, parseBlock } from '../journal/fact-index.ts'
import { findKept, findRow } from '../rows/row-lookup.ts'
import { reverseDigits } from '../rows/references.ts'
import type { KeptRow, ProcessRow } from '../rows/row-types.ts'
import type { Statements } from '../statements.ts'
import { keptSum, tombstoneSum } from '../rows/checksums.ts'
import { inTransaction } from './transaction.ts'
import type { DatabaseReader } from '../database-reader.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The maximum number of facts that one transaction removes. */
export const BATCH_FACTS = 64
/** The number of removed bytes after which a transaction ends. */
const BATCH_BYTES = 262_144

/** The maximum number of free pages of 16 KiB by which one step shrinks the file. */
const BATCH_PAGES = 8

/** A removed process whose facts must still be swept. */
interface PendingDeletion {
  readonly key: number
  /** the key of its origin; null if some of its own facts are kept */
  readonly origin: number | null
}

export class Remover {
  readonly #db: DatabaseSync
  readonly #sql: Statements
  readonly #heads: HeadCache
  readonly #reader: Pick<DatabaseReader, 'isReading'>
  readonly #protectedKeys = new Set<number>()

  constructor(db: DatabaseSync, sql: Statements, heads: HeadCache, reader: Pick<DatabaseReader, 'isReading'>) {
    this.#db = db
    this.#sql = sql
    this.#heads = heads
    this.#reader = reader
  }

  /** Removes a process. `at`: wall ms. Returns false if there is no such process. Errors: `CONFLICT` if it is not dead. */
  remove(uuid: Uuid, at: number): boolean {
    const row = findRow(this.#sql, uuid)
    if (row === undefined) return false
    if (row.live !== 0) throw new KernelError('CONFLICT', `process ${row.pid} has not ended`)
    inTransaction(this.#db, this.#sql, () => this.#markForDeletion(row, at))
    this.#heads.forget(uuid)
    return true
  }

  /** Protects the key of a running import, which is marked as a pending deletion but must not be swept yet. */
  protect(key: number): void {
    this.#protectedKeys.add(key)
  }

  /** Ends the protection of an import's keys: keys that are still marked are swept. */
  release(keys: readonly number[]): void {
    for (const key of keys) this.#protectedKeys.delete(key)
  }

  /** Does one limited step. Returns false when nothing is left to do. */
  sweep(): boolean {
    const deletions = this.#sql.pendingDeletions.all(this.#protectedKeys.size + 1) as unknown as PendingDeletion[]
    const next = deletions.find(({ key }) => !this.#protectedKeys.has(key))
    if (next === undefined) return this.#shrinkFile()
    inTransaction(this.#db, this.#sql, () => this.#removeFacts(next))
    return true
  }

  /**
   * Removes the row, adds the tombstone, and marks the facts. The open block moves to `places`, so that all facts of the process can be
   * found by its key.
   */
  #markForDeletion({ key, uuid, pid, name, seq, open, base, origin, forked_from }: ProcessRow, at: number): void {
    if (open !== '') this.#sql.addPlaces.run(key, blockOf(seq + 1, { base }), firstCursor(open), open)
    this.#sql.dropProcess.run(key)
    const sum = tombstoneSum({ uuid, pid, name, removed_at: at, forked_from })
    this.#sql.addTombstone.run(uuid, pid, name, at, sum, forked_from, reverseDigits(uuid))
    this.#keepForForks({ key, uuid, base, origin }, seq)
  }

  /** Keeps the facts that forks need, and marks the others, up to `last`, for deletion. */
  #keepForForks(process: Omit<KeptRow, 'upto' | 'sum'>, last: number): void {
    const { key, uuid, base, origin } = process
    const upto = Number(this.#sql.neededUpTo.get(key)?.['upto'])
    if (upto === last) return this.#setKept({ ...process, upto })
    if (upto > 0) this.#setKept({ key, uuid, base, origin, upto })
    else this.#sql.dropKept.run(key)
    this.#sql.addPendingDeletion.run(key, upto > 0 ? null : origin)
  }

  #setKept(row: Omit<KeptRow, 'sum'>): void {
    this.#sql.setKept.run(row.key, row.uuid, row.origin, row.base, row.upto, keptSum(row))
  }

  #removeFacts({ key, origin }: PendingDeletion): void {
    if (this.#sql.processOf.get(key) !== undefined)
      throw damageError({ table: 'processes' }, `the process with the key ${key} exists, but is marked as removed`)
    const kept = findKept(this.#sql, key)
    for (let facts = 0, bytes = 0; facts < BATCH_FACTS && bytes < BATCH_BYTES;) {
      const row = this.#sql.lastPlace.get(key)
      const { block, text, cursors } = row === undefined ? { block: -1, text: '', cursors: [] } : parseIndexBlock(row)
      // Forks still need the facts of this block up to `upto`. The first fact of block 0 is the one after `base`.
      const keptCount = kept === undefined ? 0 : Math.max(0, kept.upto - kept.base - block * BLOCK_FACTS)
      if (block < 0 || keptCount >= cursors.length) return this.#finish(key, kept === undefined ? origin : null)
      let remaining = cursors.length
      while (remaining > keptCount && bytes < BATCH_BYTES) bytes += this.#removeFact(key, cursors[--remaining] ?? 0)
      facts += cursors.length - remaining
      if (remaining === 0) this.#sql.dropPlace.run(key, block)
      else
        this.#sql.setPlace.run(
          text
            .split(',')
            .slice(0, 2 * remaining)
            .join(','),
          key,
          block,
        )
    }
  }

  /** Ends the sweep of a process. If its origin was kept only for it, the origin's facts are marked for deletion. */
  #finish(key: number, origin: number | null): void {
    this.#sql.dropPendingDeletion.run(key)
    const kept = origin === null ? undefined : findKept(this.#sql, origin)
    if (kept !== undefined) this.#keepForForks(kept, kept.upto)
  }

  /** Removes a fact and returns its size in bytes. */
  #removeFact(key: number, cursor: number): number {
    const fact = this.#sql.dropFact.get(cursor, key)
    if (fact === undefined) return 0 // the fact is missing already, which is no problem here
    const refs = fact['refs'] === null ? [] : (JSON.parse(String(fact['refs'])) as readonly (readonly [unknown, string])[])
    return refs.reduce((bytes, [, hash]) => bytes + this.#releaseBlob(Buffer.from(hash, 'hex')), Number(fact['size']))
  }

  /** Removes one reference to a long text, and the text together with its last reference. Returns the number of bytes that were freed. */
  #releaseBlob(hash: Buffer): number {
    const key = this.#sql.findBlob.get(hash)?.['key']
    if (typeof key !== 'number' || this.#sql.decrementRefCount.run(key).changes > 0) return 0
    this.#sql.dropShared.run(key)
    return Number(this.#sql.dropBlob.get(key)?.['size'] ?? 0)
  }

  /** Shrinks the file by some free pages. Returns false when no more are left. */
  #shrinkFile(): boolean {
    const free = this.#freePages()
    if (free === 0) return false
    this.#db.exec(`PRAGMA incremental_vacuum(${BATCH_PAGES})`)
    const left = this.#freePages()
    if (left > 0 && left < free) return true
    // The last change is still in SQLite's WAL. Only a WAL checkpoint makes the file shorter. A read of the whole file delays it.
    if (!this.#reader.isReading) this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    return false
  }

  #freePages(): number {
    return Number(this.#sql.freePages.get()?.['freelist_count'])
  }
}

function parseIndexBlock(row: Readonly<Record<string, unknown>>): {
  readonly block: number
  readonly text: string
  readonly cursors: readonly number[]
} {
  const [block, text] = [Number(row['block']), String(row['entries'])]
  const entries = parseBlock(text, 1)
  if (entries === undefined) throw damageError({ table: 'places' }, `block ${block} of a removed process is damaged`)
  return { block, text, cursors: entries.map(({ cursor }) => cursor) }
}
