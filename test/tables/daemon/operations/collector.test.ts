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

/** A store with `count` ended processes, a millisecond apart, and its collector. */
async function openCollectorBench(count: number, rules: Partial<GcConfig> = {}) {
  const fixture = await openTestStore()
  const scribe = new CommitMaker()
  const uuids = Array.from({ length: count }, (_, index) => uuidOf(index + 1))
  for (const uuid of uuids)
    await fixture.store.commit(
      scribe.spawn(uuid, specOf({ name: `p${scribe.pid}` }), ...modelFinished(1, `${uuid} `.repeat(600)), ...endFacts()),
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
    scribe,
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
  await using workspace = await openCollectorBench(6, { max_entries: 4 })
  const preview = await workspace.collector.preview()
  expect(preview).toMatchObject({
    dryRun: true,
    count: 2,
    freedBytes: null,
    rules: { retentionDays: 0, maxEntries: 4, maxBytes: 0 },
    skipped: [],
  })
  expect(preview.entries.map(({ uuid, name, agent, rule }) => [uuid, name, agent, rule])).toEqual([
    [workspace.uuids[0], 'p0', 'coder', 'max_entries'],
    [workspace.uuids[1], 'p1', 'coder', 'max_entries'],
  ])
  expect(await workspace.countEnded()).toBe(6)
  const result = await workspace.collector.run()
  expect({ ...result, dryRun: true, freedBytes: null, store: null }).toEqual({ ...preview, store: null })
  expect(result.freedBytes).toBeGreaterThan(0)
  expect(await workspace.countEnded()).toBe(4)
  expect((await workspace.collector.run()).count).toBe(0)
  await expect(workspace.reads.get(workspace.uuids[0] ?? '')).rejects.toMatchObject({ code: 'COLLECTED' })
  expect(await workspace.fixture.store.verify()).toEqual([])
})

test("the age of a process is measured with the daemon's wall clock", async () => {
  await using workspace = await openCollectorBench(3, { retention_days: 1 })
  expect((await workspace.collector.preview()).count).toBe(0)
  workspace.clock.jump(DAY_MS + MINUTE_MS)
  expect((await workspace.collector.run()).entries.map(({ rule }) => rule)).toEqual(['retention_days', 'retention_days', 'retention_days'])
})

test('in a store above its size limit the oldest processes are removed until it fits', async () => {
  await using workspace = await openCollectorBench(40)
  const { bytes, freeBytes } = await workspace.fixture.store.size()
  const limit = Math.round((bytes - freeBytes) / 2)
  workspace.setConfig({ max_bytes: limit })
  const result = await workspace.collector.run()
  expect(result.entries.every(({ rule }) => rule === 'max_bytes')).toBe(true)
  expect(result.count).toBeGreaterThan(5)
  expect(result.count).toBeLessThan(40)
  expect(result.store.bytes - result.store.freeBytes).toBeLessThan(bytes - freeBytes)
  // The size is measured after the removal is complete: nothing is removed twice for the same space.
  expect((await workspace.collector.run()).count).toBeLessThan(5)
})

test('a pinned or exported process stays, whatever the rule', async () => {
  await using workspace = await openCollectorBench(4, { max_entries: 1 })
  const [pinned = '', exported = ''] = workspace.uuids
  await workspace.fixture.store.commit(workspace.scribe.write(pinned, { type: 'process.pinned', pinned: true, by: 'user' }))
  await workspace.removals.readWithoutRemoval(exported, async () => {
    const { entries } = await workspace.collector.run()
    expect(entries.map(({ uuid }) => uuid)).toEqual([workspace.uuids[2]])
    await expect(workspace.removals.remove(exported)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('is being exported'),
    })
  })
  expect((await workspace.collector.run()).entries.map(({ uuid }) => uuid)).toEqual([exported])
  await expect(workspace.removals.remove(pinned)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is pinned') })
  expect((await workspace.removals.remove(pinned, { force: true })).uuid).toBe(pinned)
})

