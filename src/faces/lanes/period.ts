// What happened in a period, from the spans of processes: a lane for each, and a list of events. Also how the cost grew. Pure.
// Test: test/tables/faces/lanes/period.test.ts.
import type { ProcessSpansView, SpanView } from '../../api/views/spans.ts'
import { nameOf } from '../process-names.ts'

/** What a process did in a part of its lane. */
export type LaneWord = 'worked' | 'waited for you' | 'was held' | 'was ready' | 'had ended'

export interface LanePart {
  readonly word: LaneWord
  /** where the part begins and ends, as shares of the period: 0 to 1 */
  readonly from: number
  readonly to: number
  readonly text: string
}

export interface ProcessLane {
  readonly uuid: string
  readonly name: string
  readonly depth: number
  readonly parts: readonly LanePart[]
  /** the total time in which it worked, and waited for the user, in ms */
  readonly workedMs: number
  readonly waitedMs: number
}

export interface PeriodEvent {
  readonly at: string
  readonly uuid: string
  readonly name: string
  readonly kind: 'completed' | 'failed' | 'interrupted' | 'stopped' | 'held' | 'asked' | 'continued'
  readonly text: string
  /** whether it is the last question of its process in the period: only this one can still be open */
  readonly isLastAsk: boolean
}

export interface PeriodActivity {
  readonly lanes: readonly ProcessLane[]
  /** the newest first */
  readonly events: readonly PeriodEvent[]
}

type Spans = Pick<ProcessSpansView, 'uuid' | 'pid' | 'parentUuid' | 'name' | 'spans'>

/**
 * Returns a lane for each process that had not ended for the whole period, and the events of all. `processes`: parents before their
 * children. `from`, `to`: wall ms.
 */
export function activityIn(processes: readonly Spans[], from: number, to: number): PeriodActivity {
  const depths = new Map<string, number>()
  for (const { uuid, parentUuid } of processes) depths.set(uuid, parentUuid === null ? 0 : (depths.get(parentUuid) ?? -1) + 1)
  const lanes = processes.map((process): ProcessLane => {
    const parts = process.spans.flatMap((span) => partOf(span, from, to) ?? [])
    const sum = (word: LaneWord): number =>
      parts.filter((part) => part.word === word).reduce((all, part) => all + part.to - part.from, 0) * (to - from)
    return {
      uuid: process.uuid,
      name: nameOf(process),
      depth: depths.get(process.uuid) ?? 0,
      parts,
      workedMs: sum('worked'),
      waitedMs: sum('waited for you'),
    }
  })
  const events = processes.flatMap((process) => eventsOf(process, from, to))
  return {
    lanes: lanes.filter(({ parts }) => parts.some(({ word }) => word !== 'had ended')),
    events: events.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)),
  }
}

function wordOf(status: SpanView['status']): LaneWord {
  switch (status) {
    case 'pending':
    case 'starting':
    case 'working':
    case 'stopping':
      return 'worked'
    case 'waiting':
      return 'waited for you'
    case 'suspended':
      return 'was held'
    case 'ready':
      return 'was ready'
    case 'completed':
    case 'failed':
    case 'interrupted':
    case 'stopped':
    case 'zombie':
    case 'retired':
      return 'had ended'
  }
}

/** The words for the recorded causes of holds and of their ends. A cause that is not here is shown as it is. */
const CAUSE_TEXTS: ReadonlyMap<string, string> = new Map([
  ['user', 'paused by user'],
  ['subtree', 'paused with its tree'],
  ['budget', 'a budget is used up'],
  ['rate-limit', 'rate limit'],
  ['loop', 'it repeats the same calls'],
  ['context-full', 'its context is full'],
  ['breaker', 'its tools keep failing'],
  ['disk-full', 'the disk is full'],
  ['credentials', 'waits for a key that works'],
  ['supervisor', 'its supervisor does not start it again'],
  ['daemon-shutdown', 'the daemon was stopped while it worked'],
  ['daemon-crash', 'the daemon was killed while it worked'],
  ['released by system', 'the pause ended by itself'],
  ['released by user', 'resumed by user'],
])

