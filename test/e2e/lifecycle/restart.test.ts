// A restart of the daemon. Running processes continue where they were, paused processes stay paused, and killed processes stay dead.
// The daemon runs in the test's own process. test/processes/crash/random-kills.test.ts tests crashes.
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startDaemon } from '../../../src/daemon/daemon.ts'
import type { DaemonView, EventView } from '../../../src/api/views/daemon.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const isFact =
  (fact: string) =>
  (event: EventView): boolean =>
    event['fact'] === fact
const bashCall = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
const count = (facts: readonly string[], fact: string): number => facts.filter((one) => one === fact).length

test('a native process continues at its step, without repeating a tool', async () => {
  const file = join(daemon.work, 'effects')
  const { uuid, pid } = await daemon.spawnScripted([
    bashCall(`echo one >> ${file}`),
    { ...bashCall(`echo two >> ${file}`), delay_ms: 300 },
    { text: 'after {{ lastResult }}' },
  ])
  await daemon.waitForEvent(uuid, (event) => event['fact'] === 'model.started' && event['step'] === 2)
  await daemon.restart()
  const view = await daemon.waitForEnd(uuid)
  expect(view).toMatchObject({ status: 'completed', step: 3, usage: { toolCalls: 2, steps: 3 } })
  expect(view.pid).toBeGreaterThan(pid)
  expect(await readFile(file, 'utf8')).toBe('one\ntwo\n')
  const facts = await daemon.readFactTypes(uuid)
  expect(count(facts, 'process.rehydrated')).toBe(1)
  expect(count(facts, 'process.spawned')).toBe(1)
})

test('a tool that outlasts the drain is interrupted, and its outcome is unknown', async () => {
  const file = join(daemon.work, 'cut')
  const { uuid } = await daemon.spawnScripted([bashCall(`echo begun >> ${file}; sleep 600`), { text: 'I read: {{ lastResult }}' }])
  await waitUntil(() => existsSync(file), 'the tool has begun')
  await daemon.restart()
  const view = await daemon.waitForEnd(uuid)
  expect(view).toMatchObject({ status: 'completed', lastText: 'I read: interrupted; it may or may not have happened' })
  expect(await readFile(file, 'utf8')).toBe('begun\n')
})

test('an interactive process that was ready is ready again, and reads later messages', async () => {
  const { uuid } = await daemon.spawnScripted([{ text: 'before' }, { text: 'after' }], { interactive: true, name: 'chat' })
  await daemon.waitUntilReady(uuid)
  await daemon.send(uuid, 'one')
  await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')
  await daemon.restart()
  expect(await daemon.waitUntilReady('chat')).toMatchObject({ uuid, status: 'ready', holds: [], lastText: 'before' })
  await daemon.send('chat', 'two')
  expect(await daemon.waitForView(uuid, (view) => view.turn === 2 && view.status === 'ready')).toMatchObject({ lastText: 'after' })
})

test('a process paused by the user stays paused, with a new PID, and keeps that PID after its resume', async () => {
  const { uuid, pid } = await daemon.spawnScripted([{ text: 'heard' }], { interactive: true })
  await daemon.waitUntilReady(uuid)
  await daemon.pause(uuid)
  await daemon.send(uuid, 'waiting for you')
  const viewBefore = await daemon.view(uuid)
  await daemon.restart()
  const viewAfter = await daemon.view(uuid)
  expect(viewAfter).toMatchObject({
    status: 'suspended',
    holds: [{ reason: 'user', by: 'user' }],
    queueCount: 1,
    elapsedMs: viewBefore.elapsedMs,
    pausedAt: viewBefore.pausedAt,
  })
  expect(viewAfter.pid).toBeGreaterThan(pid)
  await daemon.restart()
  const secondView = await daemon.view(uuid)
  expect(secondView.pid).toBeGreaterThan(viewAfter.pid)
  await daemon.resume(uuid)
  expect(await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')).toMatchObject({
    pid: secondView.pid,
    lastText: 'heard',
  })
})

test('a suspended process can be killed after a restart, before it runs again', async () => {
  const { uuid } = await daemon.spawnScripted([], { interactive: true })
  await daemon.waitUntilReady(uuid)
  await daemon.pause(uuid)
  await daemon.restart()
  await daemon.signal(uuid, 'SIGTERM')
  expect(await daemon.waitForEnd(uuid)).toMatchObject({
    status: 'stopped',
    exit: { code: 1, reason: 'context cancelled while paused', signal: 'SIGTERM' },
  })
})

