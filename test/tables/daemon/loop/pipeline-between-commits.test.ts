// Work that the store writes between two commits, and that returns the counters after it. A failure of such work stops no other work.
import { expect, test } from 'vitest'
import { Pipeline } from '../../../../src/daemon/loop/pipeline.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { ManualClock } from '../../../support/clock.ts'
import { FaultyStore } from '../../../support/kernel/faulty-store.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'

async function openPipeline() {
  const fixture = await openTestStore()
  const store = new FaultyStore(fixture.store)
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
  const spawnProcess = (number: number) =>
    pipeline.request({ type: 'spawn', by: 'user', uuid: uuidOf(number), spec: specOf(), parent: null })
  return { fixture, store, table, pipeline, spawnProcess, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() }
}

test('work between commits waits for the commit in flight, and the next commit waits for the work', async () => {
  await using opened = await openPipeline()
  const order: string[] = []
  opened.store.holdCommits()
  const firstSpawn = opened.spawnProcess(1).then(() => order.push('first'))
  while (opened.store.attempts === 0) await new Promise(setImmediate)
  const work = opened.pipeline
    .runBetweenCommits(async () => {
      order.push(`work at ${opened.pipeline.cursor}, PID ${opened.table.lastPid}`)
      return { cursor: opened.pipeline.cursor + 10, pid: 41 }
    })
    .then(() => order.push('work is over'))
  const secondSpawn = opened.spawnProcess(2).then(() => order.push('second'))
  const cursorsOfWork = work.then(() => opened.pipeline.cursor)
  opened.store.releaseCommits()
  await Promise.all([firstSpawn, work, secondSpawn])
  const cursor = opened.store.commits[0]?.facts.length ?? 0
  expect(order.slice(1)).toEqual([`work at ${cursor}, PID 1`, 'work is over', 'second'])
  expect(await cursorsOfWork).toBe(cursor + 10)
  // The work has used the PIDs up to 41, as an import does, so the next process gets another one.
  expect([opened.table.get(uuidOf(2))?.pid, opened.table.get(uuidOf(1))?.pid]).toEqual([42, 1])
})

test('work that fails changes no counter, and stops neither commits nor other work', async () => {
  await using opened = await openPipeline()
  await opened.spawnProcess(1)
  const { cursor } = opened.pipeline
  await expect(
    opened.pipeline.runBetweenCommits(async () => {
      throw new KernelError('DISK_FULL', 'no room')
    }),
  ).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(opened.pipeline.cursor).toBe(cursor)
  await opened.spawnProcess(2)
  expect(opened.table.get(uuidOf(2))?.pid).toBe(2)
  await opened.pipeline.close()
  await expect(opened.pipeline.runBetweenCommits(async () => ({ cursor: 0, pid: 0 }))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
