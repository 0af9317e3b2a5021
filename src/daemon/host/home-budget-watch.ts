// Informs the kernel about the calendar and the budgets of the home. It does so at the start, when a day or month ends, and when
// config.yaml has changed. Each start of a process and `reeve usage` read config.yaml at once; a timer reads it for running processes.
// Writes one line to the log when a budget is nearly spent, and one when it is spent. Decides nothing.
// Test: test/e2e/limits/home-budgets.test.ts.
import { stat } from 'node:fs/promises'
import { isHomeBudget, reachedText } from '../../kernel/state/limits.ts'
import { findSpentBudget } from '../../kernel/state/home.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { ifMissing } from '../../kernel/util/missing-file.ts'
import { WALL_CHECK_MS } from '../loop/alarm.ts'
import { calendarAt } from './calendar.ts'
import { CheckedWallClock } from './checked-wall-clock.ts'
import type { Calendar, HomeBudgets } from '../../kernel/model/home.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Clock } from '../loop/clock.ts'
import type { Pipeline } from '../loop/pipeline.ts'
import type { Table } from '../loop/table.ts'

/** The time between two checks of config.yaml while processes wait for more money, in ms. */
const WAITING_CHECK_MS = 1_000

export interface HomeBudgetWatchDeps {
  readonly table: Table
  readonly clock: Clock
  readonly configFile: string
  /** reads the budgets from config.yaml */
  readonly readBudgets: () => Promise<HomeBudgets>
  readonly submit: Pipeline['submit']
  readonly log: (message: string, error: unknown) => void
}

export class HomeBudgetWatch {
  readonly #deps: HomeBudgetWatchDeps
  readonly #time: CheckedWallClock
  /** identifies the version of config.yaml that was read last */
  #configVersion = ''
  #budgets: HomeBudgets
  /** the error in config.yaml that was logged last; null if the file is valid */
  #configError: string | null = null
  /** the budgets and periods about which a line was logged */
  readonly #logged = new Set<string>()
  #cancel = (): void => {}
  #isStopped = false
  #lastCheck: Promise<void> = Promise.resolve()

  /** `budgets`: those that the table has already. */
  constructor(deps: HomeBudgetWatchDeps, budgets: HomeBudgets) {
    this.#deps = deps
    this.#budgets = budgets
    this.#time = new CheckedWallClock(deps.clock)
  }

  /** Submits the calendar and the budgets, and begins to watch both. */
  start(): void {
    this.#submit()
    this.#arm()
  }

  /** Must be called with the facts of each commit, after they were applied. */
  onFacts(facts: readonly StoredFact[]): void {
    for (const { body } of facts) {
      if ((body.type !== 'limit.warned' && body.type !== 'limit.reached') || !isHomeBudget(body.limit)) continue
      if (body.type === 'limit.reached' && body.action === 'wait') continue
      // A warning may come when the budget is already spent. Only one line is then logged: that the budget is spent.
      const type = body.used >= body.of ? 'limit.reached' : body.type
      const line = reachedText({ limit: body.limit, used: body.used, of: body.of, whose: null })
      const period = `${type} ${body.limit} ${body.of} ${this.#deps.table.home.book[body.limit].number}`
      if (!this.#logged.has(period)) this.#deps.log(line, null)
      this.#logged.add(period)
      this.#arm()
    }
  }

  /** Takes the budgets of a config.yaml that was just read for another reason. Must be called before the input that needs them. */
  useBudgets(budgets: HomeBudgets): void {
    if (JSON.stringify(budgets) === JSON.stringify(this.#budgets)) return
    this.#budgets = budgets
    this.#submit()
    this.#arm()
  }

  /** Returns the budgets that config.yaml has now. */
  async readNow(): Promise<HomeBudgets> {
    await this.#check()
    return this.#budgets
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    await this.#lastCheck
  }

  #arm(): void {
    this.#cancel()
    if (this.#isStopped) return
    const { table, clock } = this.#deps
    const isWaiting = findSpentBudget(table.home) !== null || table.home.hasWaiting
    this.#cancel = clock.after(isWaiting ? WAITING_CHECK_MS : this.#msToNextCheck(), () => {
      this.#lastCheck = this.#check().finally(() => this.#arm())
    })
  }

  /** The wall clock may jump, and runs on while the machine sleeps. So it is checked at least once a minute. */
  #msToNextCheck(): number {
    const { ends } = this.#deps.table.home
    const left = Math.min(ends.dailyUsd, ends.monthlyUsd) - this.#deps.clock.now().wall
    return Math.min(WALL_CHECK_MS, Math.max(WAITING_CHECK_MS, left))
  }

  async #check(): Promise<void> {
    if ((await this.#readConfig()) || this.#isNewPeriod()) this.#submit()
  }

  /** Reads config.yaml if it has changed. True if it has other budgets now. An invalid file changes nothing. */
  async #readConfig(): Promise<boolean> {
    try {
      const file = await stat(this.#deps.configFile).catch(ifMissing(null))
      const version = file === null ? '' : `${file.ino} ${file.mtimeMs} ${file.size}`
      if (version === this.#configVersion) return false
      this.#configVersion = version
      const before = this.#budgets
      this.#budgets = await this.#deps.readBudgets()
      this.#configError = null
      return JSON.stringify(before) !== JSON.stringify(this.#budgets)
    } catch (error) {
      const text = errorText(error)
      if (text !== this.#configError) this.#deps.log(`the budgets of the home stay as they are: ${text}`, null)
      this.#configError = text
      return false
    }
  }

  #calendar(): Calendar {
    const { book } = this.#deps.table.home
    return calendarAt(this.#time.now((wall) => calendarAt(wall).dailyUsd.number < book.dailyUsd.number))
  }

  #isNewPeriod(): boolean {
    const { book } = this.#deps.table.home
    const { dailyUsd, monthlyUsd } = this.#calendar()
    return dailyUsd.number !== book.dailyUsd.number || monthlyUsd.number !== book.monthlyUsd.number
  }

  #submit(): void {
    if (!this.#isStopped) this.#deps.submit({ type: 'home', uuid: null, calendar: this.#calendar(), budgets: this.#budgets })
  }
}
