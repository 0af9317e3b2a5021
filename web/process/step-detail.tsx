// One step in full: the messages before it, its text, its tool calls, what interrupted it, and its figures. Read when it is selected, and
// again while it can still change. Test: test/e2e/web/process/steps.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import type { StepDetailView } from '../../src/api/views/steps.ts'
import { formatClock, formatCost, formatCount, formatDuration, formatElapsed, formatTokens } from '../../src/faces/format.ts'
import { NOTHING_LIVE, type LiveStep } from '../../src/faces/live-step.ts'
import { hasFlag, type StepColumns } from '../../src/faces/step-list.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { useLive } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'
import { openFork } from '../dialogs/dialog-targets.ts'
import { showStep } from './address.ts'
import { AgentText } from './agent-text.tsx'
import { LiveText } from './live-step.tsx'
import { canFork } from './step-rows.tsx'
import { ToolCall } from './tool-call.tsx'

interface StepHeadProps {
  readonly row: RowView
  readonly columns: StepColumns
  readonly index: number
}

interface StepDetailProps extends StepHeadProps {
  /** what the open step has written so far */
  readonly live: LiveStep
}

export function StepDetail({ row, columns, index, live }: StepDetailProps): JSX.Element {
  const step = columns.step[index] ?? 0
  // Usage and records of files can come while the next step runs, so the last two steps are read again.
  const isSettled = (): boolean => !hasFlag(columns, index, 'open') && index < columns.step.length - 2
  const { value, error } = useLive<StepDetailView>(row.uuid, `step ${step}`, async (before) =>
    before && isSettled() ? before : (await callApi<{ step: StepDetailView }>(`/v1/processes/${row.uuid}/steps?at=${step}`)).step,
  )
  return (
    <section class="step-detail" aria-label={`Step ${step}`} data-step={step} tabIndex={0}>
      <StepHead row={row} columns={columns} index={index} />
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {value.value === null ? (
        <p class="quiet">The step is being read.</p>
      ) : (
        <StepContent uuid={row.uuid} step={value.value} live={live.step === step || live.step === 0 ? live : NOTHING_LIVE} />
      )}
    </section>
  )
}

function StepHead({ row, columns, index }: StepHeadProps): JSX.Element {
  const step = columns.step[index] ?? 0
  const [before, after] = [columns.step[index - 1], columns.step[index + 1]]
  const show = (to: number | undefined): void => {
    if (to !== undefined) showStep(row.uuid, to)
  }
  return (
    <header>
      <h3>step {step}</h3>
      <span class="buttons">
        <button type="button" aria-label="Previous step" title="key [" disabled={before === undefined} onClick={() => show(before)}>
          ‹
        </button>
        <button type="button" aria-label="Next step" title="key ]" disabled={after === undefined} onClick={() => show(after)}>
          ›
        </button>
      </span>
      {canFork(row, columns, index) ? (
        <button
          type="button"
          class="fork"
          title={row.forks === 'any step' ? 'key f' : 'This agent can be forked only as it is now.'}
          onClick={() => openFork(row, step)}
        >
          {row.forks === 'any step' ? 'Fork after this step' : 'Fork as it is now'}
        </button>
      ) : null}
    </header>
  )
}

interface StepContentProps {
  readonly uuid: string
  readonly step: StepDetailView
  readonly live: LiveStep
}

