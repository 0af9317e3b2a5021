// `reeve logs`: what a process said and printed. Test: test/e2e/cli.test.ts.
import { logLines, type LogLine } from '../../api/log-lines.ts'
import { hasEnded } from '../describe.ts'
import { factOf } from '../facts.ts'
import type { Output } from '../output.ts'
import { sinceOf } from '../since.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

/** The most that the daemon gives. */
const MAX_LINES = 10_000

export async function run({ args, out, reeve }: Call): Promise<number> {
  const since = sinceOf(args.text('since'))
  const shown: Shown = { out, withTime: args.on('timestamps') }
  const process = await reeve.get(args.words[0] ?? '')
  const past = await reeve.logs(process.uuid, { tail: args.number('tail') ?? MAX_LINES, ...(since === undefined ? {} : { since }) })
  const follow = args.on('follow')
  if (out.json && !follow) await out.value({ lines: past.lines })
  else for (const line of past.lines) await show(line, shown)
  if (!follow || hasEnded(process)) return 0
  for await (const event of reeve.events({ process: process.uuid, after: past.cursor, follow: true })) {
    const fact = factOf(event)
    if (fact) for (const line of logLines(event.at, fact)) await show(line, shown)
    if (fact?.type === 'process.exited') break
  }
  return 0
}

const STYLES = { stdout: null, stderr: null, assistant: null, user: 'cyan', tool: 'dim', system: 'yellow' } as const

/** So that who said what can be told without colours, too. */
const MARKS = { stdout: '', stderr: '', assistant: '', user: '> ', tool: '  ', system: '' } as const

interface Shown {
  readonly out: Output
  readonly withTime: boolean
}

async function show(line: LogLine, { out, withTime }: Shown): Promise<void> {
  if (out.json) return out.record({ version: 1, ...line })
  const style = STYLES[line.stream]
  const text = MARKS[line.stream] + safe(line.text)
  const time = withTime ? `${out.paint('dim', safe(line.at))} ` : ''
  await out.line(time + (style ? out.paint(style, text) : text))
}
