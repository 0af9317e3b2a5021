// The facts that removed processes keep for their forks: exactly those that the forks need, and only as long as the forks exist.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FactBody, StoredFact } from '../../../src/kernel/model/facts.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import type { HomeStore } from '../../../src/store/store.ts'
import { keptSum } from '../../../src/store/rows/checksums.ts'
import { deep } from '../../support/deep.ts'
import { CommitMaker, endFacts, specOf, stepOf, uuidOf } from '../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../support/store/test-store.ts'
import type { TestStore } from '../../support/store/test-store.ts'

const [A, B, C, D] = [uuidOf(1), uuidOf(2), uuidOf(3), uuidOf(4)]
const REMOVED_AT = 1_700_000_000_500
const LONG = 'a long result '.repeat(1_000)
const makeOutput = (text: string): FactBody => ({ type: 'process.output', stream: 'stdout', text })

/** The expected journal of each process. */
type Journals = Map<string, readonly StoredFact[]>

async function sweepAll(store: HomeStore): Promise<void> {
  while (await store.sweep());
}

/** Writes an ended process with this number of steps. */
async function writeEndedProcess(store: HomeStore, commits: CommitMaker, journals: Journals, steps: number): Promise<void> {
  const history = [commits.spawn(A, specOf({ name: 'first' }))]
  for (let step = 1; step <= steps; step++) history.push(commits.write(A, ...stepOf(step)))
  history.push(commits.write(A, ...endFacts()))
  for (const commit of history) await store.commit(commit)
  journals.set(
    A,
    history.flatMap(({ facts }) => facts),
  )
}

/** Writes an ended fork, with facts of its own. */
async function writeEndedFork(
  store: HomeStore,
  commits: CommitMaker,
  journals: Journals,
  [uuid, origin, seq]: readonly [string, string, number],
  ...ownFacts: FactBody[]
): Promise<void> {
  const commit = commits.fork(uuid, origin, seq, ...ownFacts, ...endFacts())
  await store.commit(commit)
  journals.set(uuid, [...(journals.get(origin) ?? []).slice(0, seq), ...commit.facts])
}

async function expectJournals(store: HomeStore, journals: Journals, ...uuids: string[]): Promise<void> {
  for (const uuid of uuids) expect(await store.facts(uuid, 0, 10_000), uuid).toStrictEqual(journals.get(uuid))
  expect(await store.verify()).toEqual([])
}

/** The contents of the file: the facts by the key of their process, and the rows of the other tables. */
async function contentsOf(
  fixture: TestStore,
): Promise<{ facts: Record<string, number>; kept: unknown[]; doomed: number; blobs: number; places: number; free: number }> {
  await fixture.close()
  const contents = changeStoreFile(fixture.dir, (db) => {
    const countRows = (table: string): number => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])
    const facts = db.prepare('SELECT process, count(*) AS n FROM journal GROUP BY process').all()
    return {
      facts: Object.fromEntries(facts.map(({ process, n }) => [String(process), Number(n)])),
      kept: db
        .prepare('SELECT key, upto FROM kept ORDER BY key')
        .all()
        .map((row) => Object.values(row)),
      doomed: countRows('doomed'),
      blobs: countRows('blobs'),
      places: countRows('places'),
      free: Number(db.prepare('PRAGMA freelist_count').get()?.['freelist_count']),
    }
  })
  await fixture.reopen()
  return contents
}

const NOTHING = { facts: {}, kept: [], doomed: 0, blobs: 0, places: 0, free: 0 }

