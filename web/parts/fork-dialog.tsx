// Asks what a fork after a step has of its own, and makes it. Test: test/e2e/web/actions.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { commandName, failure, fork, type ForkChanges } from '../actions.ts'
import { navigate } from '../router.ts'
import { Dialog } from './dialog.tsx'

const opened = signal<{ readonly row: RowView; readonly step: number } | null>(null)
const message = signal('')
const model = signal('')
const withFiles = signal(false)
const isMaking = signal(false)

/** Opens the dialog for a fork after `step`. */
export function openFork(row: RowView, step: number): void {
  message.value = ''
  model.value = ''
  withFiles.value = row.branch !== null
  failure.value = null
  opened.value = { row, step }
}

export function ForkDialog(): JSX.Element | null {
  if (!opened.value) return null
  const { row, step } = opened.value
  const changes: ForkChanges = {
    ...(message.value === '' ? {} : { message: message.value }),
    ...(model.value === '' ? {} : { model: model.value }),
    ...(withFiles.value ? { withFiles: true } : {}),
  }
  const make = async (event: Event): Promise<void> => {
    event.preventDefault()
    isMaking.value = true
    const uuid = await fork(row.uuid, step, changes)
    isMaking.value = false
    if (uuid === null) return
    opened.value = null
    navigate(`/p/${uuid}`)
  }
  return (
    <Dialog title={`Fork ${row.name ?? `process ${row.pid}`} after step ${step}`} onClose={() => (opened.value = null)}>
      <form class="fork-form" onSubmit={(event) => void make(event)}>
        <p class="quiet">Steps 1 to {step} go along. Its children and its waiting messages do not; its budget begins at 0.</p>
        <label>
          Message
          <textarea rows={3} value={message.value} onInput={(event) => (message.value = event.currentTarget.value)} />
        </label>
        <label>
          Model
          <input value={model.value} placeholder={row.model ?? ''} onInput={(event) => (model.value = event.currentTarget.value)} />
        </label>
        {row.branch === null ? null : (
          <label class="inline">
            <input type="checkbox" checked={withFiles.value} onChange={(event) => (withFiles.value = event.currentTarget.checked)} /> in a
            new worktree, with the files of step {step}
          </label>
        )}
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

function forkCommand(row: RowView, step: number, { message: text, model: name, withFiles: files }: ForkChanges): string {
  const parts = ['reeve', 'resume', commandName(row), '--fork', '--from-step', String(step)]
  if (name !== undefined) parts.push('--model', name)
  if (files) parts.push('--with-files')
  if (text !== undefined) parts.push('--message', text)
  return shellLine(parts)
}
