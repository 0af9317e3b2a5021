// Keeps lines below the output of a command on a terminal, with a question or the input line as the last one. The caller provides the
// lines. Redraws them after changes and every second, and removes them when disposed. Must never be higher than the terminal. Test:
// test/e2e/cli/live.test.ts.
import { readFileSync } from 'node:fs'
import type { BottomLines, Output } from '../print/output.ts'
import type { ScreenFrame } from './frame.ts'
import { StickyFooter } from './sticky-footer.ts'
import type { RowStyle } from '../live/format-rows.ts'
import { Throttle } from './throttle.ts'

/** the shortest time between two redraws */
const REDRAW_MS = 100
/** the time between two redraws without a change, for elapsed times */
const CLOCK_MS = 1000
/** the rows of the terminal that stay free for output */
const OUTPUT_ROWS = 4

/** The input line below the rows; it has the cursor. */
export interface FooterInput {
  draw(columns: number, maxLines: number): ScreenFrame
}

export interface FooterDeps {
  readonly out: Output
  readonly stream: NodeJS.WriteStream
  /** null: no input line */
  readonly input: FooterInput | null
  /** returns the current lines, most important first; `now`: monotonic ms */
  readonly rows: (style: RowStyle, now: number) => readonly string[]
}

export class Footer implements BottomLines, Disposable {
  readonly #deps: FooterDeps
  readonly #sticky: StickyFooter
  readonly #throttle = new Throttle(REDRAW_MS, () => this.redraw())
  readonly #clock: NodeJS.Timeout
  #question = ''
  #isDisposed = false

  constructor(deps: FooterDeps) {
    const { out, stream } = deps
    this.#deps = deps
    this.#sticky = new StickyFooter({
      get columns() {
        return columnsOf(stream)
      },
      write: (text) => {
        stream.write(text)
      },
    })
    this.#clock = setInterval(() => this.#draw(true), CLOCK_MS)
    stream.on('resize', this.redraw)
    process.on('SIGCONT', this.#onContinued).on('exit', this.#dispose)
    out.bottomLines = this
  }

  /** Requests a redraw. */
  requestRedraw(): void {
    this.#throttle.request()
  }

  renderAbove(text: string): string {
    return this.#sticky.renderAbove(text)
  }

  /** Shows a question in the last row until it is answered. */
  showQuestion(question: string): void {
    this.#question = question
    this.redraw()
  }

  hideQuestion(): void {
    this.showQuestion('')
  }

  redraw = (): void => this.#draw(false);

  [Symbol.dispose](): void {
    this.#dispose()
  }

  #draw(isWhole: boolean): void {
    if (!this.#isDisposed && isForeground()) this.#sticky.show(this.#frame(), isWhole)
  }

  #frame(): ScreenFrame {
    const { out, stream, input, rows: rowsFor } = this.#deps
    const columns = columnsOf(stream)
    const style: RowStyle = {
      columns,
      ascii: out.ascii,
      ellipsis: out.ellipsis,
      pauseMark: out.pauseMark,
      paintMessage: (style, text) => out.paintMessage(style, text),
    }
    const room = Math.max(1, (stream.rows || 24) - OUTPUT_ROWS)
    const last: ScreenFrame =
      this.#question === ''
        ? (input?.draw(columns, room) ?? { lines: [] })
        : questionFrame(out.paintMessage('bold', this.#question), this.#question.length)
    const rows = rowsFor(style, performance.now()).slice(0, Math.max(1, room - last.lines.length))
    const { cursor } = last
    return { lines: [...rows, ...last.lines], ...(cursor ? { cursor: { ...cursor, line: cursor.line + rows.length } } : {}) }
  }

  /** Draws again after the program was stopped and continued: meanwhile the shell has written to the terminal. */
  #onContinued = (): void => {
    this.#sticky.discardFrame()
    this.#sticky.show(isForeground() ? this.#frame() : { lines: [] })
  }

  #dispose = (): void => {
    if (this.#isDisposed) return
    this.#isDisposed = true
    clearInterval(this.#clock)
    this.#throttle[Symbol.dispose]()
    this.#deps.stream.off('resize', this.redraw)
    process.off('SIGCONT', this.#onContinued).off('exit', this.#dispose)
    this.#sticky[Symbol.dispose]()
    if (this.#deps.out.bottomLines === this) this.#deps.out.bottomLines = null
  }
}

function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.columns > 0 ? stream.columns : 80
}

function questionFrame(line: string, columns: number): ScreenFrame {
  return { lines: [line], cursor: { line: 0, column: columns } }
}

/**
 * Whether this program is in the foreground job of its terminal: a background job must not write to the terminal. Format of the file:
 * `PID (NAME) STATE PPID PGRP SESSION TTY TPGID`.
 */
function isForeground(): boolean {
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? []
    return fields[2] === fields[5]
  } catch {
    // Only Linux has this file. Elsewhere the job counts as the foreground job.
    return true
  }
}
