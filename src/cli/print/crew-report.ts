// Formats the report of a crew as Markdown, for the user or a pull request. Pure. Texts of agents must not change the structure of the
// document: they are escaped on one line, or quoted. Test: test/tables/cli/print/crew-report.test.ts.
import { formatCost, formatElapsed, formatCount, shortId, formatTokens } from '../../faces/format.ts'
import { uncheckedText } from '../../kernel/model/crew/unchecked-tasks.ts'
import { oneLine, stripControls } from './text.ts'
import type {
  CrewReportView,
  ReportCheckView,
  ReportMemberView,
  ReportTaskView,
  ReportTryView,
  ReportUsageView,
} from '../../api/views/crew-report.ts'

/** the digits that are shown of a commit */
const COMMIT_DIGITS = 10
/** the titles of the columns with usage */
const USAGE_TITLES = ['Input', 'Output', 'Cache read', 'Cache write', 'Cost']

/** Returns the lines of the report. */
export function crewReportText(report: CrewReportView): string[] {
  return [...headLines(report), ...openPointLines(report), ...taskLines(report), ...memberLines(report), ...costRemarks(report)]
}

function headLines({ name, uuid, status, ending, elapsedMs, totals, git, problems, tasks: every }: CrewReportView): string[] {
  const done = totals.tasks.done ?? 0
  const all = Object.values(totals.tasks).reduce((sum, count) => sum + count, 0)
  const failedCount = totals.attempts - totals.denials
  const failures = [
    totals.denials > 0 ? formatCount(totals.denials, 'denial') : null,
    failedCount > 0 ? `${failedCount} lost or failed ${failedCount === 1 ? 'attempt' : 'attempts'}` : null,
  ]
  const parts = [
    `${done} of ${formatCount(all, 'task')} done${uncheckedText(every)}`,
    formatCount(totals.commits, 'commit'),
    ...failures,
    formatElapsed(elapsedMs),
    costText(totals.usage),
  ].filter((part) => part !== null)
  return [
    `# Crew ${escapeMarkdown(name ?? shortId(uuid))}: ${status}`,
    '',
    `${parts.join(', ')}.`,
    ...(ending && ending.summary !== '' ? ['', ...quoteMarkdown(ending.summary)] : []),
    ...(git
      ? [
          '',
          `Branch \`${git.branch.name}\`: ${formatCount(git.branch.commits, 'commit')} since \`${git.branch.base.slice(0, COMMIT_DIGITS)}\`, now at \`${git.branch.commit.slice(0, COMMIT_DIGITS)}\`${git.branch.taken && git.branch.commits > 0 ? ', all of them in the checked-out branch' : ''}.`,
        ]
      : []),
    ...problems.flatMap((problem) => ['', `Not known: ${escapeMarkdown(problem)}.`]),
  ]
}

