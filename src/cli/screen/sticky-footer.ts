// Keeps lines at the bottom of a terminal while output continues above them. All output passes through `renderAbove`: it removes the lines,
// continues the output where it ended (even within a line), and draws the lines again. Between outputs only lines that differ are
// written. Cursor moves are relative, so the rest of the screen stays as it is. Test: test/tables/cli/screen/sticky-footer.test.ts.
import { activeColours, unfinishedLength, countRows } from './cursor.ts'
import { displayWidth, stripColours } from '../print/text.ts'
import { ERASE_LINE, inOneUpdate, type ScreenFrame } from './frame.ts'

export interface Terminal {
  readonly columns: number
  write(text: string): void
}

/** Matches a newline at the beginning of a text, after any colour sequences. */
const BEGINS_WITH_NEWLINE = /^((?:\x1b\[[\d;]*m)*)\n/

const EMPTY: ScreenFrame = { lines: [] }
const ORIGIN = { line: 0, column: 0 }

export class StickyFooter implements Disposable {
  readonly #terminal: Terminal
  #frame = EMPTY
  /** the lines that are on the screen; null if they are erased */
  #drawn: ScreenFrame | null = null
  /** the width of the terminal when they were drawn */
  #drawnColumns = 0
  /** the length of the last line of output; 0 after a newline */
  #openLength = 0
  /** the colour sequences in force at the end of the output */
  #colours = ''
  /** whether the last line of output filled its row, and was wrapped here: a newline that follows must then be dropped */
  #isWrapped = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /**
   * Replaces the lines. Each must be narrower than the terminal. If the frame has no cursor, the cursor is at the beginning of the first
   * line. `isWhole`: also writes unchanged lines again, because the terminal may have echoed keys over them.
   */
  show(frame: ScreenFrame, isWhole = false): void {
    const drawn = this.#drawn
    const canChange = !isWhole && drawn?.lines.length === frame.lines.length && this.#drawnColumns === this.#terminal.columns
    this.#frame = frame
    const bytes = drawn && canChange ? this.#changeBytes(drawn, frame) : this.#eraseBytes() + this.#redrawBytes()
    if (bytes !== '') this.#terminal.write(inOneUpdate(bytes))
  }

  /** Returns the bytes that print `text` above the lines. */
  renderAbove(text: string): string {
    if (text === '') return ''
    const erased = this.#eraseBytes()
    const rest = this.#isWrapped ? text.replace(BEGINS_WITH_NEWLINE, '$1') : text
    // Colour sequences do not move the cursor, so that the newline may still follow them.
    this.#isWrapped &&= stripColours(text) === ''
    this.#openLength = unfinishedLength(this.#openLength, rest, this.#terminal.columns)
    this.#colours = activeColours(this.#colours, rest)
    const redrawn = this.#redrawBytes()
    return erased + redrawn === '' ? rest : inOneUpdate(erased + rest + redrawn)
  }

  /** Called when another program has used the terminal: the lines are lost, and the cursor is at the beginning of a line. */
  discardFrame(): void {
    this.#drawn = null
    this.#openLength = 0
  }

  [Symbol.dispose](): void {
    this.show(EMPTY)
  }

  /** Returns the bytes that erase the lines and move the cursor to the end of the output. */
  #eraseBytes(): string {
    if (!this.#drawn) return ''
    const { columns } = this.#terminal
    const { lines, cursor } = this.#drawn
    this.#drawn = null
    // If the terminal has become narrower, the drawn lines now have several rows.
    const above = lines.slice(0, cursor?.line ?? 0).reduce((sum, line) => sum + countRows(displayWidth(stripColours(line)), columns), 0)
    const back = this.#openLength > 0 ? `\x1b[1A\x1b[${((this.#openLength - 1) % columns) + 2}G` : ''
    return `\r${above > 0 ? `\x1b[${above}A` : ''}\x1b[J${back}${this.#colours}`
  }

  /** Returns the bytes that write the lines that differ, and move the cursor. Both frames have the same number of lines. */
  #changeBytes(before: ScreenFrame, after: ScreenFrame): string {
    this.#drawn = after
    const from = before.cursor ?? ORIGIN
    const to = after.cursor ?? ORIGIN
    let bytes = ''
    let line = from.line
    for (const [index, text] of after.lines.entries()) {
      if (text === before.lines[index]) continue
      bytes += `${upOrDown(index - line)}\r${ERASE_LINE}${text}`
      line = index
    }
    if (bytes === '' && from.line === to.line && from.column === to.column) return ''
    return `${bytes}${upOrDown(to.line - line)}\r${toColumn(to.column)}`
  }

  #redrawBytes(): string {
    const { lines, cursor } = this.#frame
    if (lines.length === 0) return ''
    this.#drawn = this.#frame
    this.#drawnColumns = this.#terminal.columns
    let text = this.#colours === '' ? '' : '\x1b[0m'
    if (this.#openLength > 0) text += '\n'
    // A cursor behind the last column cannot be restored later, so the full line is wrapped now.
    if (this.#openLength > 0 && this.#openLength % this.#terminal.columns === 0) {
      this.#openLength = 0
      this.#isWrapped = true
    }
    const { line, column } = cursor ?? ORIGIN
    return `${text}${lines.join('\n')}\r${upOrDown(line - (lines.length - 1))}${toColumn(column)}`
  }
}

/** Returns the bytes that move the cursor down by `rows`, or up if `rows` is negative. */
function upOrDown(rows: number): string {
  if (rows === 0) return ''
  return rows > 0 ? `\x1b[${rows}B` : `\x1b[${-rows}A`
}

/** Returns the bytes that move the cursor from the beginning of its row to a column. */
const toColumn = (column: number): string => (column > 0 ? `\x1b[${column}C` : '')
