// The rows that say what a process and its children do: one line each, cut to the terminal, the parts that matter least left
// out first. Pure. Test: test/tables/cli-live.test.ts.
import type { ProcessView } from '../../api/views.ts'
import { table } from '../columns.ts'
import { allowance, cost, elapsed, tokens } from '../format.ts'
import { STATUS_COLOURS, type Colour } from '../status-colours.ts'
import { fit, oneLine, width } from '../text.ts'

/** How rows may look. */
export interface Look {
  readonly columns: number
  readonly ascii: boolean
  readonly ellipsis: string
  readonly pauseMark: string
  paintWords(style: Colour, text: string): string
}

/** A process as it was at a time of our own monotonic clock. */
export interface Seen {
  readonly view: ProcessView
  readonly at: number
}

/** Its own clock, which stands still while it is suspended or has ended. */
export function elapsedNow({ view, at }: Seen, now: number): number {
  return view.elapsedMs + (view.state === 'running' && view.status !== 'suspended' ? Math.max(0, now - at) : 0)
}

/** Columns that what it does should have, before other parts are left out for it. */
const DOING_COLUMNS = 28
const GAP = '  '

/** `● working  4m 10s  step 3  12.4k in (61% cached), 1.2k out  context 34%  $0.04  bash npm test 12s`. */
export function stateRow(seen: Seen, doing: (columns: number) => string, now: number, look: Look): string {
  const { view } = seen
  const room = look.columns - 1
  const head = `${mark(view, look)} ${view.status}`
  const parts = [...partsOf(view), { text: elapsed(elapsedNow(seen, now)), keep: 9, at: 0 }].filter(({ text }) => text !== '').sort((a, b) => a.at - b.at)
  const least = width(doing(Math.min(DOING_COLUMNS, Math.floor(room / 2))))
  const wanted = least === 0 ? 0 : least + GAP.length
  const taken = (): number => width(head) + parts.reduce((sum, { text }) => sum + GAP.length + width(text), 0)
  while (parts.length > 0 && taken() + wanted > room) parts.splice(parts.indexOf(parts.reduce((least, part) => (part.keep < least.keep ? part : least))), 1)
  const rest = parts.map(({ text }) => GAP + text).join('')
  const left = room - width(head) - width(rest) - GAP.length
  const tail = wanted > 0 && left > 0 ? GAP + doing(left) : ''
  return painted(fit(head, room, look.ellipsis), seen, look) + look.paintWords('dim', rest) + tail
}

interface Part {
  readonly text: string
  /** the least is left out first */
  readonly keep: number
  /** its place */
  readonly at: number
}

function partsOf({ usage, step, status, queueCount, limits }: ProcessView): Part[] {
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  const cached = input > 0 && usage.cacheReadTokens > 0 ? ` (${Math.round((usage.cacheReadTokens / input) * 100)}% cached)` : ''
  const context = usage.contextWindow && usage.contextTokens > 0 ? `context ${Math.round((usage.contextTokens / usage.contextWindow) * 100)}%` : ''
  const budget = limits.budgetUsd === undefined ? '' : ` of ${allowance(limits.budgetUsd)}`
  const hasCost = usage.costUsd > 0 || limits.budgetUsd !== undefined
  return [
    { text: step > 0 ? `step ${step}` : '', keep: 8, at: 1 },
    { text: input > 0 ? `${tokens(input)} in${cached}` : '', keep: 4, at: 2 },
    { text: usage.outputTokens > 0 ? `${tokens(usage.outputTokens)} out` : '', keep: 3, at: 3 },
    { text: context, keep: 5, at: 4 },
    { text: hasCost ? cost(usage.costUsd, usage.unpriced) + budget : '', keep: 6, at: 5 },
    { text: queueCount > 0 && status !== 'pending' && status !== 'starting' ? `${queueCount} queued` : '', keep: 7, at: 6 },
  ]
}

function mark(view: ProcessView, look: Look): string {
  if (view.status === 'suspended') return look.pauseMark
  return look.ascii ? '*' : '●'
}

function painted(cell: string, seen: Seen | undefined, look: Look): string {
  const colour = seen && STATUS_COLOURS[seen.view.status]
  return colour ? look.paintWords(colour, cell) : cell
}

/** More rows than these would crowd out what is above. */
const MAX_CHILDREN = 8

/** A row for each of the first children, and one that says how many more there are. */
export function childRows(children: readonly Seen[], total: number, now: number, look: Look): string[] {
  const shown = children.slice(0, MAX_CHILDREN)
  const columns = [
    { title: '' },
    { title: '', paint: (cell: string, row: number): string => painted(cell, shown[row], look) },
    { title: '', side: 'right' as const },
    { title: '', side: 'right' as const },
    { title: '', side: 'right' as const },
    { title: '', min: 4 },
  ]
  const rows = shown.map((seen) => {
    const { view } = seen
    const name = view.name === null ? oneLine(view.agent) : oneLine(view.name)
    const says = view.note ?? view.lastText ?? ''
    return [
      `  PID ${view.pid} ${fit(name, 20, look.ellipsis)}`, view.status === 'suspended' ? `${look.pauseMark} suspended` : view.status,
      elapsed(elapsedNow(seen, now)), view.step > 0 ? `step ${view.step}` : '', view.usage.costUsd > 0 ? cost(view.usage.costUsd, view.usage.unpriced) : '', oneLine(says),
    ]
  })
  const lines = rows.length === 0 ? [] : table(columns, rows, look.columns - 1, look.ellipsis).slice(1)
  return total > shown.length ? [...lines, look.paintWords('dim', `  +${total - shown.length} more`)] : lines
}
