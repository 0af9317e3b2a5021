// Some lines of a log, which the browser lays out only while they are near to what is visible. Test: test/e2e/web/process/logs.test.ts.
import { untracked } from '@preact/signals'
import type { JSX } from 'preact'
import type { LogLine } from '../../src/api/views/process.ts'
import { formatClock } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { LogText } from './agent-text.tsx'
import { daemonNow } from '../parts/clock.tsx'

export const CHUNK_LINES = 100

export interface ChunkProps {
  /** the number of the first line */
  readonly from: number
  readonly lines: readonly LogLine[]
  readonly find: RegExp | null
  /** the number of the line at which the search is, if it is here */
  readonly current: number | null
}

export function LogChunk({ from, lines, find, current }: ChunkProps): JSX.Element {
  // The lines are not drawn again each second.
  const today = untracked(daemonNow)
  return (
    <div class="log-chunk">
      {lines.map((line, index) => (
        <Line key={from + index} line={line} today={today} find={find} isCurrent={from + index === current} />
      ))}
    </div>
  )
}

interface LineProps {
  readonly line: LogLine
  readonly today: number
  readonly find: RegExp | null
  readonly isCurrent: boolean
}

function Line({ line: { at, stream, text, uuid, pid, name }, today, find, isCurrent }: LineProps): JSX.Element {
  const kind = `log ${stream}${uuid === undefined ? '' : ' of-tree'}${isCurrent ? ' current' : ''}`
  return (
    <div class={kind} data-uuid={uuid}>
      <span class="quiet number">{formatClock(at, today)}</span>
      {uuid === undefined ? null : <span class="name">{name ? visibleText(name) : pid}</span>}
      <span class="stream quiet">{stream}</span>
      <LogText text={text} find={find} />
    </div>
  )
}