test('killed and completed processes stay dead, and PIDs are never reused', async () => {
  const killedProcess = await daemon.spawnShell('sleep 600')
  await daemon.signal(killedProcess.uuid, 'SIGKILL')
  await daemon.waitForEnd(killedProcess.uuid)
  const completedProcess = await daemon.spawnScripted([{ text: 'done' }])
  await daemon.waitForEnd(completedProcess.uuid)
  const viewsBefore = [await daemon.view(killedProcess.uuid), await daemon.view(completedProcess.uuid)]
  await daemon.restart()
  expect([await daemon.view(killedProcess.uuid), await daemon.view(completedProcess.uuid)]).toEqual(viewsBefore)
  expect((await daemon.spawnShell('true')).pid).toBeGreaterThan(completedProcess.pid)
})

test('a command is interrupted by the shutdown, leaves no program, and can be run again', async () => {
  const token = newToken()
  try {
    const { uuid } = await daemon.spawnShell(`setsid sleep 600.${token} & echo up; sleep 600.${token}`)
    await daemon.waitForEvent(uuid, isFact('process.output'))
    await daemon.stop()
    expect(findProcessesWith(token)).toEqual([])
    await daemon.start()
    expect(await daemon.view(uuid)).toMatchObject({
      status: 'interrupted',
      state: 'dead',
      pausedAt: null,
      exit: { code: 1, reason: 'interrupted' },
    })
    await daemon.resume(uuid, { rerun: true })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.output' && event.pid > 1)
    await daemon.signal(uuid, 'SIGKILL')
    expect((await daemon.waitForEnd(uuid)).status).toBe('stopped')
  } finally {
    killRemaining(token)
  }
})

test('a command that was held before its first run still exists, and runs after a resume', async () => {
  const parent = await daemon.spawnScripted([], { interactive: true })
  await daemon.waitUntilReady(parent.uuid)
  await daemon.pause(parent.uuid, { subtree: true })
  const file = join(daemon.work, 'ran')
  const child = await daemon.spawnShell(`echo ran >> ${file}`, { parent: parent.uuid })
  await daemon.waitForStatus(child.uuid, 'suspended')
  await daemon.restart()
  expect(await daemon.view(child.uuid)).toMatchObject({
    status: 'suspended',
    ppid: (await daemon.view(parent.uuid)).pid,
    parentUuid: parent.uuid,
  })
  expect((await daemon.resume(parent.uuid, { subtree: true })).affected).toBe(2)
  expect((await daemon.waitForEnd(child.uuid)).status).toBe('completed')
  expect(await readFile(file, 'utf8')).toBe('ran\n')
})

test('processes that were spawned just before a stop complete after it', async () => {
  const spawned = await Promise.all(Array.from({ length: 10 }, () => daemon.spawnScripted([{ text: 'late but done' }])))
  await daemon.restart()
  for (const { uuid } of spawned)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'late but done', step: 1 })
})

test('a stopping daemon answers reads, and refuses to start, resume or signal a process', async () => {
  const file = join(daemon.work, 'slow')
  const { uuid } = await daemon.spawnScripted([
    bashCall(`echo begun > ${file}; until [ -e ${file}.go ]; do sleep 0.05; done`),
    { text: 'end' },
  ])
  await waitUntil(() => existsSync(file), 'the tool has begun')
  const stopping = daemon.stop()
  expect(await daemon.waitForStatus(uuid, 'suspended')).toMatchObject({ holds: [{ reason: 'daemon-shutdown', by: 'system' }] })
  await expect(daemon.spawnShell('true')).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'the daemon is stopping' })
  await expect(daemon.resume(uuid)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await expect(daemon.signal(uuid, 'SIGRESUME')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await writeFile(`${file}.go`, '')
  await stopping
  await daemon.start()
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'end', usage: { toolCalls: 1 } })
})

