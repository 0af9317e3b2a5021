// The list of steps. Only the visible rows are drawn. The line below a step is where a fork begins; the fork keeps all steps above it.
// Test: test/e2e/web/process/steps.test.ts.
import { useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatClock, formatCost, formatCount, formatDuration } from '../../src/faces/format.ts'
import { hasFlag, timeOfSteps, toolsText, type StepColumns, type StepLine } from '../../src/faces/step-list.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { endOrNow } from '../parts/clock.tsx'
import { openFork } from '../dialogs/dialog-targets.ts'
import { KindMark } from '../parts/icons.tsx'
import { RowWindow } from '../parts/row-window.tsx'
import { isStale, may } from '../connection-state.ts'
import { showStep } from './address.ts'

const STEP_HEIGHT = 28
/** how long the pointer must rest on a row, in ms */
const REST_MS = 60

interface StepRowsProps {
  readonly row: RowView
  readonly columns: StepColumns
  readonly lines: readonly StepLine[]
  /** the index of the selected line; -1: none */
  readonly selected: number
  /** false: what is above a line is not what a fork takes along */
  readonly hasForkLines: boolean
  readonly onUnfold: (step: number) => void
}

export function StepRows({ row, columns, lines, selected, hasForkLines, onUnfold }: StepRowsProps): JSX.Element {
  const [pointed, setPointed] = useState(-1)
  const resting = useRef(0)
  /** Waits until the pointer rests on a row, so that no line is drawn while the list is scrolled below the pointer. */
  const point = (index: number): void => {
    clearTimeout(resting.current)
    resting.current = setTimeout(() => setPointed(index), REST_MS)
  }
  const first = (line: StepLine | undefined): number => columns.step[line?.from ?? -1] ?? 0
  const attributes = {
    role: 'listbox' as const,
    tabIndex: 0,
    'aria-label': 'Steps',
    ...(selected < 0 ? {} : { 'aria-activedescendant': `step-${first(lines[selected])}` }),
    onMouseLeave: () => point(-1),
  }
  return (
    <RowWindow
      class="list"
      count={lines.length}
      rowHeight={STEP_HEIGHT}
      selected={selected < 0 ? null : selected}
      attributes={attributes}
      draw={(index, top, slot) => {
        const line = lines[index]
        if (!line) return <></>
        const step = first(line)
        return (
          <StepRow
            key={slot}
            row={row}
            columns={columns}
            line={line}
            top={top}
            isSelected={index === selected}
            onClick={() => {
              showStep(row.uuid, step)
              if (line.to > line.from) onUnfold(step)
            }}
            onPoint={() => point(index)}
          >
            {hasForkLines && (index === selected || index === pointed) ? <ForkLine row={row} columns={columns} index={line.to} /> : null}
          </StepRow>
        )
      }}
    />
  )
}

/** The line below a step, drawn only where a fork can begin. A key and the header of the step offer the same. */
function ForkLine({
  row,
  columns,
  index,
}: {
  readonly row: RowView
  readonly columns: StepColumns
  readonly index: number
}): JSX.Element | null {
  if (!canFork(row, columns, index)) return null
  const step = columns.step[index] ?? 0
  return (
    <span class="fork-line" aria-hidden="true">
      <span
        class="fork-label"
        onClick={(event) => {
          event.stopPropagation()
          openFork(row, step)
        }}
      >
        <KindMark name="fork" /> fork after step {step}
      </span>
    </span>
  )
}

/** The time of day; the date is its title. */
function TimeOfDay({ at }: { readonly at: number }): JSX.Element {
  const iso = new Date(at).toISOString()
  return <span title={formatClock(iso, 0)}>{formatClock(iso, at)}</span>
}

/** Whether a fork can begin after the step with this index. An agent that forks only as it is now can do so after the last one. */
export function canFork(row: RowView, columns: StepColumns, index: number): boolean {
  if (row.forks === 'no' || !may('start') || isStale.value) return false
  if (row.forks === 'now') return index === columns.step.length - 1
  return !hasFlag(columns, index, 'open')
}

interface StepRowProps {
  readonly row: RowView
  readonly columns: StepColumns
  readonly line: StepLine
  readonly top: number
  readonly isSelected: boolean
  readonly onClick: () => void
  readonly onPoint: () => void
  readonly children: JSX.Element | null
}

function StepRow({ row, columns, line: { from, to }, top, isSelected, onClick, onPoint, children }: StepRowProps): JSX.Element {
  const step = columns.step[from] ?? 0
  const count = to - from + 1
  return (
    <div
      id={`step-${step}`}
      class={`step-row${isSelected ? ' selected' : ''}${count > 1 ? ' run' : ''}${hasFlag(columns, from, 'failed') ? ' failed' : ''}`}
      role="option"
      aria-selected={isSelected}
      data-step={step}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onClick}
      onMouseEnter={onPoint}
    >
      <span class="number">{step}</span>
      <span class="number quiet">
        <TimeOfDay at={columns.at[from] ?? 0} />
      </span>
      <span class="text">
        {count > 1 ? (
          <span class="quiet">
            {formatCount(count, 'silent step')}, to {columns.step[to]}
          </span>
        ) : (
          visibleText(columns.text[from] ?? '')
        )}
      </span>
      <span class="tools">{visibleText(toolsText(columns.tools.slice(from, to + 1).flat()))}</span>
      <Marks columns={columns} from={from} to={to} />
      <span class="number">{formatDuration(timeOfSteps(columns, { from, to }, endOrNow(row.endedAt)))}</span>
      <span class="number cost">{costText(columns, from, to)}</span>
      {children}
    </div>
  )
}

function costText({ usd }: StepColumns, from: number, to: number): string {
  const known = usd.slice(from, to + 1).filter((one) => one !== null)
  return known.length === 0 ? '' : formatCost(known.reduce((sum, one) => sum + one, 0))
}

/** What a step did beside its tools, as signs with words. */
function Marks({ columns, from, to }: { readonly columns: StepColumns; readonly from: number; readonly to: number }): JSX.Element {
  const marks = [
    ['files', '±', 'changed files'],
    ['asked', '?', 'asked the user'],
    ['compacted', '⇣', 'compacted the context'],
  ] as const
  return (
    <span class="marks">
      {marks.map(([flag, sign, word]) =>
        from === to && hasFlag(columns, from, flag) ? (
          <abbr key={flag} title={word} class={flag}>
            {sign}
          </abbr>
        ) : null,
      )}
    </span>
  )
}
