// `reeve ps --watch`: the table kept up to date. On a terminal it has a screen of its own, which is given back however it ends
// but by SIGKILL; elsewhere the table is printed after each change. Drawn after events and, for the clocks, once a second.
// Must never start a daemon: the one that it watches may have been stopped. Test: test/e2e/cli-watch.test.ts.
import type { ProcessView } from '../../api/views.ts'
import { ApiError } from '../../api/client.ts'
import { connect, type Reeve } from '../../index.ts'
import { cost, plural } from '../format.ts'
import type { Output } from '../output.ts'
import { fit } from '../text.ts'
import { Throttle } from './throttle.ts'

/** At most five times a second. */
const EVERY_MS = 200
const CLOCK_MS = 1000

/** The daemon is looked at, too, when it says nothing. */
const LOOK_MS = 5000

/** What is in the table; the clocks run on without the daemon. */
export interface Table<Row> {
  rows(reeve: Reeve): Promise<readonly Row[]>
  /** the lines, the titles first, of rows that were given so long ago */
  lines(rows: readonly Row[], maxWidth: number, sinceMs: number): readonly string[]
  /** what of a row is no clock */
  essence(row: Row): unknown
  /** which rows are seen when there is no room for all */
  readonly keep: 'first' | 'last'
}

type Watchable = Pick<ProcessView, 'status'> & { readonly usage: Pick<ProcessView['usage'], 'costUsd' | 'unpriced'> }

export async function watch<Row extends Watchable>(table: Table<Row>, reeve: Reeve, out: Output): Promise<number> {
  const { cursor: after } = await reeve.daemon()
  const rows = await table.rows(reeve)
  const quiet = connect({ start: false })
  using leave = new Leave()
  using view = out.isTerminal('stdout') && !out.json && out.canRedraw ? new Screen(table, out, leave) : new Printed(table, out)
  await view.show(rows)
  let looking: Promise<void> = Promise.resolve()
  const look = async (): Promise<void> => {
    try {
      await view.show(await table.rows(quiet))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // It may come back: the stream of events says when it is given up.
      view.away()
    }
  }
  using asking = new Throttle(EVERY_MS, () => { looking = looking.then(look) })
  const ask = setInterval(() => asking.ask(), LOOK_MS)
  try {
    for await (const _event of quiet.events({ after, follow: true, signal: leave.signal })) asking.ask()
  } finally {
    clearInterval(ask)
  }
  await looking
  return 0
}

/** The wish to end: a key, or a signal. */
class Leave implements Disposable {
  readonly #abort = new AbortController()
  readonly signal = this.#abort.signal
  readonly now = (): void => this.#abort.abort()

  constructor() {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, this.now)
  }

  [Symbol.dispose](): void {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(name, this.now)
  }
}

class Printed<Row extends Watchable> implements Disposable {
  readonly #table: Table<Row>
  readonly #out: Output
  #shown: string | undefined

  constructor(table: Table<Row>, out: Output) {
    this.#table = table
    this.#out = out
  }

  async show(rows: readonly Row[]): Promise<void> {
    const essence = JSON.stringify(rows.map((row) => this.#table.essence(row)))
    if (essence === this.#shown) return
    const isFirst = this.#shown === undefined
    this.#shown = essence
    if (this.#out.json) await this.#out.record({ version: 1, processes: rows })
    else await this.#out.line(`${isFirst ? '' : '\n'}${this.#table.lines(rows, this.#out.columns, 0).join('\n')}`)
  }

  away(): void {}

  [Symbol.dispose](): void {}
}

/** The other screen of the terminal, without a cursor. */
const ENTER = '\x1b[?1049h\x1b[?25l'
const EXIT = '\x1b[?25h\x1b[?1049l'
/** The line above the table, and its titles. */
const HEAD_LINES = 2
const AWAY = 'the daemon does not answer; this is how it was'

class Screen<Row extends Watchable> implements Disposable {
  readonly #table: Table<Row>
  readonly #out: Output
  readonly #leave: Leave
  readonly #clock: NodeJS.Timeout
  #rows: readonly Row[] = []
  #at = performance.now()
  #isAway = false
  #isOver = false

  constructor(table: Table<Row>, out: Output, leave: Leave) {
    this.#table = table
    this.#out = out
    this.#leave = leave
    process.stdout.write(ENTER)
    process.stdout.on('resize', this.#draw)
    process.on('exit', this.#end)
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true)
      process.stdin.on('data', this.#typed).on('end', leave.now).resume()
    }
    this.#clock = setInterval(this.#draw, CLOCK_MS)
  }

  async show(rows: readonly Row[]): Promise<void> {
    this.#rows = rows
    this.#at = performance.now()
    this.#isAway = false
    this.#draw()
  }

  away(): void {
    this.#isAway = true
    this.#draw()
  }

  [Symbol.dispose](): void {
    this.#end()
  }

  #typed = (keys: Buffer): void => {
    if (/[qQ\x03\x04]|^\x1b$/.test(keys.toString('latin1'))) this.#leave.now()
  }

  #draw = (): void => {
    if (this.#isOver) return
    const { columns = 80, rows: height = 24 } = process.stdout
    const lines = this.#table.lines(this.#rows, columns, performance.now() - this.#at)
    const shown = fitted(lines, Math.max(1, height - HEAD_LINES), this.#table.keep)
    const head = this.#out.paint('dim', fit(this.#isAway ? AWAY : summaryOf(this.#rows), columns, this.#out.ellipsis))
    // Each line is written over the one before, so that nothing flickers.
    process.stdout.write(`\x1b[H${[head, ...shown].map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`)
  }

  #end = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    clearInterval(this.#clock)
    process.off('exit', this.#end)
    process.stdout.off('resize', this.#draw)
    if (process.stdin.isTTY) {
      process.stdin.off('data', this.#typed).off('end', this.#leave.now)
      process.stdin.setRawMode(false)
      process.stdin.pause()
    }
    process.stdout.write(EXIT)
  }
}

/** The titles and so many rows, one of which says how many are missing. */
export function fitted([titles = '', ...rows]: readonly string[], room: number, keep: 'first' | 'last'): string[] {
  if (rows.length <= room) return [titles, ...rows]
  const most = Math.max(0, room - 1)
  const more = `+${rows.length - most} more`
  return keep === 'first' ? [titles, ...rows.slice(0, most), more] : [titles, more, ...rows.slice(rows.length - most)]
}

function summaryOf(rows: readonly Watchable[]): string {
  const counts = Map.groupBy(rows, ({ status }) => status)
  const parts = [...counts].map(([status, some]) => `${some.length} ${status}`)
  const usd = rows.reduce((sum, { usage }) => sum + usage.costUsd, 0)
  if (usd > 0) parts.push(cost(usd, rows.some(({ usage }) => usage.unpriced)))
  return [plural(rows.length, 'process'), ...parts, 'q ends'].join(' | ')
}
