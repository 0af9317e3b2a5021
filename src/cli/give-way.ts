// Columns that a table does without where it is too wide: what matters less goes, before what matters is cut.
// Must never take a column that does not say so. Apart from the table itself, which `reeve ps` loads at each start.
// Test: test/tables/cli-crew.test.ts.
import { GAP, table, type Column } from './columns.ts'
import { width } from './text.ts'

export interface GivingColumn extends Column {
  /** it goes where there is no room for all, the lowest first */
  readonly gives?: number
}

/** A cell that may be narrowed is readable with so much of it; columns go until there is room for that. */
const READABLE_COLUMNS = 20

/** The lines of a table, without the columns for which there is no room. */
export function givingTable(columns: readonly GivingColumn[], rows: readonly (readonly string[])[], maxWidth: number, ellipsis: string): string[] {
  const wanted = columns.map(({ title, min, gives }, at) => {
    const natural = Math.max(width(title), ...rows.map((row) => width(row[at] ?? '')))
    if (min === undefined) return natural
    return Math.min(natural, gives === undefined ? Math.max(min, READABLE_COLUMNS) : min)
  })
  const gone = new Set<number>()
  const order = columns.flatMap(({ gives }, at) => (gives === undefined ? [] : [{ at, gives }])).sort((a, b) => a.gives - b.gives)
  let over = wanted.reduce((sum, each) => sum + each + GAP, -GAP) - maxWidth
  for (const { at } of order) {
    if (over <= 0) break
    gone.add(at)
    over -= (wanted[at] ?? 0) + GAP
  }
  const kept = <T>(cells: readonly T[]): T[] => cells.filter((_, at) => !gone.has(at))
  return table(kept(columns), rows.map(kept), maxWidth, ellipsis)
}
