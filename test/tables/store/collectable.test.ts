// The store's data for garbage collection: collectable processes, oldest first, with sizes and warnings; the size of the store.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FactBody } from '../../../src/kernel/model/facts.ts'
import type { ProcessRow } from '../../../src/store/rows/row-types.ts'
import type { Collectable, HomeStore } from '../../../src/store/store.ts'
import { processSum } from '../../../src/store/rows/checksums.ts'
import { CommitMaker, endFacts, specOf, uuidOf } from '../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../support/store/test-store.ts'

const [A, B, C, D] = [uuidOf(1), uuidOf(2), uuidOf(3), uuidOf(4)]
const makeOutput = (text: string): FactBody => ({ type: 'process.output', stream: 'stdout', text })
const pinFact = (pinned: boolean): FactBody => ({ type: 'process.pinned', pinned, by: 'user' })
const uuidsOf = (collectables: readonly Collectable[]): string[] => collectables.map(({ uuid }) => uuid)

/** Writes ended processes, in the order of their numbers. */
async function writeEndedProcesses(store: HomeStore, commits: CommitMaker, count: number): Promise<void> {
  for (let number = 1; number <= count; number++)
    await store.commit(commits.spawn(uuidOf(number), specOf({ name: `n${number}` }), makeOutput('x'.repeat(100)), ...endFacts()))
}

test('unpinned dead processes are collectable, oldest first, in pages', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await writeEndedProcesses(fixture.store, commits, 7)
  await fixture.store.commit(commits.spawn(uuidOf(8)))
  await fixture.store.commit(commits.write(C, pinFact(true)))
  const collectable = await fixture.store.collectable({ limit: 100 })
  expect(uuidsOf(collectable)).toEqual([1, 2, 4, 5, 6, 7].map(uuidOf))
  expect(collectable[0]).toEqual({
    uuid: A,
    pid: 1,
    name: 'n1',
    exitedAt: commits.get(A).clock.exitedAt,
    bytes: expect.any(Number),
    warning: null,
  })
  const pages: Collectable[] = []
  for (let after: Collectable | undefined, page = collectable; page.length > 0; after = page.at(-1)) {
    page = [...(await fixture.store.collectable({ limit: 2, ...(after ? { after } : {}) }))]
    pages.push(...page)
  }
  expect(pages).toEqual(collectable)
  expect(uuidsOf(await fixture.store.collectable({ limit: 100, before: collectable[2]?.exitedAt ?? 0 }))).toEqual([A, B])
  expect(
    uuidsOf(await fixture.store.collectable({ limit: 100, before: collectable[3]?.exitedAt ?? 0, after: collectable[0] as Collectable })),
  ).toEqual([B, D])
  expect((await fixture.store.size()).dead).toBe(6)
  await fixture.store.commit(commits.write(C, pinFact(false)))
  expect(uuidsOf(await (await fixture.reopen()).collectable({ limit: 3 }))).toEqual([A, B, C])
  expect(await fixture.store.process(C)).toStrictEqual(commits.get(C))
  expect(await fixture.store.verify()).toEqual([])
})

test('a row that cannot be read, or has no exit time, gets a warning', async () => {
  await using fixture = await openTestStore()
  await writeEndedProcesses(fixture.store, new CommitMaker(), 70)
  const store = await fixture.tamper("UPDATE processes SET body = replace(body, 'depth', 'width') WHERE key = 2")
  const [first, second, third] = await store.collectable({ limit: 3 })
  expect(second).toMatchObject({
    uuid: B,
    bytes: null,
    warning: expect.stringMatching(/processes process .*: the row is damaged/),
  })
  expect([first?.warning, third?.warning]).toEqual([null, null])
  const reopened = await fixture.tamper('DELETE FROM journal WHERE process = 3 AND seq = 1')
  expect((await reopened.collectable({ limit: 3 }))[2]).toMatchObject({
    uuid: C,
    bytes: null,
    warning: expect.stringMatching(/the fact that holds the spec is missing/),
  })
  await fixture.close()
  changeStoreFile(fixture.dir, (db) => {
    const row = db.prepare('SELECT * FROM processes WHERE key = 4').get() as unknown as ProcessRow
    db.prepare('UPDATE processes SET exited_at = NULL, sum = ? WHERE key = 4').run(processSum({ ...row, exited_at: null }))
  })
  const lastStore = await fixture.reopen()
  const [timeless] = await lastStore.collectable({ limit: 3, before: 1 })
  // A row without a time comes before all rows with one, whatever time is requested.
  expect(timeless).toMatchObject({ uuid: D, exitedAt: null, warning: 'it has no exit time' })
  expect(uuidsOf(await lastStore.collectable({ limit: 1, after: timeless as Collectable }))).toEqual([A])
})

