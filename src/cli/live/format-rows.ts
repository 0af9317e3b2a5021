// Formats the activity of a process and its children: one line each. A line that is too long loses its least important parts first. Pure.
// Test: test/tables/cli/live/sticky-footer.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import { formatTable } from '../print/format-table.ts'
import { formatLimitUsd, formatCost, formatElapsed, formatTokens } from '../../faces/format.ts'
import { STATUS_COLOURS, type Colour } from '../print/status-colours.ts'
import { fitWidth, oneLine, displayWidth } from '../print/text.ts'

/** The width and the style of rows. */
export interface RowStyle {
  readonly columns: number
  readonly ascii: boolean
  readonly ellipsis: string
  readonly pauseMark: string
  paintMessage(style: Colour, text: string): string
}

/** The view of a process, and when it was received. */
export interface SampledProcess {
  readonly view: ProcessView
  /** monotonic ms */
  readonly receivedAt: number
}

/** Returns the elapsed time of a process in ms. The time continues after the sample, unless the process is suspended or ended. */
export function elapsedNow({ view, receivedAt }: SampledProcess, now: number): number {
  return view.elapsedMs + (view.state === 'running' && view.status !== 'suspended' ? Math.max(0, now - receivedAt) : 0)
}

/** the columns that are kept for the activity: other parts are omitted first */
const ACTIVITY_COLUMNS = 28
const GAP = '  '

/** `● working  4m 10s  step 3  12.4k in (61% cached), 1.2k out  context 34%  $0.04  bash npm test 12s`. */
export function stateRow(sample: SampledProcess, activityText: (columns: number) => string, now: number, style: RowStyle): string {
  const { view } = sample
  const room = style.columns - 1
  const head = `${statusMark(view, style)} ${view.status}`
  const parts = [...rowParts(view), { text: formatElapsed(elapsedNow(sample, now)), importance: 9, position: 0 }]
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
  return paintByStatus(fitWidth(head, room, style.ellipsis), sample, style) + style.paintMessage('dim', rest) + tail
}

interface Part {
  readonly text: string
  /** the importance of the part: the part with the lowest value is omitted first */
  readonly importance: number
  /** the position of the part in the row */
  readonly position: number
}

function rowParts({ usage, step, status, queueCount, limits }: ProcessView): Part[] {
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  const cached = input > 0 && usage.cacheReadTokens > 0 ? ` (${Math.round((usage.cacheReadTokens / input) * 100)}% cached)` : ''
  const context =
    usage.contextWindow && usage.contextTokens > 0 ? `context ${Math.round((usage.contextTokens / usage.contextWindow) * 100)}%` : ''
  const budget = limits.budgetUsd === undefined ? '' : ` of ${formatLimitUsd(limits.budgetUsd)}`
  const hasCost = usage.costUsd !== 0 || limits.budgetUsd !== undefined
  return [
    { text: step > 0 ? `step ${step}` : '', importance: 8, position: 1 },
    { text: input > 0 ? `${formatTokens(input)} in${cached}` : '', importance: 4, position: 2 },
    { text: usage.outputTokens > 0 ? `${formatTokens(usage.outputTokens)} out` : '', importance: 3, position: 3 },
    { text: context, importance: 5, position: 4 },
    { text: hasCost ? formatCost(usage.costUsd, usage.unpriced) + budget : '', importance: 6, position: 5 },
    { text: queueCount > 0 && status !== 'pending' && status !== 'starting' ? `${queueCount} queued` : '', importance: 7, position: 6 },
  ]
}

function statusMark(view: ProcessView, style: RowStyle): string {
  if (view.status === 'suspended') return style.pauseMark
  return style.ascii ? '*' : '●'
}

function paintByStatus(cell: string, sample: SampledProcess | undefined, style: RowStyle): string {
  const colour = sample && STATUS_COLOURS[sample.view.status]
  return colour ? style.paintMessage(colour, cell) : cell
}

/** the greatest number of rows for children: the output needs room, too */
const MAX_CHILDREN = 8

/** Returns a row per child, and a row with the number of further children. */
export function childRows(children: readonly SampledProcess[], total: number, now: number, style: RowStyle): string[] {
  const shown = children.slice(0, MAX_CHILDREN)
  const columns = [
    { title: '' },
    { title: '', paint: (cell: string, row: number): string => paintByStatus(cell, shown[row], style) },
    { title: '', side: 'right' as const },
    { title: '', side: 'right' as const },
    { title: '', side: 'right' as const },
    { title: '', min: 4 },
  ]
  const rows = shown.map((sample) => {
    const { view } = sample
    const name = view.name === null ? oneLine(view.agent) : oneLine(view.name)
    const detail = view.note ?? view.lastText ?? ''
    return [
      `  PID ${view.pid} ${fitWidth(name, 20, style.ellipsis)}`,
      view.status === 'suspended' ? `${style.pauseMark} suspended` : view.status,
      formatElapsed(elapsedNow(sample, now)),
      view.step > 0 ? `step ${view.step}` : '',
      view.usage.costUsd !== 0 ? formatCost(view.usage.costUsd, view.usage.unpriced) : '',
      oneLine(detail),
    ]
  })
  const lines = rows.length === 0 ? [] : formatTable(columns, rows, style.columns - 1, style.ellipsis).slice(1)
  return total > shown.length ? [...lines, style.paintMessage('dim', `  +${total - shown.length} more`)] : lines
}
