// What waits for the user: all of it as cards, and one need at a time with its evidence and answers. On a phone this is the first page.
// Test: test/e2e/web/phone.test.ts.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { NeedView } from '../../src/api/views/needs.ts'
import { diffByFile } from '../../src/faces/unified-diff.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { callApi } from '../session-api.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { useKeys } from '../keyboard.ts'
import { useFrozenOrder } from '../needs/frozen-order.ts'
import { HelpfulButtons } from '../needs/helpful-buttons.tsx'
import { commandOfQuestion, isShownInFull } from '../needs/shown-in-full.ts'
import { needs as knownNeeds, urgentUuids } from '../needs/needs.ts'
import { NewNeeds } from '../needs/strip.tsx'
import { Counts } from '../frame/counts.tsx'
import { Since } from '../parts/clock.tsx'
import { DiffView } from '../parts/diff-view.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { MessageBox } from '../parts/message-box.tsx'
import { Answers, Evidence } from '../parts/questions.tsx'
import { navigate, type PageProps } from '../router.ts'
import { rowSignal } from '../rows.ts'

/** a swipe is at least this long, in pixels */
const SWIPE_PX = 80

export function NeedsPage({ path: [, id] }: PageProps): JSX.Element {
  const known = knownNeeds.value
  const uuids = urgentUuids.value
  const needs = (known ?? []).filter(({ uuid }) => uuids.includes(uuid))
  if (uuids.length === 0) return <NothingNeeded />
  if (id === undefined) return <Cards uuids={uuids} needs={needs} />
  if (known === null) return <p class="quiet">What needs you is being read.</p>
  return <OneNeed id={id} needs={needs} />
}

function NothingNeeded(): JSX.Element {
  return (
    <section class="empty">
      <p>Nothing needs you.</p>
      <p>
        <Counts />
      </p>
      <p>
        <a href="/">All processes</a>
      </p>
    </section>
  )
}

interface CardsProps {
  readonly uuids: readonly string[]
  readonly needs: readonly NeedView[]
}

/** A card for each need. A process whose need this session may not read has one by its row. Cards do not move under a finger. */
function Cards({ uuids, needs }: CardsProps): JSX.Element {
  const byId = new Map(needs.map((need) => [need.id, need]))
  const known = new Set(needs.map(({ uuid }) => uuid))
  const { shown, hidden, handlers } = useFrozenOrder([...byId.keys(), ...uuids.filter((uuid) => !known.has(uuid))])
  return (
    <section class="need-cards" aria-label="Needs you" {...handlers}>
      <h2>
        {uuids.length} {uuids.length === 1 ? 'needs' : 'need'} you <NewNeeds count={hidden} />
      </h2>
      <ul>
        {shown.map((key) => {
          const need = byId.get(key)
          return need ? <NeedCard key={key} need={need} /> : <RowCard key={key} uuid={key} />
        })}
      </ul>
      <p class="quiet counts-line">
        <Counts />
      </p>
    </section>
  )
}

function NeedCard({ need }: { readonly need: NeedView }): JSX.Element {
  const command = commandOfQuestion(need.ask)
  return (
    <li data-need={need.uuid}>
      <a href={`/needs/${need.id}`}>
        <NeedTitle need={need} />
        <span class="why">{command === null ? visibleText(need.title) : <code>{visibleText(command)}</code>}</span>
      </a>
      <CardAnswers need={need} />
    </li>
  )
}

/** The card of a process whose need is not known. */
function RowCard({ uuid }: { readonly uuid: string }): JSX.Element {
  const row = rowSignal(uuid).value
  return (
    <li data-need={uuid}>
      <a href={`/p/${uuid}`}>
        <strong>{titleOf(row ?? { name: null, about: '', pid: 0 })}</strong>
        <span class="why">{visibleText(row?.why?.text ?? row?.status ?? '')}</span>
      </a>
    </li>
  )
}

/** Buttons that answer, if the card shows all of what is asked; else a link to the evidence. */
function CardAnswers({ need }: { readonly need: NeedView }): JSX.Element {
  const { ask, id, uuid } = need
  if (!ask) return <HelpfulButtons uuid={uuid} />
  if (isShownInFull(ask) && (need.task === null || commandOfQuestion(ask) !== null))
    return <Answers key={ask.hash} uuid={uuid} ask={ask} isShort />
  return (
    <p class="buttons">
      <button type="button" onClick={() => navigate(`/needs/${id}`)}>
        Look at it
      </button>
    </p>
  )
}

function NeedTitle({ need }: { readonly need: NeedView }): JSX.Element | null {
  const row = rowSignal(need.uuid).value
  if (!row) return null
  const mark = markOf(row)
  return (
    <>
      <span class={`mark ${mark.tone}`} role="img" aria-label={mark.word}>
        <MarkIcon name={markNameOf(row)} />
      </span>
      <strong>{titleOf(row)}</strong>
      <span class="number quiet">
        <Since at={need.at} />
      </span>
    </>
  )
}

interface OneNeedProps {
  readonly id: string
  readonly needs: readonly NeedView[]
}

