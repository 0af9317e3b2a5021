// The table of processes on the screen of `reeve top`. The widths of its columns depend only on the terminal, so that no column moves.
// Pure. Test: test/tables/cli/top/frame-lines.test.ts.
import type { RowView } from '../../index.ts'
import { elapsedAt, formatCost, formatElapsed, formatLimitUsd, treeCostText } from '../../faces/format.ts'
import { markOf } from '../../faces/marks.ts'
import { budgetFullInText } from '../../faces/budgets.ts'
import type { TreeLine } from '../../faces/tree.ts'
import { lineOf, TONE_STYLES, type Cell, type Style } from './line-layout.ts'

/** A visible row and its place. */
export interface TableRow {
  readonly row: RowView
  readonly line: TreeLine
  readonly isSelected: boolean
  readonly isTagged: boolean
  /** whether the keys act on the table, and not on another panel: its selected row is then inverse */
  readonly hasKeys: boolean
  /** the USD that its tree spends per minute; absent: none, or the process is not a root */
  readonly usdPerMinute?: number | undefined
}

interface ColumnDef {
  readonly title: string
  /** the width, also as a function of the width of the terminal; undefined: the columns that the others leave */
  readonly columns?: number | ((terminal: number) => number | undefined)
  readonly side?: 'right'
  /** the narrowest terminal that shows it */
  readonly from: number
  readonly cell: (table: TableRow, now: number, style: Style, width: number, terminal: number) => Pick<Cell, 'text' | 'style' | 'indent'>
}

/** Below this width each process has two lines. */
const TWO_LINES_BELOW = 80
/** the columns by which each level of the tree indents a name */
const INDENT_COLUMNS = 2
/** the deepest level that still moves the name */
const MAX_INDENTS = 8
const BAR_COLUMNS = 8
const NARROW_BAR_COLUMNS = 5
/** the narrowest terminal with a bar beside the budget, and the one with a long bar */
const BAR_FROM = 120
const WIDE_FROM = 140
/** the narrowest terminal with long names: on a narrower one the reason needs the columns */
const WIDEST_FROM = 240
/** the narrowest terminal with a column for the agent; on a narrower one names begin with `crew`, `run` or `supervisor` */
const AGENT_FROM = 100

const KIND_WORDS: Readonly<Partial<Record<RowView['kind'], string>>> = { crew: 'crew', run: 'run', supervisor: 'supervisor' }

const COLUMNS: readonly ColumnDef[] = [
  { title: 'PID', columns: 6, side: 'right', from: 0, cell: ({ row }) => ({ text: String(row.pid), style: 'dim' }) },
  {
    title: 'NAME',
    columns: (terminal) => (terminal < TWO_LINES_BELOW ? undefined : terminal < WIDEST_FROM ? 24 : 32),
    from: 0,
    cell: (table, _, style, __, terminal) => ({
      text: nameText(table, style, terminal < AGENT_FROM),
      indent: indentOf(table),
      style: nameStyle(table),
    }),
  },
  { title: 'AGENT', columns: 10, from: AGENT_FROM, cell: ({ row }) => ({ text: KIND_WORDS[row.kind] ?? row.agent }) },
  { title: 'MODEL', columns: 14, from: 160, cell: ({ row }) => ({ text: row.model ?? '', style: 'dim' }) },
  { title: 'STEP', columns: 5, side: 'right', from: 80, cell: ({ row }) => ({ text: row.step === 0 ? '' : String(row.step) }) },
  { title: 'CTX', columns: 4, side: 'right', from: 100, cell: ({ row }) => ({ text: contextText(row) }) },
  { title: 'ELAPSED', columns: 8, side: 'right', from: 0, cell: ({ row }, now) => ({ text: formatElapsed(elapsedAt(row, now)) }) },
  { title: 'COST', columns: 9, side: 'right', from: 0, cell: ({ row }) => ({ text: treeCostText(row) }) },
  {
    title: 'BUDGET',
    columns: (terminal) => 6 + (terminal < BAR_FROM ? 0 : 1 + (terminal < WIDE_FROM ? NARROW_BAR_COLUMNS : BAR_COLUMNS)),
    side: 'right',
    from: 90,
    cell: ({ row }, _, style, width) => budgetCell(row, style, width),
  },
  {
    title: '$/MIN',
    columns: 7,
    side: 'right',
    from: 160,
    cell: ({ usdPerMinute = 0 }) => ({ text: usdPerMinute > 0 ? formatCost(usdPerMinute) : '' }),
  },
  {
    title: 'FULL IN',
    columns: 8,
    side: 'right',
    from: 200,
    cell: ({ row, usdPerMinute = null }) => ({ text: budgetFullInText(row, usdPerMinute)?.replace('full in ', '') ?? '' }),
  },
  { title: 'QUEUE', columns: 5, side: 'right', from: 160, cell: ({ row }) => ({ text: row.queue === 0 ? '' : String(row.queue) }) },
  { title: 'BRANCH', columns: 22, from: 180, cell: ({ row }) => ({ text: row.branch ?? '', style: 'dim' }) },
  { title: 'HOST', columns: 8, from: 200, cell: ({ row }) => ({ text: row.host, style: 'dim' }) },
  { title: 'WHY', from: 80, cell: ({ row, line }) => ({ text: whyText(row, line), style: whyStyle(row) }) },
]

/** The number of lines that a process has at this width. */
export function linesPerRow(columns: number): 1 | 2 {
  return columns < TWO_LINES_BELOW ? 2 : 1
}

