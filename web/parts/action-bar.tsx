// The buttons of a process: what its row allows, such as pause or resume, interrupt, stop and kill. Those that end it ask first.
// Test: test/e2e/web/actions.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { isSnoozed } from '../../src/faces/attention.ts'
import { isPending } from '../actions.ts'
import type { RowVerb } from '../../src/faces/row-verbs.ts'
import { isPossible, runAction } from '../row-actions.ts'
import { isStale } from '../connection-state.ts'
import { daemonNow } from './clock.tsx'

/** The labels of the buttons. */
const LABELS: Readonly<Record<RowVerb, (row: RowView) => string>> = {
  raiseBudget: () => 'Raise the budget …',
  pauseOrResume: ({ status }) => (status === 'suspended' ? 'Resume' : 'Pause'),
  resumeWith: ({ endedAt }) => (endedAt === null ? 'Resume with …' : 'Resume …'),
  pauseNow: () => 'Pause now',
  interrupt: () => 'Interrupt',
  message: () => 'Message …',
  fork: () => 'Fork …',
  stop: () => 'Stop …',
  kill: () => 'Kill …',
  markSeen: () => 'Mark as seen',
  snooze: (row) => (isSnoozed(row, daemonNow()) ? 'Show its need again …' : 'Put off …'),
}

/** The buttons on the page of a process, in their order. */
const BUTTONS: readonly RowVerb[] = ['raiseBudget', 'pauseOrResume', 'resumeWith', 'interrupt', 'stop', 'kill', 'snooze']

export function ActionBar({ row }: { readonly row: RowView }): JSX.Element | null {
  const names = BUTTONS.filter((name) => isPossible(name, row))
  if (names.length === 0) return null
  return (
    <span class="buttons actions">
      {names.map((name) => (
        <ActionButton key={name} name={name} row={row} />
      ))}
    </span>
  )
}

interface ActionButtonProps {
  readonly name: RowVerb
  readonly row: RowView
}

/** A button that performs an action. It reads `Sending …` until the daemon has answered. */
export function ActionButton({ name, row }: ActionButtonProps): JSX.Element {
  const action = name === 'pauseOrResume' ? (row.status === 'suspended' ? 'resume' : 'pause') : name
  const isSending = isPending(row.uuid, action)
  return (
    <button type="button" data-action={action} disabled={isStale.value || isSending} onClick={() => runAction(name, [row])}>
      {isSending ? 'Sending …' : LABELS[name](row)}
    </button>
  )
}