function OneNeed({ id, needs }: OneNeedProps): JSX.Element {
  const at = needs.findIndex((need) => need.id === id)
  const [last, setLast] = useState(0)
  const go = (by: number): void => {
    const next = needs[(at + by + needs.length) % needs.length]
    if (next) navigate(`/needs/${next.id}`)
  }
  useKeys('need', { nextNeed: () => go(1), previousNeed: () => go(-1), open: () => false })
  const swipe = useSwipe(go)
  useEffect(() => {
    if (at !== -1) setLast(at)
    else navigate(needs.length === 0 ? '/needs' : `/needs/${needs[Math.min(last, needs.length - 1)]?.id ?? ''}`, 'replace')
  }, [at])
  const need = needs[at]
  if (!need) return <p class="quiet">This no longer needs you.</p>
  return (
    <section class="need-page" aria-label="Need" data-need-id={need.id} {...swipe}>
      <header>
        <a href="/needs">Needs</a>
        <span class="quiet">
          {at + 1} of {needs.length}
        </span>
        <span class="buttons end">
          <button type="button" aria-keyshortcuts="N" onClick={() => go(-1)}>
            Previous <kbd>N</kbd>
          </button>
          <button type="button" aria-keyshortcuts="n" onClick={() => go(1)}>
            Next <kbd>n</kbd>
          </button>
        </span>
      </header>
      <NeedBody key={need.id} need={need} />
    </section>
  )
}

const KIND_TEXTS: Partial<Readonly<Record<NeedView['kind'], string>>> = {
  command: 'wants to run',
  edit: 'wants to change',
  fetch: 'wants to load',
  permission: 'asks for permission',
  plan: 'asks for approval of its plan',
  choice: 'asks',
  text: 'asks',
  gate: 'waits for your approval of a commit',
  review: 'waits for your review',
  'human-task': 'waits for you to do a task',
  merge: 'cannot be merged',
  hold: 'is held',
  failed: 'failed',
  silent: 'is silent',
  finished: 'finished',
}

function NeedBody({ need: known }: { readonly need: NeedView }): JSX.Element | null {
  const { need, isRead, hasFailed } = useWhole(known)
  const row = rowSignal(need.uuid).value
  if (!row) return null
  const { ask, evidence, task } = need
  return (
    <>
      <h2 class="need-title">
        <NeedTitle need={need} />
      </h2>
      <p class="quiet">
        {[
          ...(need.rootName !== null && need.root !== need.uuid ? [visibleText(need.rootName)] : []),
          ...(task ? [`task ${task.id}`] : []),
          KIND_TEXTS[need.kind] ?? need.kind,
          ...(ask && ask.step !== null ? [`step ${ask.step}`] : []),
        ].join(' · ')}
      </p>
      <div class="question" data-ask={ask?.id}>
        {commandOfQuestion(need.ask) === null ? <p class="ask-text">{visibleText(ask?.text ?? need.title)}</p> : null}
        {ask ? <Evidence ask={ask} /> : null}
        {(ask?.message ?? null) === null && evidence.message !== null ? <blockquote>{visibleText(evidence.message)}</blockquote> : null}
        {evidence.error === null ? null : <p class="problem">{visibleText(evidence.error)}</p>}
        {evidence.report === null ? null : <p class="agent-text">{visibleText(evidence.report)}</p>}
        {evidence.change?.diff ? <TaskChange diff={evidence.change.diff} /> : null}
        {hasFailed ? <p class="problem">The change could not be read. The page of the process shows it.</p> : null}
        {isRead ? <NeedAnswers need={need} /> : <p class="quiet">The change is being read.</p>}
      </div>
      <MessageBox row={row} />
      <p>
        <a href={`/p/${need.uuid}`}>Whole process</a>
      </p>
      {need.commands.length === 0 ? null : <pre class="command">{need.commands.join('\n')}</pre>}
    </>
  )
}

function TaskChange({ diff }: { readonly diff: string }): JSX.Element {
  return (
    <>
      {[...diffByFile(diff)].map(([file, text]) => (
        <figure key={file} class="change">
          <figcaption>{file}</figcaption>
          <DiffView path={file} text={text} none="A binary file." />
        </figure>
      ))}
    </>
  )
}

function NeedAnswers({ need: { uuid, ask } }: { readonly need: NeedView }): JSX.Element {
  return ask ? <Answers key={ask.hash} uuid={uuid} ask={ask} hasText /> : <HelpfulButtons uuid={uuid} />
}

interface WholeNeed {
  /** the known part until `isRead`, or if the request failed */
  readonly need: NeedView
  /**
   * the whole evidence is there, or could not be read. Answer buttons are drawn only then: later evidence would move them under the finger.
   */
  readonly isRead: boolean
  readonly hasFailed: boolean
}

/** The need with its whole evidence, which only the request for one need returns. */
function useWhole(known: NeedView): WholeNeed {
  const hash = known.ask?.hash
  const [answer, setAnswer] = useState<{ readonly hash: string | undefined; readonly need: NeedView | null } | null>(null)
  useEffect(() => {
    if (known.task === null) return
    callApi<{ need: NeedView }>(`/v1/needs/${known.id}`).then(
      ({ need }) => setAnswer({ hash, need }),
      // The known part has the question and its answers.
      () => setAnswer({ hash, need: null }),
    )
  }, [known.id, hash])
  const read = answer !== null && answer.hash === hash ? answer : null
  const whole = read?.need?.ask?.hash === hash ? (read?.need ?? null) : null
  return { need: whole ?? known, isRead: known.task === null || read !== null, hasFailed: read !== null && read.need === null }
}

/** Handlers that go to the next need at a swipe to the left, and to the previous one at a swipe to the right. */
function useSwipe(go: (by: number) => void): Record<'onTouchStart' | 'onTouchEnd', (event: TouchEvent) => void> {
  const from = useRef<{ readonly x: number; readonly y: number } | null>(null)
  return {
    onTouchStart: ({ touches: [touch] }) => {
      from.current = touch ? { x: touch.clientX, y: touch.clientY } : null
    },
    onTouchEnd: ({ changedTouches: [touch] }) => {
      if (!touch || !from.current) return
      const x = touch.clientX - from.current.x
      if (Math.abs(x) > SWIPE_PX && Math.abs(x) > 2 * Math.abs(touch.clientY - from.current.y)) go(x < 0 ? 1 : -1)
    },
  }
}