function openPointLines({ open: all }: CrewReportView): string[] {
  if (all.length === 0) return ['', '## For you', '', 'Nothing is left to do.']
  return ['', '## For you', '', ...all.map(({ what, how }) => `- ${escapeMarkdown(what)}${how === null ? '' : `: \`${oneLine(how)}\``}`)]
}

function taskLines({ tasks: all, totals, git }: CrewReportView): string[] {
  if (all.length === 0) return ['', '## Tasks', '', 'The crew had no tasks.']
  const rows = all.map((task) => [
    task.id,
    task.state.replaceAll('_', ' '),
    task.implementers.join(', ') || '-',
    task.reviewers.join(', ') || '-',
    commitOf(task, git !== null),
    ...usageCells(task.usage),
    formatElapsed(task.workedMs),
    formatElapsed(task.waitedMs),
  ])
  const sum = totals.usage
  return [
    '',
    '## Tasks',
    '',
    ...table(
      ['Task', 'State', 'Implementer', 'Reviewer', 'Commit', ...USAGE_TITLES, 'Worked', 'Waited'],
      [
        ...rows,
        ['about no task', '', '', '', '', ...usageCells(totals.apart), '', ''],
        ['**all**', '', '', '', '', ...usageCells(sum), '', ''],
      ],
    ),
    ...all.flatMap(taskText),
  ]
}

function commitOf(task: ReportTaskView, hasRepository: boolean): string {
  const { commit, merged, conflict, kind, state, byWord } = task
  if (commit === null) return hasRepository && kind === 'work' && state === 'done' && byWord === null ? 'changed nothing' : '-'
  const where =
    merged === null
      ? conflict === null
        ? ' not merged'
        : ` in conflict: ${conflict}`
      : merged === commit
        ? ''
        : ` merged as \`${merged.slice(0, COMMIT_DIGITS)}\``
  return `\`${commit.slice(0, COMMIT_DIGITS)}\`${where}`
}

function taskText(task: ReportTaskView): string[] {
  const { id, title, state, reason, needs, base, note, tries, verdicts, checks, askedMs } = task
  const facts = [
    ...(needs.length > 0 ? [`needs ${needs.join(', ')}`] : []),
    ...(base === null ? [] : [`began at \`${base.slice(0, COMMIT_DIGITS)}\``]),
    ...(askedMs > 0 ? [`the user was asked for ${formatElapsed(askedMs)}`] : []),
  ]
  return [
    '',
    `### ${id}: ${escapeMarkdown(title)}`,
    '',
    `${state.replaceAll('_', ' ')}${reason === null || reason === '' ? '' : `: ${escapeMarkdown(reason)}`}${facts.length > 0 ? ` (${facts.join('; ')})` : ''}`,
    ...(note === null ? [] : ['', `Note about its commit: ${escapeMarkdown(note)}.`]),
    ...(tries.length > 0 ? ['', ...tries.map(attemptText)] : []),
    ...checks.flatMap(checkText),
    ...verdicts.flatMap(({ by, verdict, comments }) => [
      '',
      `**${verdict}** by ${by ?? 'the user'}${comments === '' ? '' : ':'}`,
      ...(comments === '' ? [] : ['', ...quoteMarkdown(comments)]),
    ]),
  ]
}

/** Returns the lines about a check; a failed one with its output. */
function checkText({ stage, command, ok, end, code, signal, ms, member, commit, output, changed }: ReportCheckView): string[] {
  const outcomeText = ok
    ? 'passed'
    : end === 'late'
      ? 'took too long'
      : end === 'unable'
        ? `could not be started (${code ?? 'no code'})`
        : code === null
          ? `ended by ${signal ?? 'a signal'}`
          : `ended with exit code ${code}`
  const where = `${stage === 'merge' ? 'on the merged files' : `in the files of ${member}`}${commit === null ? '' : `, \`${commit.slice(0, COMMIT_DIGITS)}\``}`
  return [
    '',
    `**${ok ? 'Verified' : 'Not verified'}** ${where}: ${escapeMarkdown(command)} ${outcomeText} after ${formatElapsed(ms)}${changed.length === 0 ? '' : `; it changed files, which were put back: ${escapeMarkdown(changed.join(', '))}`}`,
    ...(ok || output.trim() === '' ? [] : ['', ...quoteMarkdown(output)]),
  ]
}

function attemptText({ member, startedAt, endedAt, outcome, reason }: ReportTryView): string {
  const time =
    endedAt === null ? 'still has it' : `${outcome ?? 'ended'} after ${formatElapsed(Date.parse(endedAt) - Date.parse(startedAt))}`
  return `- ${member}: ${time}${reason === null || reason === '' ? '' : `: ${escapeMarkdown(reason)}`}`
}

function memberLines({ members: all }: CrewReportView): string[] {
  if (all.length === 0) return []
  return [
    '',
    '## Members',
    '',
    ...table(
      ['Member', 'Role', 'Agent', 'Model', 'Status', ...USAGE_TITLES],
      all.map((member) => [
        member.id,
        member.role,
        member.agent ?? 'removed',
        member.model ?? '-',
        statusOf(member),
        ...usageCells(member.usage),
      ]),
    ),
    ...all.flatMap(setupText),
  ]
}

/** the number of output lines that are shown of a successful setup */
const SUCCESS_LINES = 20

/** Returns the lines about the setup of a member, with the output of its command; after a success only the end of it. */
function setupText({ id, setup }: ReportMemberView): string[] {
  if (setup === null) return []
  const { ok, command, code, ms, output, copied, skipped } = setup
  const parts = [
    command === null ? '' : `${escapeMarkdown(command)} ${ok ? 'took' : `failed (${code ?? 'no exit code'}) after`} ${formatElapsed(ms)}`,
    copied > 0 ? formatCount(copied, 'file') + ' copied' : '',
    skipped.length > 0 ? `not copied: ${escapeMarkdown(skipped.join('; '))}` : '',
  ]
  const summary = parts.filter((part) => part !== '').join('; ')
  if (summary === '') return []
  const lines = output.trim().split('\n')
  const shown = ok && lines.length > SUCCESS_LINES ? ['[…]', ...lines.slice(-SUCCESS_LINES)] : lines
  return ['', `Setup of ${id}: ${summary}`, ...(output.trim() === '' ? [] : ['', ...quoteMarkdown(shown.join('\n'))])]
}

function statusOf({ status, leave }: ReportMemberView): string {
  return leave === null ? (status ?? '-') : `${leave.how}${leave.reason === '' ? '' : `: ${leave.reason}`}`
}

function costRemarks({ totals: { usage } }: CrewReportView): string[] {
  const all = [
    ...(usage.unpriced ? ['A cost with `+`, or `?`: the price of some calls is unknown, so the cost is higher.'] : []),
    ...(usage.estimated ? ['A cost with `~`: some calls were cut off, so their cost is estimated.'] : []),
  ]
  return all.flatMap((line) => ['', line])
}

function usageCells(usage: ReportUsageView): string[] {
  return [...[usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.cacheWriteTokens].map(formatTokens), costText(usage)]
}

function costText({ costUsd, unpriced, estimated }: ReportUsageView): string {
  return `${estimated ? '~' : ''}${formatCost(costUsd, unpriced)}`
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => oneLine(cell).replaceAll('|', '\\|')).join(' | ')} |`
  return [
    line(titles),
    line(titles.map((title) => (USAGE_TITLES.includes(title) || title === 'Worked' || title === 'Waited' ? '--:' : '---'))),
    ...rows.map(line),
  ]
}

function quoteMarkdown(text: string): string[] {
  return stripControls(text)
    .trim()
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
}

/** Returns a text of an agent on one line, escaped for Markdown. */
function escapeMarkdown(text: string): string {
  return oneLine(text).replace(/[\\`*_[\]<>#|]/g, '\\$&')
}
