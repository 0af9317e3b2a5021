// The last lines of a process's log, the newest at the end. Test: test/e2e/web/process.test.ts.
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { JSX } from 'preact'
import type { LogLine } from '../../src/api/views/process.ts'
import { formatClock } from '../../src/faces/format.ts'
import { callApi } from '../actions.ts'
import { LogText } from '../process/agent-text.tsx'
import { useLive } from '../live.ts'
import { daemonNow } from './clock.tsx'

const TAIL = 1_000
/** this near to its end, the list follows new lines, in pixels */
const NEAR_PX = 40

export function Logs({ uuid }: { readonly uuid: string }): JSX.Element {
  const { value, error } = useLive(
    uuid,
    'logs',
    async () => (await callApi<{ lines: LogLine[] }>(`/v1/processes/${uuid}/logs?tail=${TAIL}`)).lines,
  )
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight
  }, [value.value])
  if (error.value !== null) return <p class="problem">{error.value}</p>
  if (value.value === null) return <p class="quiet">The log is being read.</p>
  return (
    <div
      ref={box}
      class="logs"
      role="log"
      aria-label="Log"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) =>
        (isAtEnd.current = scrollTop + clientHeight > scrollHeight - NEAR_PX)
      }
    >
      {value.value.map(({ at, stream, text }, index) => (
        <div key={index} class={`log ${stream}`}>
          <span class="quiet number">{formatClock(at, daemonNow())}</span>
          <span class="stream quiet">{stream}</span>
          <LogText text={text} />
        </div>
      ))}
      {value.value.length === 0 ? <p class="quiet">Nothing was written yet.</p> : null}
    </div>
  )
}
