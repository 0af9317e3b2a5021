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

test('a timer expires once, also if the agent is frozen and thawed afterwards', async () => {
  const timers = new FreezableTimers()
  let times = 0
  await new Promise<void>((resolve) => {
    timers.start(0, () => {
      times += 1
      resolve()
    })
  })
  timers.setFrozen(true)
  timers.setFrozen(false)
  // Timers of the same length expire in the order of their starts.
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(times).toBe(1)
})
