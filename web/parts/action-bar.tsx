// The buttons of a process: pause or resume, interrupt, stop, kill. Those that end it ask first. Test: test/e2e/web/actions.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { interrupt, isPending, pauseOrResume } from '../actions.ts'
import { isStale, may } from '../store.ts'
import { openEnd } from './end-dialog.tsx'

export function ActionBar({ row }: { readonly row: RowView }): JSX.Element | null {
  if (!may('steer') || row.endedAt !== null) return null
  const isHeld = row.status === 'suspended'
  const action = isHeld ? 'resume' : 'pause'
  return (
    <span class="buttons actions">
      <button
        type="button"
        data-action={action}
        disabled={isStale.value || isPending(row.uuid, action)}
        onClick={() => void pauseOrResume(row)}
      >
        {isPending(row.uuid, action) ? 'asked' : isHeld ? 'Resume' : 'Pause'}
      </button>
      {row.status === 'working' && row.driver !== 'command' ? (
        <button type="button" data-action="interrupt" disabled={isStale.value} onClick={() => void interrupt(row.uuid)}>
          Interrupt
        </button>
      ) : null}
      <button type="button" data-action="stop" disabled={isStale.value} onClick={() => openEnd(row, 'stop')}>
        Stop …
      </button>
      <button type="button" data-action="kill" disabled={isStale.value} onClick={() => openEnd(row, 'kill')}>
        Kill …
      </button>
    </span>
  )
}
