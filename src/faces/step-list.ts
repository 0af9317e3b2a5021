// The list of steps that the page shows. Finds the steps that pass a filter, and folds runs of silent reads into one line. Also adds up the
// usage of steps. Works on columns, so that thousands of steps are cheap. Pure. Test: test/tables/faces/step-list.test.ts.
import { STEP_FLAGS } from '../api/step-flags.ts'
import type { BriefStepsView } from '../api/views/steps.ts'

export type StepColumns = BriefStepsView['columns']

/** The kinds of steps to filter for. `slow`: of more than 30 s; `dear`: of more than $0.05. */
export const STEP_KINDS = ['text', 'edits', 'failed', 'slow', 'dear'] as const
export type StepKind = (typeof STEP_KINDS)[number]

const SLOW_MS = 30_000
const DEAR_USD = 0.05
/** a shorter run of silent reads is not folded */
const MIN_RUN = 3

/** One line of the list: the steps with the indices `from` to `to` of the columns. Only a folded run has more than one. */
export interface StepLine {
  readonly from: number
  readonly to: number
}

export interface StepSelection {
  /** steps of one of these kinds; empty: all steps */
  readonly only: ReadonlySet<StepKind>
  /** a text of the step, or a tool, contains this */
  readonly find: string
  /** the first steps of the runs that are not folded */
  readonly unfolded: ReadonlySet<number>
  /** steps after this one are left out; null: none */
  readonly upTo: number | null
  /** true: the dearest steps come first, each in its own line */
  readonly isByCost?: boolean
}

export function hasFlag(columns: StepColumns, index: number, flag: keyof typeof STEP_FLAGS): boolean {
  return ((columns.flags[index] ?? 0) & STEP_FLAGS[flag]) !== 0
}

/** The time of a step, in ms: of its model calls, its tools, and its waits for the user. Held time does not count. */
export function activeMs({ modelMs, toolMs, humanMs }: StepColumns, index: number): number {
  return (modelMs[index] ?? 0) + (toolMs[index] ?? 0) + (humanMs[index] ?? 0)
}

/**
 * The time of the steps with the indices `from` to `to`, in ms. The last step, while it is open, counts from its start to `until`, in ms
 * since the epoch. That is the end of the process, or the present time of the daemon.
 */
export function timeOfSteps(columns: StepColumns, { from, to }: StepLine, until: number): number {
  const isOpen = to === columns.step.length - 1 && hasFlag(columns, to, 'open')
  let ms = isOpen ? Math.max(0, until - (columns.at[to] ?? 0) - (columns.heldMs[to] ?? 0)) : activeMs(columns, to)
  for (let index = from; index < to; index += 1) ms += activeMs(columns, index)
  return ms
}

/** Replaces the steps of `known` by those of `more`, from the first step of `more` on. */
export function joinColumns(known: StepColumns, more: StepColumns): StepColumns {
  const first = more.step[0]
  if (first === undefined) return known
  const kept = indexOfStep(known, first)
  const keys = Object.keys(known) as (keyof StepColumns)[]
  return Object.fromEntries(keys.map((key) => [key, [...known[key].slice(0, kept), ...more[key]]])) as unknown as StepColumns
}

/** The number of steps before `step`: its index, if it is among them. */
export function indexOfStep({ step: steps }: StepColumns, step: number): number {
  let [low, high] = [0, steps.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((steps[middle] ?? 0) < step) low = middle + 1
    else high = middle
  }
  return low
}

/** The last of the known steps that can no longer change: the steps after it are read again. 0: none. */
export function settledStep(columns: StepColumns): number {
  const count = columns.step.length
  // The last two steps may change: usage and records of files come while the next step runs. A call that a crash cut off stays open for
  // ever, so only the last 50 steps are searched for open calls.
  const recent = Math.max(0, count - 50)
  let settled = Math.max(0, count - 2)
  for (let index = settled - 1; index >= recent; index -= 1) if (hasFlag(columns, index, 'open')) settled = index
  return columns.step[settled - 1] ?? 0
}