describe('a removed origin', () => {
  test('is invisible except to its forks, and keeps the facts that they need', async () => {
    await using fixture = await openTestStore()
    const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
    await writeEndedProcess(fixture.store, commits, journals, 100)
    await writeEndedFork(fixture.store, commits, journals, [B, A, 102], makeOutput('of B'))
    await writeEndedFork(fixture.store, commits, journals, [C, A, 42])
    await fixture.store.remove(A, REMOVED_AT)
    for (const openStore of [async () => fixture.store, fixture.reopen]) {
      const store = await openStore()
      expect([await store.process(A), await store.facts(A, 0, 9), await store.tail(A, 9), await store.stepBounds(A, 1)]).toEqual([
        undefined,
        [],
        [],
        null,
      ])
      expect(await store.tombstone('first')).toEqual({ uuid: A, pid: 1, name: 'first', removedAt: REMOVED_AT, originUuid: null })
      expect(new Set((await store.since({ afterCursor: 0, limit: 999 })).map(({ uuid }) => uuid))).toEqual(new Set([B, C]))
      expect((await store.forks(A)).map(({ uuid }) => uuid)).toEqual([C, B])
      expect(await store.stepBounds(B, 20)).toEqual({ first: 79, next: 83 })
      await expectJournals(store, journals, B, C)
    }
    await expect(fixture.store.commit(commits.fork(D, A, 3))).rejects.toMatchObject({ code: 'COLLECTED' })
    await sweepAll(fixture.store)
    await expectJournals(fixture.store, journals, B, C)
    expect(await contentsOf(fixture)).toMatchObject({ facts: { 1: 102, 2: 5, 3: 4 }, kept: [[1, 102]], doomed: 0 })
    await expectJournals(fixture.store, journals, B, C)
  })

  test('loses the facts that no remaining fork needs', async () => {
    await using fixture = await openTestStore()
    const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
    await writeEndedProcess(fixture.store, commits, journals, 100)
    await writeEndedFork(fixture.store, commits, journals, [B, A, 302])
    await writeEndedFork(fixture.store, commits, journals, [C, A, 42])
    await fixture.store.remove(A, REMOVED_AT)
    await fixture.store.remove(B, REMOVED_AT)
    await sweepAll(fixture.store)
    expect(await contentsOf(fixture)).toMatchObject({ facts: { 1: 42, 3: 4 }, kept: [[1, 42]], doomed: 0 })
    await expectJournals(fixture.store, journals, C)
    await fixture.store.remove(C, REMOVED_AT)
    await sweepAll(fixture.store)
    expect(await fixture.store.verify()).toEqual([])
    expect(await contentsOf(fixture)).toEqual(NOTHING)
    const [tombstoneOfC, tombstoneOfB] = [
      { uuid: C, pid: 3, name: null, removedAt: REMOVED_AT, originUuid: A },
      { uuid: B, pid: 2, name: null, removedAt: REMOVED_AT, originUuid: A },
    ]
    expect(await fixture.store.tombstone(C)).toEqual(tombstoneOfC)
    expect(await fixture.store.removedForks(A)).toEqual([tombstoneOfC, tombstoneOfB])
    expect([await fixture.store.removedForks(B), await fixture.store.forks(A)]).toEqual([[], []])
  })

  test('that ended where it was forked keeps all facts, and has nothing to sweep', async () => {
    await using fixture = await openTestStore()
    const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
    await writeEndedProcess(fixture.store, commits, journals, 10)
    await writeEndedFork(fixture.store, commits, journals, [B, A, 44])
    await fixture.store.remove(A, REMOVED_AT)
    expect(await fixture.store.sweep()).toBe(false)
    await expectJournals(fixture.store, journals, B)
    // No other process gets its key.
    await fixture.reopen()
    await writeEndedFork(fixture.store, commits, journals, [C, B, 20])
    await expectJournals(fixture.store, journals, B, C)
  })

  test('can no longer be forked, but its forks can', async () => {
    await using fixture = await openTestStore()
    const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
    await writeEndedProcess(fixture.store, commits, journals, 30)
    await writeEndedFork(fixture.store, commits, journals, [B, A, 102])
    await fixture.store.remove(A, REMOVED_AT)
    await writeEndedFork(fixture.store, commits, journals, [C, B, 22])
    await fixture.store.remove(B, REMOVED_AT)
    await sweepAll(fixture.store)
    await expectJournals(fixture.store, journals, C)
    expect(await contentsOf(fixture)).toMatchObject({ facts: { 1: 22, 3: 4 }, kept: [[1, 22]] })
  })

  test('loses its long texts, except those that a fork refers to', async () => {
    await using fixture = await openTestStore()
    const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
    const commit = commits.spawn(A, specOf(), makeOutput(LONG), makeOutput(`${LONG}of A`), makeOutput(LONG), ...endFacts())
    await fixture.store.commit(commit)
    journals.set(A, commit.facts)
    await writeEndedFork(fixture.store, commits, journals, [B, A, 3], makeOutput(`${LONG}of B`))
    await fixture.store.remove(A, REMOVED_AT)
    await sweepAll(fixture.store)
    await expectJournals(fixture.store, journals, B)
    expect(await contentsOf(fixture)).toMatchObject({ blobs: 2 })
    await fixture.store.remove(B, REMOVED_AT)
    await sweepAll(fixture.store)
    expect(await contentsOf(fixture)).toEqual(NOTHING)
  })
})

