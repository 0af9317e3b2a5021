// Time in a paused tree of real processes. Elapsed time and time limits stop, on a manual clock. A pending retry of a model call waits for
// the end of the pause.
import { afterEach, expect, test } from 'vitest'
import { ManualClock } from '../../support/clock.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer } from '../../support/models/model-server.ts'

let daemon: LocalDaemon

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const LIMIT_MS = 100_000

test('elapsed time and time limits stand still for native agents and commands, also over a restart of the daemon', async () => {
  const clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock })
  const limits = { timeoutMs: LIMIT_MS }
  const root = await daemon.spawnScripted([], { interactive: true, limits })
  await daemon.waitUntilReady(root.uuid)
  const child = await daemon.spawnScripted([], { interactive: true, limits, parent: root.uuid })
  await daemon.waitUntilReady(child.uuid)
  const command = await daemon.spawnShell('sleep 600', { limits, parent: child.uuid })
  await daemon.waitForStatus(command.uuid, 'working')
  clock.wind(60_000)
  await daemon.pause(root.uuid, { subtree: true })
  const readElapsed = async (): Promise<number[]> =>
    Promise.all([root, child, command].map(async ({ uuid }) => (await daemon.view(uuid)).elapsedMs))
  const elapsedBefore = await readElapsed()
  for (const ms of elapsedBefore) expect(ms).toBe(60_000)
  clock.wind(3 * LIMIT_MS)
  expect(await readElapsed()).toEqual(elapsedBefore)
  await daemon.resume(root.uuid, { subtree: true })
  clock.wind(20_000)
  expect(await readElapsed()).toEqual([80_000, 80_000, 80_000])
  await daemon.signal(command.uuid, 'SIGKILL')
  await daemon.waitForEnd(command.uuid)
  await daemon.pause(root.uuid, { subtree: true })
  await daemon.restart()
  clock.wind(3 * LIMIT_MS)
  expect((await readElapsed()).slice(0, 2)).toEqual([80_000, 80_000])
  await daemon.resume(root.uuid, { subtree: true })
  await daemon.waitUntilReady(root.uuid)
  await daemon.waitUntilReady(child.uuid)
  clock.wind(19_000)
  expect((await daemon.view(child.uuid)).status).toBe('ready')
  clock.wind(1_001)
  for (const { uuid } of [root, child]) expect(await daemon.waitForEnd(uuid)).toMatchObject({ exit: { code: 1, reason: 'timed out' } })
})

test("a process that waits for a model's retry is drained at once, and makes no request during the pause", async () => {
  // The provider names the delay, because a random one might be over before the pause.
  await using server = await startModelServer([
    { status: 529, headers: { 'retry-after-ms': '3000' }, error: { type: 'overloaded_error', message: 'too busy' } },
    { text: 'answered' },
  ])
  daemon = await LocalDaemon.start({
    config: `providers:\n  - { name: local, kind: openai-compatible, baseURL: "${server.url}/v1", models: { m: { contextWindow: 100000 } } }\n`,
  })
  const { uuid } = await daemon.spawn({ model: 'local/m' })
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'model.failed')
  await daemon.pause(uuid)
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.drained')
  expect((await daemon.readFactTypes(uuid)).filter((fact) => fact === 'model.started')).toHaveLength(1)
  await daemon.resume(uuid)
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'answered' })
  expect((await daemon.readHistory(uuid)).filter(({ fact }) => fact === 'model.started').map(({ attempt }) => attempt)).toEqual([1, 2])
})
