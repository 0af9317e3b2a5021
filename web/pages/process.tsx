// The page of one process: what it waits for, its money and context, its steps with one step whole, its logs, and what can be done to it.
// Test: test/e2e/web/process.test.ts.
import { useEffect } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCost, formatTokens } from '../../src/faces/format.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { ActionBar } from '../parts/action-bar.tsx'
import { BudgetBar } from '../parts/budget-bar.tsx'
import { Elapsed, Since } from '../parts/clock.tsx'
import { costText } from '../parts/fleet-row.tsx'
import { CrewBoard } from '../parts/crew-board.tsx'
import { Files } from '../parts/files.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { Logs } from '../parts/logs.tsx'
import { MessageBox } from '../parts/message-box.tsx'
import { Questions } from '../parts/questions.tsx'
import { Steps } from '../parts/steps.tsx'
import { markSeen } from '../actions.ts'
import { useKeys } from '../keyboard.ts'
import { rowKeys } from '../row-actions.ts'
import { hasRows, rows, rowSignal, watchList } from '../rows.ts'
import type { PageProps } from '../router.ts'
import { may } from '../store.ts'

const TABS = ['steps', 'files', 'logs'] as const
const CREW_TABS = ['board', 'logs'] as const

export function ProcessPage({ path: [, uuid = '', part] }: PageProps): JSX.Element {
  watchList()
  const row = rowSignal(uuid).value
  useKeys(
    'process',
    rowKeys(() => (row ? [row] : [])),
  )
  const hasNewEnd = row !== undefined && row.unseen && row.endedAt !== null
  useEffect(() => {
    if (hasNewEnd && !document.hidden && may('answer')) void markSeen(uuid)
  }, [hasNewEnd])
  if (!hasRows()) return <p class="quiet">The process is being read.</p>
  if (!row) return <NotInList />
  const tabs = row.kind === 'crew' ? CREW_TABS : TABS
  const tab = tabs.find((name) => name === part) ?? tabs[0]
  return (
    <article class="process" data-uuid={uuid}>
      <ProcessHead row={row} />
      {row.kind === 'crew' ? null : <Questions uuid={uuid} />}
      <nav class="tabs" aria-label="Parts of the process">
        {tabs.map((name) => (
          <a key={name} href={`/p/${uuid}/${name}`} {...(name === tab ? { 'aria-current': 'page' as const } : {})}>
            {name}
          </a>
        ))}
      </nav>
      <TabContent row={row} tab={tab} />
      <MessageBox row={row} />
    </article>
  )
}

function TabContent({ row, tab }: { readonly row: RowView; readonly tab: (typeof TABS | typeof CREW_TABS)[number] }): JSX.Element {
  switch (tab) {
    case 'steps':
      return <Steps row={row} />
    case 'files':
      return <Files row={row} />
    case 'logs':
      return <Logs uuid={row.uuid} />
    case 'board':
      return <CrewBoard row={row} />
  }
}

function NotInList(): JSX.Element {
  return (
    <section class="empty">
      <p>This process is not in the list: it was removed, or it ended more than a day ago.</p>
      <pre>reeve ps --all</pre>
      <p>
        <a href="/">All processes</a>
      </p>
    </section>
  )
}

/** The path of names from the root to the process. */
function Ancestors({ row }: { readonly row: RowView }): JSX.Element {
  const above: RowView[] = []
  for (let up = row.parent === null ? undefined : rows.get(row.parent); up; up = up.parent === null ? undefined : rows.get(up.parent))
    above.unshift(up)
  return (
    <nav class="ancestors" aria-label="Ancestors">
      <a href="/">Fleet</a>
      {above.map(({ uuid, name, pid }) => (
        <span key={uuid}>
          {' / '}
          <a href={`/p/${uuid}`}>{name ?? pid}</a>
        </span>
      ))}
    </nav>
  )
}

function ProcessHead({ row }: { readonly row: RowView }): JSX.Element {
  const mark = markOf(row)
  return (
    <header class="process-head">
      <Ancestors row={row} />
      <div class="title">
        <span class={`mark ${mark.tone}`}>
          <MarkIcon name={markNameOf(row)} />
        </span>
        <h2>{row.name ?? `process ${row.pid}`}</h2>
        <span class={`status-word ${mark.tone}`} data-status={row.status}>
          {mark.word}
        </span>
        <span class="quiet">
          PID {row.pid} · {row.agent}
          {row.model === null ? '' : ` · ${row.model}`}
          {row.step === 0 ? '' : ` · step ${row.step}`}
        </span>
        <ActionBar row={row} />
      </div>
      <p class="about">{row.about}</p>
      {row.why ? (
        <p class="why-line">
          {row.why.text}{' '}
          <span class="quiet">
            since <Since at={row.why.since} />
          </span>
        </p>
      ) : null}
      {row.exit ? <p class="why-line">{exitText(row.exit)}</p> : null}
      <Figures row={row} />
    </header>
  )
}

function exitText({ code, reason, signal, error }: NonNullable<RowView['exit']>): string {
  return `ended: ${reason}, exit code ${code}${signal === undefined ? '' : `, ${signal}`}${error === undefined ? '' : `: ${error}`}`
}

function Figures({ row }: { readonly row: RowView }): JSX.Element {
  const figures: readonly (readonly [string, JSX.Element | string])[] = [
    ['time', <Elapsed key="time" row={row} />],
    ...(row.ctx ? [['context', `${formatTokens(row.ctx.used)} of ${formatTokens(row.ctx.window)}`] as const] : []),
    ...(costText(row) === '' ? [] : [['cost', formatCost(row.cost.usd, row.cost.unpriced)] as const]),
    ...(row.sub.usd > (row.cost.usd ?? 0) ? [['with all below', formatCost(row.sub.usd)] as const] : []),
    ...(row.branch === null ? [] : [['branch', row.branch] as const]),
    ...(row.queue === 0 ? [] : [['waiting messages', String(row.queue)] as const]),
    ...(row.budget ? [[row.budget.limit, <BudgetBar key="budget" row={row} />] as const] : []),
  ]
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
