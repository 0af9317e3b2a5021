// `reeve crew diff`: shows the change of a task. Test: test/e2e/crew/diff.test.ts.
import { diffTitle, truncationLine } from '../../print/crew-diff.ts'
import { diffLines, statLines } from '../../print/diff.ts'
import { UsageError } from '../../errors.ts'
import { resolveForRead } from '../../input/which-process.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

/** the requested number of lines for files and programs: as many as the daemon returns */
const ALL_LINES = 1_000_000

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref = '', task = ''] = args.words
  const forms = ['stat', 'name-only'].filter((flag) => args.on(flag))
  if (forms.length > 1) throw new UsageError('--stat and --name-only exclude each other')
  if (args.on('review') && args.on('committed')) throw new UsageError('--review and --committed exclude each other')
  const which = args.on('review') ? 'review' : args.on('committed') ? 'commit' : 'auto'
  const lines = forms.length > 0 ? 0 : out.isTerminal('stdout') && !out.json ? undefined : ALL_LINES
  const view = await resolveForRead(ref, out, (resolvedRef) =>
    reeve.crews.diff(resolvedRef, task, { which, ...(lines === undefined ? {} : { lines }) }),
  )
  if (out.json) {
    await out.value(view)
    return 0
  }
  await out.message(diffTitle(view))
  if (view.of === null) return 0
  const text = args.on('name-only')
    ? view.files.map(({ path }) => oneLine(path))
    : args.on('stat')
      ? statLines(view, out, out.columns)
      : diffLines(view.diff ?? '', out)
  if (view.files.length > 0) await out.line(text.join('\n'))
  const left = truncationLine(view)
  if (left !== null) await out.message(left)
  return 0
}
