// The calendar and the budgets of the home. A new day or month, or a raised budget, continues the processes that wait for it.
// The rule by which a period ends is in state/home.ts. Test: test/tables/kernel/decide/limits/home-budgets.test.ts.
import { applyCalendar } from '../../state/home.ts'
import { wakeAllOfHome } from './enforce-limits.ts'
import type { InputOf } from '../../model/inputs.ts'
import type { DecisionDraft } from '../draft.ts'

/** Takes over the calendar and the budgets, and continues the held processes that have room now. */
export function updateHome(draft: DecisionDraft, { calendar, budgets }: InputOf<'home'>): void {
  draft.home = applyCalendar(draft.home, calendar, budgets)
  wakeAllOfHome(draft)
}
