// A message to a process. What was typed survives a reload and a lost link. Test: test/e2e/web/actions.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { isPending, sendMessage } from '../actions.ts'
import { isStale, may } from '../store.ts'

export function MessageBox({ row }: { readonly row: RowView }): JSX.Element | null {
  const key = `reeve.draft.${row.uuid}`
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '')
  const [isUrgent, setUrgent] = useState(false)
  if (!may('steer') || row.endedAt !== null || row.kind !== 'agent') return null
  const change = (value: string): void => {
    sessionStorage.setItem(key, value)
    setText(value)
  }
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (text !== '' && (await sendMessage(row.uuid, text, isUrgent))) change('')
  }
  return (
    <form class="reply message" onSubmit={(event) => void submit(event)}>
      <input aria-label="Message" placeholder="message" value={text} onInput={(event) => change(event.currentTarget.value)} />
      <label class="quiet">
        <input type="checkbox" checked={isUrgent} onChange={(event) => setUrgent(event.currentTarget.checked)} /> before its next model call
      </label>
      <button type="submit" disabled={text === '' || isStale.value || isPending(row.uuid, 'send')}>
        {isPending(row.uuid, 'send') ? 'asked' : 'Send'}
      </button>
    </form>
  )
}
