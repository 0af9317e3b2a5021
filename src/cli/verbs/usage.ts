// `reeve usage`: tokens and money of all processes, by agent, model, day or tree, with a line for all of it.
// Test: test/e2e/usage.test.ts.
import { table, type Column } from '../columns.ts'
import { UsageError } from '../errors.ts'
import { cost, plural, shortId, tokens, when } from '../format.ts'
import { sinceOf } from '../since.ts'
import { oneLine } from '../text.ts'
import type { UsageBy, UsageReportView, UsageRowView, UsageSumView } from '../../api/usage-views.ts'
import type { Call } from '../verbs.ts'

export const GROUPINGS = ['agent', 'model', 'day', 'tree'] as const satisfies readonly UsageBy[]

const COUNTS: readonly Column[] = ['PROCESSES', 'STEPS', 'INPUT', 'OUTPUT', 'CACHE READ', 'CACHE WRITE', 'COST'].map((title) => ({ title, side: 'right' }))

export async function run({ args, out, reeve }: Call): Promise<number> {
  const by = groupingOf(args.text('by'))
  const report = await reeve.usageReport({ by, since: sinceOf(args.text('since')) })
  if (out.json) {
    await out.value(report)
    return 0
  }
  const rows = [...report.rows.map((row) => [nameOf(row), ...counts(row)]), ['TOTAL', ...counts(report.total)]]
  const columns: readonly Column[] = [{ title: by.toUpperCase(), min: 8 }, ...COUNTS]
  await out.line(table(columns, rows, out.columns, out.ellipsis).join('\n'))
  for (const words of remarks(report)) await out.words(words)
  return 0
}

function groupingOf(word = 'agent'): UsageBy {
  const found = GROUPINGS.find((one) => one === word)
  if (found) return found
  throw new UsageError(`--by "${word}"`, `Usage is shown by ${GROUPINGS.slice(0, -1).join(', ')} or ${GROUPINGS.at(-1)}.`)
}

function nameOf({ key, root }: UsageRowView): string {
  if (root === null) return key === '' ? '-' : oneLine(key)
  const name = root.name ?? root.agent
  return `${oneLine(name)} ${shortId(root.uuid)}${root.removed ? ' (removed)' : ''}`
}

function counts({ processes, steps, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, unpriced, estimated }: UsageSumView): string[] {
  return [String(processes), String(steps), ...[inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].map(tokens), `${estimated ? '~' : ''}${cost(costUsd, unpriced)}`]
}

function remarks({ since, more, total }: UsageReportView): string[] {
  return [
    ...(more > 0 ? [`${plural(more, 'row')} more: --json has as many as this; a shorter time has fewer`] : []),
    ...(since === null ? [] : [`since ${when(since, Date.now())}`]),
    ...(total.unpriced ? ['+ the price of some calls is not known: the cost is more than this'] : []),
    ...(total.estimated ? ['~ some calls were cut off, and are estimated'] : []),
  ]
}
