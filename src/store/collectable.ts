// Lists the ended processes that garbage collection may remove: unpinned, oldest first, each with its size and any warning. Also reads the
// size of the store. Removes nothing. Must never fail because of one row: a damaged row is listed with a warning.
// Test: test/tables/store/collectable.test.ts.
import { storeError } from './errors.ts'
import { checkPageLimit } from './rows/page-limit.ts'
import { readLastEntries } from './journal/fact-index.ts'
import type { IndexReadDeps } from './journal/fact-index.ts'
import { checkAscending } from './rows/page-order.ts'
import { checkRow } from './rows/row-lookup.ts'
import { createIntern } from './rows/process-body.ts'
import { readProcess } from './rows/process-row.ts'
import type { ProcessRow } from './rows/row-types.ts'
import type { Statements } from './statements.ts'
import type { Collectable, CollectableQuery, StoreSize } from './store.ts'

/** The number of last facts from which the size of a process is estimated. */
export const SAMPLE_FACTS = 64

/** Overhead per fact, in addition to its body, in bytes. */
export const FACT_BYTES = 40
/** Overhead per process, in addition to its facts, in bytes. */
export const ROW_BYTES = 400

/** Sort key of a process without an exit time: less than every exit time. */
export const NO_EXIT_TIME = -1

/** Returns a page of the ended processes, those without an exit time first. */
export function readCollectable(deps: IndexReadDeps, { limit, before = Infinity, after }: CollectableQuery): Collectable[] {
  checkPageLimit(limit)
  const from = after === undefined ? ([NO_EXIT_TIME - 1, ''] as const) : ([after.exitedAt ?? NO_EXIT_TIME, after.uuid] as const)
  const rows = deps.sql.collectable.all(before, ...from, limit) as unknown as ProcessRow[]
  // Only the last row is checked, because a damaged row in between is listed with a warning.
  const last = rows.at(-1)
  if (last) checkAscending('processes', from, [[last.exited_at ?? NO_EXIT_TIME, last.uuid]])
  return rows.map((row) => {
    const { uuid, pid, name, exited_at: exitedAt } = row
    try {
      checkRow(row)
      readProcess(deps.sql, row, createIntern())
      return { uuid, pid, name, exitedAt, bytes: sizeOf(deps, row), warning: exitedAt === null ? 'it has no exit time' : null }
    } catch (error) {
      return { uuid, pid, name, exitedAt, bytes: null, warning: storeError(error, 'it cannot be read').message }
    }
  })
}

/** Estimates the size of a process in bytes: its row, and its own facts by the average size of the last ones. Origins are not included. */
function sizeOf({ sql, lineage }: IndexReadDeps, row: ProcessRow): number {
  // A fork without a link to its origin has only its own facts.
  const ownFacts = { ...lineage.spanOf(row), link: { ...lineage.spanOf(row).link, origin: null } }
  const entries = readLastEntries({ sql, lineage }, ownFacts, { limit: SAMPLE_FACTS, codes: undefined, beforeSeq: Infinity }).flatMap(
    (part) => part.entries,
  )
  const bytes = Number(sql.bytesAt.get(JSON.stringify(entries.map(({ cursor }) => cursor)))?.['bytes'])
  const facts = row.seq - row.base
  return Math.round((bytes / Math.max(1, entries.length) + FACT_BYTES) * facts + row.body.length + row.open.length + ROW_BYTES)
}

/** Returns the size of the database file, the free part of it, and the number of ended, unpinned processes. */
export function readSize(sql: Statements, pageBytes: number): StoreSize {
  const pages = Number(sql.pages.get()?.['page_count'])
  const free = Number(sql.freePages.get()?.['freelist_count'])
  return { bytes: pages * pageBytes, freeBytes: free * pageBytes, dead: Number(sql.collectableCount.get()?.['n']) }
}
