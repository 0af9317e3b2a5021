// Writes commits to PostgreSQL, each in one statement. As on SQLite, the row of a process is a cache: facts of steps do not update it. It
// may lack up to 2,047 facts, and readers then get the process from memory. A new writer rebuilds such rows from the journal.
// Test: test/properties/store.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { HomeBook } from '../../kernel/model/home.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'
import { fold } from '../../kernel/state/fold.ts'
import { damageError } from '../errors.ts'
import type { LineageLink } from '../journal/lineage.ts'
import type { ProcessRow } from '../rows/row-types.ts'
import type { Commit, Counters } from '../store.ts'
import { MAX_PENDING_FACTS, Planner, planError } from '../write/commit-plan.ts'
import type { CommitPlan, UsedBlob } from '../write/commit-plan.ts'
import { HeadCache } from '../write/head-cache.ts'
import type { ProcessHead } from '../write/head-cache.ts'
import type { Fence, Write } from './fence.ts'
import { readAllFacts } from './facts.ts'
import { Journals, readRows } from './journals.ts'
import type { Reader } from './connection.ts'
import { readProcesses } from './processes.ts'
import { factArrays, insertFacts, newProcessRow, processArrays, putBlobs, putProcesses } from './rows.ts'
import type { NewProcessRow } from './rows.ts'
import type { ShardRow } from './schema.ts'
import { homeSetting, putSettings } from './settings.ts'

/** The number of facts per page while rows are rebuilt. */
const REBUILD_PAGE_FACTS = 512

/** What one statement writes besides the counters. */
interface Content {
  readonly plan: Pick<CommitPlan, 'facts' | 'storedFacts' | 'blobs' | 'counters' | 'newKeys'>
  readonly rows?: readonly NewProcessRow[]
  readonly home?: HomeBook | undefined
  /** whether no row lacks a fact after the statement */
  readonly isSettled?: boolean
  /** more statements; their parameters begin with `$first` */
  readonly more?: (first: number) => Pick<Required<Write>, 'statements' | 'values'>
}

export class PostgresWriter {
  readonly heads = new HeadCache(() => undefined)
  readonly journals = new Journals(this.heads)
  readonly fence: Fence
  #counters: Counters
  #lastKey: number
  /** no row in the database lacks a fact up to this cursor */
  #rowsWrittenUpTo: number

  constructor(fence: Fence, { pid, cursor, last_key, settled }: ShardRow) {
    this.fence = fence
    this.#counters = { pid, cursor }
    this.#lastKey = last_key
    this.#rowsWrittenUpTo = settled
  }

  get counters(): Counters {
    return this.#counters
  }

  /** Returns a key that no process has or ever had. The next write makes it durable. */
  assignKey(): number {
    this.#lastKey += 1
    return this.#lastKey
  }

