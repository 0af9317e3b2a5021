// Jobs with the same key run one at a time and in order, also after a failure.
import { expect, test } from 'vitest'
import { KeyedQueue } from '../../../../src/daemon/loop/keyed-queue.ts'

test('a job waits for earlier jobs of its key, and not for those of other keys', async () => {
  const lines = new KeyedQueue()
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const visit = (line: string, name: string, wait = Promise.resolve()): Promise<string> =>
    lines.run(line, async () => {
      order.push(`${name} in`)
      await wait
      order.push(`${name} out`)
      if (name === 'two') throw new Error('no')
      return name
    })
  const visits = [visit('a', 'one', first.promise), visit('a', 'two'), visit('a', 'three')]
  expect([await visit('b', 'other'), order]).toEqual(['other', ['one in', 'other in', 'other out']])
  first.resolve()
  expect((await Promise.allSettled(visits)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(order.slice(3)).toEqual(['one out', 'two in', 'two out', 'three in', 'three out'])
  expect(await visit('a', 'late')).toBe('late')
})

test('`waitUntilSettled` waits for the queued jobs, failed ones included, and for no later job', async () => {
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
