// Lines that are kept below all that a command writes on a terminal: redrawn when something has changed and by the clock, and
// below them a question, or the line that is typed. Takes them away when it is disposed of. What the lines say is another's.
// Must never be more than the terminal is high. Tests: test/tables/cli-live.test.ts, test/e2e/cli-live.test.ts.
import { readFileSync } from 'node:fs'
import type { Below, Output } from '../output.ts'
import { Bottom, type Drawing } from './bottom.ts'
import type { Look } from './rows.ts'
import { Throttle } from './throttle.ts'

/** At most ten times a second. */
const REDRAW_MS = 100
const CLOCK_MS = 1000
/** Rows of the terminal that are left to the output. */
const OUTPUT_ROWS = 4

/** What stands below the rows, as wide as it is told. */
export interface Typed {
  draw(columns: number, maxLines: number): Drawing
}

export interface FooterParts {
  readonly out: Output
  readonly stream: NodeJS.WriteStream
  readonly typed: Typed | null
  /** the lines as they are now, the most important first */
  readonly rows: (look: Look, now: number) => readonly string[]
  /** a second has gone by */
  readonly tick: () => void
}

export class Footer implements Below, Disposable {
  readonly #parts: FooterParts
  readonly #bottom: Bottom
  readonly #redrawing = new Throttle(REDRAW_MS, () => this.redraw())
  readonly #clock: NodeJS.Timeout
  #question = ''
  #isOver = false

  constructor(parts: FooterParts) {
    const { out, stream, tick } = parts
    this.#parts = parts
    this.#bottom = new Bottom({ get columns() { return columnsOf(stream) }, write: (text) => { stream.write(text) } })
    this.#clock = setInterval(() => {
      tick()
      this.#redrawing.ask()
    }, CLOCK_MS)
    stream.on('resize', this.redraw)
    process.on('SIGCONT', this.#continued).on('exit', this.#end)
    out.below = this
  }

  /** Something has changed. */
  changed(): void {
    this.#redrawing.ask()
  }

  around(text: string): string {
    return this.#bottom.around(text)
  }

  /** A question at the very bottom, until it is answered. */
  ask(question: string): void {
    this.#question = question
    this.redraw()
  }

  answered(): void {
    this.ask('')
  }

  redraw = (): void => {
    if (!this.#isOver && isForeground()) this.#bottom.show(this.#drawing())
  };

  [Symbol.dispose](): void {
    this.#end()
  }

  #drawing(): Drawing {
    const { out, stream, typed: line, rows: drawn } = this.#parts
    const columns = columnsOf(stream)
    const look: Look = { columns, ascii: out.ascii, ellipsis: out.ellipsis, pauseMark: out.pauseMark, paintWords: (style, text) => out.paintWords(style, text) }
    const room = Math.max(1, (stream.rows || 24) - OUTPUT_ROWS)
    const typed: Drawing = this.#question === '' ? (line?.draw(columns, room) ?? { lines: [] }) : asked(out.paintWords('bold', this.#question), this.#question.length)
    const rows = drawn(look, performance.now()).slice(0, Math.max(1, room - typed.lines.length))
    const { cursor } = typed
    return { lines: [...rows, ...typed.lines], ...(cursor ? { cursor: { ...cursor, line: cursor.line + rows.length } } : {}) }
  }

  /** It was stopped, and the shell has written since. */
  #continued = (): void => {
    this.#bottom.forget()
    this.#bottom.show(isForeground() ? this.#drawing() : { lines: [] })
  }

  #end = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    clearInterval(this.#clock)
    this.#redrawing[Symbol.dispose]()
    this.#parts.stream.off('resize', this.redraw)
    process.off('SIGCONT', this.#continued).off('exit', this.#end)
    this.#bottom[Symbol.dispose]()
    this.#parts.out.below = null
  }
}

function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.columns > 0 ? stream.columns : 80
}

function asked(line: string, columns: number): Drawing {
  return { lines: [line], cursor: { line: 0, column: columns } }
}

/** A job in the background must leave the terminal to the shell: `PID (NAME) STATE PPID PGRP SESSION TTY TPGID`. */
function isForeground(): boolean {
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? []
    return fields[2] === fields[5]
  } catch {
    return true
  }
}
