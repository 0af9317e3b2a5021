// A small terminal: what is on it after what was written to it, with all that has scrolled away. Knows what the command line
// uses: newlines, returns, tabs, wrapping, moves, erasing, colours, the other screen. Anything else that begins with an
// escape is an error, so that nothing is used which is not understood here.
import { width } from '../../src/cli/text.ts'

const SEQUENCE = /^\x1b\[(\??)([0-9;]*)([A-Za-z])/
const WIDE_REST = ''

export class Vt {
  readonly columns: number
  readonly height: number
  /** each cell a character; the cell behind a wide one is empty */
  #cells: string[][] = [[]]
  #kept: { cells: string[][]; row: number; column: number } | null = null
  row = 0
  column = 0
  /** modes that are on, by their number */
  readonly modes = new Set<string>(['25'])

  constructor(columns: number, height = 24) {
    this.columns = columns
    this.height = height
  }

  /** the lines from the first that was ever written, without spaces at their ends */
  get lines(): string[] {
    return this.#cells.map((cells) => Array.from(cells, (cell) => cell ?? ' ').join('').trimEnd())
  }

  write(text: string): void {
    let rest = text
    while (rest !== '') {
      const sequence = rest.startsWith('\x1b') ? SEQUENCE.exec(rest) : null
      if (rest.startsWith('\x1b') && !sequence) throw new Error(`not understood: ${JSON.stringify(rest.slice(0, 10))}`)
      const taken = sequence?.[0] ?? String.fromCodePoint(rest.codePointAt(0) ?? 0)
      if (sequence) this.#obey(sequence[1] === '?', sequence[2] ?? '', sequence[3] ?? '')
      else this.#put(taken)
      rest = rest.slice(taken.length)
    }
  }

  /** the first row that is on the screen */
  get #top(): number {
    return Math.max(0, this.#cells.length - this.height)
  }

  #put(character: string): void {
    if (character === '\n') this.#down(0)
    else if (character === '\r') this.column = 0
    else if (character === '\t') this.column = Math.min(this.columns - 1, (Math.floor(Math.min(this.column, this.columns - 1) / 8) + 1) * 8)
    else this.#draw(character, width(character))
  }

  #draw(character: string, wide: number): void {
    if (wide === 0) {
      const cells = this.#line()
      const at = cells.findLastIndex((cell, index) => index < this.column && cell !== WIDE_REST)
      if (at >= 0) cells[at] += character
      return
    }
    if (this.column + wide > this.columns) this.#down(0)
    const cells = this.#line()
    // Half of a wide character is none.
    if (cells[this.column] === WIDE_REST) cells[this.column - 1] = ' '
    cells[this.column] = character
    if (wide === 2) cells[this.column + 1] = WIDE_REST
    this.column += wide
  }

  #line(): string[] {
    return (this.#cells[this.row] ??= [])
  }

  /** The terminal is one that makes a newline of each line feed, as terminals of programs are. */
  #down(column: number): void {
    this.row += 1
    this.column = column
    this.#line()
  }

  #obey(isPrivate: boolean, numbers: string, letter: string): void {
    if (isPrivate) return this.#mode(numbers, letter === 'h')
    const count = Number(numbers) || 1
    const column = Math.min(this.column, this.columns - 1)
    if (letter === 'm') return
    if (letter === 'A') [this.row, this.column] = [Math.max(this.#top, this.row - count), column]
    else if (letter === 'C') this.column = Math.min(this.columns - 1, column + count)
    else if (letter === 'G') this.column = Math.min(this.columns, count) - 1
    else if (letter === 'H') [this.row, this.column] = [this.#top, 0]
    else if (letter === 'K') this.#line().length = Math.min(this.#line().length, this.column)
    else if (letter === 'J') {
      this.#line().length = Math.min(this.#line().length, this.column)
      this.#cells.length = this.row + 1
    } else throw new Error(`not understood: ${letter}`)
  }

  #mode(numbers: string, isOn: boolean): void {
    if (isOn) this.modes.add(numbers)
    else this.modes.delete(numbers)
    if (numbers !== '1049') return
    if (isOn) {
      this.#kept = { cells: this.#cells, row: this.row, column: this.column }
      this.#cells = [[]]
      this.row = this.column = 0
    } else if (this.#kept) {
      this.#cells = this.#kept.cells
      this.row = this.#kept.row
      this.column = this.#kept.column
      this.#kept = null
    }
  }
}
