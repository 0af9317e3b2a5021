// The removal of a process from a store: the removed, kept and recorded rows, in small batches of work.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import { BATCH_FACTS } from '../../../../src/store/write/remove.ts'
import type { Store } from '../../../../src/store/store.ts'
import { CommitMaker, endFacts, modelFinished, specOf, toolFinished, uuidOf } from '../../../support/store/facts.ts'
import { SCHEMA_2, changeStoreFile, openTestStore, type TestStore } from '../../../support/store/test-store.ts'

const A = uuidOf(1)
const B = uuidOf(2)
const REMOVED_AT = 1_700_000_000_500
const makeOutput = (text: string): FactBody => ({ type: 'process.output', stream: 'stdout', text })
const rowsOf = (fixture: TestStore, table: string): number =>
  changeStoreFile(fixture.dir, (db) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']))

async function sweepAll(store: Store): Promise<number> {
  let batches = 0
  while (await store.sweep()) batches += 1
  return batches
}

/** Writes an ended process with this number of steps. */
async function writeEndedProcess(store: Store, commits: CommitMaker, uuid: string, steps: number): Promise<void> {
  await store.commit(commits.spawn(uuid, specOf({ name: `n${uuid.at(-1)}` })))
  for (let step = 1; step <= steps; step++)
    await store.commit(commits.write(uuid, ...modelFinished(step, 'text'), ...toolFinished(step, 'content')))
  await store.commit(commits.write(uuid, ...endFacts()))
}

describe('a removed process', () => {
  test('is invisible to every reader at once, and its tombstone is found', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await writeEndedProcess(fixture.store, commits, A, 3)
    await writeEndedProcess(fixture.store, commits, B, 1)
    expect(await fixture.store.remove(A, REMOVED_AT)).toBe(true)
    for (const openStore of [async () => fixture.store, fixture.reopen]) {
      const store = await openStore()
      expect(await store.process(A)).toBeUndefined()
      expect((await store.dead({ limit: 9 })).map(({ uuid }) => uuid)).toEqual([B])
      expect([await store.facts(A, 0, 9), await store.tail(A, 9), await store.since({ afterCursor: 0, limit: 9, uuid: A })]).toEqual([
        [],
        [],
        [],
      ])
      expect(new Set((await store.since({ afterCursor: 0, limit: 99 })).map(({ uuid }) => uuid))).toEqual(new Set([B]))
      const tombstone = { uuid: A, pid: 1, name: 'n1', removedAt: REMOVED_AT, originUuid: null }
      for (const ref of [A, '1', 'n1', A.slice(-6), A.replaceAll('-', '').slice(0, 14), A.toUpperCase()]) {
        expect(await store.find(ref), ref).not.toContain(A)
        expect(await store.tombstone(ref), ref).toEqual(tombstone)
      }
      expect(await store.tombstone('nobody')).toBeUndefined()
      expect(await store.remove(A, REMOVED_AT)).toBe(false)
      expect(await store.verify()).toEqual([])
    }
  })

  test('must have been dead: a removal of a live process or a zombie is refused', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(A))
    await fixture.store.commit(commits.write(A, ...modelFinished(1, 'text')))
    await expect(fixture.store.remove(A, REMOVED_AT)).rejects.toMatchObject({ code: 'CONFLICT' })
    await fixture.store.commit(commits.write(A, ...endFacts().slice(0, 1)))
    await expect(fixture.store.remove(A, REMOVED_AT)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await fixture.store.process(A)).toStrictEqual(commits.get(A))
    expect(await fixture.store.sweep()).toBe(false)
  })

  test('can no longer be written: a later commit is refused as a whole', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await writeEndedProcess(fixture.store, commits, A, 1)
    const lateCommit = commits.write(A, { type: 'process.resumed', pid: 1, by: 'user', fromStep: 1 })
    await fixture.store.remove(A, REMOVED_AT)
    await expect(fixture.store.commit(lateCommit)).rejects.toMatchObject({ code: 'INTERNAL' })
    expect(await fixture.store.process(A)).toBeUndefined()
    await sweepAll(fixture.store)
    expect(await fixture.store.verify()).toEqual([])
  })

  test('releases no PID, cursor or key, even if it was the last', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await writeEndedProcess(fixture.store, commits, A, 100)
    await fixture.store.remove(A, REMOVED_AT)
    await fixture.reopen()
    expect((await fixture.store.load()).counters).toEqual({ pid: 1, cursor: commits.cursor })
    // Another process starts while facts of the first are left.
    await writeEndedProcess(fixture.store, commits, B, 40)
    const facts = await fixture.store.facts(B, 0, 1_000)
    expect(facts).toHaveLength(commits.get(B).seq)
    expect((await fixture.store.since({ afterCursor: 0, limit: 1_000 })).map(({ cursor }) => cursor)).toEqual(
      facts.map(({ cursor }) => cursor),
    )
    await sweepAll(fixture.store)
    expect(await (await fixture.reopen()).process(B)).toStrictEqual(commits.get(B))
    expect(await fixture.store.facts(B, 0, 1_000)).toStrictEqual(facts)
    expect((await fixture.store.load()).counters).toEqual({ pid: 2, cursor: commits.cursor })
    expect(await fixture.store.verify()).toEqual([])
  })
})

