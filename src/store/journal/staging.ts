// Staging imports a journal in batches, each in one transaction. The last transaction makes the whole journal visible. Until then
// its keys are marked as pending deletions: no reader sees their facts, and after a crash the next sweep removes them. The
// origins of a fork are imported too, and are kept like removed processes, so that the fork depends on no other process. Must
// never touch an existing process. Tests: test/tables/store/journal/staging.test.ts, test/processes/daemon/archive-killed.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Fact, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import { encodeBody } from './blobs.ts'
import type { Blob } from './blobs.ts'
import { packBody } from './fact-codec.ts'
import type { Writer } from '../write/writer.ts'
import type { ProcessHead } from '../write/head-cache.ts'
import { BLOCK_FACTS, addEntry, blockOf, firstCursor } from './fact-index.ts'
import { packMoment } from './moment-codec.ts'
import { planError } from '../write/commit-plan.ts'
import type { UsedBlob } from '../write/commit-plan.ts'
import type { Remover } from '../write/remove.ts'
import { findRow } from '../rows/row-lookup.ts'
import { reverseDigits } from '../rows/references.ts'
import type { FactRow, Statements } from '../statements.ts'
import type { Counters, Staging } from '../store.ts'
import type { ImportedUsage } from '../rows/usage-ledger.ts'
import { keptSum, tombstoneSum } from '../rows/checksums.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The facts of one process in the staged journal. The imported process is the last part; its origins come before it. */
interface Part {
  readonly key: number
  readonly uuid: Uuid
  readonly forkedFrom: Uuid | null
  readonly base: number
  readonly origin: number | null
  seq: number
  open: string
  lastCursor: number
  specSeq: number
  specCursor: number
  pid: number
  name: string | null
  removedAt: number
}

/** The rows that one transaction writes. */
interface Batch {
  readonly facts: Omit<FactRow, 'sum'>[]
  readonly blobs: Map<string, UsedBlob>
  /** index blocks by key and block number; the last block of a process may grow with the next batch */
  readonly blocks: Map<string, readonly [key: number, block: number, first: number, entries: string]>
  /** parts whose first fact is in this batch */
  readonly newParts: Part[]
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
  readonly #parts: Part[] = []

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
    const imported = this.#parts.at(-1)
    if (imported === undefined || imported.uuid !== process.uuid || imported.seq !== process.seq)
      throw planError('The staged journal belongs to another process.', process)
    if (process.life.state !== 'dead') throw planError('Only an ended process can be staged.', process)
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
    const { cursor, seq, pid, at, body } = fact
    if (seq !== part.seq + 1) throw planError(`Fact ${seq} cannot follow ${part.seq}.`, fact)
    const { code, values } = packBody(body)
    const encoded = encodeBody(values)
    batch.facts.push({
      cursor,
      process: part.key,
      seq,
      pid,
      at,
      type: code,
      body: encoded.body,
      refs: encoded.refs,
      moment: fact.moment ? packMoment(fact.moment) : null,
    })
    for (const blob of encoded.blobs) countUse(batch.blobs, blob)
    part.seq = seq
    part.pid = pid
    part.removedAt = at
    part.open = addEntry(part.open, cursor, part.lastCursor, code)
    part.lastCursor = cursor
    const spec = 'spec' in body ? body.spec : undefined
    if (spec) Object.assign(part, { specSeq: seq, specCursor: cursor, name: spec.name })
    const block = blockOf(seq, part)
    batch.blocks.set(`${part.key} ${block}`, [part.key, block, firstCursor(part.open), part.open])
    if ((seq - part.base) % BLOCK_FACTS === 0) part.open = ''
  }

  /** Returns the part to which a fact belongs: the last part, or a new one that was forked from it. */
  #partOf(batch: Batch, { uuid, body }: StoredFact): Part {
    const last = this.#parts.at(-1)
    if (last?.uuid === uuid && body.type !== 'process.forked') return last
    const key = this.#writer.assignKey()
    const base = last?.seq ?? 0
    const part: Part = {
      key,
      uuid,
      base,
      origin: last?.key ?? null,
      forkedFrom: body.type === 'process.forked' ? body.origin.uuid : null,
      seq: base,
      open: '',
      lastCursor: 0,
      specSeq: 0,
      specCursor: 0,
      pid: 0,
      name: null,
      removedAt: 0,
    }
    this.#parts.push(part)
    batch.newParts.push(part)
    this.#remover.protect(key)
    return part
  }

  /** Keeps the facts of an origin for its forks, and writes a tombstone unless the process exists here. */
  #keepOrigin({ key, uuid, base, origin, seq: upto, pid, name, removedAt, forkedFrom }: Part): void {
    this.#sql.dropPendingDeletion.run(key)
    const row = { key, uuid, origin, base, upto }
    this.#sql.setKept.run(key, uuid, origin, base, upto, keptSum(row))
    if (findRow(this.#sql, uuid) || this.#sql.tombstoneOf.get(uuid)) return
    const sum = tombstoneSum({ uuid, pid, name, removed_at: removedAt, forked_from: forkedFrom })
    this.#sql.addTombstone.run(uuid, pid, name, removedAt, sum, forkedFrom, reverseDigits(uuid))
  }

  /** Returns the head of the new row. The open block moves from `places` into the row. */
  #headOf({ key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor }: Part): ProcessHead {
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

function countUse(blobs: Map<string, UsedBlob>, blob: Blob): void {
  const name = blob.hash.toString('hex')
  const known = blobs.get(name)
  if (known) known.uses += 1
  else blobs.set(name, { ...blob, uses: 1 })
}