/** Writes a line of ended forks, each of the fork before it. */
async function writeLineOfForks(store: HomeStore, length: number): Promise<{ journals: Journals; commits: CommitMaker }> {
  const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
  await writeEndedProcess(store, commits, journals, 20)
  for (let number = 2; number <= length; number++) {
    const origin = uuidOf(number - 1)
    await writeEndedFork(
      store,
      commits,
      journals,
      [uuidOf(number), origin, (journals.get(origin)?.length ?? 0) - (number % 4)],
      makeOutput(`${number}`),
      makeOutput(LONG + number),
    )
  }
  return { journals, commits }
}

describe('a lineage of forks', () => {
  test('of a hundred is complete for its last fork when all others are removed, and is removed with it', async () => {
    await using fixture = await openTestStore()
    const { journals } = await writeLineOfForks(fixture.store, 101)
    const lastFork = uuidOf(101)
    for (let number = 1; number <= 100; number++) await fixture.store.remove(uuidOf(number), REMOVED_AT)
    await sweepAll(fixture.store)
    for (const openStore of [async () => fixture.store, fixture.reopen]) await expectJournals(await openStore(), journals, lastFork)
    await fixture.store.remove(lastFork, REMOVED_AT)
    await sweepAll(fixture.store)
    expect(await fixture.store.verify()).toEqual([])
    expect(await contentsOf(fixture)).toEqual(NOTHING)
  })

  test('can be removed from either end or the middle, and the remaining forks stay readable', async () => {
    for (const order of [
      [1, 2, 3, 4, 5],
      [5, 4, 3, 2, 1],
      [3, 1, 5, 2, 4],
      [2, 4, 1, 3, 5],
    ]) {
      await using fixture = await openTestStore()
      const { journals } = await writeLineOfForks(fixture.store, 5)
      const remaining = new Set([1, 2, 3, 4, 5])
      for (const [index, number] of order.entries()) {
        await fixture.store.remove(uuidOf(number), REMOVED_AT)
        remaining.delete(number)
        if (index % 2 === 0) await sweepAll(fixture.store)
        await expectJournals(fixture.store, journals, ...[...remaining].map(uuidOf))
      }
      await sweepAll(fixture.store)
      expect(await contentsOf(fixture), order.join()).toEqual(NOTHING)
    }
  })

  test('stays readable after a crash between any two batches of a removal', async () => {
    await using fixture = await openTestStore()
    const { journals } = await writeLineOfForks(fixture.store, 4)
    const lastFork = uuidOf(4)
    let crashes = 0
    const checkCrash = async (...remaining: string[]): Promise<void> => {
      const copy = join(fixture.dir, '..', `crash-${++crashes}`)
      cpSync(fixture.dir, copy, { recursive: true })
      await using store = await openSqliteStore({ dir: copy })
      await expectJournals(store, journals, ...remaining)
      await sweepAll(store)
      await expectJournals(store, journals, ...remaining)
    }
    for (const number of [2, 1, 3]) {
      await fixture.store.remove(uuidOf(number), REMOVED_AT)
      await checkCrash(lastFork)
      while (await fixture.store.sweep()) await checkCrash(lastFork)
    }
    await fixture.store.remove(lastFork, REMOVED_AT)
    while (await fixture.store.sweep()) await checkCrash()
    expect(crashes).toBeGreaterThan(8)
    expect(await contentsOf(fixture)).toEqual(NOTHING)
  })
})

test('many forks of a removed process stay readable, and its facts go with the last of them', async () => {
  await using fixture = await openTestStore()
  const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
  await writeEndedProcess(fixture.store, commits, journals, 50)
  const forks = Array.from({ length: deep(200, 1_000) }, (_, index) => uuidOf(10 + index))
  for (let firstIndex = 0; firstIndex < forks.length; firstIndex += 100) {
    const parts = forks
      .slice(firstIndex, firstIndex + 100)
      .map((uuid, index) => commits.fork(uuid, A, 2 + 4 * ((firstIndex + index) % 50), ...endFacts()))
    await fixture.store.commit({
      facts: parts.flatMap(({ facts }) => facts),
      processes: parts.flatMap(({ processes }) => processes),
      lastPid: commits.pid,
    })
    for (const { facts } of parts)
      journals.set(facts[0]?.uuid ?? '', [...(journals.get(A) ?? []).slice(0, (facts[0]?.seq ?? 0) - 1), ...facts])
  }
  await fixture.store.remove(A, REMOVED_AT)
  await sweepAll(fixture.store)
  await expectJournals(fixture.store, journals, ...forks)
  for (const uuid of forks) await fixture.store.remove(uuid, REMOVED_AT)
  await sweepAll(fixture.store)
  expect(await contentsOf(fixture)).toEqual(NOTHING)
}, 300_000)

