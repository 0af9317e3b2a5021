// Asks after which step a fork begins and how it differs from its origin, and makes it. Test: test/e2e/web/actions.test.ts.
import { signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { canTakeFiles, carriedText, forkCommand, type ForkChanges } from '../../src/faces/fork-plan.ts'
import { formatLimitUsd } from '../../src/faces/format.ts'
import { lastWholeStep } from '../../src/faces/row-verbs.ts'
import { failure, fork } from '../actions.ts'
import { navigate } from '../router.ts'
import { EFFORTS } from '../word-lists.ts'
import { Dialog } from './dialog.tsx'
import { forkTarget, type ForkTarget } from './dialog-targets.ts'

const fields = signal({ message: '', model: '', effort: '', name: '', budget: '', withFiles: false })
const isMaking = signal(false)

/** Empties the fields, because the dialog has opened. */
function clearFields({ row, step }: ForkTarget): void {
  fields.value = { message: '', model: '', effort: '', name: '', budget: '', withFiles: canTakeFiles(row, step) }
}

function setField<K extends keyof typeof fields.value>(name: K, value: (typeof fields.value)[K]): void {
  fields.value = { ...fields.value, [name]: value }
}

/** The fields that were filled in. */
function changesOf({ message, model, effort, name, budget, withFiles }: typeof fields.value): ForkChanges {
  const budgetUsd = Number(budget)
  const word = EFFORTS.find((one) => one === effort)
  return {
    ...(message === '' ? {} : { message }),
    ...(model === '' ? {} : { model }),
    ...(word === undefined ? {} : { effort: word }),
    ...(name === '' ? {} : { name }),
    ...(budgetUsd > 0 ? { limits: { budgetUsd } } : {}),
    ...(withFiles ? { withFiles: true } : {}),
  }
}

/** It is drawn anew each time it opens. */
export function ForkDialog({ target }: { readonly target: ForkTarget }): JSX.Element {
  useMemo(() => clearFields(target), [])
  const { row, step } = target
  const changes = changesOf(fields.value)
  const make = async (event: Event): Promise<void> => {
    event.preventDefault()
    isMaking.value = true
    const uuid = await fork(row.uuid, step, changes)
    isMaking.value = false
    if (uuid === null) return
    forkTarget.value = null
    navigate(`/p/${uuid}`)
  }
  const name = row.name ?? `process ${row.pid}`
  return (
    <Dialog
      title={step === null ? `Fork ${name} as it is now` : `Fork ${name} after step ${step}`}
      onClose={() => (forkTarget.value = null)}
    >
      <form class="fork-form" onSubmit={(event) => void make(event)}>
        {step === null ? null : <StepRange row={row} step={step} />}
        <p class="quiet">{carriedText(row, step)}</p>
        <ForkFields row={row} step={step} />
        <pre class="command">{forkCommand(row, step, changes)}</pre>
        {failure.value ? (
          <p class="problem" role="alert">
            {failure.value.message}. {failure.value.hint}
          </p>
        ) : null}
        <p class="buttons">
          <button type="submit" class="primary" disabled={isMaking.value}>
            {isMaking.value ? 'asked' : 'Fork'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

function StepRange({ row, step }: { readonly row: RowView; readonly step: number }): JSX.Element {
  const last = Math.max(step, lastWholeStep(row))
  return (
    <label>
      after step {step} of {row.step}
      <input
        type="range"
        min={1}
        max={last}
        value={step}
        onInput={(event) => (forkTarget.value = { row, step: Number(event.currentTarget.value) })}
      />
    </label>
  )
}

function ForkFields({ row, step }: { readonly row: RowView; readonly step: number | null }): JSX.Element {
  const { message, model, effort, name, budget, withFiles } = fields.value
  return (
    <>
      <label>
        Message
        <textarea autofocus rows={3} value={message} onInput={(event) => setField('message', event.currentTarget.value)} />
      </label>
      <div class="fork-columns">
        <label>
          Model
          <input value={model} placeholder={row.model ?? ''} onInput={(event) => setField('model', event.currentTarget.value)} />
        </label>
        <label>
          Effort
          <select value={effort} onChange={(event) => setField('effort', event.currentTarget.value)}>
            <option value="">as it is</option>
            {EFFORTS.map((word) => (
              <option key={word}>{word}</option>
            ))}
          </select>
        </label>
        <label>
          Name
          <input value={name} onInput={(event) => setField('name', event.currentTarget.value)} />
        </label>
        <label>
          Budget in USD
          <input
            type="number"
            min="0"
            step="any"
            value={budget}
            placeholder={row.budget?.limit === 'budgetUsd' ? formatLimitUsd(row.budget.of) : 'as it is'}
            onInput={(event) => setField('budget', event.currentTarget.value)}
          />
        </label>
      </div>
      {canTakeFiles(row, step) ? (
        <fieldset>
          <legend>Files</legend>
          <label class="inline">
            <input type="radio" name="files" checked={withFiles} onChange={() => setField('withFiles', true)} /> those of step {step}, in a
            new worktree
          </label>
          <label class="inline">
            <input type="radio" name="files" checked={!withFiles} onChange={() => setField('withFiles', false)} /> this directory as it is
            now, shared with {row.name ?? 'it'}
          </label>
        </fieldset>
      ) : null}
    </>
  )
}
