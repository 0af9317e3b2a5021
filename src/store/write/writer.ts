// Writes commits to the store, each in one transaction. The facts of a commit are durable with it. Must never change its counters or
// heads before COMMIT. The row of a process is a cache: folding the facts gives the same process. Facts of steps do not update the row,
// which saves a page and a JSON text per commit. Such a row may lack up to 2,047 facts. Readers then get the process from memory.
// After a crash the row is rebuilt from the journal. Tests: test/tables/store/store.test.ts, test/properties/store.test.ts,
// test/processes/daemon/store-faults.test.ts.
import type { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../../kernel/model/errors.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import { fold } from '../../kernel/state/fold.ts'
import type { Process } from '../../kernel/model/process.ts'
import { codeOf } from '../journal/fact-codec.ts'
import { damageError } from '../errors.ts'
import { writeHomeBook } from '../home-book.ts'
import { HeadCache } from './head-cache.ts'
import type { ProcessHead, StoredRow } from './head-cache.ts'
import { parseBlock } from '../journal/fact-index.ts'
import { readAll } from '../journal/journal.ts'
import { Lineage } from '../journal/lineage.ts'
import { MAX_PENDING_FACTS, planError } from './commit-plan.ts'
import type { CommitPlan } from './commit-plan.ts'
import { IndexedPlanner } from './indexed-plan.ts'
import type { IndexedPlan } from './indexed-plan.ts'
import { findRow } from '../rows/row-lookup.ts'
import { createIntern, rowBodyOf } from '../rows/process-body.ts'
import { readProcess } from '../rows/process-row.ts'
import { reverseDigits } from '../rows/references.ts'
import { metaValue } from '../schema.ts'
import type { Statements } from '../statements.ts'
import type { Commit, Counters } from '../store.ts'
import { factSum, processSum } from '../rows/checksums.ts'
import { inTransaction } from './transaction.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The number of facts per page while rows are rebuilt; small, because the texts of facts may be long. */
const REBUILD_PAGE_FACTS = 256

export class Writer {
  readonly heads: HeadCache
  readonly lineage: Lineage
  readonly #db: DatabaseSync
  readonly #sql: Statements
  #counters: Counters
  #lastKey: number
  /** no row on disk lacks a fact up to this cursor */
  #rowsWrittenUpTo: number

  constructor(db: DatabaseSync, sql: Statements) {
    this.#db = db
    this.#sql = sql
    this.heads = new HeadCache((uuid) => readHead(sql, uuid))
    this.lineage = new Lineage(sql, this.heads)
    this.#counters = readCounters(sql)
    this.#lastKey = Number(sql.lastKey.get()?.['key'] ?? 0)
    this.#rowsWrittenUpTo = readMeta(sql, 'settled')
    if (this.#rowsWrittenUpTo > this.#counters.cursor)
      throw damageError({ table: 'meta' }, `settled is ${this.#rowsWrittenUpTo}, above the last cursor`)
    this.#rebuildRows()
  }

  get counters(): Counters {
    return this.#counters
  }

  /** Returns the facts of the commit with their cursors. */
  write(commit: Commit): readonly StoredFact[] {
    const plan = this.#createPlanner().add(commit)
    if (plan.drafts.size > 0 || plan.counters.pid !== this.#counters.pid || commit.home !== undefined)
      this.#commitPlan(plan, commit, plan.counters.cursor - this.#rowsWrittenUpTo >= MAX_PENDING_FACTS)
    return plan.storedFacts
  }

  /** Writes all rows that are out of date, so that the next start need not look for any. */
  writePendingRows(): void {
    if (this.#counters.cursor > this.#rowsWrittenUpTo) this.#commitPlan(this.#createPlanner(), { processes: [] }, true)
  }

  /** After a crash, applies the facts that rows lack, and writes these rows. */
  #rebuildRows(): void {
    const planner = this.#createPlanner()
    const pending = new Map<Uuid, Process>()
    for (const fact of this.#factsToApply()) {
      const draft = planner.draft(fact.uuid)
      if (fact.seq <= draft.seq) continue
      pending.set(fact.uuid, applyJournalFact(pending.get(fact.uuid) ?? this.#readProcess(fact.uuid), fact))
      planner.advance(draft, fact, codeOf(fact.body.type) ?? 0)
    }
    if (pending.size > 0) this.#commitPlan(planner, { processes: [...pending.values()] }, true)
  }

  /** The facts that rows may lack. */
  *#factsToApply(): Generator<StoredFact> {
    for (let after = this.#rowsWrittenUpTo; ;) {
      const page = readAll(this.#sql, after, REBUILD_PAGE_FACTS)
      yield* page
      if (page.length < REBUILD_PAGE_FACTS) return
      after = page.at(-1)?.cursor ?? after
    }
  }

  #readProcess(uuid: Uuid): Process | undefined {
    const row = findRow(this.#sql, uuid)
    return row === undefined ? undefined : readProcess(this.#sql, row, createIntern())
  }

  #createPlanner(): IndexedPlanner {
    return new IndexedPlanner(this.heads, this.lineage, this.#counters, this.#lastKey)
  }

  /** Returns a key that no process has or ever had. Called by staging.ts. */
  assignKey(): number {
    this.#lastKey += 1
    return this.#lastKey
  }

  /**
   * Runs a transaction with facts of processes that have no row. `work` makes the other writes and returns the heads of new rows.
   * The last transaction of an import sets `writeAllRows`, so that the next start does not read the imported facts. Called by staging.ts.
   */
  writeBatch(plan: Pick<CommitPlan, 'facts' | 'blobs' | 'counters'>, writeAllRows: boolean, work: () => ProcessHead[]): void {
    this.#runTransaction(plan.counters, writeAllRows, () => {
      this.#putFacts(plan)
      this.#raiseCounters(plan, writeAllRows)
      const heads = work()
      return writeAllRows ? [...heads, ...this.heads.pendingHeads().map((head) => this.writeRow(head.pendingProcess, head))] : heads
    })
  }

  #commitPlan(plan: IndexedPlan, { processes, home }: Pick<Commit, 'processes' | 'home'>, writeAllRows: boolean): void {
    this.#runTransaction(plan.counters, writeAllRows, () => {
      if (home !== undefined) writeHomeBook(this.#sql, home)
      return this.#writePlan(plan, processes, writeAllRows)
    })
    this.#lastKey += plan.newKeys
  }

  #runTransaction(counters: Counters, writeAllRows: boolean, work: () => ProcessHead[]): void {
    this.heads.put(inTransaction(this.#db, this.#sql, work))
    this.#counters = counters
    if (writeAllRows) this.#rowsWrittenUpTo = counters.cursor
  }

  #writePlan(plan: IndexedPlan, processes: readonly Process[], writeAllRows: boolean): ProcessHead[] {
    this.#putFacts(plan)
    for (const block of plan.blocks) this.#sql.addPlaces.run(...block)
    this.#raiseCounters(plan, writeAllRows)
    const heads: ProcessHead[] = []
    for (const process of processes) {
      const draft = plan.drafts.get(process.uuid)
      if (draft === undefined) throw planError('A process is missing in the plan.', process)
      // A changed row without new facts is written at once, because it could not be rebuilt from the journal.
      const mustWriteRow = writeAllRows || draft.mustWriteRow || !draft.hasFacts
      heads.push(mustWriteRow ? this.writeRow(process, draft) : headAfterWrite(draft, draft.storedRow, process))
    }
    if (!writeAllRows) return heads
    const others = this.heads.pendingHeads().filter(({ uuid }) => !plan.drafts.has(uuid))
    return [...heads, ...others.map((head) => this.writeRow(head.pendingProcess, head))]
  }

  #putFacts({ blobs, facts }: Pick<CommitPlan, 'blobs' | 'facts'>): void {
    for (const { hash, bytes, uses } of blobs.values()) {
      const existing = this.#sql.findBlob.get(hash)?.['key']
      const key = existing ?? this.#sql.addBlob.run(hash, bytes).lastInsertRowid
      const more = existing === undefined ? uses - 1 : uses
      if (more > 0) this.#sql.addShared.run(key, more)
    }
    for (const row of facts) {
      this.#sql.addFact.get(row.cursor, row.process, row.seq, row.pid, row.at, row.type, factSum(row), row.body, row.refs, row.moment)
    }
  }

  #raiseCounters({ counters }: Pick<CommitPlan, 'counters'>, writeAllRows: boolean): void {
    const raise = (name: string, value: number) => this.#sql.raise.run(value, -value, name, value)
    if (counters.pid > this.#counters.pid) raise('pid', counters.pid)
    if (writeAllRows) raise('settled', counters.cursor)
  }

  /** Writes the row of a process within the caller's transaction. Returns the head with the new row. */
  writeRow(process: Process, head: ProcessHead): ProcessHead {
    const { key, uuid, open, seq, specCursor: spec_cursor, specSeq: spec_seq, origin, base, forkedFrom: forked_from } = head
    const {
      pid,
      spec: { name },
      clock: { exitedAt: exited_at },
    } = process
    const live = process.life.state === 'dead' ? 0 : 1
    const pinned = process.pinned ? 1 : 0
    const body = rowBodyOf(process)
    const sum = processSum({
      key,
      uuid,
      pid,
      name,
      live,
      exited_at,
      spec_seq,
      spec_cursor,
      seq,
      open,
      body,
      forked_from,
      origin,
      base,
      pinned,
    })
    const newRow: StoredRow = { seq, pid, name, live, exitedAt: exited_at, specSeq: spec_seq, pinned }
    const oldRow = head.storedRow
    if (oldRow === null) {
      this.#sql.addProcess.run(
        key,
        uuid,
        pid,
        name,
        live,
        exited_at,
        spec_seq,
        spec_cursor,
        seq,
        open,
        sum,
        body,
        forked_from,
        origin,
        base,
        pinned,
        reverseDigits(uuid),
      )
    } else {
      const { changes } = hasSameIndexedColumns(oldRow, newRow)
        ? this.#sql.setProcess.run(seq, open, sum, body, key, oldRow.seq)
        : this.#sql.resetProcess.run(seq, open, sum, body, pid, name, live, exited_at, spec_seq, spec_cursor, pinned, key, oldRow.seq)
      if (changes !== 1) throw planError(`The row is no longer at fact ${oldRow.seq}: another writer changed it.`, process)
    }
    return headAfterWrite(head, newRow, null)
  }
}

