// `reeve ps --watch`: keeps a table up to date with the rows that the daemon sends. On a terminal the table uses the alternate screen.
// Every end but SIGKILL returns to the normal screen. Without a terminal the table is printed after each change. Redraws after changes, and
// once a second for elapsed times. Must never start a daemon, because the user may have stopped it. Test: test/e2e/cli/watch.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import { ApiError } from '../../api/client/client.ts'
import { connect, type Reeve, type RowView } from '../../index.ts'
import { knownCostSum } from '../../api/known-cost.ts'
import { formatCost, formatCount } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { fitWidth } from '../print/text.ts'
import { FollowedRows } from './followed-rows.ts'
import { Throttle } from './throttle.ts'

/** the shortest time between two redraws */
const MIN_REDRAW_MS = 200
const CLOCK_MS = 1000

/** The content of the table. Elapsed times grow without new data. */
export interface WatchTable<Row> {
  /** the rows of the daemon that the table is made from */
  readonly scope: 'live' | 'all'
  /** returns the rows of the table; `now`: the wall time of the daemon in ms */
  rowsOf(rows: ReadonlyMap<string, RowView>, now: number): readonly Row[]
  /** requests the processes of the table with all fields, for records */
  requestRecords(reeve: Reeve): Promise<readonly Row[]>
  /** returns the lines, titles first; `sinceMs`: the time since the rows were made */
  lines(rows: readonly Row[], maxWidth: number, sinceMs: number): readonly string[]
  /** returns the row without its elapsed times, to detect changes */
  withoutClocks(row: Row): unknown
  /** which rows are shown if not all of them fit the screen */
  readonly keptRows: 'first' | 'last'
}

type Watchable = Pick<ProcessView, 'status'> & { readonly usage: Pick<ProcessView['usage'], 'costUsd' | 'unpriced'> }

export async function watchTable<Row extends Watchable>(table: WatchTable<Row>, reeve: Reeve, out: Output): Promise<number> {
  // This request starts the daemon if none answers; the stream does not.
  await reeve.daemon()
  const client = connect({ start: false })
  using endRequest = new EndRequest()
  using view =
    out.isTerminal('stdout') && !out.json && out.canRedraw ? new TableScreen(table, out, endRequest) : new TablePrinter(table, out)
  const live = new FollowedRows()
  let pendingShow: Promise<void> = Promise.resolve()
  const show = async (): Promise<void> => {
    try {
      await view.show(out.json ? await table.requestRecords(client) : table.rowsOf(live.byUuid, live.now))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // The daemon may return. The stream ends with an error when the daemon is away for too long.
      view.showDaemonAway()
    }
  }
  using throttle = new Throttle(MIN_REDRAW_MS, () => {
    pendingShow = pendingShow.then(show)
  })
  const onLink = (isUp: boolean): void => {
    if (isUp) throttle.request()
    else view.showDaemonAway()
  }
  for await (const event of client.followRows({ scope: table.scope, signal: endRequest.signal, onLink })) {
    live.take(event)
    if (event.type !== 'alive') throttle.request()
  }
  await pendingShow
  return 0
}

const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The request of the user to end: a key, or a signal. */
class EndRequest implements Disposable {
  readonly #abort = new AbortController()
  readonly signal = this.#abort.signal
  readonly request = (): void => this.#abort.abort()

  constructor() {
    for (const name of END_SIGNALS) process.on(name, this.request)
  }

  [Symbol.dispose](): void {
    for (const name of END_SIGNALS) process.off(name, this.request)
  }
}

/** Prints the table after each change. */
class TablePrinter<Row extends Watchable> implements Disposable {
  readonly #table: WatchTable<Row>
  readonly #out: Output
  #lastState: string | undefined

  constructor(table: WatchTable<Row>, out: Output) {
    this.#table = table
    this.#out = out
  }

