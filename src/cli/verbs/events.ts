// `reeve events`: prints the events of one process or of all. Test: test/e2e/cli/cli.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import { parseSince } from '../input/since.ts'
import { formatClock } from '../../faces/format.ts'
import { fitWidth, oneLine, padWidth } from '../print/text.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { Output } from '../print/output.ts'
import type { VerbCall } from '../table/verb.ts'

/** the greatest width of a value; only `--json` prints it completely */
const VALUE_COLUMNS = 80

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref] = args.words
  const after = args.number('after')
  const tail = args.number('tail')
  const since = parseSince(args.text('since'))
  const options = {
    follow: args.on('follow'),
    ...(ref === undefined ? {} : { process: (await resolveForRead(ref, out, (resolvedRef) => reeve.get(resolvedRef))).uuid }),
    ...(after === undefined ? {} : { after }),
    ...(tail === undefined ? {} : { tail }),
    ...(since === undefined ? {} : { since }),
  }
  for await (const event of reeve.events(options)) {
    if (out.json) await out.record(event)
    else await out.line(formatEvent(event, out))
  }
  return 0
}

/** the fields that every event has: the line begins with those that it prints, so they are not printed as values */
const ENVELOPE: ReadonlySet<string> = new Set(['version', 'seq', 'uuid', 'pid', 'at', 'type', 'fact'])

/** Returns an event as one line. Empty values are left out: null, and an empty queue. */
function formatEvent(event: EventView, out: Output): string {
  const fields = Object.entries(event).filter(
    ([key, value]) => !ENVELOPE.has(key) && value !== null && !(key === 'queueCount' && value === 0),
  )
  const values = fields.map(([key, value]) => `${key}=${shortValue(value)}`)
  const type = event['fact'] === event.type || event['fact'] === undefined ? event.type : `${event.type} (${String(event['fact'])})`
  const head = `${padWidth(String(event.seq), 6, 'right')} ${formatClock(event.at, Date.now())} PID ${event.pid} ${oneLine(type)} `
  return fitWidth(head + values.join(' '), out.columns, out.ellipsis).trimEnd()
}

function shortValue(value: unknown): string {
  return fitWidth(oneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')), VALUE_COLUMNS, '...')
}
