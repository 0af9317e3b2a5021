// The exclusion between resuming and removing: one operation at a time per process, and different processes in parallel. Also the
// sweeper, which deletes the data of removed processes.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { Removals, Sweeper } from '../../../../src/daemon/operations/removals.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { ProcessQueries } from '../../../../src/daemon/views/process-queries.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { Scribe, endOf, modelFinished, specOf, uuidOf } from '../../../support/store/facts.ts'
import { testStore } from '../../../support/store/open.ts'
import { ManualClock } from '../../../support/clock.ts'

const worktrees = { checkIdle: () => {}, remove: async () => null }

const dead = (uuid: string): Process => {
  const scribe = new Scribe()
  scribe.spawn(uuid, specOf(), ...endOf())
  return scribe.get(uuid)
}

describe('exclusive operations', () => {
  const createRemovals = (): Removals => {
    const reads = { resolve: async (ref: string) => dead(ref), get: async (uuid: string) => dead(uuid) }
    return new Removals({
      reads,
      store: { updateUsageLedger: async () => false, remove: async () => true },
      clock: new ManualClock(),
      sweeper: { sweep: () => {} },
      worktrees,
    })
  }

  test('run one at a time and in order, also after a failure', async () => {
    const removals = createRemovals()
    const order: string[] = []
    const first = Promise.withResolvers<void>()
    const runVisit = (name: string, wait: Promise<void>) =>
      removals.runExclusively('a', async () => {
        order.push(`${name} in`)
        await wait
        order.push(`${name} out`)
        if (name === 'one') throw new KernelError('CONFLICT', 'no')
        return name
      })
    const runs = [runVisit('one', first.promise), runVisit('two', Promise.resolve()), removals.remove('a')]
    const other = await removals.runExclusively('b', async () => 'free')
    expect([other, order]).toEqual(['free', ['one in']])
    first.resolve()
    expect((await Promise.allSettled(runs)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(order).toEqual(['one in', 'one out', 'two in', 'two out'])
  })
})

describe('a reader', () => {
  test('gets an error instead of a partial result, if the process was removed', async () => {
    await using at = await testStore()
    const scribe = new Scribe()
    const uuid = uuidOf(1)
    await at.store.commit(scribe.spawn(uuid))
    const STEPS = 300
    for (let step = 1; step <= STEPS; step++)
      await at.store.commit(scribe.write(uuid, { type: 'model.started', step, attempt: 1, model: 'a/b' }, ...modelFinished(step, 'text')))
    await at.store.commit(scribe.write(uuid, ...endOf()))
    // A removal counts the usage first. That time would let the reader finish.
    while (await at.store.updateUsageLedger());
    const [reads, clock] = [new ProcessQueries(new Table(10), at.store, new ManualClock()), new ManualClock()]
    const removals = new Removals({ reads, store: at.store, clock, sweeper: { sweep: () => {} }, worktrees })
    expect(await reads.steps(await reads.get(uuid), 0, 1_000)).toHaveLength(STEPS)
    const process = await reads.get(uuid)
    const reading = reads.steps(process, 0, 1_000)
    const removing = removals.remove(uuid)
    await expect(reading).rejects.toMatchObject({ code: 'COLLECTED' })
    await removing
  })
})

describe('the sweeper', () => {
  /** A store with `pieces` pieces of work; the first `fails` of them fail. */
  function work(pieces: number, fails = 0) {
    const asked = { left: pieces, fails, times: 0, idle: Promise.withResolvers<void>() }
    const sweep = async (): Promise<boolean> => {
      asked.times += 1
      if (asked.fails-- > 0) {
        asked.idle.resolve()
        throw new KernelError('DISK_FULL', 'no room')
      }
      asked.left -= 1
      if (asked.left <= 0) asked.idle.resolve()
      return asked.left > 0
    }
    return { asked, store: { sweep } }
  }

  test('sweeps until no piece is left', async () => {
    const { asked, store } = work(5)
    const sweeper = new Sweeper(store, () => {})
    sweeper.sweep()
    await asked.idle.promise
    await sweeper.stop()
    expect(asked.times).toBe(5)
  })

  test('stops after the current piece', async () => {
    const { asked, store } = work(1_000)
    const sweeper = new Sweeper(store, () => {})
    sweeper.sweep()
    await sweeper.stop()
    expect(asked.times).toBe(1)
    sweeper.sweep()
    await sweeper.stop()
    expect(asked.times).toBe(1)
  })

  test('logs a failure, and continues at the next request', async () => {
    const { asked, store } = work(2, 1)
    const logged: unknown[] = []
    const sweeper = new Sweeper(store, (message, error) => logged.push([message, error]))
    sweeper.sweep()
    await asked.idle.promise
    await new Promise(setImmediate)
    expect(logged).toMatchObject([[expect.any(String), { code: 'DISK_FULL' }]])
    asked.idle = Promise.withResolvers()
    sweeper.sweep()
    await asked.idle.promise
    await sweeper.stop()
    expect([asked.left, logged.length]).toEqual([0, 1])
  })
})
