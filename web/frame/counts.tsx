// How many processes do what, and what they cost today. Test: test/e2e/web/fleet.test.ts.
import type { JSX } from 'preact'
import { formatCost } from '../../src/faces/format.ts'
import { sums } from '../rows.ts'

export function Counts(): JSX.Element | null {
  const all = sums.value
  if (!all) return null
  const parts = [
    [all.working, 'working'],
    [all.asking, 'ask'],
    [all.held, 'held'],
    [all.failed, 'failed'],
  ] as const
  const texts = parts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]))
  return (
    <span class="counts">
      {texts.length === 0 ? `${all.live} living` : texts.join(' · ')}
      {all.todayUsd > 0 ? ` · ${formatCost(all.todayUsd)} today` : ''}
    </span>
  )
}
