// `verify` while the store works: concurrent writes, removals and sweeps are not reported as damage; real damage is still found.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CommitMaker, endFacts, forkedOf, specOf, stepOf, uuidOf } from '../../support/store/facts.ts'
import { changeStoreFile, openTestStore, type TestStore } from '../../support/store/test-store.ts'

const PROCESSES = 6
const STEPS = 30
const LONG = 'a long result '.repeat(1_000)

/** Opens a store with processes that have more facts than a page. Some have ended, and one is a fork. */
async function newHistory(): Promise<{ readonly fixture: TestStore; readonly commits: CommitMaker }> {
  const fixture = await openTestStore()
  const commits = new CommitMaker()
  for (let number = 1; number <= PROCESSES; number++) {
    await fixture.store.commit(commits.spawn(uuidOf(number), specOf({ name: `p${number}` })))
    for (let step = 1; step <= STEPS; step++)
      await fixture.store.commit(commits.write(uuidOf(number), ...stepOf(step, step % 10 === 0 ? `${LONG}${number} ${step}` : 'text')))
    if (number % 2 === 0) await fixture.store.commit(commits.write(uuidOf(number), ...endFacts()))
  }
  await fixture.store.commit(
    commits.write(uuidOf(99), forkedOf(++commits.pid, { uuid: uuidOf(2), step: 9, seq: 30 }), {
      type: 'process.started',
      mono: 5,
      attached: true,
      containment: null,
    }),
  )
  return { fixture, commits }
}

/** Runs `work` in each turn of the event loop until `verify` has ended. Returns what `verify` found. */
async function verifyDuring(fixture: TestStore, work: (turnNumber: number) => Promise<void>): Promise<readonly string[]> {
  let isOver = false
  const verified = fixture.store.verify().finally(() => {
    isOver = true
  })
  for (let turnNumber = 0; !isOver; turnNumber++) {
    await work(turnNumber)
    await setImmediate()
  }
  return verified
}

test('steps, new processes and their ends are not reported as damage', async () => {
  const { fixture, commits } = await newHistory()
  await using _disposed = fixture
  expect(
    await verifyDuring(fixture, async (turnNumber) => {
      for (const number of [1, 3, 5])
        await fixture.store.commit(
          commits.write(uuidOf(number), ...stepOf(STEPS + turnNumber, turnNumber % 5 === 0 ? `${LONG}${turnNumber}` : 'more')),
        )
      if (turnNumber < 40) await fixture.store.commit(commits.spawn(uuidOf(1_000 + turnNumber)))
      if (turnNumber < 20) await fixture.store.commit(commits.write(uuidOf(1_000 + turnNumber), ...endFacts()))
    }),
  ).toEqual([])
})

test('no WAL checkpoint runs while a thread reads the whole file, and WAL checkpoints run again afterwards', async () => {
  const { fixture, commits } = await newHistory()
  await using _disposed = fixture
  const walState = () => ({
    file: statSync(join(fixture.dir, 'store.db'), { bigint: true }).mtimeNs,
    log: statSync(join(fixture.dir, 'store.db-wal')).size,
  })
  const writeSteps = async (firstStep: number) => {
    for (let step = firstStep; step < firstStep + 40; step++)
      await fixture.store.commit(commits.write(uuidOf(1), ...stepOf(step, randomBytes(40_000).toString('hex'))))
  }
  const verified = fixture.store.verify()
  await Promise.resolve()
  const before = walState()
  // No turn of the event loop has passed: the thread may have ended, but its message was not handled yet.
  await writeSteps(STEPS + 1)
  expect(walState().file).toBe(before.file)
  expect(walState().log).toBeGreaterThan(3_000_000)
  expect(await verified).toEqual([])
  await writeSteps(STEPS + 41)
  expect(walState().file).not.toBe(before.file)
  expect(walState().log).toBeLessThan(3_000_000)
  expect(await Promise.all([fixture.store.verify(), fixture.store.verify()])).toEqual([[], []])
})

test('a sweep that shrinks the file makes no WAL checkpoint while a thread reads the whole file', async () => {
  const { fixture } = await newHistory()
  await using _disposed = fixture
  const fileTime = () => statSync(join(fixture.dir, 'store.db'), { bigint: true }).mtimeNs
  const verified = fixture.store.verify()
  await Promise.resolve()
  const before = fileTime()
  // No turn of the event loop passes, so the thread is still reading for the store.
  for (let number = 2; number <= PROCESSES; number += 2) await fixture.store.remove(uuidOf(number), 1_700_000_000_000)
  while (await fixture.store.sweep());
  expect(fileTime()).toBe(before)
  expect(await verified).toEqual([])
})

test.each([0, 1, 2, 5])('removals, their sweeps and kept forks are not reported as damage, from turn %i on', async (firstTurn) => {
  const { fixture, commits } = await newHistory()
  await using _disposed = fixture
  expect(
    await verifyDuring(fixture, async (turnNumber) => {
      if (turnNumber === firstTurn)
        for (let number = 2; number <= PROCESSES; number += 2) await fixture.store.remove(uuidOf(number), 1_700_000_000_000)
      await fixture.store.sweep()
      if (turnNumber === firstTurn + 4) await fixture.store.commit(commits.write(uuidOf(99), ...endFacts()))
      if (turnNumber === firstTurn + 6) await fixture.store.remove(uuidOf(99), 1_700_000_000_000)
    }),
  ).toEqual([])
})

test('damage is found while the store works', async () => {
  const { fixture, commits } = await newHistory()
  await using _disposed = fixture
  await fixture.close()
  changeStoreFile(fixture.dir, (db) => {
    db.exec('UPDATE journal SET at = at + 1 WHERE cursor = 7')
    db.exec(
      'INSERT INTO journal SELECT cursor + 100000, process, seq, pid, at, type, sum, body, refs, moment FROM journal WHERE cursor <= 3',
    )
    db.exec('UPDATE shared SET more = more + 1')
    db.exec('DELETE FROM journal WHERE cursor = 200')
    // These facts end the range that the next start would fold.
    db.exec("UPDATE meta SET value = 200000, copy = -200000 WHERE name IN ('settled', 'cursor')")
  })
  await fixture.reopen()
  const otherCommits = new CommitMaker({ pid: commits.pid, cursor: 200_000 }, (await fixture.store.load()).processes)
  const found = await verifyDuring(fixture, async (turnNumber) => {
    await fixture.store.commit(otherCommits.write(uuidOf(3), ...stepOf(STEPS + turnNumber, 'more')))
  })
  expect(found).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^journal process \S+ seq 7 .*damaged/),
      expect.stringMatching(/seq \d+.*: the fact is missing$/),
      expect.stringMatching(/^journal: 2 facts belong to no process$/),
    ]),
  )
})
