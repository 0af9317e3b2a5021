// The page of one process: what it waits for, its money and context, its tabs, and what can be done to it. With `as=N` in the address it is
// shown as of step N, and can only be forked. Tests: test/e2e/web/process.test.ts, test/e2e/web/process/steps.test.ts.
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import type { UsageRateView } from '../../src/api/views/usage.ts'
import { formatCost, treeCostText } from '../../src/faces/format.ts'
import { budgetFullInText, budgetsAbove } from '../../src/faces/budgets.ts'
import { nameOf, titleOf } from '../../src/faces/process-names.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { exitReasonText } from '../parts/exit-reason.ts'
import { ActionBar } from '../parts/action-bar.tsx'
import { BudgetBar } from '../parts/figures/budget-bar.tsx'
import { ContextBar } from '../parts/figures/context-bar.tsx'
import { Elapsed } from '../parts/clock.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { MessageBox } from '../parts/message-box.tsx'
import { ProcessLinks } from '../process/process-links.tsx'
import { Questions } from '../parts/questions.tsx'
import { WhyLine } from '../parts/why-line.tsx'
import { Sparkline } from '../parts/figures/sparkline.tsx'
import { visibleText } from '../../src/faces/visible-text.ts'
import { failureOf, markSeen } from '../actions.ts'
import { readRows } from '../session-api.ts'
import { useKeys, type KeyHandlers } from '../keyboard.ts'
import { rowKeys } from '../row-actions.ts'
import { lazy } from '../lazy.tsx'
import type { Live } from '../live.ts'
import { asOf, tabAddress } from '../process/address.ts'
import { FigureList, type Figure } from '../process/figures.tsx'
import { useSteps } from '../process/read-steps.ts'
import { ReplayBar, ReplayFigures } from '../process/replay.tsx'
import { StepsTab } from '../process/steps-tab.tsx'
import type { StepColumns } from '../../src/faces/step-list.ts'
import { addOlderRows, hasRows, rows, rowSignal, watchList } from '../rows.ts'
import { navigate, type PageProps } from '../router.ts'
import { perMinute, perMinuteOf, spending } from '../spending.ts'
import { may } from '../connection-state.ts'

const CrewBoard = lazy('The board', async () => (await import('../crew/board.tsx')).CrewBoard)
const FilesTab = lazy('The list of files', async () => (await import('../process/files-tab.tsx')).FilesTab)
const LogsTab = lazy('The log', async () => (await import('../process/logs-tab.tsx')).LogsTab)
const ContextTab = lazy('The context', async () => (await import('../process/context-tab.tsx')).ContextTab)
const SignalsTab = lazy('The list of signals', async () => (await import('../process/signals-tab.tsx')).SignalsTab)
const LimitsTab = lazy('The list of limits', async () => (await import('../process/limits-tab.tsx')).LimitsTab)
const EventsTab = lazy('The list of events', async () => (await import('../process/events-tab.tsx')).EventsTab)

const TABS = ['steps', 'files', 'logs', 'context', 'signals', 'limits', 'events'] as const
const CREW_TABS = ['board', 'logs', 'limits', 'events'] as const
type Tab = (typeof TABS | typeof CREW_TABS)[number]

export function ProcessPage({ path: [, uuid = '', part] }: PageProps): JSX.Element {
  watchList()
  const row = rowSignal(uuid).value
  const hasNewEnd = row !== undefined && row.unseen && row.endedAt !== null
  useEffect(() => {
    if (hasNewEnd && !document.hidden && may('answer')) void markSeen([uuid])
  }, [hasNewEnd])
  if (!hasRows()) return <p class="quiet">The process is being read.</p>
  return row ? <KnownProcess row={row} part={part} /> : <OlderProcess key={uuid} uuid={uuid} />
}

function KnownProcess({ row, part }: { readonly row: RowView; readonly part: string | undefined }): JSX.Element {
  const { uuid } = row
  const steps = useSteps(uuid)
  const tabs: readonly Tab[] = row.kind === 'crew' ? CREW_TABS : TABS
  const tab = tabs.find((name) => name === part) ?? tabs[0] ?? 'steps'
  const isNow = asOf.value === null
  useKeys('process', processKeys(row, tabs, tab))
  return (
    <article class="process" data-uuid={uuid}>
      <ProcessHead row={row} steps={steps} />
      {isNow ? null : <ReplayBar row={row} steps={steps} />}
      {row.kind === 'crew' || !isNow ? null : <Questions uuid={uuid} />}
      <nav class="tabs" aria-label="Parts of the process">
        {tabs.map((name) => (
          <a key={name} href={tabAddress(uuid, name)} {...(name === tab ? { 'aria-current': 'page' as const } : {})}>
            {name}
          </a>
        ))}
        <ProcessLinks row={row} />
      </nav>
      <TabContent row={row} tab={tab} steps={steps} />
      {isNow ? <MessageBox row={row} /> : null}
    </article>
  )
}

/** The keys of each tab. The tab of steps adds its own for forks and for the next part. The past of a process has no keys for actions. */
function processKeys(row: RowView, tabs: readonly Tab[], tab: Tab): KeyHandlers {
  const { fork, ...others } = asOf.value === null ? rowKeys(() => [row]) : {}
  if (tab === 'steps') return others
  const go = (by: number): void => {
    const to = tabs[tabs.indexOf(tab) + by]
    if (to !== undefined) navigate(tabAddress(row.uuid, to))
  }
  return { ...others, ...(fork ? { fork } : {}), previousPart: () => go(-1), nextPart: () => go(1) }
}

interface TabProps {
  readonly row: RowView
  readonly steps: Live<StepColumns>
}

