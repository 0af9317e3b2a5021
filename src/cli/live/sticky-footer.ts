// Keeps lines at the bottom of a terminal while output continues above them. All output passes through `renderAbove`: it removes the lines,
// continues the output where it ended (even within a line), and draws the lines again. Cursor moves are relative, so the rest of the
// screen stays as it is. Test: test/tables/cli/live/sticky-footer.test.ts.
import { activeColours, unfinishedLength, stripColours, rowsOf } from './cursor.ts'
import { displayWidth } from '../print/text.ts'

export interface Terminal {
  readonly columns: number
  write(text: string): void
}

/** Lines to draw at the bottom of the terminal. */
export interface Drawing {
  /** narrower than the terminal; may contain colours */
  readonly lines: readonly string[]
  /** the position of the cursor, from 0; absent: the beginning of the first line */
  readonly cursor?: { readonly line: number; readonly column: number }
}

/** Matches a newline at the beginning of a text, after any colour sequences. */
const BEGINS_WITH_NEWLINE = /^((?:\x1b\[[\d;]*m)*)\n/

const EMPTY: Drawing = { lines: [] }

export class StickyFooter implements Disposable {
  readonly #terminal: Terminal
  #drawing = EMPTY
  /** the drawing that is on the screen; null if it is erased */
  #drawn: Drawing | null = null
  /** the length of the last line of output; 0 after a newline */
  #openLength = 0
  /** the colour sequences in force at the end of the output */
  #colours = ''
  /** whether the last line of output filled its row, and was wrapped here: a newline that follows must then be dropped */
  #isWrapped = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /** Replaces the drawing. */
  show(drawing: Drawing): void {
    const erased = this.#eraseBytes()
    this.#drawing = drawing
    this.#terminal.write(erased + this.#redrawBytes())
  }

  /** Returns the bytes that print `text` above the drawing. */
  renderAbove(text: string): string {
    if (text === '') return ''
    const erased = this.#eraseBytes()
    const rest = this.#isWrapped ? text.replace(BEGINS_WITH_NEWLINE, '$1') : text
    // Colour sequences do not move the cursor, so that the newline may still follow them.
    this.#isWrapped &&= stripColours(text) === ''
    this.#openLength = unfinishedLength(this.#openLength, rest, this.#terminal.columns)
    this.#colours = activeColours(this.#colours, rest)
    return erased + rest + this.#redrawBytes()
  }

  /** Called when another program has used the terminal: the drawing is lost, and the cursor is at the beginning of a line. */
  discardDrawing(): void {
    this.#drawn = null
    this.#openLength = 0
  }

  [Symbol.dispose](): void {
    this.show(EMPTY)
  }

  /** Returns the bytes that clear the drawing and move the cursor to the end of the output. */
  #eraseBytes(): string {
    if (!this.#drawn) return ''
    const { columns } = this.#terminal
    const { lines, cursor } = this.#drawn
    this.#drawn = null
    // If the terminal has become narrower, the drawn lines now have several rows.
    const above = lines.slice(0, cursor?.line ?? 0).reduce((sum, line) => sum + rowsOf(displayWidth(stripColours(line)), columns), 0)
    const back = this.#openLength > 0 ? `\x1b[1A\x1b[${((this.#openLength - 1) % columns) + 2}G` : ''
    return `\r${above > 0 ? `\x1b[${above}A` : ''}\x1b[J${back}${this.#colours}`
  }

  #redrawBytes(): string {
    const { lines, cursor } = this.#drawing
    if (lines.length === 0) return ''
    this.#drawn = this.#drawing
    let text = this.#colours === '' ? '' : '\x1b[0m'
    if (this.#openLength > 0) text += '\n'
    // A cursor behind the last column cannot be restored later, so the full line is wrapped now.
    if (this.#openLength > 0 && this.#openLength % this.#terminal.columns === 0) {
      this.#openLength = 0
      this.#isWrapped = true
    }
    const line = cursor?.line ?? 0
    const rowsUp = lines.length - 1 - line
    return `${text}${lines.join('\n')}\r${rowsUp > 0 ? `\x1b[${rowsUp}A` : ''}${cursor && cursor.column > 0 ? `\x1b[${cursor.column}C` : ''}`
  }
}
