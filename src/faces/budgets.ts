// Which budgets limit a process: those of the processes above it that pay for it. Pure. Test: test/tables/faces/budgets.test.ts.
import type { RowView } from '../api/views/rows.ts'

type Row = Pick<RowView, 'uuid' | 'parent' | 'budget' | 'budgetOf'>

/** The processes above that pay for this one and have a budget, the nearest first. Those that the list does not have are left out. */
export function budgetsAbove<T extends Row>(row: Row, rows: ReadonlyMap<string, T>): T[] {
  const found: T[] = []
  let at: Row | undefined = row
  // A process that has ended has no owner in its row. Its parent may have one.
  while (at) {
    const owner: T | undefined = at.budgetOf === null ? undefined : rows.get(at.budgetOf)
    if (owner && owner.uuid !== row.uuid && owner.budget !== null) found.push(owner)
    at = rows.get((owner ?? at).parent ?? '')
  }
  return found
}
