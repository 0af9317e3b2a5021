// Computes the bytes that change a terminal from one frame to the next: only lines that differ are written, in one synchronised update.
// Pure. Test: test/tables/cli/screen/frame.test.ts.

/** What the screen shows. */
export interface ScreenFrame {
  /** no wider than the terminal, without control characters except colours */
  readonly lines: readonly string[]
  /** the position of the cursor, from 0; absent: it is hidden */
  readonly cursor?: { readonly line: number; readonly column: number }
}

const BEGIN_UPDATE = '\x1b[?2026h'
const END_UPDATE = '\x1b[?2026l'
const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'

/** Returns the bytes that show `after`. `before`: what the screen shows; null: unknown. `height`: the rows of the terminal. */
export function frameBytes(before: ScreenFrame | null, after: ScreenFrame, height: number): string {
  let bytes = ''
  for (let row = 0; row < height; row += 1) {
    const line = after.lines[row] ?? ''
    // The row is erased first: behind a line that fills it, the cursor would erase its last character.
    if (before === null || line !== (before.lines[row] ?? '')) bytes += `\x1b[${row + 1};1H\x1b[2K${line}`
  }
  const cursor = cursorBytes(before, after, bytes !== '')
  return bytes === '' && cursor === '' ? '' : `${BEGIN_UPDATE}${bytes}${cursor}${END_UPDATE}`
}

/** `isMoved`: the lines have moved the cursor. */
function cursorBytes(before: ScreenFrame | null, { cursor }: ScreenFrame, isMoved: boolean): string {
  if (!cursor) return before === null || before.cursor ? HIDE_CURSOR : ''
  const old = before?.cursor
  if (old && !isMoved && old.line === cursor.line && old.column === cursor.column) return ''
  return `\x1b[${cursor.line + 1};${cursor.column + 1}H${old ? '' : SHOW_CURSOR}`
}
