// Work that the store writes between two commits: never during one, with the current counters. A failure of it stops no other work.
import { expect, test } from 'vitest'
import { Pipeline } from '../../../../src/daemon/loop/pipeline.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { ManualClock } from '../../../support/clock.ts'
import { FaultyStore } from '../../../support/kernel/faulty-store.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'
import { testStore } from '../../../support/store/open.ts'

async function place() {
  const at = await testStore()
  const store = new FaultyStore(at.store)
  const table = new Table(100)
  const pipeline: Pipeline = new Pipeline({
    table,
    store,
    clock: new ManualClock(),
    cursor: 0,
    publish: () => {},
    defer: () => false,
    log: () => {},
    perform: (effect) => {
      if (effect.type === 'reply' || effect.type === 'refuse') pipeline.answer(effect)
    },
  })
  const spawn = (number: number) => pipeline.request({ type: 'spawn', by: 'user', uuid: uuidOf(number), spec: specOf(), parent: null })
  return { at, store, table, pipeline, spawn, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

test('work between commits waits for the commit in flight, and the next commit waits for the work', async () => {
  await using here = await place()
  const order: string[] = []
  here.store.holdCommits()
  const first = here.spawn(1).then(() => order.push('first'))
  while (here.store.attempts === 0) await new Promise(setImmediate)
  const piece = here.pipeline
    .runBetweenCommits(async ({ cursor, pid }) => {
      order.push(`piece at ${cursor}, PID ${pid}`)
      return { cursor: cursor + 10, pid: 41 }
    })
    .then(() => order.push('piece is over'))
  const second = here.spawn(2).then(() => order.push('second'))
  here.store.releaseCommits()
  await Promise.all([first, piece, second])
  const cursor = here.store.commits[0]?.facts.length ?? 0
  expect(order.slice(1)).toEqual([`piece at ${cursor}, PID 1`, 'piece is over', 'second'])
  expect(here.store.commits[1]?.facts[0]?.cursor).toBe(cursor + 11)
  // The next process does not get a PID of the imported one.
  expect([here.table.get(uuidOf(2))?.pid, here.table.get(uuidOf(1))?.pid]).toEqual([42, 1])
})

test('work that fails changes no counter, and stops neither commits nor other work', async () => {
  await using here = await place()
  await here.spawn(1)
  const { cursor } = here.pipeline
  await expect(
    here.pipeline.runBetweenCommits(async () => {
      throw new KernelError('DISK_FULL', 'no room')
    }),
  ).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(here.pipeline.cursor).toBe(cursor)
  await here.spawn(2)
  expect(here.table.get(uuidOf(2))?.pid).toBe(2)
  await here.pipeline.close()
  await expect(here.pipeline.runBetweenCommits(async (counters) => counters)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
