// The buttons for a need without a question: the process is held or silent, or the user has not seen its end. A button ends the need, or
// puts it off. Test: test/e2e/web/process/resume.test.ts.
import type { JSX } from 'preact'
import { helpfulVerbs } from '../../src/faces/row-verbs.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { limitLink } from '../../src/faces/wait-links.ts'
import { ActionButton } from '../parts/action-bar.tsx'
import { isPossible } from '../row-actions.ts'
import { rows, rowSignal } from '../rows.ts'

export function HelpfulButtons({ uuid }: { readonly uuid: string }): JSX.Element | null {
  const row = rowSignal(uuid).value
  if (!row) return null
  const names = helpfulVerbs(row).filter((name) => isPossible(name, row))
  const limit = names.includes('raiseBudget') ? null : limitLink(row, rows)
  if (names.length === 0 && limit === null) return null
  return (
    <p class="buttons">
      {limit === null ? null : (
        <a class="button" href={limit.address}>
          {visibleText(limit.text)}
        </a>
      )}
      {names.map((name) => (
        <ActionButton key={name} name={name} row={row} />
      ))}
    </p>
  )
}
