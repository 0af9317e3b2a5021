// Staging: a journal from outside comes in in pieces, each a transaction, and is there as a whole with the last of them.
// Until then its keys are doomed: no reader sees the facts of such a key, and what a crash leaves goes with the next sweep.
// What a fork goes on from comes along: it is kept as if it had been removed here, so that the fork needs nobody else.
// Must never touch a process that is there. Tests: test/tables/store-staging.test.ts, test/processes/archive-killed.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import { encode } from './blobs.ts'
import type { Blob } from './blobs.ts'
import { packBody } from './codes.ts'
import type { Writer } from './commit.ts'
import type { Head } from './heads.ts'
import { BLOCK_FACTS, addEntry, blockOf, firstCursor } from './places.ts'
import { broken } from './plan.ts'
import type { UsedBlob } from './plan.ts'
import type { Remover } from './remove.ts'
import { findRow } from './records.ts'
import { reverse } from './rows.ts'
import type { FactRow, Statements } from './statements.ts'
import type { Counters, Staging } from './store.ts'
import type { Intake } from './spent.ts'
import { keptSum, tombstoneSum } from './sums.ts'

/** The facts of one process in a journal: the own ones of the last, or what another had before it was forked from. */
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

/** What one transaction writes. */
interface Piece {
  readonly facts: Omit<FactRow, 'sum'>[]
  readonly blobs: Map<string, UsedBlob>
  /** by key and block: the last one of a process may grow with the next piece */
  readonly blocks: Map<string, readonly [key: number, block: number, first: number, entries: string]>
  readonly begun: Part[]
}

interface StageParts {
  readonly sql: Statements
  readonly writer: Writer
  readonly remover: Remover
  readonly intake: Intake
}

export class Stage implements Staging {
  readonly #sql: Statements
  readonly #writer: Writer
  readonly #remover: Remover
  readonly #intake: Intake
  readonly #parts: Part[] = []

  constructor({ sql, writer, remover, intake }: StageParts) {
    this.#sql = sql
    this.#writer = writer
    this.#remover = remover
    this.#intake = intake
  }

  async add(facts: readonly StoredFact[]): Promise<void> {
    const piece: Piece = { facts: [], blobs: new Map(), blocks: new Map(), begun: [] }
    for (const fact of facts) this.#addFact(piece, fact)
    const counters = { pid: this.#writer.counters.pid, cursor: facts.at(-1)?.cursor ?? this.#writer.counters.cursor }
    this.#writer.piece({ ...piece, counters }, false, () => {
      for (const { key } of piece.begun) this.#sql.addDoomed.run(key, null)
      for (const block of piece.blocks.values()) this.#sql.putPlaces.run(...block)
      return []
    })
    for (const fact of facts) this.#intake.take(fact)
  }

  async publish(process: Process, counters: Counters): Promise<void> {
    const own = this.#parts.at(-1)
    if (own === undefined || own.uuid !== process.uuid || own.seq !== process.seq) throw broken('What was staged is another journal.', process)
    if (process.life.state !== 'dead') throw broken('What is staged must have ended.', process)
    if (findRow(this.#sql, process.uuid)) throw new KernelError('CONFLICT', `the process ${process.uuid} is here already`, { uuid: process.uuid })
    const pid = Math.max(counters.pid, ...this.#parts.map((part) => part.pid))
    this.#writer.piece({ facts: [], blobs: new Map(), counters: { ...counters, pid } }, true, () => {
      for (const part of this.#parts.slice(0, -1)) this.#keep(part)
      this.#intake.publish(process.uuid, process.seq)
      return [this.#writer.writeRow(process, this.#own(own))]
    })
    this.#remover.release(this.#parts.map(({ key }) => key))
    this.#parts.length = 0
  }

  /** What was not published goes with the next sweep. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#remover.release(this.#parts.map(({ key }) => key))
  }

  #addFact(piece: Piece, fact: StoredFact): void {
    const part = this.#partOf(piece, fact)
    const { cursor, seq, pid, at, body } = fact
    if (seq !== part.seq + 1) throw broken(`Fact ${seq} cannot follow ${part.seq}.`, fact)
    const { code, values } = packBody(body)
    const encoded = encode(values)
    piece.facts.push({ cursor, process: part.key, seq, pid, at, type: code, body: encoded.body, refs: encoded.refs })
    for (const blob of encoded.blobs) use(piece.blobs, blob)
    part.seq = seq
    part.pid = pid
    part.removedAt = at
    part.open = addEntry(part.open, cursor, part.lastCursor, code)
    part.lastCursor = cursor
    const spec = 'spec' in body ? body.spec : undefined
    if (spec) Object.assign(part, { specSeq: seq, specCursor: cursor, name: spec.name })
    const block = blockOf(seq, part)
    piece.blocks.set(`${part.key} ${block}`, [part.key, block, firstCursor(part.open), part.open])
    if ((seq - part.base) % BLOCK_FACTS === 0) part.open = ''
  }

  /** The last part, or a new one that goes on from it. */
  #partOf(piece: Piece, { uuid, body }: StoredFact): Part {
    const last = this.#parts.at(-1)
    if (last?.uuid === uuid && body.type !== 'process.forked') return last
    const key = this.#writer.takeKey()
    const base = last?.seq ?? 0
    const part: Part = {
      key, uuid, base, origin: last?.key ?? null, forkedFrom: body.type === 'process.forked' ? body.origin.uuid : null,
      seq: base, open: '', lastCursor: 0, specSeq: 0, specCursor: 0, pid: 0, name: null, removedAt: 0,
    }
    this.#parts.push(part)
    piece.begun.push(part)
    this.#remover.reserve(key)
    return part
  }

  /** What the next part goes on from: there for its forks, and remembered as removed, unless it is here. */
  #keep({ key, uuid, base, origin, seq: upto, pid, name, removedAt, forkedFrom }: Part): void {
    this.#sql.dropDoomed.run(key)
    const row = { key, uuid, origin, base, upto }
    this.#sql.setKept.run(key, uuid, origin, base, upto, keptSum(row))
    if (findRow(this.#sql, uuid) || this.#sql.tombstoneOf.get(uuid)) return
    const sum = tombstoneSum({ uuid, pid, name, removed_at: removedAt, forked_from: forkedFrom })
    this.#sql.addTombstone.run(uuid, pid, name, removedAt, sum, forkedFrom, reverse(uuid))
  }

  /** The head of the new row: its last block stands in it, and not with the others. */
  #own({ key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor }: Part): Head {
    this.#sql.dropDoomed.run(key)
    this.#sql.dropTombstone.run(uuid)
    if (open !== '') this.#sql.dropPlace.run(key, blockOf(seq, { base }))
    return { key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor, stored: null, late: null }
  }
}

function use(blobs: Map<string, UsedBlob>, blob: Blob): void {
  const name = blob.hash.toString('hex')
  const known = blobs.get(name)
  if (known) known.uses += 1
  else blobs.set(name, { ...blob, uses: 1 })
}
