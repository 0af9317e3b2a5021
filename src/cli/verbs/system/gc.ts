// `reeve gc`: lists the ended processes that the rules of the configuration select, and collects them. Asks first if there are many. Test:
// test/e2e/cli/gc-pin-archive.test.ts.
import type { GcEntryView, GcView } from '../../../api/views/gc.ts'
import { askToConfirm } from '../../input/confirm.ts'
import { formatTable, type Column } from '../../print/format-table.ts'
import { UsageError } from '../../errors.ts'
import { formatAgo, formatCount, shortId, formatBytes } from '../../../faces/format.ts'
import type { Output } from '../../print/output.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

/** the greatest number of processes that are collected without a question */
const MAX_UNCONFIRMED = 100

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const dryRun = args.on('dry-run')
  if (out.json) {
    const { version: _, ...done } = await reeve.gc({ dryRun })
    await out.value(done)
    return 0
  }
  const preview = await reeve.gc({ dryRun: true })
  if (preview.count > 0) await printEntries(preview, out)
  await printSkipped(preview, out)
  if (dryRun || preview.count === 0) {
    await out.message(
      preview.count === 0
        ? emptyText(preview)
        : `${formatCount(preview.count, 'ended process')} would be collected, about ${formatBytes(preview.bytes)}`,
    )
    return 0
  }
  if (preview.count > MAX_UNCONFIRMED && !args.on('force') && !(await isConfirmed(preview.count, out))) {
    await out.message('nothing was collected')
    return 1
  }
  const { count, freedBytes } = await reeve.gc()
  await out.message(
    `${formatCount(count, 'ended process')} ${count === 1 ? 'was' : 'were'} collected; ${formatBytes(freedBytes ?? 0)} are free again`,
  )
  return 0
}

async function isConfirmed(count: number, out: Output): Promise<boolean> {
  if (!process.stdin.isTTY || !out.isTerminal('stderr')) {
    throw new UsageError(
      `${count} processes would be collected, and there is no terminal to ask on`,
      'List them with `reeve gc --dry-run`, collect them with `reeve gc --force`.',
    )
  }
  return askToConfirm(`Collect ${count} ended processes with their history?`)
}

function emptyText({ rules: { retentionDays, maxEntries, maxBytes } }: GcView): string {
  if (retentionDays === 0 && maxEntries === 0 && maxBytes === 0) return 'nothing is collected: all rules are 0 (`reeve config show gc`)'
  return 'nothing to collect'
}

async function printEntries({ entries, count }: GcView, out: Output): Promise<void> {
  const now = Date.now()
  const columns: Column[] = [
    { title: 'ID' },
    { title: 'NAME', min: 8 },
    { title: 'AGENT', min: 7 },
    { title: 'ENDED' },
    { title: 'SIZE', side: 'right' },
    { title: 'RULE' },
  ]
  for (const line of formatTable(
    columns,
    entries.map((entry) => cells(entry, now)),
    out.columns,
    out.ellipsis,
  ))
    await out.line(line)
  if (count > entries.length) await out.message(`and ${count - entries.length} more`)
}

function cells({ uuid, name, agent, exitedAt, bytes, rule }: GcEntryView, now: number): string[] {
  return [
    shortId(uuid),
    name === null ? '-' : oneLine(name),
    oneLine(agent),
    formatAgo(now - Date.parse(exitedAt)),
    bytes === null ? '-' : formatBytes(bytes),
    rule,
  ]
}

async function printSkipped({ skipped }: GcView, out: Output): Promise<void> {
  for (const { uuid, warning } of skipped) await out.message(out.paintMessage('yellow', oneLine(`${shortId(uuid)} is skipped: ${warning}`)))
}