test('a selected process that was resumed and has ended again is not removed', async () => {
  await using workspace = await openCollectorBench(1)
  const [uuid = ''] = workspace.uuids
  const { exitedAt } = (await workspace.reads.get(uuid)).clock
  expect(await workspace.removals.collect(uuid, (exitedAt ?? 0) - 1)).toBe(false)
  expect(await workspace.removals.collect(uuid, exitedAt ?? 0)).toBe(true)
  expect(await workspace.removals.collect(uuid, exitedAt ?? 0)).toBe(false)
})

test('an unreadable row is reported and skipped, and the others are removed', async () => {
  await using workspace = await openCollectorBench(4, { max_entries: 2 })
  // Opening a store does not check rows that were written long ago.
  const MANY = 300
  await workspace.fixture.store.commit(workspace.scribe.spawn(uuidOf(99)))
  for (let fact = 0; fact < MANY; fact++)
    await workspace.fixture.store.commit(workspace.scribe.write(uuidOf(99), { type: 'process.output', stream: 'stdout', text: 'x' }))
  await workspace.fixture.tamper("UPDATE processes SET body = body || ' ' WHERE uuid = ?", workspace.uuids[0] ?? '')
  const reads = new ProcessQueries(new Table(10), workspace.fixture.store, workspace.clock)
  const sweeper = new Sweeper(workspace.fixture.store, () => {})
  const collector = new GarbageCollector({
    store: workspace.fixture.store,
    reads,
    removals: new Removals({
      reads,
      store: workspace.fixture.store,
      clock: workspace.clock,
      sweeper,
      worktrees: { checkIdle: () => {}, remove: async () => null },
    }),
    sweeper,
    clock: workspace.clock,
    log: () => {},
    readConfig: async () => ({ ...OFF, max_entries: 2 }),
  })
  const result = await collector.run()
  expect(result.skipped).toEqual([{ uuid: workspace.uuids[0], pid: 1, warning: expect.stringContaining('the row is damaged') }])
  expect(result.entries.map(({ uuid }) => uuid)).toEqual([workspace.uuids[1], workspace.uuids[2]])
  await sweeper.stop()
})

test('a round runs a minute after the start, then at each interval; a changed interval takes effect within a minute', async () => {
  await using workspace = await openCollectorBench(5, { interval_seconds: 180 })
  workspace.collector.start()
  expect(workspace.configReadCount()).toBe(0)
  await workspace.checkEachMinute()
  expect(await workspace.countEnded()).toBe(5)
  workspace.setConfig({ max_entries: 3, interval_seconds: 180 })
  await workspace.checkEachMinute()
  await workspace.checkEachMinute()
  expect(await workspace.countEnded()).toBe(5)
  await workspace.checkEachMinute()
  await waitUntil(() => workspace.logged.length > 0, 'the log has the result')
  expect(await workspace.countEnded()).toBe(3)
  expect(workspace.logged).toEqual([expect.stringMatching(/^collected 2 ended processes, \d+ bytes$/)])
  workspace.setConfig({ max_entries: 1, interval_seconds: 60 })
  await workspace.checkEachMinute()
  await waitUntil(() => workspace.logged.length > 1, 'the log has the result')
  expect(await workspace.countEnded()).toBe(1)
})

test('with an invalid configuration nothing is removed; that is logged once, and collection continues when the file is valid', async () => {
  await using workspace = await openCollectorBench(3)
  workspace.setConfig(new Error('config.yaml:1: no'))
  workspace.collector.start()
  await workspace.checkEachMinute()
  await workspace.checkEachMinute()
  expect(workspace.logged).toEqual(['nothing is collected while the configuration cannot be used'])
  workspace.setConfig({ max_entries: 1 })
  await workspace.checkEachMinute()
  await waitUntil(() => workspace.logged.length > 1, 'the log has the result')
  expect(await workspace.countEnded()).toBe(1)
  await expect(workspace.collector.run().then(({ count }) => count)).resolves.toBe(0)
})