/** Writes so many facts of another process that the next start reads no earlier facts. */
async function writeManyFacts(store: HomeStore, commits: CommitMaker): Promise<void> {
  await store.commit(commits.spawn(D, specOf(), ...Array.from({ length: 2_500 }, () => makeOutput('more'))))
}

describe('damage', () => {
  test.each<[string, string, object, RegExp]>([
    ['a fork with a changed base', 'UPDATE processes SET base = base - 1 WHERE key = 2', { table: 'processes', uuid: B }, /is damaged/],
    ['a fork with another origin', 'UPDATE processes SET origin = 3 WHERE key = 2', { table: 'processes', uuid: B }, /is damaged/],
    [
      'a fork without its origin',
      'UPDATE processes SET origin = NULL, forked_from = NULL, base = 0 WHERE key = 2',
      { table: 'processes', uuid: B },
      /is damaged/,
    ],
    ['a changed pin', 'UPDATE processes SET pinned = 1 WHERE key = 2', { table: 'processes', uuid: B }, /is damaged/],
    ['a kept process that ends earlier', 'UPDATE kept SET upto = upto - 1', { table: 'kept', uuid: A }, /is damaged/],
    ['a kept process that is missing', 'DELETE FROM kept', { table: 'processes', uuid: B }, /its origin 1 is missing/],
    [
      'a missing kept fact',
      'DELETE FROM journal WHERE process = 1 AND seq = 70',
      { table: 'journal', uuid: A, seq: 70 },
      /the fact is missing/,
    ],
    [
      'a changed kept fact',
      'UPDATE journal SET at = at + 1 WHERE process = 1 AND seq = 7',
      { table: 'journal', uuid: A, seq: 7 },
      /is damaged/,
    ],
    [
      'a missing block of places of kept facts',
      'DELETE FROM places WHERE process = 1 AND block = 1',
      { table: 'places', uuid: A, seq: 65 },
      /block 1 is missing/,
    ],
    [
      'a truncated block of places of kept facts',
      'UPDATE places SET entries = substr(entries, 1, 20) WHERE process = 1 AND block = 1',
      { table: 'places', uuid: A, seq: 65 },
      /is damaged/,
    ],
  ])('is reported with its location: %s', async (_, sql, location, message) => {
    await using fixture = await openTestStore()
    const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
    await writeEndedProcess(fixture.store, commits, journals, 30)
    await writeEndedFork(fixture.store, commits, journals, [B, A, 102], makeOutput('of B'))
    await writeEndedFork(fixture.store, commits, journals, [C, B, 104])
    await fixture.store.remove(A, REMOVED_AT)
    await sweepAll(fixture.store)
    await writeManyFacts(fixture.store, commits)
    const store = await fixture.tamper(sql)
    await expect(store.facts(B, 0, 1_000)).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: expect.stringMatching(message),
      details: location,
    })
    expect((await store.verify()).join('\n')).toMatch(message)
  })

  test.each<[string, string, (string | number)[], string]>([
    ['a kept process without a fork', 'UPDATE processes SET origin = NULL WHERE key = 2', [], `kept process ${A}: no fork needs it`],
    [
      'an origin that ends too early',
      'UPDATE kept SET upto = ?, sum = ?',
      [9, keptSum({ key: 1, uuid: A, origin: null, base: 0, upto: 9 })],
      `processes process ${B}: its origin ends with fact 9, before fact 10`,
    ],
  ])('is found: %s', async (_, sql, values, line) => {
    await using fixture = await openTestStore()
    const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
    await writeEndedProcess(fixture.store, commits, journals, 5)
    await writeEndedFork(fixture.store, commits, journals, [B, A, 10])
    await fixture.store.remove(A, REMOVED_AT)
    await sweepAll(fixture.store)
    await writeManyFacts(fixture.store, commits)
    expect(await fixture.store.verify()).toEqual([])
    expect(await (await fixture.tamper(sql, ...values)).verify()).toContainEqual(line)
  })

  test('in the list of pending deletions cannot remove an existing process', async () => {
    await using fixture = await openTestStore()
    const [commits, journals]: [CommitMaker, Journals] = [new CommitMaker(), new Map()]
    await writeEndedProcess(fixture.store, commits, journals, 5)
    const store = await fixture.tamper('INSERT INTO doomed VALUES (1, NULL)')
    await expect(store.sweep()).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    expect(await store.facts(A, 0, 100)).toStrictEqual(journals.get(A))
  })
})
