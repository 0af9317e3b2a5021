// A message to a process. What was typed is a draft, the same as in the dialog for a message.
// Tests: test/e2e/web/actions.test.ts, test/e2e/web/process/tabs.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { isPending, sendMessage } from '../actions.ts'
import { draftOf, keepDraft, removeSentDraft } from '../drafts.ts'
import { isStale, may } from '../connection-state.ts'

export function MessageBox({ row }: { readonly row: RowView }): JSX.Element | null {
  const text = draftOf(row.uuid)
  const [isUrgent, setUrgent] = useState(false)
  if (!may('steer') || row.endedAt !== null || row.kind !== 'agent') return null
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (text !== '' && (await sendMessage(row.uuid, text, isUrgent))) removeSentDraft(row.uuid, text)
  }
  return (
    <form class="reply message" onSubmit={(event) => void submit(event)}>
      <input aria-label="Message" placeholder="message" value={text} onInput={(event) => keepDraft(row.uuid, event.currentTarget.value)} />
      <label class="quiet">
        <input type="checkbox" checked={isUrgent} onChange={(event) => setUrgent(event.currentTarget.checked)} /> before its next model call
      </label>
      <button type="submit" disabled={text === '' || isStale.value || isPending(row.uuid, 'send')}>
        {isPending(row.uuid, 'send') ? 'asked' : 'Send'}
      </button>
    </form>
  )
}
