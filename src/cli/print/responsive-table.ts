// Omits unimportant columns from a table that is too wide, before important columns are truncated. Must never omit a column without
// `omitRank`. Test: test/tables/cli/print/crew.test.ts.
import { GAP_COLUMNS, formatTable, type Column } from './format-table.ts'
import { displayWidth } from './text.ts'

export interface OmittableColumn extends Column {
  /** the column with the lowest rank is omitted first on a narrow terminal; absent: never omitted */
  readonly omitRank?: number | undefined
  /** the width, in columns, that this column keeps while others can be omitted; default: 20 */
  readonly readable?: number
}

/** the width that an important column should have before it shrinks further: other columns are omitted first */
const READABLE_COLUMNS = 20

/** Returns the lines of the table, without the omitted columns. */
export function responsiveTable(
  columns: readonly OmittableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number,
  ellipsis: string,
): string[] {
  const wanted = columns.map(({ title, min, omitRank, readable = READABLE_COLUMNS }, at) => {
    const natural = Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[at] ?? '')))
    if (min === undefined) return natural
    return Math.min(natural, omitRank === undefined ? Math.max(min, readable) : min)
  })
  const omitted = new Set<number>()
  const order = columns
    .flatMap(({ omitRank }, at) => (omitRank === undefined ? [] : [{ at, omitRank }]))
    .sort((a, b) => a.omitRank - b.omitRank)
  let over = wanted.reduce((sum, each) => sum + each + GAP_COLUMNS, -GAP_COLUMNS) - maxWidth
  for (const { at } of order) {
    if (over <= 0) break
    omitted.add(at)
    over -= (wanted[at] ?? 0) + GAP_COLUMNS
  }
  const withoutOmitted = <T>(cells: readonly T[]): T[] => cells.filter((_, at) => !omitted.has(at))
  return formatTable(withoutOmitted(columns), rows.map(withoutOmitted), maxWidth, ellipsis)
}
