// The steps of two processes after their last common step, side by side: the first own step of one beside that of the other.
// Test: test/e2e/web/pages/compare.test.ts.
import type { JSX } from 'preact'
import type { BriefStepsView } from '../../src/api/views/steps.ts'
import { formatCost, formatCount, formatDuration } from '../../src/faces/format.ts'
import { timeOfSteps } from '../../src/faces/step-list.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { useLive } from '../live.ts'
import { endOrNow } from '../parts/clock.tsx'
import { rowSignal } from '../rows.ts'

/** The most steps of each side that are read. */
const LIMIT = 500

interface BothSteps {
  readonly a: BriefStepsView
  readonly b: BriefStepsView
}

export interface SidesProps {
  readonly a: string
  readonly b: string
  readonly commonStep: number | null
}

export function StepsSideBySide({ a, b, commonStep }: SidesProps): JSX.Element {
  const read = (uuid: string): Promise<BriefStepsView> =>
    callApi(`/v1/processes/${uuid}/steps?brief=1&after=${commonStep ?? 0}&limit=${LIMIT}`)
  const { value, error } = useLive<BothSteps>(b, `steps beside ${a} ${commonStep}`, async () => {
    const [ofA, ofB] = await Promise.all([read(a), read(b)])
    return { a: ofA, b: ofB }
  })
  const both = value.value
  if (both === null) return <p class={error.value === null ? 'quiet' : 'problem'}>{error.value ?? 'The steps are being read.'}</p>
  const count = Math.max(both.a.columns.step.length, both.b.columns.step.length)
  return (
    <>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      <p class="quiet">
        {commonStep === null
          ? 'They have no step in common.'
          : commonStep === 0
            ? 'They differ from the first step on.'
            : `Steps 1 to ${commonStep} are the same.`}
      </p>
      {count === 0 ? <p class="quiet">Neither has a step of its own.</p> : null}
      <ol class="side-by-side">
        {Array.from({ length: count }, (_, index) => (
          <li key={index}>
            <OneStep uuid={a} steps={both.a} index={index} />
            <OneStep uuid={b} steps={both.b} index={index} />
          </li>
        ))}
      </ol>
      {count === LIMIT ? <p class="quiet">Only the first {formatCount(LIMIT, 'step')} of each are shown.</p> : null}
    </>
  )
}

function OneStep({
  uuid,
  steps: { columns },
  index,
}: {
  readonly uuid: string
  readonly steps: BriefStepsView
  readonly index: number
}): JSX.Element {
  const step = columns.step[index]
  if (step === undefined) return <span class="one-step" />
  const tools = columns.tools[index] ?? []
  const usd = columns.usd[index] ?? null
  return (
    <a class="one-step" href={`/p/${uuid}/steps/${step}`} data-step={step}>
      <span class="number quiet">{step}</span> {visibleText(columns.text[index] ?? '')}{' '}
      {tools.length === 0 ? null : (
        <code class={tools.some((tool) => tool.endsWith('!')) ? 'problem' : ''}>{visibleText(tools.map(toolText).join(' '))}</code>
      )}{' '}
      <span class="number quiet">
        {formatDuration(timeOfSteps(columns, { from: index, to: index }, endOrNow(rowSignal(uuid).value?.endedAt)))}
        {usd === 0 ? '' : ` · ${formatCost(usd)}`}
      </span>
    </a>
  )
}

/** `bash ✗`: it failed; `bash …`: it has no outcome. */
function toolText(tool: string): string {
  return tool.endsWith('!') ? `${tool.slice(0, -1)} ✗` : tool.endsWith('?') ? `${tool.slice(0, -1)} …` : `${tool} ✓`
}
