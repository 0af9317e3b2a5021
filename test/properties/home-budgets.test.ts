// Budgets of the home under random calls, ends, kills, resumes, new daemons, raised budgets, and clocks that run forward and jump back.
// The model has two sums and the open calls. No call begins without room, no day or month begins twice, and no money is forgotten.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deep } from '../support/deep.ts'
import { HomeBudgetWorld } from '../support/kernel/home-budget-world.ts'
import type { Process } from '../../src/kernel/model/process.ts'

const UUIDS = ['a', 'b', 'c']
const PRICE = 1e-4
const uuid = fc.constantFrom(...UUIDS)
const budget = fc.constantFrom(undefined, 0.5, 1, 2)
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('ask' as const), uuid, tokens: fc.constantFrom(500, 1_000, 4_000, 9_000) }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('end' as const), uuid, share: fc.constantFrom(0, 0.3, 1) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('clock' as const), days: fc.constantFrom(-2, -1, 0, 1, 2) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('budgets' as const), dailyUsd: budget, monthlyUsd: budget }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('kill' as const), uuid }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('resume' as const), uuid }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('crash' as const) }) },
)
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

/** A month has ten days here. */
const monthOf = (day: number): number => Math.floor(day / 10)

class Life {
  readonly home = new HomeBudgetWorld()
  day = 100
  budgets: { dailyUsd?: number; monthlyUsd?: number } = {}
  /** the latest day and month so far */
  latest = { dailyUsd: 100, monthlyUsd: 10 }
  readonly spent = { dailyUsd: new Map<number, number>(), monthlyUsd: new Map<number, number>() }
  readonly open = new Map<string, number>()

  constructor() {
    this.#reportHome()
    for (const each of UUIDS) this.home.start(each)
  }

  play(next: Command): void {
    switch (next.type) {
      case 'ask':
        return this.#ask(next.uuid, next.tokens)
      case 'end':
        return this.#end(next.uuid, next.share)
      case 'clock':
        // A clock that is further back is another case: test/tables/kernel/state/home.test.ts.
        this.day = Math.max(this.day + next.days, this.latest.dailyUsd - 2)
        return this.#reportHome()
      case 'budgets':
        this.budgets = {
          ...(next.dailyUsd === undefined ? {} : { dailyUsd: next.dailyUsd }),
          ...(next.monthlyUsd === undefined ? {} : { monthlyUsd: next.monthlyUsd }),
        }
        return this.#reportHome()
      case 'kill':
        return this.#withEstimates(() => this.#kill(next.uuid))
      case 'resume':
        return this.#withEstimates(() => this.#resume(next.uuid))
      case 'crash':
        return this.#withEstimates(() => this.#crash())
    }
  }

  #reportHome(): void {
    this.latest = {
      dailyUsd: Math.max(this.latest.dailyUsd, this.day),
      monthlyUsd: Math.max(this.latest.monthlyUsd, monthOf(this.day)),
    }
    this.home.input({
      type: 'home',
      uuid: null,
      calendar: { dailyUsd: { number: this.day, end: 1 }, monthlyUsd: { number: monthOf(this.day), end: 1 } },
      budgets: this.budgets,
    })
  }

  #isUp(each: string): boolean {
    const life = this.home.world.overlay.get(each)?.life
    return life?.state === 'running' && life.attached
  }

  #ask(each: string, tokens: number): void {
    if (!this.#isUp(each) || this.open.has(each)) return
    const answer = this.home.requestCall(each, tokens)
    if (answer?.type !== 'ack' || answer.ack !== 'go') return
    this.open.set(each, (answer.maxOutputTokens ?? tokens) * PRICE)
    if (Object.keys(this.budgets).length > 0) this.#checkRoom()
  }

  /** Expects that all open calls together cannot exceed a budget. Calls from before the budget have no reservation. */
  #checkRoom(): void {
    const reserved = UUIDS.reduce((sum, each) => {
      const reserve = this.home.world.overlay.get(each)?.progress.reserve
      return sum + (reserve ? (reserve.maxOutputTokens ?? 0) * PRICE : 0)
    }, 0)
    for (const name of ['dailyUsd', 'monthlyUsd'] as const)
      if (this.budgets[name] !== undefined) expect(this.#spentNow(name) + reserved).toBeLessThanOrEqual(this.budgets[name] + 1e-9)
  }

  #spentNow(name: 'dailyUsd' | 'monthlyUsd'): number {
    return this.spent[name].get(this.latest[name]) ?? 0
  }

  #spend(usd: number): void {
    for (const name of ['dailyUsd', 'monthlyUsd'] as const) this.spent[name].set(this.latest[name], this.#spentNow(name) + usd)
  }

  #end(each: string, share: number): void {
    const reserved = this.open.get(each)
    if (reserved === undefined || !this.#isUp(each)) return
    this.open.delete(each)
    this.#spend(reserved * share)
    this.home.finishCall(each, reserved * share)
  }

  /** Charges the calls that `work` cuts off with the estimates in the rows of their processes. */
  #withEstimates(work: () => void): void {
    const sum = (): number => UUIDS.reduce((usd, each) => usd + (this.home.world.row(each)?.usage.costUsd ?? 0), 0)
    const before = sum()
    work()
    this.#spend(sum() - before)
  }

  #kill(each: string): void {
    if (!this.#isUp(each)) return
    this.open.delete(each)
    const { pid } = this.home.row(each)
    this.home.report(each, { type: 'exited', code: 1, osSignal: null })
    this.home.input({ type: 'released', uuid: each, pid, survivors: [] })
  }

  #resume(each: string): void {
    const endedRow = this.home.world.overlay.get(each) ? undefined : this.home.world.dead.get(each)
    if (!endedRow) return
    const request = { type: 'resume', reply: 1, by: 'user', uuid: each, endedRow, subtree: false, only: false, message: null } as const
    this.home.input({ ...request, spec: null, rerun: false })
    this.home.startDriver(each)
  }

  #crash(): void {
    const { world } = this.home
    world.restart(500)
    const rows = JSON.parse(JSON.stringify([...world.table.rows()])) as Process[]
    this.open.clear()
    for (const row of rows) this.home.input({ type: 'boot', uuid: row.uuid, survivors: [] })
    this.#reportHome()
  }

  check(): void {
    const { book } = this.home.world.overlay.home
    for (const name of ['dailyUsd', 'monthlyUsd'] as const) {
      expect(book[name].number).toBe(this.latest[name])
      expect(Math.abs(book[name].nanoUsd - this.#spentNow(name) * 1e9)).toBeLessThanOrEqual(100)
    }
    const reserved = UUIDS.reduce((sum, each) => sum + (this.home.world.overlay.get(each)?.progress.reserve?.maxOutputTokens ?? 0), 0)
    expect(this.home.world.overlay.accounts.reservedNanoUsd).toBe(Math.round(reserved * PRICE * 1e9))
  }

  /** Removes the budgets, and expects that no process stays held. */
  finish(): void {
    this.budgets = {}
    this.#reportHome()
    for (const each of UUIDS) {
      const life = this.home.world.overlay.get(each)?.life
      if (life?.state === 'running') expect(life.holds).toEqual([])
    }
  }
}

test('no random history exceeds a budget, forgets money, or begins a day twice', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const life = new Life()
      for (const next of commands) {
        life.play(next)
        life.check()
      }
      life.finish()
    }),
    { numRuns: deep(300, 20_000) },
  )
})
