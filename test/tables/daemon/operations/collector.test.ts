// The collector on a real store with a manual clock: when it runs, what it removes and keeps, and its log.
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { GarbageCollector, CHECK_MS } from '../../../../src/daemon/operations/collector.ts'
import { ProcessQueries } from '../../../../src/daemon/views/process-queries.ts'
import { Removals, Sweeper } from '../../../../src/daemon/operations/removals.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import type { GcConfig } from '../../../../src/config/keys/gc.ts'
import { ManualClock } from '../../../support/clock.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { CommitMaker, endFacts, modelFinished, specOf, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'

/** the largest number of turns of the event loop until a due check has run */
const MAX_TURNS = 1_000_000

const OFF: GcConfig = { retention_days: 0, max_entries: 0, max_bytes: 0, interval_seconds: 60 }
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** Opens a store with `count` ended processes, a millisecond apart, and a collector for it. */
async function openCollector(count: number, rules: Partial<GcConfig> = {}) {
  const fixture = await openTestStore()
  const commits = new CommitMaker()
  const uuids = Array.from({ length: count }, (_, index) => uuidOf(index + 1))
  for (const uuid of uuids)
    await fixture.store.commit(
      commits.spawn(uuid, specOf({ name: `p${commits.pid}` }), ...modelFinished(1, `${uuid} `.repeat(600)), ...endFacts()),
    )
  const clock = new ManualClock()
  const reads = new ProcessQueries(new Table(10), fixture.store, clock)
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  const sweeper = new Sweeper(fixture.store, log)
  const removals = new Removals({
    reads,
    store: fixture.store,
    clock,
    sweeper,
    worktrees: { checkIdle: () => {}, remove: async () => null },
  })
  let config: GcConfig | Error = { ...OFF, ...rules }
  let configReads = 0
  const newCollector = (): GarbageCollector =>
    new GarbageCollector({
      store: fixture.store,
      local: fixture.store,
      reads,
      removals,
      sweeper,
      clock,
      log,
      readConfig: async () => {
        configReads += 1
        if (config instanceof Error) throw config
        return config
      },
    })
  const collector = newCollector()
  return {
    fixture,
    commits,
    uuids,
    clock,
    reads,
    removals,
    collector,
    newCollector,
    logged,
    setConfig: (changes: Partial<GcConfig> | Error): void => {
      config = changes instanceof Error ? changes : { ...OFF, ...changes }
    },
    configReadCount: () => configReads,
    countEnded: async () => (await fixture.store.dead({ limit: 10_000 })).length,
    /** Advances the clock by minutes, with a check of the collector after each. */
    async checkEachMinute(minutes = 1): Promise<void> {
      for (let time = 0; time < minutes; time++) {
        const before = configReads
        clock.wind(CHECK_MS)
        for (let turns = 0; configReads === before || clock.timers === 0; turns++) {
          if (turns > MAX_TURNS) throw new Error('the collector did not check')
          await setImmediate()
        }
      }
    },
    async [Symbol.asyncDispose]() {
      await collector.stop()
      await sweeper.stop()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

test('a preview removes nothing, a round removes exactly the previewed processes, and the next one finds none', async () => {
  await using opened = await openCollector(6, { max_entries: 4 })
  const preview = await opened.collector.preview()
  expect(preview).toMatchObject({
    dryRun: true,
    count: 2,
    freedBytes: null,
    rules: { retentionDays: 0, maxEntries: 4, maxBytes: 0 },
    skipped: [],
  })
  expect(preview.entries.map(({ uuid, name, agent, rule }) => [uuid, name, agent, rule])).toEqual([
    [opened.uuids[0], 'p0', 'coder', 'max_entries'],
    [opened.uuids[1], 'p1', 'coder', 'max_entries'],
  ])
  expect(await opened.countEnded()).toBe(6)
  const result = await opened.collector.run()
  expect({ ...result, dryRun: true, freedBytes: null, store: null }).toEqual({ ...preview, store: null })
  expect(result.freedBytes).toBeGreaterThan(0)
  expect(await opened.countEnded()).toBe(4)
  expect((await opened.collector.run()).count).toBe(0)
  await expect(opened.reads.get(opened.uuids[0] ?? '')).rejects.toMatchObject({ code: 'COLLECTED' })
  expect(await opened.fixture.store.verify()).toEqual([])
})

test("the age of a process is measured with the daemon's wall clock", async () => {
  await using opened = await openCollector(3, { retention_days: 1 })
  expect((await opened.collector.preview()).count).toBe(0)
  opened.clock.jump(DAY_MS + MINUTE_MS)
  expect((await opened.collector.run()).entries.map(({ rule }) => rule)).toEqual(['retention_days', 'retention_days', 'retention_days'])
})

test('in a store above its size limit the oldest processes are removed until it fits', async () => {
  await using opened = await openCollector(40)
  const { bytes, freeBytes } = await opened.fixture.store.size()
  const limit = Math.round((bytes - freeBytes) / 2)
  opened.setConfig({ max_bytes: limit })
  const result = await opened.collector.run()
  expect(result.entries.every(({ rule }) => rule === 'max_bytes')).toBe(true)
  expect(result.entries.map(({ uuid }) => uuid)).toEqual(opened.uuids.slice(0, result.count))
  expect(result.count).toBeGreaterThan(5)
  expect(result.count).toBeLessThan(40)
  expect(result.store.bytes - result.store.freeBytes).toBeLessThan(bytes - freeBytes)
  // The size is measured after the removal is complete: nothing is removed twice for the same space.
  expect((await opened.collector.run()).count).toBeLessThan(5)
})

test('a pinned process, and a process that is being exported, are neither collected nor removed; only `force` removes a pinned one', async () => {
  await using opened = await openCollector(4, { max_entries: 1 })
  const [pinned = '', exported = ''] = opened.uuids
  await opened.fixture.store.commit(opened.commits.write(pinned, { type: 'process.pinned', pinned: true, by: 'user' }))
  await opened.removals.readWithoutRemoval(exported, async () => {
    const { entries } = await opened.collector.run()
    expect(entries.map(({ uuid }) => uuid)).toEqual([opened.uuids[2]])
    await expect(opened.removals.remove(exported)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('is being exported'),
    })
  })
  expect((await opened.collector.run()).entries.map(({ uuid }) => uuid)).toEqual([exported])
  await expect(opened.removals.remove(pinned)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is pinned') })
  expect((await opened.removals.remove(pinned, { force: true })).uuid).toBe(pinned)
})

test('a selected process is removed only if its time of exit is still that of the selection, and only once', async () => {
  await using opened = await openCollector(1)
  const [uuid = ''] = opened.uuids
  const { exitedAt } = (await opened.reads.get(uuid)).clock
  expect(await opened.removals.collect(uuid, (exitedAt ?? 0) - 1)).toBe(false)
  expect(await opened.removals.collect(uuid, exitedAt ?? 0)).toBe(true)
  expect(await opened.removals.collect(uuid, exitedAt ?? 0)).toBe(false)
})

test('an unreadable row is reported and skipped, and the others are removed', async () => {
  await using opened = await openCollector(4, { max_entries: 2 })
  // A store checks only recent rows when it is opened. Many later facts make the damaged row an old one.
  const MANY = 300
  await opened.fixture.store.commit(opened.commits.spawn(uuidOf(99)))
  for (let fact = 0; fact < MANY; fact++)
    await opened.fixture.store.commit(opened.commits.write(uuidOf(99), { type: 'process.output', stream: 'stdout', text: 'x' }))
  await opened.fixture.tamper("UPDATE processes SET body = body || ' ' WHERE uuid = ?", opened.uuids[0] ?? '')
  const reads = new ProcessQueries(new Table(10), opened.fixture.store, opened.clock)
  const sweeper = new Sweeper(opened.fixture.store, () => {})
  const collector = new GarbageCollector({
    store: opened.fixture.store,
    local: opened.fixture.store,
    reads,
    removals: new Removals({
      reads,
      store: opened.fixture.store,
      clock: opened.clock,
      sweeper,
      worktrees: { checkIdle: () => {}, remove: async () => null },
    }),
    sweeper,
    clock: opened.clock,
    log: () => {},
    readConfig: async () => ({ ...OFF, max_entries: 2 }),
  })
  const result = await collector.run()
  expect(result.skipped).toEqual([{ uuid: opened.uuids[0], pid: 1, warning: expect.stringContaining('the row is damaged') }])
  expect(result.entries.map(({ uuid }) => uuid)).toEqual([opened.uuids[1], opened.uuids[2]])
  await sweeper.stop()
})

test('a round runs a minute after the start, then at each interval; a changed interval takes effect within a minute', async () => {
  await using opened = await openCollector(5, { interval_seconds: 180 })
  opened.collector.start()
  expect(opened.configReadCount()).toBe(0)
  await opened.checkEachMinute()
  expect(await opened.countEnded()).toBe(5)
  opened.setConfig({ max_entries: 3, interval_seconds: 180 })
  await opened.checkEachMinute()
  await opened.checkEachMinute()
  expect(await opened.countEnded()).toBe(5)
  await opened.checkEachMinute()
  await waitUntil(() => opened.logged.length > 0, 'the log has the result')
  expect(await opened.countEnded()).toBe(3)
  expect(opened.logged).toEqual([expect.stringMatching(/^collected 2 ended processes, \d+ bytes$/)])
  opened.setConfig({ max_entries: 1, interval_seconds: 60 })
  await opened.checkEachMinute()
  await waitUntil(() => opened.logged.length > 1, 'the log has the result')
  expect(await opened.countEnded()).toBe(1)
})

test('with an invalid configuration nothing is removed; that is logged once, and collection continues when the file is valid', async () => {
  await using opened = await openCollector(3)
  opened.setConfig(new Error('config.yaml:1: no'))
  opened.collector.start()
  await opened.checkEachMinute()
  await opened.checkEachMinute()
  expect(opened.logged).toEqual(['nothing is collected while the configuration cannot be used'])
  opened.setConfig({ max_entries: 1 })
  await opened.checkEachMinute()
  await waitUntil(() => opened.logged.length > 1, 'the log has the result')
  expect(await opened.countEnded()).toBe(1)
  await expect(opened.collector.run().then(({ count }) => count)).resolves.toBe(0)
})

test('a stopping daemon does not wait until the data of removed processes is deleted', async () => {
  await using opened = await openCollector(3, { max_entries: 1 })
  const never = new Promise<void>(() => {})
  const collector = new GarbageCollector({
    store: opened.fixture.store,
    local: opened.fixture.store,
    reads: opened.reads,
    removals: opened.removals,
    sweeper: { waitUntilIdle: () => never },
    clock: opened.clock,
    log: () => {},
    readConfig: async () => ({ ...OFF, max_entries: 1 }),
  })
  const round = collector.run()
  await collector.stop()
  expect((await round).dryRun).toBe(false)
})

test('with all rules off nothing is removed', async () => {
  await using opened = await openCollector(3)
  expect(await opened.collector.run()).toMatchObject({ count: 0, entries: [], rules: { retentionDays: 0, maxEntries: 0, maxBytes: 0 } })
})

describe('with a wrong clock nothing is removed', () => {
  const DOUBT = /^the clock shows 2023-.*, 45 days ahead of the expected time: nothing is collected until it has been ahead for a day$/

  test('while the daemon runs; the doubt is reported once, and ends when the clock is right again', async () => {
    await using opened = await openCollector(3, { retention_days: 30 })
    opened.collector.start()
    await opened.checkEachMinute()
    opened.clock.jump(45 * DAY_MS)
    for (let minute = 0; minute < 5; minute++) await opened.checkEachMinute()
    expect([await opened.countEnded(), opened.logged]).toEqual([3, [expect.stringMatching(DOUBT)]])
    expect(opened.collector.doctorChecks()).toMatchObject([
      { name: 'collection', ok: false, optional: true, detail: expect.stringMatching(DOUBT) },
    ])
    opened.clock.jump(-45 * DAY_MS)
    await opened.checkEachMinute()
    expect([await opened.countEnded(), opened.collector.doctorChecks()]).toEqual([3, []])
  })

  test('after restarts of the daemon, even if facts were written meanwhile', async () => {
    await using opened = await openCollector(3, { retention_days: 30 })
    opened.collector.start()
    await opened.checkEachMinute()
    await opened.collector.stop()
    opened.clock.jump(45 * DAY_MS)
    for (let start = 0; start < 3; start++) {
      await opened.fixture.store.commit(opened.commits.spawn(uuidOf(100 + start)))
      const nextCollector = opened.newCollector()
      nextCollector.start()
      await opened.checkEachMinute()
      await nextCollector.stop()
    }
    expect([await opened.countEnded(), opened.logged]).toEqual([3, Array.from({ length: 3 }, () => expect.stringMatching(DOUBT))])
  })

  test('until the clock has been ahead for a day', async () => {
    await using opened = await openCollector(3, { retention_days: 30, interval_seconds: 3_600 })
    opened.collector.start()
    await opened.checkEachMinute()
    opened.clock.jump(45 * DAY_MS)
    for (let hour = 0; hour < 24; hour++) await opened.checkEachMinute(60)
    expect(await opened.countEnded()).toBe(3)
    await opened.checkEachMinute(60)
    await waitUntil(() => opened.logged.some((line) => line.startsWith('collected 3')), 'it collected')
  })

  test('unless the user starts a collection', async () => {
    await using opened = await openCollector(3, { retention_days: 30 })
    opened.collector.start()
    await opened.checkEachMinute()
    opened.clock.jump(45 * DAY_MS)
    await opened.checkEachMinute()
    expect((await opened.collector.run()).count).toBe(3)
    expect(opened.collector.doctorChecks()).toEqual([])
  })

  test('unless it is only three days ahead, as when the machine was off for a weekend', async () => {
    await using opened = await openCollector(3, { retention_days: 1 })
    opened.collector.start()
    await opened.checkEachMinute()
    opened.clock.jump(3 * DAY_MS)
    await opened.checkEachMinute()
    await waitUntil(() => opened.logged.some((line) => line.startsWith('collected 3')), 'it collected')
  })
})
