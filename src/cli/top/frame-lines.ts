// The whole screen of `reeve top` as lines: a head line, what needs the user, the table, the panel or a dialog, and keys.
// Pure. Test: test/tables/cli/top/frame-lines.test.ts.
import type { NeedView } from '../../api/views/needs.ts'
import { formatCost, formatCount, formatElapsed } from '../../faces/format.ts'
import { mainCommand } from '../../faces/process-names.ts'
import { sparkline } from '../../faces/sparkline.ts'
import { displayWidth, fitWidth, oneLine } from '../print/text.ts'
import type { ScreenFrame } from '../screen/frame.ts'
import type { Size } from '../screen/screen.ts'
import type { SumsView } from '../../index.ts'
import { joinFitting, lineOf, type Cell, type Style } from './line.ts'
import { PEEK_TABS, type TopModel } from './model.ts'
import { linesPerRow, rowLines, titleLine } from './table-lines.ts'

/** the titles and a process stay above a dialog */
const MIN_TABLE_LINES = 2
/** a smaller terminal shows only a sentence */
const [LEAST_COLUMNS, LEAST_ROWS] = [40, 10]
/** the most needs that are listed; a narrow terminal has fewer */
const MAX_NEEDS = 9
/** the most lines of a text that is typed */
const MAX_INPUT_LINES = 4
/** the most lines of a notice */
const MAX_NOTICE_LINES = 3
/** the most columns of the name of this machine */
const MAX_HOST_COLUMNS = 16
/** after this time without a sign of life the figures count as old, in ms */
const STALE_MS = 5_000

export interface Clocks {
  /** wall ms of this machine */
  readonly wall: number
  /** monotonic ms */
  readonly mono: number
}

/** Returns the frame, and moves the window of the table so that the selected row is in it. */
export function frameOf(model: TopModel, { columns, rows }: Size, { wall, mono }: Clocks, style: Style): ScreenFrame {
  if (columns < LEAST_COLUMNS || rows < LEAST_ROWS)
    return { lines: [fitWidth(`reeve top needs ${LEAST_COLUMNS} x ${LEAST_ROWS}; q leaves`, columns, style.ellipsis)] }
  const now = wall + model.clockLead
  const head = [headLine(model, columns, { wall, mono }, style)]
  const keys = lastLines(model, columns, style)
  const room = rows - head.length - keys.length
  model.tablePlace = { first: 0, last: -1, perRow: 1 }
  if (model.peek?.isWhole && !model.dialog) return { lines: [...head, ...peekLines(model, columns, room, style), ...keys] }
  const needs = needLines(model, columns, Math.min(MAX_NEEDS, Math.max(1, Math.floor(room / 4))), now, style)
  const dialog = dialogLines(model, columns, room - needs.length - MIN_TABLE_LINES, style)
  // The panel has a third of the screen, and what the table leaves empty.
  const tableLineCount = 1 + Math.max(1, model.lines().length) * linesPerRow(columns)
  const panelRoom = Math.max(Math.floor(room / 3), room - needs.length - tableLineCount)
  const below = model.dialog ? dialog.lines : model.peek ? peekLines(model, columns, panelRoom, style) : []
  const tableRoom = room - needs.length - below.length
  const firstRow = head.length + needs.length + 1
  model.tablePlace = { first: firstRow, last: firstRow + tableRoom - 2, perRow: linesPerRow(columns) }
  const lines = [...head, ...needs, ...tableLines(model, columns, tableRoom, now, style), ...below]
  const cursor = dialog.cursor && {
    line: lines.length - below.length + Math.min(dialog.cursor.line, below.length - 1),
    column: dialog.cursor.column,
  }
  return { lines: [...lines, ...keys], ...(cursor ? { cursor } : {}) }
}

