// A process as it was after one of its steps: its figures, and a bar that names the step and leads back to now.
// Test: test/e2e/web/process/steps.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatClock, formatCost, formatElapsed, formatTokens } from '../../src/faces/format.ts'
import { activeMs, indexOfStep, usageUpTo, type StepColumns } from '../../src/faces/step-list.ts'
import type { Live } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'
import { openFork } from '../dialogs/dialog-targets.ts'
import { setQuery } from '../router.ts'
import { asOf, showStep } from './address.ts'
import { FigureList, type Figure } from './figures.tsx'
import { canFork } from './step-rows.tsx'

interface ReplayProps {
  readonly row: RowView
  readonly steps: Live<StepColumns>
}

/** The index of the step as of which the process is shown; -1: there is none. */
function indexAsOf(columns: StepColumns): number {
  const index = indexOfStep(columns, asOf.value ?? 0)
  return columns.step[index] === asOf.value ? index : -1
}

export function ReplayBar({ row, steps }: ReplayProps): JSX.Element {
  const columns = steps.value.value
  const index = columns ? indexAsOf(columns) : -1
  const back = (
    <button type="button" title="key z" onClick={() => setQuery('as', '')}>
      Back to now
    </button>
  )
  if (!columns || index < 0)
    return (
      <p class="replay-bar" role="status">
        {columns ? `There is no step ${asOf.value}.` : 'The steps are being read.'} {back}
      </p>
    )
  const end = (columns.at[index] ?? 0) + activeMs(columns, index)
  return (
    <div class="replay-bar">
      <span role="status">
        as it was after step {columns.step[index]} of {columns.step.at(-1)}, {formatClock(new Date(end).toISOString(), daemonNow())}
      </span>
      <input
        type="range"
        aria-label="Step as of which the process is shown"
        min={0}
        max={columns.step.length - 1}
        value={index}
        onInput={(event) => showStep(row.uuid, columns.step[Number(event.currentTarget.value)] ?? 1)}
      />
      {canFork(row, columns, index) ? (
        <button type="button" onClick={() => openFork(row, columns.step[index])}>
          Fork here
        </button>
      ) : null}
      {back}
    </div>
  )
}

export function ReplayFigures({ row, steps }: ReplayProps): JSX.Element | null {
  const columns = steps.value.value
  const index = columns ? indexAsOf(columns) : -1
  if (!columns || index < 0) return null
  const { usd, input, cached, output, context, activeMs: ms } = usageUpTo(columns, index + 1)
  const figures: Figure[] = [
    ['time', formatElapsed(ms)],
    ...(context === null ? [] : [['context', `${formatTokens(context)}${row.ctx ? ` of ${formatTokens(row.ctx.window)}` : ''}`] as const]),
    ...(usd === null ? [] : [['cost', formatCost(usd)] as const]),
    ['tokens', `${formatTokens(input)} in (${formatTokens(cached)} cached), ${formatTokens(output)} out`],
  ]
  return <FigureList figures={figures} />
}
