// The drain ends when the work in flight has ended, at its deadline, or when only processes are left that cannot write.
import { describe, expect, test } from 'vitest'
import { Drain } from '../../../../src/daemon/loop/drain.ts'
import type { StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { ManualClock } from '../../../support/clock.ts'

/** Two agents, of which one is in a step, and hundreds of ended processes. */
function setUp() {
  const clock = new ManualClock()
  const rows = new Map<string, Process>()
  let looks = 0
  const row = (uuid: string, drained: boolean): void => {
    rows.set(uuid, { uuid, pid: 1, life: { state: 'running', stopping: null, attached: true, drained } } as unknown as Process)
  }
  row('busy', false)
  for (let n = 0; n < 500; n += 1) row(`idle-${n}`, true)
  const stuck = new Set<string>()
  const drain = new Drain(
    {
      clock,
      table: {
        get: (uuid) => rows.get(uuid),
        *rows() {
          for (const process of rows.values()) {
            looks += 1
            yield process
          }
        },
      },
      pipeline: { submit: () => undefined, waitUntilIdle: async () => undefined },
      writeFailures: { drain: () => undefined, isStuck: (uuid) => stuck.has(uuid) },
    },
    10_000,
  )
  const commit = (uuid: string): void => drain.onFacts([{ uuid } as StoredFact])
  return { clock, rows, row, stuck, drain, commit, looks: () => looks }
}

async function isOver(run: Promise<void>): Promise<boolean> {
  const turn = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))
  return Promise.race([run.then(() => true), turn])
}

describe('the drain', () => {
  test('ends as soon as the fact that it waits for is committed', async () => {
    const { drain, row, commit } = setUp()
    const run = drain.run()
    expect(await isOver(run)).toBe(false)
    expect(drain.waitsFor.map(({ uuid }) => uuid)).toEqual(['busy'])
    commit('idle-1')
    expect(await isOver(run)).toBe(false)
    row('busy', true)
    commit('busy')
    expect(await isOver(run)).toBe(true)
  })

  test('ends when the process has left the table', async () => {
    const { drain, rows, commit } = setUp()
    const run = drain.run()
    rows.delete('busy')
    commit('busy')
    expect(await isOver(run)).toBe(true)
  })

  test('waits for processes that attach meanwhile', async () => {
    const { drain, row, commit } = setUp()
    const run = drain.run()
    row('late', false)
    commit('late')
    row('busy', true)
    commit('busy')
    expect(await isOver(run)).toBe(false)
    row('late', true)
    commit('late')
    expect(await isOver(run)).toBe(true)
  })

  test('reads the whole table only once', async () => {
    const { drain, clock, looks, row, commit } = setUp()
    const run = drain.run()
    for (let n = 0; n < 50; n += 1) {
      clock.wind(100)
      commit(`idle-${n}`)
      await isOver(run)
    }
    row('busy', true)
    commit('busy')
    await run
    expect(looks()).toBe(501)
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
    const { drain, clock, stuck } = setUp()
    const run = drain.run()
    expect(await isOver(run)).toBe(false)
    stuck.add('busy')
    clock.wind(500)
    expect(await isOver(run)).toBe(true)
  })
})
