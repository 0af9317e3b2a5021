// The dialog of `reeve top` that forks a process, with the fields of the page's dialog: step, files, message, model, effort, name and
// budget. Test: test/tables/cli/top/fork-form.test.ts.
import { canTakeFiles, carryOverText, type ForkChanges } from '../../faces/fork-plan.ts'
import { formatLimitUsd } from '../../faces/format.ts'
import { titleOf } from '../../faces/process-names.ts'
import { lastWholeStep } from '../../faces/row-verbs.ts'
import { EFFORTS } from '../../kernel/model/words.ts'
import type { RowView } from '../../index.ts'
import { fork } from './actions.ts'
import { FormDialog, type FormField, type FormValues } from './form-dialog.ts'

/** Returns the dialog. `at`: the step that the panel shows; null: it shows the process as it is now. */
export function forkForm(row: RowView, at: number | null): FormDialog {
  const last = lastWholeStep(row)
  const hasStep = row.forks === 'any step'
  return new FormDialog({
    title: hasStep ? `fork of ${titleOf(row)}` : `fork of ${titleOf(row)}, as it is now`,
    first: 'message',
    fields: [
      ...(hasStep ? [{ name: 'step', label: `after step (0 to ${last})`, text: String(Math.min(at ?? last, last)) }] : []),
      ...(canTakeFiles(row, hasStep ? last : null) ? [filesField(row)] : []),
      { name: 'message', label: 'message', placeholder: 'none' },
      { name: 'model', label: 'model', placeholder: row.model ?? 'as it is' },
      { name: 'effort', label: 'effort', choices: [['', 'as it is'], ...EFFORTS.map((word) => [word, word] as const)] },
      { name: 'name', label: 'name', placeholder: 'none' },
      { name: 'budget', label: 'budget in USD', placeholder: budgetText(row) },
    ],
    notesOf: (values) => [carryOverText(row, hasStep ? Number(values['step']) : null)],
    actionOf: (values) => {
      const problem = problemOf(values, hasStep ? last : null)
      return problem === null ? fork(row, hasStep ? Number(values['step']) : null, changesOf(values)) : { problem }
    },
  })
}

function filesField(row: RowView): FormField {
  return {
    name: 'files',
    label: 'files',
    choices: [
      ['worktree', 'those of that step, in a new worktree'],
      ['shared', `its directory as it is now, shared with ${titleOf(row)}`],
    ],
  }
}

function budgetText({ budget }: RowView): string {
  return budget?.limit === 'budgetUsd' ? formatLimitUsd(budget.of) : 'as it is'
}

/**
 * Returns what is wrong; null if nothing is. `last`: the last step after which a fork can begin; null: the agent forks only as it is now.
 */
function problemOf({ step = '', budget = '' }: FormValues, last: number | null): string | null {
  if (last !== null && (!/^\d+$/.test(step) || Number(step) > last)) return `The step is a number from 0 to ${last}.`
  const usd = Number(budget.replace(/^\$/, ''))
  return budget === '' || (Number.isFinite(usd) && usd > 0) ? null : 'The budget is an amount such as 5 or 0.50.'
}

/** Returns the changes that the filled fields describe. */
function changesOf({ message = '', model = '', effort, name = '', budget = '', files }: FormValues): ForkChanges {
  const word = EFFORTS.find((one) => one === effort)
  return {
    ...(message === '' ? {} : { message }),
    ...(model === '' ? {} : { model }),
    ...(word === undefined ? {} : { effort: word }),
    ...(name === '' ? {} : { name }),
    ...(budget === '' ? {} : { limits: { budgetUsd: Number(budget.replace(/^\$/, '')) } }),
    ...(files === 'worktree' ? { withFiles: true } : {}),
  }
}
