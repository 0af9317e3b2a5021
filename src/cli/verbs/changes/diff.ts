// `reeve diff`: shows what a process changed in its worktree, or a crew on its branch. On a terminal control characters become visible and lines have colours;
// files and pipes get the diff unchanged, as a patch. Test: test/e2e/worktree/diff.test.ts.
import type { ProcessDiffView } from '../../../api/views/diff.ts'
import { UsageError } from '../../errors.ts'
import { resolveForRead } from '../../input/which-process.ts'
import { processTitle } from '../../print/process-text.ts'
import { diffLines, pathsText, sizeText, statLines } from '../../print/diff.ts'
import { countOf } from '../../print/format.ts'
import type { Output } from '../../print/output.ts'
import { escapeControls, oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  if (args.on('stat') && args.on('name-only')) throw new UsageError('--stat and --name-only exclude each other')
  const format = args.on('stat') || args.on('name-only') ? 'stat' : 'patch'
  const view = await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.diff(ref, { step: args.number('step'), format }))
  if (out.json) {
    await out.value(view)
    return 0
  }
  for (const line of titleLines(view)) await out.message(line)
  if (args.on('name-only')) for (const { path } of view.files) await out.line(out.isTerminal('stdout') ? escapeControls(path) : path)
  else if (args.on('stat')) for (const line of statLines(view, out, out.columns)) await out.line(line)
  else await printPatch(view.diff ?? '', out)
  if (view.left.length > 0) await out.message(out.paintMessage('yellow', truncationLine(view)))
  return 0
}

async function printPatch(patch: string, out: Output): Promise<void> {
  if (patch === '') return
  if (out.isTerminal('stdout')) await out.line(diffLines(patch, out).join('\n'))
  else await out.piece(patch)
}

/** Returns what is compared: `PID 5 (docs): 2 files, +12 -3 on reeve/docs since 1a2b3c4d5e6f`. */
function titleLines(view: ProcessDiffView): string[] {
  const { base, branch, of, step, omitted } = view
  const source = {
    worktree: '',
    step: `; its files after step ${step}`,
    salvage: '; its worktree was removed, these are the salvaged files',
    branch: '; its worktree was removed, this is its branch',
    crew: '',
  }[of]
  const title = `${processTitle(view)}: ${sizeText(view)} on ${oneLine(branch)} since ${base.slice(0, 12)}${source}`
  return omitted === 0
    ? [title]
    : [
        title,
        `${countOf(omitted, 'file')} of that step ${omitted === 1 ? 'is' : 'are'} not recorded: too large, unreadable, or another repository`,
      ]
}

function truncationLine({ left, pid }: ProcessDiffView): string {
  return `The diff is cut at 8 MB or 1,000 files: ${countOf(left.length, 'file')} missing or incomplete: ${pathsText(left)}. \`reeve diff --stat ${pid}\` lists all files.`
}