describe('sweeping', () => {
  test('works in batches, continues after a restart, and leaves nothing', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await writeEndedProcess(fixture.store, commits, A, 600)
    await writeEndedProcess(fixture.store, commits, B, 1)
    await fixture.store.remove(A, REMOVED_AT)
    await fixture.store.sweep()
    await fixture.close()
    const remainingFacts = rowsOf(fixture, 'journal')
    expect(remainingFacts).toBeGreaterThan(600 * 4 - 2 * BATCH_FACTS)
    await fixture.reopen()
    expect(await fixture.store.verify()).toEqual([])
    expect(await sweepAll(fixture.store)).toBeGreaterThanOrEqual((600 * 4) / BATCH_FACTS - 2)
    expect(await fixture.store.process(B)).toStrictEqual(commits.get(B))
    await fixture.close()
    expect([rowsOf(fixture, 'journal'), rowsOf(fixture, 'places'), rowsOf(fixture, 'doomed')]).toEqual([commits.get(B).seq, 0, 0])
  })

  test('keeps a long text as long as a fact refers to it', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    const [long, other] = ['same '.repeat(5_000), 'other '.repeat(5_000)]
    for (const uuid of [A, B]) await fixture.store.commit(commits.spawn(uuid, specOf(), makeOutput(long), makeOutput(long)))
    await fixture.store.commit(commits.write(A, makeOutput(long), makeOutput(other), ...endFacts()))
    await fixture.store.remove(A, REMOVED_AT)
    await sweepAll(fixture.store)
    expect(await fixture.store.verify()).toEqual([])
    expect((await fixture.store.facts(B, 2, 1))[0]?.body).toEqual(makeOutput(long))
    await fixture.store.commit(commits.write(B, ...endFacts()))
    await fixture.close()
    expect(rowsOf(fixture, 'blobs')).toBe(1)
    await fixture.reopen()
    await fixture.store.remove(B, REMOVED_AT)
    await sweepAll(fixture.store)
    await fixture.close()
    expect([rowsOf(fixture, 'blobs'), rowsOf(fixture, 'shared')]).toEqual([0, 0])
  })

  test('ends a batch early if the texts are long, and shrinks the file', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(A))
    for (let line = 0; line < 40; line++) await fixture.store.commit(commits.write(A, makeOutput(`${line} ${'x'.repeat(500_000)}`)))
    await fixture.store.commit(commits.write(A, ...endFacts()))
    await (await fixture.reopen()).remove(A, REMOVED_AT)
    const fileSize = (): number => statSync(join(fixture.dir, 'store.db')).size
    const before = fileSize()
    expect(before).toBeGreaterThan(20_000_000)
    expect(await sweepAll(fixture.store)).toBeGreaterThan(20)
    expect(fileSize()).toBeLessThan(500_000)
  })

  test('works in a store that is older than the counts of long texts', async () => {
    await using fixture = await openTestStore(`${SCHEMA_2} DROP TABLE tombstones; DROP TABLE doomed; DROP TABLE shared;
      DELETE FROM places; DELETE FROM journal WHERE process = 3; UPDATE meta SET value = 1, copy = -1 WHERE name = 'schema'`)
    expect(await fixture.store.verify()).toEqual([])
    await fixture.store.remove(A, REMOVED_AT)
    await sweepAll(fixture.store)
    expect((await fixture.store.facts(B, 2, 1))[0]?.body).toEqual(makeOutput('long '.repeat(1_700)))
  })
})

describe('damage', () => {
  test.each([
    ['a tombstone', `UPDATE tombstones SET pid = 7 WHERE uuid = '${A}'`, /tombstones process/],
    ['a count of references that is too high', 'INSERT INTO shared SELECT key, 3 FROM blobs', /has 1 references, but its count is 4/],
    ['a text without a reference', `INSERT INTO blobs (hash, bytes) VALUES (x'${'ab'.repeat(32)}', x'00')`, /has 0 references/],
  ])('is found: %s', async (_name, sql, line) => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await writeEndedProcess(fixture.store, commits, A, 1)
    await fixture.store.commit(commits.spawn(B, specOf(), makeOutput('z'.repeat(9_000))))
    await fixture.store.remove(A, REMOVED_AT)
    await sweepAll(fixture.store)
    const store = await fixture.tamper(sql)
    expect(await store.verify()).toContainEqual(expect.stringMatching(line))
  })

  test('of a tombstone is reported to its reader', async () => {
    await using fixture = await openTestStore()
    await writeEndedProcess(fixture.store, new CommitMaker(), A, 1)
    await fixture.store.remove(A, REMOVED_AT)
    const store = await fixture.tamper('UPDATE tombstones SET removed_at = 5')
    await expect(store.tombstone(A)).rejects.toMatchObject({ code: 'STORE_DAMAGED', details: { table: 'tombstones', uuid: A } })
  })
})
