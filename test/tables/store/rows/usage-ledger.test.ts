// The usage ledger: its rows by hour and model, repeated updates, older stores, imports, and damage.
import { expect, test } from 'vitest'
import type { FactBody, StoredFact } from '../../../../src/kernel/model/facts.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'
import type { UsageRow, Store } from '../../../../src/store/store.ts'
import { CommitMaker, endFacts, modelFinished, specOf, uuidOf } from '../../../support/store/facts.ts'
import { SCHEMA_2, openTestStore } from '../../../support/store/test-store.ts'

const [A, B] = [uuidOf(1), uuidOf(2)]
const HOUR_MS = 3_600_000

const modelStarted = (step: number, model = 'a/one'): FactBody => ({ type: 'model.started', step, attempt: 1, model })
const usageReported = (costUsd: number | null, estimated = false): FactBody => ({
  type: 'usage.reported',
  usage: { inputTokens: 10, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd, ...(estimated ? { estimated } : {}) },
})

async function ledgerRows(store: Store): Promise<readonly UsageRow[]> {
  while (await store.updateUsageLedger());
  return store.usageRows({ limit: 1_000 })
}

/** Commits at a chosen wall time. */
async function commitAt(store: Store, commits: CommitMaker, hour: number, bodies: readonly FactBody[]): Promise<void> {
  const commit = commits.write(A, ...bodies)
  await store.commit({ ...commit, facts: commit.facts.map((fact) => ({ ...fact, at: hour * HOUR_MS + 1 })) })
}

test('there is a row per hour and model; unpriced and estimated usage is marked', async () => {
  await using fixture = await openTestStore()
  const { store } = fixture
  const commits = new CommitMaker()
  await store.commit(commits.spawn(A, specOf({ agent: 'ann', model: 'a/one' })))
  await commitAt(store, commits, 5, [modelStarted(1), usageReported(1), modelStarted(2), usageReported(2)])
  await commitAt(store, commits, 6, [modelStarted(3), usageReported(null), modelStarted(4, 'b/two'), usageReported(4, true)])
  const rows = (await ledgerRows(store)).map(({ hour, model, steps, costUsd, unpriced, estimated }) => [
    hour,
    model,
    steps,
    costUsd,
    unpriced,
    estimated,
  ])
  expect(rows).toEqual([
    [5, 'a/one', 2, 3, false, false],
    [6, 'a/one', 1, 0, true, false],
    [6, 'b/two', 1, 4, false, true],
  ])
  expect((await store.usageRows({ limit: 10, sinceHour: 6 })).map(({ hour }) => hour)).toEqual([6, 6])
})

test('nothing is written without an update, and a second update adds nothing', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(A, specOf(), modelStarted(1), usageReported(1)))
  expect(await fixture.store.usageRows({ limit: 10 })).toEqual([])
  const rows = await ledgerRows(fixture.store)
  expect(rows).toMatchObject([{ uuid: A, agent: 'coder', root: A, model: 'a/one', steps: 1, costUsd: 1 }])
  expect(await ledgerRows(fixture.store)).toEqual(rows)
  expect(await ledgerRows(await fixture.reopen())).toEqual(rows)
})

test('the journal of an older store is counted from its start, without removed processes', async () => {
  await using fixture = await openTestStore(SCHEMA_2)
  const rows = await ledgerRows(fixture.store)
  const { usage } = (await fixture.store.process(B)) as Process
  const sumOf = (name: 'steps' | 'inputTokens' | 'costUsd'): number => rows.reduce((total, row) => total + row[name], 0)
  expect(rows.every(({ uuid }) => uuid === B)).toBe(true)
  expect([sumOf('steps'), sumOf('inputTokens'), sumOf('costUsd')]).toEqual([usage.steps, usage.inputTokens, usage.costUsd])
  expect(await fixture.store.verify()).toEqual([])
})

const foldProcess = (facts: readonly StoredFact[]): Process =>
  facts.reduce<Process | undefined>((row, fact) => fold(row, fact), undefined) as Process

/** Adds a history like an import. */
async function importFacts(store: Store, facts: readonly StoredFact[]): Promise<CommitMaker> {
  await using staging = store.stage()
  await staging.add(facts)
  return new CommitMaker(await staging.publish(foldProcess(facts)), [foldProcess(facts)])
}

test('a process that is imported again from an older backup is counted once, and its later usage too', async () => {
  await using fixture = await openTestStore()
  const { store } = fixture
  let commits = new CommitMaker()
  const facts = [...commits.spawn(A, specOf(), modelStarted(1), usageReported(1), ...endFacts()).facts]
  commits = await importFacts(store, facts)
  const laterFacts = (): FactBody[] => {
    commits.pid += 1
    return [
      { type: 'process.resumed', pid: commits.pid, by: 'user', fromStep: 1 },
      { type: 'process.started', mono: 1, attached: true, containment: null },
    ]
  }
  await store.commit(commits.write(A, ...laterFacts(), modelStarted(2), usageReported(2), modelStarted(3), usageReported(4), ...endFacts()))
  expect(await store.remove(A, 1)).toBe(true)
  expect(await ledgerRows(store)).toMatchObject([{ steps: 3, costUsd: 7 }])
  commits = await importFacts(store, facts)
  expect(await ledgerRows(store)).toMatchObject([{ steps: 3, costUsd: 7 }])
  await store.commit(commits.write(A, ...laterFacts(), modelStarted(2), usageReported(8), ...endFacts()))
  expect(await ledgerRows(store)).toMatchObject([{ steps: 4, costUsd: 15 }])
})

test('an abandoned import adds no usage', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const { facts } = commits.spawn(A, specOf(), modelStarted(1), usageReported(1), ...endFacts())
  {
    await using staging = fixture.store.stage()
    await staging.add(facts)
    expect(await ledgerRows(fixture.store)).toEqual([])
  }
  while (await fixture.store.sweep());
  expect(await ledgerRows(fixture.store)).toEqual([])
})

test('the ledger reads no long texts', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(
    commits.spawn(A, specOf({ system: 'long '.repeat(3_000) }), modelStarted(1), ...modelFinished(1, 'long '.repeat(3_000))),
  )
  const store = await fixture.tamper('DELETE FROM blobs')
  expect(await ledgerRows(store)).toMatchObject([{ steps: 1, inputTokens: 12_345 }])
})

test.each([
  ['UPDATE spent SET usd = usd + 1', /^spent: the row 1 \d+ a\/one is damaged/],
  ["UPDATE spenders SET agent = 'other'", /^spenders process .*: the row is damaged/],
  ['DELETE FROM spenders', /^spent: 1 rows belong to no process/],
])('damage is found: %s', async (sql, message) => {
  await using fixture = await openTestStore()
  await fixture.store.commit(new CommitMaker().spawn(A, specOf(), modelStarted(1), usageReported(1)))
  await ledgerRows(fixture.store)
  expect(await fixture.store.verify()).toEqual([])
  const store = await fixture.tamper(sql)
  expect(
    (await store.verify()).some((line) => message.test(line)),
    (await store.verify()).join('\n'),
  ).toBe(true)
})
