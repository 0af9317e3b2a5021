// The facts that removed processes keep for their forks: exactly those that the forks need, and only as long as the forks exist.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FactBody, StoredFact } from '../../../src/kernel/model/facts.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import type { Store } from '../../../src/store/store.ts'
import { keptSum } from '../../../src/store/rows/checksums.ts'
import { deep } from '../../support/deep.ts'
import { Scribe, endOf, specOf, stepOf, uuidOf } from '../../support/store/facts.ts'
import { changeFile, testStore } from '../../support/store/open.ts'
import type { TestStore } from '../../support/store/open.ts'

const [A, B, C, D] = [uuidOf(1), uuidOf(2), uuidOf(3), uuidOf(4)]
const AT = 1_700_000_000_500
const LONG = 'a long result '.repeat(1_000)
const output = (text: string): FactBody => ({ type: 'process.output', stream: 'stdout', text })

/** The expected journal of each process. */
type Journals = Map<string, readonly StoredFact[]>

async function sweepAll(store: Store): Promise<void> {
  while (await store.sweep());
}

/** An ended process with that number of steps. */
async function ended(store: Store, scribe: Scribe, journals: Journals, steps: number): Promise<void> {
  const commits = [scribe.spawn(A, specOf({ name: 'first' }))]
  for (let step = 1; step <= steps; step++) commits.push(scribe.write(A, ...stepOf(step)))
  commits.push(scribe.write(A, ...endOf()))
  for (const commit of commits) await store.commit(commit)
  journals.set(
    A,
    commits.flatMap(({ facts }) => facts),
  )
}

/** An ended fork, with facts of its own. */
async function endedFork(
  store: Store,
  scribe: Scribe,
  journals: Journals,
  [uuid, origin, seq]: readonly [string, string, number],
  ...own: FactBody[]
): Promise<void> {
  const commit = scribe.fork(uuid, origin, seq, ...own, ...endOf())
  await store.commit(commit)
  journals.set(uuid, [...(journals.get(origin) ?? []).slice(0, seq), ...commit.facts])
}

async function expectJournals(store: Store, journals: Journals, ...uuids: string[]): Promise<void> {
  for (const uuid of uuids) expect(await store.facts(uuid, 0, 10_000), uuid).toStrictEqual(journals.get(uuid))
  expect(await store.verify()).toEqual([])
}

/** The contents of the file: the facts by the key of their process, and the rows of the other tables. */
async function rest(
  at: TestStore,
): Promise<{ facts: Record<string, number>; kept: unknown[]; doomed: number; blobs: number; places: number; free: number }> {
  await at.close()
  const found = changeFile(at.dir, (db) => {
    const count = (table: string): number => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])
    const facts = db.prepare('SELECT process, count(*) AS n FROM journal GROUP BY process').all()
    return {
      facts: Object.fromEntries(facts.map(({ process, n }) => [String(process), Number(n)])),
      kept: db
        .prepare('SELECT key, upto FROM kept ORDER BY key')
        .all()
        .map((row) => Object.values(row)),
      doomed: count('doomed'),
      blobs: count('blobs'),
      places: count('places'),
      free: Number(db.prepare('PRAGMA freelist_count').get()?.['freelist_count']),
    }
  })
  await at.reopen()
  return found
}

const NOTHING = { facts: {}, kept: [], doomed: 0, blobs: 0, places: 0, free: 0 }

