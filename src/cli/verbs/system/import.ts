// `reeve import`: restores exported processes. Test: test/e2e/cli/gc-pin-archive.test.ts.
import { processTitle } from '../../print/process-text.ts'
import { formatCount } from '../../../faces/format.ts'
import { stripControls } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const { processes } = await reeve.import(args.words[0] ?? '')
  if (out.json) {
    await out.value({ processes })
    return 0
  }
  for (const done of processes) {
    await out.line(done.uuid)
    await out.message(stripControls(`${processTitle(done)} was imported: ${formatCount(done.facts, 'event')}`))
    for (const warning of done.warnings) await out.message(out.paintMessage('yellow', stripControls(`  ${warning}`)))
  }
  return 0
}
