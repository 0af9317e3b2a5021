// Every cell of the lifecycle: four states, three events, three transitions, and INTERNAL for the rest.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { LIFECYCLE, newLife, transition } from '../../../../src/kernel/state/lifecycle.ts'
import type { LifeEvent, StateName } from '../../../../src/kernel/state/lifecycle.ts'
import type { ExitStatus, Life } from '../../../../src/kernel/model/process.ts'

const FIRST: ExitStatus = { code: 143, reason: 'SIGTERM from user', signal: 'SIGTERM', cause: 'person' }
const LATER: ExitStatus = { code: 0, reason: 'completed', cause: 'agent' }

const LIVES: { readonly [S in StateName]: Extract<Life, { state: S }> } = {
  created: { state: 'created' },
  running: {
    state: 'running',
    activity: 'working',
    holds: [{ reason: 'user', by: 'user', at: 1 }],
    stopping: null,
    drained: false,
    midway: false,
    attached: true,
  },
  zombie: { state: 'zombie', exit: FIRST },
  dead: { state: 'dead', exit: FIRST },
}

const EVENTS: { readonly [E in LifeEvent['type']]: Extract<LifeEvent, { type: E }> } = {
  start: { type: 'start', attached: true },
  terminate: { type: 'terminate', exit: LATER },
  reap: { type: 'reap' },
}

const STATES = ['created', 'running', 'zombie', 'dead'] as const
const NAMES = ['start', 'terminate', 'reap'] as const
const LEGAL: Readonly<Record<string, Life>> = {
  'created start': { state: 'running', activity: 'starting', holds: [], stopping: null, drained: false, midway: false, attached: true },
  'running terminate': { state: 'zombie', exit: LATER },
  'zombie reap': { state: 'dead', exit: FIRST },
}

describe('the transition from', () => {
  test.each(STATES.flatMap((state) => NAMES.map((event) => [state, event] as const)))('%s by %s', (state, event) => {
    const legal = LEGAL[`${state} ${event}`]
    if (legal) expect(transition(LIVES[state], EVENTS[event])).toEqual(legal)
    else {
      expect(LIFECYCLE[state][event]).toBe('illegal')
      const performTransition = (): Life => transition(LIVES[state], EVENTS[event])
      expect(performTransition).toThrow(KernelError)
      expect(performTransition).toThrow(expect.objectContaining({ code: 'INTERNAL', message: `no transition from ${state} by ${event}` }))
    }
  })

  test('a start without a driver has nothing in flight', () => {
    expect(transition(newLife(), { type: 'start', attached: false })).toMatchObject({ attached: false, drained: true })
  })

  test('an incarnation begins at created', () => {
    expect(newLife()).toEqual({ state: 'created' })
  })
})
