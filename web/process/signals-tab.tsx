// The signals of a process: what it does at each one, those that wait, and the latest. Test: test/e2e/web/process/tabs.test.ts.
import type { JSX } from 'preact'
import type { SignalsView } from '../../src/api/views/process.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatClock, formatDuration } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { commandName } from '../../src/faces/process-names.ts'
import { useLive } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'

const HANDLERS: Readonly<Record<string, string>> = {
  default: 'the default',
  ignore: 'is ignored',
  message: 'becomes a message to the agent',
}

export function SignalsTab({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useLive<SignalsView>(row.uuid, 'signals', () => callApi(`/v1/processes/${row.uuid}/signals`))
  if (value.value === null) return <p class={error.value === null ? 'quiet' : 'problem'}>{error.value ?? 'The signals are being read.'}</p>
  const { mask, handlers, pending, recent } = value.value
  const handled = Object.entries(handlers)
  return (
    <section class="process-tab" aria-label="Signals">
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      <p>
        {mask.length === 0 ? 'It blocks no signal.' : `It blocks ${mask.join(', ')}.`}{' '}
        {handled.map(([signal, handler]) => `${signal} ${HANDLERS[handler] ?? handler}.`).join(' ')}
      </p>
      {pending.length === 0 ? null : (
        <>
          <h3>waiting</h3>
          <ul>
            {pending.map((signal, index) => (
              <li key={index}>
                {signal.signal} from {visibleText(signal.by)}
                {signal.dueInMs === null ? ', until it is unblocked' : `, delivered in ${formatDuration(signal.dueInMs)} at the latest`}
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>latest</h3>
      {recent.length === 0 ? (
        <p class="quiet">
          None was sent. A signal is sent with <code>reeve kill -s INT {commandName(row)}</code>
        </p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>time</th>
              <th>signal</th>
              <th>from</th>
              <th>what happened</th>
            </tr>
          </thead>
          <tbody>
            {recent.toReversed().map((sent, index) => (
              <tr key={index}>
                <td class="number">{formatClock(sent.at, daemonNow())}</td>
                <th scope="row">{sent.signal}</th>
                <td>
                  {visibleText(sent.by)}
                  {sent.via === null ? '' : ` by ${visibleText(sent.via)}`}
                  {sent.root === null ? '' : ', to a whole tree'}
                </td>
                <td>
                  {sent.disposition}
                  {sent.escalatedMs === null ? '' : `, SIGKILL after ${formatDuration(sent.escalatedMs)}`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
