// The collector on a real store with a manual clock: when it runs, what it removes and keeps, and its log.
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { GarbageCollector, CHECK_MS } from '../../../../src/daemon/operations/collector.ts'
import { ProcessQueries } from '../../../../src/daemon/views/process-queries.ts'
import { Removals, Sweeper } from '../../../../src/daemon/operations/removals.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import type { GcConfig } from '../../../../src/config/keys/gc.ts'
import { ManualClock } from '../../../support/clock.ts'
import { waitUntil } from '../../../support/agents/living.ts'
import { Scribe, endOf, modelFinished, specOf, uuidOf } from '../../../support/store/facts.ts'
import { testStore } from '../../../support/store/open.ts'

/** of the event loop, until a look that was due has been taken */
const MAX_TURNS = 1_000_000

const OFF: GcConfig = { retention_days: 0, max_entries: 0, max_bytes: 0, interval_seconds: 60 }
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** A store with `count` ended processes, a millisecond apart, and its collector. */
async function place(count: number, rules: Partial<GcConfig> = {}) {
  const at = await testStore()
  const scribe = new Scribe()
  const uuids = Array.from({ length: count }, (_, index) => uuidOf(index + 1))
  for (const uuid of uuids)
    await at.store.commit(scribe.spawn(uuid, specOf({ name: `p${scribe.pid}` }), ...modelFinished(1, `${uuid} `.repeat(600)), ...endOf()))
  const clock = new ManualClock()
  const reads = new ProcessQueries(new Table(10), at.store, clock)
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  const sweeper = new Sweeper(at.store, log)
  const removals = new Removals({ reads, store: at.store, clock, sweeper, worktrees: { checkIdle: () => {}, remove: async () => null } })
  let config: GcConfig | Error = { ...OFF, ...rules }
  let asked = 0
  const again = (): GarbageCollector =>
    new GarbageCollector({
      store: at.store,
      reads,
      removals,
      sweeper,
      clock,
      log,
      readConfig: async () => {
        asked += 1
        if (config instanceof Error) throw config
        return config
      },
    })
  const collector = again()
  return {
    at,
    scribe,
    uuids,
    clock,
    reads,
    removals,
    collector,
    again,
    logged,
    say: (more: Partial<GcConfig> | Error): void => {
      config = more instanceof Error ? more : { ...OFF, ...more }
    },
    asked: () => asked,
    left: async () => (await at.store.dead({ limit: 10_000 })).length,
    /** Advances the clock by minutes, with a check of the collector after each. */
    async look(times = 1): Promise<void> {
      for (let time = 0; time < times; time++) {
        const before = asked
        clock.wind(CHECK_MS)
        for (let turn = 0; asked === before || clock.timers === 0; turn++) {
          if (turn > MAX_TURNS) throw new Error('it did not look')
          await setImmediate()
        }
      }
    },
    async [Symbol.asyncDispose]() {
      await collector.stop()
      await sweeper.stop()
      await at[Symbol.asyncDispose]()
    },
  }
}

test('a preview removes nothing, a round removes exactly the previewed processes, and the next one finds none', async () => {
  await using here = await place(6, { max_entries: 4 })
  const preview = await here.collector.preview()
  expect(preview).toMatchObject({
    dryRun: true,
    count: 2,
    freedBytes: null,
    rules: { retentionDays: 0, maxEntries: 4, maxBytes: 0 },
    skipped: [],
  })
  expect(preview.entries.map(({ uuid, name, agent, rule }) => [uuid, name, agent, rule])).toEqual([
    [here.uuids[0], 'p0', 'coder', 'max_entries'],
    [here.uuids[1], 'p1', 'coder', 'max_entries'],
  ])
  expect(await here.left()).toBe(6)
  const done = await here.collector.run()
  expect({ ...done, dryRun: true, freedBytes: null, store: null }).toEqual({ ...preview, store: null })
  expect(done.freedBytes).toBeGreaterThan(0)
  expect(await here.left()).toBe(4)
  expect((await here.collector.run()).count).toBe(0)
  await expect(here.reads.get(here.uuids[0] ?? '')).rejects.toMatchObject({ code: 'COLLECTED' })
  expect(await here.at.store.verify()).toEqual([])
})

