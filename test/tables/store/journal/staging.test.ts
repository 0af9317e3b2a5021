// The import of a journal: it is invisible until it is complete, and an abandoned import leaves nothing.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fold } from '../../../../src/kernel/state/fold.ts'
import type { FactBody, StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import type { Store } from '../../../../src/store/store.ts'
import { CommitMaker, endFacts, modelFinished, specOf, toolFinished, uuidOf } from '../../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../../support/store/test-store.ts'
import { tempDir } from '../../../support/tmp.ts'
import type { Uuid } from '../../../../src/kernel/model/ids.ts'

const [A, B, C] = [uuidOf(1), uuidOf(2), uuidOf(3)]
const LONG = 'long text '.repeat(2_000)

/** Makes the facts of an ended process with this number of steps, as they come from another store. */
function makeHistory(uuid: Uuid, steps: number, pid = 7): StoredFact[] {
  const commits = new CommitMaker({ pid: pid - 1, cursor: 0 })
  const facts = [...commits.spawn(uuid, specOf({ name: `n${pid}` })).facts]
  facts.push(...commits.write(uuid, { type: 'model.started', step: 1, attempt: 1, model: 'a/b' }).facts)
  for (let step = 1; step <= steps; step++)
    facts.push(...commits.write(uuid, ...modelFinished(step, `${LONG}${step % 3}`), ...toolFinished(step, `${uuid} ${step}`)).facts)
  facts.push(...commits.write(uuid, ...endFacts()).facts)
  return facts
}

/** Makes the facts of a fork after the fact `seq` of a journal. */
function makeFork(facts: readonly StoredFact[], uuid: Uuid, seq: number, moreBodies: readonly FactBody[] = []): StoredFact[] {
  const before = facts.slice(0, seq)
  const origin = { uuid: before.at(-1)?.uuid ?? '', step: 1, seq }
  const state = { turn: 1, turnOpen: false, lastText: null, queue: [], context: null, contextTokens: 0, sessionId: null }
  const bodies: FactBody[] = [
    { type: 'process.forked', pid: 9, spec: specOf({ name: 'fork' }), parentUuid: null, depth: 0, by: 'user', origin, state },
    { type: 'process.started', mono: 1, attached: true, containment: null },
    ...moreBodies,
    ...endFacts(),
  ]
  return [
    ...before,
    ...bodies.map((body, index): StoredFact => ({
      uuid,
      seq: seq + 1 + index,
      pid: 9,
      at: 1_700_000_000_000 + seq + index,
      body,
      cursor: 0,
    })),
  ]
}

const foldProcess = (facts: readonly StoredFact[]): Process =>
  facts.reduce<Process | undefined>((row, fact) => fold(row, fact), undefined) as Process

/** Adds the facts in batches of `size` and returns the staging, its process and the cursor after it. */
async function stageFacts(store: Store, facts: readonly StoredFact[], size = 50) {
  const staging = store.stage()
  for (let start = 0; start < facts.length; start += size) await staging.add(facts.slice(start, start + size))
  return { staging, process: foldProcess(facts), cursor: (await store.load()).counters.cursor }
}

async function importFacts(store: Store, facts: readonly StoredFact[], size?: number): Promise<void> {
  const { staging, process } = await stageFacts(store, facts, size)
  await staging.publish(process)
  await staging[Symbol.asyncDispose]()
}

async function allFactsOf(store: Store, uuid: Uuid): Promise<Omit<StoredFact, 'cursor'>[]> {
  return (await store.facts(uuid, 0, 10_000)).map(({ cursor: _, ...fact }) => fact)
}

const withoutCursors = (facts: readonly StoredFact[]) => facts.map(({ cursor: _, ...fact }) => fact)
const sweepStore = async (store: Store): Promise<void> => {
  while (await store.sweep());
}

test.each([1, 2, 5, 63, 64, 65, 1_000])('a journal is imported unchanged in batches of %i facts', async (size) => {
  await using fixture = await openTestStore()
  const facts = makeHistory(A, 40)
  await importFacts(fixture.store, facts, size)
  for (const openStore of [async () => fixture.store, fixture.reopen]) {
    const store = await openStore()
    expect(await allFactsOf(store, A)).toEqual(withoutCursors(facts))
    expect(await store.process(A)).toEqual(foldProcess(facts))
    expect(await store.find('7')).toEqual([A])
    expect(await store.find('n7')).toEqual([A])
    expect((await store.load()).counters.pid).toBe(7)
    expect(await store.verify()).toEqual([])
  }
})

test('an import is invisible before it is complete, and can then be resumed like any other process', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const facts = makeHistory(A, 20)
  const { staging, process, cursor } = await stageFacts(fixture.store, facts)
  commits.cursor = cursor
  await fixture.store.commit(commits.spawn(B))
  const visibleState = async () => [
    (await fixture.store.since({ afterCursor: 0, limit: 10_000 })).map(({ uuid }) => uuid),
    await fixture.store.process(A),
    await fixture.store.find(A),
    (await fixture.store.dead({ limit: 10 })).length,
    (await fixture.store.collectable({ limit: 10 })).length,
  ]
  expect(await visibleState()).toEqual([[B, B], undefined, [], 0, 0])
  await sweepStore(fixture.store)
  expect(await fixture.store.verify()).toEqual([])
  expect(await staging.publish(process)).toEqual({ pid: 7, cursor: commits.cursor })
  commits.pid = (await fixture.store.load()).counters.pid
  expect(commits.pid).toBe(7)
  expect((await fixture.store.collectable({ limit: 10 })).map(({ uuid, warning }) => [uuid, warning])).toEqual([[A, null]])
  const resumed = new CommitMaker({ pid: 8, cursor: commits.cursor }, [process])
  await fixture.store.commit(
    resumed.write(
      A,
      { type: 'process.resumed', pid: 8, by: 'user', fromStep: 20 },
      { type: 'process.started', mono: 1, attached: true, containment: null },
      ...endFacts(),
    ),
  )
  const after = await fixture.reopen()
  expect(await after.process(A)).toEqual(resumed.get(A))
  expect((await allFactsOf(after, A)).length).toBe(facts.length + 4)
  expect(await after.verify()).toEqual([])
})

