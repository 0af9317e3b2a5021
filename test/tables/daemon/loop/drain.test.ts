// The drain ends when the work in flight has ended, at its deadline, or when only processes are left that cannot write.
import { describe, expect, test } from 'vitest'
import { Drain } from '../../../../src/daemon/loop/drain.ts'
import type { StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { ManualClock } from '../../../support/clock.ts'

/** Sets up a drain with one process that is not yet drained, and 500 that are. */
function setUp() {
  const clock = new ManualClock()
  const rows = new Map<string, Process>()
  let readCount = 0
  const setRow = (uuid: string, drained: boolean): void => {
    rows.set(uuid, { uuid, pid: 1, life: { state: 'running', stopping: null, attached: true, drained } } as unknown as Process)
  }
  setRow('busy', false)
  for (let n = 0; n < 500; n += 1) setRow(`idle-${n}`, true)
  const stuckProcesses = new Set<string>()
  const drain = new Drain(
    {
      clock,
      table: {
        get: (uuid) => rows.get(uuid),
        *rows() {
          for (const process of rows.values()) {
            readCount += 1
            yield process
          }
        },
      },
      pipeline: { submit: () => undefined, waitUntilIdle: async () => undefined },
      writeFailures: { drain: () => undefined, isStuck: (uuid) => stuckProcesses.has(uuid) },
    },
    10_000,
  )
  const commitFact = (uuid: string): void => drain.onFacts([{ uuid } as StoredFact])
  return { clock, rows, setRow, stuckProcesses, drain, commitFact, readCount: () => readCount }
}

async function isOver(run: Promise<void>): Promise<boolean> {
  const nextTurn = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))
  return Promise.race([run.then(() => true), nextTurn])
}

describe('the drain', () => {
  test('ends as soon as the fact that it waits for is committed', async () => {
    const { drain, setRow, commitFact } = setUp()
    const run = drain.run()
    expect(await isOver(run)).toBe(false)
    expect(drain.waitsFor.map(({ uuid }) => uuid)).toEqual(['busy'])
    commitFact('idle-1')
    expect(await isOver(run)).toBe(false)
    setRow('busy', true)
    commitFact('busy')
    expect(await isOver(run)).toBe(true)
  })

  test('ends when the process that it waits for has left the table', async () => {
    const { drain, rows, commitFact } = setUp()
    const run = drain.run()
    rows.delete('busy')
    commitFact('busy')
    expect(await isOver(run)).toBe(true)
  })

  test('waits for processes that attach meanwhile', async () => {
    const { drain, setRow, commitFact } = setUp()
    const run = drain.run()
    setRow('late', false)
    commitFact('late')
    setRow('busy', true)
    commitFact('busy')
    expect(await isOver(run)).toBe(false)
    setRow('late', true)
    commitFact('late')
    expect(await isOver(run)).toBe(true)
  })

  test('reads the whole table only once', async () => {
    const { drain, clock, readCount, setRow, commitFact } = setUp()
    const run = drain.run()
    for (let n = 0; n < 50; n += 1) {
      clock.wind(100)
      commitFact(`idle-${n}`)
      await isOver(run)
    }
    setRow('busy', true)
    commitFact('busy')
    await run
    expect(readCount()).toBe(501)
  })

  test('ends at its deadline, which can be shortened', async () => {
    const { drain, clock } = setUp()
    const run = drain.run()
    expect(await isOver(run)).toBe(false)
    drain.shortenTo(300)
    clock.wind(299)
    expect(await isOver(run)).toBe(false)
    clock.wind(1)
    expect(await isOver(run)).toBe(true)
    expect(clock.timers).toBe(0)
  })

  test('does not wait for processes that cannot write because the disk is full', async () => {
    const { drain, clock, stuckProcesses } = setUp()
    const run = drain.run()
    expect(await isOver(run)).toBe(false)
    stuckProcesses.add('busy')
    clock.wind(500)
    expect(await isOver(run)).toBe(true)
  })
})