test("the age of a process is measured with the daemon's wall clock", async () => {
  await using here = await place(3, { retention_days: 1 })
  expect((await here.collector.preview()).count).toBe(0)
  here.clock.jump(DAY_MS + MINUTE_MS)
  expect((await here.collector.run()).entries.map(({ rule }) => rule)).toEqual(['retention_days', 'retention_days', 'retention_days'])
})

test('in a store above its size limit the oldest processes are removed until it fits', async () => {
  await using here = await place(40)
  const { bytes, freeBytes } = await here.at.store.size()
  const limit = Math.round((bytes - freeBytes) / 2)
  here.say({ max_bytes: limit })
  const done = await here.collector.run()
  expect(done.entries.every(({ rule }) => rule === 'max_bytes')).toBe(true)
  expect(done.count).toBeGreaterThan(5)
  expect(done.count).toBeLessThan(40)
  expect(done.store.bytes - done.store.freeBytes).toBeLessThan(bytes - freeBytes)
  // The size is measured after the removal is complete: nothing is removed twice for the same space.
  expect((await here.collector.run()).count).toBeLessThan(5)
})

test('a pinned or exported process stays, whatever the rule', async () => {
  await using here = await place(4, { max_entries: 1 })
  const [pinned = '', exported = ''] = here.uuids
  await here.at.store.commit(here.scribe.write(pinned, { type: 'process.pinned', pinned: true, by: 'user' }))
  await here.removals.readWithoutRemoval(exported, async () => {
    const { entries } = await here.collector.run()
    expect(entries.map(({ uuid }) => uuid)).toEqual([here.uuids[2]])
    await expect(here.removals.remove(exported)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('is being exported'),
    })
  })
  expect((await here.collector.run()).entries.map(({ uuid }) => uuid)).toEqual([exported])
  await expect(here.removals.remove(pinned)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is pinned') })
  expect((await here.removals.remove(pinned, true)).uuid).toBe(pinned)
})

test('a selected process that was resumed and has ended again is not removed', async () => {
  await using here = await place(1)
  const [uuid = ''] = here.uuids
  const { exitedAt } = (await here.reads.get(uuid)).clock
  expect(await here.removals.collect(uuid, (exitedAt ?? 0) - 1)).toBe(false)
  expect(await here.removals.collect(uuid, exitedAt ?? 0)).toBe(true)
  expect(await here.removals.collect(uuid, exitedAt ?? 0)).toBe(false)
})

test('an unreadable row is reported and skipped, and the others are removed', async () => {
  await using here = await place(4, { max_entries: 2 })
  // Rows that were written long ago are not looked at when the store is opened.
  const MANY = 300
  await here.at.store.commit(here.scribe.spawn(uuidOf(99)))
  for (let fact = 0; fact < MANY; fact++)
    await here.at.store.commit(here.scribe.write(uuidOf(99), { type: 'process.output', stream: 'stdout', text: 'x' }))
  await here.at.tamper("UPDATE processes SET body = body || ' ' WHERE uuid = ?", here.uuids[0] ?? '')
  const reads = new ProcessQueries(new Table(10), here.at.store, here.clock)
  const sweeper = new Sweeper(here.at.store, () => {})
  const collector = new GarbageCollector({
    store: here.at.store,
    reads,
    removals: new Removals({
      reads,
      store: here.at.store,
      clock: here.clock,
      sweeper,
      worktrees: { checkIdle: () => {}, remove: async () => null },
    }),
    sweeper,
    clock: here.clock,
    log: () => {},
    readConfig: async () => ({ ...OFF, max_entries: 2 }),
  })
  const done = await collector.run()
  expect(done.skipped).toEqual([{ uuid: here.uuids[0], pid: 1, warning: expect.stringContaining('the row is damaged') }])
  expect(done.entries.map(({ uuid }) => uuid)).toEqual([here.uuids[1], here.uuids[2]])
  await sweeper.stop()
})

test('a round runs a minute after the start, then at each interval; a changed interval takes effect within a minute', async () => {
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
  await waitUntil(() => here.logged.length > 0, 'the log has the result')
  expect(await here.left()).toBe(3)
  expect(here.logged).toEqual([expect.stringMatching(/^collected 2 ended processes, \d+ bytes$/)])
  here.say({ max_entries: 1, interval_seconds: 60 })
  await here.look()
  await waitUntil(() => here.logged.length > 1, 'the log has the result')
  expect(await here.left()).toBe(1)
})

