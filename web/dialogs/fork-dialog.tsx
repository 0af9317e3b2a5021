// Asks after which step a fork begins and how it differs from its origin, and makes it. The message stays until it is sent.
// Test: test/e2e/web/actions.test.ts.
import { signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { canTakeFiles, carryOverText, forkCommand } from '../../src/faces/fork-plan.ts'
import { formatLimitUsd } from '../../src/faces/format.ts'
import { lastWholeStep } from '../../src/faces/row-verbs.ts'
import { nameOf } from '../../src/faces/process-names.ts'
import { failure, fork } from '../actions.ts'
import { draftOf, keepDraft, removeSentDraft } from '../drafts.ts'
import { navigate } from '../router.ts'
import { EFFORTS } from '../word-lists.ts'
import { Dialog } from './dialog.tsx'
import { forkTarget, type ForkTarget } from './dialog-targets.ts'
import { changesOf, type ForkFields } from './fork-form.ts'

const NO_FIELDS: Omit<ForkFields, 'message'> = { model: '', effort: '', name: '', budget: '', withFiles: false }

const others = signal(NO_FIELDS)
const isMaking = signal(false)

/** The key of the message, which is a draft: it stays until the fork is made, also when the dialog closes. */
const draftKey = ({ uuid }: Pick<RowView, 'uuid'>): string => `${uuid} fork`

function fieldsFor(row: RowView): ForkFields {
  return { ...others.value, message: draftOf(draftKey(row)) }
}

function setField<K extends keyof typeof NO_FIELDS>(name: K, value: (typeof NO_FIELDS)[K]): void {
  others.value = { ...others.value, [name]: value }
}

/** Must be mounted anew each time the dialog opens, because its fields begin empty. */
export function ForkDialog({ target }: { readonly target: ForkTarget }): JSX.Element {
  const { row, step } = target
  useMemo(() => (others.value = { ...NO_FIELDS, withFiles: canTakeFiles(row, step) }), [])
  const changes = changesOf(fieldsFor(row))
  const make = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (changes === null) return
    isMaking.value = true
    const uuid = await fork(row.uuid, step, changes)
    isMaking.value = false
    if (uuid === null) return
    if (changes.message !== undefined) removeSentDraft(draftKey(row), changes.message)
    forkTarget.value = null
    navigate(`/p/${uuid}`)
  }
  const name = nameOf(row)
  return (
    <Dialog
      title={step === null ? `Fork ${name} as it is now` : `Fork ${name} after step ${step}`}
      onClose={() => (forkTarget.value = null)}
    >
      <form class="fork-form" onSubmit={(event) => void make(event)}>
        {step === null ? null : <StepRange row={row} step={step} />}
        <p class="quiet">{carryOverText(row, step)}</p>
        <ForkFields row={row} step={step} />
        {changes === null ? (
          <p class="problem" role="alert">
            The budget is not a number above 0. Write it as 5 or 0.5, without a unit.
          </p>
        ) : (
          <pre class="command">{forkCommand(row, step, changes)}</pre>
        )}
        {failure.value ? (
          <p class="problem" role="alert">
            {failure.value.message}. {failure.value.hint}
          </p>
        ) : null}
        <p class="buttons">
          <button type="submit" class="primary" disabled={isMaking.value || changes === null}>
            {isMaking.value ? 'Forking …' : 'Fork'}
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
  const { message, model, effort, name, budget, withFiles } = fieldsFor(row)
  return (
    <>
      <label>
        Message
        <textarea autofocus rows={3} value={message} onInput={(event) => keepDraft(draftKey(row), event.currentTarget.value)} />
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
            inputMode="decimal"
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
            now, shared with {nameOf(row)}
          </label>
        </fieldset>
      ) : null}
    </>
  )
}
