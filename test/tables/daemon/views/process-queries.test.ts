// Queries of long histories and of many processes. A history must not be in memory as a whole, and a list must not block the event loop.
// The store is real, and its calls are counted.
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/daemon/loop/clock.ts'
import { heartbeatView } from '../../../../src/daemon/views/heartbeat.ts'
import { ProcessQueries } from '../../../../src/daemon/views/process-queries.ts'
import { resumableView } from '../../../../src/daemon/views/resumable.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import type { FactBody, StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { Commit, Store } from '../../../../src/store/store.ts'
import { EventLoopTurns } from '../../../../src/drivers/common/event-loop-turns.ts'
import { countTurnsDuring, makeAdvancingClock } from '../../../support/loop-turns.ts'
import { CommitMaker, endFacts, stepOf, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'

const A = uuidOf(1)
const NOTE_COUNT = 400
const STEP_COUNT = 60
const MAX_PAGE_FACTS = 100
const PROCESS_COUNT = 200

const makeNote = (number: number): FactBody => ({ type: 'process.note', text: `note ${number}` })

/** Wraps a store and counts the facts that it returns: the most in one answer, and the total. */
function countFacts(store: Store): { readonly store: Store; most(): number; total(): number } {
  let [most, total] = [0, 0]
  const countInto = (facts: readonly StoredFact[]): readonly StoredFact[] => {
    most = Math.max(most, facts.length)
    total += facts.length
    return facts
  }
  const counted: Pick<Store, 'facts' | 'tail'> = {
    facts: async (...query) => countInto(await store.facts(...query)),
    tail: async (...query) => countInto(await store.tail(...query)),
  }
  return {
    store: new Proxy(store, {
      get: (target, key) =>
        key in counted ? counted[key as keyof typeof counted] : (target[key as keyof Store] as CallableFunction).bind(target),
    }),
    most: () => most,
    total: () => total,
  }
}

test('logs and steps of a long history are read in small pages, and only as far as they are shown', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(A))
  for (let number = 0; number < NOTE_COUNT; number += 50)
    await fixture.store.commit(commits.write(A, ...Array.from({ length: 50 }, (_, index) => makeNote(number + index))))
  const counted = countFacts(fixture.store)
  const reads = new ProcessQueries(new Table(10), counted.store, systemClock)
  const process = await reads.get(A)
  const expectedNotes = Array.from({ length: NOTE_COUNT }, (_, index) => `note ${index}`)
  const { lines, cursor } = await reads.logs(process, { tail: 10 })
  expect([lines.map(({ text }) => text), cursor]).toEqual([expectedNotes.slice(-10), NOTE_COUNT + 2])
  expect(counted.total()).toBeLessThan(MAX_PAGE_FACTS)
  expect((await reads.logs(process, { tail: 10_000 })).lines.map(({ text }) => text)).toEqual(expectedNotes)
  expect(await reads.logs(process, { tail: 0 })).toMatchObject({ lines: [], cursor: NOTE_COUNT + 2 })
  expect(await reads.steps(process, 0, 100)).toEqual([])
  expect(counted.most()).toBeLessThan(MAX_PAGE_FACTS)
})

test('later steps are read from their start, and equal those of a full read', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(A))
  for (let step = 1; step <= STEP_COUNT; step++) await fixture.store.commit(commits.write(A, ...stepOf(step, `text ${step}`)))
  const counted = countFacts(fixture.store)
  const reads = new ProcessQueries(new Table(10), counted.store, systemClock)
  const process = await reads.get(A)
  const allSteps = await reads.steps(process, 0, STEP_COUNT)
  expect(allSteps.map(({ step }) => step)).toEqual(Array.from({ length: STEP_COUNT }, (_, index) => index + 1))
  const totalReads = counted.total()
  for (const after of [1, 2, STEP_COUNT / 2, STEP_COUNT - 3, STEP_COUNT - 1, STEP_COUNT, STEP_COUNT + 1])
    expect(await reads.steps(process, after, 5)).toEqual(allSteps.slice(after, after + 5))
  const before = counted.total()
  expect(await reads.steps(process, STEP_COUNT - 3, 5)).toHaveLength(3)
  expect(counted.total() - before).toBeLessThan(totalReads / 4)
})

