// `reeve usage`: prints tokens and cost of all processes or of a tree, by one or two groups, with a total. Test:
// test/e2e/limits/usage.test.ts.
import { formatTable, type Column } from '../../print/format-table.ts'
import { UsageError } from '../../errors.ts'
import { formatCost, formatLimitUsd, formatCount, shortId, formatTokens, formatMoment } from '../../../faces/format.ts'
import { parseLabels } from '../../input/labels.ts'
import { parseSince } from '../../input/since.ts'
import { processTitle } from '../../print/process-text.ts'
import { oneLine } from '../../print/text.ts'
import { resolveForRead } from '../../input/which-process.ts'
import type { UsageBy, UsageReportView, UsageRowView, UsageSumView } from '../../../api/views/usage.ts'
import type { VerbCall } from '../../table/verb.ts'
import { USAGE_GROUPS } from '../../../kernel/model/words.ts'

const USAGE_COLUMNS: readonly Column[] = ['PROCESSES', 'STEPS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST'].map((title) => ({
  title,
  side: 'right',
}))

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref] = args.words
  const { by, label } = groupsOf(args.text('by') ?? (ref === undefined ? 'agent' : 'process'))
  const query = {
    by: by.join(',') as UsageBy | `${UsageBy},${UsageBy}`,
    label,
    labelled: args.text('label'),
    since: parseSince(args.text('since')),
    until: parseSince(args.text('until'), Date.now(), '--until'),
  }
  if (query.labelled !== undefined) parseLabels([query.labelled])
  const read = (under?: string): Promise<UsageReportView> => reeve.usageReport({ ...query, under })
  const report = ref === undefined ? await read() : await resolveForRead(ref, out, read)
  if (out.json) {
    await out.value(report)
    return 0
  }
  const rows = [
    ...report.rows.map((row) => [
      ...by.map((group, index) => nameOf(group, index === 0 ? row.key : (row.part ?? ''), row)),
      ...countCells(row),
    ]),
    ['TOTAL', ...by.slice(1).map(() => ''), ...countCells(report.total)],
  ]
  const columns: readonly Column[] = [
    ...by.map((group) => ({ title: (group === 'label' ? (label ?? '') : group).toUpperCase(), min: 8 })),
    ...USAGE_COLUMNS,
  ]
  await out.line(formatTable(columns, rows, out.columns, out.ellipsis).join('\n'))
  for (const line of remarkLines(report)) await out.message(line)
  return 0
}

/** Parses one group, or two with a comma between. The group of a label is written as `label:KEY`. */
function groupsOf(words: string): { readonly by: UsageBy[]; readonly label: string | undefined } {
  const labels = words.split(',').flatMap((word) => /^label:(.+)$/.exec(word)?.[1] ?? [])
  const groups = words.split(',').map((word) => USAGE_GROUPS.find((group) => group === word.replace(/^label:.+$/, 'label')))
  const known = groups.filter((group) => group !== undefined)
  const isLabelComplete = labels.length === known.filter((group) => group === 'label').length && labels.length <= 1
  if (known.length === groups.length && groups.length <= 2 && isLabelComplete) return { by: known, label: labels[0] }
  const names = USAGE_GROUPS.map((group) => (group === 'label' ? 'label:KEY' : group))
  throw new UsageError(
    `--by "${words}" is neither a group nor two groups`,
    `Usage is shown by ${names.slice(0, -1).join(', ')} or ${names.at(-1)}, or by two of them: \`day,model\`.`,
  )
}

function nameOf(group: UsageBy, key: string, { root }: UsageRowView): string {
  if ((group !== 'tree' && group !== 'process') || root === null) return key === '' ? '-' : oneLine(key)
  const name = root.name ?? root.agent
  return `${oneLine(name)} ${shortId(root.uuid)}${root.removed ? ' (removed)' : ''}`
}

function countCells({
  processes,
  steps,
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
  costUsd,
  unpriced,
  estimated,
}: UsageSumView): string[] {
  return [
    String(processes),
    String(steps),
    ...[inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].map(formatTokens),
    `${estimated ? '~' : ''}${formatCost(costUsd, unpriced)}`,
  ]
}

/** Describes a budget of the home: `today: $4.10 of $5, until 2026-11-24 00:00`; null if there is none. */
function budgetLine(when: string, { costUsd, budgetUsd, endsAt }: UsageReportView['home']['day']): string | null {
  return budgetUsd === null
    ? null
    : `${when}: ${formatCost(costUsd)} of ${formatLimitUsd(budgetUsd)}, until ${formatMoment(endsAt, Date.now())}`
}

function remarkLines({ since, until, under, more, unread, total, home }: UsageReportView): string[] {
  return [
    ...(under === null ? [] : [`of ${processTitle(under)} and all below it`]),
    ...[budgetLine('today', home.day), budgetLine('this month', home.month)].filter((line) => line !== null),
    ...(more > 0 ? [`${formatCount(more, 'row')} more; a shorter time has fewer rows`] : []),
    ...(unread > 0
      ? [
          `${formatCount(unread, 'record')} of the store cannot be read, and ${unread === 1 ? 'is' : 'are'} in no sum: \`reeve doctor --verify\` has details`,
        ]
      : []),
    ...(since === null ? [] : [`since ${formatMoment(since, Date.now())}`]),
    ...(until === null ? [] : [`until ${formatMoment(until, Date.now())}`]),
    ...(total.unpriced ? ['+ or ?: the price of some calls is unknown, so the cost is higher'] : []),
    ...(total.estimated ? ['~ some calls were cut off, and are estimated'] : []),
  ]
}