  async show(rows: readonly Row[]): Promise<void> {
    const state = JSON.stringify(rows.map((row) => this.#table.withoutClocks(row)))
    if (state === this.#lastState) return
    const isFirst = this.#lastState === undefined
    this.#lastState = state
    if (this.#out.json) await this.#out.record({ version: 1, processes: rows })
    else await this.#out.line(`${isFirst ? '' : '\n'}${this.#table.lines(rows, this.#out.columns, 0).join('\n')}`)
  }

  showDaemonAway(): void {}

  [Symbol.dispose](): void {}
}

/** The sequence that switches to the alternate screen and hides the cursor. */
const ENTER = '\x1b[?1049h\x1b[?25l'
const EXIT = '\x1b[?25h\x1b[?1049l'
/** the line above the table, and the line of titles */
const HEAD_LINES = 2
const AWAY_TEXT = 'the daemon does not answer; this is the last known state'

/** Draws the table on the alternate screen. */
class TableScreen<Row extends Watchable> implements Disposable {
  readonly #table: WatchTable<Row>
  readonly #out: Output
  readonly #endRequest: EndRequest
  readonly #clock: NodeJS.Timeout
  #rows: readonly Row[] = []
  #receivedAt = performance.now()
  #isDaemonAway = false
  #isDisposed = false

  constructor(table: WatchTable<Row>, out: Output, endRequest: EndRequest) {
    this.#table = table
    this.#out = out
    this.#endRequest = endRequest
    process.stdout.write(ENTER)
    process.stdout.on('resize', this.#draw)
    process.on('exit', this.#dispose)
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true)
      process.stdin.on('data', this.#onInput).on('end', endRequest.request).resume()
    }
    this.#clock = setInterval(this.#draw, CLOCK_MS)
  }

  async show(rows: readonly Row[]): Promise<void> {
    this.#rows = rows
    this.#receivedAt = performance.now()
    this.#isDaemonAway = false
    this.#draw()
  }

  showDaemonAway(): void {
    this.#isDaemonAway = true
    this.#draw()
  }

  [Symbol.dispose](): void {
    this.#dispose()
  }

  #onInput = (keys: Buffer): void => {
    if (/[qQ\x03\x04]|^\x1b$/.test(keys.toString('latin1'))) this.#endRequest.request()
  }

  #draw = (): void => {
    if (this.#isDisposed) return
    const { columns = 80, rows: height = 24 } = process.stdout
    const lines = this.#table.lines(this.#rows, columns, performance.now() - this.#receivedAt)
    const shown = fitRows(lines, Math.max(1, height - HEAD_LINES), this.#table.keptRows)
    const head = this.#out.paint('dim', fitWidth(this.#isDaemonAway ? AWAY_TEXT : summaryOf(this.#rows), columns, this.#out.ellipsis))
    // The lines are overwritten, because clearing the screen first would make it flicker.
    process.stdout.write(`\x1b[H${[head, ...shown].map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`)
  }

  #dispose = (): void => {
    if (this.#isDisposed) return
    this.#isDisposed = true
    clearInterval(this.#clock)
    process.off('exit', this.#dispose)
    process.stdout.off('resize', this.#draw)
    if (process.stdin.isTTY) {
      process.stdin.off('data', this.#onInput).off('end', this.#endRequest.request)
      process.stdin.setRawMode(false)
      process.stdin.pause()
    }
    process.stdout.write(EXIT)
  }
}

/** Returns the titles and the rows that fit. If some do not fit, a row gives their number. */
export function fitRows([titles = '', ...rows]: readonly string[], room: number, keep: 'first' | 'last'): string[] {
  if (rows.length <= room) return [titles, ...rows]
  const shownCount = Math.max(0, room - 1)
  const more = `+${rows.length - shownCount} more`
  return keep === 'first' ? [titles, ...rows.slice(0, shownCount), more] : [titles, more, ...rows.slice(rows.length - shownCount)]
}

function summaryOf(rows: readonly Watchable[]): string {
  const counts = Map.groupBy(rows, ({ status }) => status)
  const parts = [...counts].map(([status, some]) => `${some.length} ${status}`)
  const { costUsd, unpriced } = knownCostSum(rows.map(({ usage }) => usage))
  if (costUsd !== 0) parts.push(formatCost(costUsd, unpriced))
  return [formatCount(rows.length, 'process'), ...parts, 'q ends'].join(' | ')
}