/** Makes living processes in a store and a table; `end` ends one of them. */
async function makeLivingProcesses(
  store: Store,
): Promise<{ readonly table: Table; readonly uuids: readonly string[]; end(uuid: string): Promise<void> }> {
  const [commits, table] = [new CommitMaker(), new Table(PROCESS_COUNT)]
  const uuids = Array.from({ length: PROCESS_COUNT }, (_, index) => uuidOf(index + 1))
  const commitChange = async (change: Commit): Promise<void> => {
    await store.commit(change)
    table.apply(change.processes, change.lastPid)
  }
  for (const uuid of uuids) await commitChange(commits.spawn(uuid))
  return { table, uuids, end: (uuid) => commitChange(commits.write(uuid, ...endFacts())) }
}

test('a long list is made in many turns of the event loop, and stays in order', async () => {
  await using fixture = await openTestStore()
  const { table, uuids } = await makeLivingProcesses(fixture.store)
  const reads = new ProcessQueries(table, fixture.store, systemClock, new EventLoopTurns(makeAdvancingClock()).newQueue())
  const { result, turns } = await countTurnsDuring(() => reads.list({ all: false }))
  expect(result.map(({ uuid }) => uuid)).toEqual(uuids)
  expect(turns).toBeGreaterThan(10)
})

test('ended processes are read page by page, and other work runs in between', async () => {
  await using fixture = await openTestStore()
  const { table, uuids, end } = await makeLivingProcesses(fixture.store)
  for (const uuid of uuids) await end(uuid)
  const pages: number[] = []
  let ms = 0
  const { result, turns } = await countTurnsDuring((turnCount) => {
    const readDead: Store['dead'] = async (query) => {
      pages.push(turnCount())
      return fixture.store.dead(query)
    }
    const store = new Proxy(fixture.store, {
      get: (target, key) => (key === 'dead' ? readDead : (target[key as keyof Store] as CallableFunction).bind(target)),
    })
    return new ProcessQueries(table, store, systemClock, new EventLoopTurns(() => (ms += 11)).newQueue()).list({
      all: true,
      fields: ['uuid'],
    })
  })
  expect(result.map(({ uuid }) => uuid)).toEqual(uuids)
  expect(pages.length).toBeGreaterThan(1)
  expect(new Set(pages).size).toBe(pages.length)
  expect(turns).toBeGreaterThan(PROCESS_COUNT)
})

test('the heartbeat and the resumable processes are read in many turns of the event loop', async () => {
  await using fixture = await openTestStore()
  const { table, uuids } = await makeLivingProcesses(fixture.store)
  const slices = new EventLoopTurns(makeAdvancingClock()).newQueue()
  const heartbeat = await countTurnsDuring(() => heartbeatView(table, { lastActivity: () => null }, { mono: 0, slices }))
  expect(heartbeat.result.processes.map(({ uuid }) => uuid)).toEqual(uuids)
  expect(heartbeat.turns).toBeGreaterThan(10)
  const resumable = await countTurnsDuring(() => resumableView({ table, store: fixture.store, slices }, { limit: 10 }))
  expect(resumable.result.processes).toEqual([])
  expect(resumable.turns).toBeGreaterThan(10)
})

test.each([true, false])('a process that ends while a list is made is listed at most once (with dead ones: %s)', async (withDead) => {
  await using fixture = await openTestStore()
  const { table, uuids, end } = await makeLivingProcesses(fixture.store)
  const reads = new ProcessQueries(table, fixture.store, systemClock, new EventLoopTurns(makeAdvancingClock()).newQueue())
  const lastUuid = uuids.at(-1) ?? ''
  const [listed] = await Promise.all([reads.list({ all: withDead, fields: ['uuid', 'state'] }), end(lastUuid)])
  expect(listed.slice(0, PROCESS_COUNT - 1).map(({ uuid }) => uuid)).toEqual(uuids.slice(0, -1))
  expect(listed.slice(PROCESS_COUNT - 1)).toEqual(withDead ? [{ uuid: lastUuid, state: 'dead' }] : [])
})
