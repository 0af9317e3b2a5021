// `kill -9` of the daemon during a collection, an export or an import, at many moments. After the next start each process and archive
// is whole or leaves nothing, and each operation can be repeated.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { ExportedView, GcView, ImportedView } from '../../../src/api/views/archive.ts'
import type { DaemonView } from '../../../src/api/views/daemon.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { DaemonHome } from '../../support/daemon/daemon.ts'
import { deep } from '../../support/deep.ts'
import { waitUntil } from '../../support/agents/living.ts'
import { writeEndedProcesses } from '../../support/daemon/ended-processes.ts'
import { Scribe, endOf, modelFinished, specOf, toolFinished, uuidOf } from '../../support/store/facts.ts'

const LARGE = uuidOf(7_777)
const STEPS = 250
const ROUNDS = deep(2, 4)
const LIMIT_MS = 40_000

async function checkStore(home: DaemonHome): Promise<void> {
  const { checks } = await home.client.get<{ checks: { name: string; ok: boolean; detail: string }[] }>(
    '/v1/doctor',
    { verify: true },
    { extraMs: 60_000 },
  )
  expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
}

/** A process of some megabytes, so that its export and its import take time. */
async function writeLarge(state: string, steps: number): Promise<number> {
  await using store = await openSqliteStore({ dir: state })
  const { counters } = await store.load()
  const scribe = new Scribe({ ...counters })
  await store.commit(scribe.spawn(LARGE, specOf({ name: 'large', cwd: '/' }), { type: 'model.started', step: 1, attempt: 1, model: 'a/b' }))
  for (let step = 1; step <= steps; step++)
    await store.commit(
      scribe.write(LARGE, ...modelFinished(step, `${step} `.repeat(2_000)), ...toolFinished(step, `${LARGE} ${step} `.repeat(150))),
    )
  await store.commit(scribe.write(LARGE, ...endOf()))
  return scribe.get(LARGE).seq
}

/** The end of the written processes, long ago. */
const keepAll = (home: DaemonHome): Promise<void> => writeFile(home.paths.configFile, 'gc: { retention_days: 0, max_entries: 0 }\n')

async function untilSo(look: () => Promise<boolean>, words: string): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  while (!(await look())) {
    if (performance.now() > deadline) throw new Error(`${words} did not come true within ${LIMIT_MS} ms`)
    await sleep(2)
  }
}

/** Sends a request, and kills the daemon after `ms`; resolves when it is gone. True if it had answered. */
async function killedAfter(home: DaemonHome, collect: () => Promise<unknown>, ms: number): Promise<boolean> {
  const answered = collect().then(
    () => true,
    () => false,
  )
  await sleep(ms)
  await home.kill()
  return answered
}

