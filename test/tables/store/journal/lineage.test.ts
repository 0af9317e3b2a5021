// Forks in the store: a fork costs two rows, and is read as one journal with its origin. Some forks are refused.
// Removing forks and origins is tested in test/tables/store/kept-facts.test.ts.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FactBody, PageFilter, StoredFact } from '../../../../src/kernel/model/facts.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import type { Commit, Counters, HomeStore } from '../../../../src/store/store.ts'
import { CommitMaker, endFacts, forkedOf, modelFinished, specOf, stepOf, uuidOf } from '../../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../../support/store/test-store.ts'
import { filterPage } from '../../../support/store/reference-page-filter.ts'

const [A, B, C, D] = [uuidOf(1), uuidOf(2), uuidOf(3), uuidOf(4)]
const makeNote = (text: string): FactBody => ({ type: 'process.note', text })

/** Writes a process with this number of steps: step N ends with fact 2 + 4 N. Returns its facts. */
async function writeSteps(store: HomeStore, commits: CommitMaker, uuid: string, steps: number): Promise<StoredFact[]> {
  const history = [commits.spawn(uuid)]
  for (let step = 1; step <= steps; step++) history.push(commits.write(uuid, ...stepOf(step)))
  for (const commit of history) await store.commit(commit)
  return history.flatMap(({ facts }) => facts)
}

async function commitFacts(store: HomeStore, commit: Commit): Promise<readonly StoredFact[]> {
  return await store.commit(commit)
}

/** Makes one commit of several. */
function joinCommits(parts: readonly Commit[], { pid }: Counters): Commit {
  return {
    facts: parts.flatMap(({ facts }) => facts),
    processes: parts.flatMap(({ processes }) => processes),
    lastPid: pid,
  }
}

async function readPages(store: HomeStore, uuid: string, limit: number): Promise<StoredFact[]> {
  const allFacts: StoredFact[] = []
  while (true) {
    const page = await store.facts(uuid, allFacts.length, limit)
    allFacts.push(...page)
    if (page.length < limit) return allFacts
  }
}

