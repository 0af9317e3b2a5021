// `reeve usage`: prints tokens and cost of all processes, by agent, model, day or tree, with a total. Test: test/e2e/limits/usage.test.ts.
import { formatTable, type Column } from '../../print/format-table.ts'
import { UsageError } from '../../errors.ts'
import { formatCost, formatLimitUsd, countOf, shortId, formatTokens, formatMoment } from '../../../faces/format.ts'
import { parseSince } from '../../input/since.ts'
import { oneLine } from '../../print/text.ts'
import type { UsageBy, UsageReportView, UsageRowView, UsageSumView } from '../../../api/views/usage.ts'
import type { VerbCall } from '../../table/verb.ts'
import { USAGE_GROUPS } from '../../../kernel/model/words.ts'

const USAGE_COLUMNS: readonly Column[] = ['PROCESSES', 'STEPS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST'].map((title) => ({
  title,
  side: 'right',
}))

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const by = groupingOf(args.text('by'))
  const report = await reeve.usageReport({ by, since: parseSince(args.text('since')) })
  if (out.json) {
    await out.value(report)
    return 0
  }
  const rows = [...report.rows.map((row) => [nameOf(row), ...countCells(row)]), ['TOTAL', ...countCells(report.total)]]
  const columns: readonly Column[] = [{ title: by.toUpperCase(), min: 8 }, ...USAGE_COLUMNS]
  await out.line(formatTable(columns, rows, out.columns, out.ellipsis).join('\n'))
  for (const line of remarkLines(report)) await out.message(line)
  return 0
}

function groupingOf(word = 'agent'): UsageBy {
  const found = USAGE_GROUPS.find((group) => group === word)
  if (found) return found
  throw new UsageError(`--by "${word}"`, `Usage is shown by ${USAGE_GROUPS.slice(0, -1).join(', ')} or ${USAGE_GROUPS.at(-1)}.`)
}

function nameOf({ key, root }: UsageRowView): string {
  if (root === null) return key === '' ? '-' : oneLine(key)
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

function remarkLines({ since, more, unread, total, home }: UsageReportView): string[] {
  return [
    ...[budgetLine('today', home.day), budgetLine('this month', home.month)].filter((line) => line !== null),
    ...(more > 0 ? [`${countOf(more, 'row')} more; a shorter time has fewer rows`] : []),
    ...(unread > 0
      ? [
          `${countOf(unread, 'record')} of the store cannot be read, and ${unread === 1 ? 'is' : 'are'} in no sum: \`reeve doctor --verify\` has details`,
        ]
      : []),
    ...(since === null ? [] : [`since ${formatMoment(since, Date.now())}`]),
    ...(total.unpriced ? ['+ or ?: the price of some calls is unknown, so the cost is higher'] : []),
    ...(total.estimated ? ['~ some calls were cut off, and are estimated'] : []),
  ]
}