test('a stopping daemon does not wait for the rest of the removal', async () => {
  await using workspace = await openCollectorBench(3, { max_entries: 1 })
  const never = new Promise<void>(() => {})
  const collector = new GarbageCollector({
    store: workspace.fixture.store,
    reads: workspace.reads,
    removals: workspace.removals,
    sweeper: { waitUntilIdle: () => never },
    clock: workspace.clock,
    log: () => {},
    readConfig: async () => ({ ...OFF, max_entries: 1 }),
  })
  const round = collector.run()
  await collector.stop()
  expect((await round).dryRun).toBe(false)
})

test('with all rules off the store is not searched', async () => {
  await using workspace = await openCollectorBench(3)
  expect(await workspace.collector.run()).toMatchObject({ count: 0, entries: [], rules: { retentionDays: 0, maxEntries: 0, maxBytes: 0 } })
})

describe('with a wrong clock nothing is removed', () => {
  const DOUBT = /^the clock shows 2023-.*, 45 days ahead of the expected time: nothing is collected until it has been ahead for a day$/

  test('while the daemon runs; the doubt is reported once, and ends when the clock is right again', async () => {
    await using workspace = await openCollectorBench(3, { retention_days: 30 })
    workspace.collector.start()
    await workspace.checkEachMinute()
    workspace.clock.jump(45 * DAY_MS)
    for (let minute = 0; minute < 5; minute++) await workspace.checkEachMinute()
    expect([await workspace.countEnded(), workspace.logged]).toEqual([3, [expect.stringMatching(DOUBT)]])
    expect(workspace.collector.doctorChecks()).toMatchObject([
      { name: 'collection', ok: false, optional: true, detail: expect.stringMatching(DOUBT) },
    ])
    workspace.clock.jump(-45 * DAY_MS)
    await workspace.checkEachMinute()
    expect([await workspace.countEnded(), workspace.collector.doctorChecks()]).toEqual([3, []])
  })

  test('after restarts of the daemon, even if facts were written meanwhile', async () => {
    await using workspace = await openCollectorBench(3, { retention_days: 30 })
    workspace.collector.start()
    await workspace.checkEachMinute()
    await workspace.collector.stop()
    workspace.clock.jump(45 * DAY_MS)
    for (let start = 0; start < 3; start++) {
      await workspace.fixture.store.commit(workspace.scribe.spawn(uuidOf(100 + start)))
      const nextCollector = workspace.newCollector()
      nextCollector.start()
      await workspace.checkEachMinute()
      await nextCollector.stop()
    }
    expect([await workspace.countEnded(), workspace.logged]).toEqual([3, Array.from({ length: 3 }, () => expect.stringMatching(DOUBT))])
  })

  test('until the clock has been ahead for a day', async () => {
    await using workspace = await openCollectorBench(3, { retention_days: 30, interval_seconds: 3_600 })
    workspace.collector.start()
    await workspace.checkEachMinute()
    workspace.clock.jump(45 * DAY_MS)
    for (let hour = 0; hour < 24; hour++) await workspace.checkEachMinute(60)
    expect(await workspace.countEnded()).toBe(3)
    await workspace.checkEachMinute(60)
    await waitUntil(() => workspace.logged.some((line) => line.startsWith('collected 3')), 'it collected')
  })

  test('unless the user starts a collection', async () => {
    await using workspace = await openCollectorBench(3, { retention_days: 30 })
    workspace.collector.start()
    await workspace.checkEachMinute()
    workspace.clock.jump(45 * DAY_MS)
    await workspace.checkEachMinute()
    expect((await workspace.collector.run()).count).toBe(3)
    expect(workspace.collector.doctorChecks()).toEqual([])
  })

  test('but a machine that was off for a weekend causes no doubt', async () => {
    await using workspace = await openCollectorBench(3, { retention_days: 1 })
    workspace.collector.start()
    await workspace.checkEachMinute()
    workspace.clock.jump(3 * DAY_MS)
    await workspace.checkEachMinute()
    await waitUntil(() => workspace.logged.some((line) => line.startsWith('collected 3')), 'it collected')
  })
})
