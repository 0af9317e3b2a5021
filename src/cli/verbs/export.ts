// `reeve export`: a process's whole history as files. Test: test/e2e/cli-history.test.ts.
import { called } from '../describe.ts'
import { plural, size } from '../format.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref = '', dir = ''] = args.words
  const { version: _, ...done } = await reeve.export(ref, dir)
  if (out.json) await out.value(done)
  else {
    await out.line(safe(done.dir))
    await out.words(safe(`${called(done)} was exported: ${plural(done.steps, 'step')}, ${plural(done.facts, 'event')}, ${size(done.bytes)}`))
  }
  return 0
}
