// Computes the rows of a text on a terminal, and the cursor position after it. The footer needs both to draw below the output and to
// continue the output later. Counts like a terminal, where a full line wraps only with the next character. Pure. Test:
// test/tables/cli/screen/sticky-footer.test.ts.
import { COLOUR, displayWidth, stripColours } from '../print/text.ts'

const TAB_COLUMNS = 8

/** Returns the colour sequences that are in force after `text`. `before`: those in force before it. A reset ends them all. */
export function activeColours(before: string, text: string): string {
  if (!text.includes('\x1b')) return before
  let now = before
  for (const [sequence] of text.matchAll(COLOUR)) now = /^\x1b\[0?m$/.test(sequence) ? '' : now + sequence
  return now.length > MAX_COLOUR_CHARS ? now.slice(now.indexOf('\x1b', now.length - MAX_COLOUR_CHARS)) : now
}

/** the greatest length of the kept colour sequences, in characters */
const MAX_COLOUR_CHARS = 200

/**
 * Returns the length of the unfinished last line after `text`, over all its rows; 0 after a newline. `length`: its length before `text`.
 * At a multiple of `columns` the cursor is behind the last column, and has not wrapped yet.
 */
export function unfinishedLength(length: number, text: string, columns: number): number {
  const shown = stripColours(text)
  const end = shown.lastIndexOf('\n')
  let open = end < 0 ? length : 0
  for (const part of shown.slice(end + 1).split(/(\t)/))
    open = part === '\t' ? lengthAfterTab(open, columns) : wrappedLength(open, part, columns)
  return open
}

/** Returns the number of rows of a line of this length. */
export function countRows(length: number, columns: number): number {
  return Math.max(1, Math.ceil(length / columns))
}

/** A wide character that does not fit the last column moves to the next row. */
function wrappedLength(open: number, part: string, columns: number): number {
  if (/^[\x20-\x7e]*$/.test(part)) return open + part.length
  let length = open
  for (const character of part) {
    const wide = displayWidth(character)
    if (wide === 2 && length % columns === columns - 1) length += 1
    length += wide
  }
  return length
}

/** A tab never wraps: it stops at the last column. */
function lengthAfterTab(open: number, columns: number): number {
  const column = open === 0 ? 0 : ((open - 1) % columns) + 1
  const next = Math.min(columns - 1, (Math.floor(column / TAB_COLUMNS) + 1) * TAB_COLUMNS)
  return open + Math.max(0, next - column)
}
