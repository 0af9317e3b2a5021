// A frame is what the program shows on a terminal: its whole screen, or the lines below its output (sticky-footer.ts). Computes the bytes
// that change a whole screen from one frame to the next: only lines that differ are written, in one synchronised update. Pure. Test:
// test/tables/cli/screen/frame.test.ts.

/** What the screen, or the part of it below the output, shows. */
export interface ScreenFrame {
  /** no wider than the terminal, without control characters except colours */
  readonly lines: readonly string[]
  /** the position of the cursor, from 0; absent: a whole screen hides the cursor */
  readonly cursor?: { readonly line: number; readonly column: number }
}

/** Erases a line. It comes before the text: behind a line that fills its row, it would erase the last character. */
export const ERASE_LINE = '\x1b[2K'
const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

/**
 * Returns the bytes as one synchronised update: the terminal shows them at once. Terminals that do not know such updates ignore the marks.
 */
export const inOneUpdate = (bytes: string): string => (bytes === '' ? '' : `\x1b[?2026h${bytes}\x1b[?2026l`)

/** Returns the bytes that show `after`. `before`: what the screen shows; null: unknown. `height`: the rows of the terminal. */
export function frameBytes(before: ScreenFrame | null, after: ScreenFrame, height: number): string {
  let bytes = ''
  for (let row = 0; row < height; row += 1) {
    const line = after.lines[row] ?? ''
    if (before === null || line !== (before.lines[row] ?? '')) bytes += `\x1b[${row + 1};1H${ERASE_LINE}${line}`
  }
  return inOneUpdate(bytes + cursorBytes(before, after, bytes !== ''))
}

/** Returns the bytes that place, show or hide the cursor. `isMoved`: writing the lines has moved it. */
function cursorBytes(before: ScreenFrame | null, { cursor }: ScreenFrame, isMoved: boolean): string {
  if (!cursor) return before === null || before.cursor ? HIDE_CURSOR : ''
  const old = before?.cursor
  if (old && !isMoved && old.line === cursor.line && old.column === cursor.column) return ''
  return `\x1b[${cursor.line + 1};${cursor.column + 1}H${old ? '' : SHOW_CURSOR}`
}
