// How full the context of a process is, with a line where reeve compacts it. Test: test/e2e/web/process.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../../src/api/views/rows.ts'
import { formatTokens } from '../../../src/faces/format.ts'

export function ContextBar({ ctx: { used, window, compactsAt } }: { readonly ctx: NonNullable<RowView['ctx']> }): JSX.Element {
  const share = Math.min(1, used / window)
  const text = `${formatTokens(used)} of ${formatTokens(window)} (${Math.round(100 * share)} %)`
  const label = compactsAt === null ? text : `${text}, compacted at ${formatTokens(compactsAt)}`
  return (
    <span class="budget-bar" role="img" aria-label={label} title={label}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="8" />
        <rect class="used" width={100 * share} height="8" />
        {compactsAt === null ? null : <rect class="warn" x={(100 * compactsAt) / window} width="0.8" height="8" />}
      </svg>
      <span>{text}</span>
    </span>
  )
}
