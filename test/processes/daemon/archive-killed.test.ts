// `kill -9` of the daemon during a collection, an export or an import, at many moments. After the next start each process and archive
// is whole or leaves nothing, and each operation can be repeated.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { ExportedView, ImportedView } from '../../../src/api/views/archive.ts'
import type { GcView } from '../../../src/api/views/gc.ts'
import type { DaemonView } from '../../../src/api/views/daemon.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { deep } from '../../support/deep.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { writeEndedProcesses } from '../../support/daemon/ended-processes.ts'
import { CommitMaker, endFacts, modelFinished, specOf, toolFinished, uuidOf } from '../../support/store/facts.ts'

const LARGE_UUID = uuidOf(7_777)
const STEPS = 1_000
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

/** Writes a process of some megabytes, so that its export and its import take time. Returns the number of its facts. */
async function writeLargeProcess(state: string, steps: number): Promise<number> {
  await using store = await openSqliteStore({ dir: state })
  const { counters } = await store.load()
  const commits = new CommitMaker({ ...counters })
  await store.commit(
    commits.spawn(LARGE_UUID, specOf({ name: 'large', cwd: '/' }), { type: 'model.started', step: 1, attempt: 1, model: 'a/b' }),
  )
  for (let step = 1; step <= steps; step++)
    await store.commit(
      commits.write(
        LARGE_UUID,
        ...modelFinished(step, `${step} `.repeat(2_000)),
        ...toolFinished(step, `${LARGE_UUID} ${step} `.repeat(150)),
      ),
    )
  await store.commit(commits.write(LARGE_UUID, ...endFacts()))
  return commits.get(LARGE_UUID).seq
}

/** Switches the collection off: the written processes ended long ago, so it would remove them at once. */
const switchCollectionOff = (home: DaemonHome): Promise<void> =>
  writeFile(home.paths.configFile, 'gc: { retention_days: 0, max_entries: 0 }\n')

async function waitUntilMet(isMet: () => Promise<boolean>, condition: string): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  while (!(await isMet())) {
    if (performance.now() > deadline) throw new Error(`not within ${LIMIT_MS} ms: ${condition}`)
    await sleep(2)
  }
}