describe('a fork', () => {
  test('reads as one journal with its origin, wherever a page starts', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const origin = await writeSteps(fixture.store, commits, A, 40)
    const ownFacts = await commitFacts(
      fixture.store,
      commits.fork(B, A, 102, ...stepOf(26), ...Array.from({ length: 80 }, (_, index) => makeNote(`${index}`))),
    )
    const wholeJournal = [...origin.slice(0, 102), ...ownFacts]
    for (const openStore of [async () => fixture.store, fixture.reopen]) {
      const store = await openStore()
      expect(wholeJournal.map(({ seq }) => seq)).toEqual(wholeJournal.map((_, index) => index + 1))
      for (const limit of [1, 7, 64, 101, 102, 103, 1_000])
        expect(await readPages(store, B, limit), `pages of ${limit}`).toStrictEqual(wholeJournal)
      for (const readEach of [
        { without: ['tool.started'], marks: ['model.started'] },
        { without: ['process.note'], marks: [] },
      ] satisfies PageFilter[]) {
        for (const limit of [1, 7, 101, 102, 103, 1_000])
          for (const after of [0, 64, 100, 101, 102]) {
            expect(await store.filteredFacts(B, after, limit, readEach), `${limit} after ${after}`).toStrictEqual(
              filterPage(wholeJournal.slice(after, after + limit), readEach),
            )
          }
      }
      for (const limit of [1, 50, 86, 87, 100, 1_000])
        expect(await store.tail(B, limit), `the last ${limit}`).toStrictEqual(wholeJournal.slice(-limit))
      const calls = wholeJournal.filter(({ body }) => body.type === 'tool.finished')
      expect(await store.tail(B, 5, ['tool.finished'])).toStrictEqual(calls.slice(-5))
      expect(await store.tail(B, 5, ['tool.finished'], 90)).toStrictEqual(calls.filter(({ seq }) => seq < 90).slice(-5))
      expect(await store.since({ afterCursor: 0, limit: 1_000, uuid: B })).toStrictEqual(ownFacts)
      expect(await store.since({ afterCursor: 0, limit: 1_000 })).toStrictEqual([...origin, ...ownFacts])
      expect(await store.facts(A, 0, 1_000)).toStrictEqual(origin)
      expect(await store.process(B)).toStrictEqual(commits.get(B))
      expect(await store.verify()).toEqual([])
    }
  })

  test('writes two rows, however long the journal of its origin is', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await writeSteps(fixture.store, commits, A, 200)
    const { journal, processes, ...rest } = await countRows(fixture.store, fixture.dir, fixture.close)
    const store = await fixture.reopen()
    commits.pid += 1
    await store.commit(commits.write(B, forkedOf(commits.pid, { uuid: A, step: 200, seq: 802 })))
    expect(await countRows(store, fixture.dir, fixture.close)).toEqual({
      ...rest,
      journal: Number(journal) + 1,
      processes: Number(processes) + 1,
    })
  })

  test('does not change when its origin continues', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const origin = await writeSteps(fixture.store, commits, A, 5)
    const ownFacts = await commitFacts(fixture.store, commits.fork(B, A, 14))
    for (let step = 6; step <= 60; step++) {
      await fixture.store.commit(commits.write(A, ...stepOf(step)))
      if (step % 6 === 0)
        expect(await fixture.store.facts(B, 0, 100), `after step ${step} of the origin`).toStrictEqual([
          ...origin.slice(0, 14),
          ...ownFacts,
        ])
    }
    await fixture.store.commit(commits.write(A, ...endFacts()))
    expect(await (await fixture.reopen()).facts(B, 0, 100)).toStrictEqual([...origin.slice(0, 14), ...ownFacts])
  })

  test('of a fork, after a fact that is shared with the first origin, is stored as a fork of the first origin', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const origin = await writeSteps(fixture.store, commits, A, 10)
    const firstFork = await commitFacts(fixture.store, commits.fork(B, A, 30, makeNote('of B')))
    const secondFork = await commitFacts(fixture.store, commits.fork(C, B, 30, makeNote('of C')))
    const thirdFork = await commitFacts(fixture.store, commits.fork(D, C, 31, makeNote('of D')))
    expect(await fixture.store.facts(C, 0, 100)).toStrictEqual([...origin.slice(0, 30), ...secondFork])
    expect(await fixture.store.facts(D, 0, 100)).toStrictEqual([...origin.slice(0, 30), secondFork[0], ...thirdFork])
    expect(await fixture.store.facts(B, 28, 3)).toStrictEqual([...origin.slice(28, 30), firstFork[0]])
    expect((await fixture.store.process(C))?.originUuid).toBe(B)
    expect((await fixture.store.forks(A)).map(({ uuid }) => uuid)).toEqual([B])
    expect((await fixture.store.forks(B)).map(({ uuid }) => uuid)).toEqual([C])
    await fixture.close()
    expect(
      changeStoreFile(fixture.dir, (db) =>
        db
          .prepare('SELECT origin, base FROM processes ORDER BY key')
          .all()
          .map((row) => Object.values(row)),
      ),
    ).toEqual([
      [null, 0],
      [1, 30],
      [1, 30],
      [3, 31],
    ])
  })

  test('may come in one commit with its origin, which comes first', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const parts = [commits.spawn(A, specOf(), makeNote('of A')), commits.fork(B, A, 3), commits.fork(C, B, 3), commits.fork(D, C, 2)]
    await fixture.store.commit(joinCommits(parts, commits))
    const store = await fixture.reopen()
    for (const [index, uuid] of [B, C, D].entries()) {
      const [base, ownFacts] = [index === 2 ? 2 : 3, parts[index + 1]?.facts ?? []]
      expect(await store.facts(uuid, 0, 10)).toStrictEqual([...(parts[0]?.facts ?? []).slice(0, base), ...ownFacts])
    }
    expect(await store.verify()).toEqual([])
  })

  test('of a process whose row is out of date is complete after a crash', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await writeSteps(fixture.store, commits, A, 30)
    await fixture.store.commit(commits.fork(B, A, 122))
    await fixture.store.commit(commits.write(B, ...stepOf(31)))
    await fixture.store.commit(commits.write(A, ...stepOf(31)))
    const crashed = join(fixture.dir, '..', 'crashed')
    cpSync(fixture.dir, crashed, { recursive: true })
    await using store = await openSqliteStore({ dir: crashed })
    for (const uuid of [A, B]) {
      expect(await store.process(uuid)).toStrictEqual(commits.get(uuid))
      expect(await store.facts(uuid, 0, 1_000)).toStrictEqual(await fixture.store.facts(uuid, 0, 1_000))
    }
    expect(await store.verify()).toEqual([])
  })

  test('may be one of more than a thousand, of which the newest thousand are listed', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const origin = await writeSteps(fixture.store, commits, A, 20)
    for (let firstIndex = 0; firstIndex < 1_001; firstIndex += 91) {
      const parts = Array.from({ length: 91 }, (_, index) =>
        commits.fork(uuidOf(10 + firstIndex + index), A, 2 + 4 * ((firstIndex + index) % 20)),
      )
      await fixture.store.commit(joinCommits(parts, commits))
    }
    const forks = await fixture.store.forks(A)
    expect(forks).toHaveLength(1_000)
    expect(forks[0]).toStrictEqual(commits.get(uuidOf(1_010)))
    expect(forks.at(-1)?.uuid).toBe(uuidOf(11))
    for (const { uuid, originSeq } of [...forks.slice(0, 20), ...forks.slice(-20)]) {
      expect((await fixture.store.facts(uuid, 0, 100)).slice(0, -2)).toStrictEqual(origin.slice(0, originSeq ?? 0))
    }
  })

  test('may be the hundredth in a lineage, each with a step and some own facts', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    let wholeJournal = await writeSteps(fixture.store, commits, uuidOf(1), 20)
    for (let number = 2; number <= 101; number++) {
      const base = wholeJournal.length - (number % 5)
      const ownFacts = await commitFacts(
        fixture.store,
        commits.fork(
          uuidOf(number),
          uuidOf(number - 1),
          base,
          ...stepOf(number),
          ...(number % 10 === 0 ? Array.from({ length: 70 }, () => makeNote('more')) : []),
        ),
      )
      wholeJournal = [...wholeJournal.slice(0, base), ...ownFacts]
    }
    for (const openStore of [async () => fixture.store, fixture.reopen]) {
      const store = await openStore()
      for (const limit of [13, 200, 10_000]) expect(await readPages(store, uuidOf(101), limit)).toStrictEqual(wholeJournal)
      expect(await store.tail(uuidOf(101), 300)).toStrictEqual(wholeJournal.slice(-300))
      expect(await store.tail(uuidOf(101), 1, ['process.spawned'])).toStrictEqual(wholeJournal.slice(0, 1))
    }
    expect(await fixture.store.verify()).toEqual([])
  })
})

