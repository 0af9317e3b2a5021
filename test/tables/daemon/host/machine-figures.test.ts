// The figures of the machine: what they are, that they are read at most once a second, and what is unknown.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MachineFigures } from '../../../../src/daemon/host/machine-figures.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { ManualClock } from '../../../support/clock.ts'
import { tempDir } from '../../../support/tmp.ts'

const withMemory = (life: object, rssBytes?: number): Process => ({ life, usage: { rssBytes } }) as unknown as Process
const rows = [
  withMemory({ state: 'running', attached: true }, 1_000),
  withMemory({ state: 'running', attached: true }, 500),
  withMemory({ state: 'running', attached: true }),
  withMemory({ state: 'running', attached: false }, 7),
  withMemory({ state: 'zombie' }, 7),
]

test('count the memory of running programs, and the store with its log', async () => {
  await using dir = await tempDir()
  await writeFile(join(dir.path, 'store.db'), 'x'.repeat(300))
  await writeFile(join(dir.path, 'store.db-wal'), 'x'.repeat(20))
  const { load, memory, disk } = await new MachineFigures({ state: dir.path, table: { rows: () => rows }, clock: new ManualClock() }).read()
  expect(load.cores).toBeGreaterThan(0)
  expect(memory.programsBytes).toBe(1_500)
  expect(memory.availableBytes).toBeLessThanOrEqual(memory.totalBytes)
  expect(memory.daemonBytes).toBeGreaterThan(0)
  expect(disk?.storeBytes).toBe(320)
  expect(disk?.freeBytes).toBeLessThanOrEqual(disk?.totalBytes ?? 0)
})

test('are read once a second at most', async () => {
  await using dir = await tempDir()
  const clock = new ManualClock()
  let reads = 0
  const table = { rows: () => ((reads += 1), []) }
  const figures = new MachineFigures({ state: dir.path, table, clock })
  const [first, second] = await Promise.all([figures.read(), figures.read()])
  clock.wind(999)
  expect([await figures.read(), second]).toEqual([first, first])
  expect(reads).toBe(1)
  clock.wind(1)
  await figures.read()
  expect(reads).toBe(2)
})

test('have no disk where its directory is gone', async () => {
  const { disk } = await new MachineFigures({ state: '/nowhere', table: { rows: () => [] }, clock: new ManualClock() }).read()
  expect(disk).toBeNull()
})
