// Asks how much is added to the budget in USD of a process, and adds it. Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatLimitUsd } from '../../src/faces/format.ts'
import { perform } from '../actions.ts'
import { commandName, titleOf } from '../../src/faces/process-names.ts'
import { Dialog } from './dialog.tsx'

const opened = signal<RowView | null>(null)
const amount = signal('')

/** Opens the dialog for the budget of a process. */
export function openBudget(row: RowView): void {
  amount.value = '5'
  opened.value = row
}

export function BudgetDialog(): JSX.Element | null {
  const row = opened.value
  if (!row) return null
  const close = (): void => {
    opened.value = null
  }
  const usd = Number(amount.value)
  const isValid = Number.isFinite(usd) && usd > 0
  const raise = (event: Event): void => {
    event.preventDefault()
    if (!isValid) return
    close()
    void perform(row.uuid, 'resume', { raise: { budgetUsd: usd } })
  }
  const { budget } = row
  return (
    <Dialog title={`Raise the budget of ${titleOf(row)}`} onClose={close}>
      <form class="fork-form" onSubmit={raise}>
        {budget?.limit === 'budgetUsd' ? (
          <p>
            {formatLimitUsd(Math.round(budget.used * 100) / 100)} of {formatLimitUsd(budget.of)} is used, including its descendants.
          </p>
        ) : (
          <p class="quiet">Its nearest limit is not a budget in USD.</p>
        )}
        <label>
          Add, in USD
          <input inputMode="decimal" value={amount.value} onInput={(event) => (amount.value = event.currentTarget.value)} />
        </label>
        <pre class="command">{`reeve resume ${commandName(row)} --budget-usd +${amount.value}`}</pre>
        <p class="buttons">
          <button type="submit" class="primary" disabled={!isValid}>
            Raise it
          </button>
        </p>
      </form>
    </Dialog>
  )
}
