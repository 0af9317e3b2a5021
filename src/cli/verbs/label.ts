// `reeve label`: changes the labels of a process, and prints them. Test: test/e2e/naming/labels.test.ts.
import { labelsText } from '../../api/text/labels-text.ts'
import { parseLabelChanges } from '../input/labels.ts'
import { oneLine } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref = '', ...changes] = args.words
  const { process, note } = await reeve.label(ref, parseLabelChanges(changes))
  if (out.json) await out.value({ process, ...(note === undefined ? {} : { note }) })
  else {
    const text = oneLine(labelsText(process.labels))
    await out.message(
      `PID ${process.pid} ${note === undefined ? 'now' : 'already'} has ${text === '' ? 'no labels' : `the labels ${text}`}`,
    )
  }
  return 0
}
