// The content of the panel below the table of `reeve top`: what a need is about, steps, changes, the log or limits of a process.
// Test: test/e2e/screen/top.test.ts.
import type { NeedView } from '../../api/views/needs.ts'
import { STEP_FLAGS, type Reeve, type RowView } from '../../index.ts'
import { formatClock, formatCost, formatDuration, formatElapsed, formatTokens } from '../../faces/format.ts'
import { budgetFullInText } from '../../faces/budgets.ts'
import { hasFlag, usageUpTo } from '../../faces/step-list.ts'
import { parseDiffLines } from '../../faces/unified-diff.ts'
import { stepDetailLines } from '../print/details/step-detail.ts'
import { limitRows } from '../print/limits.ts'
import { evidenceLines } from '../print/needs.ts'
import { escapeControls, fitWidth, oneLine, padWidth, stripControls } from '../print/text.ts'
import type { Style } from './line-layout.ts'
import type { PeekTab } from './model.ts'

/** the newest steps that are shown */
const MAX_STEPS = 500
/** above the number of any step */
const LAST_STEP = 1_000_000_000
/** the newest lines of the log that are shown */
const MAX_LOG_LINES = 500
/** the lines of a diff that are shown */
const MAX_DIFF_LINES = 5_000

export interface PeekRequest {
  readonly uuid: string
  readonly tab: PeekTab
  /** null: the process has none */
  readonly need: NeedView | null
  readonly columns: number
  /** the step as of which the process is shown; null: now */
  readonly at: number | null
  readonly row: RowView
  /** what its tree spends; null: not known, or it is not the root of its tree */
  readonly usdPerMinute: number | null
}

export interface PeekLines {
  readonly lines: string[]
  /** the steps that changed files */
  readonly edits?: readonly number[]
}

/** Reads a tab, or one step with what was used up to it. `now`: wall ms of the daemon. Errors: those of the daemon. */
export async function readPeek(reeve: Reeve, request: PeekRequest, style: Style, now: number): Promise<PeekLines> {
  return request.at === null ? { lines: await tabLines(reeve, request, style, now) } : stepAt(reeve, request.uuid, request.at, style)
}

/** The lines of a tab; the newest come last, except in a diff. */
async function tabLines(reeve: Reeve, request: PeekRequest, style: Style, now: number): Promise<string[]> {
  const { uuid, tab, need, columns } = request
  switch (tab) {
    case 'need':
      return need === null
        ? []
        : evidenceLines(
            await reeve.need(need.id),
            { columns, ellipsis: style.ellipsis, paint: (name, text) => style.paint(name, text) },
            now,
          )
    case 'steps':
      return stepLines(await reeve.stepColumns(uuid, { limit: MAX_STEPS, before: LAST_STEP }), style, columns, now)
    case 'diff':
      return changeLines((await reeve.diff(uuid, { format: 'view' })).diff ?? '', style)
    case 'logs':
      return (await reeve.logs(uuid, { tail: MAX_LOG_LINES })).lines.flatMap(({ stream, text }) =>
        stripControls(text)
          .split('\n')
          .map((line) => (stream === 'stderr' ? style.paint('red', escapeControls(line)) : escapeControls(line))),
      )
    case 'limits': {
      const rows = [...limitRows(await reeve.get(uuid)), ...rateRows(request)]
      return rows.flatMap(([label, text]) => (text === null ? [] : [`${label.padEnd(10)}${oneLine(text)}`]))
    }
  }
}

/** What the tree of the process spends, and when its budget will be full at that rate. */
function rateRows({ row, usdPerMinute }: Pick<PeekRequest, 'row' | 'usdPerMinute'>): (readonly [label: string, value: string])[] {
  if (usdPerMinute === null || usdPerMinute === 0) return []
  const fullIn = budgetFullInText(row, usdPerMinute)
  return [['rate', `${formatCost(usdPerMinute)}/min${fullIn === null ? '' : `, ${fullIn}`}`]]
}

/** The process as of a step: its figures up to it, and the step in full. */
async function stepAt(reeve: Reeve, uuid: string, step: number, style: Style): Promise<PeekLines> {
  const [{ columns, total }, detail] = await Promise.all([reeve.stepColumns(uuid), reeve.step(uuid, step)])
  const end = columns.step.filter((one) => one <= step).length
  const { usd, input, output, context, activeMs } = usageUpTo(columns, end)
  const figures = [
    `as of step ${step} of ${total}`,
    formatCost(usd),
    `${formatTokens(input)} in, ${formatTokens(output)} out`,
    ...(context === null ? [] : [`context ${formatTokens(context)}`]),
    `active ${formatElapsed(activeMs)}`,
  ].join(', ')
  return {
    lines: [style.paint('yellow', figures), ...stepDetailLines(detail, style)],
    edits: columns.step.filter((_, index) => hasFlag(columns, index, 'files')),
  }
}

type BriefSteps = Awaited<ReturnType<Reeve['stepColumns']>>

/** One line for each step: number, time, text, tools, duration, cost. `±`: it may have changed something. */
function stepLines({ columns: steps }: BriefSteps, style: Style, columns: number, now: number): string[] {
  return steps.step.map((step, index) => {
    const flags = steps.flags[index] ?? 0
    const tools = (steps.tools[index] ?? []).map(oneLine).join(' ')
    const ms = (steps.modelMs[index] ?? 0) + (steps.toolMs[index] ?? 0)
    const end = [
      fitWidth(tools, 30, style.ellipsis),
      padWidth(formatDuration(ms), 7, 'right'),
      padWidth(formatCost(steps.usd[index] ?? null), 8, 'right'),
      flags & STEP_FLAGS.writes ? (style.ascii ? '+-' : '±') : ' ',
    ].join(' ')
    const start = `${String(step).padStart(5)} ${formatClock(new Date(steps.at[index] ?? 0).toISOString(), now).slice(-8)} `
    const room = Math.max(10, columns - start.length - end.length - 1)
    const line = `${start}${padWidth(fitWidth(oneLine(steps.text[index] ?? ''), room, style.ellipsis), room)} ${end}`
    return flags & STEP_FLAGS.failed ? style.paint('red', line) : line
  })
}

function changeLines(diff: string, style: Style): string[] {
  if (diff === '') return ['no file differs']
  return parseDiffLines(diff)
    .slice(0, MAX_DIFF_LINES)
    .map(({ kind, text }) => {
      const safe = escapeControls(text)
      if (kind === 'added') return style.paint('green', `+${safe}`)
      if (kind === 'removed') return style.paint('red', `-${safe}`)
      return kind === 'head' || kind === 'hunk' ? style.paint('cyan', safe) : ` ${safe}`
    })
}
