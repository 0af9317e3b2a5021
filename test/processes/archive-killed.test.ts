// `kill -9` of the daemon in the middle of a collection, an export or an import, at many moments: what is there after the next
// start is whole, what is not there leaves nothing, and all can be done again.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { ExportedView, GcView, ImportedView } from '../../src/api/history-views.ts'
import type { DaemonView, ProcessView } from '../../src/api/views.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import { DaemonHome } from '../support/daemon.ts'
import { eventually } from '../support/living.ts'
import { writePast } from '../support/past.ts'
import { Scribe, endOf, modelFinished, specOf, toolFinished, uuidOf } from '../support/store-facts.ts'

const LARGE = uuidOf(7_777)
const STEPS = 250
const ROUNDS = 4
const LIMIT_MS = 40_000

async function sound(home: DaemonHome): Promise<void> {
  const { checks } = await home.client.get<{ checks: { name: string; ok: boolean; detail: string }[] }>('/v1/doctor', { verify: true }, { extraMs: 60_000 })
  expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
}

/** A process of some megabytes: neither its export nor its import is done in a moment. */
async function writeLarge(state: string, steps: number): Promise<number> {
  await using store = await openSqliteStore({ dir: state })
  const { counters } = await store.load()
  const scribe = new Scribe({ ...counters })
  await store.commit(scribe.spawn(LARGE, specOf({ name: 'large', cwd: '/' }), { type: 'model.started', step: 1, attempt: 1, model: 'a/b' }))
  for (let step = 1; step <= steps; step++) await store.commit(scribe.write(LARGE, ...modelFinished(step, `${step} `.repeat(2_000)), ...toolFinished(step, `${LARGE} ${step} `.repeat(150))))
  await store.commit(scribe.write(LARGE, ...endOf()))
  return scribe.get(LARGE).seq
}

/** What is written here ended long ago. */
const keepAll = (home: DaemonHome): Promise<void> => writeFile(home.where.configFile, 'gc: { retention_days: 0, max_entries: 0 }\n')

async function untilSo(look: () => Promise<boolean>, words: string): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  while (!(await look())) if (performance.now() > deadline) throw new Error(`${words} did not come true within ${LIMIT_MS} ms`)
}

/** Asks, and kills the daemon so many ms later; resolves when it is gone. True: it had answered. */
async function killedAfter(home: DaemonHome, ask: () => Promise<unknown>, ms: number): Promise<boolean> {
  const answered = ask().then(() => true, () => false)
  await sleep(ms)
  await home.kill()
  return answered
}

describe('a daemon that is killed', () => {
  test('in the middle of a collection has taken some as a whole, the oldest first, and the next one takes the rest', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    await home.stop()
    const uuids = await writePast(home.where.state, 120)
    await writeFile(home.where.configFile, 'gc: { retention_days: 0, max_entries: 20 }\n')
    await home.start()
    const ask = (): Promise<GcView> => home.client.post('/v1/gc', {}, { extraMs: 60_000 })
    for (let round = 0; round < ROUNDS; round++) {
      await killedAfter(home, ask, 2 + round * 8)
      await home.start()
      const left = (await home.list()).map(({ uuid }) => uuid)
      // The oldest are gone, and nobody between those that are left.
      const old = uuids.filter((uuid) => left.includes(uuid))
      expect(old).toEqual(uuids.slice(uuids.length - old.length))
      for (const uuid of [old[0], old.at(-1)]) expect((await home.client.get<{ lines: object[] }>(`/v1/processes/${uuid}/logs`)).lines.length).toBeGreaterThan(0)
    }
    const done = await ask()
    expect((await home.list()).length).toBe(20)
    expect(done.store.freeBytes).toBeLessThan(done.store.bytes)
    await sound(home)
    expect((await home.stop()).code).toBe(0)
  }, 240_000)

  test('in the middle of an export has made all of it or nothing, and the next one makes it', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    await home.stop()
    await keepAll(home)
    const facts = await writeLarge(home.where.state, STEPS)
    const steps = join(home.work, 'out', 'steps')
    const ask = (): Promise<ExportedView> => home.client.post(`/v1/processes/${LARGE}/export`, { dir: join(home.work, 'out') }, { extraMs: 60_000 })
    let cut = 0
    for (let round = 0; round < ROUNDS * 3 && cut < ROUNDS; round++) {
      rmSync(join(steps, LARGE), { recursive: true, force: true })
      await home.start()
      // It has begun: from here on the moment is chance.
      const asked = ask().then(() => true, () => false)
      await eventually(() => existsSync(join(steps, `.${LARGE}.tmp`)) || existsSync(join(steps, LARGE)), 'it has begun')
      await sleep((round % ROUNDS) * 4)
      await home.kill()
      const there = existsSync(join(steps, LARGE))
      if (!there) cut += 1
      expect(await asked && !there).toBe(false)
      expect(readdirSync(steps).filter((name) => name !== `.${LARGE}.tmp`)).toEqual(there ? [LARGE] : [])
    }
    expect(cut).toBeGreaterThan(0)
    await home.start()
    if (!existsSync(join(steps, LARGE))) await ask()
    expect(readdirSync(steps)).toEqual([LARGE])
    expect(readdirSync(join(steps, LARGE))).toContain('proc-info.json')
    // It is whole: it comes back.
    await home.client.delete(`/v1/processes/${LARGE}`)
    expect((await home.client.post<ImportedView>('/v1/import', { dir: join(home.work, 'out') }, { extraMs: 60_000 })).processes).toMatchObject([{ facts, warnings: [] }])
    await sound(home)
  }, 240_000)

  test('in the middle of an import has all of it or nothing, gives back the room, and the next one brings it', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    await home.stop()
    await keepAll(home)
    const facts = await writeLarge(home.where.state, STEPS)
    await home.start()
    const out = join(home.work, 'out')
    await home.client.post(`/v1/processes/${LARGE}/export`, { dir: out }, { extraMs: 60_000 })
    await home.client.delete(`/v1/processes/${LARGE}`)
    const cursorOf = async (): Promise<number> => (await home.client.get<DaemonView>('/v1/daemon')).cursor
    const ask = (): Promise<ImportedView> => home.client.post('/v1/import', { dir: out }, { extraMs: 60_000 })
    let cut = 0
    for (let round = 0; round < ROUNDS * 3 && cut < ROUNDS; round++) {
      const before = await cursorOf()
      const asked = ask().then(() => true, () => false)
      // It has begun, and a half of it is in the store.
      await untilSo(async () => (await cursorOf()) > before + 64 * (1 + round % 7), 'it has begun')
      await home.kill()
      const answered = await asked
      await home.start()
      const view = await home.view(LARGE).catch((error: { code: string }) => error.code)
      if (typeof view === 'string') {
        cut += 1
        expect([view, answered]).toEqual(['COLLECTED', false])
        expect((await home.list()).map(({ uuid }: ProcessView) => uuid)).toEqual([])
      } else {
        expect((await home.events()).filter(({ uuid }) => uuid === LARGE)).toHaveLength(facts)
        await home.client.delete(`/v1/processes/${LARGE}`)
      }
      await untilSo(async () => (await home.client.get<GcView>('/v1/gc')).store.bytes < 500_000, 'the room is given back')
      await sound(home)
    }
    expect(cut).toBeGreaterThan(0)
    expect((await ask()).processes).toMatchObject([{ uuid: LARGE, facts, warnings: [] }])
    expect((await home.view('large')).step).toBe(STEPS + 1)
    await sound(home)
    expect((await home.stop()).code).toBe(0)
  }, 240_000)
})
