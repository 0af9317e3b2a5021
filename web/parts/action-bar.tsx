// The buttons of a process: what its row allows, such as pause or resume, interrupt, stop and kill. Those that end it ask first.
// Test: test/e2e/web/actions.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { isSnoozed } from '../../src/faces/attention.ts'
import { isPending } from '../actions.ts'
import { isPossible, runAction, type RowActionName } from '../row-actions.ts'
import { isStale } from '../store.ts'
import { daemonNow } from './clock.tsx'

/** What the buttons say, in their order. */
const LABELS: readonly (readonly [RowActionName, (row: RowView) => string])[] = [
  ['raiseBudget', () => 'Raise the budget …'],
  ['pauseOrResume', ({ status }) => (status === 'suspended' ? 'Resume' : 'Pause')],
  ['resumeWith', ({ endedAt }) => (endedAt === null ? 'Resume with …' : 'Resume …')],
  ['interrupt', () => 'Interrupt'],
  ['stop', () => 'Stop …'],
  ['kill', () => 'Kill …'],
  ['snooze', (row) => (isSnoozed(row, daemonNow()) ? 'Show its need again …' : 'Put off …')],
]

export function ActionBar({ row }: { readonly row: RowView }): JSX.Element | null {
  const buttons = LABELS.filter(([name]) => isPossible(name, row))
  if (buttons.length === 0) return null
  return (
    <span class="buttons actions">
      {buttons.map(([name, label]) => (
        <ActionButton key={name} name={name} row={row} label={label(row)} />
      ))}
    </span>
  )
}

interface ActionButtonProps {
  readonly name: RowActionName
  readonly row: RowView
  readonly label: string
}

/** A button that performs an action. It reads `asked` until the daemon has answered. */
export function ActionButton({ name, row, label }: ActionButtonProps): JSX.Element {
  const action = name === 'pauseOrResume' ? (row.status === 'suspended' ? 'resume' : 'pause') : name
  const isAsked = isPending(row.uuid, action)
  return (
    <button type="button" data-action={action} disabled={isStale.value || isAsked} onClick={() => runAction(name, [row])}>
      {isAsked ? 'asked' : label}
    </button>
  )
}