/** Returns the head of a process after its commit, without the other fields of a draft. */
function headAfterWrite(
  { key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor }: ProcessHead,
  storedRow: StoredRow | null,
  pendingProcess: Process | null,
): ProcessHead {
  return { key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor, storedRow, pendingProcess }
}

function readMeta(sql: Statements, name: string): number {
  return metaValue(name, sql.counter.get(name))
}

/** Reads the counters. A counter below an assigned PID or cursor is damage, because the number would be assigned twice. */
function readCounters(sql: Statements): Counters {
  const pid = readMeta(sql, 'pid')
  const highest = Number(sql.highestPid.get()?.['pid'] ?? 0)
  if (highest > pid) throw damageError({ table: 'meta' }, `the counter pid is ${pid}, but PID ${highest} was assigned`)
  return { pid, cursor: Math.max(readMeta(sql, 'cursor'), Number(sql.newest.get()?.['cursor'] ?? 0)) }
}

/** Returns the process after a fact of the journal. A fact that cannot follow the ones before it is damage at its location. */
function applyJournalFact(process: Process | undefined, fact: StoredFact): Process {
  try {
    return fold(process, fact)
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    throw damageError({ table: 'journal', uuid: fact.uuid, seq: fact.seq }, `it cannot follow: ${error.message}`)
  }
}

function hasSameIndexedColumns(a: StoredRow, b: StoredRow): boolean {
  return (
    a.pid === b.pid &&
    a.name === b.name &&
    a.live === b.live &&
    a.exitedAt === b.exitedAt &&
    a.specSeq === b.specSeq &&
    a.pinned === b.pinned
  )
}

function readHead(sql: Statements, uuid: Uuid): ProcessHead | undefined {
  const row = findRow(sql, uuid)
  if (row === undefined) return undefined
  const {
    key,
    seq,
    base,
    origin,
    pid,
    name,
    live,
    open,
    pinned,
    exited_at: exitedAt,
    spec_seq: specSeq,
    spec_cursor: specCursor,
    forked_from: forkedFrom,
  } = row
  const entries = parseBlock(open, 1)
  if (entries === undefined) throw damageError({ table: 'processes', uuid }, 'its open block is damaged')
  const lastCursor = entries.at(-1)?.cursor ?? 0
  const storedRow: StoredRow = { seq, pid, name, live, exitedAt, specSeq, pinned }
  return { key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor, storedRow, pendingProcess: null }
}
