// Formats changed files for a terminal: their sizes, and a coloured unified diff. Pure. Control characters in files become visible
// text. Test: test/tables/cli/print/crew-diff.test.ts.
import type { DiffFileView } from '../../api/views/diff.ts'
import { formatCount } from '../../faces/format.ts'
import type { Output } from './output.ts'
import { fitWidth, oneLine, padWidth, escapeControls, displayWidth } from './text.ts'

export type DiffStyle = Pick<Output, 'paint' | 'ellipsis'>

/** The files of a change and the sums of their lines. */
export interface DiffSizes {
  readonly files: readonly DiffFileView[]
  readonly insertions: number
  readonly deletions: number
}

/** the greatest width of the bar of a file */
const MAX_BAR_COLUMNS = 24
/** the greatest number of files that a summary names */
export const MAX_NAMES = 8

/** Returns the size of a change: `2 files, +12 -3`. */
export function sizeText({ files, insertions, deletions }: DiffSizes): string {
  return files.length === 0 ? 'no file differs' : `${formatCount(files.length, 'file')}, +${insertions} -${deletions}`
}

/** Returns a line per file, as in `git diff --stat`, and a line with the sum. */
export function statLines(view: DiffSizes, out: DiffStyle, maxWidth: number): string[] {
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

function changedLines({ insertions, deletions }: DiffFileView): number {
  return (insertions ?? 0) + (deletions ?? 0)
}

/** Returns the columns for insertions and for deletions. A part that is not empty has at least one column. */
function barOf({ insertions, deletions }: DiffFileView, maxLines: number, barWidth: number): readonly [number, number] {
  const share = (count: number | null): number =>
    count === null || count === 0 ? 0 : Math.max(1, Math.round((count / Math.max(1, maxLines)) * barWidth))
  return barWidth === 0 ? [0, 0] : [share(insertions), share(deletions)]
}

function changeWord({ change, from, insertions, deletions }: DiffFileView): string {
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

/** Names the first paths, and the number of the others. */
export function pathsText(paths: readonly string[]): string {
  const named = paths.slice(0, MAX_NAMES).map(oneLine).join(', ')
  return paths.length > MAX_NAMES ? `${named} and ${paths.length - MAX_NAMES} more` : named
}
