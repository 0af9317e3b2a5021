// `reeve import`: brings back what was exported. Test: test/e2e/cli-history.test.ts.
import { called } from '../describe.ts'
import { plural } from '../format.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const { processes } = await reeve.import(args.words[0] ?? '')
  if (out.json) {
    await out.value({ processes })
    return 0
  }
  for (const done of processes) {
    await out.line(done.uuid)
    await out.words(safe(`${called(done)} was imported: ${plural(done.facts, 'event')}`))
    for (const warning of done.warnings) await out.words(out.paintWords('yellow', safe(`  ${warning}`)))
  }
  return 0
}