test('rows that are out of date during an import survive a crash after it', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(B))
  await fixture.store.commit(commits.write(B, { type: 'model.started', step: 1, attempt: 1, model: 'a/b' }))
  const { staging, process, cursor } = await stageFacts(fixture.store, makeHistory(A, 200))
  commits.cursor = cursor
  await fixture.store.commit(commits.write(B, ...modelFinished(1, 'one')))
  expect(await staging.publish(process)).toEqual({ pid: 7, cursor: commits.cursor })
  commits.cursor = (await fixture.store.load()).counters.cursor
  commits.pid = 7
  await fixture.store.commit(commits.write(B, { type: 'process.output', stream: 'stdout', text: 'x' }))
  // The state after a crash: the files without the writes of a close.
  await using copy = await tempDir()
  cpSync(fixture.dir, join(copy.path, 'state'), { recursive: true })
  await using after = await openSqliteStore({ dir: join(copy.path, 'state') })
  expect(await after.process(B)).toEqual(commits.get(B))
  expect(await after.verify()).toEqual([])
})

test('an abandoned import leaves nothing, also when the store is closed meanwhile', async () => {
  await using fixture = await openTestStore()
  await importFacts(fixture.store, makeHistory(B, 3, 4))
  const before = await fixture.store.size()
  for (const ending of ['dispose', 'close'] as const) {
    const { staging } = await stageFacts(fixture.store, makeHistory(A, 100))
    if (ending === 'dispose') await staging[Symbol.asyncDispose]()
    const store = ending === 'close' ? await fixture.reopen() : fixture.store
    await sweepStore(store)
    expect(await store.verify()).toEqual([])
    expect(await store.process(A)).toBeUndefined()
    expect(await store.tombstone(A)).toBeUndefined()
    const { bytes, freeBytes } = await store.size()
    expect(bytes - freeBytes).toBeLessThan(before.bytes - before.freeBytes + 65_536)
  }
  expect(
    changeStoreFile((await fixture.close(), fixture.dir), (db) => [
      db.prepare('SELECT count(*) AS n FROM doomed').get()?.['n'],
      db.prepare('SELECT count(*) AS n FROM blobs').get()?.['n'],
    ]),
  ).toEqual([0, 3])
  await fixture.reopen()
})

