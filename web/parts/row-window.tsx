// A list of rows of one height that draws only the visible ones, for lists of any length. Test: test/e2e/web/fleet.test.ts.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { HTMLAttributes, JSX } from 'preact'

/** the rows above and below the visible ones that are drawn, too */
const OVERSCAN = 6

export interface RowWindowProps {
  readonly count: number
  readonly rowHeight: number
  /** draws row `index` at `top`, in pixels */
  readonly draw: (index: number, top: number) => JSX.Element
  /** the row that must be visible; null: none */
  readonly selected: number | null
  readonly class: string
  readonly attributes?: HTMLAttributes<HTMLDivElement>
}

export function RowWindow({ count, rowHeight, draw, selected, class: name, attributes = {} }: RowWindowProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight })
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
  const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN)
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN)
  return (
    <div ref={box} class={name} {...attributes}>
      <div class="window" style={{ height: `${count * rowHeight}px` }} role="presentation">
        {Array.from({ length: Math.max(0, last - first) }, (_, i) => draw(first + i, (first + i) * rowHeight))}
      </div>
    </div>
  )
}
