// Builds a line of the screen from cells: cut and padded by columns, never wrapped. Pure. Test: test/tables/cli/top/frame-lines.test.ts.
import type { Output } from '../print/output.ts'
import { displayWidth, fitWidth, oneLine, padWidth } from '../print/text.ts'
import type { Tone } from '../../faces/marks.ts'

export type Style = Pick<Output, 'paint' | 'ascii' | 'ellipsis' | 'pauseMark'>
export type StyleName = Parameters<Output['paint']>[0]

export interface Cell {
  /** any text: `lineOf` makes it safe for the terminal */
  readonly text: string
  /** spaces before the text */
  readonly indent?: number
  /** the width; absent: the columns that the other cells leave. At most one cell has no width */
  readonly columns?: number
  readonly side?: 'left' | 'right'
  readonly style?: StyleName | undefined
}

/** The style of each tone. */
export const TONE_STYLES: Readonly<Record<Tone, StyleName>> = { good: 'green', calm: 'cyan', wait: 'yellow', bad: 'red', faded: 'dim' }

/** Returns the cells as one line of exactly `columns`, with a space between two cells. `isPlain`: without colours. */
export function lineOf(cells: readonly Cell[], columns: number, style: Style, isPlain = false): string {
  const fixed = cells.reduce((sum, { columns: own = 0 }) => sum + own, cells.length - 1)
  let left = columns
  let line = ''
  for (const [index, cell] of cells.entries()) {
    const gap = index === 0 ? 0 : 1
    const width = Math.min(cell.columns ?? Math.max(0, columns - fixed), left - gap)
    if (width <= 0) continue
    const safe = ' '.repeat(cell.indent ?? 0) + oneLine(cell.text)
    const text = padWidth(fitWidth(safe, width, style.ellipsis), width, cell.side)
    line += ' '.repeat(gap) + (isPlain || cell.style === undefined ? text : style.paint(cell.style, text))
    left -= width + gap
  }
  return line + ' '.repeat(Math.max(0, left))
}

/**
 * Breaks a text into lines between words; a word that is longer than a line is broken, too. `hang`: the indent of all lines but the first.
 */
export function wrapLine(text: string, columns: number, hang = 0): string[] {
  const indent = Math.min(hang, Math.floor(columns / 2))
  const lines: string[] = []
  let rest = text
  while (displayWidth(rest) > columns) {
    const fitting = fitWidth(rest, columns, '')
    const space = rest[fitting.length] === ' ' ? fitting.length : fitting.lastIndexOf(' ')
    const end = space > indent ? space : fitting.length
    // A single character is wider than the line.
    if (rest.slice(0, end).trim() === '') break
    lines.push(rest.slice(0, end).trimEnd())
    rest = ' '.repeat(indent) + rest.slice(end).trimStart()
  }
  return [...lines, rest]
}

const ASCII_TEXTS = [
  ['↑', 'up'],
  ['↓', 'down'],
  ['←', 'left'],
  ['→', 'right'],
  ['…', '..'],
] as const

/** Returns a text with names of keys. Without Unicode, words replace the arrows. */
export function keyText(text: string, { ascii }: Pick<Style, 'ascii'>): string {
  return ascii ? ASCII_TEXTS.reduce((done, [symbol, word]) => done.replaceAll(symbol, word), text) : text
}

/** Returns what separates two keys, or two facts of the head line. */
export function keyGap({ ascii }: Pick<Style, 'ascii'>): string {
  return ascii ? ' | ' : ' · '
}

/** Joins the first parts that fit on a line. The first ones are the most important. */
export function joinFitting(parts: readonly string[], columns: number, style: Pick<Style, 'ascii'>): string {
  const gap = keyGap(style)
  let line = ''
  for (const part of parts) {
    const longer = line === '' ? part : line + gap + part
    if (displayWidth(longer) > columns) break
    line = longer
  }
  return line
}
