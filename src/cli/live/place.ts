// Where a terminal's cursor is after a text, and how many rows a text takes: what must be known to draw below output and to
// go on with it. Counts as terminals do: a line that is filled to its end wraps with the next character. Pure.
// Test: test/tables/cli-live.test.ts.
import { width } from '../text.ts'

const COLOUR = /\x1b\[[0-9;:]*m/g
const TAB = 8

/** Without the colours that may pass. */
export function plain(text: string): string {
  return text.includes('\x1b') ? text.replace(COLOUR, '') : text
}

/** The colour sequences in force at the end of a text, given those before it; a reset ends them. */
export function colours(before: string, text: string): string {
  if (!text.includes('\x1b')) return before
  let now = before
  for (const [sequence] of text.matchAll(COLOUR)) now = /^\x1b\[0?m$/.test(sequence) ? '' : now + sequence
  return now.length > MAX_COLOURS ? now.slice(now.indexOf('\x1b', now.length - MAX_COLOURS)) : now
}

/** Characters of colour sequences that are kept. */
const MAX_COLOURS = 200

/**
 * Columns that the line has which a text leaves open, over all its rows, when it had `length` before; 0 after a newline.
 * A multiple of `columns` means that the cursor stands behind the last column and has not wrapped yet.
 */
export function openLength(length: number, text: string, columns: number): number {
  const shown = plain(text)
  const end = shown.lastIndexOf('\n')
  let open = end < 0 ? length : 0
  for (const part of shown.slice(end + 1).split(/(\t)/)) open = part === '\t' ? tabbed(open, columns) : wrapped(open, part, columns)
  return open
}

/** Rows of a line of so many columns. */
export function rowsOf(length: number, columns: number): number {
  return Math.max(1, Math.ceil(length / columns))
}

/** A wide character that does not fit into the last column goes to the next row as a whole. */
function wrapped(open: number, part: string, columns: number): number {
  if (/^[\x20-\x7e]*$/.test(part)) return open + part.length
  let length = open
  for (const character of part) {
    const wide = width(character)
    if (wide === 2 && length % columns === columns - 1) length += 1
    length += wide
  }
  return length
}

/** A tab never wraps: it stops at the last column. */
function tabbed(open: number, columns: number): number {
  const column = open === 0 ? 0 : ((open - 1) % columns) + 1
  const next = Math.min(columns - 1, (Math.floor(column / TAB) + 1) * TAB)
  return open + Math.max(0, next - column)
}
