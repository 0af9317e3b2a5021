// The lifecycle of an incarnation: created → running → zombie → dead. Has the table of states × events, which `transition` applies. An
// event that the table does not allow is an error. A resume is not a transition: it begins a new incarnation with `newLife`.
// Test: test/tables/kernel/state/lifecycle.test.ts.
import { KernelError } from '../model/errors.ts'
import type { ExitStatus, Life } from '../model/process.ts'

export type StateName = Life['state']

export type LifeEvent =
  | { readonly type: 'start'; readonly attached: boolean }
  | { readonly type: 'terminate'; readonly exit: ExitStatus }
  | { readonly type: 'reap' }

type LifeOf<S extends StateName> = Extract<Life, { state: S }>
type EventOf<E extends LifeEvent['type']> = Extract<LifeEvent, { type: E }>
type Cell<S extends StateName, E extends LifeEvent['type']> = 'illegal' | ((life: LifeOf<S>, event: EventOf<E>) => Life)

export const LIFECYCLE: { readonly [S in StateName]: { readonly [E in LifeEvent['type']]: Cell<S, E> } } = {
  created: { start: (_, { attached }) => begin(attached), terminate: 'illegal', reap: 'illegal' },
  running: { start: 'illegal', terminate: (_, { exit }) => ({ state: 'zombie', exit }), reap: 'illegal' },
  zombie: { start: 'illegal', terminate: 'illegal', reap: ({ exit }) => ({ state: 'dead', exit }) },
  dead: { start: 'illegal', terminate: 'illegal', reap: 'illegal' },
}

/** The first running state. Without a driver (`attached` is false) nothing is in flight, so the incarnation is already drained. */
function begin(attached: boolean): Life {
  return { state: 'running', activity: 'starting', holds: [], stopping: null, drained: !attached, midway: false, attached }
}

/** The first state of a new incarnation. */
export function newLife(): Life {
  return { state: 'created' }
}

/** The state after an event. Errors: INTERNAL if the table does not allow it. */
export function transition(life: Life, event: LifeEvent): Life {
  const cell = LIFECYCLE[life.state][event.type] as 'illegal' | ((life: Life, event: LifeEvent) => Life)
  if (cell === 'illegal') throw new KernelError('INTERNAL', `no transition from ${life.state} by ${event.type}`)
  return cell(life, event)
}
