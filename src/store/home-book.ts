// Reads and writes the account of the home: three numbers of `meta` for the day, and three for the month. It is written in the
// commit of the facts that spend the money, so that it counts each of them once. Test: test/tables/store/home-book.test.ts.
import type { HomeBook, Period } from '../kernel/model/home.ts'
import { HOME_BUDGETS, type HomeBudgetName } from '../kernel/model/words.ts'
import { metaValue } from './schema.ts'
import type { Statements } from './statements.ts'

/** The fields of a period, with the ends of their names in `meta`. */
const FIELDS = { number: 'period', nanoUsd: 'nano', warnedNanoUsd: 'warned' } as const satisfies Record<keyof Period, string>

function metaName(budget: HomeBudgetName, field: keyof Period): string {
  return ['home', budget, FIELDS[field]].join(' ')
}

/** Returns null if the account was never written. Errors: `STORE_DAMAGED`. */
export function readHomeBook(sql: Statements): HomeBook | null {
  const numberAt = (budget: HomeBudgetName, field: keyof Period): number | null => {
    const row = sql.counter.get(metaName(budget, field))
    return row ? metaValue(metaName(budget, field), row) : null
  }
  const periodOf = (budget: HomeBudgetName): Period | null => {
    const [number, nanoUsd, warnedNanoUsd] = [numberAt(budget, 'number'), numberAt(budget, 'nanoUsd'), numberAt(budget, 'warnedNanoUsd')]
    return number === null || nanoUsd === null || warnedNanoUsd === null ? null : { number, nanoUsd, warnedNanoUsd }
  }
  const [dailyUsd, monthlyUsd] = [periodOf('dailyUsd'), periodOf('monthlyUsd')]
  return dailyUsd === null || monthlyUsd === null ? null : { dailyUsd, monthlyUsd }
}

/** Writes the account within the caller's transaction. */
export function writeHomeBook(sql: Statements, book: HomeBook): void {
  for (const budget of HOME_BUDGETS)
    for (const field of ['number', 'nanoUsd', 'warnedNanoUsd'] as const) {
      const value = book[budget][field]
      sql.setMeta.run(metaName(budget, field), value, -value)
    }
}
