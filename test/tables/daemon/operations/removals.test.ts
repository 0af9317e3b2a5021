// The exclusion between resuming and removing: one operation at a time per process, and different processes in parallel. Also the
// sweeper, which deletes the data of removed processes.
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { Removals, Sweeper } from '../../../../src/daemon/operations/removals.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { ProcessQueries } from '../../../../src/daemon/views/process-queries.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { CommitMaker, endFacts, modelFinished, specOf, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'
import { ManualClock } from '../../../support/clock.ts'

const worktrees = { checkIdle: () => {}, remove: async () => null }

const deadProcess = (uuid: string): Process => {
  const commits = new CommitMaker()
  commits.spawn(uuid, specOf(), ...endFacts())
  return commits.get(uuid)
}

describe('exclusive operations', () => {
  const createRemovals = (): Removals => {
    const reads = { resolve: async (ref: string) => deadProcess(ref), get: async (uuid: string) => deadProcess(uuid) }
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
    const firstOperation = Promise.withResolvers<void>()
    const runOperation = (name: string, wait: Promise<void>) =>
      removals.runExclusively('a', async () => {
        order.push(`${name} in`)
        await wait
        order.push(`${name} out`)
        if (name === 'one') throw new KernelError('CONFLICT', 'no')
        return name
      })
    const runs = [runOperation('one', firstOperation.promise), runOperation('two', Promise.resolve()), removals.remove('a')]
    const otherResult = await removals.runExclusively('b', async () => 'free')
    expect([otherResult, order]).toEqual(['free', ['one in']])
    firstOperation.resolve()
    expect((await Promise.allSettled(runs)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(order).toEqual(['one in', 'one out', 'two in', 'two out'])
  })
})

test('the log names the session of the page that removed a process, and no other client', async () => {
  const lines: string[] = []
  const removals = new Removals({
    reads: { resolve: async (ref: string) => deadProcess(ref), get: async (uuid: string) => deadProcess(uuid) },
    store: { updateUsageLedger: async () => false, remove: async () => true },
    clock: new ManualClock(),
    sweeper: { sweep: () => {} },
    worktrees,
    log: (line) => lines.push(line),
  })
  await removals.remove(uuidOf(1), { via: 'web:7f3a' })
  await removals.remove(uuidOf(2))
  expect(lines).toEqual([`web:7f3a removed process 1, ${uuidOf(1)}`])
})

describe('a reader', () => {
  test('gets an error instead of a partial result, if the process was removed', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const uuid = uuidOf(1)
    await fixture.store.commit(commits.spawn(uuid))
    const STEPS = 300
    for (let step = 1; step <= STEPS; step++)
      await fixture.store.commit(
        commits.write(uuid, { type: 'model.started', step, attempt: 1, model: 'a/b' }, ...modelFinished(step, 'text')),
      )
    await fixture.store.commit(commits.write(uuid, ...endFacts()))
    // A removal counts the usage first. That time would let the reader finish.
    while (await fixture.store.updateUsageLedger());
    const [reads, clock] = [new ProcessQueries(new Table(10), fixture.store, new ManualClock()), new ManualClock()]
    const removals = new Removals({ reads, store: fixture.store, clock, sweeper: { sweep: () => {} }, worktrees })
    expect(await reads.steps(await reads.get(uuid), 0, 1_000)).toHaveLength(STEPS)
    const process = await reads.get(uuid)
    const reading = reads.steps(process, 0, 1_000)
    const removing = removals.remove(uuid)
    await expect(reading).rejects.toMatchObject({ code: 'COLLECTED' })
    await removing
  })
})

describe('the sweeper', () => {
  /** A store with `pieces` pieces of data to delete; the first `fails` deletions fail. */
  function makeWork(pieces: number, fails = 0) {
    const work = { left: pieces, fails, times: 0, idle: Promise.withResolvers<void>() }
    const sweepPiece = async (): Promise<boolean> => {
      work.times += 1
      if (work.fails-- > 0) {
        work.idle.resolve()
        throw new KernelError('DISK_FULL', 'no room')
      }
      work.left -= 1
      if (work.left <= 0) work.idle.resolve()
      return work.left > 0
    }
    return { work, store: { sweep: sweepPiece } }
  }

  test('sweeps until no piece is left', async () => {
    const { work, store } = makeWork(5)
    const sweeper = new Sweeper(store, () => {})
    sweeper.sweep()
    await work.idle.promise
    await sweeper.stop()
    expect(work.times).toBe(5)
  })

  test('stops after the current piece', async () => {
    const { work, store } = makeWork(1_000)
    const sweeper = new Sweeper(store, () => {})
    sweeper.sweep()
    await sweeper.stop()
    expect(work.times).toBe(1)
    sweeper.sweep()
    await sweeper.stop()
    expect(work.times).toBe(1)
  })

  test('logs a failure, and continues at the next request', async () => {
    const { work, store } = makeWork(2, 1)
    const logged: unknown[] = []
    const sweeper = new Sweeper(store, (message, error) => logged.push([message, error]))
    sweeper.sweep()
    await work.idle.promise
    await new Promise(setImmediate)
    expect(logged).toMatchObject([[expect.any(String), { code: 'DISK_FULL' }]])
    work.idle = Promise.withResolvers()
    sweeper.sweep()
    await work.idle.promise
    await sweeper.stop()
    expect([work.left, logged.length]).toEqual([0, 1])
  })
})

describe('a request to sweep', () => {
  test.each(Array.from({ length: 12 }, (_, turns) => [turns]))('that comes %i microtasks after another one is performed', async (turns) => {
    let sweepCount = 0
    const sweepPiece = async (): Promise<boolean> => {
      sweepCount += 1
      return false
    }
    const sweeper = new Sweeper({ sweep: sweepPiece }, () => undefined)
    sweeper.sweep()
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
    const countBefore = sweepCount
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    expect(sweepCount).toBeGreaterThan(turns === 0 ? 0 : countBefore)
  })

  test('that fails is logged, and the next request is performed', async () => {
    const failures: unknown[] = []
    let sweepCount = 0
    const sweepPiece = (): Promise<boolean> => (++sweepCount === 1 ? Promise.reject(new Error('disk')) : Promise.resolve(false))
    const sweeper = new Sweeper({ sweep: sweepPiece }, (_, error) => failures.push(error))
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    sweeper.sweep()
    await sweeper.waitUntilIdle()
    expect([sweepCount, failures.length]).toEqual([2, 1])
  })
})
