// What a process waits for or does, for how long, and a link to its cause. Test: test/e2e/web/process/resume.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { waitLink } from '../../src/faces/wait-links.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { rows } from '../rows.ts'
import { Since } from './clock.tsx'

export function WhyLine({ row }: { readonly row: RowView }): JSX.Element | null {
  if (row.why === null) return null
  const cause = waitLink(row, rows)
  return (
    <>
      {visibleText(row.why.text)}{' '}
      <span class="quiet">
        · <Since at={row.why.since} />
        {cause === null ? null : (
          <>
            {' · '}
            <a class="cause" href={cause.address}>
              {visibleText(cause.text)}
            </a>
          </>
        )}
      </span>
    </>
  )
}
