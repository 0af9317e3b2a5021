// The steps of a process: the time axis, the list, and the selected step in full. Keys work in all three.
// Test: test/e2e/web/process/steps.test.ts.
import { signal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { indexOfStep, lineOfStep, STEP_KINDS, stepLines, type StepColumns, type StepKind } from '../../src/faces/step-list.ts'
import { useKeys } from '../keyboard.ts'
import { lazy } from '../lazy.tsx'
import type { Live } from '../live.ts'
import { query, setQuery } from '../router.ts'
import { addressedStep, asOf } from './address.ts'
import { useLiveStep } from './live-step.tsx'
import { StepDetail } from './step-detail.tsx'
import { StepRows } from './step-rows.tsx'
import { stepHandlers } from './step-keys.ts'

const Timeline = lazy('The time axis', async () => (await import('./timeline.tsx')).Timeline)

/** the last process in which the user unfolded runs of silent reads, and the first steps of these runs */
const unfolded = signal<{ readonly uuid: string; readonly steps: ReadonlySet<number> }>({ uuid: '', steps: new Set() })

function unfoldedOf(uuid: string): ReadonlySet<number> {
  return unfolded.value.uuid === uuid ? unfolded.value.steps : new Set()
}

export interface StepsTabProps {
  readonly row: RowView
  readonly steps: Live<StepColumns>
}

export function StepsTab({ row, steps: { value, error } }: StepsTabProps): JSX.Element {
  if (value.value !== null) return <StepsOf row={row} columns={value.value} problem={error.value} />
  return error.value === null ? <p class="quiet">The steps are being read.</p> : <p class="problem">{error.value}</p>
}

interface StepsOfProps {
  readonly row: RowView
  readonly columns: StepColumns
  readonly problem: string | null
}

function StepsOf({ row, columns, problem }: StepsOfProps): JSX.Element {
  const only = query.value.get('only') ?? ''
  const find = query.value.get('find') ?? ''
  const isByCost = query.value.get('sort') === 'cost'
  const upTo = asOf.value
  const lines = useMemo(() => {
    const kinds = new Set(STEP_KINDS.filter((kind) => only.split(',').includes(kind)))
    return stepLines(columns, { only: kinds, find, unfolded: unfoldedOf(row.uuid), upTo, isByCost })
  }, [columns, only, find, unfolded.value, row.uuid, upTo, isByCost])
  // Without a step in the address, the most expensive one or the newest one is selected.
  const fallback = isByCost ? lines[0] : lines.at(-1)
  const step = addressedStep.value ?? upTo ?? columns.step[fallback?.to ?? columns.step.length - 1] ?? 1
  const line = lineOfStep(columns, lines, step, isByCost)
  const index = indexOfStep(columns, step)
  const hasStep = columns.step[index] === step
  const unfold = (first: number): void => unfoldRun(row.uuid, first)
  const live = useLiveStep(row, upTo === null && index === columns.step.length - 1)
  useKeys('process', stepHandlers({ row, columns, lines, line, step, unfold }))
  if (columns.step.length === 0)
    return (
      <p class="quiet">
        No steps: it {row.endedAt === null ? 'has not called a model yet' : 'never called a model'}
        {row.driver === 'command' ? '; see its logs' : ''}.
      </p>
    )
  return (
    <div class="steps-tab">
      {problem === null ? null : <p class="problem">{problem}</p>}
      <Timeline row={row} columns={columns} step={step} />
      <div class="steps">
        <section class="step-list" aria-label="Steps of the process">
          <FilterBar only={only} find={find} isByCost={isByCost} shown={lines.length} />
          <StepRows row={row} columns={columns} lines={lines} selected={line} hasForkLines={!isByCost} onUnfold={unfold} />
        </section>
        {hasStep ? (
          <StepDetail key={step} row={row} columns={columns} index={index} live={live} />
        ) : (
          <p class="quiet">
            There is no step {step}: the last one is {columns.step.at(-1)}.
          </p>
        )}
      </div>
    </div>
  )
}

function unfoldRun(uuid: string, step: number): void {
  unfolded.value = { uuid, steps: new Set([...unfoldedOf(uuid), step]) }
}

const KIND_NAMES: Readonly<Record<StepKind, string>> = { text: 'text', edits: 'edits', failed: 'failed', slow: '> 30 s', dear: '> $0.05' }

interface FilterBarProps {
  readonly only: string
  readonly find: string
  readonly isByCost: boolean
  readonly shown: number
}

function FilterBar({ only, find, isByCost, shown }: FilterBarProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null)
  useKeys('process', { find: () => field.current?.focus() })
  const kinds = only.split(',').filter((kind) => kind !== '')
  const toggle = (kind: StepKind): void =>
    setQuery('only', (kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind]).join(','))
  return (
    <div class="step-filter" role="search">
      <input
        ref={field}
        type="search"
        aria-label="Find in the steps"
        placeholder="find"
        value={find}
        onInput={(event) => setQuery('find', event.currentTarget.value)}
      />
      <span class="quiet">only</span>
      {STEP_KINDS.map((kind) => (
        <button key={kind} type="button" class="kind-filter" aria-pressed={kinds.includes(kind)} onClick={() => toggle(kind)}>
          {KIND_NAMES[kind]}
        </button>
      ))}
      <button type="button" class="kind-filter" aria-pressed={isByCost} onClick={() => setQuery('sort', isByCost ? '' : 'cost')}>
        most expensive first
      </button>
      {shown === 0 ? (
        <button
          type="button"
          onClick={() => {
            setQuery('only', '')
            setQuery('find', '')
          }}
        >
          No step matches: show all
        </button>
      ) : null}
    </div>
  )
}