async function countRows(store: HomeStore, dir: string, close: () => Promise<void>): Promise<Record<string, number>> {
  expect(await store.verify()).toEqual([])
  await close()
  const tables = ['journal', 'processes', 'places', 'blobs', 'shared', 'kept', 'doomed']
  return changeStoreFile(dir, (db) =>
    Object.fromEntries(tables.map((table) => [table, Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])])),
  )
}

describe('a fork is refused', () => {
  const forkCommit = (commits: CommitMaker, seq: number, origin = A): Commit => commits.fork(B, origin, seq)
  test.each<[string, string, RegExp, (commits: CommitMaker) => Commit]>([
    ['of a process that was removed', 'COLLECTED', /was removed/, (commits) => forkCommit(commits, 3, C)],
    ['of a process that never existed', 'COLLECTED', /was removed/, (commits) => forkCommit(commits, 3, D)],
    ['after a fact that does not exist yet', 'INTERNAL', /after fact 11 of .* has 10/, (commits) => forkCommit(commits, 11)],
    ['after no fact', 'INTERNAL', /after fact 0/, (commits) => forkCommit(commits, 0)],
    ['of itself', 'COLLECTED', /was removed/, (commits) => forkCommit(commits, 3, B)],
    ['into an existing process', 'INTERNAL', /A fork needs a new process/, (commits) => commits.fork(A, A, 10)],
    [
      'whose row names another fact of its origin',
      'INTERNAL',
      /another origin/,
      (commits) => {
        const commit = forkCommit(commits, 6)
        return { ...commit, processes: commit.processes.map((process) => ({ ...process, originSeq: 5 })) }
      },
    ],
    [
      'that stands before its origin in the commit',
      'COLLECTED',
      /was removed/,
      (commits) => {
        commits.spawn(D)
        commits.cursor -= 2
        const parts = [commits.fork(B, D, 2), new CommitMaker(commits).spawn(D)]
        return joinCommits(parts, { pid: 4, cursor: 99 })
      },
    ],
  ])('%s', async (_, code, message, make) => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(C, specOf(), ...endFacts()))
    await writeSteps(fixture.store, commits, A, 2)
    await fixture.store.remove(C, 1)
    const before = await fixture.store.load()
    await expect(fixture.store.commit(make(new CommitMaker(before.counters, before.processes)))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
    expect(await fixture.store.load()).toStrictEqual(before)
    expect(await fixture.store.facts(B, 0, 10)).toEqual([])
    await fixture.store.commit(commits.fork(B, A, 10))
    expect(await fixture.store.facts(B, 0, 100)).toHaveLength(12)
    expect(await fixture.store.verify()).toEqual([])
  })
})

