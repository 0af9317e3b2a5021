// How many processes work, ask, are held or have failed; their cost today, and the cost of each of the last minutes.
// Test: test/e2e/web/fleet.test.ts.
import type { JSX } from 'preact'
import { formatCost } from '../../src/faces/format.ts'
import { countTexts, shownCounts } from '../../src/faces/marks.ts'
import { Sparkline } from '../parts/figures/sparkline.tsx'
import { askingUuids, rowSignal, sums } from '../rows.ts'
import { perMinute, spending } from '../spending.ts'

export function Counts(): JSX.Element | null {
  const all = sums.value
  if (!all) return null
  const asking = [...askingUuids.value].flatMap((uuid) => rowSignal(uuid).value ?? [])
  const texts = countTexts(shownCounts(all, asking))
  return (
    <span class="counts">
      {texts.length === 0 ? `${all.live} living` : texts.join(' · ')}
      {all.todayUsd > 0 ? ` · ${formatCost(all.todayUsd)} today` : ''}
      <SpentNow />
    </span>
  )
}

/** What is spent per minute now. Links to the page that shows what the money is spent on. */
function SpentNow(): JSX.Element | null {
  const rate = spending.value
  const now = rate === null ? 0 : perMinute(rate.total)
  if (rate === null || now === 0) return null
  return (
    <a href="/cost" class="spent-now">
      {formatCost(now)}/min <Sparkline values={rate.usdByMinute} label="cost of each of the last 30 minutes" />
    </a>
  )
}