describe('a daemon that is killed', () => {
  test('in a collection has removed some processes completely, the oldest first, and the next daemon removes the others', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    await home.stop()
    const uuids = await writeEndedProcesses(home.paths.state, 120)
    await writeFile(home.paths.configFile, 'gc: { retention_days: 0, max_entries: 20 }\n')
    await home.start()
    const collect = (): Promise<GcView> => home.client.post('/v1/gc', {}, { extraMs: 60_000 })
    for (let round = 0; round < ROUNDS; round++) {
      await killedAfter(home, collect, 2 + round * 8)
      await home.start()
      const left = (await home.listProcesses()).map(({ uuid }) => uuid)
      // The oldest are gone, and none between the remaining ones.
      const old = uuids.filter((uuid) => left.includes(uuid))
      expect(old).toEqual(uuids.slice(uuids.length - old.length))
      for (const uuid of [old[0], old.at(-1)])
        expect((await home.client.get<{ lines: object[] }>(`/v1/processes/${uuid}/logs`)).lines.length).toBeGreaterThan(0)
    }
    const done = await collect()
    expect((await home.listProcesses()).length).toBe(20)
    expect(done.store.freeBytes).toBeLessThan(done.store.bytes)
    await checkStore(home)
    expect((await home.stop()).code).toBe(0)
  }, 240_000)

  test('in an export has written all of it or nothing, and the next daemon writes it', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    await home.stop()
    await keepAll(home)
    const facts = await writeLarge(home.paths.state, STEPS)
    const steps = join(home.work, 'out', 'steps')
    const collect = (): Promise<ExportedView> =>
      home.client.post(`/v1/processes/${LARGE}/export`, { dir: join(home.work, 'out') }, { extraMs: 60_000 })
    let cut = 0
    for (let round = 0; round < ROUNDS * 3 && cut < ROUNDS; round++) {
      rmSync(join(steps, LARGE), { recursive: true, force: true })
      await home.start()
      // The export has begun: from here on the moment is random.
      const asked = collect().then(
        () => true,
        () => false,
      )
      await waitUntil(() => existsSync(join(steps, `.${LARGE}.tmp`)) || existsSync(join(steps, LARGE)), 'it has begun')
      await sleep((round % ROUNDS) * 4)
      await home.kill()
      const there = existsSync(join(steps, LARGE))
      if (!there) cut += 1
      expect((await asked) && !there).toBe(false)
      expect(readdirSync(steps).filter((name) => name !== `.${LARGE}.tmp`)).toEqual(there ? [LARGE] : [])
    }
    expect(cut).toBeGreaterThan(0)
    await home.start()
    if (!existsSync(join(steps, LARGE))) await collect()
    expect(readdirSync(steps)).toEqual([LARGE])
    expect(readdirSync(join(steps, LARGE))).toContain('proc-info.json')
    // The archive is whole: its import succeeds.
    await home.client.delete(`/v1/processes/${LARGE}`)
    expect(
      (await home.client.post<ImportedView>('/v1/import', { dir: join(home.work, 'out') }, { extraMs: 60_000 })).processes,
    ).toMatchObject([{ facts, warnings: [] }])
    await checkStore(home)
  }, 240_000)

  test('in an import has stored all of it or nothing, frees the space, and the next daemon imports it', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    await home.stop()
    await keepAll(home)
    const facts = await writeLarge(home.paths.state, STEPS)
    await home.start()
    const out = join(home.work, 'out')
    await home.client.post(`/v1/processes/${LARGE}/export`, { dir: out }, { extraMs: 60_000 })
    await home.client.delete(`/v1/processes/${LARGE}`)
    const cursorOf = async (): Promise<number> => (await home.client.get<DaemonView>('/v1/daemon')).cursor
    const importArchive = (): Promise<ImportedView> => home.client.post('/v1/import', { dir: out }, { extraMs: 60_000 })
    let cut = 0
    for (let round = 0; round < ROUNDS * 3 && cut < ROUNDS; round++) {
      const before = await cursorOf()
      const asked = importArchive().then(
        () => true,
        () => false,
      )
      // The import has begun, and half of it is in the store.
      await untilSo(async () => (await cursorOf()) > before + 64 * (1 + (round % 7)), 'it has begun')
      await home.kill()
      const answered = await asked
      await home.start()
      const view = await home.view(LARGE).catch((error: { code: string }) => error.code)
      if (typeof view === 'string') {
        cut += 1
        expect([view, answered]).toEqual(['COLLECTED', false])
        expect((await home.listProcesses()).map(({ uuid }: ProcessView) => uuid)).toEqual([])
      } else {
        expect((await home.readEvents()).filter(({ uuid }) => uuid === LARGE)).toHaveLength(facts)
        await home.client.delete(`/v1/processes/${LARGE}`)
      }
      await untilSo(async () => (await home.client.get<GcView>('/v1/gc')).store.bytes < 500_000, 'the room is given back')
      await checkStore(home)
    }
    expect(cut).toBeGreaterThan(0)
    expect((await importArchive()).processes).toMatchObject([{ uuid: LARGE, facts, warnings: [] }])
    expect((await home.view('large')).step).toBe(STEPS + 1)
    await checkStore(home)
    expect((await home.stop()).code).toBe(0)
  }, 240_000)
})
