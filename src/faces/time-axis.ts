// The axis of time on which a process is drawn. On the axis of active time, each span in which nothing ran has a small width. So a night of
// waiting does not squeeze the work. Pure. Test: test/tables/faces/time-axis.test.ts.

/** A time in which nothing ran, in ms since the epoch. */
export interface IdleSpan {
  readonly from: number
  readonly to: number
  /** why, in a word or two */
  readonly word: string
}

/** A folded span, in the units of the axis. */
export interface Fold extends IdleSpan {
  readonly start: number
  readonly end: number
}

export interface TimeAxis {
  /** the length of the axis; it begins at 0 */
  readonly length: number
  readonly folds: readonly Fold[]
  /** the place of a time on the axis */
  place(time: number): number
  /** the time of a place on the axis */
  time(place: number): number
}

/** the largest share of the active time that all folds together may take, and that one fold may take */
const [ALL_FOLDS, ONE_FOLD] = [0.3, 0.03]
/** in ms: a shorter span is never folded, nor is one that is shorter than its fold would be */
const MIN_FOLD_MS = 5_000

/** Makes an axis from `from` to `to`. `idle`: what is folded, in order and without overlap. */
export function timeAxis(from: number, to: number, idle: readonly IdleSpan[]): TimeAxis {
  const inside = idle.map((span) => ({ ...span, from: Math.max(from, span.from), to: Math.min(to, span.to) }))
  const long = inside.filter((span) => span.to - span.from >= MIN_FOLD_MS)
  const active = Math.max(1, to - from - long.reduce((sum, span) => sum + span.to - span.from, 0))
  const width = active * Math.min(ONE_FOLD, ALL_FOLDS / Math.max(1, long.length))
  const folds: Fold[] = []
  let removed = 0
  for (const span of long) {
    if (span.to - span.from <= width) continue
    const start = span.from - from - removed
    folds.push({ ...span, start, end: start + width })
    removed += span.to - span.from - width
  }
  return {
    length: Math.max(1, to - from - removed),
    folds,
    place: (time) => placeOf(folds, from, time),
    time: (place) => timeOf(folds, from, place),
  }
}

function placeOf(folds: readonly Fold[], from: number, time: number): number {
  const fold = lastFold(folds, (one) => one.from <= time)
  if (!fold) return time - from
  if (time >= fold.to) return fold.end + time - fold.to
  return fold.start + ((time - fold.from) / (fold.to - fold.from)) * (fold.end - fold.start)
}

function timeOf(folds: readonly Fold[], from: number, place: number): number {
  const fold = lastFold(folds, (one) => one.start <= place)
  if (!fold) return from + place
  if (place >= fold.end) return fold.to + place - fold.end
  return fold.from + ((place - fold.start) / (fold.end - fold.start)) * (fold.to - fold.from)
}

function lastFold(folds: readonly Fold[], isBefore: (fold: Fold) => boolean): Fold | undefined {
  let [low, high] = [0, folds.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const fold = folds[middle]
    if (fold && isBefore(fold)) low = middle + 1
    else high = middle
  }
  return folds[low - 1]
}

const TICKS_MS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800].map(
  (seconds) => seconds * 1_000,
)

/** The times between two places at which the axis has a tick, at most `most`. Ticks lie in no fold. */
export function ticksOf(axis: TimeAxis, start: number, end: number, most: number): number[] {
  const every = TICKS_MS.find((ms) => (end - start) / ms <= most) ?? 2_592_000_000
  const ticks: number[] = []
  const place = (time: number): number => axis.place(time)
  for (let time = Math.ceil(axis.time(start) / every) * every; place(time) <= end && ticks.length < most;) {
    const at = place(time)
    const fold = axis.folds.find((one) => at >= one.start && at < one.end)
    if (fold) {
      time = Math.ceil((fold.to + 1) / every) * every
      continue
    }
    ticks.push(time)
    time += every
  }
  return ticks
}