function headLine(model: TopModel, columns: number, { wall, mono }: Clocks, style: Style): string {
  const { sums, heardAt, host } = model
  const quietMs = heardAt === null ? 0 : mono - heardAt
  const isStale = !model.isLinkUp || quietMs > STALE_MS
  const clock = new Date(wall).toTimeString().slice(0, 8)
  const link = heardAt === null ? 'asks the daemon' : isStale ? `no answer for ${formatElapsed(quietMs)}` : 'live'
  const parts = [
    host === '' ? 'reeve' : `reeve ${fitWidth(oneLine(host), MAX_HOST_COLUMNS, style.ellipsis)}`,
    ...(sums ? [countsText(sums, style), spentText(model, sums, columns, style)] : []),
    shownText(model),
  ].filter((part) => part !== '')
  const text = joinFitting(parts, Math.max(0, columns - link.length - clock.length - 5), style)
  const cells: Cell[] = [
    { text, style: isStale ? 'dim' : 'bold' },
    { text: link, columns: link.length, style: isStale ? 'yellow' : 'green' },
    { text: clock, columns: clock.length, style: 'dim' },
  ]
  return lineOf(cells, columns, style)
}

function countsText({ working, asking, held, failed }: SumsView, { ascii, pauseMark }: Style): string {
  const counts = [
    [working, ascii ? 'working' : '●'],
    [asking, ascii ? 'ask' : '?'],
    [held, ascii ? 'held' : pauseMark],
    [failed, ascii ? 'failed' : '✗'],
  ] as const
  return counts.flatMap(([count, mark]) => (count === 0 ? [] : [`${count} ${mark}`])).join(' ')
}

/** What was spent today and is spent per minute; on a wide terminal also the last 24 hours, as bars. */
function spentText({ usdPerMinute, hours }: TopModel, { todayUsd }: SumsView, columns: number, { ascii }: Style): string {
  const bars = columns < WIDE_COLUMNS ? '' : sparkline(hours, ascii)
  return `${formatCost(todayUsd)} today${usdPerMinute > 0 ? `, ${formatCost(usdPerMinute)}/min` : ''}${bars === '' ? '' : ` 24h ${bars}`}`
}

function shownText({ rows, filter, order, tagged }: TopModel): string {
  return [
    formatCount(rows.size, 'process'),
    ...(filter === '' ? [] : [`filter ${oneLine(filter)}`]),
    ...(order === 'tree' ? [] : [`by ${order}`]),
    ...(tagged.size === 0 ? [] : [`${tagged.size} tagged`]),
  ].join(', ')
}

/** The needs, the most urgent first, with the keys that answer the selected one. */
function needLines(model: TopModel, columns: number, room: number, now: number, style: Style): string[] {
  const { needs } = model
  if (needs.length === 0) return []
  const shown = needs.slice(0, needs.length > room ? Math.max(1, room - 1) : room)
  const title = lineOf([{ text: `NEEDS YOU ${needs.length}`, style: 'yellow' }], columns, style)
  const more = needs.length - shown.length
  return [
    title,
    ...shown.map((need, index) => needLine(model, need, index, columns, now, style)),
    ...(more > 0 ? [lineOf([{ text: `  and ${more} more: n goes to the next one`, style: 'dim' }], columns, style)] : []),
  ]
}

function needLine(model: TopModel, need: NeedView, index: number, columns: number, now: number, style: Style): string {
  const isSelected = need === model.selectedNeed
  const keys = isSelected && columns >= 80 ? answerKeys(need) : ''
  const cells: Cell[] = [
    { text: isSelected ? (style.ascii ? '>' : '▌') : '', columns: 1 },
    { text: String(index + 1), columns: 1 },
    {
      text: need.name ?? (need.rootName === null ? String(need.pid) : `in ${need.rootName}`),
      columns: columns >= WIDE_COLUMNS ? 24 : 16,
      style: 'bold',
    },
    { text: need.title, style: need.kind === 'failed' ? 'red' : undefined },
    { text: formatElapsed(now - Date.parse(need.at)), columns: 8, side: 'right', style: 'dim' },
    ...(keys === '' ? [] : [{ text: keys, columns: displayWidth(keys), style: 'cyan' as const }]),
  ]
  return lineOf(cells, columns, style)
}

