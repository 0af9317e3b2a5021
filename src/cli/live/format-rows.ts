// Formats the rows of a followed process and its children, one line each. If the line of the process is too long, its least important
// parts are omitted. Pure. Test: test/tables/cli/live/format-rows.test.ts.
import type { RowView } from '../../api/views/rows.ts'
import { formatTable } from '../print/format-table.ts'
import { elapsedAt, formatLimitUsd, formatCost, formatElapsed, formatTokens } from '../../faces/format.ts'
import { STATUS_COLOURS, type Colour } from '../print/status-colours.ts'
import { fitWidth, oneLine, displayWidth } from '../print/text.ts'
import { amountText } from '../print/limits.ts'
import { activityText } from './activity.ts'

/** The width and the style of rows. */
export interface RowStyle {
  readonly columns: number
  readonly ascii: boolean
  readonly ellipsis: string
  readonly pauseMark: string
  paintMessage(style: Colour, text: string): string
}

/** the columns that are kept for the activity: other parts are omitted first */
const ACTIVITY_COLUMNS = 28
const GAP = '  '

/**
 * Returns the line of a process: `● working  4m 10s  step 3  12.4k in (61% cached)  1.2k out  context 34%  $0.04  bash npm test 12s`.
 * `activityText`: returns the activity in at most a number of columns.
 */
export function stateLine(row: RowView, activityText: (columns: number) => string, now: number, style: RowStyle): string {
  const room = style.columns - 1
  const head = `${statusMark(row, style)} ${row.status}`
  const parts = [...rowParts(row), { text: formatElapsed(elapsedAt(row, now)), importance: 9, position: 0 }]
    .filter(({ text }) => text !== '')
    .sort((a, b) => a.position - b.position)
  const activityWidth = displayWidth(activityText(Math.min(ACTIVITY_COLUMNS, Math.floor(room / 2))))
  const activityColumns = activityWidth === 0 ? 0 : activityWidth + GAP.length
  const takenColumns = (): number => displayWidth(head) + parts.reduce((sum, { text }) => sum + GAP.length + displayWidth(text), 0)
  while (parts.length > 0 && takenColumns() + activityColumns > room)
    parts.splice(parts.indexOf(parts.reduce((lowest, part) => (part.importance < lowest.importance ? part : lowest))), 1)
  const rest = parts.map(({ text }) => GAP + text).join('')
  const left = room - displayWidth(head) - displayWidth(rest) - GAP.length
  const tail = activityColumns > 0 && left > 0 ? GAP + activityText(left) : ''
  return paintByStatus(fitWidth(head, room, style.ellipsis), row, style) + style.paintMessage('dim', rest) + tail
}

interface Part {
  readonly text: string
  /** the importance of the part: the part with the lowest value is omitted first */
  readonly importance: number
  /** the position of the part in the row */
  readonly position: number
}

function rowParts({ tokens, cost, ctx, budget, step, status, queue }: RowView): Part[] {
  const input = tokens.input + tokens.cacheRead + tokens.cacheWrite
  const cached = input > 0 && tokens.cacheRead > 0 ? ` (${Math.round((tokens.cacheRead / input) * 100)}% cached)` : ''
  const context = ctx && ctx.used > 0 ? `context ${Math.round((ctx.used / ctx.window) * 100)}%` : ''
  const inUsd = budget?.limit === 'budgetUsd' ? ` of ${formatLimitUsd(budget.of)}` : ''
  const hasCost = cost.usd !== 0 || inUsd !== ''
  return [
    { text: step > 0 ? `step ${step}` : '', importance: 8, position: 1 },
    { text: input > 0 ? `${formatTokens(input)} in${cached}` : '', importance: 4, position: 2 },
    { text: tokens.output > 0 ? `${formatTokens(tokens.output)} out` : '', importance: 3, position: 3 },
    { text: context, importance: 5, position: 4 },
    { text: budget && inUsd === '' ? amountText(budget.limit, budget.used, budget.of) : '', importance: 2, position: 5 },
    { text: hasCost ? formatCost(cost.usd, cost.unpriced) + inUsd : '', importance: 6, position: 6 },
    { text: queue > 0 && status !== 'pending' && status !== 'starting' ? `${queue} queued` : '', importance: 7, position: 7 },
  ]
}

function statusMark({ status }: RowView, style: RowStyle): string {
  if (status === 'suspended') return style.pauseMark
  return style.ascii ? '*' : '●'
}

function paintByStatus(cell: string, row: RowView | undefined, style: RowStyle): string {
  const colour = row && STATUS_COLOURS[row.status]
  return colour ? style.paintMessage(colour, cell) : cell
}

/** the greatest number of lines for children: the output needs room, too */
const MAX_CHILDREN = 8

/** Returns a line per child, and a line with the number of further children. */
export function childLines(children: readonly RowView[], now: number, style: RowStyle): string[] {
  const shown = children.slice(0, MAX_CHILDREN)
  const columns = [
    { title: '' },
    { title: '', paint: (cell: string, row: number): string => paintByStatus(cell, shown[row], style) },
    { title: '', side: 'right' as const },
    { title: '', side: 'right' as const },
    { title: '', side: 'right' as const },
    { title: '', min: 4 },
  ]
  const rows = shown.map((child) => {
    const { pid, name, agent, status, step, cost, note, doing, lastText } = child
    const detail = note ?? (doing ? activityText(child, { now }, style.columns, style.ellipsis) : (lastText ?? ''))
    return [
      `  PID ${pid} ${fitWidth(oneLine(name ?? agent), 20, style.ellipsis)}`,
      status === 'suspended' ? `${style.pauseMark} suspended` : status,
      formatElapsed(elapsedAt(child, now)),
      step > 0 ? `step ${step}` : '',
      cost.usd !== 0 ? formatCost(cost.usd, cost.unpriced) : '',
      oneLine(detail),
    ]
  })
  const lines = rows.length === 0 ? [] : formatTable(columns, rows, style.columns - 1, style.ellipsis).slice(1)
  const hidden = children.length - shown.length
  return hidden > 0 ? [...lines, style.paintMessage('dim', `  +${hidden} more`)] : lines
}
