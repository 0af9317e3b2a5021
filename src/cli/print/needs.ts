// Formats what waits for the user: a table with the command for each need, or each need with its evidence. Pure: the current time is a
// parameter. Test: test/tables/cli/print/needs.test.ts.
import type { NeedView } from '../../api/views/needs.ts'
import type { AskDiffView } from '../../api/views/process.ts'
import { questionLines } from '../input/questions.ts'
import { linesOfChange, type ChangeLine } from '../../faces/ask-diff.ts'
import { formatElapsed } from '../../faces/format.ts'
import { formatTable, type Column } from './format-table.ts'
import type { Output } from './output.ts'
import { processTitle } from './process-text.ts'
import { oneLine, stripControls } from './text.ts'

type Style = Pick<Output, 'columns' | 'ellipsis' | 'paint'>

/** Returns the table of needs. `now`: wall ms. */
export function needLines(needs: readonly NeedView[], style: Style, now: number): string[] {
  const columns: Column[] = [
    { title: 'PID', side: 'right' },
    { title: 'NAME', min: 8 },
    { title: 'KIND', paint: (cell, row) => paintKind(style, needs[row], cell) },
    { title: 'SINCE', side: 'right' },
    { title: 'WHAT', min: 24 },
    { title: 'COMMAND' },
  ]
  const rows = needs.map((need) => [
    String(need.pid),
    nameOf(need),
    need.kind,
    formatElapsed(now - Date.parse(need.at)),
    oneLine(need.title),
    oneLine(need.commands[0] ?? ''),
  ])
  return formatTable(columns, rows, style.columns, style.ellipsis)
}

/** Returns the name of the process. For a process without a name, returns `in` and the name of the topmost process above it. */
function nameOf({ name, uuid, root, rootName }: NeedView): string {
  if (name !== null) return oneLine(name)
  return root === uuid || rootName === null ? '-' : `in ${oneLine(rootName)}`
}

function paintKind(style: Style, need: NeedView | undefined, cell: string): string {
  return style.paint(need?.kind === 'failed' ? 'red' : need?.kind === 'finished' ? 'green' : 'yellow', cell)
}

/** Returns the lines about a need, with all its evidence. `now`: wall ms. */
export function evidenceLines(need: NeedView, style: Style, now: number): string[] {
  const { kind, at, ask, task, evidence, commands } = need
  const root = need.root === need.uuid || need.rootName === null ? '' : ` of ${oneLine(need.rootName)}`
  const quoted = (label: string, text: string | null): string[] =>
    text === null || text === ''
      ? []
      : [
          `  ${label}:`,
          ...stripControls(text)
            .trimEnd()
            .split('\n')
            .map((line) => `  | ${line}`.trimEnd()),
        ]
  return [
    style.paint('bold', `${processTitle(need)}${root}: ${kind}, ${formatElapsed(now - Date.parse(at))}`),
    ...(ask ? askLines(ask).map((line) => `  ${line}`.trimEnd()) : [`  ${oneLine(need.title)}`]),
    ...(ask?.diff ?? []).flatMap((diff) => askDiffLines(diff).map((line) => `  ${paintDiffLine(style, line)}`.trimEnd())),
    ...(ask !== null && ask.moreFiles > 0 ? [`  (and ${ask.moreFiles} more files)`] : []),
    ...(task ? [`  task ${oneLine(task.id)} (${oneLine(task.title)}), ${task.state}`] : []),
    ...quoted('its task', evidence.text),
    ...quoted('reported', evidence.report),
    ...quoted('last text', ask ? ask.message : evidence.message),
    ...quoted('error', evidence.error),
    ...(ask?.source === 'said' ? ['  The agent describes the call itself.'] : []),
    ...commands.map((command) => style.paint('dim', `  ${oneLine(command)}`)),
  ]
}

/** Returns the question with its options. If a diff follows, only the first line of the text: the others would repeat the diff. */
function askLines(ask: NonNullable<NeedView['ask']>): string[] {
  return questionLines(ask.diff.length > 0 ? { ...ask, text: ask.text.split('\n', 1)[0] ?? '' } : ask)
}

function paintDiffLine(style: Style, line: string): string {
  return line.startsWith('+') ? style.paint('green', line) : line.startsWith('-') ? style.paint('red', line) : line
}

const SIGNS: Readonly<Record<ChangeLine['kind'], string>> = { same: ' ', removed: '-', added: '+', note: ' ' }

/** Returns a change as lines with signs. */
export function askDiffLines(diff: AskDiffView): string[] {
  const { path, old, oldKnown } = diff
  return [
    `${old === null ? 'new file ' : ''}${oneLine(path)}${oldKnown ? '' : ' (its old text is not known)'}`,
    ...linesOfChange(diff).map(({ kind, text }) => `${SIGNS[kind]}${stripControls(text)}`),
  ]
}
