// `reeve ps --watch`: keeps a table up to date with the rows that the daemon sends. On a terminal the table uses the alternate screen.
// Every end except by SIGKILL restores the normal screen. Without a terminal the table is printed after each change. Redraws after changes,
// and once a second for elapsed times. Must not start a daemon after the first answer, because the user may have stopped it. Test:
// test/e2e/screen/watch.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import { connect, type Reeve, type RowView } from '../../index.ts'
import { knownCostSum } from '../../api/known-cost.ts'
import { formatCost, formatCount } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import type { PsRow } from '../print/ps-columns.ts'
import { fitWidth, oneLine } from '../print/text.ts'
import { fitRows } from './fit-rows.ts'
import { FollowedRows } from './followed-rows.ts'
import type { WatchRow } from './ps-rows.ts'
import { Screen, type TerminalSize } from '../screen/screen.ts'
import { Throttle } from '../screen/throttle.ts'

/** the shortest time between two redraws */
const MIN_REDRAW_MS = 200

/** The content of the table. Elapsed times grow without new data. */
export interface WatchTable {
  /** the rows of the daemon that the table is made from */
  readonly scope: 'live' | 'all'
  /** returns the rows of the table in the order of its lines; `now`: the wall time of the daemon in ms */
  rowsOf(rows: ReadonlyMap<string, RowView>, now: number): readonly WatchRow[]
  /** requests the processes of the table with all fields, for records */
  requestRecords(reeve: Reeve): Promise<readonly PsRow[]>
  /** returns the lines, titles first; `sinceMs`: the time since the rows were made */
  lines(rows: readonly PsRow[], maxWidth: number, sinceMs: number): readonly string[]
  /** returns the row without its elapsed times, to detect changes */
  withoutClocks(row: PsRow): unknown
  /** which rows are shown if not all of them fit the screen */
  readonly keptRows: 'first' | 'last'
}

export async function watchTable(table: WatchTable, reeve: Reeve, out: Output): Promise<number> {
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
class TablePrinter implements Disposable {
  readonly #table: WatchTable
  readonly #out: Output
  #lastState: string | undefined

  constructor(table: WatchTable, out: Output) {
    this.#table = table
    this.#out = out
  }

  async show(rows: readonly PsRow[]): Promise<void> {
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

/** the least height for both the summary and the line of needs; a lower terminal shows one of them */
const MIN_ROWS_FOR_BOTH = 6
const AWAY_TEXT = 'the daemon does not answer; this is the last known state'

/** Draws the table on the alternate screen. */
class TableScreen implements Disposable {
  readonly #table: WatchTable
  readonly #out: Output
  readonly #screen: Screen
  #rows: readonly WatchRow[] = []
  #receivedAt = performance.now()
  #isDaemonAway = false

  constructor(table: WatchTable, out: Output, endRequest: EndRequest) {
    this.#table = table
    this.#out = out
    this.#screen = new Screen({
      draw: (size) => ({ lines: this.#linesFor(size) }),
      onKey: ({ name, ctrl }) => {
        if (name === 'q' || name === 'escape' || (ctrl && (name === 'c' || name === 'd'))) endRequest.request()
      },
      onInputClosed: endRequest.request,
    })
  }

  async show(rows: readonly WatchRow[]): Promise<void> {
    this.#rows = rows
    this.#receivedAt = performance.now()
    this.#isDaemonAway = false
    this.#screen.requestFrame()
  }

  showDaemonAway(): void {
    this.#isDaemonAway = true
    this.#screen.requestFrame()
  }

  [Symbol.dispose](): void {
    this.#screen[Symbol.dispose]()
  }

  #linesFor({ columns, rows: height }: TerminalSize): string[] {
    const lines = this.#table.lines(this.#rows, columns, performance.now() - this.#receivedAt)
    const cut = (text: string): string => fitWidth(text, columns, this.#out.ellipsis)
    const head = this.#headLines(height).map(([colour, text]) => this.#out.paint(colour, cut(text)))
    const shown = fitRows(lines, {
      room: Math.max(1, height - head.length - 1),
      keep: this.#table.keptRows,
      isUrgent: (row) => this.#rows[row]?.needsUser === true,
      cut,
    })
    return [...head, ...shown].slice(0, height)
  }

  /** Returns the lines above the table: the summary, and the processes that need the user. */
  #headLines(height: number): (readonly ['dim' | 'yellow', string])[] {
    if (this.#isDaemonAway) return [['dim', AWAY_TEXT]]
    const needs = needsText(this.#rows)
    const summary = ['dim', summaryOf(this.#rows)] as const
    if (needs === null) return [summary]
    return height < MIN_ROWS_FOR_BOTH ? [['yellow', needs]] : [summary, ['yellow', needs]]
  }
}

/** Returns the line that names the processes that need the user; null: none does. */
function needsText(rows: readonly WatchRow[]): string | null {
  const needing = rows.filter((row) => row.needsUser === true)
  if (needing.length === 0) return null
  const names = needing.map(({ name, pid }) => (name === null ? String(pid) : oneLine(name))).join(', ')
  return `${needing.length === 1 ? '1 needs' : `${needing.length} need`} you (\`reeve needs\`, \`reeve web\`): ${names}`
}

function summaryOf(rows: readonly PsRow[]): string {
  const counts = Map.groupBy(rows, ({ status }) => status)
  const parts = [...counts].map(([status, some]) => `${some.length} ${status}`)
  const { costUsd, unpriced } = knownCostSum(rows.map(({ usage }) => usage))
  if (costUsd !== 0) parts.push(formatCost(costUsd, unpriced))
  return [formatCount(rows.length, 'process'), ...parts, 'q ends'].join(' | ')
}