test('the estimated size is near the stored size, with long texts and without the facts of the origin', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(A))
  for (let line = 0; line < 500; line++) await fixture.store.commit(commits.write(A, makeOutput(`${line} `.repeat(500))))
  await fixture.store.commit(commits.write(A, ...endFacts()))
  await fixture.store.commit(
    commits.spawn(B, specOf(), ...Array.from({ length: 20 }, (_, line) => makeOutput(`${line} `.repeat(20_000))), ...endFacts()),
  )
  await fixture.store.commit(commits.fork(C, A, 400, makeOutput('z'.repeat(1_000)), ...endFacts()))
  const bytes = new Map((await fixture.store.collectable({ limit: 9 })).map((row) => [row.uuid, row.bytes ?? 0]))
  const written = await storedSizes(fixture.store, fixture.dir, fixture.close)
  for (const [key, uuid] of [
    [1, A],
    [2, B],
    [3, C],
  ] as const) {
    expect((bytes.get(uuid) ?? 0) / (written[key] ?? 0), uuid).toBeGreaterThan(0.8)
    expect((bytes.get(uuid) ?? 0) / (written[key] ?? 0), uuid).toBeLessThan(1.6)
  }
  await fixture.reopen()
})

/** Returns the stored bytes of each process, by its key. */
async function storedSizes(store: HomeStore, dir: string, close: () => Promise<void>): Promise<Record<number, number>> {
  expect(await store.verify()).toEqual([])
  await close()
  return changeStoreFile(dir, (db) => {
    const journal = db
      .prepare(`SELECT j.process AS key, sum(octet_length(j.body) + 30 + coalesce((
      SELECT sum(octet_length(b.bytes)) FROM json_each(j.refs) r, blobs b WHERE b.hash = unhex(json_extract(r.value, '$[1]'))), 0)) AS n FROM journal j GROUP BY 1`)
      .all()
    const row = db.prepare('SELECT octet_length(body) + octet_length(open) + 300 AS n FROM processes WHERE key = ?')
    return Object.fromEntries(journal.map(({ key, n }) => [Number(key), Number(n) + Number(row.get(Number(key))?.['n'])]))
  })
}

test('the reported size is that of the file, and the free part decreases as the file shrinks', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(A))
  for (let line = 0; line < 40; line++) await fixture.store.commit(commits.write(A, makeOutput(`${line} ${'x'.repeat(100_000)}`)))
  await fixture.store.commit(commits.write(A, ...endFacts()))
  const before = await fixture.store.size()
  expect(before).toMatchObject({ freeBytes: 0, dead: 1 })
  await fixture.close()
  expect(statSync(join(fixture.dir, 'store.db')).size).toBe(before.bytes)
  const store = await fixture.reopen()
  await store.remove(A, 1)
  let largest = 0
  for (let hasMore = true; hasMore;) {
    hasMore = await store.sweep()
    largest = Math.max(largest, (await store.size()).freeBytes)
  }
  expect(largest).toBeGreaterThan(1_000_000)
  const after = await store.size()
  expect(after).toMatchObject({ freeBytes: 0, dead: 0 })
  expect(after.bytes).toBeLessThan(before.bytes / 5)
})
