// A table that fits: columns as wide as their cells, the soft ones narrowed when the terminal is too small.
// No line is ever wider than asked. Test: test/tables/cli-text.test.ts.
import { fit, isAllPlain, pad, width } from './text.ts'

export interface Column {
  readonly title: string
  readonly side?: 'left' | 'right'
  /** may be narrowed to so many columns; the last soft column is narrowed first */
  readonly min?: number
  /** colours a cell that has its final width */
  readonly paint?: (cell: string, row: number) => string
}

const SPACE = '  '
/** Columns between two cells. */
export const GAP = SPACE.length

/**
 * The lines of the table, with its titles first. Plain loops in one function: code that runs once is slow, and this is most of
 * `reeve ps`. Parts of it would be called so often that V8 began to optimise them, and the command's end had to wait for that.
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], maxWidth: number, ellipsis = '…'): string[] {
  const all = [columns.map(({ title }) => title), ...rows]
  const natural = columns.map(() => 0)
  const plain: boolean[] = []
  for (let index = 0; index < all.length; index++) {
    const row = all[index] ?? []
    const isPlain = isAllPlain(row.join(''))
    plain.push(isPlain)
    for (let i = 0; i < row.length; i++) {
      const text = row[i] ?? ''
      const wide = isPlain ? text.length : width(text)
      if (wide > (natural[i] ?? 0)) natural[i] = wide
    }
  }
  const widths = visible(narrowed(columns, natural, maxWidth), maxWidth)
  const lines: string[] = []
  for (let index = 0; index < all.length; index++) {
    const row = all[index] ?? []
    let line = ''
    for (let i = 0; i < widths.length; i++) {
      const text = row[i] ?? ''
      const room = widths[i] ?? 0
      const isRight = columns[i]?.side === 'right'
      const isShort = plain[index] && text.length <= room
      const cell = isShort ? (isRight ? text.padStart(room) : text.padEnd(room)) : pad(fit(text, room, ellipsis), room, isRight ? 'right' : 'left')
      const paint = index > 0 ? columns[i]?.paint : undefined
      line += (i > 0 ? SPACE : '') + (paint ? paint(cell, index - 1) : cell)
    }
    lines.push(line.trimEnd())
  }
  return lines
}

/** Without the columns for which there is no room at all; the last one may be cut. */
function visible(widths: readonly number[], maxWidth: number): number[] {
  const shown: number[] = []
  let room = maxWidth
  for (const each of widths) {
    if (room <= 0) break
    shown.push(Math.min(each, room))
    room -= each + GAP
  }
  return shown
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
