// `reeve export`: writes the whole history of a process to files. Test: test/e2e/cli/gc-pin-archive.test.ts.
import { processTitle } from '../../print/process-text.ts'
import { formatCount, formatBytes } from '../../../faces/format.ts'
import { stripControls } from '../../print/text.ts'
import { resolveForRead } from '../../input/which-process.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref = '', dir = ''] = args.words
  const { version: _, ...done } = await resolveForRead(ref, out, (resolvedRef) => reeve.export(resolvedRef, dir))
  if (out.json) await out.value(done)
  else {
    await out.line(stripControls(done.dir))
    await out.message(
      stripControls(
        `${processTitle(done)} was exported: ${formatCount(done.steps, 'step')}, ${formatCount(done.facts, 'event')}, ${formatBytes(done.bytes)}`,
      ),
    )
  }
  return 0
}
