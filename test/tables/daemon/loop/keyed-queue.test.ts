// Jobs with the same key run one at a time and in order. A failed job does not stop the next one.
import { expect, test } from 'vitest'
import { KeyedQueue } from '../../../../src/daemon/loop/keyed-queue.ts'

test('a job waits for earlier jobs of its key, and not for those of other keys', async () => {
  const queue = new KeyedQueue()
  const order: string[] = []
  const firstJob = Promise.withResolvers<void>()
  const runVisit = (key: string, name: string, wait = Promise.resolve()): Promise<string> =>
    queue.run(key, async () => {
      order.push(`${name} in`)
      await wait
      order.push(`${name} out`)
      if (name === 'two') throw new Error('no')
      return name
    })
  const visits = [runVisit('a', 'one', firstJob.promise), runVisit('a', 'two'), runVisit('a', 'three')]
  expect([await runVisit('b', 'other'), order]).toEqual(['other', ['one in', 'other in', 'other out']])
  firstJob.resolve()
  expect((await Promise.allSettled(visits)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(order.slice(3)).toEqual(['one out', 'two in', 'two out', 'three in', 'three out'])
  expect(await runVisit('a', 'late')).toBe('late')
})

test('`waitUntilSettled` waits until the queued jobs have succeeded or failed, and does not wait for later jobs', async () => {
  const queue = new KeyedQueue()
  const order: string[] = []
  const [firstJob, later] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await queue.waitUntilSettled('a')
  const failingJob = queue.run('a', async () => {
    await firstJob.promise
    order.push('first')
    throw new Error('no')
  })
  const settled = queue.waitUntilSettled('a').then(() => order.push('settled'))
  const lastJob = queue.run('a', async () => {
    await later.promise
    order.push('later')
  })
  await queue.waitUntilSettled('b')
  expect(order).toEqual([])
  firstJob.resolve()
  await expect(failingJob).rejects.toThrow('no')
  await settled
  expect(order).toEqual(['first', 'settled'])
  later.resolve()
  await lastJob
  expect(order).toEqual(['first', 'settled', 'later'])
})
