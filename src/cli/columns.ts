// A table that fits: columns as wide as their cells, the soft ones narrowed when the terminal is too small.
// No line is ever wider than asked. Test: test/tables/cli-columns.test.ts.
import { fit, pad, width } from './text.ts'

export interface Column {
  readonly title: string
  readonly side?: 'left' | 'right'
  /** may be narrowed to so many columns; the last soft column is narrowed first */
  readonly min?: number
  /** colours a cell that has its final width */
  readonly paint?: (cell: string, row: number) => string
}

const GAP = 2

/** The lines of the table, with its titles first. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], maxWidth: number, ellipsis = '…'): string[] {
  const widths = narrowed(columns, columns.map((column, i) => Math.max(width(column.title), ...rows.map((row) => width(row[i] ?? '')))), maxWidth)
  const line = (cells: readonly string[], row: number): string => {
    let text = ''
    let room = maxWidth
    for (const [i, column] of columns.entries()) {
      const last = i === columns.length - 1
      const columnWidth = Math.min(widths[i] ?? 0, room)
      const cell = fit(cells[i] ?? '', columnWidth, ellipsis)
      const padded = last && column.side !== 'right' ? cell : pad(cell, columnWidth, column.side)
      text += row >= 0 && column.paint ? column.paint(padded, row) : padded
      room -= columnWidth
      const gap = last ? 0 : Math.min(GAP, room)
      text += ' '.repeat(gap)
      room -= gap
    }
    return text.trimEnd()
  }
  return [line(columns.map(({ title }) => title), -1), ...rows.map((row, i) => line(row, i))]
}

function narrowed(columns: readonly Column[], natural: readonly number[], maxWidth: number): number[] {
  const widths = [...natural]
  let over = widths.reduce((sum, each) => sum + each, 0) + GAP * (columns.length - 1) - maxWidth
  for (let i = columns.length - 1; i >= 0 && over > 0; i--) {
    const min = columns[i]?.min
    const current = widths[i] ?? 0
    if (min === undefined || current <= min) continue
    const less = Math.min(over, current - min)
    widths[i] = current - less
    over -= less
  }
  return widths
}
