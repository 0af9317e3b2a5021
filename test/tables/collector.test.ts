// The collector on a real store with a clock that is wound by hand: when it looks, what it takes, what it leaves and says.
import { expect, test } from 'vitest'
import { Collector, LOOK_MS } from '../../src/daemon/collector.ts'
import { Reads } from '../../src/daemon/reads.ts'
import { Removals, Sweeper } from '../../src/daemon/removals.ts'
import { Table } from '../../src/daemon/table.ts'
import type { GcConfig } from '../../src/config/gc.ts'
import { HandClock } from '../support/clock.ts'
import { eventually } from '../support/living.ts'
import { Scribe, endOf, modelFinished, specOf, uuidOf } from '../support/store-facts.ts'
import { testStore } from '../support/store-open.ts'

const OFF: GcConfig = { retention_days: 0, max_entries: 0, max_bytes: 0, interval_seconds: 60 }
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** A store with so many ended processes, a millisecond apart, and a collector in front of it. */
async function place(count: number, rules: Partial<GcConfig> = {}) {
  const at = await testStore()
  const scribe = new Scribe()
  const uuids = Array.from({ length: count }, (_, index) => uuidOf(index + 1))
  for (const uuid of uuids) await at.store.commit(scribe.spawn(uuid, specOf({ name: `p${scribe.pid}` }), ...modelFinished(1, `${uuid} `.repeat(600)), ...endOf()))
  const clock = new HandClock()
  const reads = new Reads(new Table(10), at.store, clock)
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  const sweeper = new Sweeper(at.store, log)
  const removals = new Removals({ reads, store: at.store, clock, sweeper, worktrees: { checkIdle: () => {}, remove: async () => null } })
  let config: GcConfig | Error = { ...OFF, ...rules }
  let asked = 0
  const collector = new Collector({
    store: at.store, reads, removals, sweeper, clock, log,
    config: async () => {
      asked += 1
      if (config instanceof Error) throw config
      return config
    },
  })
  return {
    at, scribe, uuids, clock, reads, removals, collector, logged,
    say: (more: Partial<GcConfig> | Error): void => { config = more instanceof Error ? more : { ...OFF, ...more } },
    asked: () => asked,
    left: async () => (await at.store.dead({ limit: 10_000 })).length,
    /** A minute later, when it has looked. */
    async look(): Promise<void> {
      const before = asked
      clock.wind(LOOK_MS)
      await eventually(() => asked > before && clock.timers > 0, 'it looked')
    },
    async [Symbol.asyncDispose]() {
      await collector.stop()
      await sweeper.stop()
      await at[Symbol.asyncDispose]()
    },
  }
}

test('a preview takes nothing, a round takes just that, and the next one finds nothing', async () => {
  await using here = await place(6, { max_entries: 4 })
  const preview = await here.collector.preview()
  expect(preview).toMatchObject({ dryRun: true, count: 2, freedBytes: null, rules: { retentionDays: 0, maxEntries: 4, maxBytes: 0 }, skipped: [] })
  expect(preview.entries.map(({ uuid, name, agent, rule }) => [uuid, name, agent, rule])).toEqual([[here.uuids[0], 'p0', 'coder', 'max_entries'], [here.uuids[1], 'p1', 'coder', 'max_entries']])
  expect(await here.left()).toBe(6)
  const done = await here.collector.run()
  expect({ ...done, dryRun: true, freedBytes: null, store: null }).toEqual({ ...preview, store: null })
  expect(done.freedBytes).toBeGreaterThan(0)
  expect(await here.left()).toBe(4)
  expect((await here.collector.run()).count).toBe(0)
  await expect(here.reads.get(here.uuids[0] ?? '')).rejects.toMatchObject({ code: 'COLLECTED' })
  expect(await here.at.store.verify()).toEqual([])
})

test('age counts on the wall, and the clock of the daemon says what time it is', async () => {
  await using here = await place(3, { retention_days: 1 })
  expect((await here.collector.preview()).count).toBe(0)
  here.clock.jump(DAY_MS + MINUTE_MS)
  expect((await here.collector.run()).entries.map(({ rule }) => rule)).toEqual(['retention_days', 'retention_days', 'retention_days'])
})

test('a store that is too large loses its oldest until it is not', async () => {
  await using here = await place(40)
  const { bytes, freeBytes } = await here.at.store.size()
  const limit = Math.round((bytes - freeBytes) / 2)
  here.say({ max_bytes: limit })
  const done = await here.collector.run()
  expect(done.entries.every(({ rule }) => rule === 'max_bytes')).toBe(true)
  expect(done.count).toBeGreaterThan(5)
  expect(done.count).toBeLessThan(40)
  expect(done.store.bytes - done.store.freeBytes).toBeLessThan(bytes - freeBytes)
  // What was taken was measured with all cleared away: nothing is taken twice for the same room.
  expect((await here.collector.run()).count).toBeLessThan(5)
})

