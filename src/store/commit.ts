// The writer: one transaction per commit, all of a plan or nothing. It believes what it wrote only after COMMIT.
// The facts are durable with their commit. A row is a cache of their fold: while a process only makes steps its row may be up to
// 2,047 facts behind, is answered from memory, and is folded up from the journal after a crash. This saves a page and a JSON text
// per commit. Test: test/tables/store.test.ts, test/properties/store.test.ts, test/processes/store-faults.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../kernel/errors.ts'
import type { StoredFact } from '../kernel/facts.ts'
import { fold } from '../kernel/fold.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import { codeOf } from './codes.ts'
import { damaged } from './errors.ts'
import { Heads } from './heads.ts'
import type { Head, Stored } from './heads.ts'
import { readAll } from './journal.ts'
import { Lines } from './lines.ts'
import { Planner, broken } from './plan.ts'
import type { Plan } from './plan.ts'
import { findRow } from './records.ts'
import { readProcess, reverse, sharing, writeBody } from './rows.ts'
import { metaValue } from './schema.ts'
import type { Statements } from './statements.ts'
import type { Commit, Counters } from './store.ts'
import { factSum, processSum } from './sums.ts'
import { transact } from './transact.ts'

/**
 * At this many facts of the store after the last time all rows were exact they are made so again: a crash leaves fewer than these to
 * fold, some 50 ms. 50 agents write 100 facts per commit, and each time 50 rows: with 256 that was every third commit.
 */
const LATE_FACTS = 2_048
/** Facts read at a time while they are folded: their texts may be long. */
const FOLDED_AT_ONCE = 256

export class Writer {
  readonly heads: Heads
  readonly lines: Lines
  readonly #db: DatabaseSync
  readonly #sql: Statements
  #counters: Counters
  #lastKey: number
  /** up to this cursor all rows on disk are exact */
  #settled: number

  constructor(db: DatabaseSync, sql: Statements) {
    this.#db = db
    this.#sql = sql
    this.heads = new Heads(sql)
    this.lines = new Lines(sql, this.heads)
    this.#counters = readCounters(sql)
    this.#lastKey = Number(sql.lastKey.get()?.['key'] ?? 0)
    this.#settled = readMeta(sql, 'settled')
    if (this.#settled > this.#counters.cursor) throw damaged({ table: 'meta' }, `settled is ${this.#settled}, above the last cursor`)
    this.#catchUp()
  }

  get counters(): Counters {
    return this.#counters
  }

  write(commit: Commit): void {
    const plan = this.#planner().add(commit)
    const { pid, cursor } = this.#counters
    if (plan.drafts.size === 0 && plan.counters.pid === pid && plan.counters.cursor === cursor) return
    this.#transact(plan, commit.processes, plan.counters.cursor - this.#settled >= LATE_FACTS)
  }

  /** Writes all rows that are behind, and that none is: the next start need not look for them. */
  settle(): void {
    if (this.#counters.cursor > this.#settled) this.#transact(this.#planner(), [], true)
  }

  /** After a crash: the rows that were behind are folded up from the facts that are there. */
  #catchUp(): void {
    const planner = this.#planner()
    const late = new Map<Uuid, Process>()
    for (const fact of this.#unsettled()) {
      const draft = planner.draft(fact.uuid)
      if (fact.seq <= draft.seq) continue
      late.set(fact.uuid, refold(late.get(fact.uuid) ?? this.#readProcess(fact.uuid), fact))
      planner.advance(draft, fact, codeOf(fact.body.type) ?? 0)
    }
    if (late.size > 0) this.#transact(planner, [...late.values()], true)
  }

  *#unsettled(): Generator<StoredFact> {
    for (let after = this.#settled; ;) {
      const page = readAll(this.#sql, after, FOLDED_AT_ONCE)
      yield* page
      if (page.length < FOLDED_AT_ONCE) return
      after = page.at(-1)?.cursor ?? after
    }
  }

  #readProcess(uuid: Uuid): Process | undefined {
    const row = findRow(this.#sql, uuid)
    return row === undefined ? undefined : readProcess(this.#sql, row, sharing())
  }

  #planner(): Planner {
    return new Planner(this.heads, this.lines, this.#counters, this.#lastKey)
  }

  /** For staging.ts: a key that nobody has, nor had. */
  takeKey(): number {
    this.#lastKey += 1
    return this.#lastKey
  }

  /**
   * For staging.ts: a transaction with facts of processes that have no row, and what else `work` writes, which gives the heads of new rows.
   * `settle` with the last one: what is seen from then on must not be read at the next start, to look for rows that are behind.
   */
  piece(plan: Pick<Plan, 'facts' | 'blobs' | 'counters'>, settle: boolean, work: () => Head[]): void {
    this.#within(plan.counters, settle, () => {
      this.#putFacts(plan)
      this.#raise(plan, settle)
      const heads = work()
      return settle ? [...heads, ...this.heads.allLate().map((head) => this.writeRow(head.late, head))] : heads
    })
  }

  #transact(plan: Plan, processes: readonly Process[], settle: boolean): void {
    this.#within(plan.counters, settle, () => this.#perform(plan, processes, settle))
    this.#lastKey += plan.newKeys
  }

  #within(counters: Counters, settle: boolean, work: () => Head[]): void {
    this.heads.put(transact(this.#db, this.#sql, work))
    this.#counters = counters
    if (settle) this.#settled = counters.cursor
  }

  #perform(plan: Plan, processes: readonly Process[], settle: boolean): Head[] {
    this.#putFacts(plan)
    for (const block of plan.blocks) this.#sql.addPlaces.run(...block)
    this.#raise(plan, settle)
    const heads: Head[] = []
    for (const process of processes) {
      const draft = plan.drafts.get(process.uuid)
      if (draft === undefined) throw broken('A process has no place in the plan.', process)
      // A row without new facts cannot be folded up later: it is written at once.
      const exact = settle || draft.settle || !draft.moved
      heads.push(exact ? this.writeRow(process, draft) : headOf(draft, draft.stored, process))
    }
    if (!settle) return heads
    const others = this.heads.allLate().filter(({ uuid }) => !plan.drafts.has(uuid))
    return [...heads, ...others.map((head) => this.writeRow(head.late, head))]
  }

  #putFacts({ blobs, facts }: Pick<Plan, 'blobs' | 'facts'>): void {
    for (const { hash, bytes, uses } of blobs.values()) {
      const there = this.#sql.blobThere.get(hash)?.['key']
      const key = there ?? this.#sql.addBlob.run(hash, bytes).lastInsertRowid
      const more = there === undefined ? uses - 1 : uses
      if (more > 0) this.#sql.addShared.run(key, more)
    }
    for (const row of facts) {
      this.#sql.addFact.get(row.cursor, row.process, row.seq, row.pid, row.at, row.type, factSum(row), row.body, row.refs)
    }
  }

