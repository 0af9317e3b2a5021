// The alarm on a manual clock: each key rings once, at its time, and one timer serves all keys. That holds also if a clock jumps, or
// a ring sets a deadline.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Alarm, WALL_CHECK_MS } from '../../../../src/daemon/loop/alarm.ts'
import { ManualClock } from '../../../support/clock.ts'
import { deep } from '../../../support/deep.ts'

const CLOCKS = ['mono', 'wall'] as const
type ClockName = (typeof CLOCKS)[number]

interface TestAlarm {
  readonly clock: ManualClock
  readonly alarm: Alarm
  /** each ring with its time, in ms since the start */
  readonly rung: string[]
  /** sets a deadline `ms` from now, or clears it */
  set(key: string, ms: number | null): void
}

function startAlarm(clockName: ClockName, onRing: (key: string, testAlarm: TestAlarm) => void = () => undefined): TestAlarm {
  const clock = new ManualClock()
  const start = clock.now()[clockName]
  const rung: string[] = []
  const alarm = new Alarm(clock, clockName, (key) => {
    rung.push(`${key} ${clock.now()[clockName] - start}`)
    onRing(key, testAlarm)
  })
  const testAlarm: TestAlarm = { clock, alarm, rung, set: (key, ms) => alarm.set(key, ms === null ? null : clock.now()[clockName] + ms) }
  return testAlarm
}

type Step = readonly ['set', string, number | null] | readonly ['wind', number]
const CASES: readonly { readonly what: string; readonly steps: readonly Step[]; readonly rung: readonly string[] }[] = [
  { what: 'nothing rings without a deadline', steps: [['wind', 100_000]], rung: [] },
  {
    what: 'a key does not ring before its time',
    steps: [
      ['set', 'a', 10],
      ['wind', 9],
    ],
    rung: [],
  },
  {
    what: 'keys ring in order of time, once',
    steps: [
      ['set', 'late', 30],
      ['set', 'soon', 10],
      ['set', 'same', 10],
      ['wind', 100],
    ],
    rung: ['soon 10', 'same 10', 'late 30'],
  },
  {
    what: 'a later deadline replaces an earlier one',
    steps: [
      ['set', 'a', 10],
      ['set', 'a', 20],
      ['wind', 100],
    ],
    rung: ['a 20'],
  },
  {
    what: 'an earlier deadline replaces a later one',
    steps: [
      ['set', 'a', 20],
      ['set', 'a', 10],
      ['wind', 100],
    ],
    rung: ['a 10'],
  },
  {
    what: 'a cleared key does not ring, and the next one does',
    steps: [
      ['set', 'a', 10],
      ['set', 'b', 20],
      ['set', 'a', null],
      ['wind', 100],
    ],
    rung: ['b 20'],
  },
  {
    what: 'a passed deadline rings at once, in a later turn',
    steps: [
      ['set', 'a', -5],
      ['wind', 0],
    ],
    rung: ['a 0'],
  },
  {
    what: 'a key that has rung can be set again',
    steps: [
      ['set', 'a', 10],
      ['wind', 10],
      ['set', 'a', 10],
      ['wind', 10],
    ],
    rung: ['a 10', 'a 20'],
  },
  {
    what: 'a deadline beyond the wall check rings at its time',
    steps: [
      ['set', 'a', 3 * WALL_CHECK_MS + 7],
      ['wind', 10 * WALL_CHECK_MS],
    ],
    rung: [`a ${3 * WALL_CHECK_MS + 7}`],
  },
]

describe.each(CLOCKS)('on the %s clock', (clockName) => {
  test.each(CASES)('$what', ({ steps, rung }) => {
    const { clock, set, ...testAlarm } = startAlarm(clockName)
    for (const step of steps) {
      if (step[0] === 'wind') clock.wind(step[1])
      else set(step[1], step[2])
      expect(clock.timers).toBeLessThanOrEqual(1)
    }
    expect(testAlarm.rung).toEqual(rung)
  })

  test('a ring may set its own key, clear another one, or stop the alarm', () => {
    const { clock, set, rung } = startAlarm(clockName, (key, testAlarm) => {
      if (key === 'again') testAlarm.set('again', 10)
      if (key === 'clears') testAlarm.set('cleared', null)
      if (key === 'moves') testAlarm.set('moved', 5)
      if (key === 'stops') testAlarm.alarm.stop()
    })
    for (const key of ['again', 'clears', 'cleared', 'moves', 'moved']) set(key, 10)
    set('stops', 35)
    clock.wind(1_000)
    expect(rung).toEqual(['again 10', 'clears 10', 'moves 10', 'moved 15', 'again 20', 'again 30', 'stops 35'])
    expect(clock.timers).toBe(0)
  })

  test('a stopped alarm rings no key and keeps no timer', () => {
    const { clock, alarm, set, rung } = startAlarm(clockName)
    set('a', 10)
    set('b', 20)
    alarm.stop()
    expect(clock.timers).toBe(0)
    clock.wind(100)
    expect(rung).toEqual([])
  })
})

