// Asks before several processes are stopped or killed, and first shows what would be lost, for the first 20 of them. The buttons work only
// after that. Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { JSX } from 'preact'
import type { StakesView } from '../../src/api/views/stakes.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCount } from '../../src/faces/format.ts'
import { callApi } from '../session-api.ts'
import { commandName, titleOf } from '../../src/faces/process-names.ts'
import { doToAll } from '../batch.ts'
import { Dialog } from './dialog.tsx'
import { HoldButton } from '../parts/hold-button.tsx'

/** the most processes that the daemon is asked about */
const MAX_ASKED = 20
/** the longest wait for the daemon's answer, in ms; without one the dialog shows that nothing is known */
const STAKES_MS = 10_000

const opened = signal<{ readonly targets: readonly RowView[]; readonly action: 'stop' | 'kill' } | null>(null)
const lost = signal<ReadonlyMap<string, string>>(new Map())

export function openEndOfAll(targets: readonly RowView[], action: 'stop' | 'kill'): void {
  lost.value = new Map()
  opened.value = { targets, action }
}

export function EndAllDialog(): JSX.Element | null {
  const { targets = [], action = 'stop' } = opened.value ?? {}
  useEffect(() => {
    let isAwaited = true
    const note = (uuid: string, text: string): void => {
      if (isAwaited) lost.value = new Map([...lost.value, [uuid, text]])
    }
    for (const { uuid } of targets.slice(0, MAX_ASKED))
      callApi<StakesView>(`/v1/processes/${uuid}/stakes?action=${action}&subtree=0`, { signal: AbortSignal.timeout(STAKES_MS) }).then(
        (view) => note(uuid, lostText(view)),
        (error: unknown) => note(uuid, error instanceof Error ? error.message : String(error)),
      )
    return () => {
      isAwaited = false
    }
  }, [opened.value])
  if (!opened.value) return null
  const close = (): void => {
    opened.value = null
  }
  const end = (): void => {
    close()
    void doToAll(action, targets)
  }
  const isShown = targets.slice(0, MAX_ASKED).every(({ uuid }) => lost.value.has(uuid))
  const verb = action === 'stop' ? 'Stop' : 'Kill'
  return (
    <Dialog title={`${verb} ${formatCount(targets.length, 'process')}`} onClose={close} onConfirm={isShown ? end : undefined}>
      <div class="stakes">
        <h3>What is lost</h3>
        <ul>
          {targets.slice(0, MAX_ASKED).map((row) => (
            <li key={row.uuid}>
              <strong>{titleOf(row)}</strong>: {lost.value.get(row.uuid) ?? 'the daemon checks'}
            </li>
          ))}
          {targets.length > MAX_ASKED ? <li>and {targets.length - MAX_ASKED} more, which were not checked</li> : null}
        </ul>
      </div>
      <pre class="command">{`reeve ${action === 'stop' ? 'stop' : 'kill -s KILL'} ${targets.map(commandName).join(' ')}`}</pre>
      <p class="buttons">
        <HoldButton onDo={end} disabled={!isShown}>
          {verb} all <kbd>y</kbd>
        </HoldButton>
      </p>
    </Dialog>
  )
}

function lostText({ inFlight, unrecorded, messagesLost, refused }: StakesView): string {
  if (refused !== null) return refused
  const parts = [
    ...inFlight.map(({ what, becomes }) => `${what}: ${becomes}`),
    ...(unrecorded ? [`${formatCount(unrecorded.files, 'file')} without a record`] : []),
    ...(messagesLost > 0 ? [formatCount(messagesLost, 'waiting message')] : []),
  ]
  return parts.length === 0 ? 'nothing that is known' : parts.join('; ')
}
