// Asks for a message to one process or to several, and sends it. What was typed stays until it is sent. Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { commandName, sendMessage, titleOf } from '../actions.ts'
import { doToAll } from '../batch.ts'
import { Dialog } from '../parts/dialog.tsx'

const opened = signal<readonly RowView[]>([])
const text = signal('')

export function openMessage(targets: readonly RowView[]): void {
  opened.value = targets
}

export function MessageDialog(): JSX.Element | null {
  const targets = opened.value
  const [first] = targets
  if (!first) return null
  const close = (): void => {
    opened.value = []
  }
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (text.value === '') return
    close()
    const isSent = targets.length === 1 ? await sendMessage(first.uuid, text.value, false) : await doToAll('send', targets, text.value)
    if (isSent) text.value = ''
  }
  return (
    <Dialog title={targets.length === 1 ? `Message to ${titleOf(first)}` : `Message to ${targets.length} processes`} onClose={close}>
      <form class="fork-form" onSubmit={(event) => void submit(event)}>
        <label>
          Message
          <textarea rows={3} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
        <pre class="command">
          {targets.map((row) => shellLine(['reeve', 'send', commandName(row), text.value === '' ? '…' : text.value])).join('\n')}
        </pre>
        <p class="buttons">
          <button type="submit" class="primary" disabled={text.value === ''}>
            Send
          </button>
        </p>
      </form>
    </Dialog>
  )
}
