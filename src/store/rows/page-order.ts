// Checks the order of a page of rows. A damaged index or page can return rows in a wrong order. A reader that continues after the
// last row of each page could then read the same rows forever. Test: test/tables/store/rows/page-order.test.ts.
import { damageError } from '../errors.ts'
import type { DamageLocation } from '../errors.ts'

/** The sort key of a row, as SQLite compares it: column by column, texts by their bytes. */
export type SortKey = readonly (number | string)[]

/** Throws `STORE_DAMAGED` unless the keys ascend, and the first is above `after`. */
export function checkAscending(table: DamageLocation['table'], after: SortKey, keys: Iterable<SortKey>): void {
  let previous = after
  for (const key of keys) {
    if (compareKeys(previous, key) >= 0)
      throw damageError({ table }, `its rows are out of order: ${JSON.stringify(key)} follows ${JSON.stringify(previous)}`)
    previous = key
  }
}

function compareKeys(a: SortKey, b: SortKey): number {
  for (const [index, left] of a.entries()) {
    const difference = compareColumns(left, b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function compareColumns(a: number | string, b: number | string): number {
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Number(a) - Number(b)
}
