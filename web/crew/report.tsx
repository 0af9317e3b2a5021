// The report of a crew, with the content of `reeve crew report`: the branch, what is left for the user, the members and the tasks. Each
// task has its commits, times and costs. Test: test/e2e/web/crew.test.ts.
import type { JSX } from 'preact'
import type { CrewReportView, ReportGitView, ReportMemberView, ReportTaskView, ReportUsageView } from '../../src/api/views/crew-report.ts'
import type { CrewView } from '../../src/api/views/crew.ts'
import { crewCommandName } from '../../src/api/text/answer-command.ts'
import { costWithSigns } from '../../src/faces/cost-chart.ts'
import { failedTexts } from '../../src/faces/crew-board.ts'
import { formatCount, formatElapsed, formatTokens } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { callApi } from '../session-api.ts'
import { useRegularReader, type Live } from '../live.ts'
import { CommandLine } from '../parts/command-line.tsx'
import { WideTable } from '../parts/wide-table.tsx'

/** The daemon reads the whole history of the crew for a report, so it is not read at each change of a row. */
const INTERVAL_MS = 10_000

/** A report, and the `version` that the caller of `useReport` gave when the read began. */
export interface VersionedReport {
  readonly report: CrewReportView
  readonly version: string
}

/** The report of a crew, read again as time passes until the crew ends, and at once for a new `version`. */
export function useReport({ uuid, exitedAt }: CrewView, version = ''): Live<VersionedReport> {
  return useRegularReader({ everyMs: INTERVAL_MS, hasEnded: exitedAt !== null, version }, `report ${uuid}`, async () => ({
    report: await callApi<CrewReportView>(`/v1/crews/${uuid}/report`),
    version,
  }))
}

export function CrewReport({ crew }: { readonly crew: CrewView }): JSX.Element {
  const { value, error } = useReport(crew)
  const report = value.value?.report ?? null
  return (
    <section class="crew-report" aria-label="Report">
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {report === null ? (
        error.value === null ? (
          <p class="quiet">The report is being made.</p>
        ) : null
      ) : (
        <>
          <p>{summaryText(report)}</p>
          {report.ending && report.ending.summary !== '' ? <blockquote>{visibleText(report.ending.summary)}</blockquote> : null}
          {report.git ? <p class="quiet">{branchText(report.git)}</p> : null}
          {report.problems.map((problem) => (
            <p key={problem} class="problem">
              Not known: {visibleText(problem)}
            </p>
          ))}
          <Open open={report.open} />
          <Tasks report={report} />
          <Members members={report.members} />
        </>
      )}
      <CommandLine words={['reeve', 'crew', 'report', crewCommandName(crew)]} />
    </section>
  )
}

function summaryText({ totals: { tasks, commits, attempts, denials, usage }, elapsedMs, status }: CrewReportView): string {
  const all = Object.values(tasks).reduce((sum, count) => sum + count, 0)
  return [
    status,
    `${tasks.done ?? 0} of ${formatCount(all, 'task')} done`,
    formatCount(commits, 'commit'),
    ...(denials > 0 ? [formatCount(denials, 'denial')] : []),
    ...(attempts > denials ? [`${formatCount(attempts - denials, 'attempt')} lost or failed`] : []),
    formatElapsed(elapsedMs),
    `${formatTokens(tokensOf(usage))} tokens`,
    costWithSigns(usage),
  ].join(' · ')
}

function branchText({ branch: { name, commit, commits, base, taken } }: ReportGitView): string {
  const where = taken && commits > 0 ? ', all of them in the checked-out branch' : ''
  return `Branch ${name}: ${formatCount(commits, 'commit')} since ${base.slice(0, 7)}, now at ${commit.slice(0, 7)}${where}`
}

function tokensOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: ReportUsageView): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
}

