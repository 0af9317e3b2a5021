// Inconsistent commits: each is refused as INTERNAL, and leaves the store and its writer unchanged.
import { describe, expect, test } from 'vitest'
import type { StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import type { Commit } from '../../../../src/store/store.ts'
import { CommitMaker, endFacts, modelFinished, uuidOf } from '../../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../../support/store/test-store.ts'

const A = uuidOf(1)

type Change = (commit: Commit) => Commit
const withFact =
  (change: Partial<StoredFact>): Change =>
  (commit) => ({ ...commit, facts: commit.facts.map((fact, index) => (index === 0 ? { ...fact, ...change } : fact)) })
const withRow =
  (change: Partial<Process>): Change =>
  (commit) => ({ ...commit, processes: commit.processes.map((process) => ({ ...process, ...change })) })

describe('a commit after fact 2 and cursor 2 is refused for', () => {
  test.each<[string, Change, RegExp]>([
    ['a gap in the fact numbers', withFact({ seq: 4 }), /Fact 4 cannot follow 2/],
    ['a repeated fact number', withFact({ seq: 2 }), /Fact 2 cannot follow 2/],
    ['a time that is not a whole number', withFact({ at: 0.5 }), /not a whole number/],
    ['a fact of an unknown type', withFact({ body: { type: 'no.such' } as never }), /unknown type no.such/],
    ['a row that is behind its facts', withRow({ seq: 3 }), /row is at fact 3, the journal at 4/],
    ['a row that is ahead of its facts', withRow({ seq: 5 }), /row is at fact 5/],
    ['a spec at a fact without one', withRow({ specSeq: 2 }), /has the spec at fact 2/],
    ['a PID above its counter', withRow({ pid: 2 }), /PID 2 is above its counter/],
    [
      'a dead process without an exit time',
      withRow({ life: { state: 'dead', exit: { code: 0, reason: 'x', cause: 'agent' } } }),
      /no exit time/,
    ],
    ['facts without a row', (commit) => ({ ...commit, processes: [] }), /facts in a commit, but no row/],
    ['a row twice', (commit) => ({ ...commit, processes: [...commit.processes, ...commit.processes] }), /twice in one commit/],
    [
      'a row of a process that has no fact',
      (commit) => ({ ...commit, processes: [...commit.processes, { ...rowOf(commit), uuid: uuidOf(8), seq: 0 }] }),
      /at fact 0/,
    ],
  ])('%s', async (_, change, message) => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(A))
    const before = await fixture.store.load()
    const validCommit = commits.write(A, ...modelFinished(1, 'text'))
    await expect(fixture.store.commit(change(validCommit))).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringMatching(message),
    })
    expect(await fixture.store.load()).toStrictEqual(before)
    expect(await fixture.store.facts(A, 0, 10)).toHaveLength(2)
    await fixture.store.commit(validCommit)
    expect(await fixture.store.facts(A, 2, 10)).toStrictEqual(validCommit.facts)
    expect(await fixture.store.verify()).toEqual([])
  })
})

function rowOf(commit: Commit): Process {
  const [process] = commit.processes
  if (process === undefined) throw new Error('the commit has no row')
  return process
}

test('a row that another writer changed is not overwritten, and nothing of the commit is written', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(A))
  await fixture.close()
  // A trigger plays the other writer: it changes the row between this store's read and its write.
  changeStoreFile(fixture.dir, (db) =>
    db.exec('CREATE TRIGGER other AFTER INSERT ON journal BEGIN UPDATE processes SET seq = seq + 1; END'),
  )
  const store = await fixture.reopen()
  await expect(store.commit(commits.write(A, ...endFacts()))).rejects.toMatchObject({
    code: 'INTERNAL',
    message: expect.stringContaining('another writer'),
  })
  expect(await store.since({ afterCursor: 2, limit: 10 })).toEqual([])
})

test('a closed store reports that it is closed', async () => {
  await using fixture = await openTestStore()
  await fixture.close()
  await expect(fixture.store.commit(new CommitMaker().spawn(A))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await expect(fixture.store.load()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
