// The chart of the cost page: columns of an SVG, one for each day or hour. One of them is selected, by the pointer or by the arrow keys,
// and its values stand below. The same values are in the table. Test: test/e2e/web/pages/cost.test.ts.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent } from 'preact'
import type { CostChart } from '../../src/faces/cost-chart.ts'

const HEIGHT = 220
const LEFT = 56
const BOTTOM = 22
const TOP = 20
/** the least distance between two labels of the axis, in pixels */
const LABEL_WIDTH = 84

export interface ChartProps {
  readonly chart: CostChart
  /** a line across the chart, such as the budget of a day */
  readonly line: { readonly value: number; readonly text: string } | null
  /** what opens at a column; absent: nothing */
  readonly onOpen?: ((time: string) => void) | undefined
}

export function Chart({ chart, line, onOpen }: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(800)
  const [wanted, select] = useState<number | null>(null)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const last = chart.columns.length - 1
  const at = Math.max(0, Math.min(wanted ?? last, last))
  const selected = chart.columns[at]
  const onPointer = (event: TargetedPointerEvent<HTMLElement>): void => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT
    select(Math.floor((x / Math.max(1, width - LEFT)) * chart.columns.length))
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const moves: Readonly<Record<string, number>> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }
    const next = moves[event.key]
    if (next === undefined && event.key !== 'Enter') return
    event.preventDefault()
    if (next !== undefined) select(next)
    else if (selected) onOpen?.(selected.time)
  }
  return (
    <figure class="cost-chart">
      <div
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label="Time"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at}
        aria-valuetext={selected ? `${selected.time}: ${selected.text}` : 'nothing'}
        onKeyDown={onKeyDown}
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        onClick={() => selected && onOpen?.(selected.time)}
      >
        <Columns chart={chart} width={width} selected={at} line={line} />
      </div>
      <figcaption>
        <span class="number">{selected?.time}</span> {selected?.text}
      </figcaption>
      <Legend chart={chart} />
    </figure>
  )
}

interface ColumnsProps extends Pick<ChartProps, 'chart' | 'line'> {
  readonly width: number
  readonly selected: number
}

function Columns({ chart: { columns, ticks }, width, selected, line }: ColumnsProps): JSX.Element {
  const top = Math.max(ticks.at(-1)?.value ?? 0, 1e-9)
  const yOf = (value: number): number => HEIGHT - BOTTOM - (Math.min(value, top) / top) * (HEIGHT - BOTTOM - TOP)
  const each = (width - LEFT) / Math.max(1, columns.length)
  const gap = each > 6 ? Math.min(6, each * 0.25) : 0
  const every = Math.max(1, Math.ceil(LABEL_WIDTH / Math.max(each, 0.01)))
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      {ticks.map(({ value, text }) => (
        <g key={text}>
          <line class="grid" x1={LEFT} x2={width} y1={yOf(value)} y2={yOf(value)} />
          <text x={LEFT - 6} y={yOf(value) + 4} text-anchor="end">
            {text}
          </text>
        </g>
      ))}
      {columns.map(({ time, values }, index) => {
        const x = LEFT + index * each
        let y = HEIGHT - BOTTOM
        return (
          <g key={time} data-time={time}>
            {index === selected ? <rect class="selected" x={x} y={TOP} width={each} height={HEIGHT - BOTTOM - TOP} /> : null}
            {values.map((value, series) => {
              const height = HEIGHT - BOTTOM - yOf(value)
              y -= height
              return <rect key={series} class={`series-${series}`} x={x + gap / 2} y={y} width={Math.max(1, each - gap)} height={height} />
            })}
            {index % every === 0 && x + LABEL_WIDTH * 0.8 < width ? (
              <text x={x + 2} y={HEIGHT - 6}>
                {time.length > 10 ? time.slice(5) : time.slice(5, 10)}
              </text>
            ) : null}
          </g>
        )
      })}
      {line && line.value <= top ? (
        <g class="limit">
          <line x1={LEFT} x2={width} y1={yOf(line.value)} y2={yOf(line.value)} />
          <text x={width - 4} y={yOf(line.value) - 4} text-anchor="end">
            {line.text}
          </text>
        </g>
      ) : null}
    </svg>
  )
}

function Legend({ chart: { series } }: Pick<ChartProps, 'chart'>): JSX.Element | null {
  if (series.length === 1 && series[0]?.key === null) return null
  return (
    <ul class="legend">
      {series.map(({ name }, index) => (
        <li key={name}>
          <svg width="12" height="12" aria-hidden="true">
            <rect class={`series-${index}`} width="12" height="12" />
          </svg>{' '}
          {name}
        </li>
      ))}
    </ul>
  )
}