function Open({ open }: Pick<CrewReportView, 'open'>): JSX.Element {
  return (
    <>
      <h3>For you</h3>
      {open.length === 0 ? (
        <p class="quiet">Nothing is left to do.</p>
      ) : (
        <ul class="open-points">
          {open.map(({ what, how }) => (
            <li key={`${what} ${how ?? ''}`}>
              {visibleText(what)}
              {how === null ? null : (
                <>
                  : <code>{visibleText(how)}</code>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const USAGE_TITLES = ['input', 'output', 'cache read', 'cost'] as const

function usageCells(usage: ReportUsageView): string[] {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  return [...[inputTokens + cacheWriteTokens, outputTokens, cacheReadTokens].map(formatTokens), costWithSigns(usage)]
}

function Tasks({ report: { uuid, tasks, totals } }: { readonly report: CrewReportView }): JSX.Element {
  return (
    <ReportTable
      title="Tasks"
      titles={['task', 'state', 'by', 'reviewed by', 'commit']}
      numbers={[...USAGE_TITLES, 'worked', 'waited']}
      rows={[
        ...tasks.map((task) => ({
          name: task.id,
          link: `/p/${uuid}/board/${task.id}`,
          texts: [stateText(task), task.implementers.join(', ') || '-', task.reviewers.join(', ') || '-', commitText(task)],
          numbers: [...usageCells(task.usage), formatElapsed(task.workedMs), waitText(task)],
        })),
        { name: 'about no task', link: null, texts: ['', '', '', ''], numbers: [...usageCells(totals.apart), '', ''] },
        { name: 'all', link: null, texts: ['', '', '', ''], numbers: [...usageCells(totals.usage), '', ''] },
      ]}
    />
  )
}

function stateText(task: ReportTaskView): string {
  const { state, reason } = task
  const why = reason === null || reason === '' ? '' : `: ${reason}`
  return `${[state.replaceAll('_', ' '), ...failedTexts(task)].join(', ')}${state === 'done' ? '' : why}`
}

function commitText({ commit, merged, conflict }: ReportTaskView): string {
  if (merged !== null) return merged.slice(0, 7)
  if (commit === null) return '-'
  return `${commit.slice(0, 7)}${conflict === null ? ' not merged' : ` in conflict: ${conflict}`}`
}

function waitText({ waitedMs, askedMs }: ReportTaskView): string {
  return `${formatElapsed(waitedMs)}${askedMs >= 1_000 ? `, ${formatElapsed(askedMs)} for you` : ''}`
}

function Members({ members }: Pick<CrewReportView, 'members'>): JSX.Element {
  return (
    <ReportTable
      title="Members"
      titles={['member', 'role', 'agent', 'model', 'status']}
      numbers={['steps', ...USAGE_TITLES]}
      rows={members.map((member) => ({
        name: member.id,
        link: member.uuid === null || member.agent === null ? null : `/p/${member.uuid}`,
        texts: [member.role, member.agent ?? 'removed', member.model ?? '-', memberStatus(member)],
        numbers: [String(member.usage.steps), ...usageCells(member.usage)],
      }))}
    />
  )
}

function memberStatus({ status, leave, setup }: ReportMemberView): string {
  const word = leave === null ? (status ?? '-') : `${leave.how}${leave.reason === '' ? '' : `: ${leave.reason}`}`
  return setup === null || setup.ok ? word : `${word} · its setup failed`
}

interface ReportRow {
  readonly name: string
  readonly link: string | null
  readonly texts: readonly string[]
  readonly numbers: readonly string[]
}

interface ReportTableProps {
  readonly title: string
  readonly titles: readonly string[]
  /** the titles of the columns with numbers, which stand at the end */
  readonly numbers: readonly string[]
  readonly rows: readonly ReportRow[]
}

function ReportTable({ title, titles, numbers, rows }: ReportTableProps): JSX.Element {
  return (
    <WideTable label={title} heading={<h3>{title}</h3>} titles={[...titles, ...numbers]} numbers={numbers}>
      <tbody>
        {rows.map(({ name, link, texts, numbers: figures }) => (
          <tr key={name} data-name={name}>
            <th scope="row">{link === null ? name : <a href={link}>{name}</a>}</th>
            {texts.map((text, index) => (
              <td key={titles[index + 1]} class="long">
                {visibleText(text)}
              </td>
            ))}
            {figures.map((text, index) => (
              <td key={numbers[index]} class="number">
                {text}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </WideTable>
  )
}
