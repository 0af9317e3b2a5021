// Asks how a held or ended process goes on: with a message, another model, or more of a limit. Then resumes the process. The message stays
// until it is sent, also when the dialog closes. Test: test/e2e/web/process/resume.test.ts.
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'
import type { SteerView } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCount } from '../../src/faces/format.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { failure, failureOf } from '../actions.ts'
import { callApi, readProcess } from '../session-api.ts'
import { draftOf, keepDraft, removeSentDraft } from '../drafts.ts'
import { showNotice } from '../notice.ts'
import { LIMIT_UNITS } from '../process/limit-units.ts'
import { EFFORTS } from '../word-lists.ts'
import { Dialog } from './dialog.tsx'
import { resumeTarget } from './dialog-targets.ts'
import { mustRerun, RESUME_LIMITS, resumeBody, resumeChoices, resumeCommand, type ResumeFacts, type ResumeFields } from './resume-form.ts'

const EMPTY: ResumeFields = { message: '', model: '', effort: '', limit: 'budgetUsd', amount: '', rerun: false, withBelow: true }

/** What the user has chosen, and how a choice changes. */
interface Chosen {
  readonly fields: ResumeFields
  readonly set: (changes: Partial<ResumeFields>) => void
}

export function ResumeDialog({ row }: { readonly row: RowView }): JSX.Element {
  // The limit that is nearest to its end: the one that the user probably wants to raise.
  const nearest = RESUME_LIMITS.find((limit) => limit === row.budget?.limit)
  const [others, setFields] = useState<ResumeFields>({ ...EMPTY, limit: nearest ?? EMPTY.limit })
  const draft = `${row.uuid} resume`
  const fields: ResumeFields = { ...others, message: draftOf(draft) }
  // null: the daemon has not answered yet
  const [facts, setFacts] = useState<ResumeFacts | null>(null)
  const [isRequested, setRequested] = useState(false)
  const set = ({ message, ...changes }: Partial<ResumeFields>): void => {
    if (message !== undefined) keepDraft(draft, message)
    setFields((before) => ({ ...before, ...changes }))
  }
  useEffect(() => {
    readProcess(row.uuid).then(
      (known) => {
        setFacts(known)
        if (row.endedAt !== null) set({ rerun: mustRerun(row, known) })
      },
      (error: unknown) => (failure.value = failureOf(error, 'Close this, and try again.')),
    )
  }, [])
  const close = (): void => {
    resumeTarget.value = null
  }
  const resume = async (event: Event): Promise<void> => {
    event.preventDefault()
    const body = facts && resumeBody(row, fields, facts.limits)
    if (body === null) return
    setRequested(true)
    const isDone = await send(row, body)
    setRequested(false)
    if (isDone && body.message !== undefined) removeSentDraft(draft, fields.message)
    if (isDone && resumeTarget.value === row) close()
  }
  const command = resumeCommand(row, fields, facts?.limits ?? {})
  return (
    <Dialog title={`Resume ${titleOf(row)}`} onClose={close}>
      <form class="fork-form" onSubmit={(event) => void resume(event)}>
        <p class="quiet">{goesOnText(row, fields.rerun)}</p>
        <ResumeFieldset row={row} facts={facts} fields={fields} set={set} />
        {command === null ? (
          <p class="problem" role="alert">
            The amount is not a number above 0. Write it as 5 or 0.5, without a unit.
          </p>
        ) : (
          <pre class="command">{shellLine(command)}</pre>
        )}
        {failure.value ? (
          <p class="problem" role="alert">
            {failure.value.message}. {failure.value.hint}
          </p>
        ) : null}
        <p class="buttons">
          <button type="submit" class="primary" disabled={isRequested || facts === null || command === null}>
            {isRequested ? 'Requested' : 'Resume'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}

/** Sends the resume. Returns whether it was accepted; if not, `failure` has the reason. */
async function send(row: RowView, body: object): Promise<boolean> {
  try {
    const { note, missing } = await callApi<SteerView>(`/v1/processes/${row.uuid}/resume`, { method: 'POST', body })
    failure.value = null
    const rest = [...(note === undefined ? [] : [note]), ...(missing === undefined ? [] : [`it waits for ${missing.join(', ')}`])]
    showNotice([`resumed ${titleOf(row)}`, ...rest].join('; '))
    return true
  } catch (error) {
    failure.value = failureOf(error, 'The resume may or may not have happened; look at the process.')
    return false
  }
}

function goesOnText(row: RowView, rerun: boolean): string {
  if (row.endedAt === null) return `It is held${row.why === null ? '' : `: ${row.why.text}`}.`
  if (resumeChoices(row).rerun && rerun) return 'It runs again from its beginning, with a new PID.'
  return row.step === 0 ? 'It goes on with a new PID.' : `It goes on after step ${row.step}, with a new PID.`
}

interface FieldsetProps extends Chosen {
  readonly row: RowView
  readonly facts: ResumeFacts | null
}

function ResumeFieldset({ row, facts, fields, set }: FieldsetProps): JSX.Element {
  const { message, model, effort, rerun, withBelow } = fields
  const choices = resumeChoices(row)
  return (
    <>
      {choices.rerun ? (
        <label class="inline">
          <input type="checkbox" checked={rerun} onChange={(event) => set({ rerun: event.currentTarget.checked })} /> run it again from its
          beginning
        </label>
      ) : null}
      {choices.message && !(choices.rerun && rerun) ? (
        <label>
          Message
          <textarea autofocus rows={3} value={message} onInput={(event) => set({ message: event.currentTarget.value })} />
        </label>
      ) : null}
      <div class="fork-columns">
        {choices.model ? (
          <>
            <label>
              Model
              <input value={model} placeholder={row.model ?? ''} onInput={(event) => set({ model: event.currentTarget.value })} />
            </label>
            <label>
              Effort
              <select value={effort} onChange={(event) => set({ effort: event.currentTarget.value })}>
                <option value="">as it is</option>
                {EFFORTS.map((word) => (
                  <option key={word}>{word}</option>
                ))}
              </select>
            </label>
          </>
        ) : null}
        <LimitFields facts={facts} fields={fields} set={set} />
      </div>
      {choices.withBelow ? (
        <label class="inline">
          <input type="checkbox" checked={withBelow} onChange={(event) => set({ withBelow: event.currentTarget.checked })} /> also resume
          what was paused with it ({formatCount(row.sub.held - 1, 'held process')} below it)
        </label>
      ) : null}
    </>
  )
}

/** One limit, and how much is added to it. */
function LimitFields({ facts, fields: { limit, amount }, set }: Omit<FieldsetProps, 'row'>): JSX.Element {
  const present = facts?.limits[limit]
  const { name, unit, format } = LIMIT_UNITS[limit]
  const what = present === undefined ? 'New limit' : `Added to ${format(present)}`
  return (
    <>
      <label>
        Limit
        <select
          aria-label="Limit"
          value={limit}
          onChange={(event) => set({ limit: RESUME_LIMITS.find((one) => one === event.currentTarget.value) ?? limit })}
        >
          {RESUME_LIMITS.map((one) => (
            <option key={one} value={one}>
              {LIMIT_UNITS[one].name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {what}
        {unit[0] === '' ? '' : `, in ${unit[0]}`}
        <input
          inputMode="decimal"
          aria-label={`${what}: ${name}`}
          placeholder="as it is"
          value={amount}
          onInput={(event) => set({ amount: event.currentTarget.value })}
        />
      </label>
    </>
  )
}
