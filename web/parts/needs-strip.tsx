// The processes that need the user, above the list. Its order does not change while the pointer or the focus is in it.
// Test: test/e2e/web/fleet.test.ts.
import { computed, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { flatOrder } from '../../src/faces/tree.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { titleOf } from '../actions.ts'
import { rowSignal, rows, rowsWithNeeds } from '../rows.ts'
import { Since } from './clock.tsx'
import { MarkIcon } from './icons.tsx'

const frozen = signal<readonly string[] | null>(null)

const urgent = computed((): readonly string[] => {
  const some = [...rowsWithNeeds.value].flatMap((uuid) => rows.get(uuid) ?? [])
  return flatOrder(some, 'urgency').map(({ uuid }) => uuid)
})

export function NeedsStrip(): JSX.Element | null {
  const all = urgent.value
  const shown = frozen.value?.filter((uuid) => all.includes(uuid)) ?? all
  const hidden = all.length - shown.length
  if (all.length === 0) return null
  const freeze = (): void => {
    frozen.value ??= all
  }
  const thaw = (): void => {
    frozen.value = null
  }
  return (
    <section
      class="needs"
      aria-label="Needs you"
      onPointerEnter={freeze}
      onPointerLeave={thaw}
      onFocusCapture={freeze}
      onBlurCapture={thaw}
    >
      <h2>
        Needs you <span class="count">{all.length}</span>
        {hidden > 0 ? <span class="chip">+{hidden} new</span> : null}
      </h2>
      <ul>
        {shown.map((uuid) => (
          <Need key={uuid} uuid={uuid} />
        ))}
      </ul>
    </section>
  )
}

function Need({ uuid }: { readonly uuid: string }): JSX.Element | null {
  const row = rowSignal(uuid).value
  if (!row) return null
  const mark = markOf(row)
  return (
    <li data-need={uuid}>
      <a href={`/p/${uuid}`}>
        <span class={`mark ${mark.tone}`} role="img" aria-label={mark.word}>
          <MarkIcon name={markNameOf(row)} />
        </span>
        <strong>{titleOf(row)}</strong> <span class="why">{row.why?.text ?? row.note ?? row.status}</span>
        <span class="number quiet">
          <Since at={row.why?.since ?? row.since} />
        </span>
      </a>
    </li>
  )
}
