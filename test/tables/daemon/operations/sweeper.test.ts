// The sweeper clears the leftovers of removed processes: no request to sweep is lost, whenever it comes.
import { describe, expect, test } from 'vitest'
import { Sweeper } from '../../../../src/daemon/operations/removals.ts'

describe('a request to sweep', () => {
  test.each(Array.from({ length: 12 }, (_, turns) => [turns]))('that comes %i microtasks after another one is done', async (turns) => {
    let sweepCount = 0
    const sweepPiece = async (): Promise<boolean> => {
      sweepCount += 1
      return false
    }
    const sweeper = new Sweeper({ sweep: sweepPiece }, () => undefined)
    sweeper.sweep()
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
    const countBefore = sweepCount
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    expect(sweepCount).toBeGreaterThan(turns === 0 ? 0 : countBefore)
  })

  test('that fails is logged, and the next request is performed', async () => {
    const failures: unknown[] = []
    let sweepCount = 0
    const sweepPiece = (): Promise<boolean> => (++sweepCount === 1 ? Promise.reject(new Error('disk')) : Promise.resolve(false))
    const sweeper = new Sweeper({ sweep: sweepPiece }, (_, error) => failures.push(error))
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    expect([sweepCount, failures.length]).toEqual([2, 1])
  })
})
