// The account of the whole home: what all processes together have spent in this calendar day and month, and the budgets for both. A period
// that has ended does not begin again when the clock goes back. The daemon reads the calendar, because the kernel knows no time zone. Must
// be changed only by a decision, whose commit also stores it.
// Tests: test/tables/kernel/state/home.test.ts, test/properties/home-budgets.test.ts.
import type { Calendar, Home, HomeBook, HomeBudgets, Period } from '../model/home.ts'
import { HOME_BUDGETS, type HomeBudgetName } from '../model/words.ts'

/** A budget of the home without room. */
export interface ReachedHomeBudget {
  readonly limit: HomeBudgetName
  /** USD */
  readonly used: number
  /** USD */
  readonly of: number
  readonly scope: 'home'
  /** only open calls use up the room, so it is worth waiting for their end */
  readonly shouldWait: boolean
  /** wall ms at which the period ends */
  readonly until: number
}

const NEW_PERIOD: Period = { number: 0, nanoUsd: 0, warnedNanoUsd: 0 }

export const EMPTY_HOME: Home = {
  book: { dailyUsd: NEW_PERIOD, monthlyUsd: NEW_PERIOD },
  budgets: {},
  ends: { dailyUsd: 0, monthlyUsd: 0 },
  hasWaiting: false,
}

/** A warning is recorded when this share of a budget is spent. */
const WARN_AT = 0.8
/** The maximum length of each period in ms. */
const MAX_PERIOD_MS: { readonly [B in HomeBudgetName]: number } = { dailyUsd: 86_400_000, monthlyUsd: 31 * 86_400_000 }
/** A period that is further ahead of the clock than this number of periods was opened by a wrong clock. */
const MAX_PERIODS_AHEAD: { readonly [B in HomeBudgetName]: number } = { dailyUsd: 2, monthlyUsd: 1 }

/** The names of the budgets that are set. */
export function configuredBudgets({ budgets }: Home): readonly HomeBudgetName[] {
  return HOME_BUDGETS.filter((name) => budgets[name] !== undefined)
}

/** Adds spent money to the day and to the month. */
export function addSpending(home: Home, nanoUsd: number): Home {
  if (nanoUsd === 0) return home
  return withBook(home, (name) => ({ ...home.book[name], nanoUsd: Math.max(0, home.book[name].nanoUsd + nanoUsd) }))
}

/** The account with the current calendar and budgets. */
export function applyCalendar(home: Home, calendar: Calendar, budgets: HomeBudgets): Home {
  const after = withBook(home, (name) => periodAt(name, home.book[name], calendar[name].number))
  const endOf = (name: HomeBudgetName): number => {
    const { number, end } = calendar[name]
    return end + Math.max(0, after.book[name].number - number) * MAX_PERIOD_MS[name]
  }
  return { ...after, budgets, ends: { dailyUsd: endOf('dailyUsd'), monthlyUsd: endOf('monthlyUsd') } }
}

/**
 * A later period begins with nothing spent. When the clock goes back, the period stays, so that it cannot begin again. A
 * period in the far future gets the number of the clock, but keeps what was spent.
 */
function periodAt(name: HomeBudgetName, period: Period, number: number): Period {
  if (number > period.number) return { ...NEW_PERIOD, number }
  return period.number - number > MAX_PERIODS_AHEAD[name] ? { ...period, number } : period
}

/** The budgets that need a warning now: nearly spent, and not warned of yet. */
export function budgetsToWarnOf(home: Home): readonly { readonly limit: HomeBudgetName; readonly used: number; readonly of: number }[] {
  return configuredBudgets(home).flatMap((limit) => {
    const { nanoUsd, warnedNanoUsd } = home.book[limit]
    const of = budgetNanoUsd(home, limit)
    return nanoUsd >= of * WARN_AT && warnedNanoUsd !== of ? [{ limit, used: nanoUsd / 1e9, of: of / 1e9 }] : []
  })
}

/** The account after a warning about a budget. */
export function withWarning(home: Home, limit: HomeBudgetName): Home {
  return withBook(home, (name) => (name === limit ? { ...home.book[name], warnedNanoUsd: budgetNanoUsd(home, name) } : home.book[name]))
}

/** The budget that is spent, the one with the latest end if there are two; null: none. */
export function findSpentBudget(home: Home): ReachedHomeBudget | null {
  const spent = configuredBudgets(home).filter((name) => home.book[name].nanoUsd >= budgetNanoUsd(home, name))
  const last = spent.at(-1)
  return last === undefined ? null : reachedBudget(home, last, false)
}

export function reachedBudget(home: Home, limit: HomeBudgetName, shouldWait: boolean): ReachedHomeBudget {
  const used = home.book[limit].nanoUsd / 1e9
  return { limit, used, of: home.budgets[limit] ?? 0, scope: 'home', shouldWait, until: home.ends[limit] }
}

/** What is left of a budget, in billionths of a dollar; negative: it is overspent. */
export function leftNanoUsd(home: Home, name: HomeBudgetName): number {
  return budgetNanoUsd(home, name) - home.book[name].nanoUsd
}

/** True if the stored parts of both accounts are equal. */
export function hasSameBook(a: Home, b: Home): boolean {
  return a.book === b.book
}

function budgetNanoUsd({ budgets }: Home, name: HomeBudgetName): number {
  return Math.round((budgets[name] ?? 0) * 1e9)
}

function withBook(home: Home, next: (name: HomeBudgetName) => Period): Home {
  const book: HomeBook = { dailyUsd: next('dailyUsd'), monthlyUsd: next('monthlyUsd') }
  return HOME_BUDGETS.every((name) => book[name] === home.book[name]) ? home : { ...home, book }
}