test('the import of a process that exists is refused, and the process stays unchanged', async () => {
  await using fixture = await openTestStore()
  const facts = makeHistory(A, 3)
  await importFacts(fixture.store, facts)
  const secondStage = await stageFacts(fixture.store, makeHistory(A, 5))
  await expect(secondStage.staging.publish(secondStage.process)).rejects.toMatchObject({ code: 'CONFLICT' })
  await secondStage.staging[Symbol.asyncDispose]()
  await sweepStore(fixture.store)
  expect(await allFactsOf(fixture.store, A)).toEqual(withoutCursors(facts))
  expect(await fixture.store.verify()).toEqual([])
})

test('a removed process may be imported again, and then loses its tombstone', async () => {
  await using fixture = await openTestStore()
  const facts = makeHistory(A, 3)
  await importFacts(fixture.store, facts)
  await fixture.store.remove(A, 5)
  await importFacts(fixture.store, facts)
  await sweepStore(fixture.store)
  expect(await fixture.store.tombstone(A)).toBeUndefined()
  expect(await allFactsOf(await fixture.reopen(), A)).toEqual(withoutCursors(facts))
  expect(await fixture.store.verify()).toEqual([])
})

test('a fork is imported with all its origins; they are removed with the fork and get tombstones', async () => {
  await using fixture = await openTestStore()
  const firstJournal = makeHistory(A, 60)
  const secondJournal = makeFork(firstJournal, B, 150, modelFinished(2, 'of the fork'))
  const thirdJournal = makeFork(secondJournal, C, 152)
  await importFacts(fixture.store, thirdJournal, 33)
  for (const openStore of [async () => fixture.store, fixture.reopen]) {
    const store = await openStore()
    expect(await allFactsOf(store, C)).toEqual(withoutCursors(thirdJournal))
    expect(await store.process(C)).toEqual(foldProcess(thirdJournal))
    expect((await store.forks(B)).map(({ uuid }) => uuid)).toEqual([C])
    expect([await store.process(A), await store.process(B)]).toEqual([undefined, undefined])
    expect(await store.tombstone(B)).toMatchObject({ uuid: B, pid: 9, name: 'fork', originUuid: A })
    expect(await store.tombstone(A)).toMatchObject({ uuid: A, pid: 7, originUuid: null })
    expect(await store.verify()).toEqual([])
  }
  // The origin is imported as well: the two share nothing, and each can be removed alone.
  await importFacts(fixture.store, firstJournal)
  expect(await fixture.store.tombstone(A)).toBeUndefined()
  await fixture.store.remove(A, 5)
  await sweepStore(fixture.store)
  expect(await allFactsOf(fixture.store, C)).toEqual(withoutCursors(thirdJournal))
  await fixture.store.remove(C, 6)
  await sweepStore(fixture.store)
  expect(await fixture.store.verify()).toEqual([])
  await fixture.close()
  expect(
    changeStoreFile(fixture.dir, (db) =>
      ['journal', 'places', 'blobs', 'kept', 'doomed', 'processes'].map(
        (table) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'],
      ),
    ),
  ).toEqual([0, 0, 0, 0, 0, 0])
  await fixture.reopen()
})

test('an import of inconsistent facts is refused', async () => {
  await using fixture = await openTestStore()
  const facts = makeHistory(A, 2)
  const staging = fixture.store.stage()
  await expect(staging.add([facts[1] as StoredFact])).rejects.toMatchObject({ code: 'INTERNAL' })
  const { staging: otherStaging, process } = await stageFacts(fixture.store, facts)
  await expect(otherStaging.publish({ ...process, seq: 3 })).rejects.toMatchObject({ code: 'INTERNAL' })
  await expect(otherStaging.publish({ ...process, life: { state: 'created' } })).rejects.toMatchObject({ code: 'INTERNAL' })
  await staging[Symbol.asyncDispose]()
  await otherStaging[Symbol.asyncDispose]()
  await sweepStore(fixture.store)
  expect(await fixture.store.verify()).toEqual([])
})
