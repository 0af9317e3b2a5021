// The whole screen of `reeve top` as lines: a head line, what needs the user, the table, the panel or a dialog, and keys. Does no I/O. The
// model is only read, except for the place of the table on the screen and its first visible row. Test:
// test/tables/cli/top/frame-lines.test.ts.
import type { NeedView } from '../../api/views/needs.ts'
import { formatClock, formatCost, formatCount, formatElapsed } from '../../faces/format.ts'
import { mainCommand } from '../../faces/process-names.ts'
import { budgetFullInText } from '../../faces/budgets.ts'
import { shownCounts } from '../../faces/marks.ts'
import { obstacleTo, type RowVerb } from '../../faces/row-verbs.ts'
import { sparkline } from '../../faces/sparkline.ts'
import { displayWidth, fitWidth, oneLine, padWidth, stripColours, stripControls } from '../print/text.ts'
import type { ScreenFrame } from '../screen/frame.ts'
import type { TerminalSize } from '../screen/screen.ts'
import type { SumsView } from '../../index.ts'
import { joinFitting, keyGap, keyText, lineOf, wrapLine, type Cell, type Style } from './line-layout.ts'
import type { DialogLine } from './dialogs.ts'
import { PEEK_TABS, type Area, type TopModel } from './model.ts'
import { linesPerRow, rowLines, titleLine } from './table-lines.ts'

/** the titles and a process stay above a dialog */
const MIN_TABLE_LINES = 2
/** a smaller terminal shows only a sentence */
const [LEAST_COLUMNS, LEAST_ROWS] = [40, 10]
/** the greatest number of needs that are listed; a low terminal lists fewer */
const MAX_NEEDS = 9
/** the greatest number of lines of the input */
const MAX_INPUT_LINES = 4
/** the greatest number of lines of a notice */
const MAX_NOTICE_LINES = 3
/** the greatest width of the name of this machine */
const MAX_HOST_COLUMNS = 16
/** the greatest share of the head line for the filter */
const FILTER_SHARE = 0.2

export interface Clocks {
  /** wall ms of this machine */
  readonly wall: number
  /** monotonic ms */
  readonly mono: number
}

/** Returns the frame, and moves the window of the table so that the selected row is in it. */
export function frameOf(model: TopModel, { columns, rows }: TerminalSize, clocks: Clocks, style: Style): ScreenFrame {
  if (columns < LEAST_COLUMNS || rows < LEAST_ROWS)
    return { lines: [fitWidth(`reeve top needs ${LEAST_COLUMNS} x ${LEAST_ROWS}; q leaves`, columns, style.ellipsis)] }
  const isStale = model.isStale(clocks.mono)
  const now = (isStale ? model.heardWall : clocks.wall) + model.clockLead
  const fade = (lines: readonly string[]): readonly string[] => (isStale ? lines.map((line) => fadedLine(line, style)) : lines)
  const head = [headLine(model, columns, clocks, style)]
  const keys = lastLines(model, columns, clocks, style)
  const room = rows - head.length - keys.length
  model.tablePlace = { first: 0, last: -1, perRow: 1 }
  if (model.peek?.isWhole && !model.dialog) return { lines: [...head, ...fade(peekLines(model, columns, room, style)), ...keys] }
  const needs = needLines(model, columns, Math.min(MAX_NEEDS, Math.max(1, Math.floor(room / 4))), now, style)
  const dialog = dialogLines(model, columns, room - needs.length - MIN_TABLE_LINES, style)
  // The panel has a third of the screen, and what the table leaves empty.
  const tableLineCount = 1 + Math.max(1, model.lines().length) * linesPerRow(columns)
  const panelRoom = Math.max(Math.floor(room / 3), room - needs.length - tableLineCount)
  const below = model.dialog ? dialog.lines : model.peek ? fade(peekLines(model, columns, panelRoom, style)) : []
  const tableRoom = room - needs.length - below.length
  const firstRow = head.length + needs.length + 1
  model.tablePlace = { first: firstRow, last: firstRow + tableRoom - 2, perRow: linesPerRow(columns) }
  const lines = [...head, ...fade(needs), ...fade(tableLines(model, columns, tableRoom, now, style)), ...below]
  const cursor = dialog.cursor && {
    line: lines.length - below.length + Math.min(dialog.cursor.line, below.length - 1),
    column: dialog.cursor.column,
  }
  return { lines: [...lines, ...keys], ...(cursor ? { cursor } : {}) }
}

function clockText(wall: number): string {
  return new Date(wall).toTimeString().slice(0, 8)
}

/** When the daemon last sent something; with the date, unless it was today. */
function heardText({ heardWall }: TopModel, { wall }: Clocks): string {
  return formatClock(new Date(heardWall).toISOString(), wall)
}