describe('the start of a step', () => {
  test('is found in a journal of any length, and across forks', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await writeSteps(fixture.store, commits, A, 300)
    await fixture.store.commit(
      commits.fork(B, A, 402, ...stepOf(101), ...Array.from({ length: 200 }, () => makeNote('a long talk')), ...stepOf(102)),
    )
    for (const step of [1, 2, 16, 17, 99, 100, 299])
      expect(await fixture.store.stepBounds(A, step)).toEqual({ first: 4 * step - 1, next: 4 * step + 3 })
    expect(await fixture.store.stepBounds(A, 300)).toEqual({ first: 1_199, next: null })
    expect([await fixture.store.stepBounds(A, 0), await fixture.store.stepBounds(A, 301), await fixture.store.stepBounds(C, 1)]).toEqual([
      null,
      null,
      null,
    ])
    expect(await fixture.store.stepBounds(B, 7)).toEqual({ first: 27, next: 31 })
    expect(await fixture.store.stepBounds(B, 100)).toEqual({ first: 399, next: 405 })
    expect(await fixture.store.stepBounds(B, 101)).toEqual({ first: 405, next: 609 })
    expect(await fixture.store.stepBounds(B, 102)).toEqual({ first: 609, next: null })
    expect(await fixture.store.stepBounds(B, 103)).toBeNull()
  })

  test('is its first attempt', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const restartStep = (step: number, attempt: number): FactBody => ({ type: 'model.started', step, attempt, model: 'm' })
    await fixture.store.commit(
      commits.spawn(
        A,
        specOf(),
        restartStep(1, 1),
        restartStep(1, 2),
        restartStep(1, 3),
        ...modelFinished(1, 'x'),
        restartStep(3, 1),
        restartStep(3, 2),
      ),
    )
    expect(await fixture.store.stepBounds(A, 1)).toEqual({ first: 3, next: 8 })
    expect(await fixture.store.stepBounds(A, 2)).toBeNull()
    expect(await fixture.store.stepBounds(A, 3)).toEqual({ first: 8, next: null })
  })
})
