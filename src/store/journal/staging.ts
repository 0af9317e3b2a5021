// Staging imports a journal in batches, each in one transaction. The last transaction makes the whole journal visible. Until then
// its keys are marked as pending deletions: no reader sees their facts, and after a crash the next sweep removes them. The
// origins of a fork are imported too, and are kept like removed processes, so that the fork depends on no other process. Must
// never touch an existing process. Tests: test/tables/store/journal/staging.test.ts, test/processes/daemon/archive-killed.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Fact, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import { addToPart, checkStagedEnd, continuesPart, newPart } from './staged-part.ts'
import type { StagedPart } from './staged-part.ts'
import type { Writer } from '../write/writer.ts'
import type { ProcessHead } from '../write/head-cache.ts'
import { BLOCK_FACTS, addEntry, blockOf, firstCursor } from './fact-index.ts'
import { countUse } from '../write/commit-plan.ts'
import type { UsedBlob } from '../write/commit-plan.ts'
import type { Remover } from '../write/remove.ts'
import { findRow } from '../rows/row-lookup.ts'
import { reverseDigits } from '../rows/references.ts'
import type { FactRow } from '../rows/row-types.ts'
import type { Statements } from '../statements.ts'
import type { Counters, Staging } from '../store.ts'
import type { ImportedUsage } from '../rows/usage-ledger.ts'
import { keptSum, tombstoneSum } from '../rows/checksums.ts'

/** A part of the journal, with the index block that is not full yet. */
interface IndexedPart extends StagedPart {
  open: string
}

/** The rows that one transaction writes. */
interface Batch {
  readonly facts: Omit<FactRow, 'sum'>[]
  readonly blobs: Map<string, UsedBlob>
  /** index blocks by key and block number; the last block of a process may grow with the next batch */
  readonly blocks: Map<string, readonly [key: number, block: number, first: number, entries: string]>
  /** parts whose first fact is in this batch */
  readonly newParts: IndexedPart[]
}

interface StageDeps {
  readonly sql: Statements
  readonly writer: Writer
  readonly remover: Remover
  readonly importedUsage: ImportedUsage
}

export class Stage implements Staging {
  readonly #sql: Statements
  readonly #writer: Writer
  readonly #remover: Remover
  readonly #importedUsage: ImportedUsage
  readonly #parts: IndexedPart[] = []

  constructor({ sql, writer, remover, importedUsage }: StageDeps) {
    this.#sql = sql
    this.#writer = writer
    this.#remover = remover
    this.#importedUsage = importedUsage
  }

  async add(facts: readonly Fact[]): Promise<Counters> {
    const batch: Batch = { facts: [], blobs: new Map(), blocks: new Map(), newParts: [] }
    const { pid, cursor } = this.#writer.counters
    const storedFacts = facts.map((fact, index): StoredFact => ({ ...fact, cursor: cursor + index + 1 }))
    for (const fact of storedFacts) this.#addFact(batch, fact)
    const counters = { pid, cursor: cursor + facts.length }
    this.#writer.writeBatch({ ...batch, counters }, false, () => {
      for (const { key } of batch.newParts) this.#sql.addPendingDeletion.run(key, null)
      for (const block of batch.blocks.values()) this.#sql.putPlaces.run(...block)
      return []
    })
    for (const fact of storedFacts) this.#importedUsage.count(fact)
    return counters
  }

  async publish(process: Process): Promise<Counters> {
    const imported = checkStagedEnd(this.#parts.at(-1), process)
    if (findRow(this.#sql, process.uuid))
      throw new KernelError('CONFLICT', `the process ${process.uuid} already exists`, { uuid: process.uuid })
    const { pid, cursor } = this.#writer.counters
    const counters = { pid: Math.max(pid, ...this.#parts.map((part) => part.pid)), cursor }
    this.#writer.writeBatch({ facts: [], blobs: new Map(), counters }, true, () => {
      for (const part of this.#parts.slice(0, -1)) this.#keepOrigin(part)
      this.#importedUsage.publish(process.uuid, process.seq)
      return [this.#writer.writeRow(process, this.#headOf(imported))]
    })
    this.#remover.release(this.#parts.map(({ key }) => key))
    this.#parts.length = 0
    return counters
  }

  /** Releases the keys of a journal that was not published, so that the next sweep removes its facts. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#remover.release(this.#parts.map(({ key }) => key))
  }

  #addFact(batch: Batch, fact: StoredFact): void {
    const part = this.#partOf(batch, fact)
    const before = part.lastCursor
    const { row, blobs } = addToPart(part, fact)
    batch.facts.push(row)
    for (const blob of blobs) countUse(batch.blobs, blob)
    const { cursor, seq } = fact
    part.open = addEntry(part.open, cursor, before, row.type)
    const block = blockOf(seq, part)
    batch.blocks.set(`${part.key} ${block}`, [part.key, block, firstCursor(part.open), part.open])
    if ((seq - part.base) % BLOCK_FACTS === 0) part.open = ''
  }

  /** Returns the part to which a fact belongs: the last part, or a new one that was forked from it. */
  #partOf(batch: Batch, fact: StoredFact): IndexedPart {
    const last = this.#parts.at(-1)
    if (continuesPart(last, fact)) return last
    const part: IndexedPart = { ...newPart(this.#writer.assignKey(), fact, last), open: '' }
    this.#parts.push(part)
    batch.newParts.push(part)
    this.#remover.protect(part.key)
    return part
  }

  /** Keeps the facts of an origin for its forks, and writes a tombstone unless the process exists here. */
  #keepOrigin({ key, uuid, base, origin, seq: upto, pid, name, removedAt, forkedFrom }: IndexedPart): void {
    this.#sql.dropPendingDeletion.run(key)
    const row = { key, uuid, origin, base, upto }
    this.#sql.setKept.run(key, uuid, origin, base, upto, keptSum(row))
    if (findRow(this.#sql, uuid) || this.#sql.tombstoneOf.get(uuid)) return
    const sum = tombstoneSum({ uuid, pid, name, removed_at: removedAt, forked_from: forkedFrom })
    this.#sql.addTombstone.run(uuid, pid, name, removedAt, sum, forkedFrom, reverseDigits(uuid))
  }

  /** Returns the head of the new row. The open block moves from `places` into the row. */
  #headOf({ key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor }: IndexedPart): ProcessHead {
    this.#sql.dropPendingDeletion.run(key)
    this.#sql.dropTombstone.run(uuid)
    if (open !== '') this.#sql.dropPlace.run(key, blockOf(seq, { base }))
    return {
      key,
      uuid,
      forkedFrom,
      origin,
      base,
      seq,
      open,
      lastCursor,
      specSeq,
      specCursor,
      storedRow: null,
      pendingProcess: null,
    }
  }
}
