// The restarts of a child within the window of its supervisor: where they lie in it, and what one more failure would do. Also what a
// supervisor has done, from its events. Pure.
// Test: test/tables/faces/restart-window.test.ts.
import type { SupervisedView, SupervisorView } from '../api/views/process.ts'
import type { EventView } from '../api/views/daemon.ts'
import { formatCount, formatDuration, formatElapsed } from './format.ts'

export interface RestartWindow {
  /** the places of the restarts in the window, which ends now: 0 to 1 */
  readonly marks: readonly number[]
  /** the restarts in the window and the limit: `2 of 5` */
  readonly text: string
  /** true: with one more failure the supervisor gives up */
  readonly isFull: boolean
}

type Policy = Pick<SupervisorView, 'maxRestarts' | 'windowMs'>

/** Returns the restarts that are still in the window. `now`: wall ms of the daemon. */
export function restartWindow({ restartedAt }: Pick<SupervisedView, 'restartedAt'>, policy: Policy, now: number): RestartWindow {
  const { maxRestarts, windowMs } = policy
  const times = restartedAt.map((at) => Date.parse(at)).filter((at) => at > now - windowMs)
  return {
    marks: times.map((at) => Math.min(1, (at - now + windowMs) / windowMs)),
    text: `${times.length} of ${maxRestarts}`,
    isFull: times.length >= maxRestarts,
  }
}

/**
 * A text for each child whose window is full of restarts, so that its next failure makes the supervisor give up. It names the time until
 * the window has room again.
 */
export function giveUpTexts(children: readonly Pick<SupervisedView, 'id' | 'restartedAt'>[], policy: Policy, now: number): string[] {
  return children.flatMap((child) => {
    const { isFull } = restartWindow(child, policy, now)
    // The window is full until this restart leaves it: with it, exactly `maxRestarts` restarts are in the window.
    const oldest = child.restartedAt.at(-Math.max(1, policy.maxRestarts))
    if (!isFull || oldest === undefined) return []
    return [`one more failure of ${child.id} within ${formatElapsed(Date.parse(oldest) + policy.windowMs - now)}: the supervisor gives up`]
  })
}

/** The policy as a sentence, without its strategy. */
export function policyText({ maxRestarts, windowMs, backoff }: Pick<SupervisorView, 'maxRestarts' | 'windowMs' | 'backoff'>): string {
  return `at most ${formatCount(maxRestarts, 'restart')} of a child in ${formatElapsed(windowMs)} · waits ${formatDuration(backoff.initialMs)} to ${formatDuration(backoff.maxMs)} before each`
}

/** The events of a supervisor that its history is made of. */
export const HISTORY_EVENTS = ['supervisor.restarting', 'supervisor.held', 'supervisor.escalated'] as const

/** A restart of a child, or a failure after which the supervisor does not restart it. */
export interface SupervisorEvent {
  readonly seq: number
  readonly at: string
  /** the child */
  readonly id: string
  readonly kind: 'restarted' | 'held' | 'gave up'
  /** why the child had failed; null: not known */
  readonly cause: string | null
  /** what else is known, in a few words */
  readonly text: string
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** The history of a supervisor, the newest first. Events of other types are left out. */
export function supervisorHistory(events: readonly EventView[]): SupervisorEvent[] {
  return events
    .flatMap((event): SupervisorEvent[] => {
      const { seq, at, type } = event
      const [id, cause] = [textOf(event['id']) ?? '', textOf(event['cause'])]
      switch (type) {
        case 'supervisor.restarting':
          return [{ seq, at, id, kind: 'restarted', cause, text: restartText(event) }]
        case 'supervisor.held':
          return [{ seq, at, id, kind: 'held', cause, text: 'it would fail again' }]
        case 'supervisor.escalated':
          return [{ seq, at, id, kind: 'gave up', cause, text: `it failed ${String(event['times'])} times` }]
        default:
          return []
      }
    })
    .toReversed()
}

/** The wait before a restart, and how many others were restarted with the child. */
function restartText({ delayMs, group }: EventView): string {
  const others = Array.isArray(group) ? group.length : 0
  return [
    ...(typeof delayMs === 'number' ? [`after ${formatDuration(delayMs)}`] : []),
    ...(others > 0 ? [`with ${formatCount(others, 'other')}`] : []),
  ].join(', ')
}
