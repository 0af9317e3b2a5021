// `verify` while the store works: concurrent writes, removals and sweeps are not reported as damage; real damage is still found.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Scribe, endOf, forkedOf, specOf, stepOf, uuidOf } from '../../support/store/facts.ts'
import { changeFile, testStore, type TestStore } from '../../support/store/open.ts'

const PROCESSES = 6
const STEPS = 30
const LONG = 'a long result '.repeat(1_000)

/** Processes with more facts than a page, some of them ended, one forked from another. */
async function history(): Promise<{ readonly at: TestStore; readonly scribe: Scribe }> {
  const at = await testStore()
  const scribe = new Scribe()
  for (let number = 1; number <= PROCESSES; number++) {
    await at.store.commit(scribe.spawn(uuidOf(number), specOf({ name: `p${number}` })))
    for (let step = 1; step <= STEPS; step++)
      await at.store.commit(scribe.write(uuidOf(number), ...stepOf(step, step % 10 === 0 ? `${LONG}${number} ${step}` : 'text')))
    if (number % 2 === 0) await at.store.commit(scribe.write(uuidOf(number), ...endOf()))
  }
  await at.store.commit(
    scribe.write(uuidOf(99), forkedOf(++scribe.pid, { uuid: uuidOf(2), step: 9, seq: 30 }), {
      type: 'process.started',
      mono: 5,
      attached: true,
      containment: null,
    }),
  )
  return { at, scribe }
}

/** Runs `work` after each turn in which `verify` yields, until it has ended. */
async function beside(at: TestStore, work: (turn: number) => Promise<void>): Promise<readonly string[]> {
  let isOver = false
  const verified = at.store.verify().finally(() => {
    isOver = true
  })
  for (let turn = 0; !isOver; turn++) {
    await work(turn)
    await setImmediate()
  }
  return verified
}

test('steps, new processes and their ends are not reported as damage', async () => {
  const { at, scribe } = await history()
  await using _at = at
  expect(
    await beside(at, async (turn) => {
      for (const number of [1, 3, 5])
        await at.store.commit(scribe.write(uuidOf(number), ...stepOf(STEPS + turn, turn % 5 === 0 ? `${LONG}${turn}` : 'more')))
      if (turn < 40) await at.store.commit(scribe.spawn(uuidOf(1_000 + turn)))
      if (turn < 20) await at.store.commit(scribe.write(uuidOf(1_000 + turn), ...endOf()))
    }),
  ).toEqual([])
})

test('there is no checkpoint while a thread reads the whole file, and there are the usual ones afterwards', async () => {
  const { at, scribe } = await history()
  await using _at = at
  const look = () => ({
    file: statSync(join(at.dir, 'store.db'), { bigint: true }).mtimeNs,
    log: statSync(join(at.dir, 'store.db-wal')).size,
  })
  const write = async (from: number) => {
    for (let step = from; step < from + 40; step++)
      await at.store.commit(scribe.write(uuidOf(1), ...stepOf(step, randomBytes(40_000).toString('hex'))))
  }
  const verified = at.store.verify()
  await Promise.resolve()
  const before = look()
  // No turn of the event loop has passed: the thread may have ended, but its message was not handled yet.
  await write(STEPS + 1)
  expect(look().file).toBe(before.file)
  expect(look().log).toBeGreaterThan(3_000_000)
  expect(await verified).toEqual([])
  await write(STEPS + 41)
  expect(look().file).not.toBe(before.file)
  expect(look().log).toBeLessThan(3_000_000)
  expect(await Promise.all([at.store.verify(), at.store.verify()])).toEqual([[], []])
})

test.each([0, 1, 2, 5])('removals, their sweeps and kept forks are not reported as damage, from turn %i on', async (first) => {
  const { at, scribe } = await history()
  await using _at = at
  expect(
    await beside(at, async (turn) => {
      if (turn === first) for (let number = 2; number <= PROCESSES; number += 2) await at.store.remove(uuidOf(number), 1_700_000_000_000)
      await at.store.sweep()
      if (turn === first + 4) await at.store.commit(scribe.write(uuidOf(99), ...endOf()))
      if (turn === first + 6) await at.store.remove(uuidOf(99), 1_700_000_000_000)
    }),
  ).toEqual([])
})

test('damage is found while the store works', async () => {
  const { at, scribe } = await history()
  await using _at = at
  await at.close()
  changeFile(at.dir, (db) => {
    db.exec('UPDATE journal SET at = at + 1 WHERE cursor = 7')
    db.exec(
      'INSERT INTO journal SELECT cursor + 100000, process, seq, pid, at, type, sum, body, refs, moment FROM journal WHERE cursor <= 3',
    )
    db.exec('UPDATE shared SET more = more + 1')
    db.exec('DELETE FROM journal WHERE cursor = 200')
    // These facts end the range that the next start would fold.
    db.exec("UPDATE meta SET value = 200000, copy = -200000 WHERE name IN ('settled', 'cursor')")
  })
  await at.reopen()
  const calm = new Scribe({ pid: scribe.pid, cursor: 200_000 }, (await at.store.load()).processes)
  const found = await beside(at, async (turn) => {
    await at.store.commit(calm.write(uuidOf(3), ...stepOf(STEPS + turn, 'more')))
  })
  expect(found).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^journal process \S+ seq 7 .*damaged/),
      expect.stringMatching(/seq \d+.*: the fact is missing$/),
      expect.stringMatching(/^journal: 2 facts belong to no process$/),
    ]),
  )
})
