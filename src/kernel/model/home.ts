// Types of the home's account: what all processes together have spent in this calendar day and month, and the budgets for both. Only
// `HomeBook` is stored. state/home.ts has the rules. Test: test/tables/kernel/state/home.test.ts.
import type { HomeBudgetName } from './words.ts'

/** The budgets of the home in USD. An absent budget does not apply. */
export type HomeBudgets = { readonly [B in HomeBudgetName]?: number }

/** What was spent in one calendar day or month. */
export interface Period {
  /** the number of the day since 1970, or of the month since the year 0 */
  readonly number: number
  /** in billionths of a dollar */
  readonly nanoUsd: number
  /** the budget, in billionths of a dollar, about which a warning was recorded; 0: none */
  readonly warnedNanoUsd: number
}

/** The current day and month; the part of the account that is stored. */
export type HomeBook = { readonly [B in HomeBudgetName]: Period }

/** The day and the month by the daemon's clock: their numbers, and the wall ms at which they end. */
export type Calendar = { readonly [B in HomeBudgetName]: { readonly number: number; readonly end: number } }

/** The account of the home: the current periods, their budgets and their ends. */
export interface Home {
  readonly book: HomeBook
  readonly budgets: HomeBudgets
  /** wall ms at which each period ends */
  readonly ends: { readonly [B in HomeBudgetName]: number }
  /** a process may wait until open calls leave room in a budget of the home */
  readonly hasWaiting: boolean
}
