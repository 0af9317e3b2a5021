// What the dialog of a fork sends. Must make no request. Pure. Test: test/tables/web/fork-form.test.ts.
import type { ForkChanges } from '../../src/faces/fork-plan.ts'
import { filledFields, isAmountValid } from './resume-form.ts'

export interface ForkFields {
  readonly message: string
  readonly model: string
  readonly effort: string
  readonly name: string
  /** in USD, as it was typed */
  readonly budget: string
  /** true: the fork works in a new worktree with the files of its step */
  readonly withFiles: boolean
}

/**
 * The fields that were filled in. Null: the budget is not valid, so nothing is sent: no fork may begin without the limit that was typed.
 */
export function changesOf({ message, model, effort, name, budget, withFiles }: ForkFields): ForkChanges | null {
  if (!isAmountValid({ amount: budget })) return null
  return {
    ...filledFields({ message, model, effort }),
    ...(name === '' ? {} : { name }),
    ...(budget.trim() === '' ? {} : { limits: { budgetUsd: Number(budget) } }),
    ...(withFiles ? { withFiles: true } : {}),
  }
}
