// Removing a dead process. The first transaction takes its row, leaves a tombstone and dooms its key: from then on it is gone for
// every reader. Its facts and the long texts that nobody else names go in bounded pieces, each a transaction, newest first; a
// crash between them leaves the rest doomed, and the next start goes on. PIDs and cursors never go back: `meta` has them.
// Facts that forks go on from are kept until the last of those forks is gone, and its facts with it: so it goes on up the line.
// Must never touch a process that is not dead. Tests: test/tables/store-remove.test.ts, test/properties/store.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/types.ts'
import { damaged } from './errors.ts'
import type { Heads } from './heads.ts'
import { BLOCK_FACTS, blockOf, firstCursor, parseBlock } from './places.ts'
import { findKept, findRow } from './records.ts'
import { reverse } from './rows.ts'
import type { KeptRow, ProcessRow, Statements } from './statements.ts'
import { keptSum, tombstoneSum } from './sums.ts'
import { transact } from './transact.ts'

/** Facts that one piece removes at most, and the bytes after which it ends. */
export const PIECE_FACTS = 64
const PIECE_BYTES = 262_144

/** Pages of 16 KiB that one piece gives back at most. */
const PIECE_PAGES = 8

/** A removed process that has facts left to go; `origin`: who had the facts before its own, if all of its own go. */
interface Doomed {
  readonly key: number
  readonly origin: number | null
}

export class Remover {
  readonly #db: DatabaseSync
  readonly #sql: Statements
  readonly #heads: Heads
  readonly #staged = new Set<number>()

  constructor(db: DatabaseSync, sql: Statements, heads: Heads) {
    this.#db = db
    this.#sql = sql
    this.#heads = heads
  }

  /** False if there is no such process. */
  remove(uuid: Uuid, at: number): boolean {
    const row = findRow(this.#sql, uuid)
    if (row === undefined) return false
    if (row.live !== 0) throw new KernelError('CONFLICT', `process ${row.pid} has not ended`)
    transact(this.#db, this.#sql, () => this.#doom(row, at))
    this.#heads.forget(uuid)
    return true
  }

  /** A key of an import that is on its way is doomed like those of the removed, and not to be cleared away yet. */
  reserve(key: number): void {
    this.#staged.add(key)
  }

  /** The import has ended: what is still doomed of it may go. */
  release(keys: readonly number[]): void {
    for (const key of keys) this.#staged.delete(key)
  }

  /** One piece; false when nothing is left. */
  sweep(): boolean {
    const doomed = this.#sql.doomed.all(this.#staged.size + 1) as unknown as Doomed[]
    const next = doomed.find(({ key }) => !this.#staged.has(key))
    if (next === undefined) return this.#giveBack()
    transact(this.#db, this.#sql, () => this.#removeFacts(next))
    return true
  }

  /** The block of places that is not full joins the others: all that is left of the process is then found by its key. */
  #doom({ key, uuid, pid, name, seq, open, base, origin, forked_from }: ProcessRow, at: number): void {
    if (open !== '') this.#sql.addPlaces.run(key, blockOf(seq + 1, { base }), firstCursor(open), open)
    this.#sql.dropProcess.run(key)
    const sum = tombstoneSum({ uuid, pid, name, removed_at: at, forked_from })
    this.#sql.addTombstone.run(uuid, pid, name, at, sum, forked_from, reverse(uuid))
    this.#keep({ key, uuid, base, origin }, seq)
  }

  /** Keeps what forks go on from, dooms the rest up to `last`. */
  #keep(process: Omit<KeptRow, 'upto' | 'sum'>, last: number): void {
    const { key, uuid, base, origin } = process
    const upto = Number(this.#sql.named.get(key)?.['upto'])
    if (upto === last) return this.#setKept({ ...process, upto })
    if (upto > 0) this.#setKept({ key, uuid, base, origin, upto })
    else this.#sql.dropKept.run(key)
    this.#sql.addDoomed.run(key, upto > 0 ? null : origin)
  }

  #setKept(row: Omit<KeptRow, 'sum'>): void {
    this.#sql.setKept.run(row.key, row.uuid, row.origin, row.base, row.upto, keptSum(row))
  }

  #removeFacts({ key, origin }: Doomed): void {
    if (this.#sql.processOf.get(key) !== undefined) throw damaged({ table: 'processes' }, `the process with the key ${key} is there, and said to be removed`)
    const kept = findKept(this.#sql, key)
    for (let facts = 0, bytes = 0; facts < PIECE_FACTS && bytes < PIECE_BYTES;) {
      const place = this.#sql.lastPlace.get(key)
      const { block, text, cursors } = place === undefined ? { block: -1, text: '', cursors: [] } : placeOf(place)
      const stays = kept === undefined ? 0 : Math.max(0, kept.upto - kept.base - block * BLOCK_FACTS)
      if (block < 0 || stays >= cursors.length) return this.#finish(key, kept === undefined ? origin : null)
      let left = cursors.length
      while (left > stays && bytes < PIECE_BYTES) bytes += this.#removeFact(key, cursors[--left] ?? 0)
      facts += cursors.length - left
      if (left === 0) this.#sql.dropPlace.run(key, block)
      else this.#sql.setPlace.run(text.split(',').slice(0, 2 * left).join(','), key, block)
    }
  }

  /** Nothing is left to go. What it went on from may have been kept for it alone. */
  #finish(key: number, origin: number | null): void {
    this.#sql.dropDoomed.run(key)
    const kept = origin === null ? undefined : findKept(this.#sql, origin)
    if (kept !== undefined) this.#keep(kept, kept.upto)
  }

  /** The bytes that went with it. */
  #removeFact(key: number, cursor: number): number {
    const fact = this.#sql.dropFact.get(cursor, key)
    if (fact === undefined) return 0 // it was missing before: the tombstone needs it no more than a reader
    const refs = fact['refs'] === null ? [] : (JSON.parse(String(fact['refs'])) as readonly (readonly [unknown, string])[])
    return refs.reduce((bytes, [, hash]) => bytes + this.#letGo(Buffer.from(hash, 'hex')), Number(fact['size']))
  }

  /** One name less for a long text; with the last it goes. */
  #letGo(hash: Buffer): number {
    const key = this.#sql.blobThere.get(hash)?.['key']
    if (typeof key !== 'number' || this.#sql.lessShared.run(key).changes > 0) return 0
    this.#sql.dropShared.run(key)
    return Number(this.#sql.dropBlob.get(key)?.['size'] ?? 0)
  }

  #giveBack(): boolean {
    const free = this.#freePages()
    if (free === 0) return false
    this.#db.exec(`PRAGMA incremental_vacuum(${PIECE_PAGES})`)
    const left = this.#freePages()
    if (left > 0 && left < free) return true
    // The last of it is still in the log: only a fold makes the file shorter.
    this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    return false
  }

  #freePages(): number {
    return Number(this.#sql.freePages.get()?.['freelist_count'])
  }
}

function placeOf(row: Readonly<Record<string, unknown>>): { readonly block: number; readonly text: string; readonly cursors: readonly number[] } {
  const [block, text] = [Number(row['block']), String(row['entries'])]
  const entries = parseBlock(text, 1)
  if (entries === undefined) throw damaged({ table: 'places' }, `block ${block} of a removed process is not what was written`)
  return { block, text, cursors: entries.map(({ cursor }) => cursor) }
}
