// Lines that stay at the bottom of a terminal while output goes on above them. All output passes through `around`, which takes
// them away, lets the text go on where it stood, also in the middle of a line, and draws them again, in one write.
// Moves are relative: it owns no part of the screen but its own lines. Test: test/tables/cli-live.test.ts.
import { colours, openLength, plain, rowsOf } from './place.ts'
import { width } from '../text.ts'

export interface Terminal {
  readonly columns: number
  write(text: string): void
}

/** `lines` may have colours, and are narrower than the terminal. The cursor stands at their beginning unless it is said where. */
export interface Drawing {
  readonly lines: readonly string[]
  readonly cursor?: { readonly line: number; readonly column: number }
}

const NOTHING: Drawing = { lines: [] }

export class Bottom implements Disposable {
  readonly #terminal: Terminal
  #wanted = NOTHING
  #drawn: Drawing | null = null
  /** columns of the output's last line, which has no newline yet */
  #open = 0
  #colours = ''
  /** the output's line filled its row, and its wrap is made already: a newline that comes next is that wrap */
  #wrapped = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /** Draws these instead. */
  show(drawing: Drawing): void {
    const erased = this.#erased()
    this.#wanted = drawing
    this.#terminal.write(erased + this.#redrawn())
  }

  /** What to write so that this output comes above. */
  around(text: string): string {
    if (text === '') return ''
    const erased = this.#erased()
    const rest = this.#wrapped && text.startsWith('\n') ? text.slice(1) : text
    this.#wrapped = false
    this.#open = openLength(this.#open, rest, this.#terminal.columns)
    this.#colours = colours(this.#colours, rest)
    return erased + rest + this.#redrawn()
  }

  /** The terminal was used by another: what is drawn is lost, and the cursor is at the beginning of a line. */
  forget(): void {
    this.#drawn = null
    this.#open = 0
  }

  [Symbol.dispose](): void {
    this.show(NOTHING)
  }

  /** Back to where the output stood, with nothing below it. */
  #erased(): string {
    if (!this.#drawn) return ''
    const { columns } = this.#terminal
    const { lines, cursor } = this.#drawn
    this.#drawn = null
    // The terminal may have become narrower since: then its lines have wrapped.
    const above = lines.slice(0, cursor?.line ?? 0).reduce((sum, line) => sum + rowsOf(width(plain(line)), columns), 0)
    const back = this.#open > 0 ? `\x1b[1A\x1b[${((this.#open - 1) % columns) + 2}G` : ''
    return `\r${above > 0 ? `\x1b[${above}A` : ''}\x1b[J${back}${this.#colours}`
  }

  #redrawn(): string {
    const { lines, cursor } = this.#wanted
    if (lines.length === 0) return ''
    this.#drawn = this.#wanted
    let text = this.#colours === '' ? '' : '\x1b[0m'
    if (this.#open > 0) text += '\n'
    // Behind the last column there is no place to come back to: the wrap is made now.
    if (this.#open > 0 && this.#open % this.#terminal.columns === 0) {
      this.#open = 0
      this.#wrapped = true
    }
    const line = cursor?.line ?? 0
    const up = lines.length - 1 - line
    return `${text}${lines.join('\n')}\r${up > 0 ? `\x1b[${up}A` : ''}${cursor && cursor.column > 0 ? `\x1b[${cursor.column}C` : ''}`
  }
}
