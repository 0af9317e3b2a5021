// `reeve logs`: prints the text and output of a process. Test: test/e2e/cli/cli.test.ts.
import { logLines } from '../../api/text/log-lines.ts'
import type { LogLine, ProcessView } from '../../api/views/process.ts'
import { blockText } from '../print/blocked.ts'
import { BlockNotices, mayChangeBlock } from '../follow/block-notices.ts'
import { hasEnded } from '../print/process-text.ts'
import { HoldNoticeFilter } from '../print/hold-notice-filter.ts'
import { formatClock } from '../print/format.ts'
import { toFact } from '../follow/event-to-fact.ts'
import type { Output } from '../print/output.ts'
import { wrapText, Prose } from '../print/prose.ts'
import { parseSince } from '../input/since.ts'
import { oneLine, stripControls } from '../print/text.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'

/** the greatest number of lines that the daemon returns */
const MAX_LINES = 10_000

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const since = parseSince(args.text('since'))
  const style: LogStyle = { out, withTime: args.on('timestamps'), prose: new Prose(), lastTextAt: '' }
  const process = await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.get(ref))
  const earlier = await reeve.logs(process.uuid, { tail: args.number('tail') ?? MAX_LINES, ...(since === undefined ? {} : { since }) })
  const follow = args.on('follow')
  if (out.json && !follow) await out.value({ lines: earlier.lines })
  else for (const line of follow && !out.json ? withoutRepeatedCause(earlier.lines, process) : earlier.lines) await show(line, style)
  if (!follow || hasEnded(process)) return 0
  const notices = new BlockNotices(out)
  const report = async (): Promise<void> => notices.report([await reeve.get(process.uuid)])
  await report()
  const noticeFilter = new HoldNoticeFilter()
  for await (const event of reeve.events({ process: process.uuid, after: earlier.cursor, follow: true })) {
    const fact = toFact(event)
    if (mayChangeBlock(event)) await report()
    for (const visible of fact ? (out.json ? [fact] : noticeFilter.visibleFacts(fact)) : [])
      for (const line of logLines(event.at, visible)) await show(line, style)
    if (fact?.type === 'process.exited') break
  }
  return 0
}

/** Removes the last line if it is the cause of a hold, which the notice that follows repeats. */
function withoutRepeatedCause(lines: readonly LogLine[], process: ProcessView): readonly LogLine[] {
  const last = lines.at(-1)
  const notice = process.status === 'suspended' ? blockText(process) : null
  return last?.stream === 'system' && notice?.includes(oneLine(last.text)) ? lines.slice(0, -1) : lines
}

const STYLES = { stdout: null, stderr: null, assistant: null, user: 'cyan', tool: 'dim', system: 'yellow' } as const

/** The mark before the lines of each stream: they can be distinguished even without colours. */
const MARKS = { stdout: '', stderr: '', assistant: '', user: '> ', tool: '  ', system: '' } as const

interface LogStyle {
  readonly out: Output
  readonly withTime: boolean
  /** wraps the text of an agent */
  readonly prose: Prose
  /** the time of the last text of the agent; lines with the same time belong to the same text */
  lastTextAt: string
}

async function show(line: LogLine, style: LogStyle): Promise<void> {
  const { out, withTime } = style
  if (out.json) return out.record({ version: 1, ...line })
  const colour = STYLES[line.stream]
  const at = withTime ? formatClock(line.at, Date.now()) : ''
  const time = withTime ? `${out.paint('dim', at)} ` : ''
  const text = MARKS[line.stream] + wrappedText(line, (withTime ? at.length + 1 : 0) + MARKS[line.stream].length, style)
  await out.line(time + (colour ? out.paint(colour, text) : text))
}

/** Wraps a line between words, unless a program printed it. `margin`: the columns to the left of the line. */
function wrappedText({ stream, text, at }: LogLine, margin: number, style: LogStyle): string {
  const columns = style.out.proseColumns('stdout')
  const space = ' '.repeat(margin)
  if (stream === 'user' || stream === 'system') return wrapText(stripControls(text), columns, space)
  if (stream !== 'assistant') return stripControls(text)
  if (at !== style.lastTextAt) style.prose.end()
  style.lastTextAt = at
  return style.prose
    .push(`${stripControls(text)}\n`, columns - margin)
    .slice(0, -1)
    .replaceAll('\n', `\n${space}`)
}
