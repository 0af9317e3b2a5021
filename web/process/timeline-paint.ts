// Paints the steps of a process on a canvas, with lanes for the model, tools, the user, children, the cost and files.
// A paint costs one pass over the visible steps, and at most one rectangle for each pixel of a lane.
// Tests: test/e2e/web/process/steps.test.ts, bench/page-process.ts.
import { formatClock, formatElapsed } from '../../src/faces/format.ts'
import { hasFlag, type StepColumns } from '../../src/faces/step-list.ts'
import { ticksOf, type TimeAxis } from '../../src/faces/time-axis.ts'

/** The lanes with their top and height, in pixels. The labels beside the canvas have the same places. */
export const LANES = {
  axis: [0, 18],
  model: [20, 14],
  tools: [36, 14],
  you: [52, 12],
  children: [66, 12],
  cost: [80, 18],
  files: [100, 8],
} as const
/** the height of all lanes together, in pixels */
export const TIMELINE_HEIGHT = 110

/** The places of all steps on the axis. They change only with the steps or the axis. */
export interface StepPlaces {
  readonly start: Float64Array
  readonly modelEnd: Float64Array
  readonly toolEnd: Float64Array
  readonly youEnd: Float64Array
  /** the cost up to and including each step */
  readonly cost: Float64Array
}

export function placesOf(columns: StepColumns, axis: TimeAxis): StepPlaces {
  const count = columns.step.length
  const make = (): Float64Array => new Float64Array(count)
  const places = { start: make(), modelEnd: make(), toolEnd: make(), youEnd: make(), cost: make() }
  let cost = 0
  for (let index = 0; index < count; index += 1) {
    const at = columns.at[index] ?? 0
    const modelEnd = at + (columns.modelMs[index] ?? 0)
    const toolEnd = modelEnd + (columns.toolMs[index] ?? 0)
    cost += columns.usd[index] ?? 0
    places.start[index] = axis.place(at)
    places.modelEnd[index] = axis.place(modelEnd)
    places.toolEnd[index] = axis.place(toolEnd)
    places.youEnd[index] = axis.place(toolEnd + (columns.humanMs[index] ?? 0))
    places.cost[index] = cost
  }
  return places
}

/** What is painted. */
export interface PaintInput {
  readonly columns: StepColumns
  readonly axis: TimeAxis
  readonly places: StepPlaces
  /** the visible part of the axis */
  readonly view: { readonly start: number; readonly end: number }
  readonly width: number
  /** the index of the selected step; -1: none */
  readonly selected: number
  /** true: what follows the selected step is not shown */
  readonly isReplay: boolean
  readonly children: readonly { readonly from: number; readonly to: number }[]
  readonly now: number
}

type Colour = 'ink' | 'ground' | 'quiet' | 'line' | 'accent' | 'asks' | 'fails'

export function paint(context: CanvasRenderingContext2D, input: PaintInput): void {
  const style = getComputedStyle(context.canvas)
  const colour = (name: Colour): string => style.getPropertyValue(`--${name}`)
  const { view, width, columns, places } = input
  const scale = width / (view.end - view.start)
  const x = (place: number): number => (place - view.start) * scale
  const [first, last] = visibleSteps(places, view)
  context.clearRect(0, 0, width, TIMELINE_HEIGHT)
  context.font = `12px ${style.fontFamily}`
  context.textBaseline = 'middle'
  paintFolds(context, input, x, colour)
  paintTicks(context, input, x, colour)
  const fill = (lane: keyof typeof LANES, name: Colour, from: (index: number) => number, to: (index: number) => number): void => {
    context.fillStyle = colour(name)
    fillSpans(context, lane, width, first, last, (index) => [x(from(index)), x(to(index))])
  }
  const at = (list: Float64Array, index: number): number => list[index] ?? 0
  fill(
    'model',
    'accent',
    (index) => at(places.start, index),
    (index) => at(places.modelEnd, index),
  )
  fill(
    'tools',
    'quiet',
    (index) => at(places.modelEnd, index),
    (index) => at(places.toolEnd, index),
  )
  fill(
    'you',
    'asks',
    (index) => at(places.toolEnd, index),
    (index) => at(places.youEnd, index),
  )
  context.fillStyle = colour('fails')
  fillSpans(context, 'tools', width, first, last, (index) =>
    hasFlag(columns, index, 'failed')
      ? [x(at(places.modelEnd, index)), Math.max(x(at(places.modelEnd, index)) + 2, x(at(places.toolEnd, index)))]
      : null,
  )
  context.fillStyle = colour('ink')
  fillSpans(context, 'files', width, first, last, (index) =>
    hasFlag(columns, index, 'files') ? [x(at(places.toolEnd, index)) - 1.5, x(at(places.toolEnd, index)) + 1.5] : null,
  )
  context.fillStyle = colour('quiet')
  fillSpans(context, 'children', width, 0, input.children.length, (index) => {
    const child = input.children[index]
    return child ? [x(input.axis.place(child.from)), x(input.axis.place(child.to))] : null
  })
  paintCost(context, input, x, [first, last], colour)
  paintSelected(context, input, x, colour)
}

