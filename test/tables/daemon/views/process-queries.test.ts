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
import { turnsDuring, windingClock } from '../../../support/loop-turns.ts'
import { Scribe, endOf, stepOf, uuidOf } from '../../../support/store/facts.ts'
import { testStore } from '../../../support/store/open.ts'

const A = uuidOf(1)
const NOTES = 400
const STEPS = 60
const MOST_AT_ONCE = 100
const MANY = 200

const note = (number: number): FactBody => ({ type: 'process.note', text: `note ${number}` })

/** Wraps a store and counts the facts that it returns: the most in one answer, and the total. */
function countFacts(store: Store): { readonly store: Store; most(): number; total(): number } {
  let [most, total] = [0, 0]
  const count = (facts: readonly StoredFact[]): readonly StoredFact[] => {
    most = Math.max(most, facts.length)
    total += facts.length
    return facts
  }
  const counted: Pick<Store, 'facts' | 'tail'> = {
    facts: async (...asked) => count(await store.facts(...asked)),
    tail: async (...asked) => count(await store.tail(...asked)),
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
  await using at = await testStore()
  const scribe = new Scribe()
  await at.store.commit(scribe.spawn(A))
  for (let number = 0; number < NOTES; number += 50)
    await at.store.commit(scribe.write(A, ...Array.from({ length: 50 }, (_, index) => note(number + index))))
  const counted = countFacts(at.store)
  const reads = new ProcessQueries(new Table(10), counted.store, systemClock)
  const process = await reads.get(A)
  const all = Array.from({ length: NOTES }, (_, index) => `note ${index}`)
  const { lines, cursor } = await reads.logs(process, 10)
  expect([lines.map(({ text }) => text), cursor]).toEqual([all.slice(-10), NOTES + 2])
  expect(counted.total()).toBeLessThan(MOST_AT_ONCE)
  expect((await reads.logs(process, 10_000)).lines.map(({ text }) => text)).toEqual(all)
  expect(await reads.logs(process, 0)).toEqual({ lines: [], cursor: NOTES + 2 })
  expect(await reads.steps(process, 0, 100)).toEqual([])
  expect(counted.most()).toBeLessThan(MOST_AT_ONCE)
})

test('later steps are read from their start, and equal those of a full read', async () => {
  await using at = await testStore()
  const scribe = new Scribe()
  await at.store.commit(scribe.spawn(A))
  for (let step = 1; step <= STEPS; step++) await at.store.commit(scribe.write(A, ...stepOf(step, `text ${step}`)))
  const counted = countFacts(at.store)
  const reads = new ProcessQueries(new Table(10), counted.store, systemClock)
  const process = await reads.get(A)
  const all = await reads.steps(process, 0, STEPS)
  expect(all.map(({ step }) => step)).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1))
  const whole = counted.total()
  for (const after of [1, 2, STEPS / 2, STEPS - 3, STEPS - 1, STEPS, STEPS + 1])
    expect(await reads.steps(process, after, 5)).toEqual(all.slice(after, after + 5))
  const before = counted.total()
  expect(await reads.steps(process, STEPS - 3, 5)).toHaveLength(3)
  expect(counted.total() - before).toBeLessThan(whole / 4)
})

/** Living processes in a store and a table; `end` ends one of them. */
async function living(
  store: Store,
): Promise<{ readonly table: Table; readonly uuids: readonly string[]; end(uuid: string): Promise<void> }> {
  const [scribe, table] = [new Scribe(), new Table(MANY)]
  const uuids = Array.from({ length: MANY }, (_, index) => uuidOf(index + 1))
  const commit = async (change: Commit): Promise<void> => {
    await store.commit(change)
    table.apply(change.processes, change.counters.pid)
  }
  for (const uuid of uuids) await commit(scribe.spawn(uuid))
  return { table, uuids, end: (uuid) => commit(scribe.write(uuid, ...endOf())) }
}

test('a long list is made in many turns of the event loop, and stays in order', async () => {
  await using at = await testStore()
  const { table, uuids } = await living(at.store)
  const reads = new ProcessQueries(table, at.store, systemClock, new EventLoopTurns(windingClock()).newQueue())
  const { result, turns } = await turnsDuring(() => reads.list({ all: false }))
  expect(result.map(({ uuid }) => uuid)).toEqual(uuids)
  expect(turns).toBeGreaterThan(10)
})

test('ended processes are read page by page, and other work runs in between', async () => {
  await using at = await testStore()
  const { table, uuids, end } = await living(at.store)
  for (const uuid of uuids) await end(uuid)
  const pages: number[] = []
  let ms = 0
  const { result, turns } = await turnsDuring((turn) => {
    const dead: Store['dead'] = async (query) => {
      pages.push(turn())
      return at.store.dead(query)
    }
    const store = new Proxy(at.store, {
      get: (target, key) => (key === 'dead' ? dead : (target[key as keyof Store] as CallableFunction).bind(target)),
    })
    return new ProcessQueries(table, store, systemClock, new EventLoopTurns(() => (ms += 11)).newQueue()).list({
      all: true,
      fields: ['uuid'],
    })
  })
  expect(result.map(({ uuid }) => uuid)).toEqual(uuids)
  expect(pages.length).toBeGreaterThan(1)
  expect(new Set(pages).size).toBe(pages.length)
  expect(turns).toBeGreaterThan(MANY)
})

test('the heartbeat and the resumable processes are read in many turns as well', async () => {
  await using at = await testStore()
  const { table, uuids } = await living(at.store)
  const slices = new EventLoopTurns(windingClock()).newQueue()
  const beats = await turnsDuring(() => heartbeatView(table, { lastActivity: () => null }, { mono: 0, slices }))
  expect(beats.result.processes.map(({ uuid }) => uuid)).toEqual(uuids)
  expect(beats.turns).toBeGreaterThan(10)
  const past = await turnsDuring(() => resumableView({ table, store: at.store, slices }, { limit: 10 }))
  expect(past.result.processes).toEqual([])
  expect(past.turns).toBeGreaterThan(10)
})

test.each([true, false])('a process that ends while a list is made is listed at most once (with dead ones: %s)', async (all) => {
  await using at = await testStore()
  const { table, uuids, end } = await living(at.store)
  const reads = new ProcessQueries(table, at.store, systemClock, new EventLoopTurns(windingClock()).newQueue())
  const last = uuids.at(-1) ?? ''
  const [listed] = await Promise.all([reads.list({ all, fields: ['uuid', 'state'] }), end(last)])
  expect(listed.slice(0, MANY - 1).map(({ uuid }) => uuid)).toEqual(uuids.slice(0, -1))
  expect(listed.slice(MANY - 1)).toEqual(all ? [{ uuid: last, state: 'dead' }] : [])
})
