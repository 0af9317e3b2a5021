// The steps of a process as a list, and the selected step whole. A fork begins after the selected step. Test: test/e2e/web/process.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { mainInput } from '../../src/api/text/tool-input.ts'
import type { StepView } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatClock, formatCost, formatDuration, formatTokens } from '../../src/faces/format.ts'
import { readSteps } from '../actions.ts'
import { useLive } from '../live.ts'
import { path, navigate } from '../router.ts'
import { isStale } from '../store.ts'
import { daemonNow } from './clock.tsx'
import { openFork } from './fork-dialog.tsx'
import { RowWindow } from './row-window.tsx'

const STEP_HEIGHT = 28
const hidesQuiet = signal(false)

/** Reads the steps that are new, and again those that were unfinished. */
async function readNewSteps(uuid: string, before: readonly StepView[] | null): Promise<StepView[]> {
  const known = before ?? []
  const open = known.findIndex(({ finishedAt }) => finishedAt === null)
  const kept = known.slice(0, open === -1 ? known.length : open)
  for (;;) {
    const more = await readSteps(uuid, kept.at(-1)?.step ?? 0)
    kept.push(...more)
    if (more.length < 100) return kept
  }
}

export function Steps({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useLive<StepView[]>(row.uuid, 'steps', (before) => readNewSteps(row.uuid, before))
  if (error.value !== null) return <p class="problem">{error.value}</p>
  if (value.value === null) return <p class="quiet">The steps are being read.</p>
  const all = value.value
  if (all.length === 0)
    return <p class="quiet">No steps: it has not called a model{row.driver === 'command' ? ', see its logs' : ' yet'}.</p>
  const steps = hidesQuiet.value ? all.filter(isNotable) : all
  const wanted = Number(path.value[3] ?? 0)
  const index = steps.findIndex(({ step }) => step === wanted)
  const selected = steps[index] ?? steps.at(-1)
  return (
    <div class="steps">
      <StepList row={row} steps={steps} selected={index === -1 ? steps.length - 1 : index} />
      {selected ? <StepDetail row={row} step={selected} /> : null}
    </div>
  )
}

/** A step with a text, or with a tool call that failed. */
function isNotable({ text, tools }: StepView): boolean {
  return text !== null || tools.some(hasFailed)
}

function hasFailed({ outcome, exitCode }: StepView['tools'][number]): boolean {
  return (outcome !== null && outcome !== 'ok') || (exitCode !== null && exitCode !== 0)
}

function StepList({
  row,
  steps,
  selected,
}: {
  readonly row: RowView
  readonly steps: readonly StepView[]
  readonly selected: number
}): JSX.Element {
  const show = (step: StepView | undefined): void => {
    if (step) navigate(`/p/${row.uuid}/steps/${step.step}`)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, ']': 1, '[': -1 }[event.key]
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    show(steps[Math.max(0, Math.min(steps.length - 1, selected + by))])
  }
  return (
    <section class="step-list">
      <label class="quiet">
        <input type="checkbox" checked={hidesQuiet.value} onChange={(event) => (hidesQuiet.value = event.currentTarget.checked)} /> only
        texts and failures
      </label>
      <RowWindow
        class="list"
        count={steps.length}
        rowHeight={STEP_HEIGHT}
        selected={selected}
        attributes={{
          role: 'listbox',
          tabIndex: 0,
          'aria-label': 'Steps',
          'aria-activedescendant': `step-${steps[selected]?.step}`,
          onKeyDown,
        }}
        draw={(index, top) => {
          const step = steps[index]
          return step ? <StepRow key={step.step} step={step} top={top} isSelected={index === selected} onClick={() => show(step)} /> : <></>
        }}
      />
    </section>
  )
}

interface StepRowProps {
  readonly step: StepView
  readonly top: number
  readonly isSelected: boolean
  readonly onClick: () => void
}

function StepRow({ step, top, isSelected, onClick }: StepRowProps): JSX.Element {
  const ms = step.finishedAt === null ? daemonNow() - Date.parse(step.startedAt) : Date.parse(step.finishedAt) - Date.parse(step.startedAt)
  return (
    <div
      id={`step-${step.step}`}
      class={`step-row${isSelected ? ' selected' : ''}`}
      role="option"
      aria-selected={isSelected}
      data-step={step.step}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onClick}
    >
      <span class="number">{step.step}</span>
      <span class="number quiet">{formatClock(step.startedAt, daemonNow())}</span>
      <span class="text">{step.text ?? ''}</span>
      <span class="tools">{toolsText(step)}</span>
      <span class="number">{formatDuration(Math.max(0, ms))}</span>
      <span class="number">{isCounted(step) ? formatCost(step.costUsd) : ''}</span>
    </div>
  )
}

function toolsText({ tools }: StepView): string {
  const names = tools.map((tool) => `${tool.name}${tool.outcome === null ? ' …' : hasFailed(tool) ? ' failed' : ''}`)
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} +${names.length - 3}` : names.join(', ')
}

function StepDetail({ row, step }: { readonly row: RowView; readonly step: StepView }): JSX.Element {
  return (
    <section class="step-detail" aria-label={`Step ${step.step}`} data-step={step.step}>
      <header>
        <h3>step {step.step}</h3>
        {row.forks === 'any step' && step.finishedAt !== null ? (
          <button type="button" class="fork" disabled={isStale.value} onClick={() => openFork(row, step.step)}>
            Fork after it
          </button>
        ) : null}
      </header>
      {step.text === null ? null : <p class="agent-text">{step.text}</p>}
      {step.tools.map((tool) => (
        <details key={tool.callId} class={hasFailed(tool) ? 'tool failed' : 'tool'} open={hasFailed(tool)}>
          <summary>
            <span class="tool-name">{tool.name}</span> <code>{mainInput(tool.input)}</code>{' '}
            <span class="quiet">
              {tool.outcome === null
                ? tool.unbegun
                  ? 'not begun'
                  : 'runs'
                : hasFailed(tool)
                  ? `failed${tool.exitCode === null ? '' : `, exit code ${tool.exitCode}`}`
                  : 'done'}
              {tool.durationMs === null ? '' : ` · ${formatDuration(tool.durationMs)}`}
            </span>
          </summary>
          <pre>{JSON.stringify(tool.input, null, 2)}</pre>
          {tool.result === null ? null : <pre class="result">{tool.result}</pre>}
        </details>
      ))}
      {step.notes.map((note) => (
        <p key={note} class="quiet">
          {note}
        </p>
      ))}
      <p class="quiet figures-line">{figuresText(step)}</p>
    </section>
  )
}

/** Whether its model call used anything: a model that is a file uses nothing. */
function isCounted({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd }: StepView): boolean {
  return costUsd !== null || inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens > 0
}

function figuresText(step: StepView): string {
  const tokens = `in ${formatTokens(step.inputTokens)} (${formatTokens(step.cacheReadTokens)} cached) · out ${formatTokens(step.outputTokens)}`
  return [
    step.model,
    ...(isCounted(step) ? [tokens, formatCost(step.costUsd)] : []),
    ...(step.attempts > 1 ? [`${step.attempts} attempts`] : []),
  ].join(' · ')
}
