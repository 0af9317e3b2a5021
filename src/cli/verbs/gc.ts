// `reeve gc`: shows which ended processes go by the rules of the configuration, asks where they are many, and collects them.
// Test: test/e2e/cli-history.test.ts.
import type { GcEntryView, GcView } from '../../api/history-views.ts'
import { agreed } from '../agreed.ts'
import { table, type Column } from '../columns.ts'
import { UsageError } from '../errors.ts'
import { ago, plural, shortId, size } from '../format.ts'
import type { Output } from '../output.ts'
import { oneLine } from '../text.ts'
import type { Call } from '../verbs.ts'

/** More than so many are asked about. */
const MANY = 100

export async function run({ args, out, reeve }: Call): Promise<number> {
  const dryRun = args.on('dry-run')
  if (out.json) {
    const { version: _, ...done } = await reeve.gc({ dryRun })
    await out.value(done)
    return 0
  }
  const preview = await reeve.gc({ dryRun: true })
  if (preview.count > 0) await show(preview, out)
  await tellSkipped(preview, out)
  if (dryRun || preview.count === 0) {
    await out.words(preview.count === 0 ? nothing(preview) : `${plural(preview.count, 'ended process')} would go, about ${size(preview.bytes)}`)
    return 0
  }
  if (preview.count > MANY && !args.on('force') && !(await mayGoOn(preview.count, out))) {
    await out.words('nothing was collected')
    return 1
  }
  const { count, freedBytes } = await reeve.gc()
  await out.words(`${plural(count, 'ended process')} ${count === 1 ? 'was' : 'were'} collected; ${size(freedBytes ?? 0)} are free again`)
  return 0
}

async function mayGoOn(count: number, out: Output): Promise<boolean> {
  if (!process.stdin.isTTY || !out.isTerminal('stderr')) {
    throw new UsageError(`${count} processes would be collected, and nobody can be asked`, 'Look at them with `reeve gc --dry-run`, and collect them with `reeve gc --force`.')
  }
  return agreed(`Collect ${count} ended processes with their history?`)
}

function nothing({ rules: { retentionDays, maxEntries, maxBytes } }: GcView): string {
  if (retentionDays === 0 && maxEntries === 0 && maxBytes === 0) return 'nothing is collected: all rules are 0 (`reeve config show gc`)'
  return 'there is nothing to collect'
}

async function show({ entries, count }: GcView, out: Output): Promise<void> {
  const now = Date.now()
  const columns: Column[] = [{ title: 'ID' }, { title: 'NAME', min: 8 }, { title: 'AGENT', min: 7 }, { title: 'ENDED' }, { title: 'SIZE', side: 'right' }, { title: 'RULE' }]
  for (const line of table(columns, entries.map((entry) => cells(entry, now)), out.columns, out.ellipsis)) await out.line(line)
  if (count > entries.length) await out.words(`and ${count - entries.length} more`)
}

function cells({ uuid, name, agent, exitedAt, bytes, rule }: GcEntryView, now: number): string[] {
  return [shortId(uuid), name === null ? '-' : oneLine(name), oneLine(agent), ago(now - Date.parse(exitedAt)), bytes === null ? '-' : size(bytes), rule]
}

async function tellSkipped({ skipped }: GcView, out: Output): Promise<void> {
  for (const { uuid, warning } of skipped) await out.words(out.paintWords('yellow', oneLine(`${shortId(uuid)} is passed over: ${warning}`)))
}
