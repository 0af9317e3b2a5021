// Timers that can be frozen: a frozen timer does not advance.
import { expect, test } from 'vitest'
import { FreezableTimers } from '../../../../src/drivers/common/freezable-timers.ts'

test('a time limit does not advance while the agent is frozen', async () => {
  const timers = new FreezableTimers()
  const timeout = Promise.withResolvers<string>()
  const cancel = timers.start(40, () => timeout.resolve('timeout'))
  timers.setFrozen(true)
  const laterTimer = new Promise((resolve) => setTimeout(() => resolve('later'), 120)) // A time limit that advances would expire before this timer.
  expect(await Promise.race([timeout.promise, laterTimer])).toBe('later')
  timers.setFrozen(false)
  expect(await timeout.promise).toBe('timeout')
  cancel()
})
