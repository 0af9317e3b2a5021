// Reads processes from their rows in `processes`. The row does not contain the spec, which is read from the fact that set it.
// Test: test/tables/store/store.test.ts.
import type { DeadQuery } from '../store.ts'
import type { Process } from '../../kernel/model/process.ts'
import { damageError } from '../errors.ts'
import type { DamageLocation } from '../errors.ts'
import { readOwnedFact } from '../journal/journal.ts'
import { checkPageLimit } from './page-limit.ts'
import { createIntern, processOfRow, specOfFact } from './process-body.ts'
import type { Intern } from './process-body.ts'
import { checkAscending } from './page-order.ts'
import type { SortKey } from './page-order.ts'
import { checkRow } from './row-lookup.ts'
import type { OwnedFactRow, ProcessRow } from './row-types.ts'
import type { Statements } from '../statements.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** The number of rows per page while the live processes are loaded. */
export const LOAD_ROWS = 500

/** Errors: STORE_DAMAGED, also if the fact with the spec is missing. */
export function readProcess(sql: Statements, row: ProcessRow, intern: Intern): Process {
  checkRow(row)
  return processOfRow(row, readSpec(sql, row), intern)
}

function readSpec(sql: Statements, row: ProcessRow): ProcessSpec {
  const location: DamageLocation = { table: 'journal', uuid: row.uuid, seq: row.spec_seq }
  const found = sql.factAt.get(row.spec_cursor) as OwnedFactRow | undefined
  if (found === undefined) throw damageError(location, 'the fact that holds the spec is missing')
  return specOfFact(row, readOwnedFact(sql, found))
}

/** Reads a page of the live processes from the key `from` on. `next`: the key from which to read on; absent: there are no more. */
export function loadLive(sql: Statements, from: number): { readonly processes: Process[]; readonly next?: number } {
  const intern = createIntern()
  const rows = sql.live.all(from, LOAD_ROWS) as unknown as ProcessRow[]
  const processes = rows.map((row) => readProcess(sql, row, intern))
  checkAscending(
    'processes',
    [from - 1],
    rows.map(({ key }) => [key]),
  )
  const last = rows.at(-1)
  return { processes, ...(last && rows.length === LOAD_ROWS ? { next: last.key + 1 } : {}) }
}

/** Reads the ended processes that ended last, newest first; with `before`, those that follow this one. */
export function readDead(sql: Statements, { limit, before }: DeadQuery): Process[] {
  checkPageLimit(limit)
  const rows = (before === undefined
    ? sql.dead.all(limit)
    : sql.deadBefore.all(before.exitedAt, before.uuid, limit)) as unknown as ProcessRow[]
  const intern = createIntern()
  const processes = rows.map((row) => readProcess(sql, row, intern))
  const keys = rows.map((row): SortKey => [row.exited_at ?? -1, row.uuid])
  // The newest come first: read from its end, the page ascends to the position before it.
  checkAscending('processes', [-Infinity, ''], [...keys.reverse(), ...(before ? [[before.exitedAt, before.uuid]] : [])])
  return processes
}

/** Reads the forks of a process. `pendingProcess` returns the current state of a fork whose row is out of date. */
export function readForks(sql: Statements, uuid: string, limit: number, pendingProcess: (uuid: string) => Process | undefined): Process[] {
  const intern = createIntern()
  return (sql.forks.all(uuid, limit) as unknown as ProcessRow[]).map((row) => pendingProcess(row.uuid) ?? readProcess(sql, row, intern))
}