const OPTION_KEYS = { allow_once: 'a allow', allow_always: 'A always', reject_once: 'd deny', reject_always: 'D never' } as const

/** The keys that answer a need: those of its options, `r` for a text or a choice. */
function answerKeys({ ask, kind }: NeedView): string {
  if (!ask) return kind === 'hold' ? 'R resume' : '. seen'
  const kinds = ask.options.flatMap((option) => (option.kind === 'choice' ? [] : [OPTION_KEYS[option.kind]]))
  return [...new Set(kinds), ...(kinds.length === 0 ? ['r reply'] : [])].join('  ')
}

/** Returns all that waits and all visible rows as text, for a program or a file. */
export function wholeText(model: TopModel, columns: number, { wall }: Clocks, style: Style): string[] {
  const now = wall + model.clockLead
  const rows = tableLines(model, columns, 1 + Math.max(6, model.lines().length * linesPerRow(columns)), now, style)
  return [...needLines(model, columns, Number.MAX_SAFE_INTEGER, now, style), ...rows]
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
}

function tableLines(model: TopModel, columns: number, room: number, now: number, style: Style): string[] {
  const lines = model.lines()
  const perRow = linesPerRow(columns)
  const shownCount = Math.max(1, Math.floor((room - 1) / perRow))
  const index = model.selectedIndex
  model.top = windowTop(model.top, index, shownCount, lines.length)
  const shown = lines.slice(model.top, model.top + shownCount)
  const text = shown.flatMap((line) => {
    const row = model.rows.get(line.uuid)
    if (!row) return []
    const { uuid } = line
    const usdPerMinute = model.ratesByRoot.get(uuid)
    return rowLines({ row, line, isSelected: uuid === model.selected, isTagged: model.tagged.has(uuid), usdPerMinute }, columns, now, style)
  })
  const all = [
    titleLine(columns, style),
    ...(lines.length === 0 ? emptyLines(model).map((line) => fitWidth(line, columns, style.ellipsis)) : text),
  ].slice(0, room)
  return [...all, ...Array<string>(Math.max(0, room - all.length)).fill('')]
}

function windowTop(top: number, index: number, shown: number, count: number): number {
  const least = Math.max(0, index - shown + 1)
  return Math.max(0, Math.min(Math.max(least, Math.min(top, Math.max(0, index))), count - shown))
}

function emptyLines({ filter, heardAt }: TopModel): string[] {
  if (heardAt === null) return []
  if (filter !== '') return ['', `  Nothing matches the filter ${oneLine(filter)}. Esc clears it.`]
  return [
    '',
    '  Nothing runs here.',
    '',
    '  reeve run -d -- COMMAND       runs a command',
    '  reeve run --agent claude "…"  runs an agent',
    '  reeve agents                  lists the agents of this machine',
  ]
}

function peekLines(model: TopModel, columns: number, room: number, style: Style): string[] {
  const row = model.selectedRow
  const { peek, shownTab } = model
  if (!row || !peek || room < 2) return []
  const tabs = PEEK_TABS.filter((tab) => tab !== 'need' || model.selectedNeed)
    .map((tab) => (tab === shownTab ? `[${tab}]` : tab))
    .join(' ')
  const line = style.ascii ? '-' : '─'
  const title = `${line} ${oneLine(row.name ?? row.about) || String(row.pid)} `
  const heading = fitWidth(title, Math.max(0, columns - displayWidth(tabs) - 2), style.ellipsis)
  const rule = `${heading}${line.repeat(Math.max(0, columns - displayWidth(heading) - displayWidth(tabs) - 1))} ${tabs}`
  const content = model.peekLines
  const height = room - 1
  if (content === null) return [style.paint('dim', rule), '  ...']
  const last = Math.max(0, content.length - height)
  // Steps and logs grow at their end, which is shown first.
  const scroll = Math.max(0, Math.min(peek.scroll, last))
  const from = model.showsEnd ? last - scroll : scroll
  const shown = content.slice(from, from + height).map((text) => cutPainted(text, columns, style))
  return [style.paint('dim', rule), ...shown, ...Array<string>(Math.max(0, height - shown.length)).fill('')]
}