  /** Writes a commit. Returns its facts with their cursors. */
  write(commit: Commit): Promise<readonly StoredFact[]> {
    return this.fence.inTurn(async () => {
      const plan = (await this.#createPlanner(commit)).add(commit)
      if (plan.drafts.size === 0 && plan.counters.pid === this.#counters.pid && commit.home === undefined) return plan.storedFacts
      await this.#writePlan(plan, commit, plan.counters.cursor - this.#rowsWrittenUpTo >= MAX_PENDING_FACTS)
      return plan.storedFacts
    })
  }

  /** Writes all rows that are out of date, so that the next start need not look for any. */
  writePendingRows(): Promise<void> {
    return this.fence.inTurn(async () => {
      if (this.#counters.cursor === this.#rowsWrittenUpTo) return
      await this.#writePlan(new Planner(this.heads, NO_LINKS, this.#counters, this.#lastKey), { processes: [] }, true)
    })
  }

  /** Applies the facts that rows lack after the end of the last writer, and writes these rows. */
  async rebuildRows(): Promise<void> {
    const heads = new Map<Uuid, ProcessHead>()
    const planner = new Planner({ get: (uuid) => heads.get(uuid) }, NO_LINKS, this.#counters, this.#lastKey)
    const pending = new Map<Uuid, Process>()
    for (let after = this.#rowsWrittenUpTo; ;) {
      const page = await readAllFacts(this.fence, { afterCursor: after, upTo: this.#counters.cursor, limit: REBUILD_PAGE_FACTS })
      const unknown = [...new Set(page.map(({ uuid }) => uuid))].filter((uuid) => !heads.has(uuid))
      const rows = await readRows(this.fence, unknown)
      const processes = new Map((await readProcesses(this.fence, unknown)).map((process) => [process.uuid, process]))
      for (const row of rows) heads.set(row.uuid, headOf(row))
      for (const fact of page) {
        const draft = planner.draft(fact.uuid)
        if (fact.seq <= draft.seq) continue
        pending.set(fact.uuid, applyFact(pending.get(fact.uuid) ?? processes.get(fact.uuid), fact))
        planner.advance(draft, fact, 0)
      }
      if (page.length < REBUILD_PAGE_FACTS) break
      after = page.at(-1)?.cursor ?? after
    }
    if (pending.size > 0) await this.#writePlan(planner, { processes: [...pending.values()] }, true)
  }

  /** Returns a planner that has the heads of all processes of the commit. The caller has the turn. */
  async #createPlanner({ facts, processes }: Commit): Promise<Planner> {
    const origins = facts.flatMap(({ body }) => (body.type === 'process.forked' ? [body.origin.uuid] : []))
    const uuids = new Set<Uuid>([...facts.map(({ uuid }) => uuid), ...processes.map(({ uuid }) => uuid), ...origins])
    const unknown = [...uuids].filter((uuid) => this.heads.get(uuid) === undefined)
    // A commit with only new processes reads nothing, because a new process begins with its first fact.
    const mustRead = unknown.filter((uuid) => !facts.some((fact) => fact.uuid === uuid && fact.body.type === 'process.spawned'))
    const read = new Map((mustRead.length === 0 ? [] : await readRows(this.fence, mustRead)).map((row) => [row.uuid, headOf(row)]))
    const get = (uuid: Uuid): ProcessHead | undefined => this.heads.get(uuid) ?? read.get(uuid)
    const links = new Map<number, LineageLink>()
    for (const uuid of origins) {
      const head = get(uuid)
      if (head === undefined || head.origin === null) continue
      for (let link: LineageLink | null = await this.journals.linkOf(this.fence, head.origin, head); link !== null; link = link.origin)
        links.set(link.key, link)
    }
    const linkOf = (key: number, fork: { readonly uuid: Uuid; readonly base: number }): LineageLink =>
      links.get(key) ?? NO_LINKS.linkOf(key, fork)
    return new Planner({ get }, { linkOf }, this.#counters, this.#lastKey)
  }

  async #writePlan(plan: CommitPlan, { processes, home }: Pick<Commit, 'processes' | 'home'>, isSettled: boolean): Promise<void> {
    const [heads, rows]: [ProcessHead[], NewProcessRow[]] = [[], []]
    const writeRow = (process: Process, head: ProcessHead): void => {
      const row = newProcessRow(process, head)
      rows.push(row)
      heads.push(headAfter(head, row, null))
    }
    for (const process of processes) {
      const draft = plan.drafts.get(process.uuid)
      if (draft === undefined) throw planError('A process is missing in the plan.', process)
      // A changed row without new facts is written at once, because it could not be rebuilt from the journal.
      if (isSettled || draft.mustWriteRow || !draft.hasFacts) writeRow(process, draft)
      else heads.push(headAfter(draft, null, process))
    }
    if (isSettled) for (const head of this.heads.pendingHeads()) if (!plan.drafts.has(head.uuid)) writeRow(head.pendingProcess, head)
    await this.writeContent('The commit', { plan, rows, home, isSettled })
    this.heads.put(heads)
  }

  /** Writes one statement. The caller has the turn. */
  async writeContent(operation: string, { plan, rows = [], home, isSettled = false, more }: Content): Promise<void> {
    const { counters, facts, storedFacts, blobs } = plan
    const lastKey = this.#lastKey + plan.newKeys
    const settled = isSettled ? counters.cursor : this.#rowsWrittenUpTo
    const values: unknown[] = [counters.pid, counters.cursor, lastKey, settled]
    const statements: string[] = []
    const add = (statement: string, more: readonly unknown[]): void => {
      statements.push(statement)
      values.push(...more)
    }
    if (facts.length > 0) add(insertFacts(4 + values.length), factArrays(facts, storedFacts))
    if (rows.length > 0) add(putProcesses(4 + values.length), processArrays(inOrderOfNames(rows)))
    if (blobs.size > 0) add(putBlobs(4 + values.length), blobArrays([...blobs.values()]))
    if (home !== undefined) add(...putSettings(4 + values.length, [homeSetting(home)]))
    const added = more?.(4 + values.length)
    for (const statement of added?.statements ?? []) statements.push(statement)
    values.push(...(added?.values ?? []))
    // Statements of commits differ only by these parts, so that few of them are prepared.
    const shape = [facts.length > 0 ? 'facts' : '', rows.length > 0 ? 'rows' : '', blobs.size > 0 ? 'blobs' : '', home ? 'home' : '']
    await this.fence.write(operation, {
      ...(more === undefined ? { name: `commit ${shape.join(' ')}` } : {}),
      set: 'pid = $4, cursor = $5, last_key = $6, settled = $7',
      statements,
      values,
    })
    this.#counters = counters
    this.#lastKey = lastKey
    this.#rowsWrittenUpTo = settled
  }

  /** Returns the rows that are out of date, as rows to write. For the end of an import. */
  pendingRows(): { readonly rows: readonly NewProcessRow[]; readonly heads: readonly ProcessHead[] } {
    const pending = this.heads.pendingHeads().map((head) => ({ head, row: newProcessRow(head.pendingProcess, head) }))
    return { rows: pending.map(({ row }) => row), heads: pending.map(({ head, row }) => headAfter(head, row, null)) }
  }

  /** Runs reads of a write: the caller has the turn. */
  get reader(): Reader {
    return this.fence
  }
}

const NO_LINKS = {
  linkOf(key: number, { uuid, base }: { readonly uuid: Uuid; readonly base: number }): never {
    throw planError(`The origin ${key} is not loaded.`, { uuid, seq: base })
  },
}

/** Ended processes come first, because a living process may take the name of one that ends in the same commit. */
function inOrderOfNames(rows: readonly NewProcessRow[]): readonly NewProcessRow[] {
  return rows.toSorted((a, b) => a.storedRow.live - b.storedRow.live)
}

function blobArrays(blobs: readonly UsedBlob[]): readonly unknown[] {
  return [blobs.map(({ hash }) => hash), blobs.map(({ bytes }) => bytes), blobs.map(({ uses }) => uses)]
}

/** Returns the head of a process from its row. */
function headOf(row: ProcessRow): ProcessHead {
  const { key, uuid, forked_from: forkedFrom, origin, base, seq, spec_seq: specSeq, spec_cursor: specCursor } = row
  const { pid, name, live, exited_at: exitedAt, pinned } = row
  const storedRow = { seq, pid, name, live, exitedAt, specSeq, pinned }
  return { key, uuid, forkedFrom, origin, base, seq, open: '', lastCursor: 0, specSeq, specCursor, storedRow, pendingProcess: null }
}

/** Returns the head after its commit, without the other fields of a draft. `row`: the row that was written. */
export function headAfter(head: ProcessHead, row: NewProcessRow | null, pendingProcess: Process | null): ProcessHead {
  const { key, uuid, forkedFrom, origin, base, seq, lastCursor, specSeq, specCursor } = head
  const storedRow = row?.storedRow ?? head.storedRow
  return { key, uuid, forkedFrom, origin, base, seq, open: '', lastCursor, specSeq, specCursor, storedRow, pendingProcess }
}

/** Returns the process after a fact of the journal. A fact that cannot follow the ones before it is damage at its location. */
function applyFact(process: Process | undefined, fact: StoredFact): Process {
  try {
    return fold(process, fact)
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    throw damageError({ table: 'journal', uuid: fact.uuid, seq: fact.seq }, `it cannot follow: ${error.message}`)
  }
}
