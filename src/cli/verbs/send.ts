// `reeve send`: queues a message for a process, and reports what delays the delivery. Tests: test/e2e/cli/cli.test.ts,
// test/e2e/cli/blocked.test.ts.
import { blockText } from '../print/blocked.ts'
import { formatCount } from '../../faces/format.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref = '', text = ''] = args.words
  const { id, queueCount, note } = await reeve.send(ref, text, { now: args.on('now') })
  if (out.json) await out.value({ id, queueCount, ...(note === undefined ? {} : { note }) })
  else await out.message(queueCount > 0 ? `queued; ${formatCount(queueCount, 'message')} in its queue` : 'delivered')
  if (note !== undefined && !out.json) await out.message(out.paintMessage('yellow', note))
  const block = queueCount > 0 ? blockText(await reeve.get(ref)) : null
  if (block) await out.message(out.paintMessage('yellow', block))
  return 0
}
