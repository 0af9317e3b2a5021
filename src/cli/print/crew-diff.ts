// Formats the change of a task for a terminal: its title, its files, and the git command for the complete diff. Pure.
// Test: test/tables/cli/print/crew-diff.test.ts.
import { shellWord } from '../../api/text/shell-quote.ts'
import type { CrewDiffView } from '../../api/views/crew-diff.ts'
import { formatCount } from '../../faces/format.ts'
import { MAX_NAMES, pathsText, sizeText, statLines, type DiffStyle } from './diff.ts'
import { oneLine, escapeControls } from './text.ts'

/** Returns the title of a diff: `lexer (The lexer): what worker-1 made; it is not committed: 2 files, +12 -3`. */
export function diffTitle({ task: { id, title }, of, note, ...sizes }: CrewDiffView): string {
  const about = title === '' || title === id ? id : `${id} (${oneLine(title)})`
  return of === null ? oneLine(note) : `${about}: ${oneLine(note)}: ${sizeText(sizes)}`
}

/** Returns the line with the command for the complete diff; null if nothing is missing. */
export function truncationLine(view: CrewDiffView): string | null {
  const { left, diff } = view
  if (diff === null || left.length === 0) return null
  return `The diff of ${formatCount(left.length, 'file')} is not whole: ${pathsText(left)}. ${gitCommand(view)} shows all of it.`
}

/** Returns the git command that shows the change in the repository of the user; it changes nothing. */
export function gitCommand({ repository, from, to }: Pick<CrewDiffView, 'repository' | 'from' | 'to'>): string {
  return `\`git -C ${shellWord(escapeControls((repository ?? '.').replace(/(?<=.)\/\.git$/, '')))} diff ${from?.slice(0, 12)} ${to?.slice(0, 12)}\``
}

/** Returns the summary for a question or a task: its files, and the command that shows the change. Empty without a change. */
export function changeSummaryLines(view: CrewDiffView, ref: string, style: DiffStyle, maxWidth: number): string[] {
  if (view.of === null) return []
  const shown = view.files.slice(0, MAX_NAMES)
  const stat = statLines({ ...view, files: shown }, style, maxWidth).slice(0, -1)
  const more = view.files.length > MAX_NAMES ? [` and ${view.files.length - MAX_NAMES} more`] : []
  return [...stat, ...more, ` ${sizeText(view)} (\`reeve crew diff ${oneLine(ref)} ${view.task.id}\`)`]
}
