// An order of needs that is kept while the user points at them: what goes is removed, and what comes is only counted. Pure.
// Test: test/tables/web/shown-order.test.ts.

export interface ShownOrder {
  readonly shown: readonly string[]
  /** the number of new needs, which are not shown yet */
  readonly hidden: number
  /** true: all needs of the kept order are gone, so the present order is shown */
  readonly isUsedUp: boolean
}

/** What is shown of the present order `all` while `frozen` is kept; null: nothing is kept. */
export function shownOrder(all: readonly string[], frozen: readonly string[] | null): ShownOrder {
  const kept = frozen?.filter((key) => all.includes(key)) ?? null
  const isUsedUp = kept?.length === 0
  const shown = kept === null || isUsedUp ? all : kept
  return { shown, hidden: all.length - shown.length, isUsedUp }
}