  #raise({ counters, facts }: Pick<Plan, 'counters' | 'facts'>, settle: boolean): void {
    const raise = (name: string, value: number) => this.#sql.raise.run(value, -value, name, value)
    if (counters.pid > this.#counters.pid) raise('pid', counters.pid)
    // The journal's last row is the cursor's high-water mark; `meta` has it only where that row does not.
    if (counters.cursor > (facts.at(-1)?.cursor ?? this.#counters.cursor)) raise('cursor', counters.cursor)
    if (settle) raise('settled', counters.cursor)
  }

  /** Within a transaction: the row as the head says. */
  writeRow(process: Process, head: Head): Head {
    const { key, uuid, open, seq, specCursor: spec_cursor, specSeq: spec_seq, origin, base, forkedFrom: forked_from } = head
    const { pid, spec: { name }, clock: { exitedAt: exited_at } } = process
    const live = process.life.state === 'dead' ? 0 : 1
    const pinned = process.pinned ? 1 : 0
    const body = writeBody(process)
    const sum = processSum({ key, uuid, pid, name, live, exited_at, spec_seq, spec_cursor, seq, open, body, forked_from, origin, base, pinned })
    const stored: Stored = { seq, pid, name, live, exitedAt: exited_at, specSeq: spec_seq, pinned }
    if (head.stored === null) {
      this.#sql.addProcess.run(key, uuid, pid, name, live, exited_at, spec_seq, spec_cursor, seq, open, sum, body, forked_from, origin, base, pinned, reverse(uuid))
    } else {
      const { changes } = sameIndexed(head.stored, stored)
        ? this.#sql.setProcess.run(seq, open, sum, body, key, head.stored.seq)
        : this.#sql.resetProcess.run(seq, open, sum, body, pid, name, live, exited_at, spec_seq, spec_cursor, pinned, key, head.stored.seq)
      if (changes !== 1) throw broken(`The row was not at fact ${head.stored.seq}: somebody else wrote it.`, process)
    }
    return headOf(head, stored, null)
  }
}

function headOf({ key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor }: Head, stored: Stored | null, late: Process | null): Head {
  return { key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor, stored, late }
}

function readMeta(sql: Statements, name: string): number {
  return metaValue(name, sql.counter.get(name))
}

/** The high-water marks; one that is gone, or is below what was given out, would give a PID or a cursor out twice. */
function readCounters(sql: Statements): Counters {
  const pid = readMeta(sql, 'pid')
  const highest = Number(sql.highestPid.get()?.['pid'] ?? 0)
  if (highest > pid) throw damaged({ table: 'meta' }, `the counter pid is ${pid}, but PID ${highest} was given out`)
  return { pid, cursor: Math.max(readMeta(sql, 'cursor'), Number(sql.newest.get()?.['cursor'] ?? 0)) }
}

function refold(process: Process | undefined, fact: StoredFact): Process {
  try {
    return fold(process, fact)
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    throw damaged({ table: 'journal', uuid: fact.uuid, seq: fact.seq }, `it cannot follow: ${error.message}`)
  }
}

function sameIndexed(a: Stored, b: Stored): boolean {
  return a.pid === b.pid && a.name === b.name && a.live === b.live && a.exitedAt === b.exitedAt && a.specSeq === b.specSeq && a.pinned === b.pinned
}
