// Work that the store writes between two commits, with the current counters. A failure of such work stops no other work.
import { expect, test } from 'vitest'
import { Pipeline } from '../../../../src/daemon/loop/pipeline.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { ManualClock } from '../../../support/clock.ts'
import { FaultyStore } from '../../../support/kernel/faulty-store.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'

async function newWorkspace() {
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
  return { fixture, store, table, pipeline, spawn: spawnProcess, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() }
}

test('work between commits waits for the commit in flight, and the next commit waits for the work', async () => {
  await using workspace = await newWorkspace()
  const order: string[] = []
  workspace.store.holdCommits()
  const firstSpawn = workspace.spawn(1).then(() => order.push('first'))
  while (workspace.store.attempts === 0) await new Promise(setImmediate)
  const work = workspace.pipeline
    .runBetweenCommits(async ({ cursor, pid }) => {
      order.push(`piece at ${cursor}, PID ${pid}`)
      return { cursor: cursor + 10, pid: 41 }
    })
    .then(() => order.push('piece is over'))
  const secondSpawn = workspace.spawn(2).then(() => order.push('second'))
  workspace.store.releaseCommits()
  await Promise.all([firstSpawn, work, secondSpawn])
  const cursor = workspace.store.commits[0]?.facts.length ?? 0
  expect(order.slice(1)).toEqual([`piece at ${cursor}, PID 1`, 'piece is over', 'second'])
  expect(workspace.store.commits[1]?.facts[0]?.cursor).toBe(cursor + 11)
  // The next process does not get a PID of the imported one.
  expect([workspace.table.get(uuidOf(2))?.pid, workspace.table.get(uuidOf(1))?.pid]).toEqual([42, 1])
})

test('work that fails changes no counter, and stops neither commits nor other work', async () => {
  await using workspace = await newWorkspace()
  await workspace.spawn(1)
  const { cursor } = workspace.pipeline
  await expect(
    workspace.pipeline.runBetweenCommits(async () => {
      throw new KernelError('DISK_FULL', 'no room')
    }),
  ).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(workspace.pipeline.cursor).toBe(cursor)
  await workspace.spawn(2)
  expect(workspace.table.get(uuidOf(2))?.pid).toBe(2)
  await workspace.pipeline.close()
  await expect(workspace.pipeline.runBetweenCommits(async (counters) => counters)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
