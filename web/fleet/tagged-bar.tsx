// What is tagged, and the actions for all of it. Test: test/e2e/web/keys.test.ts.
import type { JSX } from 'preact'
import { possibleActions, runAction, type RowActionName } from '../row-actions.ts'
import { actionTargets, tagged } from './list.ts'

const BUTTONS: readonly (readonly [RowActionName, string])[] = [
  ['pauseOrResume', 'Pause or resume'],
  ['message', 'Message …'],
  ['stop', 'Stop …'],
  ['kill', 'Kill …'],
  ['markSeen', 'Mark as seen'],
  ['snooze', 'Put off …'],
]

export function TaggedBar(): JSX.Element | null {
  if (tagged.value.size === 0) return null
  const rows = actionTargets()
  const hidden = tagged.value.size - rows.length
  const possible = new Set(rows.flatMap(possibleActions))
  return (
    <section class="tagged-bar buttons" aria-label="Tagged">
      <strong>{tagged.value.size} tagged</strong>
      {hidden > 0 ? <span class="quiet">{hidden} of them hidden, which actions leave out</span> : null}
      {BUTTONS.filter(([name]) => possible.has(name)).map(([name, label]) => (
        <button key={name} type="button" onClick={() => runAction(name, rows)}>
          {label}
        </button>
      ))}
      <button type="button" class="plain" onClick={() => (tagged.value = new Set())}>
        Clear
      </button>
    </section>
  )
}
