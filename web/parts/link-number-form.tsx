// Asks for the number of a link that goes through a proxy: six digits that the terminal shows beside the link.
// Test: test/e2e/web/access/elsewhere.test.ts.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { openSession, type NoSession, type StoredSession } from '../session.ts'

export function LinkNumberForm({
  code,
  onOpened,
}: {
  readonly code: string
  readonly onOpened: (opened: StoredSession) => void
}): JSX.Element {
  const [refused, setRefused] = useState<NoSession | null>(null)
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const number = String(new FormData(event.currentTarget as HTMLFormElement).get('number') ?? '')
    const opened = await openSession(code, number)
    if (typeof opened === 'string') setRefused(opened)
    else onOpened(opened)
  }
  return (
    <form class="empty" onSubmit={(event) => void submit(event)}>
      <p>
        <label for="number">The number that the terminal shows beside the link:</label>
      </p>
      <p>
        <input
          id="number"
          name="number"
          inputMode="numeric"
          autoComplete="one-time-code"
          pattern="[0-9]{6}"
          maxLength={6}
          size={8}
          required
        />{' '}
        <button type="submit">Open</button>
      </p>
      {refused === null ? null : (
        <p role="alert" data-no-session={refused}>
          {refused === 'unreachable'
            ? 'The daemon does not answer.'
            : 'The number is wrong, or the link was used or is too old. After three wrong numbers the link is void.'}
        </p>
      )}
    </form>
  )
}
