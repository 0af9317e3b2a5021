// `reeve send`. Test: test/e2e/cli.test.ts.
import { plural } from '../format.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref = '', text = ''] = args.words
  const { id, queueCount } = await reeve.send(ref, text)
  if (out.json) await out.value({ id, queueCount })
  else await out.words(queueCount > 0 ? `queued; ${plural(queueCount, 'message')} in its queue` : 'delivered')
  return 0
}
