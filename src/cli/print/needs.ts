// Formats what waits for the user: a table with the command for each need, or each need with its evidence. Pure: the current time is a
// parameter. Test: test/tables/cli/print/needs.test.ts.
import type { NeedView } from '../../api/views/needs.ts'
import type { AskDiffView } from '../../api/views/process.ts'
import { questionLines } from '../input/prompts.ts'
import { formatElapsed } from '../../faces/format.ts'
import { formatTable, type Column } from './format-table.ts'
import type { Output } from './output.ts'
import { processTitle } from './process-text.ts'
import { oneLine, stripControls } from './text.ts'

type Style = Pick<Output, 'columns' | 'ellipsis' | 'paint'>

/** equal lines that are shown around a change */
const CONTEXT_LINES = 3

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

/** The name of the process; for one without a name, that of the topmost process above it. */
function nameOf({ name, uuid, root, rootName }: NeedView): string {
  if (name !== null) return oneLine(name)
  return root === uuid || rootName === null ? '-' : `in ${oneLine(rootName)}`
}

function paintKind(style: Style, need: NeedView | undefined, cell: string): string {
  return style.paint(need?.kind === 'failed' ? 'red' : need?.kind === 'finished' ? 'green' : 'yellow', cell)
}

/** Returns a need with all that its view has. `now`: wall ms. */
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
    ...(ask?.diff ?? []).flatMap((diff) => changeLines(diff).map((line) => `  ${paintDiffLine(style, line)}`.trimEnd())),
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

/** The question with its options. If a diff follows, the text would only repeat it. */
function askLines(ask: NonNullable<NeedView['ask']>): string[] {
  return questionLines(ask.diff.length > 0 ? { ...ask, text: ask.text.split('\n', 1)[0] ?? '' } : ask)
}

function paintDiffLine(style: Style, line: string): string {
  return line.startsWith('+') ? style.paint('green', line) : line.startsWith('-') ? style.paint('red', line) : line
}

/** Returns a change as lines: those between the first and the last difference, with some equal lines around them. */
export function changeLines({ path, old, new: text, oldKnown, equalBefore, equalAfter, cut }: AskDiffView): string[] {
  const before = old === null || !oldKnown ? [] : linesOf(old)
  const after = linesOf(text)
  const most = Math.min(before.length, after.length)
  let head = 0
  while (head < most && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1
  const keptHead = Math.min(head, CONTEXT_LINES)
  const keptTail = Math.min(tail, CONTEXT_LINES)
  const [hiddenHead, hiddenTail] = [equalBefore + head - keptHead, equalAfter + tail - keptTail]
  const shown = (lines: readonly string[], sign: string): string[] => lines.slice(head, lines.length - tail).map((line) => `${sign}${line}`)
  return [
    `${old === null ? 'new file ' : ''}${oneLine(path)}${oldKnown ? '' : ' (its old text is not known)'}`,
    ...(hiddenHead > 0 ? [` (${hiddenHead} equal lines)`] : []),
    ...after.slice(head - keptHead, head).map((line) => ` ${line}`),
    ...shown(before, '-'),
    ...shown(after, '+'),
    ...after.slice(after.length - tail, after.length - tail + keptTail).map((line) => ` ${line}`),
    ...(hiddenTail > 0 ? [` (${hiddenTail} equal lines)`] : []),
    ...(cut > 0 ? [` (${cut} characters are not shown)`] : []),
  ]
}

function linesOf(text: string): string[] {
  return stripControls(text).replace(/\n$/, '').split('\n')
}