/** The lines of the list. */
export function stepLines(columns: StepColumns, selection: StepSelection): StepLine[] {
  const { only, unfolded, upTo } = selection
  const find = selection.find.toLowerCase()
  const isFiltered = only.size > 0 || find !== '' || selection.isByCost === true
  const end = upTo === null ? columns.step.length : indexOfStep(columns, upTo + 1)
  const lines: StepLine[] = []
  for (let index = 0; index < end; index += 1) {
    if (isFiltered) {
      if ((only.size === 0 || isOneOf(columns, index, only)) && (find === '' || contains(columns, index, find)))
        lines.push({ from: index, to: index })
      continue
    }
    let last = index
    while (last < end && isSilentRead(columns, last)) last += 1
    if (last - index < MIN_RUN || unfolded.has(columns.step[index] ?? 0)) {
      const to = Math.max(index, last - 1)
      for (let one = index; one <= to; one += 1) lines.push({ from: one, to: one })
      index = to
    } else {
      lines.push({ from: index, to: last - 1 })
      index = last - 1
    }
  }
  return selection.isByCost === true ? lines.toSorted((a, b) => costOf(columns, b) - costOf(columns, a)) : lines
}

/** The cost of a line with one step; below 0 if it is not known. */
function costOf({ usd }: StepColumns, { from }: StepLine): number {
  return usd[from] ?? -1
}

/**
 * The index of the line with a step. If no line has it, the index of the line before it; -1: there is none. `isByCost`: the lines are in
 * the order of their cost, so none is before it.
 */
export function lineOfStep(columns: StepColumns, lines: readonly StepLine[], step: number, isByCost = false): number {
  if (isByCost) return lines.findIndex(({ from }) => columns.step[from] === step)
  let [low, high] = [0, lines.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((columns.step[lines[middle]?.from ?? 0] ?? 0) <= step) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Whether a finished step has no text, and only reads, none of which failed. */
function isSilentRead(columns: StepColumns, index: number): boolean {
  const loud = STEP_FLAGS.open | STEP_FLAGS.failed | STEP_FLAGS.writes | STEP_FLAGS.asked | STEP_FLAGS.files | STEP_FLAGS.compacted
  return columns.text[index] === '' && (columns.tools[index]?.length ?? 0) > 0 && ((columns.flags[index] ?? 0) & loud) === 0
}

function isOneOf(columns: StepColumns, index: number, kinds: ReadonlySet<StepKind>): boolean {
  for (const kind of kinds) if (isKind(columns, index, kind)) return true
  return false
}

function isKind(columns: StepColumns, index: number, kind: StepKind): boolean {
  switch (kind) {
    case 'text':
      return columns.text[index] !== ''
    case 'edits':
      return hasFlag(columns, index, 'files')
    case 'failed':
      return hasFlag(columns, index, 'failed')
    case 'slow':
      return activeMs(columns, index) > SLOW_MS
    case 'dear':
      return (columns.usd[index] ?? 0) > DEAR_USD
  }
}

function contains({ text, tools }: StepColumns, index: number, find: string): boolean {
  return (text[index] ?? '').toLowerCase().includes(find) || (tools[index] ?? []).some((tool) => tool.toLowerCase().includes(find))
}

/** The tools of some steps as one text: `read ×2, bash failed, grep …`. At most `most` names, and the number of the others: `+2`. */
export function toolsText(tools: readonly string[], most = 3): string {
  const counts = new Map<string, number>()
  for (const tool of tools) counts.set(tool, (counts.get(tool) ?? 0) + 1)
  const names = [...counts].map(([tool, count]) => {
    const name = tool.endsWith('!') ? `${tool.slice(0, -1)} failed` : tool.endsWith('?') ? `${tool.slice(0, -1)} …` : tool
    return count === 1 ? name : `${name} ×${count}`
  })
  return names.length > most ? `${names.slice(0, most).join(', ')} +${names.length - most}` : names.join(', ')
}

/** The usage of a process up to and including a step. */
export interface UsageUpTo {
  readonly usd: number | null
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly context: number | null
  readonly activeMs: number
}

/** Adds up the steps before index `end`. */
export function usageUpTo(columns: StepColumns, end: number): UsageUpTo {
  let [usd, input, cached, output, ms]: [number | null, number, number, number, number] = [null, 0, 0, 0, 0]
  for (let index = 0; index < end; index += 1) {
    const cost = columns.usd[index] ?? null
    if (cost !== null) usd = (usd ?? 0) + cost
    input += columns.in[index] ?? 0
    cached += columns.cached[index] ?? 0
    output += columns.out[index] ?? 0
    ms += activeMs(columns, index)
  }
  const context = columns.ctx.slice(0, end).findLast((one) => one !== null) ?? null
  return { usd, input, cached, output, context, activeMs: ms }
}
