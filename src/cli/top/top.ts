// `reeve top`: shows all processes on the alternate screen and takes keys. Follows the rows of the daemon, and never starts a daemon after
// the first request, because the user may have stopped it. Tests: test/e2e/screen/top.test.ts, test/tables/cli/top.
import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { ApiError } from '../../api/client/api-error.ts'
import { connect, type Reeve, type RowView } from '../../index.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { costChart } from '../../faces/cost-chart.ts'
import { formatCount } from '../../faces/format.ts'
import { oneLine } from '../print/text.ts'
import { stakesLines } from '../print/details/stakes-text.ts'
import type { Output } from '../print/output.ts'
import { LatestRead } from './latest-read.ts'
import type { TerminalReport } from '../screen/key-reader.ts'
import { Screen } from '../screen/screen.ts'
import { Controller } from './controller.ts'
import type { Action, Outcome } from './dialogs.ts'
import { frameOf } from './frame-lines.ts'
import { TopModel } from './model.ts'
import { readPeek } from './peek.ts'

/** the shortest time between two reads of the panel */
const READ_MS = 500
/** the time between two attempts to find a daemon that has gone */
const RETRY_MS = 1_000
const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** the longest wait for answers after the screen was left */
const LAST_ANSWERS_MS = 1_000
/** the time between two reads of the rate of spending */
const RATE_MS = 10_000
const RATE_MINUTES = 5
const HOUR_MS = 3_600_000
const HOURS = 24
/** the time between two reads of what the last hours cost */
const HOURS_READ_MS = 60_000
/** the greatest number of processes whose stakes are shown before they are ended */
const MAX_STAKES = 10

/** the greatest number of needs that are announced at once */
const MAX_ANNOUNCED = 3

export interface TopOptions {
  /** also shows what ended in the last 24 hours */
  readonly showsEnded: boolean
  readonly filter: string
  /** whether no key may change anything */
  readonly isReadOnly: boolean
}

export async function runTop(reeve: Reeve, out: Output, options: TopOptions): Promise<number> {
  // Nearly all objects of rows are kept: a larger young generation would take 30 MB for 10,000 rows, and would save no time.
  setFlagsFromString('--semi-space-growth-factor=1')
  // This request starts the daemon if none answers; the stream does not.
  await reeve.daemon()
  using top = new Top(connect({ start: false }), out, options)
  await top.run()
  return 0
}