/** Cuts a line that may have colours. A line that is too long loses them. */
function cutPainted(line: string, columns: number, { ellipsis }: Style): string {
  const plain = line.replace(/\x1b\[[0-9;]*m/g, '').replaceAll('\t', '    ')
  return displayWidth(plain) <= columns ? line.replaceAll('\t', '    ') : fitWidth(plain, columns, ellipsis)
}

/** Makes a line of a dialog safe for the terminal; its indent stays. */
function safeLine(text: string): string {
  return `${/^ */.exec(text)?.[0] ?? ''}${oneLine(text)}`
}

interface DialogLines {
  readonly lines: string[]
  readonly cursor?: { readonly line: number; readonly column: number }
}

/** `room`: the most lines. Text that does not fit is counted; the input is always there. */
function dialogLines({ dialog, filterError }: TopModel, columns: number, room: number, style: Style): DialogLines {
  if (!dialog) return { lines: [] }
  const line = style.ascii ? '-' : '─'
  const title = fitWidth(`${line} ${oneLine(dialog.title)} `, columns, style.ellipsis)
  const rule = style.paint('bold', title + line.repeat(Math.max(0, columns - displayWidth(title))))
  const input = dialog.editor?.draw(columns, MAX_INPUT_LINES)
  const error = filterError === undefined || !input ? [] : [style.paint('red', fitWidth(oneLine(filterError), columns, style.ellipsis))]
  const textRoom = Math.max(1, room - 1 - (input?.lines.length ?? 0) - error.length)
  const text = dialog.lines.map((one) => fitWidth(safeLine(one), columns, style.ellipsis))
  const hidden = text.length - textRoom
  const shown =
    hidden > 0
      ? [
          ...text.slice(0, textRoom - 1),
          fitWidth(`  ${hidden + 1} more lines: ${style.ascii ? 'down' : '↓'} scrolls`, columns, style.ellipsis),
        ]
      : text
  const above = [rule, ...shown]
  const cursor = input?.cursor && { line: above.length + input.cursor.line, column: input.cursor.column }
  return { lines: [...above, ...(input?.lines ?? []), ...error], ...(cursor ? { cursor } : {}) }
}

/** from this width on, a terminal is wide: it also shows a command line beside the keys, and the hours */
const WIDE_COLUMNS = 100
const COMMAND_SHARE = 0.45
const KEYS = [
  '? keys',
  'q leave',
  'Space peek',
  'n next need',
  '/ filter',
  ': commands',
  'z replay',
  'p pause',
  'm message',
  'f fork',
  's stop',
  'K kill',
]

/** The notice, and the keys with the command line of the dialog, or else the one that shows the selected process. */
function lastLines({ dialog, notice, selectedRow }: TopModel, columns: number, style: Style): string[] {
  const main = selectedRow ? mainCommand(selectedRow) : ''
  const command = dialog ? (dialog.command ?? '') : main
  const isWide = columns >= WIDE_COLUMNS
  const commandColumns = isWide ? Math.floor(columns * COMMAND_SHARE) : 0
  const keys = joinFitting(dialog ? [dialog.keys] : KEYS, columns - commandColumns - 1, style)
  const commandCell: Cell = { text: command, columns: commandColumns, side: 'right', style: 'dim' }
  const note: Cell = dialog && !isWide ? { text: command } : { text: notice?.text ?? '', style: notice?.isError ? 'red' : undefined }
  // A link that is cut off is of no use: a long notice has more lines.
  const noteTexts = note.text.match(new RegExp(`.{1,${columns - 1}}`, 'gu'))?.slice(0, MAX_NOTICE_LINES) ?? ['']
  const noteLines = noteTexts.map((text) => lineOf([{ ...note, text }], columns, style))
  return [...noteLines, lineOf([{ text: keys, style: 'dim' }, ...(isWide ? [commandCell] : [])], columns, style)]
}
