// The sweeper clears the leftovers of removed processes: no request to sweep is lost, whenever it comes.
import { describe, expect, test } from 'vitest'
import { Sweeper } from '../../../../src/daemon/operations/removals.ts'

describe('a request to sweep', () => {
  test.each(Array.from({ length: 12 }, (_, turns) => [turns]))('that comes %i microtasks after another one is done', async (turns) => {
    let swept = 0
    const sweep = async (): Promise<boolean> => {
      swept += 1
      return false
    }
    const sweeper = new Sweeper({ sweep }, () => undefined)
    sweeper.sweep()
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
    const before = swept
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    expect(swept).toBeGreaterThan(turns === 0 ? 0 : before)
  })

  test('that fails is logged, and the next request is performed', async () => {
    const failures: unknown[] = []
    let swept = 0
    const sweep = (): Promise<boolean> => (++swept === 1 ? Promise.reject(new Error('disk')) : Promise.resolve(false))
    const sweeper = new Sweeper({ sweep }, (_, error) => failures.push(error))
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    expect([swept, failures.length]).toEqual([2, 1])
  })
})
