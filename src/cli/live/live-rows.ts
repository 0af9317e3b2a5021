// The rows below a process that is followed on a terminal: what it and its children do, kept up to date by its events and
// the clock, and below them a question or the line that is typed. Takes them away when it is disposed of.
// Must never be more than the terminal is high. Test: test/tables/cli-live.test.ts, test/e2e/cli-live.test.ts.
import { readFileSync } from 'node:fs'
import type { EventView, ProcessView } from '../../api/views.ts'
import type { FactBody } from '../../kernel/facts.ts'
import type { View } from '../follow.ts'
import type { Below, Output } from '../output.ts'
import { fit, oneLine } from '../text.ts'
import { Bottom, type Drawing } from './bottom.ts'
import { Doing } from './doing.ts'
import { childRows, stateRow, type Look } from './rows.ts'
import { Throttle } from './throttle.ts'
import { Watched } from './watched.ts'

/** At most ten times a second. */
const REDRAW_MS = 100
const CLOCK_MS = 1000
/** Rows of the terminal that are left to the output. */
const OUTPUT_ROWS = 4

/** What stands below the rows, as wide as it is told. */
export interface Typed {
  draw(columns: number, maxLines: number): Drawing
}

export class LiveRows implements View, Below, Disposable {
  readonly live = true
  readonly #out: Output
  readonly #view: View
  readonly #typed: Typed | null
  readonly #stream: NodeJS.WriteStream
  readonly #bottom: Bottom
  readonly #watched: Watched
  readonly #doing = new Doing()
  readonly #redrawing = new Throttle(REDRAW_MS, () => this.redraw())
  readonly #clock: NodeJS.Timeout
  #question = ''
  #isOver = false

  constructor(process_: ProcessView, { out, view, typed = null, stream = process.stderr }: { out: Output; view: View; typed?: Typed | null; stream?: NodeJS.WriteStream }) {
    this.#out = out
    this.#view = view
    this.#typed = typed
    this.#stream = stream
    this.#bottom = new Bottom({ get columns() { return columnsOf(stream) }, write: (text) => { stream.write(text) } })
    this.#watched = new Watched(process_, () => this.#redrawing.ask())
    this.#clock = setInterval(() => {
      this.#watched.tick()
      this.#redrawing.ask()
    }, CLOCK_MS)
    stream.on('resize', this.redraw)
    process.on('SIGCONT', this.#continued).on('exit', this.#end)
    out.below = this
    this.redraw()
  }

  /** The process as it was last seen. */
  get process(): ProcessView {
    return this.#watched.process.view
  }

  async event(event: EventView, fact: FactBody | undefined): Promise<void> {
    // What was begun before we looked has its own time.
    this.#doing.event(event, fact, performance.now() - Math.max(0, Date.now() - Date.parse(event.at)))
    await this.#view.event(event, fact)
    if (fact) this.#watched.ask()
    this.#redrawing.ask()
  }

  async end(process: ProcessView): Promise<void> {
    this.#end()
    await this.#view.end(process)
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
    const now = performance.now()
    const columns = columnsOf(this.#stream)
    const look: Look = { columns, ascii: this.#out.ascii, ellipsis: this.#out.ellipsis, pauseMark: this.#out.pauseMark, paintWords: (style, text) => this.#out.paintWords(style, text) }
    const room = Math.max(1, (this.#stream.rows || 24) - OUTPUT_ROWS)
    const typed: Drawing = this.#question === '' ? (this.#typed?.draw(columns, room) ?? { lines: [] }) : asked(this.#out.paintWords('bold', this.#question), this.#question.length)
    const rows = [
      stateRow(this.#watched.process, (room) => this.#does(now, room, look.ellipsis), now, look),
      ...childRows(this.#watched.children, this.#watched.childCount, now, look),
    ].slice(0, Math.max(1, room - typed.lines.length))
    const { cursor } = typed
    return { lines: [...rows, ...typed.lines], ...(cursor ? { cursor: { ...cursor, line: cursor.line + rows.length } } : {}) }
  }

  /** What it asks keeps it from all else. */
  #does(now: number, columns: number, ellipsis: string): string {
    const [ask] = this.process.asks
    return ask ? fit(`asks: ${oneLine(ask.text)}`, columns, ellipsis) : this.#doing.text(now, columns, ellipsis)
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
    this.#watched[Symbol.dispose]()
    this.#stream.off('resize', this.redraw)
    process.off('SIGCONT', this.#continued).off('exit', this.#end)
    this.#bottom[Symbol.dispose]()
    this.#out.below = null
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