function causeText(cause: string | null): string {
  return CAUSE_TEXTS.get(cause ?? '') ?? cause ?? ''
}

/** The part of a span that lies in the period; null: the span is before or after it. */
function partOf({ from: begin, to: end, status, cause }: SpanView, from: number, to: number): LanePart | null {
  const [first, last] = [Math.max(from, Date.parse(begin)), Math.min(to, end === null ? to : Date.parse(end))]
  if (last <= first) return null
  const word = wordOf(status)
  const share = (at: number): number => (at - from) / (to - from)
  return {
    word,
    from: share(first),
    to: share(last),
    text: cause === null ? word : `${word}: ${status === 'waiting' ? cause : causeText(cause)}`,
  }
}

function eventsOf(process: Spans, from: number, to: number): PeriodEvent[] {
  const events = process.spans.flatMap((span, index) => {
    const at = Date.parse(span.from)
    if (at < from || at > to) return []
    const event = eventOf(span, process.spans[index - 1])
    return event ? [{ at: span.from, uuid: process.uuid, name: nameOf(process), ...event }] : []
  })
  const lastAsk = events.findLastIndex(({ kind }) => kind === 'asked')
  return events.map((event, index) => ({ ...event, isLastAsk: index === lastAsk }))
}

function eventOf({ status, cause: own }: SpanView, before: SpanView | undefined): Pick<PeriodEvent, 'kind' | 'text'> | null {
  // How a program ended may be recorded with its span as `stopping` or `zombie`, before the end itself.
  const cause = own ?? (before?.status === 'zombie' || before?.status === 'stopping' ? before.cause : null)
  switch (status) {
    case 'completed':
    case 'failed':
    case 'interrupted':
    case 'stopped':
      return { kind: status, text: cause ?? '' }
    case 'suspended':
      return { kind: 'held', text: causeText(cause) }
    case 'waiting':
      // After a pause the process asks the same question as before.
      return before?.status === 'suspended' ? { kind: 'continued', text: causeText(cause) } : { kind: 'asked', text: cause ?? '' }
    case 'stopping':
    case 'zombie':
    case 'retired':
      return null
    default:
      return before?.status === 'suspended' || before?.status === 'waiting' ? { kind: 'continued', text: causeText(cause) } : null
  }
}

/** The spending up to a moment of the period. */
export interface SpentPoint {
  /** a share of the period: 0 to 1 */
  readonly at: number
  readonly usd: number
}

const HOUR_MS = 3_600_000

/**
 * Returns how the cost has grown, with a point at the beginning and the end of each hour with a cost. `hours`: rows by hour, named by the
 * clock of the daemon, whose distance from UTC is `offsetMs`. An hour that the period cuts counts as a whole, as in the sum of the report.
 */
export function spentInPeriod(
  hours: readonly { readonly key: string; readonly costUsd: number | null }[],
  offsetMs: number,
  { from, to }: { readonly from: number; readonly to: number },
): SpentPoint[] {
  let usd = 0
  const share = (time: number): number => Math.min(1, Math.max(0, (time - from) / (to - from)))
  const points = hours
    .map(({ key, costUsd }) => ({ begin: Date.parse(`${key.replace(' ', 'T')}Z`) - offsetMs, cost: costUsd ?? 0 }))
    .filter(({ cost }) => cost > 0)
    .toSorted((a, b) => a.begin - b.begin)
    .flatMap(({ begin, cost }): SpentPoint[] => {
      const before = usd
      usd += cost
      return [
        { at: share(begin), usd: before },
        { at: share(begin + HOUR_MS), usd },
      ]
    })
  return points.length === 0 ? [] : [{ at: 0, usd: 0 }, ...points, { at: 1, usd }]
}
