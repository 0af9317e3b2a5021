// `reeve top`: shows all processes on a screen of its own and takes keys. Follows the rows of the daemon, and never starts a daemon after the
// first request, because the user may have stopped it. Tests: test/e2e/screen/top.test.ts, test/tables/cli/top.
import { ApiError } from '../../api/client/client.ts'
import { connect, type Reeve } from '../../index.ts'
import { oneLine } from '../print/text.ts'
import { stakesLines } from '../print/details/stakes-text.ts'
import type { Output } from '../print/output.ts'
import { Throttle } from '../live/throttle.ts'
import type { TerminalReport } from '../screen/key-reader.ts'
import { Screen } from '../screen/screen.ts'
import { Controller } from './controller.ts'
import type { Action, Outcome } from './dialogs.ts'
import { frameOf } from './frame-lines.ts'
import { TopModel } from './model.ts'
import { readPeek } from './peek.ts'

/** the shortest time between two reads of the needs, and of the panel */
const READ_MS = 500
const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** the time between two reads of what is spent a minute */
const RATE_MS = 10_000
const RATE_MINUTES = 5
/** the most needs that are read */
const MAX_NEEDS = 50

export interface TopOptions {
  /** also shows what ended in the last 24 hours */
  readonly showsEnded: boolean
  readonly filter: string
}

export async function runTop(reeve: Reeve, out: Output, options: TopOptions): Promise<number> {
  // This request starts the daemon if none answers; the stream does not.
  await reeve.daemon()
  using top = new Top(connect({ start: false }), out, options)
  await top.run()
  return 0
}

class Top implements Disposable {
  readonly #reeve: Reeve
  readonly #out: Output
  readonly #model = new TopModel()
  readonly #controller = new Controller(this.#model, () => performance.now())
  readonly #screen: Screen
  readonly #end = new AbortController()
  readonly #needs = new Throttle(READ_MS, () => this.#track(this.#readNeeds()))
  readonly #peek = new Throttle(READ_MS, () => this.#track(this.#readPeek()))
  readonly #running = new Set<Promise<void>>()
  readonly #rateClock = setInterval(() => this.#track(this.#readRate()), RATE_MS)
  /** what the panel showed when its content was requested */
  #peekKey = ''
  #askCount = 0

  constructor(reeve: Reeve, out: Output, { showsEnded, filter }: TopOptions) {
    this.#reeve = reeve
    this.#out = out
    this.#model.showsEnded = showsEnded
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
    for await (const event of this.#reeve.followRows({ scope: 'recent', signal: this.#end.signal, onLink })) {
      this.#model.onRows(event, performance.now(), Date.now())
      if (event.type !== 'alive') this.#needs.request()
      this.#refreshPeek()
      this.#screen.requestFrame()
    }
    await Promise.all(this.#running)
  }

  [Symbol.dispose](): void {
    for (const name of END_SIGNALS) process.off(name, this.#leave)
    clearInterval(this.#rateClock)
    this.#needs[Symbol.dispose]()
    this.#peek[Symbol.dispose]()
    this.#screen[Symbol.dispose]()
  }

  #leave = (): void => this.#end.abort()

  #onReport = (report: TerminalReport): void => {
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
        return this.#say(
          this.#screen.hasMouse ? 'the wheel scrolls; M gives the mouse back to the terminal' : 'the mouse selects text again',
        )
      case 'copy':
        // OSC 52: the terminal puts the text into the clipboard, if the user allows it.
        this.#screen.send(`\x1b]52;c;${Buffer.from(outcome.text).toString('base64')}\x07`)
        return this.#say(`copied: ${outcome.text}`)
      case 'stakes':
        return this.#track(this.#readStakes(outcome))
      case 'action':
        return this.#track(this.#perform(outcome.action))
      case undefined:
    }
  }

  async #perform(action: Action): Promise<void> {
    this.#say(`asked: ${action.command}`)
    this.#say(await action.run(this.#reeve))
  }

  async #readStakes({ dialog, row, how }: Extract<Outcome, { type: 'stakes' }>): Promise<void> {
    try {
      const lines = stakesLines(await this.#reeve.stakes(row.uuid, how, { subtree: true }), Date.now())
      dialog.stakes = lines
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      dialog.stakes = [`What it would cost is not known: ${error.message}`]
    }
  }

  async #readNeeds(): Promise<void> {
    const { needs } = await this.#reeve.needs({ limit: MAX_NEEDS })
    this.#model.onNeeds(needs, performance.now())
    const asks = needs.filter(({ ask }) => ask !== null).length
    if (asks !== this.#askCount) this.#screen.send(`\x1b]2;${asks > 0 ? `${asks} ask - ` : ''}reeve top\x07`)
    this.#askCount = asks
  }

  async #readRate(): Promise<void> {
    const { total } = await this.#reeve.usageRate()
    this.#model.usdPerMinute = total.find(({ minutes }) => minutes === RATE_MINUTES)?.costUsd ?? 0
  }

  /** Requests the content of the panel again if it shows something else, or if its process has gone on. */
  #refreshPeek(): void {
    const { selected, shownTab, selectedRow } = this.#model
    const key = shownTab === null ? '' : `${selected} ${shownTab} ${selectedRow?.seq}`
    if (key === this.#peekKey) return
    this.#peekKey = key
    if (key !== '') this.#peek.request()
  }

  async #readPeek(): Promise<void> {
    const { selected: uuid, shownTab: tab, selectedNeed } = this.#model
    if (uuid === null || tab === null) return
    const { columns = 80 } = process.stdout
    try {
      const lines = await readPeek(
        this.#reeve,
        { uuid, tab, need: selectedNeed ?? null, columns },
        this.#out,
        Date.now() + this.#model.clockLead,
      )
      this.#model.peekContent = { uuid, tab, lines }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.#model.peekContent = { uuid, tab, lines: [oneLine(error.message), oneLine(error.hint)] }
    }
  }

  #say(text: string, isError = false): void {
    this.#model.notice = { text, isError }
    this.#screen.requestFrame()
  }

  /** Runs work beside the screen. Its error is shown. */
  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error
        this.#say(`${error.message}${error.hint === '' ? '' : `: ${error.hint}`}`, true)
      })
      .finally(() => {
        this.#running.delete(tracked)
        this.#screen.requestFrame()
      })
    this.#running.add(tracked)
  }
}