test('with an invalid configuration nothing is removed; that is logged once, and collection continues when the file is valid', async () => {
  await using here = await place(3)
  here.say(new Error('config.yaml:1: no'))
  here.collector.start()
  await here.look()
  await here.look()
  expect(here.logged).toEqual(['nothing is collected while the configuration cannot be used'])
  here.say({ max_entries: 1 })
  await here.look()
  await waitUntil(() => here.logged.length > 1, 'the log has the result')
  expect(await here.left()).toBe(1)
  await expect(here.collector.run().then(({ count }) => count)).resolves.toBe(0)
})

test('a stopping daemon does not wait for the rest of the removal', async () => {
  await using here = await place(3, { max_entries: 1 })
  const forever = new Promise<void>(() => {})
  const collector = new GarbageCollector({
    store: here.at.store,
    reads: here.reads,
    removals: here.removals,
    sweeper: { waitUntilIdle: () => forever },
    clock: here.clock,
    log: () => {},
    readConfig: async () => ({ ...OFF, max_entries: 1 }),
  })
  const round = collector.run()
  await collector.stop()
  expect((await round).dryRun).toBe(false)
})

test('with all rules off the store is not searched', async () => {
  await using here = await place(3)
  expect(await here.collector.run()).toMatchObject({ count: 0, entries: [], rules: { retentionDays: 0, maxEntries: 0, maxBytes: 0 } })
})

describe('with a wrong clock nothing is removed', () => {
  const DOUBT = /^the clock shows 2023-.*, 45 days ahead of the expected time: nothing is collected until it has been ahead for a day$/

  test('while the daemon runs; the doubt is reported once, and ends when the clock is right again', async () => {
    await using here = await place(3, { retention_days: 30 })
    here.collector.start()
    await here.look()
    here.clock.jump(45 * DAY_MS)
    for (let minute = 0; minute < 5; minute++) await here.look()
    expect([await here.left(), here.logged]).toEqual([3, [expect.stringMatching(DOUBT)]])
    expect(here.collector.doctorChecks()).toMatchObject([
      { name: 'collection', ok: false, optional: true, detail: expect.stringMatching(DOUBT) },
    ])
    here.clock.jump(-45 * DAY_MS)
    await here.look()
    expect([await here.left(), here.collector.doctorChecks()]).toEqual([3, []])
  })

  test('after restarts of the daemon, even if facts were written meanwhile', async () => {
    await using here = await place(3, { retention_days: 30 })
    here.collector.start()
    await here.look()
    await here.collector.stop()
    here.clock.jump(45 * DAY_MS)
    for (let start = 0; start < 3; start++) {
      await here.at.store.commit(here.scribe.spawn(uuidOf(100 + start)))
      const next = here.again()
      next.start()
      await here.look()
      await next.stop()
    }
    expect([await here.left(), here.logged]).toEqual([3, Array.from({ length: 3 }, () => expect.stringMatching(DOUBT))])
  })

  test('until the clock has been ahead for a day', async () => {
    await using here = await place(3, { retention_days: 30, interval_seconds: 3_600 })
    here.collector.start()
    await here.look()
    here.clock.jump(45 * DAY_MS)
    for (let hour = 0; hour < 24; hour++) await here.look(60)
    expect(await here.left()).toBe(3)
    await here.look(60)
    await waitUntil(() => here.logged.some((line) => line.startsWith('collected 3')), 'it collected')
  })

  test('unless the user starts a collection', async () => {
    await using here = await place(3, { retention_days: 30 })
    here.collector.start()
    await here.look()
    here.clock.jump(45 * DAY_MS)
    await here.look()
    expect((await here.collector.run()).count).toBe(3)
    expect(here.collector.doctorChecks()).toEqual([])
  })

  test('but a weekend without the machine causes no doubt', async () => {
    await using here = await place(3, { retention_days: 1 })
    here.collector.start()
    await here.look()
    here.clock.jump(3 * DAY_MS)
    await here.look()
    await waitUntil(() => here.logged.some((line) => line.startsWith('collected 3')), 'it collected')
  })
})
