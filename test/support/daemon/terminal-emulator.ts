// A small terminal emulator: computes the screen after some output, and the lines that have scrolled off. It supports the features
// that the command line uses: newlines, returns, tabs, wrapping, cursor moves, erasing, colours, the alternate screen. Any other
// escape sequence is an error, so that the command line cannot use an unsupported one.
import { displayWidth } from '../../../src/cli/print/text.ts'

const SEQUENCE = /^\x1b\[(\??)([0-9;]*)([A-Za-z])/
/** a title, a text for the clipboard, or a notification */
const TERMINAL_COMMAND = /^\x1b\][0-9]+;[^\x07]*\x07/
const WIDE_SECOND_CELL = ''

export class TerminalEmulator {
  readonly columns: number
  readonly height: number
  /** one character per cell; the cell behind a wide character is empty */
  #cells: string[][] = [[]]
  #mainScreen: { cells: string[][]; row: number; column: number } | null = null
  row = 0
  column = 0
  /** the numbers of the modes that are on */
  readonly modes = new Set<string>(['25'])
  /** the titles, texts for the clipboard and notifications so far */
  readonly terminalCommands: string[] = []

  constructor(columns: number, height = 24) {
    this.columns = columns
    this.height = height
  }

  /** all lines since the start, including those that scrolled off, without trailing spaces */
  get lines(): string[] {
    return this.#cells.map((cells) =>
      Array.from(cells, (cell) => cell ?? ' ')
        .join('')
        .trimEnd(),
    )
  }

  write(text: string): void {
    let rest = text
    while (rest !== '') {
      const command = TERMINAL_COMMAND.exec(rest)?.[0]
      if (command !== undefined) {
        this.terminalCommands.push(command.slice(2, -1))
        rest = rest.slice(command.length)
        continue
      }
      const sequence = rest.startsWith('\x1b') ? SEQUENCE.exec(rest) : null
      if (rest.startsWith('\x1b') && !sequence) throw new Error(`unsupported sequence: ${JSON.stringify(rest.slice(0, 10))}`)
      const taken = sequence?.[0] ?? String.fromCodePoint(rest.codePointAt(0) ?? 0)
      if (sequence) this.#apply(sequence[1] === '?', sequence[2] ?? '', sequence[3] ?? '')
      else this.#put(taken)
      rest = rest.slice(taken.length)
    }
  }

  /** the index of the screen's first row in `#cells` */
  get #top(): number {
    return Math.max(0, this.#cells.length - this.height)
  }

  #put(character: string): void {
    if (character === '\n') this.#down(0)
    else if (character === '\r') this.column = 0
    else if (character === '\x07') return // the bell
    else if (character === '\t') this.column = Math.min(this.columns - 1, (Math.floor(Math.min(this.column, this.columns - 1) / 8) + 1) * 8)
    else this.#draw(character, displayWidth(character))
  }

  #draw(character: string, wide: number): void {
    if (wide === 0) {
      const cells = this.#line()
      const at = cells.findLastIndex((cell, index) => index < this.column && cell !== WIDE_SECOND_CELL)
      if (at >= 0) cells[at] += character
      return
    }
    if (this.column + wide > this.columns) this.#down(0)
    const cells = this.#line()
    // Overwriting one half of a wide character clears the other half.
    if (cells[this.column] === WIDE_SECOND_CELL) cells[this.column - 1] = ' '
    cells[this.column] = character
    if (wide === 2) cells[this.column + 1] = WIDE_SECOND_CELL
    this.column += wide
  }

  #line(): string[] {
    return (this.#cells[this.row] ??= [])
  }

  /** Each line feed begins a new line: the terminal's driver adds the carriage return. */
  #down(column: number): void {
    this.row += 1
    this.column = column
    this.#line()
  }

  #apply(isPrivate: boolean, numbers: string, letter: string): void {
    if (isPrivate) return this.#mode(numbers, letter === 'h')
    const count = Number(numbers) || 1
    const column = Math.min(this.column, this.columns - 1)
    if (letter === 'm' || letter === 't') return
    if (letter === 'A') [this.row, this.column] = [Math.max(this.#top, this.row - count), column]
    else if (letter === 'B') [this.row, this.column] = [Math.min(this.#top + this.height - 1, this.row + count), column]
    else if (letter === 'C') this.column = Math.min(this.columns - 1, column + count)
    else if (letter === 'G') this.column = Math.min(this.columns, count) - 1
    else if (letter === 'H') this.#moveTo(numbers)
    else if (letter === 'K' && numbers === '2') this.#line().length = 0
    else if (letter === 'K') this.#line().length = Math.min(this.#line().length, this.column)
    else if (letter === 'J') {
      this.#line().length = Math.min(this.#line().length, this.column)
      this.#cells.length = this.row + 1
    } else throw new Error(`unsupported sequence: ${letter}`)
  }

  /** `position`: row and column from 1, as `3;1` */
  #moveTo(position: string): void {
    const [row = 1, column = 1] = position.split(';').map((number) => Number(number) || 1)
    this.row = this.#top + Math.min(row, this.height) - 1
    this.column = Math.min(column, this.columns) - 1
    while (this.#cells.length <= this.row) this.#cells.push([])
  }

  #mode(numbers: string, isOn: boolean): void {
    if (isOn) this.modes.add(numbers)
    else this.modes.delete(numbers)
    if (numbers !== '1049') return
    if (isOn) {
      this.#mainScreen = { cells: this.#cells, row: this.row, column: this.column }
      this.#cells = [[]]
      this.row = this.column = 0
    } else if (this.#mainScreen) {
      this.#cells = this.#mainScreen.cells
      this.row = this.#mainScreen.row
      this.column = this.#mainScreen.column
      this.#mainScreen = null
    }
  }
}