/** A line that may be out of date: without colours, and dim. The selected row stays inverse. */
function fadedLine(line: string, style: Style): string {
  const plain = stripColours(line)
  return plain.trim() === '' ? plain : style.paint(line.startsWith('\x1b[7m') ? 'inverse' : 'dim', plain)
}

function headLine(model: TopModel, columns: number, clocks: Clocks, style: Style): string {
  const { sums, heardAt, host } = model
  const isStale = model.isStale(clocks.mono)
  const clock = clockText(clocks.wall)
  const link = heardAt === null ? 'asking the daemon' : isStale ? `no answer since ${heardText(model, clocks)}` : 'live'
  const choices = choiceTexts(model, columns, style)
  const parts = [
    host === '' || (choices.length > 0 && linesPerRow(columns) > 1)
      ? 'reeve'
      : `reeve ${fitWidth(oneLine(host), MAX_HOST_COLUMNS, style.ellipsis)}`,
    ...(model.isReadOnly ? ['read only'] : []),
    // Choices come early, so that they are not left out first: they hide or sort rows, or change what a key concerns.
    ...choices,
    ...(sums ? [countsText(model, sums, style), spentText(model, sums, columns, style)] : []),
    formatCount(model.rows.size, 'process'),
  ].filter((part) => part !== '')
  const text = joinFitting(parts, Math.max(0, columns - link.length - clock.length - 5), style)
  const cells: Cell[] = [
    { text, style: isStale ? 'dim' : 'bold' },
    { text: link, columns: link.length, style: isStale || heardAt === null ? 'yellow' : 'green' },
    { text: clock, columns: clock.length, style: 'dim' },
  ]
  return lineOf(cells, columns, style)
}

