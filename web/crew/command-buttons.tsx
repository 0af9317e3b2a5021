// The buttons for the commands of a crew, and the dialog that asks for the fields of one. Both show the command line that does the same.
// No command is shown as done before the daemon has answered. Test: test/e2e/web/crew.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'
import type { CrewSteerView } from '../../src/api/views/crew.ts'
import { failure, failureOf } from '../actions.ts'
import { callApi } from '../session-api.ts'
import { showNotice } from '../notice.ts'
import { Dialog } from '../dialogs/dialog.tsx'
import { firstValues, isComplete, type Values } from '../parts/forms/field-values.ts'
import { FieldList } from '../parts/forms/fields.tsx'
import { isStale, may } from '../connection-state.ts'
import type { CrewCommand } from './commands.ts'

interface Opened {
  readonly uuid: string
  readonly command: CrewCommand
}

const opened = signal<Opened | null>(null)
const values = signal<Values>({})
const isSending = signal(false)

async function send({ uuid, command }: Opened, given: Values): Promise<boolean> {
  isSending.value = true
  try {
    const { note } = await callApi<CrewSteerView>(`/v1/crews/${uuid}/commands`, { method: 'POST', body: command.body(given) })
    failure.value = null
    showNotice(note ?? `${command.title.replace(' …', '')}: done`)
    return true
  } catch (error) {
    failure.value = failureOf(error, 'Look at the board before you send it again.')
    return false
  } finally {
    isSending.value = false
  }
}

/** Sends a command, or opens its dialog if it asks for something. */
function beginCommand(chosen: Opened): void {
  failure.value = null
  if (chosen.command.fields.length === 0) return void send(chosen, {})
  values.value = firstValues(chosen.command.fields)
  opened.value = chosen
}

const lineOf = ({ words }: CrewCommand, given: Values): string | null => words && shellLine(['reeve', 'crew', ...words(given)])

export interface CommandButtonsProps {
  readonly uuid: string
  /** what the commands act on, for screen readers */
  readonly label: string
  readonly commands: readonly CrewCommand[]
}

export function CommandButtons({ uuid, label, commands }: CommandButtonsProps): JSX.Element | null {
  const possible = commands.filter(({ right }) => may(right))
  if (possible.length === 0) return null
  return (
    <span class="buttons" role="group" aria-label={label}>
      {possible.map((command) => (
        <button
          key={command.title}
          type="button"
          title={lineOf(command, firstValues(command.fields)) ?? ''}
          disabled={isStale.value || isSending.value}
          onClick={() => beginCommand({ uuid, command })}
        >
          {command.title}
        </button>
      ))}
    </span>
  )
}

/** The dialog of the command that was chosen. */
export function CommandDialog(): JSX.Element | null {
  if (!opened.value) return null
  const { command } = opened.value
  const line = lineOf(command, values.value)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (opened.value && (await send(opened.value, values.value))) opened.value = null
  }
  return (
    <Dialog title={command.title.replace(' …', '')} onClose={() => (opened.value = null)}>
      <form class="fork-form" onSubmit={(event) => void submit(event)}>
        <FieldList
          fields={command.fields}
          values={values.value}
          onChange={(name, value) => (values.value = { ...values.value, [name]: value })}
        />
        {line === null ? null : <pre class="command">{line}</pre>}
        {failure.value ? (
          <p class="problem" role="alert">
            {failure.value.message}. {failure.value.hint}
          </p>
        ) : null}
        <p class="buttons">
          <button type="submit" class="primary" disabled={isSending.value || isStale.value || !isComplete(command.fields, values.value)}>
            {isSending.value ? 'Sending …' : command.title.replace(' …', '')}
          </button>
        </p>
      </form>
    </Dialog>
  )
}
