// Requests the diff of a crew's task and returns its lines: the size and the command that shows it, or the whole diff. `reeve answer` and
// `reeve crew show` print them. Test: test/e2e/crew/diff.test.ts.
import { changeSummaryLines, diffTitle, truncationLine } from '../print/crew-diff.ts'
import { diffLines } from '../print/diff.ts'
import type { VerbCall } from '../table/verb.ts'

/** the indentation of these lines */
const INDENT = 6

interface DiffOptions extends Pick<VerbCall, 'out'> {
  /** show the complete diff, or the reason why there is none */
  readonly isWhole: boolean
}

/** Returns the lines about the diff of a task. Empty if nothing changed, unless `isWhole` is set. */
export async function taskDiffLines(
  reeve: VerbCall['reeve'],
  { uuid, ref, task }: { readonly uuid: string; readonly ref: string; readonly task: string },
  { out, isWhole }: DiffOptions,
): Promise<string[]> {
  const view = await reeve.crews.diff(uuid, task, isWhole ? {} : { lines: 0 })
  if (!isWhole) return changeSummaryLines(view, ref, out, out.columns - INDENT)
  const left = truncationLine(view)
  return [diffTitle(view), ...(view.diff ? diffLines(view.diff, out) : []), ...(left === null ? [] : [left])]
}
