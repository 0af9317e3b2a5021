// `reeve diff`: shows what a process changed in its worktree, or a crew on its branch. On a terminal, control characters become visible and
// lines have colours. Files and pipes get the diff unchanged, as a patch.
// Tests: test/e2e/worktree/diff.test.ts, test/e2e/worktree/files.test.ts.
import type { DiffSideView, ProcessDiffView, ProcessFilesView } from '../../../api/views/diff.ts'
import { UsageError } from '../../errors.ts'
import { resolveForRead } from '../../input/which-process.ts'
import { processTitle } from '../../print/process-text.ts'
import { diffLines, pathsText, sizeText, statLines } from '../../print/diff.ts'
import { formatTable } from '../../print/format-table.ts'
import { formatCount } from '../../../faces/format.ts'
import type { Output } from '../../print/output.ts'
import { escapeControls, oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const forms = ['stat', 'name-only', 'steps'].filter((flag) => args.on(flag))
  if (forms.length > 1) throw new UsageError(`--${forms[0]} and --${forms[1]} exclude each other`)
  if (args.number('step') !== undefined && args.text('to') !== undefined) throw new UsageError('--step and --to exclude each other')
  const sides = { from: args.text('from'), to: args.text('to') ?? args.number('step'), path: args.text('path') }
  if (args.on('steps')) return printSteps(await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.files(ref, sides)), out)
  const format = forms.length > 0 ? 'stat' : 'patch'
  const view = await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.diff(ref, { ...sides, format }))
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

/** Prints a line per file with the steps that changed it: `src/a.ts  +12 -3  steps 3, 5-7`. */
async function printSteps(view: ProcessFilesView, out: Output): Promise<number> {
  if (out.json) {
    await out.value(view)
    return 0
  }
  await out.message(`${processTitle(view)}: ${sizeText(view)}${sourceText(view)}`)
  const rows = view.files.map(({ path, from, insertions, deletions, steps }) => [
    from === null ? oneLine(path) : `${oneLine(from)} -> ${oneLine(path)}`,
    insertions === null ? 'binary' : `+${insertions} -${deletions}`,
    steps.length === 0 ? '-' : rangesText(steps),
  ])
  const head = [{ title: 'FILE', min: 20 }, { title: 'LINES' }, { title: 'STEPS', min: 8 }]
  if (rows.length > 0) await out.line(formatTable(head, rows, out.columns, out.ellipsis).join('\n'))
  const { left, leftMore, more } = view
  if (more > 0) await out.message(`${formatCount(more, 'further file')} not listed`)
  if (left.length + leftMore > 0)
    await out.message(`${formatCount(left.length + leftMore, 'file')} not recorded: ${pathsText(left.map(({ path }) => path))}`)
  return 0
}

/** Returns numbers in order as ranges: `3, 5-7`. */
function rangesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last && last[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(', ')
}

/** Returns which files are compared, as the end of a title. */
function sourceText({ of, from, to, uuid }: Pick<ProcessDiffView, 'of' | 'from' | 'to' | 'uuid'>): string {
  if (of === 'reported') return ', as its agent reported them; without a worktree no files are recorded'
  const source = {
    worktree: '',
    base: '; its beginning',
    origin: '; the files that it began with as a fork',
    step: `; its files after step ${to?.step}`,
    salvage: '; its worktree was removed, these are the salvaged files',
    branch: '; its worktree was removed, this is its branch',
    crew: '',
  }[of]
  if (from === null || to === null || isFromBeginning({ from, to, uuid })) return source
  return `, from ${sideText(from, uuid)} to ${sideText(to, uuid)}`
}

/** Whether the process is compared with its own beginning. */
function isFromBeginning({ from, to, uuid }: Pick<ProcessDiffView, 'from' | 'to' | 'uuid'>): boolean {
  return from?.of === 'base' && from.uuid === uuid && to?.uuid === uuid
}

/** Names a compared state: `step 3`, or for another process than `uuid`, `step 3 of PID 5 (docs)`. */
function sideText(side: DiffSideView, uuid: string): string {
  const names = {
    worktree: 'the present files',
    base: 'the beginning',
    origin: 'the first files',
    step: `step ${side.step}`,
    salvage: 'the salvaged files',
    branch: 'the branch',
    crew: 'the branch',
    reported: 'the edits',
  }
  return side.uuid === uuid ? names[side.of] : `${names[side.of]} of ${processTitle(side)}`
}

/** Returns what is compared: `PID 5 (docs): 2 files, +12 -3 on reeve/docs since 1a2b3c4d5e6f`. */
function titleLines(view: ProcessDiffView): string[] {
  const { base, branch, omitted, of } = view
  const since = isFromBeginning(view) ? ` since ${base.slice(0, 12)}` : ''
  const place = of === 'reported' ? '' : ` on ${oneLine(branch)}${since}`
  const title = `${processTitle(view)}: ${sizeText(view)}${place}${sourceText(view)}`
  return omitted === 0
    ? [title]
    : [
        title,
        `${formatCount(omitted, 'file')} of that step ${omitted === 1 ? 'is' : 'are'} not recorded: too large, unreadable, or another repository`,
      ]
}

function truncationLine({ left, pid }: ProcessDiffView): string {
  return `The diff is cut at 8 MB or 1,000 files: ${formatCount(left.length, 'file')} missing or incomplete: ${pathsText(left)}. \`reeve diff --stat ${pid}\` lists all files.`
}
