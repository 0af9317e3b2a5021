// Selects the rows of a table that fit a terminal. Rows that need the user are kept first, and omitted rows are counted. Pure.
// Test: test/tables/cli/live/fit-rows.test.ts.
import { formatCount } from '../../faces/format.ts'

export interface FitRules {
  /** the number of lines for rows, at least 1 */
  readonly room: number
  /** which of the other rows are kept */
  readonly keep: 'first' | 'last'
  /** whether the row is kept before all others */
  readonly isUrgent: (row: number) => boolean
  /** cuts a text to the width of the terminal */
  readonly cut: (text: string) => string
}

/** Returns the titles and the rows that fit, in their order. If some do not fit, a line gives their number. */
export function fitRows([titles = '', ...rows]: readonly string[], { room, keep, isUrgent, cut }: FitRules): string[] {
  if (rows.length <= room) return [titles, ...rows]
  const numbers = rows.map((_, row) => row)
  const others = numbers.filter((row) => !isUrgent(row))
  if (keep === 'last') others.reverse()
  const kept = new Set([...numbers.filter(isUrgent), ...others].slice(0, Math.max(0, room - 1)))
  const shown = rows.filter((_, row) => kept.has(row))
  const more = cut(`${formatCount(rows.length - shown.length, 'more row')}: run without --watch to see all`)
  return keep === 'first' ? [titles, ...shown, more] : [titles, more, ...shown]
}