test('a wait and a stream of events end with the daemon, and the stream continues with the next one', async () => {
  const { uuid } = await daemon.spawnScripted([], { interactive: true })
  await daemon.waitUntilReady(uuid)
  const pendingWait = daemon.client.get(`/v1/processes/${uuid}/wait`, { for: 'exited', timeoutMs: 20_000 }).then(
    () => 'answered',
    (error: { code: string }) => error.code,
  )
  const events: EventView[] = []
  const follow = (async () => {
    for await (const event of daemon.client.events(`/v1/processes/${uuid}/events`, {
      query: { after: 0, follow: true },
      isLast: isFact('process.reaped'),
    }))
      events.push(event)
  })()
  await waitUntil(() => events.length >= 3, 'the stream is on')
  await daemon.restart()
  expect(await pendingWait).toBe('UNAVAILABLE')
  await daemon.waitUntilReady(uuid)
  await daemon.signal(uuid, 'SIGKILL')
  await follow
  expect(events.map((event) => event.seq)).toEqual((await daemon.readHistory(uuid)).map((event) => event.seq))
})

test('a stop by the API answers first, and leaves only the store of the daemon', async () => {
  const { uuid } = await daemon.spawnShell('sleep 600')
  expect(await daemon.client.post('/v1/daemon/stop', {})).toEqual({ version: 1, stopping: true })
  await daemon.stopped
  expect(
    (await readdir(daemon.home)).filter(
      (name) => !/^(store\.db(-shm|-wal)?|store-identity\.json|lock\.db(-journal)?|reserve.*|config\.yaml)$/.test(name),
    ),
  ).toEqual([])
  await daemon.stop()
  await daemon.start()
  expect((await daemon.view(uuid)).status).toBe('interrupted')
})

test('a drain names the processes that it waits for and the time left, and a later stop without a drain ends it', async () => {
  const file = join(daemon.work, 'begun')
  const { uuid, pid } = await daemon.spawnScripted([bashCall(`echo begun >> ${file}; sleep 600`), { text: 'I read: {{ lastResult }}' }])
  await waitUntil(() => existsSync(file), 'the tool has begun')
  await daemon.client.post('/v1/daemon/stop', { drainMs: 3_600_000 })
  await daemon.waitForStatus(uuid, 'suspended')
  const { stopping } = await daemon.client.get<DaemonView>('/v1/daemon')
  expect(stopping?.waitsFor).toEqual([pid])
  expect(stopping?.leftMs).toBeGreaterThan(3_000_000)
  await daemon.client.post('/v1/daemon/stop', { drainMs: 7_200_000 })
  await daemon.client.post('/v1/daemon/stop', { drainMs: 0 })
  await daemon.stopped
  await daemon.start()
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ lastText: 'I read: interrupted; it may or may not have happened' })
})

test('a daemon that cannot start leaves the home free for the next; a second daemon is refused', async () => {
  await daemon.stop()
  await writeFile(daemon.paths.configFile, 'providers: none\n')
  await expect(daemon.start()).rejects.toMatchObject({ code: 'AGENT_INVALID' })
  await writeFile(daemon.paths.configFile, 'defaultModel: script:x.yaml\n')
  await daemon.start()
  const second = startDaemon({ paths: daemon.paths, log: () => undefined })
  await expect(second).rejects.toMatchObject({ code: 'STORE_LOCKED' })
  expect((await daemon.spawnShell('true')).pid).toBe(1)
})

test('a provider that was added to the configuration is used without a restart', async () => {
  await writeFile(daemon.paths.configFile, 'providers: [{ name: mine, kind: openai-compatible, baseURL: "http://127.0.0.1:1/v1" }]\n')
  const { uuid } = await daemon.spawn({ model: 'mine/small', limits: { timeoutMs: 15_000 } })
  const failed = await daemon.waitForEvent(uuid, isFact('model.failed'))
  expect(failed['error']).toMatch(/ECONNREFUSED|connect|fetch failed|Cannot connect/i)
  await daemon.signal(uuid, 'SIGKILL')
  await daemon.waitForEnd(uuid)
})

test('a daemon that is asked to stop before it answers exits with 0 and leaves no socket', async () => {
  await using home = await DaemonHome.create()
  const { ended } = home.launch()
  await waitUntil(() => existsSync(home.paths.holderFile), 'it starts')
  home.askToStop()
  expect(await ended).toEqual({ code: 0, signal: null })
  expect([existsSync(home.paths.holderFile), existsSync(home.paths.socket)]).toEqual([false, false])
})
