// The account of a crew as Markdown: what a person reads, or puts into a pull request. Pure.
// Must let nothing of what agents wrote change the document: their words are on one line, or quoted. Test: test/tables/crew-report-text.test.ts.
import { cost, elapsed, plural, shortId, tokens } from './format.ts'
import { oneLine, safe } from './text.ts'
import type { CrewReportView, ReportMemberView, ReportTaskView, ReportTryView, ReportUsageView } from '../api/crew-report-views.ts'

const SHORT = 10
const COUNTS = ['Input', 'Output', 'Cache read', 'Cache write', 'Cost']

/** Lines without an end. */
export function crewReportText(report: CrewReportView): string[] {
  return [...head(report), ...open(report), ...tasks(report), ...members(report), ...remarks(report)]
}

function head({ name, uuid, status, ending, elapsedMs, totals, git, problems }: CrewReportView): string[] {
  const done = totals.tasks.done ?? 0
  const all = Object.values(totals.tasks).reduce((sum, count) => sum + count, 0)
  const lost = totals.attempts - totals.denials
  const tries = [totals.denials > 0 ? plural(totals.denials, 'denial') : null, lost > 0 ? `${lost} lost or failed ${lost === 1 ? 'try' : 'tries'}` : null]
  const words = [`${done} of ${plural(all, 'task')} done`, plural(totals.commits, 'commit'), ...tries, elapsed(elapsedMs), price(totals.usage)].filter((one) => one !== null)
  return [
    `# Crew ${plain(name ?? shortId(uuid))}: ${status}`, '', `${words.join(', ')}.`,
    ...(ending && ending.summary !== '' ? ['', ...quoted(ending.summary)] : []),
    ...(git ? ['', `Branch \`${git.branch.name}\`: ${plural(git.branch.commits, 'commit')} since \`${git.branch.base.slice(0, SHORT)}\`, now at \`${git.branch.commit.slice(0, SHORT)}\`${git.branch.taken && git.branch.commits > 0 ? ', all of it in what is checked out' : ''}.`] : []),
    ...problems.flatMap((problem) => ['', `Not known: ${plain(problem)}.`]),
  ]
}

function open({ open: all }: CrewReportView): string[] {
  if (all.length === 0) return ['', '## For you', '', 'Nothing is left to do.']
  return ['', '## For you', '', ...all.map(({ what, how }) => `- ${plain(what)}${how === null ? '' : `: \`${oneLine(how)}\``}`)]
}

function tasks({ tasks: all, totals }: CrewReportView): string[] {
  if (all.length === 0) return ['', '## Tasks', '', 'It had none.']
  const rows = all.map((task) => [task.id, task.state.replaceAll('_', ' '), task.implementers.join(', ') || '-', task.reviewers.join(', ') || '-', commitOf(task), ...counts(task.usage), elapsed(task.workedMs), elapsed(task.waitedMs)])
  const sum = totals.usage
  return [
    '', '## Tasks', '',
    ...table(['Task', 'State', 'Implementer', 'Reviewer', 'Commit', ...COUNTS, 'Worked', 'Waited'], [
      ...rows, ['about no task', '', '', '', '', ...counts(totals.apart), '', ''], ['**all**', '', '', '', '', ...counts(sum), '', ''],
    ]),
    ...all.flatMap(taskText),
  ]
}

function commitOf({ commit, merged, conflict }: ReportTaskView): string {
  if (commit === null) return '-'
  const where = merged === null ? (conflict === null ? ' not merged' : ` in conflict: ${conflict}`) : merged === commit ? '' : ` merged as \`${merged.slice(0, SHORT)}\``
  return `\`${commit.slice(0, SHORT)}\`${where}`
}

function taskText(task: ReportTaskView): string[] {
  const { id, title, state, reason, needs, base, note, tries, verdicts, askedMs } = task
  const facts = [
    ...(needs.length > 0 ? [`needs ${needs.join(', ')}`] : []), ...(base === null ? [] : [`began at \`${base.slice(0, SHORT)}\``]),
    ...(askedMs > 0 ? [`a person was asked for ${elapsed(askedMs)}`] : []),
  ]
  return [
    '', `### ${id}: ${plain(title)}`, '', `${state.replaceAll('_', ' ')}${reason === null || reason === '' ? '' : `: ${plain(reason)}`}${facts.length > 0 ? ` (${facts.join('; ')})` : ''}`,
    ...(note === null ? [] : ['', `Of its commit: ${plain(note)}.`]),
    ...(tries.length > 0 ? ['', ...tries.map(tryText)] : []),
    ...verdicts.flatMap(({ by, verdict, comments }) => ['', `**${verdict}** by ${by ?? 'a person'}${comments === '' ? '' : ':'}`, ...(comments === '' ? [] : ['', ...quoted(comments)])]),
  ]
}

function tryText({ member, startedAt, endedAt, outcome, reason }: ReportTryView): string {
  const time = endedAt === null ? 'still has it' : `${outcome ?? 'ended'} after ${elapsed(Date.parse(endedAt) - Date.parse(startedAt))}`
  return `- ${member}: ${time}${reason === null || reason === '' ? '' : `: ${plain(reason)}`}`
}

function members({ members: all }: CrewReportView): string[] {
  if (all.length === 0) return []
  return ['', '## Members', '', ...table(['Member', 'Role', 'Agent', 'Model', 'Status', ...COUNTS], all.map((one) => [one.id, one.role, one.agent ?? 'removed', one.model ?? '-', statusOf(one), ...counts(one.usage)]))]
}

function statusOf({ status, leave }: ReportMemberView): string {
  return leave === null ? (status ?? '-') : `${leave.how}${leave.reason === '' ? '' : `: ${leave.reason}`}`
}

function remarks({ totals: { usage } }: CrewReportView): string[] {
  const all = [...(usage.unpriced ? ['A cost with `+`: the price of some calls is not known, and it is more than this.'] : []), ...(usage.estimated ? ['A cost with `~`: some calls were cut off, and are estimated.'] : [])]
  return all.flatMap((line) => ['', line])
}

function counts(usage: ReportUsageView): string[] {
  return [...[usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.cacheWriteTokens].map(tokens), price(usage)]
}

function price({ costUsd, unpriced, estimated }: ReportUsageView): string {
  return `${estimated ? '~' : ''}${cost(costUsd, unpriced)}`
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => oneLine(cell).replaceAll('|', '\\|')).join(' | ')} |`
  return [line(titles), line(titles.map((title) => (COUNTS.includes(title) || title === 'Worked' || title === 'Waited' ? '--:' : '---'))), ...rows.map(line)]
}

function quoted(text: string): string[] {
  return safe(text).trim().split('\n').map((line) => `> ${line}`.trimEnd())
}

/** Words of others in a line of ours. */
function plain(text: string): string {
  return oneLine(text).replace(/[\\`*_[\]<>#|]/g, '\\$&')
}
