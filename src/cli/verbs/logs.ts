// `reeve logs`: prints the text and output of one process, of several, of a tree, or of all. Tests: test/e2e/cli/cli.test.ts,
// test/e2e/cli/logs.test.ts.
import { logLines } from '../../api/text/log-lines.ts'
import type { LogLine, ProcessView } from '../../api/views/process.ts'
import { selectProcesses } from '../actions/select-processes.ts'
import { UsageError } from '../errors.ts'
import { isNamePattern } from '../input/name-pattern.ts'
import { blockText } from '../print/blocked.ts'
import { BlockNotices, mayChangeBlock } from '../follow/block-notices.ts'
import { LOG_FIELDS, printManyLogs, type LogSource } from '../follow/many-logs.ts'
import { hasEnded } from '../print/process-text.ts'
import { HoldNoticeFilter } from '../print/hold-notice-filter.ts'
import { LogPrinter, logRecord } from '../print/transcript/log-line.ts'
import { toFact } from '../follow/event-to-fact.ts'
import { parseSince } from '../input/since.ts'
import { oneLine } from '../print/text.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'

/** the greatest number of lines that the daemon returns */
const MAX_LINES = 10_000

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  const since = parseSince(args.text('since'))
  const follow = args.on('follow')
  const match = args.text('match')
  if (follow && match !== undefined) throw new UsageError('--follow and --match exclude each other')
  const [ref = ''] = args.words
  if (args.on('all') || args.on('label') || args.on('tree') || args.words.length !== 1 || isNamePattern(ref)) {
    if (args.on('all') && args.on('tree')) throw new UsageError('--all and --tree exclude each other')
    return printManyLogs(call, () => findSources(call), {
      follow,
      since,
      match,
      withTime: args.on('timestamps'),
      tail: args.number('tail'),
      joining: args.on('all') ? 'all' : args.on('tree') ? 'descendants' : 'none',
    })
  }
  const printer = new LogPrinter({ out, withTime: args.on('timestamps') })
  const process = await resolveForRead(ref, out, (resolvedRef) => reeve.get(resolvedRef))
  const earlier = await reeve.logs(process.uuid, {
    tail: args.number('tail') ?? MAX_LINES,
    ...(since === undefined ? {} : { since }),
    ...(match === undefined ? {} : { match }),
  })
  if (out.json && !follow) await out.value({ lines: earlier.lines.map((line) => logRecord(process, line)) })
  else
    for (const line of follow && !out.json ? withoutRepeatedCause(earlier.lines, process) : earlier.lines)
      await printer.print(process, line)
  if (!follow || hasEnded(process)) return 0
  await followOne(call, process, earlier.cursor, printer)
  return 0
}

async function followOne({ out, reeve }: VerbCall, process: ProcessView, after: number, printer: LogPrinter): Promise<void> {
  await using notices = new BlockNotices(out)
  const report = async (): Promise<void> => notices.report([await reeve.get(process.uuid)])
  await report()
  const noticeFilter = new HoldNoticeFilter()
  for await (const event of reeve.events({ process: process.uuid, after, follow: true })) {
    const fact = toFact(event)
    if (mayChangeBlock(event)) await report()
    for (const visible of fact ? (out.json ? [fact] : noticeFilter.visibleFacts(fact)) : [])
      for (const line of logLines(event.at, visible)) await printer.print({ ...process, pid: event.pid }, line)
    if (fact?.type === 'process.exited') break
  }
}

/** Returns the processes that the words and flags select, each once, and with `--tree` also all their descendants. */
async function findSources({ args, out, reeve }: VerbCall): Promise<readonly LogSource[]> {
  const targets = await selectProcesses(
    { args, reeve },
    { canActOn: () => true, adjective: 'living', leavesChildrenToOwner: false, includesMembers: true },
  )
  if (targets.length === 0) await out.message('no living processes')
  if (args.on('all')) {
    const selected = new Set(targets.map(({ ref }) => ref))
    return (await reeve.list({ fields: LOG_FIELDS })).filter(({ uuid }) => selected.has(uuid))
  }
  const named = await Promise.all(targets.map(({ ref }) => resolveForRead(ref, out, (resolvedRef) => reeve.get(resolvedRef))))
  const all = args.on('tree') ? await reeve.list({ all: true, fields: LOG_FIELDS }) : []
  const children = Map.groupBy(all, ({ parentUuid }) => parentUuid)
  const found = new Map<string, LogSource>()
  const add = (source: LogSource): void => {
    if (found.has(source.uuid)) return
    found.set(source.uuid, source)
    for (const child of children.get(source.uuid) ?? []) add(child)
  }
  for (const each of named) add(each)
  return [...found.values()]
}

/** Removes the last line if it is the cause of a hold, which the notice that follows repeats. */
function withoutRepeatedCause(lines: readonly LogLine[], process: ProcessView): readonly LogLine[] {
  const last = lines.at(-1)
  const notice = process.status === 'suspended' ? blockText(process) : null
  return last?.stream === 'system' && notice?.includes(oneLine(last.text)) ? lines.slice(0, -1) : lines
}
