// `reeve events`: what happened, of one process or of all. Test: test/e2e/cli.test.ts.
import type { EventView } from '../../api/views.ts'
import { sinceOf } from '../since.ts'
import { clock } from '../format.ts'
import { fit, oneLine, pad } from '../text.ts'
import type { Output } from '../output.ts'
import type { Call } from '../verbs.ts'

/** Longer values are cut; `--json` gives them whole. */
const VALUE_COLUMNS = 80

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref] = args.words
  const after = args.number('after')
  const tail = args.number('tail')
  const since = sinceOf(args.text('since'))
  const options = {
    follow: args.on('follow'),
    ...(ref === undefined ? {} : { process: (await reeve.get(ref)).uuid }),
    ...(after === undefined ? {} : { after }),
    ...(tail === undefined ? {} : { tail }),
    ...(since === undefined ? {} : { since }),
  }
  for await (const event of reeve.events(options)) {
    if (out.json) await out.record(event)
    else await out.line(line(event, out))
  }
  return 0
}

const ENVELOPE: ReadonlySet<string> = new Set(['version', 'seq', 'uuid', 'pid', 'at', 'type', 'fact'])

function line(event: EventView, out: Output): string {
  const fields = Object.entries(event).filter(([key, value]) => !ENVELOPE.has(key) && value !== null)
  const values = fields.map(([key, value]) => `${key}=${short(value)}`)
  const type = event['fact'] === event.type || event['fact'] === undefined ? event.type : `${event.type} (${String(event['fact'])})`
  const head = `${pad(String(event.seq), 6, 'right')} ${clock(event.at, Date.now())} PID ${event.pid} ${oneLine(type)} `
  return fit(head + values.join(' '), out.columns, out.ellipsis).trimEnd()
}

function short(value: unknown): string {
  return fit(oneLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')), VALUE_COLUMNS, '...')
}