describe('a removed origin', () => {
  test('is invisible except to its forks, and keeps the facts that they need', async () => {
    await using at = await testStore()
    const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
    await ended(at.store, scribe, journals, 100)
    await endedFork(at.store, scribe, journals, [B, A, 102], output('of B'))
    await endedFork(at.store, scribe, journals, [C, A, 42])
    await at.store.remove(A, AT)
    for (const open of [async () => at.store, at.reopen]) {
      const store = await open()
      expect([await store.process(A), await store.facts(A, 0, 9), await store.tail(A, 9), await store.stepBounds(A, 1)]).toEqual([
        undefined,
        [],
        [],
        null,
      ])
      expect(await store.tombstone('first')).toEqual({ uuid: A, pid: 1, name: 'first', removedAt: AT, originUuid: null })
      expect(new Set((await store.since({ afterCursor: 0, limit: 999 })).map(({ uuid }) => uuid))).toEqual(new Set([B, C]))
      expect((await store.forks(A)).map(({ uuid }) => uuid)).toEqual([C, B])
      expect(await store.stepBounds(B, 20)).toEqual({ first: 79, next: 83 })
      await expectJournals(store, journals, B, C)
    }
    await expect(at.store.commit(scribe.fork(D, A, 3))).rejects.toMatchObject({ code: 'COLLECTED' })
    await sweepAll(at.store)
    await expectJournals(at.store, journals, B, C)
    expect(await rest(at)).toMatchObject({ facts: { 1: 102, 2: 5, 3: 4 }, kept: [[1, 102]], doomed: 0 })
    await expectJournals(at.store, journals, B, C)
  })

  test('loses the facts that no remaining fork needs', async () => {
    await using at = await testStore()
    const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
    await ended(at.store, scribe, journals, 100)
    await endedFork(at.store, scribe, journals, [B, A, 302])
    await endedFork(at.store, scribe, journals, [C, A, 42])
    await at.store.remove(A, AT)
    await at.store.remove(B, AT)
    await sweepAll(at.store)
    expect(await rest(at)).toMatchObject({ facts: { 1: 42, 3: 4 }, kept: [[1, 42]], doomed: 0 })
    await expectJournals(at.store, journals, C)
    await at.store.remove(C, AT)
    await sweepAll(at.store)
    expect(await at.store.verify()).toEqual([])
    expect(await rest(at)).toEqual(NOTHING)
    const [gone, before] = [
      { uuid: C, pid: 3, name: null, removedAt: AT, originUuid: A },
      { uuid: B, pid: 2, name: null, removedAt: AT, originUuid: A },
    ]
    expect(await at.store.tombstone(C)).toEqual(gone)
    expect(await at.store.removedForks(A)).toEqual([gone, before])
    expect([await at.store.removedForks(B), await at.store.forks(A)]).toEqual([[], []])
  })

  test('that ended where it was forked keeps all facts, and has nothing to sweep', async () => {
    await using at = await testStore()
    const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
    await ended(at.store, scribe, journals, 10)
    await endedFork(at.store, scribe, journals, [B, A, 44])
    await at.store.remove(A, AT)
    expect(await at.store.sweep()).toBe(false)
    await expectJournals(at.store, journals, B)
    // No other process gets its key.
    await at.reopen()
    await endedFork(at.store, scribe, journals, [C, B, 20])
    await expectJournals(at.store, journals, B, C)
  })

  test('cannot be forked any more, but its forks can', async () => {
    await using at = await testStore()
    const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
    await ended(at.store, scribe, journals, 30)
    await endedFork(at.store, scribe, journals, [B, A, 102])
    await at.store.remove(A, AT)
    await endedFork(at.store, scribe, journals, [C, B, 22])
    await at.store.remove(B, AT)
    await sweepAll(at.store)
    await expectJournals(at.store, journals, C)
    expect(await rest(at)).toMatchObject({ facts: { 1: 22, 3: 4 }, kept: [[1, 22]] })
  })

  test('loses its long texts, except those that a fork refers to', async () => {
    await using at = await testStore()
    const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
    const commit = scribe.spawn(A, specOf(), output(LONG), output(`${LONG}of A`), output(LONG), ...endOf())
    await at.store.commit(commit)
    journals.set(A, commit.facts)
    await endedFork(at.store, scribe, journals, [B, A, 3], output(`${LONG}of B`))
    await at.store.remove(A, AT)
    await sweepAll(at.store)
    await expectJournals(at.store, journals, B)
    expect(await rest(at)).toMatchObject({ blobs: 2 })
    await at.store.remove(B, AT)
    await sweepAll(at.store)
    expect(await rest(at)).toEqual(NOTHING)
  })
})

/** A line of forks, each after the fact `base` of the one before, all ended. */
async function line(store: Store, length: number): Promise<{ journals: Journals; scribe: Scribe }> {
  const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
  await ended(store, scribe, journals, 20)
  for (let number = 2; number <= length; number++) {
    const above = uuidOf(number - 1)
    await endedFork(
      store,
      scribe,
      journals,
      [uuidOf(number), above, (journals.get(above)?.length ?? 0) - (number % 4)],
      output(`${number}`),
      output(LONG + number),
    )
  }
  return { journals, scribe }
}

describe('a lineage of forks', () => {
  test('of a hundred is complete for its last fork when all others are removed, and is removed with it', async () => {
    await using at = await testStore()
    const { journals } = await line(at.store, 101)
    const last = uuidOf(101)
    for (let number = 1; number <= 100; number++) await at.store.remove(uuidOf(number), AT)
    await sweepAll(at.store)
    for (const open of [async () => at.store, at.reopen]) await expectJournals(await open(), journals, last)
    await at.store.remove(last, AT)
    await sweepAll(at.store)
    expect(await at.store.verify()).toEqual([])
    expect(await rest(at)).toEqual(NOTHING)
  })

  test('can be removed from either end or the middle, and the remaining forks stay readable', async () => {
    for (const order of [
      [1, 2, 3, 4, 5],
      [5, 4, 3, 2, 1],
      [3, 1, 5, 2, 4],
      [2, 4, 1, 3, 5],
    ]) {
      await using at = await testStore()
      const { journals } = await line(at.store, 5)
      const left = new Set([1, 2, 3, 4, 5])
      for (const [index, number] of order.entries()) {
        await at.store.remove(uuidOf(number), AT)
        left.delete(number)
        if (index % 2 === 0) await sweepAll(at.store)
        await expectJournals(at.store, journals, ...[...left].map(uuidOf))
      }
      await sweepAll(at.store)
      expect(await rest(at), order.join()).toEqual(NOTHING)
    }
  })

  test('stays readable after a crash between any two batches of a removal', async () => {
    await using at = await testStore()
    const { journals } = await line(at.store, 4)
    const last = uuidOf(4)
    let crashes = 0
    const crash = async (...left: string[]): Promise<void> => {
      const copy = join(at.dir, '..', `crash-${++crashes}`)
      cpSync(at.dir, copy, { recursive: true })
      await using store = await openSqliteStore({ dir: copy })
      await expectJournals(store, journals, ...left)
      await sweepAll(store)
      await expectJournals(store, journals, ...left)
    }
    for (const number of [2, 1, 3]) {
      await at.store.remove(uuidOf(number), AT)
      await crash(last)
      while (await at.store.sweep()) await crash(last)
    }
    await at.store.remove(last, AT)
    while (await at.store.sweep()) await crash()
    expect(crashes).toBeGreaterThan(8)
    expect(await rest(at)).toEqual(NOTHING)
  })
})

