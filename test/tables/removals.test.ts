// The door between the dead and the living: one at a time for one process, all at once for many. And the sweeper behind it.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../src/kernel/errors.ts'
import { Removals, Sweeper } from '../../src/daemon/removals.ts'
import type { Process } from '../../src/kernel/types.ts'
import { Reads } from '../../src/daemon/reads.ts'
import { Table } from '../../src/daemon/table.ts'
import { Scribe, endOf, modelFinished, specOf, uuidOf } from '../support/store-facts.ts'
import { testStore } from '../support/store-open.ts'
import { HandClock } from '../support/clock.ts'

const worktrees = { checkIdle: () => {}, remove: async () => null }

const dead = (uuid: string): Process => {
  const scribe = new Scribe()
  scribe.spawn(uuid, specOf(), ...endOf())
  return scribe.get(uuid)
}

describe('the door', () => {
  const door = (): Removals => {
    const reads = { resolve: async (ref: string) => dead(ref), get: async (uuid: string) => dead(uuid) }
    return new Removals({ reads, store: { account: async () => false, remove: async () => true }, clock: new HandClock(), sweeper: { sweep: () => {} }, worktrees })
  }

  test('lets one through at a time, in the order of their coming, also behind one that failed', async () => {
    const removals = door()
    const said: string[] = []
    const first = Promise.withResolvers<void>()
    const visit = (name: string, wait: Promise<void>) => removals.alone('a', async () => {
      said.push(`${name} in`)
      await wait
      said.push(`${name} out`)
      if (name === 'one') throw new KernelError('CONFLICT', 'no')
      return name
    })
    const visits = [visit('one', first.promise), visit('two', Promise.resolve()), removals.remove('a')]
    const other = await removals.alone('b', async () => 'free')
    expect([other, said]).toEqual(['free', ['one in']])
    first.resolve()
    expect((await Promise.allSettled(visits)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(said).toEqual(['one in', 'one out', 'two in', 'two out'])
  })
})

describe('a reader that is on its way', () => {
  test('is told that the process went, and gets no part that looks like the whole', async () => {
    await using at = await testStore()
    const scribe = new Scribe()
    const uuid = uuidOf(1)
    await at.store.commit(scribe.spawn(uuid))
    const STEPS = 300
    for (let step = 1; step <= STEPS; step++) await at.store.commit(scribe.write(uuid, { type: 'model.started', step, attempt: 1, model: 'a/b' }, ...modelFinished(step, 'text')))
    await at.store.commit(scribe.write(uuid, ...endOf()))
    // What it used is taken in first, and would give the reader its time.
    while (await at.store.account());
    const [reads, clock] = [new Reads(new Table(10), at.store, new HandClock()), new HandClock()]
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
  /** A store with so many pieces of work; `fails` of them fail first. */
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

  test('does all pieces, and only those', async () => {
    const { asked, store } = work(5)
    const sweeper = new Sweeper(store, () => {})
    sweeper.sweep()
    await asked.idle.promise
    await sweeper.stop()
    expect(asked.times).toBe(5)
  })

  test('ends with the piece in hand', async () => {
    const { asked, store } = work(1_000)
    const sweeper = new Sweeper(store, () => {})
    sweeper.sweep()
    await sweeper.stop()
    expect(asked.times).toBe(1)
    sweeper.sweep()
    await sweeper.stop()
    expect(asked.times).toBe(1)
  })

  test('that fails says so, and goes on when it is called again', async () => {
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
