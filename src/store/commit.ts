// The writer: one transaction per commit. It plans first (checks and encodes, touching nothing), then writes the whole plan, and
// only then believes it. What fails before the end leaves the store and the writer as they were.
// Test: test/tables/store.test.ts, test/properties/store.test.ts, test/processes/store-faults.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../kernel/errors.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import { encode } from './blobs.ts'
import type { Blob } from './blobs.ts'
import { packBody } from './codes.ts'
import { damaged } from './errors.ts'
import { BLOCK_FACTS, addEntry, firstCursor, readBlock } from './places.ts'
import { findRow, reverse, writeBody } from './rows.ts'
import type { FactRow, Statements } from './statements.ts'
import type { Commit, Counters } from './store.ts'
import { factSum, processSum } from './sums.ts'

/** Processes whose heads the writer remembers; the head of another is read again. */
const HEADS = 1_024

/** What the writer must know of a process to write its next fact. */
interface Head {
  readonly key: number
  readonly uuid: Uuid
  readonly stored: Stored | null
  seq: number
  open: string
  lastCursor: number
  specSeq: number
  specCursor: number
}

/** The columns that have an index, and the fence, as they stand in the row now; null for a process that has none yet. */
interface Stored {
  readonly seq: number
  readonly pid: number
  readonly name: string | null
  readonly live: number
  readonly exitedAt: number | null
  readonly specSeq: number
}

/** A block of places that became full: process, block, its first cursor, its entries. */
type Block = readonly [key: number, block: number, first: number, entries: string]

interface Plan {
  readonly heads: Map<Uuid, Head>
  readonly facts: Omit<FactRow, 'sum' | 'uuid'>[]
  readonly blocks: Block[]
  readonly blobs: Map<string, Blob>
  newKeys: number
}

export class Writer {
  readonly #db: DatabaseSync
  readonly #sql: Statements
  readonly #heads = new Map<Uuid, Head>()
  #counters: Counters
  #lastKey: number

  constructor(db: DatabaseSync, sql: Statements) {
    this.#db = db
    this.#sql = sql
    this.#counters = readCounters(sql)
    this.#lastKey = Number(sql.lastKey.get()?.['key'] ?? 0)
  }

  get counters(): Counters {
    return this.#counters
  }

