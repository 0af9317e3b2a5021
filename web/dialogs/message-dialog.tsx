// Asks for a message to one process or to several, and sends it. A text that was typed stays for the same processes until it is sent.
// Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { sendMessage } from '../actions.ts'
import { commandName, titleOf } from '../../src/faces/process-names.ts'
import { doToAll } from '../batch.ts'
import { draftOf, keepDraft, removeSentDraft } from '../drafts.ts'
import { Dialog } from './dialog.tsx'

const opened = signal<readonly RowView[]>([])

export function openMessage(targets: readonly RowView[]): void {
  opened.value = targets
}

export function MessageDialog(): JSX.Element | null {
  const targets = opened.value
  const [first] = targets
  if (!first) return null
  const key = targets
    .map(({ uuid }) => uuid)
    .toSorted()
    .join(' ')
  const text = draftOf(key)
  const close = (): void => {
    opened.value = []
  }
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (text === '') return
    close()
    const isSent = targets.length === 1 ? await sendMessage(first.uuid, text, false) : await doToAll('send', targets, text)
    if (isSent) removeSentDraft(key, text)
  }
  return (
    <Dialog title={targets.length === 1 ? `Message to ${titleOf(first)}` : `Message to ${targets.length} processes`} onClose={close}>
      <form class="fork-form" onSubmit={(event) => void submit(event)}>
        <label>
          Message
          <textarea rows={3} value={text} onInput={(event) => keepDraft(key, event.currentTarget.value)} />
        </label>
        <pre class="command">
          {targets.map((row) => shellLine(['reeve', 'send', commandName(row), text === '' ? '…' : text])).join('\n')}
        </pre>
        <p class="buttons">
          <button type="submit" class="primary" disabled={text === ''}>
            Send
          </button>
        </p>
      </form>
    </Dialog>
  )
}