function countsText({ rows }: TopModel, sums: SumsView, { ascii, pauseMark }: Style): string {
  const { working, asking, held, failed } = shownCounts(
    sums,
    rows.values().filter(({ asks }) => asks > 0),
  )
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

/** What the user has chosen to see, and how many rows are tagged. */
function choiceTexts({ filter, order, tagged }: TopModel, columns: number, { ellipsis }: Style): string[] {
  return [
    ...(tagged.size === 0 ? [] : [`${tagged.size} tagged`]),
    ...(filter === '' ? [] : [`filter ${fitWidth(oneLine(filter), Math.floor(columns * FILTER_SHARE), ellipsis)}`]),
    ...(order === 'tree' ? [] : [`by ${order}`]),
  ]
}

/** The needs, the most urgent first, with the keys that answer the selected one. */
function needLines(model: TopModel, columns: number, room: number, now: number, style: Style): string[] {
  const { needs, selectedNeed } = model
  if (needs.length === 0) return []
  const count = needs.length > room ? Math.max(1, room - 1) : room
  const first = windowTop(0, selectedNeed ? needs.indexOf(selectedNeed) : 0, count, needs.length)
  const shown = needs.slice(first, first + count)
  const title = lineOf([{ text: `NEEDS YOU ${needs.length}`, style: 'yellow' }], columns, style)
  const more = needs.length - shown.length
  return [
    title,
    ...shown.map((need, index) => needLine(model, need, first + index, columns, now, style)),
    ...(more > 0 ? [lineOf([{ text: `and ${more} more: n goes to the next one`, indent: 2, style: 'dim' }], columns, style)] : []),
  ]
}

function needLine(model: TopModel, need: NeedView, index: number, columns: number, now: number, style: Style): string {
  const isSelected = need === model.selectedNeed
  const keys = isSelected && columns >= 80 && !model.isReadOnly ? answerKeys(need, columns).join(keyGap(style)) : ''
  const cells: Cell[] = [
    { text: isSelected ? (style.ascii ? '>' : '▌') : '', columns: 1 },
    // The digits go to the first nine.
    { text: index < MAX_NEEDS ? String(index + 1) : '', columns: 1 },
    {
      text: need.name ?? (need.rootName === null ? String(need.pid) : `in ${need.rootName}`),
      columns: columns >= WIDE_COLUMNS ? 24 : 16,
      style: 'bold',
    },
    { text: need.title, style: need.kind === 'failed' ? 'red' : undefined },
    ...(keys === '' ? [] : [{ text: keys, columns: displayWidth(keys), style: 'cyan' as const }]),
    { text: formatElapsed(now - Date.parse(need.at)), columns: 8, side: 'right', style: 'dim' },
  ]
  const isInverse = isSelected && model.area === 'needs'
  const line = lineOf(cells, columns, style, isInverse)
  return isInverse ? style.paint('inverse', line) : line
}

const OPTION_KEYS = { allow_once: 'a allow', allow_always: 'A always', reject_once: 'd deny', reject_always: 'D never' } as const

/** The keys that answer a need: those of its options, `r` for a text or a choice. A narrow terminal has no room for four. */
function answerKeys({ ask, kind }: NeedView, columns: number): string[] {
  if (!ask) return [kind === 'hold' ? 'R resume' : '. seen']
  const kinds = new Set(ask.options.flatMap((option) => (option.kind === 'choice' ? [] : [OPTION_KEYS[option.kind]])))
  if (kinds.size === 0) return ['r reply']
  const once = [OPTION_KEYS.allow_once, OPTION_KEYS.reject_once]
  return columns < WIDE_COLUMNS && once.every((key) => kinds.has(key)) ? once : [...kinds]
}

/** Returns all needs and all visible rows as lines of text, for a program or a file. */
export function plainTableLines(model: TopModel, columns: number, { wall }: Clocks, style: Style): string[] {
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
    const isSelected = uuid === model.selected
    const isTagged = model.tagged.has(uuid)
    return rowLines({ row, line, isSelected, isTagged, hasKeys: model.area === 'table', usdPerMinute }, columns, now, style)
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
  // The rule is a heavy one while the keys move in the panel.
  const hasKeys = model.area === 'peek'
  const line = style.ascii ? (hasKeys ? '=' : '-') : hasKeys ? '━' : '─'
  const roomLeft = Math.max(0, columns - displayWidth(tabs) - 2)
  const name = `${line} ${oneLine(row.name ?? row.about) || String(row.pid)} `
  const fullIn = budgetFullInText(row, model.ratesByRoot.get(row.uuid) ?? null)
  const withTime = `${name}${line} ${fullIn} `
  const title = fullIn !== null && displayWidth(withTime) <= roomLeft ? withTime : name
  const left = fitWidth(title, roomLeft, style.ellipsis)
  const rule = `${left}${line.repeat(Math.max(0, columns - displayWidth(left) - displayWidth(tabs) - 1))} ${tabs}`
  const content = model.peekLines
  const height = room - 1
  const heading = style.paint(hasKeys ? 'bold' : 'dim', rule)
  if (content === null) return [heading, '  ...']
  const last = Math.max(0, content.length - height)
  // Steps and logs grow at their end, which is shown first.
  const scroll = Math.max(0, Math.min(peek.scroll, last))
  const from = model.showsEnd ? last - scroll : scroll
  const shown = content.slice(from, from + height).map((text) => cutPainted(text, columns, style))
  return [heading, ...shown, ...Array<string>(Math.max(0, height - shown.length)).fill('')]
}

/** Cuts a line that may have colours. A line that is too long loses them. */
function cutPainted(line: string, columns: number, { ellipsis }: Style): string {
  const plain = stripColours(line).replaceAll('\t', '    ')
  return displayWidth(plain) <= columns ? line.replaceAll('\t', '    ') : fitWidth(plain, columns, ellipsis)
}

/** the columns of a label and the gap after it */
const LABEL_COLUMNS = 11
/** the indent and the label of a line that has one: two spaces separate it from its text */
const LABEL = /^ *(?:\S+(?: \S+)* {2,})?/

/** Returns a line of a dialog, made safe for the terminal. One that is too long continues below its text, not below its label. */
function dialogLine(line: DialogLine, columns: number, style: Style): string[] {
  const text =
    typeof line === 'string'
      ? keyText(line, style)
      : `  ${padWidth(`${keyText(line[0], style)}  `, LABEL_COLUMNS)}${keyText(line[1], style)}`
  const safe = stripControls(text)
    .replaceAll(/[\t\n]/g, ' ')
    .trimEnd()
  return wrapLine(safe, columns, displayWidth(LABEL.exec(safe)?.[0] ?? ''))
}

interface DialogLines {
  readonly lines: string[]
  readonly cursor?: { readonly line: number; readonly column: number }
}

/** Returns the lines of the dialog, at most `room`. Text that does not fit is counted; the input is always there. */
function dialogLines({ dialog, filterError }: TopModel, columns: number, room: number, style: Style): DialogLines {
  if (!dialog) return { lines: [] }
  const line = style.ascii ? '-' : '─'
  const title = fitWidth(`${line} ${oneLine(dialog.title)} `, columns, style.ellipsis)
  const rule = style.paint('bold', title + line.repeat(Math.max(0, columns - displayWidth(title))))
  const input = dialog.editor?.draw(columns, MAX_INPUT_LINES)
  const error = filterError === undefined || !input ? [] : [style.paint('red', fitWidth(oneLine(filterError), columns, style.ellipsis))]
  const textRoom = Math.max(1, room - 1 - (input?.lines.length ?? 0) - error.length)
  const parts = dialog.lines.map((one) => dialogLine(one, columns, style))
  const text = parts.flat()
  const selected = dialog.selectedLine === undefined ? undefined : parts.slice(0, dialog.selectedLine).flat().length
  const shown = text.length > textRoom ? cutText(text, textRoom, selected, columns, style) : text
  const above = [rule, ...shown]
  const cursor = input?.cursor && { line: above.length + input.cursor.line, column: input.cursor.column }
  return { lines: [...above, ...(input?.lines ?? []), ...error], ...(cursor ? { cursor } : {}) }
}

/** The lines of a text that fit: those around the selected line, or else the first ones and the number of the others. */
function cutText(text: readonly string[], room: number, selected: number | undefined, columns: number, style: Style): string[] {
  if (selected !== undefined) {
    const from = windowTop(0, selected, room, text.length)
    return text.slice(from, from + room)
  }
  const more = keyText(`  ${text.length - room + 1} more lines: ↓ scrolls`, style)
  return [...text.slice(0, room - 1), fitWidth(more, columns, style.ellipsis)]
}

/** the least width of a wide terminal, which also shows a command line beside the keys, and the costs of the last hours */
const WIDE_COLUMNS = 100
const COMMAND_SHARE = 0.45
/** A key with what it does, and the action that must be possible for the selected process. */
type ShownKey = readonly [text: string, action?: RowVerb | 'reply']
const COMMON_KEYS: readonly ShownKey[] = [['? keys'], ['q leave']]

/** The keys of each part of the screen, the most important first. */
const KEYS_OF: Readonly<Record<Area, readonly ShownKey[]>> = {
  table: [
    ['Space peek'],
    ['n next need'],
    ['/ filter'],
    [': commands'],
    ['z replay'],
    ['p pause', 'pauseOrResume'],
    ['m message', 'message'],
    ['f fork', 'fork'],
    ['s stop', 'stop'],
    ['K kill', 'kill'],
  ],
  needs: [['j k select'], ['Enter whole screen'], ['r reply', 'reply'], ['Tab next part'], ['Esc table']],
  peek: [['j k scroll'], ['[ ] tabs'], ['Enter whole screen'], ['z replay'], ['Tab next part'], ['Esc close']],
}

/** The keys that do something now. */
function shownKeys({ area, selectedRow, selectedNeed, isReadOnly }: TopModel): string[] {
  const isPossible = (action: RowVerb | 'reply'): boolean =>
    !isReadOnly &&
    (action === 'reply' ? (selectedNeed?.ask ?? null) !== null : selectedRow !== undefined && obstacleTo(action, selectedRow) === null)
  const keys = [...COMMON_KEYS, ...KEYS_OF[area]].filter(([, action]) => action === undefined || isPossible(action))
  return keys.map(([text, action]) => (action === 'pauseOrResume' && selectedRow?.status === 'suspended' ? 'p resume' : text))
}

/** What the last lines state while the daemon does not answer: also what the user can do. */
function staleText(model: TopModel, clocks: Clocks): string {
  const { hang } = model
  const was = `This is how it was at ${heardText(model, clocks)}.`
  if (hang) return `${hang.message[0]?.toUpperCase()}${hang.message.slice(1)}. ${hang.hint} ${was}`
  return model.isGone(clocks.mono)
    ? `The daemon has ended or was killed. ${was} \`reeve daemon start\` starts it, and this screen goes on by itself.`
    : `The daemon does not answer. ${was} \`reeve daemon start\` starts it, and everything continues.`
}

/** Returns the notice, then the keys with a command line: that of the dialog, or the one that shows the selected process. */
function lastLines(model: TopModel, columns: number, clocks: Clocks, style: Style): string[] {
  const { dialog, notice, selectedRow } = model
  const main = selectedRow ? mainCommand(selectedRow) : ''
  const command = dialog ? (dialog.command ?? '') : main
  const isWide = columns >= WIDE_COLUMNS
  const commandColumns = isWide ? Math.floor(columns * COMMAND_SHARE) : 0
  const keys = joinFitting(
    (dialog?.keys ?? shownKeys(model)).map((key) => keyText(key, style)),
    columns - commandColumns - 1,
    style,
  )
  const commandCell: Cell = { text: command, columns: commandColumns, side: 'right', style: 'dim' }
  const note: Cell = notice
    ? { text: notice.text, style: notice.isError ? 'red' : undefined }
    : model.isStale(clocks.mono)
      ? { text: staleText(model, clocks), style: 'yellow' }
      : { text: dialog && !isWide ? command : '' }
  // A long notice has more lines, because a link that is cut off is useless.
  const noteTexts = wrapLine(oneLine(note.text), columns - 1)
  const noteEnd = noteTexts.slice(MAX_NOTICE_LINES - 1).join(' ')
  const noteLines = [...noteTexts.slice(0, MAX_NOTICE_LINES - 1), ...(noteEnd === '' ? [] : [noteEnd])].map((text) =>
    lineOf([{ ...note, text }], columns, style),
  )
  return [...noteLines, lineOf([{ text: keys, style: 'dim' }, ...(isWide ? [commandCell] : [])], columns, style)]
}