  write(commit: Commit): void {
    const counters = this.#raised(commit)
    const plan = this.#plan(commit)
    if (plan.heads.size === 0 && counters.pid === this.#counters.pid && counters.cursor === this.#counters.cursor) return
    this.#sql.begin.run()
    try {
      const heads = this.#perform(plan, commit, counters)
      this.#sql.commit.run()
      this.#adopt(plan, heads, counters)
    } catch (error) {
      this.#heads.clear()
      if (this.#db.isTransaction) this.#sql.rollback.run()
      throw error
    }
  }

  /** Counters are never lowered; a cursor that was given out is never given out again. */
  #raised({ counters, facts }: Commit): Counters {
    let cursor = this.#counters.cursor
    for (const fact of facts) {
      if (!Number.isSafeInteger(fact.cursor) || fact.cursor <= cursor) throw broken(`Cursor ${fact.cursor} cannot follow ${cursor}.`, fact)
      cursor = fact.cursor
    }
    return { pid: Math.max(counters.pid, this.#counters.pid), cursor: Math.max(counters.cursor, cursor) }
  }

  #plan(commit: Commit): Plan {
    const plan: Plan = { heads: new Map(), facts: [], blocks: [], blobs: new Map(), newKeys: 0 }
    for (const fact of commit.facts) this.#planFact(plan, fact)
    const seen = new Set<Uuid>()
    for (const process of commit.processes) {
      checkProcess(process, this.#head(plan, process.uuid))
      if (process.pid > Math.max(commit.counters.pid, this.#counters.pid)) throw broken(`PID ${process.pid} is above its counter.`, process)
      if (seen.size === seen.add(process.uuid).size) throw broken('A process stands twice in one commit.', process)
    }
    for (const head of plan.heads.values()) {
      if (!seen.has(head.uuid)) throw broken('A process has facts in a commit and no row.', head)
    }
    return plan
  }

  #planFact(plan: Plan, fact: StoredFact): void {
    const head = this.#head(plan, fact.uuid)
    if (fact.seq !== head.seq + 1) throw broken(`Fact ${fact.seq} cannot follow ${head.seq}.`, fact)
    if (!Number.isSafeInteger(fact.at) || !Number.isSafeInteger(fact.pid)) throw broken('A fact has no whole time or PID.', fact)
    const { code, values } = packBody(fact.body)
    const { body, refs, blobs } = encode(values)
    plan.facts.push({ cursor: fact.cursor, process: head.key, seq: fact.seq, pid: fact.pid, at: fact.at, type: code, body, refs })
    for (const blob of blobs) plan.blobs.set(blob.hash.toString('hex'), blob)
    if (holdsSpec(fact)) {
      head.specSeq = fact.seq
      head.specCursor = fact.cursor
    }
    advance(plan, head, fact.cursor, code)
  }

  /** The head that this plan moves: a copy, so that a plan that fails has moved nothing. */
  #head(plan: Plan, uuid: Uuid): Head {
    const planned = plan.heads.get(uuid)
    if (planned !== undefined) return planned
    const known = this.#heads.get(uuid) ?? this.#readHead(uuid)
    const head = known === undefined ? emptyHead(this.#lastKey + ++plan.newKeys, uuid) : { ...known }
    plan.heads.set(uuid, head)
    return head
  }

  #readHead(uuid: Uuid): Head | undefined {
    const row = findRow(this.#sql, uuid)
    if (row === undefined) return undefined
    const { key, seq, pid, name, live, open, exited_at: exitedAt, spec_seq: specSeq, spec_cursor: specCursor } = row
    const lastCursor = open === '' ? 0 : (readBlock(this.#sql, row, Math.floor(seq / BLOCK_FACTS)).at(-1)?.cursor ?? 0)
    return { key, uuid, seq, open, lastCursor, specSeq, specCursor, stored: { seq, pid, name, live, exitedAt, specSeq } }
  }

  #perform(plan: Plan, commit: Commit, counters: Counters): Head[] {
    for (const blob of plan.blobs.values()) {
      if (this.#sql.blobThere.get(blob.hash) === undefined) this.#sql.addBlob.run(blob.hash, blob.bytes)
    }
    for (const row of plan.facts) {
      this.#sql.addFact.run(row.cursor, row.process, row.seq, row.pid, row.at, row.type, factSum(row), row.body, row.refs)
    }
    for (const block of plan.blocks) this.#sql.addPlaces.run(...block)
    const heads = commit.processes.map((process) => this.#writeRow(process, this.#head(plan, process.uuid)))
    if (counters.pid > this.#counters.pid) this.#sql.raise.run(counters.pid, 'pid', counters.pid)
    // The journal's last row is the cursor's high-water mark; `meta` has it only where that row does not.
    const last = commit.facts.at(-1)?.cursor ?? this.#counters.cursor
    if (counters.cursor > last) this.#sql.raise.run(counters.cursor, 'cursor', counters.cursor)
    return heads
  }

  #writeRow(process: Process, head: Head): Head {
    const { key, uuid, open, seq, specCursor: spec_cursor, specSeq: spec_seq } = head
    const { pid, spec: { name }, clock: { exitedAt: exited_at } } = process
    const live = process.life.state === 'dead' ? 0 : 1
    const body = writeBody(process)
    const sum = processSum({ key, uuid, pid, name, live, exited_at, spec_seq, spec_cursor, seq, open, body })
    const stored: Stored = { seq, pid, name, live, exitedAt: exited_at, specSeq: spec_seq }
    if (head.stored === null) {
      this.#sql.addProcess.run(key, uuid, pid, name, live, exited_at, spec_seq, spec_cursor, seq, open, sum, body, reverse(uuid))
    } else {
      const { changes } = sameIndexed(head.stored, stored)
        ? this.#sql.setProcess.run(seq, open, sum, body, key, head.stored.seq)
        : this.#sql.resetProcess.run(seq, open, sum, body, pid, name, live, exited_at, spec_seq, spec_cursor, key, head.stored.seq)
      if (changes !== 1) throw broken(`The row was not at fact ${head.stored.seq}: somebody else wrote it.`, process)
    }
    return { ...head, stored }
  }

  #adopt(plan: Plan, heads: readonly Head[], counters: Counters): void {
    this.#counters = counters
    this.#lastKey += plan.newKeys
    for (const head of heads) {
      this.#heads.delete(head.uuid)
      this.#heads.set(head.uuid, head)
    }
    for (const uuid of this.#heads.keys()) {
      if (this.#heads.size <= HEADS) break
      this.#heads.delete(uuid)
    }
  }
}

/** The high-water marks; one that is gone, or is below what was given out, would give a PID or a cursor out twice. */
function readCounters(sql: Statements): Counters {
  const read = (name: string): number => {
    const value = sql.counter.get(name)?.['value']
    if (typeof value !== 'number' || value < 0) throw damaged({ table: 'meta' }, `the counter ${name} is ${String(value)}`)
    return value
  }
  const pid = read('pid')
  const highest = Number(sql.highestPid.get()?.['pid'] ?? 0)
  if (highest > pid) throw damaged({ table: 'meta' }, `the counter pid is ${pid}, but PID ${highest} was given out`)
  return { pid, cursor: Math.max(read('cursor'), Number(sql.newest.get()?.['cursor'] ?? 0)) }
}

function emptyHead(key: number, uuid: Uuid): Head {
  return { key, uuid, stored: null, seq: 0, open: '', lastCursor: 0, specSeq: 0, specCursor: 0 }
}

function holdsSpec({ body }: StoredFact): boolean {
  return body.type === 'process.spawned' || (body.type === 'process.resumed' && body.spec !== undefined)
}

function advance(plan: Plan, head: Head, cursor: number, code: number): void {
  head.seq += 1
  head.open = addEntry(head.open, cursor, head.lastCursor, code)
  head.lastCursor = cursor
  if (head.seq % BLOCK_FACTS !== 0) return
  plan.blocks.push([head.key, head.seq / BLOCK_FACTS - 1, firstCursor(head.open), head.open])
  head.open = ''
}

function checkProcess(process: Process, head: Head): void {
  if (process.seq !== head.seq || head.seq === 0) throw broken(`The row stands at fact ${process.seq}, the journal at ${head.seq}.`, process)
  if (process.specSeq !== head.specSeq) throw broken(`The spec is said to stand at fact ${process.specSeq}; it stands at ${head.specSeq}.`, process)
  if (process.life.state === 'dead' && process.clock.exitedAt === null) throw broken('A dead process has no time of death.', process)
}

function sameIndexed(a: Stored, b: Stored): boolean {
  return a.pid === b.pid && a.name === b.name && a.live === b.live && a.exitedAt === b.exitedAt && a.specSeq === b.specSeq
}

function broken(what: string, { uuid, seq }: { uuid: Uuid; seq: number }): KernelError {
  return new KernelError('INTERNAL', `${what} (process ${uuid}, fact ${seq})`, { uuid, seq })
}
