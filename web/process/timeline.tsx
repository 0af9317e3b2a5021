// The time axis of a process: what ran when, with the selected step as its handle. While the process is shown as of a step, dragging the
// handle goes through time. The page loads this part on demand. Test: test/e2e/web/process/steps.test.ts.
import { signal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { HTMLAttributes, JSX, RefObject } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import type { SpansView } from '../../src/api/views/spans.ts'
import { formatClock, formatDuration } from '../../src/faces/format.ts'
import { activeMs, indexOfStep, type StepColumns } from '../../src/faces/step-list.ts'
import { timeAxis, type IdleSpan, type TimeAxis } from '../../src/faces/time-axis.ts'
import { callApi } from '../session-api.ts'
import { useLive } from '../live.ts'
import { daemonNow, endOrNow } from '../parts/clock.tsx'
import { rows } from '../rows.ts'
import { asOf, showStep } from './address.ts'
import { LANES, paint, placesOf, TIMELINE_HEIGHT, type PaintInput } from './timeline-paint.ts'

interface View {
  readonly start: number
  readonly end: number
}

const isClock = signal(false)
const isDark = matchMedia('(prefers-color-scheme: dark)')
/** the shortest visible part of the axis, in ms */
const MIN_VIEW_MS = 2_000
/** a shorter movement of the pointer is a click, in pixels */
const CLICK_PX = 4
const MAX_CHILDREN = 500

/** The statuses in which nothing of a process runs, each with the word that the axis shows on the shortened span. */
const IDLE: Readonly<Record<string, string>> = {
  suspended: 'held',
  ready: 'ready',
  pending: 'not started',
  waiting: 'waited',
  completed: 'ended',
  failed: 'ended',
  stopped: 'ended',
  interrupted: 'ended',
  retired: 'ended',
}

interface TimelineProps {
  readonly row: RowView
  readonly columns: StepColumns
  readonly step: number
}

export function Timeline({ row, columns, step }: TimelineProps): JSX.Element {
  const { value: spans } = useLive<SpansView>(row.uuid, 'spans', () => callApi(`/v1/processes/${row.uuid}/spans`))
  const end = endOrNow(row.endedAt)
  const axis = useMemo(() => axisOf(columns, spans.value, end), [columns, spans.value, end, isClock.value])
  const places = useMemo(() => placesOf(columns, axis), [columns, axis])
  const children = useMemo(() => childrenOf(row.uuid, end), [columns, end])
  // Null: the whole axis.
  const [zoomed, setZoomed] = useState<View | null>(null)
  const view = zoomed ?? { start: 0, end: axis.length }
  const index = indexOfStep(columns, step)
  const selected = columns.step[index] === step ? index : -1
  const canvas = useRef<HTMLCanvasElement>(null)
  usePaint(canvas, { columns, axis, places, view, selected, isReplay: asOf.value !== null, children })

  const zoom = (factor: number, at = (view.start + view.end) / 2): void => setZoomed(zoomedView(view, factor, at, axis.length))
  const pan = (fraction: number): void => setZoomed(panned(view, fraction * (view.end - view.start), axis.length))
  const goTo = (next: number): void => {
    const to = columns.step[Math.max(0, Math.min(columns.step.length - 1, next))]
    if (to !== undefined) showStep(row.uuid, to)
  }
  const pick = (clientX: number): void => goTo(stepAt(columns, axis.time(placeAt(clientX, canvas.current, view))))
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => goTo(index - 1),
    ArrowRight: () => goTo(index + 1),
    '+': () => zoom(0.5, places.start[index]),
    '-': () => zoom(2, places.start[index]),
    '0': () => setZoomed(null),
  }
  return (
    <section class="timeline" aria-label="Time axis">
      <AxisBar
        fit={() => setZoomed(null)}
        toEnd={() => setZoomed(panned(zoomedView(view, 0.25, axis.length, axis.length), axis.length, axis.length))}
        zoom={zoom}
      />
      <div class="lanes-box">
        <LaneNames />
        <div
          class="axis"
          role="slider"
          tabIndex={0}
          aria-label="Step on the time axis"
          aria-valuemin={columns.step[0] ?? 1}
          aria-valuemax={columns.step.at(-1) ?? 1}
          aria-valuenow={step}
          aria-valuetext={stepText(columns, selected)}
          onKeyDown={(event) => handleKey(event, keys)}
          onWheel={(event) => {
            event.preventDefault()
            const width = event.currentTarget.clientWidth
            if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX + event.deltaY) / Math.max(1, width))
            else zoom(2 ** (event.deltaY / 250), placeAt(event.clientX, canvas.current, view))
          }}
          {...usePointer({ pan, pick })}
        >
          <canvas ref={canvas} style={{ height: `${TIMELINE_HEIGHT}px` }} />
        </div>
      </div>
    </section>
  )
}