function TabContent({ row, tab, steps }: TabProps & { readonly tab: Tab }): JSX.Element {
  switch (tab) {
    case 'steps':
      return <StepsTab row={row} steps={steps} />
    case 'files':
      return <FilesTab row={row} />
    case 'logs':
      return <LogsTab row={row} />
    case 'board':
      return <CrewBoard row={row} />
    case 'context':
      return <ContextTab row={row} />
    case 'signals':
      return <SignalsTab row={row} />
    case 'limits':
      return <LimitsTab row={row} />
    case 'events':
      return <EventsTab row={row} />
  }
}

/** A process that ended over 24 hours ago is not in the stream of rows, so its row is read. */
function OlderProcess({ uuid }: { readonly uuid: string }): JSX.Element {
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    readRows(`subtree:${uuid}`).then(
      (found) => (found.length === 0 ? setProblem('It was removed.') : addOlderRows(found)),
      (error: unknown) => setProblem(failureOf(error, 'Load the page again.').message),
    )
  }, [])
  if (problem === null) return <p class="quiet">The process is being read.</p>
  return (
    <section class="empty">
      <p>This process is not in the list: {problem}</p>
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
      {above.map((one) => (
        <span key={one.uuid}>
          {' / '}
          <a href={`/p/${one.uuid}`}>{nameOf(one)}</a>
        </span>
      ))}
    </nav>
  )
}

function ProcessHead({ row, steps }: TabProps): JSX.Element {
  const mark = markOf(row)
  const isNow = asOf.value === null
  const [title, about] = [titleOf(row), visibleText(row.about)]
  return (
    <header class="process-head">
      <Ancestors row={row} />
      <div class="title">
        <span class={`mark ${mark.tone}`}>
          <MarkIcon name={markNameOf(row)} />
        </span>
        <h2>{title}</h2>
        <span class={`status-word ${mark.tone}`} data-status={row.status}>
          {mark.word}
        </span>
        <span class="quiet">
          PID {row.pid} · {row.agent}
          {row.model === null ? '' : ` · ${row.model}`}
          {row.step === 0 ? '' : ` · step ${row.step}`}
        </span>
        {isNow ? <ActionBar row={row} /> : null}
      </div>
      {about === title ? null : <p class="about">{about}</p>}
      {row.why && isNow ? (
        <p class="why-line">
          <WhyLine row={row} />
        </p>
      ) : null}
      {row.exit ? <p class="why-line">{exitText(row.exit)}</p> : null}
      {isNow ? <Figures row={row} /> : <ReplayFigures row={row} steps={steps} />}
    </header>
  )
}

function exitText({ code, reason, signal, error }: NonNullable<RowView['exit']>): string {
  return `ended: ${exitReasonText(reason)}, exit code ${code}${signal === undefined || reason.includes(signal) ? '' : `, ${signal}`}${error === undefined ? '' : `: ${visibleText(error)}`}`
}

/** The tree that a process belongs to, if it has spent something in the last hour. */
function spendingTree(row: RowView): UsageRateView['trees'][number] | undefined {
  let root = row
  for (let up = rows.get(root.parent ?? ''); up; up = rows.get(root.parent ?? '')) root = up
  return spending.value?.trees.find((tree) => tree.root.uuid === root.uuid)
}

/** What the tree spends per minute, and what each of the last minutes has cost. */
function SpentNow({ tree: { rates, usdByMinute } }: { readonly tree: UsageRateView['trees'][number] }): JSX.Element {
  return (
    <>
      {formatCost(perMinute(rates))}/min <Sparkline values={usdByMinute} label="cost of each of the last 30 minutes" />
    </>
  )
}

/** The budget, and when it will be full at the present rate of its tree. The rate is known only for the root of a tree. */
function BudgetOfTree({ row }: { readonly row: RowView }): JSX.Element {
  const usdPerMinute = perMinuteOf(row.uuid)
  const fullIn = budgetFullInText(row, usdPerMinute)
  return (
    <>
      <BudgetBar row={row} usdPerMinute={row.sub.working > 0 ? usdPerMinute : null} />
      {fullIn === null ? null : <span class="quiet">{fullIn}</span>}
    </>
  )
}

/** The budget of a process above, which also pays for this one. */
function BudgetAbove({ owner }: { readonly owner: RowView }): JSX.Element {
  const row = rowSignal(owner.uuid).value ?? owner
  return (
    <a class="budget-above" href={`/p/${owner.uuid}/limits`}>
      <BudgetOfTree row={row} />
    </a>
  )
}

function Figures({ row }: { readonly row: RowView }): JSX.Element {
  const tree = spendingTree(row)
  const figures: readonly Figure[] = [
    ['time', <Elapsed key="time" row={row} />],
    ...(row.ctx ? [['context', <ContextBar key="context" ctx={row.ctx} />] as const] : []),
    ...(treeCostText(row) === '' ? [] : [['cost', formatCost(row.cost.usd, row.cost.unpriced)] as const]),
    ...(row.sub.usd > (row.cost.usd ?? 0) ? [['with all below', formatCost(row.sub.usd)] as const] : []),
    ...(row.branch === null ? [] : [['branch', visibleText(row.branch)] as const]),
    ...(row.queue === 0 ? [] : [['waiting messages', String(row.queue)] as const]),
    ...(row.budget
      ? [[row.budget.limit === 'budgetUsd' ? 'budget' : row.budget.limit, <BudgetOfTree key="budget" row={row} />] as const]
      : []),
    ...budgetsAbove(row, rows).map((owner) => [`limit of ${titleOf(owner)}`, <BudgetAbove key={owner.uuid} owner={owner} />] as const),
    ...(tree === undefined ? [] : [[row.parent === null ? 'now' : 'its tree now', <SpentNow key="now" tree={tree} />] as const]),
  ]
  return <FigureList figures={figures} />
}
