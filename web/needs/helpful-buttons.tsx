// The buttons that end what a process needs, where that is no question: a hold, a silence, an end that was not seen.
// Test: test/e2e/web/process/resume.test.ts.
import type { JSX } from 'preact'
import { helpfulVerbs, waitLink } from '../../src/faces/row-verbs.ts'
import { ActionButton } from '../parts/action-bar.tsx'
import { isPossible } from '../row-actions.ts'
import { rows, rowSignal } from '../rows.ts'

export function HelpfulButtons({ uuid }: { readonly uuid: string }): JSX.Element | null {
  const row = rowSignal(uuid).value
  if (!row) return null
  const names = helpfulVerbs(row).filter((name) => isPossible(name, row))
  const isHeldByLimit = row.why?.kind === 'hold:budget' && !names.includes('raiseBudget')
  const cause = waitLink(row, rows)
  if (names.length === 0 && !isHeldByLimit) return null
  return (
    <p class="buttons">
      {isHeldByLimit ? (
        <a class="button" href={`${cause?.address ?? `/p/${uuid}`}/limits`}>
          Change {cause === null ? 'its limit' : `the limit of ${cause.text}`} …
        </a>
      ) : null}
      {names.map((name) => (
        <ActionButton key={name} name={name} row={row} />
      ))}
    </p>
  )
}