/** Paints the axis, and again when the steps, the view, the selection, the width or the theme changes. */
function usePaint(canvas: RefObject<HTMLCanvasElement | null>, input: Omit<PaintInput, 'width' | 'now'>): void {
  const [width, setWidth] = useState(0)
  const [isDarkNow, setDarkNow] = useState(isDark.matches)
  useLayoutEffect(() => {
    const element = canvas.current
    if (!element) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    const updateTheme = (): void => setDarkNow(isDark.matches)
    isDark.addEventListener('change', updateTheme)
    return () => {
      observer.disconnect()
      isDark.removeEventListener('change', updateTheme)
    }
  }, [])
  const { columns, axis, places, view, selected, isReplay } = input
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (!context || width === 0) return
    const ratio = devicePixelRatio
    if (context.canvas.width !== Math.round(width * ratio)) {
      context.canvas.width = Math.round(width * ratio)
      context.canvas.height = TIMELINE_HEIGHT * ratio
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    paint(context, { ...input, width, now: daemonNow() })
  }, [columns, axis, places, view.start, view.end, width, selected, isReplay, isDarkNow])
}

function handleKey(event: KeyboardEvent, keys: Readonly<Record<string, () => void>>): void {
  const act = keys[event.key]
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  event.stopPropagation()
  act()
}

