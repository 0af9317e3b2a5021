// What waits for the user, above the list, answered in place: Space shows what a question is about. A question that its line does not show
// whole has its answers below its evidence. The order does not change while the pointer or the focus is in it (frozen-order.ts).
// Test: test/e2e/web/needs-strip.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { NeedView } from '../../src/api/views/needs.ts'
import type { AskView } from '../../src/api/views/process.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { useFrozenOrder } from './frozen-order.ts'
import { HelpfulButtons } from './helpful-buttons.tsx'
import { needs, urgentUuids } from './needs.ts'
import { rowSignal } from '../rows.ts'
import { Since } from '../parts/clock.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { Answers, Evidence } from '../parts/questions.tsx'
import { commandOfQuestion, isShownInFull } from './shown-in-full.ts'

/** the most needs that are drawn */
const MAX_SHOWN = 50
/** the process whose question is shown with its evidence */
const peeked = signal<string | null>(null)

export function NeedsStrip(): JSX.Element | null {
  const all = urgentUuids.value
  const { shown, hidden, handlers } = useFrozenOrder(all)
  if (all.length === 0) return null
  return (
    <section class="needs" aria-label="Needs you" {...handlers}>
      <h2>
        Needs you <span class="count">{all.length}</span>
        <NewNeeds count={hidden} />
      </h2>
      <ul>
        {shown.slice(0, MAX_SHOWN).map((uuid) => (
          <Need key={uuid} uuid={uuid} need={needs.value?.find((need) => need.uuid === uuid) ?? null} />
        ))}
        {shown.length > MAX_SHOWN ? <li class="more quiet">and {shown.length - MAX_SHOWN} more</li> : null}
      </ul>
    </section>
  )
}

/** Shows how many needs have come that the kept order does not show. */
export function NewNeeds({ count }: { readonly count: number }): JSX.Element | null {
  return count === 0 ? null : (
    <span class="chip" role="status">
      +{count} new
    </span>
  )
}

function Need({ uuid, need }: { readonly uuid: string; readonly need: NeedView | null }): JSX.Element | null {
  const row = rowSignal(uuid).value
  if (!row) return null
  const mark = markOf(row)
  const isPeeked = peeked.value === uuid
  const ask = row.asks > 0 ? (need?.ask ?? null) : null
  const isAllShown = isPeeked || (ask !== null && isShownInFull(ask))
  const peek = (event: KeyboardEvent): void => {
    if (event.key !== ' ' || !(event.target instanceof HTMLAnchorElement)) return
    event.preventDefault()
    if (event.repeat) return
    peeked.value = isPeeked ? null : uuid
  }
  return (
    <li data-need={uuid} onKeyDown={peek}>
      <a href={`/p/${uuid}`} aria-keyshortcuts="Space">
        <span class={`mark ${mark.tone}`} role="img" aria-label={mark.word}>
          <MarkIcon name={markNameOf(row)} />
        </span>
        <strong>{titleOf(row)}</strong>
        <span class="why">{ask ? <WhatItAsks ask={ask} /> : visibleText(row.why?.text ?? row.note ?? row.status)}</span>
        <span class="number quiet">
          <Since at={need?.at ?? row.why?.since ?? row.since} />
        </span>
      </a>
      {ask && isAllShown ? <Answers key={ask.hash} uuid={uuid} ask={ask} /> : null}
      {ask && !isAllShown ? (
        <p class="buttons">
          <button type="button" data-look onClick={() => (peeked.value = uuid)}>
            Look at it <kbd>Space</kbd>
          </button>
        </p>
      ) : null}
      {ask === null && row.asks === 0 ? <HelpfulButtons uuid={uuid} /> : null}
      {ask && isPeeked ? (
        <div class="peek">
          <Evidence ask={ask} />
        </div>
      ) : null}
    </li>
  )
}

/** The command of a question as it would run; the text of any other question. */
function WhatItAsks({ ask }: { readonly ask: AskView }): JSX.Element {
  const command = commandOfQuestion(ask)
  return command === null ? <>{visibleText(ask.text)}</> : <code>{visibleText(command)}</code>
}
