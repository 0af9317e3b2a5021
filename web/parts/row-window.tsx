// A list of rows of one height that draws only the visible ones, for lists of any length. Test: test/e2e/web/fleet.test.ts.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { HTMLAttributes, JSX } from 'preact'
import { slotOf } from './row-slots.ts'

/** the default of `overscan` */
const OVERSCAN = 6

/** a list that is scrolled this near to its end follows new rows, in pixels */
const NEAR_PX = 24

export interface RowWindowProps {
  readonly count: number
  readonly rowHeight: number
  /** draws row `index` at `top`, in pixels. `slot`: a key that is unique among the drawn rows, and is used again */
  readonly draw: (index: number, top: number, slot: number) => JSX.Element
  /** the row that must be visible; null: none */
  readonly selected: number | null
  readonly class: string
  /** the number of rows that are drawn above the visible ones, and below them */
  readonly overscan?: number
  /** the height of all rows in pixels, if the last one is lower than the others */
  readonly height?: number
  /** an ascending number for each row. With it, a list at its end follows new rows, and elsewhere keeps its place when its first rows go */
  readonly keyOf?: (index: number) => number
  readonly attributes?: HTMLAttributes<HTMLDivElement>
}

export function RowWindow(props: RowWindowProps): JSX.Element {
  const { count, rowHeight, draw, selected, keyOf, overscan = OVERSCAN, height = count * rowHeight, attributes = {} } = props
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  /** where the list was scrolled: at its end, or with which row at the top */
  const place = useRef({ isAtEnd: true, key: -1 })
  const keyAt = useRef((index: number): number => index)
  keyAt.current = (index) => keyOf?.(index) ?? index
  // This effect must come before the one that measures the list, because it needs the place from before the change of the rows.
  useLayoutEffect(() => {
    const element = box.current
    if (!element || !keyOf) return
    const top = Math.floor(element.scrollTop / rowHeight)
    if (place.current.isAtEnd) element.scrollTop = element.scrollHeight
    else if (keyOf(top) > place.current.key) element.scrollTop -= rowHeight * (top - indexOfKey(keyOf, top, place.current.key))
  }, [count === 0 ? null : keyAt.current(count - 1), view.height])
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const measure = (): void => {
      place.current.isAtEnd = element.scrollTop + element.clientHeight > element.scrollHeight - NEAR_PX
      place.current.key = keyAt.current(Math.floor(element.scrollTop / rowHeight))
      setView({ top: element.scrollTop, height: element.clientHeight })
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])
  useLayoutEffect(() => {
    const element = box.current
    if (!element || selected === null) return
    const top = selected * rowHeight
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + rowHeight - element.clientHeight
    // A list that has become shorter must still show its selected row.
  }, [selected, rowHeight, view.height])
  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan)
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscan)
  return (
    <div ref={box} class={props.class} {...attributes}>
      <div class="window" style={{ height: `${height}px` }} role="presentation">
        {Array.from({ length: Math.max(0, last - first) }, (_, i) =>
          draw(first + i, (first + i) * rowHeight, slotOf(first + i, last - first)),
        )}
      </div>
    </div>
  )
}

/** The last row up to `from` whose key is at most `key`. */
function indexOfKey(keyOf: (index: number) => number, from: number, key: number): number {
  let index = from
  while (index > 0 && keyOf(index) > key) index -= 1
  return index
}
