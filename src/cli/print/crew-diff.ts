// Formats the change of a task for a terminal: its files, a coloured unified diff, and the git command for the complete diff. Pure.
// Control characters in files become visible text. Test: test/tables/cli/print/crew-diff.test.ts.
import { shellWord } from '../../api/text/shell-quote.ts'
import type { CrewDiffFileView, CrewDiffView } from '../../api/views/crew-diff.ts'
import { countOf } from './format.ts'
import type { Output } from './output.ts'
import { fitWidth, oneLine, padWidth, escapeControls, displayWidth } from './text.ts'

type Style = Pick<Output, 'paint' | 'ellipsis'>

/** the greatest width of the bar of a file */
const MAX_BAR_COLUMNS = 24
/** the greatest number of files that a summary names */
const MAX_NAMES = 8

/** `lexer (The lexer): what worker-1 made; it is not committed: 2 files, +12 -3`. */
export function diffTitle({ task: { id, title }, of, note, ...sizes }: CrewDiffView): string {
  const about = title === '' || title === id ? id : `${id} (${oneLine(title)})`
  return of === null ? oneLine(note) : `${about}: ${oneLine(note)}: ${sizeText(sizes)}`
}

function sizeText({ files, insertions, deletions }: Pick<CrewDiffView, 'files' | 'insertions' | 'deletions'>): string {
  return files.length === 0 ? 'no file differs' : `${countOf(files.length, 'file')}, +${insertions} -${deletions}`
}

/** Returns a line per file, as in `git diff --stat`, and a line with the sum. */
export function statLines(view: Pick<CrewDiffView, 'files' | 'insertions' | 'deletions'>, out: Style, maxWidth: number): string[] {
  const { files } = view
  if (files.length === 0) return []
  const sizes = files.map(({ insertions, deletions }) =>
    insertions === null || deletions === null ? 'binary' : String(insertions + deletions),
  )
  const sizeWidth = Math.max(...sizes.map((text) => text.length))
  const maxLines = Math.max(...files.map(changedLines))
  const notes = files.map((file) => changeWord(file))
  const barWidth = Math.min(MAX_BAR_COLUMNS, maxLines, Math.max(0, maxWidth - sizeWidth - 20))
  const room = Math.max(10, maxWidth - sizeWidth - barWidth - Math.max(...notes.map((note) => note.length)) - 6)
  const names = files.map(({ path }) => fitWidth(oneLine(path), room, out.ellipsis))
  const nameWidth = Math.max(...names.map((text) => displayWidth(text)))
  const rows = files.map((file, index) => {
    const note = notes[index] ?? ''
    const [added, deleted] = barOf(file, maxLines, barWidth)
    const drawn = `${out.paint('green', '+'.repeat(added))}${out.paint('red', '-'.repeat(deleted))}`
    return ` ${padWidth(names[index] ?? '', nameWidth)} | ${padWidth(sizes[index] ?? '', sizeWidth, 'right')}${added + deleted > 0 ? ` ${drawn}` : ''}${note === '' ? '' : ` ${out.paint('dim', note)}`}`
  })
  return [...rows, ` ${sizeText(view)}`]
}

function changedLines({ insertions, deletions }: CrewDiffFileView): number {
  return (insertions ?? 0) + (deletions ?? 0)
}

/** Returns the columns for insertions and for deletions. A part that is not empty has at least one column. */
function barOf({ insertions, deletions }: CrewDiffFileView, maxLines: number, barWidth: number): readonly [number, number] {
  const share = (count: number | null): number =>
    count === null || count === 0 ? 0 : Math.max(1, Math.round((count / Math.max(1, maxLines)) * barWidth))
  return barWidth === 0 ? [0, 0] : [share(insertions), share(deletions)]
}

function changeWord({ change, from, insertions, deletions }: CrewDiffFileView): string {
  if (from !== null) return `(${change} from ${oneLine(from)})`
  if (change === 'added') return '(new)'
  if (change === 'deleted') return '(deleted)'
  if (change === 'type') return '(another type)'
  return insertions === 0 && deletions === 0 ? '(mode)' : ''
}

/** Returns the lines of a unified diff, with a colour for each kind of line. */
export function diffLines(diff: string, out: Pick<Output, 'paint'>): string[] {
  let isHead = true
  return diff
    .replace(/\n$/, '')
    .split('\n')
    .map((raw) => {
      const line = escapeControls(raw)
      if (raw.startsWith('diff --git ')) isHead = true
      if (raw.startsWith('@@ ')) {
        isHead = false
        return out.paint('cyan', line)
      }
      if (isHead) return out.paint('bold', line)
      return raw.startsWith('+') ? out.paint('green', line) : raw.startsWith('-') ? out.paint('red', line) : line
    })
}

/** Returns the line with the command for the complete diff; null if nothing is missing. */
export function truncationLine(view: CrewDiffView): string | null {
  const { left, diff } = view
  if (diff === null || left.length === 0) return null
  return `The diff of ${countOf(left.length, 'file')} is not whole: ${pathsText(left)}. ${gitCommand(view)} shows all of it.`
}

/** Returns the git command that shows the change in the repository of the user; it changes nothing. */
export function gitCommand({ repository, from, to }: Pick<CrewDiffView, 'repository' | 'from' | 'to'>): string {
  return `\`git -C ${shellWord(escapeControls((repository ?? '.').replace(/(?<=.)\/\.git$/, '')))} diff ${from?.slice(0, 12)} ${to?.slice(0, 12)}\``
}

/** Returns the summary for a question or a task: its files, and the command that shows the change. Empty without a change. */
export function changeLines(view: CrewDiffView, ref: string, style: Style, maxWidth: number): string[] {
  if (view.of === null) return []
  const shown = view.files.slice(0, MAX_NAMES)
  const stat = statLines({ ...view, files: shown }, style, maxWidth).slice(0, -1)
  const more = view.files.length > MAX_NAMES ? [` and ${view.files.length - MAX_NAMES} more`] : []
  return [...stat, ...more, ` ${sizeText(view)} (\`reeve crew diff ${oneLine(ref)} ${view.task.id}\`)`]
}

function pathsText(paths: readonly string[]): string {
  const named = paths.slice(0, MAX_NAMES).map(oneLine).join(', ')
  return paths.length > MAX_NAMES ? `${named} and ${paths.length - MAX_NAMES} more` : named
}
