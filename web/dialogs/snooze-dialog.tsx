// Asks for how long the needs of processes are put off, and puts them off, or shows them again. Test: test/e2e/web/process/resume.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { isSnoozed } from '../../src/faces/attention.ts'
import { formatCount } from '../../src/faces/format.ts'
import { commandName, titleOf } from '../../src/faces/process-names.ts'
import { snooze } from '../actions.ts'
import { showNotice } from '../notice.ts'
import { daemonNow } from '../parts/clock.tsx'
import { Dialog } from './dialog.tsx'
import { snoozeTargets } from './dialog-targets.ts'

const HOUR_MS = 3_600_000
/** the times to choose from: `name` is the word of the command line; `ms` null: the needs count again */
const TIMES: readonly (readonly [name: string, text: string, ms: number | null])[] = [
  ['30m', '30 minutes', HOUR_MS / 2],
  ['1h', '1 hour', HOUR_MS],
  ['4h', '4 hours', 4 * HOUR_MS],
  ['12h', '12 hours', 12 * HOUR_MS],
  ['2d', '2 days', 48 * HOUR_MS],
  ['off', 'no longer: show it again', null],
]

function namesOf(targets: readonly RowView[]): string {
  return targets.length > 3 ? formatCount(targets.length, 'process') : targets.map(titleOf).join(', ')
}

async function putOff(targets: readonly RowView[], text: string, ms: number | null): Promise<void> {
  const until = ms === null ? null : new Date(daemonNow() + ms).toISOString()
  const done = await snooze(targets.map(({ uuid }) => ({ uuid, until })))
  const changed = targets.filter((_, at) => done[at])
  if (changed.length === 0) return
  const what = namesOf(changed)
  const undo = (): Promise<unknown> =>
    snooze(changed.map((row) => ({ uuid: row.uuid, until: isSnoozed(row, daemonNow()) ? row.snoozedUntil : null })))
  showNotice(ms === null ? `shown again: ${what}` : `put off for ${text}: ${what}`, undo)
}

/** For processes whose needs are put off, it proposes to show them again. */
export function SnoozeDialog({ targets }: { readonly targets: readonly RowView[] }): JSX.Element {
  const [chosen, choose] = useState(() => (targets.every((row) => isSnoozed(row, daemonNow())) ? 'off' : '1h'))
  const close = (): void => {
    snoozeTargets.value = []
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    const time = TIMES.find(([name]) => name === chosen)
    close()
    if (time) void putOff(targets, time[1], time[2])
  }
  return (
    <Dialog title={`Put off what ${namesOf(targets)} needs`} onClose={close}>
      <form class="fork-form" onSubmit={submit}>
        <p class="quiet">It counts again after that time, or as soon as something new comes. An answer by anyone ends it.</p>
        <label>
          For how long
          <select autofocus value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
            {TIMES.map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <pre class="command">{targets.map((row) => `reeve needs --snooze ${chosen} ${commandName(row)}`).join('\n')}</pre>
        <p class="buttons">
          <button type="submit" class="primary">
            {chosen === 'off' ? 'Show it again' : 'Put it off'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}