/** The indices of the steps that can be visible, as a half-open range. */
export function visibleSteps({ start }: StepPlaces, view: PaintInput['view']): readonly [number, number] {
  const countBefore = (place: number): number => {
    let [low, high] = [0, start.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((start[middle] ?? 0) < place) low = middle + 1
      else high = middle
    }
    return low
  }
  return [Math.max(0, countBefore(view.start) - 1), countBefore(view.end)]
}

/** Fills spans of a lane. Spans of the same pixels become one rectangle of at least one pixel. */
function fillSpans(
  context: CanvasRenderingContext2D,
  lane: keyof typeof LANES,
  width: number,
  first: number,
  last: number,
  spanOf: (index: number) => readonly [number, number] | null,
): void {
  const [top, height] = LANES[lane]
  let [from, to] = [Number.NaN, Number.NaN]
  const flush = (): void => {
    const left = Math.max(0, from)
    if (to > 0 && left < width) context.fillRect(left, top, Math.max(1, Math.min(width, to) - left), height)
  }
  for (let index = first; index < last; index += 1) {
    const span = spanOf(index)
    if (!span || span[1] <= span[0]) continue
    if (span[0] <= to + 0.5 && span[0] >= from) to = Math.max(to, span[1])
    else {
      flush()
      ;[from, to] = span
    }
  }
  flush()
}

function paintFolds(
  context: CanvasRenderingContext2D,
  { axis, view, width }: PaintInput,
  x: (place: number) => number,
  colour: (name: Colour) => string,
): void {
  let free = 0
  for (const { start, end, from, to, word } of axis.folds) {
    if (end < view.start || start > view.end) continue
    const [left, right] = [Math.max(0, x(start)), Math.min(width, x(end))]
    context.fillStyle = colour('line')
    context.fillRect(left, LANES.model[0] - 2, Math.max(1, right - left), TIMELINE_HEIGHT)
    const text = `≈ ${word} ${formatElapsed(to - from)} ≈`
    const textWidth = context.measureText(text).width
    const place = Math.max(0, Math.min(width - textWidth, (left + right - textWidth) / 2))
    if (place < free) continue
    context.fillStyle = colour('quiet')
    context.fillText(text, place, LANES.axis[1] / 2)
    free = place + textWidth + 8
  }
}

function paintTicks(
  context: CanvasRenderingContext2D,
  { axis, view, width, now }: PaintInput,
  x: (place: number) => number,
  colour: (name: Colour) => string,
): void {
  const folds = axis.folds.filter(({ start, end }) => end >= view.start && start <= view.end)
  context.fillStyle = colour('quiet')
  let free = 0
  let lastDay = formatDay(now)
  for (const time of ticksOf(axis, view.start, view.end, Math.max(2, Math.floor(width / 80)))) {
    const left = x(axis.place(time))
    const day = formatDay(time)
    const text = `${day === lastDay ? '' : `${day} `}${formatClock(new Date(time).toISOString(), time).replace(/:00$/, '')}`
    const right = left + 3 + context.measureText(text).width
    // The label of a fold is more important than that of a tick.
    const isBesideFold = folds.some(({ start, end }) => x(end) > left - 70 && x(start) < right + 70)
    context.fillRect(left, LANES.axis[1] - 4, 1, 4)
    if (isBesideFold || left < free || right > width) continue
    context.fillText(text, left + 3, LANES.axis[1] / 2)
    lastDay = day
    free = right + 12
  }
}

function formatDay(time: number): string {
  return formatClock(new Date(time).toISOString(), 0).slice(5, 10)
}

function paintCost(
  context: CanvasRenderingContext2D,
  { places, columns, width }: PaintInput,
  x: (place: number) => number,
  [first, last]: readonly [number, number],
  colour: (name: Colour) => string,
): void {
  const total = places.cost.at(-1) ?? 0
  if (total === 0) return
  const [top, height] = LANES.cost
  const y = (cost: number): number => top + height - (cost / total) * height
  context.fillStyle = colour('line')
  context.beginPath()
  context.moveTo(Math.max(0, x(places.start[first] ?? 0)), top + height)
  let lastX = -1
  for (let index = first; index < Math.min(columns.step.length, last + 1); index += 1) {
    const left = Math.min(width, x(places.toolEnd[index] ?? 0))
    if (index < last - 1 && left - lastX < 1) continue
    context.lineTo(left, y(places.cost[index - 1] ?? 0))
    context.lineTo(left, y(places.cost[index] ?? 0))
    lastX = left
  }
  context.lineTo(lastX, top + height)
  context.fill()
}

function paintSelected(
  context: CanvasRenderingContext2D,
  { places, selected, isReplay, width }: PaintInput,
  x: (place: number) => number,
  colour: (name: Colour) => string,
): void {
  if (selected < 0) return
  const left = x(places.start[selected] ?? 0)
  const right = x(places.youEnd[selected] ?? 0)
  if (isReplay) {
    context.globalAlpha = 0.75
    context.fillStyle = colour('ground')
    context.fillRect(Math.max(0, right), LANES.axis[1], width, TIMELINE_HEIGHT)
    context.globalAlpha = 1
  }
  context.fillStyle = colour('ink')
  const line = isReplay ? right : left
  context.fillRect(line, LANES.axis[1], isReplay ? 2 : 1, TIMELINE_HEIGHT)
  context.fillRect(line - 4, LANES.axis[1] - 2, 9, 5)
}