test('what is pinned, or is being exported, stays whatever the rule', async () => {
  await using here = await place(4, { max_entries: 1 })
  const [pinned = '', exported = ''] = here.uuids
  await here.at.store.commit(here.scribe.write(pinned, { type: 'process.pinned', pinned: true, by: 'user' }))
  await here.removals.reading(exported, async () => {
    const { entries } = await here.collector.run()
    expect(entries.map(({ uuid }) => uuid)).toEqual([here.uuids[2]])
    await expect(here.removals.remove(exported)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is being exported') })
  })
  expect((await here.collector.run()).entries.map(({ uuid }) => uuid)).toEqual([exported])
  await expect(here.removals.remove(pinned)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is pinned') })
  expect((await here.removals.remove(pinned, true)).uuid).toBe(pinned)
})

test('one that came back and ended again since it was judged is another one', async () => {
  await using here = await place(1)
  const [uuid = ''] = here.uuids
  const { exitedAt } = (await here.reads.get(uuid)).clock
  expect(await here.removals.collect(uuid, (exitedAt ?? 0) - 1)).toBe(false)
  expect(await here.removals.collect(uuid, exitedAt ?? 0)).toBe(true)
  expect(await here.removals.collect(uuid, exitedAt ?? 0)).toBe(false)
})

test('a row that cannot be read is told and passed over, and the others go', async () => {
  await using here = await place(4, { max_entries: 2 })
  // Rows that were written long ago are not looked at when the store is opened.
  const MANY = 300
  await here.at.store.commit(here.scribe.spawn(uuidOf(99)))
  for (let fact = 0; fact < MANY; fact++) await here.at.store.commit(here.scribe.write(uuidOf(99), { type: 'process.output', stream: 'stdout', text: 'x' }))
  await here.at.tamper('UPDATE processes SET body = body || \' \' WHERE uuid = ?', here.uuids[0] ?? '')
  const reads = new Reads(new Table(10), here.at.store, here.clock)
  const sweeper = new Sweeper(here.at.store, () => {})
  const collector = new Collector({ store: here.at.store, reads, removals: new Removals({ reads, store: here.at.store, clock: here.clock, sweeper, worktrees: { checkIdle: () => {}, remove: async () => null } }), sweeper, clock: here.clock, log: () => {}, config: async () => ({ ...OFF, max_entries: 2 }) })
  const done = await collector.run()
  expect(done.skipped).toEqual([{ uuid: here.uuids[0], pid: 1, warning: expect.stringContaining('not what was written') }])
  expect(done.entries.map(({ uuid }) => uuid)).toEqual([here.uuids[1], here.uuids[2]])
  await sweeper.stop()
})

test('it looks a minute after the start, then each interval; a change counts from the next minute on', async () => {
  await using here = await place(5, { interval_seconds: 180 })
  here.collector.start()
  expect(here.asked()).toBe(0)
  await here.look()
  expect(await here.left()).toBe(5)
  here.say({ max_entries: 3, interval_seconds: 180 })
  await here.look()
  await here.look()
  expect(await here.left()).toBe(5)
  await here.look()
  await eventually(() => here.logged.length > 0, 'it said what it did')
  expect(await here.left()).toBe(3)
  expect(here.logged).toEqual([expect.stringMatching(/^collected 2 ended processes, \d+ bytes$/)])
  here.say({ max_entries: 1, interval_seconds: 60 })
  await here.look()
  await eventually(() => here.logged.length > 1, 'it said what it did')
  expect(await here.left()).toBe(1)
})

test('with a configuration that cannot be used it takes nothing, says so once, and goes on when it can', async () => {
  await using here = await place(3)
  here.say(new Error('config.yaml:1: no'))
  here.collector.start()
  await here.look()
  await here.look()
  expect(here.logged).toEqual(['nothing is collected while the configuration cannot be used'])
  here.say({ max_entries: 1 })
  await here.look()
  await eventually(() => here.logged.length > 1, 'it said what it did')
  expect(await here.left()).toBe(1)
  await expect(here.collector.run().then(({ count }) => count)).resolves.toBe(0)
})

test('a daemon that stops does not wait until all is cleared away', async () => {
  await using here = await place(3, { max_entries: 1 })
  const forever = new Promise<void>(() => {})
  const collector = new Collector({
    store: here.at.store, reads: here.reads, removals: here.removals, sweeper: { idle: () => forever }, clock: here.clock, log: () => {},
    config: async () => ({ ...OFF, max_entries: 1 }),
  })
  const round = collector.run()
  await collector.stop()
  expect((await round).dryRun).toBe(false)
})

test('with all rules off nothing is even looked for', async () => {
  await using here = await place(3)
  expect(await here.collector.run()).toMatchObject({ count: 0, entries: [], rules: { retentionDays: 0, maxEntries: 0, maxBytes: 0 } })
})