test('a jump of the wall clock moves no monotonic deadline', () => {
  const { clock, set, rung } = startAlarm('mono')
  set('a', 10)
  clock.jump(3_600_000)
  clock.wind(9)
  expect(rung).toEqual([])
  clock.wind(1)
  expect(rung).toEqual(['a 10'])
})

test('a wall clock that jumps past a deadline rings it within the check interval', () => {
  const { clock, set, rung } = startAlarm('wall')
  set('a', 3_600_000)
  clock.jump(7_200_000)
  clock.wind(WALL_CHECK_MS - 1)
  expect(rung).toEqual([])
  clock.wind(1)
  expect(rung).toEqual([`a ${7_200_000 + WALL_CHECK_MS}`])
})

test('a wall clock that is set back delays a deadline', () => {
  const { clock, set, rung } = startAlarm('wall')
  set('a', 100)
  clock.jump(-3_600_000)
  clock.wind(3_600_000)
  expect(rung).toEqual([])
  clock.wind(100)
  expect(rung).toEqual(['a 100'])
})

/** The reference: the same deadlines without a timer, checked at each relevant millisecond. */
class SimpleAlarm {
  readonly #deadlines = new Map<string, number>()
  readonly rung: string[] = []

  set(key: string, at: number | null): void {
    if (at === null) this.#deadlines.delete(key)
    else this.#deadlines.set(key, at)
  }

  /** Rings all keys whose deadline passes until `end`, each at its time. */
  windTo(from: number, end: number): void {
    for (;;) {
      const nextDeadline = [...this.#deadlines].filter(([, at]) => at <= end).toSorted(([, a], [, b]) => a - b)[0]
      if (!nextDeadline) return
      this.#deadlines.delete(nextDeadline[0])
      this.rung.push(`${nextDeadline[0]} ${Math.max(from, nextDeadline[1])}`)
    }
  }

  /** Keys whose deadline has passed by `at`. */
  passedBy(at: number): readonly string[] {
    return [...this.#deadlines].filter(([, deadline]) => deadline <= at).map(([key]) => key)
  }
}

const KEYS = fc.constantFrom('a', 'b', 'c', 'd')
const MS = fc.integer({ min: -20, max: 200 })
const setOrClear = fc.tuple(fc.constant('set' as const), KEYS, fc.option(MS, { freq: 4 }))
const windStep = fc.tuple(fc.constant('wind' as const), fc.nat({ max: 150 }))

describe('properties', () => {
  test.each(CLOCKS)('on the %s clock, keys ring as in a simple model without timers', (clockName) => {
    fc.assert(
      fc.property(fc.array(fc.oneof(setOrClear, windStep), { maxLength: 40 }), (steps) => {
        const { clock, set, rung } = startAlarm(clockName)
        const model = new SimpleAlarm()
        const start = clock.now().mono
        for (const step of steps) {
          const elapsedMs = clock.now().mono - start
          if (step[0] === 'set') {
            set(step[1], step[2])
            model.set(step[1], step[2] === null ? null : elapsedMs + step[2])
          } else {
            clock.wind(step[1])
            model.windTo(elapsedMs, elapsedMs + step[1])
          }
          expect(clock.timers).toBeLessThanOrEqual(1)
          // Keys that ring in the same millisecond may come in any order.
          expect(rung.toSorted()).toEqual(model.rung.toSorted())
        }
      }),
      { numRuns: deep(300, 20_000) },
    )
  })

  test('while the wall clock jumps, no key rings early, and none later than the check interval', () => {
    const jump = fc.tuple(fc.constant('jump' as const), fc.integer({ min: -300_000, max: 300_000 }))
    const longWind = fc.tuple(fc.constant('wind' as const), fc.nat({ max: 3 * WALL_CHECK_MS }))
    const longSet = fc.tuple(fc.constant('set' as const), KEYS, fc.option(fc.integer({ min: 0, max: 600_000 }), { freq: 4 }))
    fc.assert(
      fc.property(fc.array(fc.oneof(longSet, longWind, jump), { maxLength: 40 }), (steps) => {
        const model = new SimpleAlarm()
        const { clock, set } = startAlarm('wall', (key, { clock }) => {
          expect(model.passedBy(clock.now().wall)).toContain(key)
          model.set(key, null)
        })
        for (const step of steps) {
          const { wall } = clock.now()
          if (step[0] === 'set') {
            set(step[1], step[2])
            model.set(step[1], step[2] === null ? null : wall + step[2])
          } else if (step[0] === 'jump') clock.jump(step[1])
          else {
            clock.wind(step[1])
            if (step[1] >= WALL_CHECK_MS) expect(model.passedBy(wall + step[1] - WALL_CHECK_MS)).toEqual([])
          }
        }
      }),
      { numRuns: deep(300, 20_000) },
    )
  })
})