/** The index of the last step that had begun at a time; 0 before the first step. */
function stepAt({ at }: StepColumns, time: number): number {
  let [low, high] = [0, at.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((at[middle] ?? 0) <= time) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

function LaneNames(): JSX.Element {
  return (
    <div class="lane-names quiet" aria-hidden="true">
      {Object.entries(LANES).map(([name, [top]]) => (
        <span key={name} style={{ top: `${top}px` }}>
          {name === 'axis' ? '' : name}
        </span>
      ))}
    </div>
  )
}

function placeAt(clientX: number, canvas: HTMLCanvasElement | null, view: View): number {
  const box = canvas?.getBoundingClientRect()
  return box ? view.start + ((clientX - box.left) / Math.max(1, box.width)) * (view.end - view.start) : view.start
}

interface PointerActions {
  /** moves by a part of the visible width */
  readonly pan: (fraction: number) => void
  readonly pick: (clientX: number) => void
}

/** A click picks a step. A drag moves the axis, or goes through time while the process is shown as of a step. */
function usePointer({
  pan,
  pick,
}: PointerActions): Pick<HTMLAttributes<HTMLDivElement>, 'onPointerDown' | 'onPointerMove' | 'onPointerUp'> {
  const drag = useRef<{ x: number; isMoved: boolean } | null>(null)
  return {
    onPointerDown: (event) => {
      if (event.button !== 0) return
      drag.current = { x: event.clientX, isMoved: false }
      event.currentTarget.setPointerCapture(event.pointerId)
    },
    onPointerMove: (event) => {
      const from = drag.current
      if (!from || (!from.isMoved && Math.abs(event.clientX - from.x) < CLICK_PX)) return
      if (asOf.value === null) pan((from.x - event.clientX) / Math.max(1, event.currentTarget.clientWidth))
      else pick(event.clientX)
      drag.current = { x: event.clientX, isMoved: true }
    },
    onPointerUp: (event) => {
      if (drag.current && !drag.current.isMoved) pick(event.clientX)
      drag.current = null
    },
  }
}

function zoomedView({ start, end }: View, factor: number, at: number, length: number): View | null {
  const size = Math.max(MIN_VIEW_MS, (end - start) * factor)
  if (size >= length) return null
  const share = (at - start) / (end - start)
  return panned({ start: at - share * size, end: at + (1 - share) * size }, 0, length)
}

function panned(view: View | null, by: number, length: number): View | null {
  if (!view) return null
  const size = view.end - view.start
  const start = Math.max(0, Math.min(length - size, view.start + by))
  return { start, end: start + size }
}

function stepText(columns: StepColumns, index: number): string {
  if (index < 0) return 'no step'
  const at = formatClock(new Date(columns.at[index] ?? 0).toISOString(), daemonNow())
  return `step ${columns.step[index]}, ${at}, ${formatDuration(activeMs(columns, index))}`
}

function axisOf(columns: StepColumns, spans: SpansView | null, end: number): TimeAxis {
  const from = columns.at[0] ?? end
  // The times of the last steps can lie after the end of an external agent, by a little.
  const last = columns.step.length - 1
  const to = Math.max(end, (columns.at[last] ?? 0) + activeMs(columns, last))
  return timeAxis(from, to, isClock.value ? [] : idleSpans(columns, spans, end))
}

function idleSpans(columns: StepColumns, spans: SpansView | null, end: number): IdleSpan[] {
  const own = (spans?.processes[0]?.spans ?? []).flatMap(({ from, to, status }): IdleSpan[] => {
    const word = IDLE[status]
    return word === undefined ? [] : [{ from: Date.parse(from), to: to === null ? end : Date.parse(to), word }]
  })
  const known = Date.parse(spans?.processes[0]?.spans[0]?.from ?? '')
  return [...idleBetween(columns, known), ...own]
}

/** The times between steps before `known`: a fork has the steps of its origin, and not its statuses. */
function idleBetween(columns: StepColumns, known: number): IdleSpan[] {
  const found: IdleSpan[] = []
  for (let index = 0; index < columns.step.length && (columns.at[index] ?? 0) < known; index += 1) {
    const from = (columns.at[index] ?? 0) + activeMs(columns, index)
    const to = Math.min(known, columns.at[index + 1] ?? known)
    if (to > from) found.push({ from, to, word: 'idle' })
  }
  return found
}

function childrenOf(uuid: string, end: number): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = []
  for (const row of rows.values()) {
    if (row.parent !== uuid || found.length >= MAX_CHILDREN) continue
    found.push({ from: Date.parse(row.createdAt), to: row.endedAt === null ? end : Date.parse(row.endedAt) })
  }
  return found.toSorted((a, b) => a.from - b.from)
}

interface AxisBarProps {
  readonly fit: () => void
  readonly toEnd: () => void
  readonly zoom: (factor: number) => void
}

function AxisBar({ fit, toEnd, zoom }: AxisBarProps): JSX.Element {
  return (
    <p class="axis-bar">
      <label>
        <input type="radio" name="axis" checked={!isClock.value} onChange={() => (isClock.value = false)} /> active time
      </label>
      <label>
        <input type="radio" name="axis" checked={isClock.value} onChange={() => (isClock.value = true)} /> clock
      </label>
      <span class="buttons">
        <button type="button" title="key 0" onClick={fit}>
          fit
        </button>
        <button type="button" onClick={toEnd}>
          now
        </button>
        <button type="button" aria-label="Zoom in" title="key +" onClick={() => zoom(0.5)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" title="key -" onClick={() => zoom(2)}>
          −
        </button>
      </span>
    </p>
  )
}
