// Jobs with the same key run one at a time and in order. A failed job does not stop the next one.
import { expect, test } from 'vitest'
import { KeyedQueue } from '../../../../src/daemon/loop/keyed-queue.ts'

test('a job waits for the earlier jobs with its key, and not for jobs with other keys', async () => {
  const queue = new KeyedQueue()
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const runJob = (key: string, name: string, wait = Promise.resolve()): Promise<string> =>
    queue.run(key, async () => {
      order.push(`${name} begins`)
      await wait
      order.push(`${name} ends`)
      if (name === 'two') throw new Error('no')
      return name
    })
  const jobs = [runJob('a', 'one', first.promise), runJob('a', 'two'), runJob('a', 'three')]
  expect([await runJob('b', 'other'), order]).toEqual(['other', ['one begins', 'other begins', 'other ends']])
  first.resolve()
  expect((await Promise.allSettled(jobs)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(order.slice(3)).toEqual(['one ends', 'two begins', 'two ends', 'three begins', 'three ends'])
  expect(await runJob('a', 'late')).toBe('late')
})

test('`waitUntilSettled` waits until the queued jobs have succeeded or failed, and does not wait for later jobs', async () => {
  const queue = new KeyedQueue()
  const order: string[] = []
  const [first, later] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await queue.waitUntilSettled('a')
  const failing = queue.run('a', async () => {
    await first.promise
    order.push('first')
    throw new Error('no')
  })
  const settled = queue.waitUntilSettled('a').then(() => order.push('settled'))
  const last = queue.run('a', async () => {
    await later.promise
    order.push('later')
  })
  await queue.waitUntilSettled('b')
  expect(order).toEqual([])
  first.resolve()
  await expect(failing).rejects.toThrow('no')
  await settled
  expect(order).toEqual(['first', 'settled'])
  later.resolve()
  await last
  expect(order).toEqual(['first', 'settled', 'later'])
})
