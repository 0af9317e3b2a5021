// The panel below the list that shows the selected process: its questions with evidence and answers, its last text and its last steps. The
// panel stays open while the selection moves. Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { mainInput } from '../../src/api/text/tool-input.ts'
import type { StepView } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { readSteps } from '../session-api.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { selectedUuid } from './list-state.ts'
import { useLive } from '../live.ts'
import { HelpfulButtons } from '../needs/helpful-buttons.tsx'
import { useHasElapsed } from '../parts/use-has-elapsed.ts'
import { MessageBox } from '../parts/message-box.tsx'
import { Questions } from '../parts/questions.tsx'
import { WhyLine } from '../parts/why-line.tsx'
import { rowSignal } from '../rows.ts'

/** how long a process must be selected before more of it is read, in ms */
const SETTLED_MS = 120
const STEPS = 3

export const isPeeking = signal(false)

export function PeekPanel(): JSX.Element | null {
  const uuid = selectedUuid.value
  if (!isPeeking.value || uuid === null) return null
  return <Peek key={uuid} uuid={uuid} />
}

function Peek({ uuid }: { readonly uuid: string }): JSX.Element | null {
  const row = rowSignal(uuid).value
  const isSettled = useHasElapsed(SETTLED_MS)
  if (!row) return null
  return (
    <section class="peek-panel" aria-label={`Peek: ${titleOf(row)}`} data-peek={uuid}>
      <header>
        <h2>{titleOf(row)}</h2>
        <span class="quiet">{row.why ? <WhyLine row={row} /> : row.status}</span>
        <span class="quiet end">
          <kbd>Space</kbd> closes · <kbd>↑</kbd> <kbd>↓</kbd> · <a href={`/p/${uuid}`}>whole process</a> <kbd>Enter</kbd>
        </span>
      </header>
      <div class="peek-parts">
        <div>
          {isSettled ? <Questions uuid={uuid} /> : null}
          {row.asks === 0 && row.attention > 0 ? <HelpfulButtons uuid={uuid} /> : null}
          {row.lastText === null || row.asks > 0 ? null : <p class="agent-text">{visibleText(row.lastText)}</p>}
          {isSettled ? <MessageBox row={row} /> : null}
        </div>
        <div>{isSettled && row.step > 0 ? <LastSteps row={row} /> : <p class="quiet">{visibleText(row.about)}</p>}</div>
      </div>
    </section>
  )
}

function LastSteps({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useLive(row.uuid, 'last steps', () => readSteps(row.uuid, Math.max(0, row.step - STEPS)))
  if (error.value !== null) return <p class="problem">{error.value}</p>
  return (
    <ol class="last-steps">
      {(value.value ?? []).toReversed().map((step) => (
        <li key={step.step}>
          <a href={`/p/${row.uuid}/steps/${step.step}`}>step {step.step}</a> {visibleText(toolsText(step))}
        </li>
      ))}
    </ol>
  )
}

function toolsText({ tools, text }: StepView): string {
  if (tools.length === 0) return text ?? ''
  return tools.map(({ name, input }) => `${name} ${mainInput(input).split('\n')[0]}`).join(' · ')
}
