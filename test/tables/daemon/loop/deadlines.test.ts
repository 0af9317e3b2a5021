// One timer for the deadlines of all processes: each is reported once, at its time, and a removed or moved one is not.
import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../../../src/daemon/loop/deadlines.ts'
import { ManualClock } from '../../../support/clock.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'

describe('the timer for all deadlines', () => {
  function watchedDeadlines(): {
    readonly clock: ManualClock
    readonly due: string[]
    readonly deadlines: Deadlines
    watchProcess(uuid: string, timeoutMs: number | null): void
  } {
    const clock = new ManualClock()
    const due: string[] = []
    const deadlines = new Deadlines(clock, (uuid) => due.push(uuid))
    const watchProcess = (uuid: string, timeoutMs: number | null): void => {
      const player = new TranscriptPlayer()
      player.world.mono = clock.now().mono
      player.play(timeoutMs === null ? '.live a' : `.live a timeoutMs=${timeoutMs} warnAt=1`)
      deadlines.update(uuid, player.world.row('a'))
    }
    return { clock, due, deadlines, watchProcess }
  }

  test('reports each once, at its time, whatever the order in which they were set', () => {
    const { clock, due, watchProcess } = watchedDeadlines()
    watchProcess('later', 300)
    watchProcess('soon', 100)
    watchProcess('same', 100)
    clock.wind(99)
    expect(due).toEqual([])
    clock.wind(1)
    expect(due).toEqual(['soon', 'same'])
    clock.wind(1_000)
    expect(due).toEqual(['soon', 'same', 'later'])
    expect(clock.timers).toBe(0)
  })

  test('forgets processes that no longer have a deadline, or have left the table', () => {
    const { clock, due, watchProcess, deadlines } = watchedDeadlines()
    watchProcess('a', 100)
    watchProcess('b', 200)
    watchProcess('c', 300)
    watchProcess('a', null)
    deadlines.update('b', undefined)
    clock.wind(1_000)
    expect(due).toEqual(['c'])
  })

  test('reports a moved deadline only at its new time', () => {
    const { clock, due, watchProcess } = watchedDeadlines()
    watchProcess('a', 100)
    watchProcess('a', 500)
    clock.wind(499)
    expect(due).toEqual([])
    clock.wind(1)
    expect(due).toEqual(['a'])
  })

  test('leaves no timer when stopped', () => {
    const { clock, due, watchProcess, deadlines } = watchedDeadlines()
    watchProcess('a', 100)
    deadlines.stop()
    clock.wind(1_000)
    expect(due).toEqual([])
    expect(clock.timers).toBe(0)
  })
})
