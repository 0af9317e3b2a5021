// What may be collected: the dead that nobody pinned, the oldest first, each with what it takes and with what forbids it.
// Must remove nothing, and must never fail over one row: a damaged one is told as such. Test: test/tables/store-fork.test.ts.
import type { Process } from '../kernel/types.ts'
import { storeError } from './errors.ts'
import { checkLimit } from './journal.ts'
import { lastEntries } from './places.ts'
import type { Finder } from './places.ts'
import { checkRow } from './records.ts'
import { readProcess, sharing } from './rows.ts'
import type { ProcessRow, Statements } from './statements.ts'
import type { Collectable, CollectableQuery, StoreSize } from './store.ts'

/** Facts at its end that say how large those of a process are. */
const SAMPLE = 64

/** What a fact takes beside its body, and a process beside its facts, in bytes. */
const FACT_BYTES = 40
const ROW_BYTES = 400

/** No time of death comes before all times. */
const NEVER = -1

export function readCollectable(finder: Finder, { limit, before = Infinity, after }: CollectableQuery): Collectable[] {
  checkLimit(limit)
  const from = after === undefined ? [NEVER - 1, ''] as const : [after.exitedAt ?? NEVER, after.uuid] as const
  const rows = finder.sql.collectable.all(before, ...from, limit) as unknown as ProcessRow[]
  return rows.map((row) => {
    const { uuid, pid, name, exited_at: exitedAt } = row
    try {
      checkRow(row)
      readProcess(finder.sql, row, sharing())
      return { uuid, pid, name, exitedAt, bytes: sizeOf(finder, row), warning: exitedAt === null ? 'it has no time of death' : null }
    } catch (error) {
      return { uuid, pid, name, exitedAt, bytes: null, warning: storeError(error, 'it cannot be read').message }
    }
  })
}

/** Its own facts, as large as its last ones are. */
function sizeOf({ sql, lines }: Finder, row: ProcessRow): number {
  const own = { ...lines.of(row), link: { ...lines.of(row).link, origin: null } }
  const entries = lastEntries({ sql, lines }, own, { limit: SAMPLE, codes: undefined, beforeSeq: Infinity }).flatMap((part) => part.entries)
  const bytes = Number(sql.bytesAt.get(JSON.stringify(entries.map(({ cursor }) => cursor)))?.['bytes'])
  const facts = row.seq - row.base
  return Math.round((bytes / Math.max(1, entries.length) + FACT_BYTES) * facts + row.body.length + row.open.length + ROW_BYTES)
}

export function readSize(sql: Statements, pageBytes: number): StoreSize {
  const pages = Number(sql.pages.get()?.['page_count'])
  const free = Number(sql.freePages.get()?.['freelist_count'])
  return { bytes: pages * pageBytes, freeBytes: free * pageBytes, dead: Number(sql.collectableCount.get()?.['n']) }
}

/** The forks of a process: rows that are behind come from memory. */
export function readForks(sql: Statements, uuid: string, limit: number, late: (uuid: string) => Process | undefined): Process[] {
  const share = sharing()
  return (sql.forks.all(uuid, limit) as unknown as ProcessRow[]).map((row) => late(row.uuid) ?? readProcess(sql, row, share))
}
