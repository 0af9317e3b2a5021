// Prints the change of a task below a question: its size and the command that shows it, or the complete change. Test:
// test/e2e/crew/diff.test.ts.
import { changeLines, diffTitle, truncationLine } from './crew-diff.ts'
import { diffLines } from './diff.ts'
import type { VerbCall } from '../table/verb.ts'

/** the indentation of these lines */
const INDENT = 6

interface ChangeOptions extends Pick<VerbCall, 'out'> {
  /** show the complete diff, or the reason why there is none */
  readonly isWhole: boolean
}

/** Returns the lines about the change of a task. Empty if there is no change, unless `isWhole` is set. */
export async function taskChange(
  reeve: VerbCall['reeve'],
  { uuid, ref, task }: { readonly uuid: string; readonly ref: string; readonly task: string },
  { out, isWhole }: ChangeOptions,
): Promise<string[]> {
  const view = await reeve.crews.diff(uuid, task, isWhole ? {} : { lines: 0 })
  if (!isWhole) return changeLines(view, ref, out, out.columns - INDENT)
  const left = truncationLine(view)
  return [diffTitle(view), ...(view.diff ? diffLines(view.diff, out) : []), ...(left === null ? [] : [left])]
}