test('many forks of a removed process stay readable, and its facts go with the last of them', async () => {
  await using at = await testStore()
  const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
  await ended(at.store, scribe, journals, 50)
  const forks = Array.from({ length: deep(200, 1_000) }, (_, index) => uuidOf(10 + index))
  for (let first = 0; first < forks.length; first += 100) {
    const commits = forks.slice(first, first + 100).map((uuid, index) => scribe.fork(uuid, A, 2 + 4 * ((first + index) % 50), ...endOf()))
    await at.store.commit({
      facts: commits.flatMap(({ facts }) => facts),
      processes: commits.flatMap(({ processes }) => processes),
      counters: { pid: scribe.pid, cursor: scribe.cursor },
    })
    for (const { facts } of commits)
      journals.set(facts[0]?.uuid ?? '', [...(journals.get(A) ?? []).slice(0, (facts[0]?.seq ?? 0) - 1), ...facts])
  }
  await at.store.remove(A, AT)
  await sweepAll(at.store)
  await expectJournals(at.store, journals, ...forks)
  for (const uuid of forks) await at.store.remove(uuid, AT)
  await sweepAll(at.store)
  expect(await rest(at)).toEqual(NOTHING)
}, 120_000)

/** Enough facts of another process that the next start reads no earlier facts. */
async function distance(store: Store, scribe: Scribe): Promise<void> {
  await store.commit(scribe.spawn(D, specOf(), ...Array.from({ length: 2_500 }, () => output('more'))))
}

describe('damage', () => {
  test.each<[string, string, object, RegExp]>([
    ['a fork with a changed base', 'UPDATE processes SET base = base - 1 WHERE key = 2', { table: 'processes', uuid: B }, /is damaged/],
    ['a fork with another origin', 'UPDATE processes SET origin = 3 WHERE key = 2', { table: 'processes', uuid: B }, /is damaged/],
    [
      'a fork that is none any more',
      'UPDATE processes SET origin = NULL, forked_from = NULL, base = 0 WHERE key = 2',
      { table: 'processes', uuid: B },
      /is damaged/,
    ],
    ['a changed pin', 'UPDATE processes SET pinned = 1 WHERE key = 2', { table: 'processes', uuid: B }, /is damaged/],
    ['a kept process that ends earlier', 'UPDATE kept SET upto = upto - 1', { table: 'kept', uuid: A }, /is damaged/],
    ['a kept process that is missing', 'DELETE FROM kept', { table: 'processes', uuid: B }, /its origin 1 is missing/],
    [
      'a kept fact that is gone',
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
      'a kept block of places that is gone',
      'DELETE FROM places WHERE process = 1 AND block = 1',
      { table: 'places', uuid: A, seq: 65 },
      /block 1 is missing/,
    ],
    [
      'a kept block of places that is cut',
      'UPDATE places SET entries = substr(entries, 1, 20) WHERE process = 1 AND block = 1',
      { table: 'places', uuid: A, seq: 65 },
      /is damaged/,
    ],
  ])('is reported with its location: %s', async (_, sql, place, message) => {
    await using at = await testStore()
    const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
    await ended(at.store, scribe, journals, 30)
    await endedFork(at.store, scribe, journals, [B, A, 102], output('of B'))
    await endedFork(at.store, scribe, journals, [C, B, 104])
    await at.store.remove(A, AT)
    await sweepAll(at.store)
    await distance(at.store, scribe)
    const store = await at.tamper(sql)
    await expect(store.facts(B, 0, 1_000)).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: expect.stringMatching(message),
      details: place,
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
    await using at = await testStore()
    const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
    await ended(at.store, scribe, journals, 5)
    await endedFork(at.store, scribe, journals, [B, A, 10])
    await at.store.remove(A, AT)
    await sweepAll(at.store)
    await distance(at.store, scribe)
    expect(await at.store.verify()).toEqual([])
    expect(await (await at.tamper(sql, ...values)).verify()).toContainEqual(line)
  })

  test('in the list of pending deletions cannot remove an existing process', async () => {
    await using at = await testStore()
    const [scribe, journals]: [Scribe, Journals] = [new Scribe(), new Map()]
    await ended(at.store, scribe, journals, 5)
    const store = await at.tamper('INSERT INTO doomed VALUES (1, NULL)')
    await expect(store.sweep()).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    expect(await store.facts(A, 0, 100)).toStrictEqual(journals.get(A))
  })
})