/** Sends a request, and kills the daemon after `ms`. Returns true if the daemon had answered. */
async function killDuring(home: DaemonHome, sendRequest: () => Promise<unknown>, ms: number): Promise<boolean> {
  const isAnswered = sendRequest().then(
    () => true,
    () => false,
  )
  await sleep(ms)
  await home.kill()
  return isAnswered
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
      await killDuring(home, collect, 2 + round * 8)
      await home.start()
      const remainingUuids = (await home.listProcesses()).map(({ uuid }) => uuid)
      // The oldest are gone, and none between the remaining ones.
      const oldUuids = uuids.filter((uuid) => remainingUuids.includes(uuid))
      expect(oldUuids).toEqual(uuids.slice(uuids.length - oldUuids.length))
      for (const uuid of [oldUuids[0], oldUuids.at(-1)])
        expect((await home.client.get<{ lines: object[] }>(`/v1/processes/${uuid}/logs`)).lines.length).toBeGreaterThan(0)
    }
    const collected = await collect()
    expect((await home.listProcesses()).length).toBe(20)
    expect(collected.store.freeBytes).toBeLessThan(collected.store.bytes)
    await checkStore(home)
    expect((await home.stop()).code).toBe(0)
  }, 240_000)

  test('in an export has written all of it or nothing, and the next daemon writes it', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    await home.stop()
    await switchCollectionOff(home)
    const facts = await writeLargeProcess(home.paths.state, STEPS)
    const steps = join(home.work, 'out', 'steps')
    const exportProcess = (): Promise<ExportedView> =>
      home.client.post(`/v1/processes/${LARGE_UUID}/export`, { dir: join(home.work, 'out') }, { extraMs: 60_000 })
    let cutCount = 0
    for (let round = 0; round < ROUNDS * 3 && cutCount < ROUNDS; round++) {
      rmSync(join(steps, LARGE_UUID), { recursive: true, force: true })
      await home.start()
      // The export has begun: from here on the moment is random.
      const isAnswered = exportProcess().then(
        () => true,
        () => false,
      )
      await waitUntil(() => existsSync(join(steps, `.${LARGE_UUID}.tmp`)) || existsSync(join(steps, LARGE_UUID)), 'it has begun')
      await sleep((round % ROUNDS) * 4)
      await home.kill()
      const isExported = existsSync(join(steps, LARGE_UUID))
      if (!isExported) cutCount += 1
      expect((await isAnswered) && !isExported).toBe(false)
      expect(readdirSync(steps).filter((name) => name !== `.${LARGE_UUID}.tmp`)).toEqual(isExported ? [LARGE_UUID] : [])
    }
    expect(cutCount).toBeGreaterThan(0)
    await home.start()
    if (!existsSync(join(steps, LARGE_UUID))) await exportProcess()
    expect(readdirSync(steps)).toEqual([LARGE_UUID])
    expect(readdirSync(join(steps, LARGE_UUID))).toContain('proc-info.json')
    // The archive is whole: its import succeeds.
    await home.client.delete(`/v1/processes/${LARGE_UUID}`)
    expect(
      (await home.client.post<ImportedView>('/v1/import', { dir: join(home.work, 'out') }, { extraMs: 60_000 })).processes,
    ).toMatchObject([{ facts, warnings: [] }])
    await checkStore(home)
  }, 240_000)

  test('in an import has stored all of it or nothing, frees the space, and the next daemon imports it', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    await home.stop()
    await switchCollectionOff(home)
    const facts = await writeLargeProcess(home.paths.state, STEPS)
    await home.start()
    const exportDir = join(home.work, 'out')
    await home.client.post(`/v1/processes/${LARGE_UUID}/export`, { dir: exportDir }, { extraMs: 60_000 })
    await home.client.delete(`/v1/processes/${LARGE_UUID}`)
    const cursorOf = async (): Promise<number> => (await home.client.get<DaemonView>('/v1/daemon')).cursor
    const importArchive = (): Promise<ImportedView> => home.client.post('/v1/import', { dir: exportDir }, { extraMs: 60_000 })
    let cutCount = 0
    for (let round = 0; round < ROUNDS * 3 && cutCount < ROUNDS; round++) {
      const cursorBefore = await cursorOf()
      const importRequest = importArchive().then(
        () => true,
        () => false,
      )
      // The import has begun, and a part of it is in the store.
      await waitUntilMet(async () => (await cursorOf()) > cursorBefore + 64 * (1 + (round % 7)), 'it has begun')
      await home.kill()
      const isAnswered = await importRequest
      await home.start()
      const view = await home.view(LARGE_UUID).catch((error: { code: string }) => error.code)
      if (typeof view === 'string') {
        cutCount += 1
        expect([view, isAnswered]).toEqual(['COLLECTED', false])
        expect((await home.listProcesses()).map(({ uuid }: ProcessView) => uuid)).toEqual([])
      } else {
        expect((await home.readEvents()).filter(({ uuid }) => uuid === LARGE_UUID)).toHaveLength(facts)
        await home.client.delete(`/v1/processes/${LARGE_UUID}`)
      }
      await waitUntilMet(async () => (await home.client.get<GcView>('/v1/gc')).store.bytes < 500_000, 'the disk space is free again')
      await checkStore(home)
    }
    expect(cutCount).toBeGreaterThan(0)
    expect((await importArchive()).processes).toMatchObject([{ uuid: LARGE_UUID, facts, warnings: [] }])
    expect((await home.view('large')).step).toBe(STEPS + 1)
    await checkStore(home)
    expect((await home.stop()).code).toBe(0)
  }, 240_000)
})