/** Returns the line of titles. */
export function titleLine(columns: number, style: Style): string {
  const cells = columnsFor(columns).map((def): Cell => ({ text: def.title, ...sizeOf(def, columns), style: 'dim' }))
  return lineOf([{ text: '', columns: 1 }, ...cells], columns, style)
}

/** The last lines of each row: only few rows change from one frame to the next. */
const lastLines = new WeakMap<RowView, { readonly key: string; readonly lines: string[] }>()

/** Returns the lines of a process. */
export function rowLines(table: TableRow, columns: number, now: number, style: Style): string[] {
  const { row, line, isSelected, isTagged, hasKeys, usdPerMinute } = table
  // Everything else that the lines depend on. The row itself is replaced when it changes.
  const flags = [line.hasChildren, line.isFolded, line.isContext, isSelected, isTagged, hasKeys, style.ascii].map(Number).join('')
  const key = `${columns} ${line.depth} ${flags} ${usdPerMinute} ${formatElapsed(elapsedAt(row, now))}`
  const known = lastLines.get(row)
  if (known?.key === key) return known.lines
  const lines = makeRowLines(table, columns, now, style)
  lastLines.set(row, { key, lines })
  return lines
}

function makeRowLines(table: TableRow, columns: number, now: number, style: Style): string[] {
  const { row, line, isSelected, isTagged, hasKeys } = table
  const isInverse = isSelected && hasKeys
  const cursor: Cell = { text: isSelected ? (style.ascii ? '>' : '▌') : isTagged ? '+' : '', columns: 1 }
  const cells = columnsFor(columns).map((def): Cell => ({
    ...def.cell(table, now, style, sizeOf(def, columns).columns ?? 0, columns),
    ...sizeOf(def, columns),
  }))
  const why: Cell = { text: whyText(row, line), style: whyStyle(row) }
  const lines = [
    lineOf([cursor, ...cells], columns, style, isInverse),
    ...(linesPerRow(columns) === 2 ? [lineOf([cursor, { text: '', columns: 7 }, why], columns, style, isInverse)] : []),
  ]
  return isInverse ? lines.map((one) => style.paint('inverse', one)) : lines
}

function columnsFor(columns: number): ColumnDef[] {
  return COLUMNS.filter(({ from }) => columns >= from)
}

function sizeOf({ columns: own, side }: ColumnDef, terminal: number): Pick<Cell, 'columns' | 'side'> {
  const columns = typeof own === 'function' ? own(terminal) : own
  return { ...(columns === undefined ? {} : { columns }), ...(side ? { side } : {}) }
}

/** `withKind`: the name of a crew, run or supervisor begins with that word. */
function nameText({ row, line }: TableRow, style: Style, withKind: boolean): string {
  const mark = markOf(row)
  const fold = !line.hasChildren ? '' : style.ascii ? (line.isFolded ? '+ ' : '- ') : line.isFolded ? '▸ ' : '▾ '
  const title = row.name ?? (row.about === '' ? `process ${row.pid}` : row.about)
  const kind = withKind ? KIND_WORDS[row.kind] : undefined
  return `${fold}${style.ascii ? mark.ascii : mark.symbol} ${kind === undefined ? '' : `${kind} `}${title}`
}

/** A row without a fold is indented by the width of one, which aligns the marks of siblings. */
function indentOf({ line }: TableRow): number {
  return Math.min(line.depth, MAX_INDENTS) * INDENT_COLUMNS + (line.hasChildren ? 0 : INDENT_COLUMNS)
}

function nameStyle({ row, line }: TableRow): Cell['style'] {
  return line.isContext ? 'dim' : TONE_STYLES[markOf(row).tone]
}

function contextText({ ctx }: RowView): string {
  return ctx === null || ctx.window <= 0 ? '' : `${Math.min(999, Math.round((100 * ctx.used) / ctx.window))}%`
}

function budgetCell({ budget }: RowView, { ascii }: Style, width: number): Pick<Cell, 'text' | 'style'> {
  if (budget === null || budget.of <= 0) return { text: '' }
  const share = (budget.used + budget.reserved) / budget.of
  const amount = budget.limit === 'budgetUsd' ? formatLimitUsd(budget.of) : `${Math.round(100 * share)}%`
  const bar = width <= 6 ? '' : `${barText(share, width - 7, ascii)} `
  return { text: bar + amount, style: share >= 1 ? 'red' : share >= budget.warnAt ? 'yellow' : undefined }
}

function barText(share: number, columns: number, ascii: boolean): string {
  const full = Math.max(0, Math.min(columns, Math.round(share * columns)))
  const [used, free] = ascii ? (['#', '.'] as const) : (['█', '░'] as const)
  return used.repeat(full) + free.repeat(columns - full)
}

function whyText(row: RowView, line: TreeLine): string {
  const text = row.why?.text ?? row.note ?? row.status
  if (!line.isFolded) return text
  const { live, asking, held } = row.sub
  const below = [`${live} live`, ...(asking > 0 ? [`${asking} ask`] : []), ...(held > 0 ? [`${held} held`] : [])]
  return `${text} [${below.join(', ')}]`
}

function whyStyle(row: RowView): Cell['style'] {
  if (row.asks > 0 || row.why?.kind.startsWith('hold')) return 'yellow'
  return row.status === 'failed' || row.status === 'interrupted' ? 'red' : undefined
}