function StepContent({ uuid, step, live }: StepContentProps): JSX.Element {
  return (
    <>
      {step.messages.map((message) => (
        <div key={message.id} class="step-message">
          <p class="quiet">
            message from {visibleText(message.from)}, {formatClock(message.at, daemonNow())}
          </p>
          <AgentText text={message.text} />
          {message.truncated ? <p class="quiet">The rest of the message is not shown.</p> : null}
        </div>
      ))}
      {step.reasoning === null ? null : (
        <details class="reasoning">
          <summary>reasoning ({formatTokens(step.reasoning.length)} characters)</summary>
          <AgentText text={step.reasoning} />
        </details>
      )}
      {step.text === null ? <LiveText live={live} /> : <AgentText text={step.text} />}
      {step.tools.map((tool) => (
        <ToolCall key={tool.callId} uuid={uuid} step={step.step} tool={tool} output={live.outputs.get(tool.callId)} />
      ))}
      <Interruptions step={step} />
      {step.compaction ? (
        <details>
          <summary>
            compacted after this step: {formatTokens(step.compaction.before)} → {formatTokens(step.compaction.after)} tokens
          </summary>
          <AgentText text={step.compaction.summary} />
        </details>
      ) : null}
      {step.files?.changed ? (
        <p>
          <a href={`/p/${uuid}/files?${step.step > 1 ? `from=${step.step - 1}&` : ''}to=${step.step}`}>changed files: show the diff</a>
        </p>
      ) : null}
      {step.notes.map((note) => (
        <p key={note} class="quiet">
          {visibleText(note)}
        </p>
      ))}
      <p class="quiet figures-line">{figuresText(step)}</p>
    </>
  )
}

/** Failed attempts of the model call, questions to the user, and holds. */
function Interruptions({ step }: { readonly step: StepDetailView }): JSX.Element {
  const clock = (at: string): string => formatClock(at, daemonNow())
  return (
    <>
      {step.calls.map((call) =>
        call.error === null ? null : (
          <p key={call.at} class="problem">
            {clock(call.at)} {visibleText(call.model)} failed{call.status === null ? '' : ` with ${call.status}`}: {visibleText(call.error)}
            {call.retryInMs === null ? '' : `, tried again after ${formatDuration(call.retryInMs)}`}
          </p>
        ),
      )}
      {step.asks.map((question) => (
        <div key={question.id + question.at} class="step-ask">
          <p>
            {clock(question.at)} asked: {visibleText(question.text)}
          </p>
          <p class="quiet">{answerText(question)}</p>
        </div>
      ))}
      {step.holds.map((hold) => (
        <p key={hold.at + hold.reason} class="quiet">
          {clock(hold.at)} held by {visibleText(hold.by)} ({hold.reason}){' '}
          {hold.releasedAt === null ? 'until now' : `for ${formatElapsed(Date.parse(hold.releasedAt) - Date.parse(hold.at))}`}
        </p>
      ))}
    </>
  )
}

function answerText({ at, answeredAt, by, answer, withdrawn }: StepDetailView['asks'][number]): string {
  if (withdrawn) return 'the question was withdrawn'
  if (answeredAt === null) return 'not answered yet'
  const after = formatElapsed(Date.parse(answeredAt) - Date.parse(at))
  return `${visibleText(by ?? 'the user')} answered after ${after}: ${visibleText(answer ?? 'yes')}`
}

function figuresText(step: StepDetailView): string {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, contextTokens } = step
  // A scripted model uses no tokens.
  const isCounted = costUsd !== null || inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens > 0
  const input = inputTokens + cacheReadTokens + cacheWriteTokens
  const firstToken = step.firstTokenMs === null ? '' : ` (first token ${formatDuration(step.firstTokenMs)})`
  const times = [
    [step.modelMs, 'model'],
    [step.toolMs, 'tools'],
    [step.humanMs, 'you'],
    [step.heldMs, 'held'],
  ] as const
  return [
    visibleText(step.model),
    ...times.flatMap(([ms, name]) => (ms === 0 ? [] : [`${name} ${formatDuration(ms)}${name === 'model' ? firstToken : ''}`])),
    ...(isCounted
      ? [`in ${formatTokens(input)} (${formatTokens(cacheReadTokens)} cached) · out ${formatTokens(outputTokens)}`, formatCost(costUsd)]
      : []),
    ...(contextTokens === null ? [] : [`context ${formatTokens(contextTokens)}`]),
    ...(step.attempts > 1 ? [formatCount(step.attempts, 'attempt')] : []),
    ...(step.checkpoint ? ['checkpoint'] : []),
  ].join(' · ')
}