/** An hour as a usage report names it, in local time. */
function hourText(at: number): string {
  const date = new Date(at)
  const twoDigits = (number: number): string => String(number).padStart(2, '0')
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${twoDigits(date.getHours())}:00`
}

/** Whether a read failed because the daemon does not answer, which the head line states. */
function isLinkLost(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'UNAVAILABLE' || error.code === 'HANGS')
}

class Top implements Disposable {
  readonly #reeve: Reeve
  readonly #out: Output
  readonly #model = new TopModel()
  readonly #controller = new Controller(this.#model, () => performance.now())
  readonly #screen: Screen
  readonly #end = new AbortController()
  readonly #peek = new LatestRead(READ_MS, () => this.#track(this.#readPeek(), isLinkLost))
  readonly #running = new Set<Promise<void>>()
  readonly #rateClock = setInterval(() => {
    this.#rate.request()
  }, RATE_MS)
  readonly #rate = new LatestRead(RATE_MS / 2, () => this.#track(this.#readRate(), isLinkLost))
  /** what the panel showed when its content was requested */
  #peekKey = ''
  /** the number of questions in the terminal's title */
  #askCount = 0
  /** the ids of the needs after the last event; null: no event yet */
  #knownNeeds: ReadonlySet<string> | null = null
  #hasFocus = true
  /** when the costs of the hours are read again, monotonic ms */
  #hoursDueAt = 0

  constructor(reeve: Reeve, out: Output, { showsEnded, filter, isReadOnly }: TopOptions) {
    this.#reeve = reeve
    this.#out = out
    this.#model.host = hostname()
    this.#model.showsEnded = showsEnded
    this.#model.isReadOnly = isReadOnly
    this.#model.setFilter(filter)
    for (const name of END_SIGNALS) process.on(name, this.#leave)
    this.#screen = new Screen({
      draw: (size) => frameOf(this.#model, size, { wall: Date.now(), mono: performance.now() }, out),
      onKey: (key) => this.#onOutcome(this.#controller.onKey(key)),
      onReport: this.#onReport,
      onInputClosed: this.#leave,
    })
  }

  async run(): Promise<void> {
    const onLink = (isUp: boolean): void => {
      this.#model.isLinkUp = isUp
      this.#screen.requestFrame()
    }
    while (!(await this.#follow(onLink)))
      await setTimeout(RETRY_MS, undefined, { signal: this.#end.signal }).catch(() => {
        // The wait was aborted: the user has left.
      })
    // All requests have been sent; their answers are not worth a long wait.
    await Promise.race([Promise.all(this.#running), setTimeout(LAST_ANSWERS_MS, undefined, { ref: false })])
  }

  /** Follows the rows. Returns false if the daemon has gone. The screen then stays, because the user may start the daemon again. */
  async #follow(onLink: (isUp: boolean) => void): Promise<boolean> {
    try {
      for await (const event of this.#reeve.followRows({ scope: 'recent', signal: this.#end.signal, onLink })) {
        this.#model.onRows(event, performance.now(), Date.now())
        this.#showAskCount()
        this.#announceNeeds()
        if (event.type === 'reset') this.#rate.request()
        this.#refreshPeek()
        this.#screen.requestFrame()
      }
    } catch (error) {
      if (this.#model.heardAt === null || !isLinkLost(error)) throw error
      this.#noteHang(error)
      onLink(false)
      return this.#end.signal.aborted
    }
    return true
  }

  [Symbol.dispose](): void {
    for (const name of END_SIGNALS) process.off(name, this.#leave)
    clearInterval(this.#rateClock)
    this.#rate[Symbol.dispose]()
    this.#peek[Symbol.dispose]()
    this.#screen[Symbol.dispose]()
  }

  #leave = (): void => this.#end.abort()

  #onReport = (report: TerminalReport): void => {
    if (report.type === 'focus') this.#hasFocus = report.has
    if (this.#model.dialog) return
    if (report.type === 'wheel') this.#model.scrollOrMove(report.by)
    if (report.type === 'click') this.#model.selectAt(report.row)
    this.#refreshPeek()
  }

  #onOutcome(outcome: Outcome | null): void {
    this.#refreshPeek()
    switch (outcome?.type) {
      case 'leave':
        return this.#leave()
      case 'mouse':
        this.#screen.hasMouse = !this.#screen.hasMouse
        return this.#showNotice(
          this.#screen.hasMouse ? 'the wheel scrolls; M gives the mouse back to the terminal' : 'the mouse selects text again',
        )
      case 'copy':
        // OSC 52: the terminal puts the text into the clipboard, if the user allows it.
        this.#screen.send(`\x1b]52;c;${Buffer.from(outcome.text).toString('base64')}\x07`)
        return this.#showNotice(`copied: ${outcome.text}`)
      case 'stakes':
        return this.#start(this.#readStakes(outcome))
      case 'action':
        return this.#start(this.#perform(outcome.action))
      case undefined:
    }
  }

  async #perform(action: Action): Promise<void> {
    this.#showNotice(`requested: ${action.command}`)
    try {
      this.#showNotice(await action.run(this.#reeve))
    } finally {
      this.#model.underWay.delete(action.command)
    }
  }

  /** Reads what the end of each process would cost; beyond `MAX_STAKES`, processes are only counted. */
  async #readStakes({ dialog, rows, how }: Extract<Outcome, { type: 'stakes' }>): Promise<void> {
    const read = async ({ uuid }: RowView): Promise<string[]> => {
      try {
        return stakesLines(await this.#reeve.stakes(uuid, how, { subtree: true }), Date.now())
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        return [`What this would cost is unknown: ${error.message}`]
      }
    }
    const all = await Promise.all(rows.slice(0, MAX_STAKES).map(read))
    const more = rows.length - MAX_STAKES
    dialog.stakes = [...all.flat(), ...(more > 0 ? [`and ${formatCount(more, 'more process')}`] : [])]
  }

  /** Shows the number of questions as the title of the terminal. */
  #showAskCount(): void {
    const asks = this.#model.needs.filter(({ ask }) => ask !== null).length
    if (asks !== this.#askCount) this.#screen.send(`\x1b]2;${asks > 0 ? `${asks} ask - ` : ''}reeve top\x07`)
    this.#askCount = asks
  }

  /** Rings the bell and asks the terminal for a notification if something new needs the user while another window has the focus. */
  #announceNeeds(): void {
    const known = this.#knownNeeds
    const { needs } = this.#model
    this.#knownNeeds = new Set(needs.map(({ id }) => id))
    const fresh = known === null ? [] : needs.filter(({ id }) => !known.has(id))
    if (fresh.length === 0 || this.#hasFocus || this.#out.quiet) return
    // A semicolon would end the text in OSC 777.
    const texts = fresh.slice(0, MAX_ANNOUNCED).map(({ name, pid, title }) => oneLine(`${name ?? pid}: ${title}`).replaceAll(';', ','))
    this.#screen.send(`\x07${texts.map((text) => `\x1b]9;${text}\x07\x1b]777;notify;reeve;${text}\x07`).join('')}`)
  }

  /** Notes why a daemon that still runs does not answer. A daemon that has ended does not hang. */
  #noteHang(error: unknown): void {
    this.#model.hang = error instanceof ApiError && error.code === 'HANGS' ? { message: error.message, hint: error.hint } : null
  }

  /** Sends a request that a daemon answers at once, so that the reason of a hang is known before the stream breaks. */
  async #probe(): Promise<void> {
    try {
      await this.#reeve.daemon()
      this.#model.hang = null
    } catch (error) {
      if (!isLinkLost(error)) throw error
      this.#noteHang(error)
    }
  }

  async #readRate(): Promise<void> {
    if (this.#model.isStale(performance.now())) return this.#probe()
    const { total, trees } = await this.#reeve.usageRate()
    const usdOf = (rates: typeof total): number => rates.find(({ minutes }) => minutes === RATE_MINUTES)?.costUsd ?? 0
    this.#model.usdPerMinute = usdOf(total)
    this.#model.ratesByRoot = new Map(trees.map(({ root, rates }) => [root.uuid, usdOf(rates)]))
    this.#refreshPeek()
    if (performance.now() >= this.#hoursDueAt) await this.#readHours()
  }

  /** Reads what each of the last hours cost. */
  async #readHours(): Promise<void> {
    this.#hoursDueAt = performance.now() + HOURS_READ_MS
    const now = Date.now()
    const since = now - (HOURS - 1) * HOUR_MS
    const report = await this.#reeve.usageReport({ by: 'hour', since })
    const range = { from: hourText(since), to: hourText(now) }
    this.#model.hours = costChart(report, 'cost', range).columns.map(({ value }) => value)
  }

  /** Reads the panel again if it shows something else, or if its process has new facts. */
  #refreshPeek(): void {
    const { shownTab, selectedRow, peekKey, ratesByRoot } = this.#model
    const rate = shownTab === 'limits' && selectedRow ? (ratesByRoot.get(selectedRow.uuid) ?? 0) : 0
    const key = shownTab === null ? '' : `${peekKey} ${selectedRow?.seq} ${rate}`
    // A stale panel is read at the next event, because no daemon answers now.
    if (key === this.#peekKey || this.#model.isStale(performance.now())) return
    this.#peekKey = key
    if (key !== '') this.#peek.request()
  }

  async #readPeek(): Promise<void> {
    const { selectedRow: row, shownTab: tab, selectedNeed, peekKey: key, peek, ratesByRoot } = this.#model
    if (!row || tab === null) return
    const { uuid } = row
    const { columns = 80 } = process.stdout
    try {
      const usdPerMinute = ratesByRoot.get(uuid) ?? null
      const request = { uuid, row, tab, need: selectedNeed ?? null, columns, at: peek?.at ?? null, usdPerMinute }
      this.#model.peekContent = { key, ...(await readPeek(this.#reeve, request, this.#out, Date.now() + this.#model.clockLead)) }
    } catch (error) {
      // Without a link it is read again when the daemon answers.
      if (isLinkLost(error)) this.#peekKey = ''
      if (!(error instanceof ApiError) || isLinkLost(error)) throw error
      this.#model.peekContent = { key, lines: [oneLine(error.message), oneLine(error.hint)] }
    }
  }

  #showNotice(text: string, isError = false): void {
    this.#model.notice = { text, isError }
    this.#screen.requestFrame()
  }

  #start(work: Promise<void>): void {
    const running = this.#track(work).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Waits for `work`, and shows its error or what it has changed. `isExpected`: whether an error is not shown. Never rejects. */
  async #track(work: Promise<void>, isExpected = (_: unknown): boolean => false): Promise<void> {
    try {
      await work
    } catch (error) {
      if (!isExpected(error)) this.#showNotice(errorText(error), true)
    }
    this.#screen.requestFrame()
  }
}
