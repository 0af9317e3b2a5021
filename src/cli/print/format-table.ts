// Formats a table: each column is as wide as its widest cell. On a narrow terminal, columns with `min` shrink. No line is wider than the
// limit. Test: test/tables/cli/print/text.test.ts.
import { fitWidth, isPrintableAscii, padWidth, displayWidth } from './text.ts'

export interface Column {
  readonly title: string
  readonly side?: 'left' | 'right'
  /** the least width of a column that may shrink; the last such column shrinks first */
  readonly min?: number
  /** returns the cell with colours; the cell already has its final width */
  readonly paint?: (cell: string, row: number) => string
}

const SPACE = '  '
/** the number of columns between two cells */
export const GAP_COLUMNS = SPACE.length

/**
 * Returns the lines of the table, titles first. This is one function with plain loops, because `reeve ps` spends most of its time here. V8
 * would optimise smaller functions after many calls, which delays the exit.
 */
export function formatTable(columns: readonly Column[], rows: readonly (readonly string[])[], maxWidth: number, ellipsis = '…'): string[] {
  const all = [columns.map(({ title }) => title), ...rows]
  const natural = columns.map(() => 0)
  const plain: boolean[] = []
  for (let index = 0; index < all.length; index++) {
    const row = all[index] ?? []
    const isPlain = isPrintableAscii(row.join(''))
    plain.push(isPlain)
    for (let i = 0; i < row.length; i++) {
      const text = row[i] ?? ''
      const cellWidth = isPlain ? text.length : displayWidth(text)
      if (cellWidth > (natural[i] ?? 0)) natural[i] = cellWidth
    }
  }
  const widths = fittingWidths(narrowColumns(columns, natural, maxWidth), maxWidth)
  const lines: string[] = []
  for (let index = 0; index < all.length; index++) {
    const row = all[index] ?? []
    let line = ''
    for (let i = 0; i < widths.length; i++) {
      const text = row[i] ?? ''
      const room = widths[i] ?? 0
      const isRight = columns[i]?.side === 'right'
      const isShort = plain[index] && text.length <= room
      const cell = isShort
        ? isRight
          ? text.padStart(room)
          : text.padEnd(room)
        : padWidth(fitWidth(text, room, ellipsis), room, isRight ? 'right' : 'left')
      const paint = index > 0 ? columns[i]?.paint : undefined
      line += (i > 0 ? SPACE : '') + (paint ? paint(cell, index - 1) : cell)
    }
    lines.push(line.trimEnd())
  }
  return lines
}

/** Returns the widths of the columns that fit. The last one may be narrower than its cells. */
function fittingWidths(widths: readonly number[], maxWidth: number): number[] {
  const fitting: number[] = []
  let room = maxWidth
  for (const each of widths) {
    if (room <= 0) break
    fitting.push(Math.min(each, room))
    room -= each + GAP_COLUMNS
  }
  return fitting
}

/** Returns the widths after columns with `min` have shrunk. */
function narrowColumns(columns: readonly Column[], natural: readonly number[], maxWidth: number): number[] {
  const widths = [...natural]
  let over = widths.reduce((sum, each) => sum + each, 0) + GAP_COLUMNS * (columns.length - 1) - maxWidth
  for (let i = columns.length - 1; i >= 0 && over > 0; i--) {
    const min = columns[i]?.min
    const current = widths[i] ?? 0
    if (min === undefined || current <= min) continue
    const reduction = Math.min(over, current - min)
    widths[i] = current - reduction
    over -= reduction
  }
  return widths
}
