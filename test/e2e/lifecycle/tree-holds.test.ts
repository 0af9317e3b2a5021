// Holds in a tree of real processes: overlapping pauses, resumes and their subtrees, children born during a pause,
// notices to the ancestors, and waits.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView, ResumeBody } from '../../../src/api/views/process.ts'
import { runCli, startCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
let uuids: Readonly<Record<string, string>>

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Starts a process that waits for messages. */
const spawnWaiting = async (name: string, parent?: string): Promise<string> => {
  const { uuid } = await daemon.spawnScripted([{ text: 'heard' }], { name, interactive: true, ...(parent === undefined ? {} : { parent }) })
  return uuid
}

/** Starts the tree root → (a → (b, c), d). */
async function spawnTree(): Promise<void> {
  const root = await spawnWaiting('root')
  const firstProcess = await spawnWaiting('a', root)
  uuids = {
    root,
    a: firstProcess,
    b: await spawnWaiting('b', firstProcess),
    c: await spawnWaiting('c', firstProcess),
    d: await spawnWaiting('d', root),
  }
  for (const uuid of Object.values(uuids)) await daemon.waitUntilReady(uuid)
}

/** Returns the holds of each held process. */
async function readHoldsByName(): Promise<Record<string, string>> {
  const { processes } = await daemon.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true })
  const names = new Map(processes.map(({ uuid, name }) => [uuid, name]))
  const shown = processes
    .filter(({ status }) => status === 'suspended')
    .map(({ name, holds }) => [
      name ?? '',
      holds.map(({ reason, root }) => (root === undefined ? reason : `${reason} ${names.get(root)}`)).join(', '),
    ])
  return Object.fromEntries(shown) as Record<string, string>
}

const readFacts = async (uuid: string, ...types: string[]): Promise<EventView[]> =>
  (await daemon.readHistory(uuid)).filter(({ fact }) => types.includes(String(fact)))

describe('pauses that overlap', () => {
  const PAUSED = {
    root: 'subtree root',
    a: 'subtree a, subtree root',
    b: 'user, subtree a, subtree root',
    c: 'subtree a, subtree root',
    d: 'subtree root',
  }

  beforeEach(async () => {
    await spawnTree()
    await daemon.pause('b')
    await daemon.pause('a', { subtree: true })
    await daemon.pause('root', { subtree: true })
    expect(await readHoldsByName()).toEqual(PAUSED)
  })

  test.each<[string, ResumeBody, Record<string, string>, number]>([
    ['root', { subtree: true }, { a: 'subtree a', b: 'user, subtree a', c: 'subtree a' }, 5],
    ['root', {}, { a: PAUSED.a, b: PAUSED.b, c: PAUSED.c, d: PAUSED.d }, 1],
    ['a', { subtree: true }, { b: 'user, subtree root', c: 'subtree root', d: 'subtree root' }, 4],
    ['a', { subtree: true, only: true }, { root: PAUSED.root, b: 'user, subtree root', c: 'subtree root', d: 'subtree root' }, 3],
    ['b', {}, { c: PAUSED.c, d: PAUSED.d }, 3],
    ['b', { only: true }, { root: PAUSED.root, a: PAUSED.a, c: PAUSED.c, d: PAUSED.d }, 1],
    ['d', {}, { a: PAUSED.a, b: PAUSED.b, c: PAUSED.c }, 2],
  ])('a resume of %s with %j leaves other holds in place', async (target, body, remainingHolds, affected) => {
    expect(await daemon.resume(target, body)).toMatchObject({ affected })
    expect(await readHoldsByName()).toEqual(remainingHolds)
    await daemon.restart()
    expect(await readHoldsByName()).toEqual(remainingHolds)
  })

  test('by the same sender count as one pause, and one resume ends it', async () => {
    await daemon.pause('b')
    await daemon.pause('root', { subtree: true })
    expect(await readHoldsByName()).toEqual(PAUSED)
    expect(await readFacts(uuids['b'] ?? '', 'process.held')).toHaveLength(3)
    await daemon.resume('b')
    expect(await daemon.resume('b')).toMatchObject({ affected: 0, note: 'it was not suspended' })
  })

  test('do not delay a kill of one process, and the kill wakes no other process', async () => {
    await daemon.signal('a', 'SIGTERM')
    expect(await daemon.waitForEnd(uuids['a'] ?? '')).toMatchObject({
      status: 'stopped',
      exit: { code: 1, reason: 'context cancelled while paused' },
    })
    expect(await readHoldsByName()).toEqual({ root: PAUSED.root, b: PAUSED.b, c: PAUSED.c, d: PAUSED.d })
    // A process that was paused with its removed parent is resumed by its own name.
    expect(await daemon.resume('c')).toMatchObject({ affected: 1 })
    expect(await readHoldsByName()).toEqual({ root: PAUSED.root, b: PAUSED.b, d: PAUSED.d })
    // A process that was paused with the root is resumed with it, also when PID 0 is its parent now.
    expect(await daemon.resume('root', { subtree: true })).toMatchObject({ affected: 3 })
    expect(await readHoldsByName()).toEqual({ b: 'user, subtree a' })
  })
})

describe('children born during a pause', () => {
  test('start held at every depth, and run nothing before the resume', async () => {
    await spawnTree()
    await daemon.pause('root', { subtree: true })
    const lateProcess = await spawnWaiting('late', 'b')
    const command = await daemon.spawnShell('echo never before', { name: 'command', parent: lateProcess })
    expect(await readHoldsByName()).toMatchObject({ late: 'subtree root', command: 'subtree root' })
    expect(await daemon.readOutput(command.uuid)).toBe('')
    await daemon.resume('root', { subtree: true })
    expect(await daemon.waitForEnd(command.uuid)).toMatchObject({ status: 'completed' })
    await daemon.waitUntilReady(lateProcess)
  })

  test('at the moment of the pause are paused or start held', async () => {
    await spawnTree()
    const startBirths = (): Promise<ProcessView>[] =>
      ['root', 'a', 'b', 'root', 'c', 'd'].map((parent) => daemon.spawnShell('sleep 600', { parent }))
    const earlyBirths = startBirths()
    const pauseDone = daemon.pause('root', { subtree: true })
    const bornUuids = (await Promise.all([...earlyBirths, ...startBirths()])).map(({ uuid }) => uuid)
    const { affected } = await pauseDone
    expect(affected).toBeGreaterThanOrEqual(5)
    for (const uuid of bornUuids)
      expect((await daemon.waitForStatus(uuid, 'suspended')).holds).toMatchObject([{ reason: 'subtree', root: uuids['root'] }])
    expect((await daemon.resume('root', { subtree: true })).affected).toBe(5 + bornUuids.length)
    expect((await daemon.signal('root', 'SIGKILL', { subtree: true })).affected).toBe(5 + bornUuids.length)
    for (const uuid of bornUuids) expect((await daemon.waitForEnd(uuid)).status).toBe('stopped')
  })
})

describe('a suspension', () => {
  test('and its end notify all living ancestors, with reason and sender', async () => {
    await spawnTree()
    await daemon.signal('a', 'SIGKILL')
    await daemon.waitForEnd(uuids['a'] ?? '')
    await daemon.pause('d')
    await daemon.resume('d', { only: true })
    const notices = await readFacts(uuids['root'] ?? '', 'child.suspended', 'child.resumed')
    expect(notices.map(({ fact, child, reason, by }) => [fact, child, reason, by])).toEqual([
      ['child.suspended', uuids['d'], 'user', 'user'],
      ['child.resumed', uuids['d'], undefined, 'user'],
    ])
    // A process whose parent died belongs to PID 0, and has no ancestor to notify.
    await daemon.pause('b')
    expect(await readFacts(uuids['root'] ?? '', 'child.suspended')).toHaveLength(1)
    expect(await readFacts(uuids['a'] ?? '', 'child.suspended')).toEqual([])
  })

  test('notifies ancestors over generations, also after a restart of the daemon', async () => {
    await spawnTree()
    await daemon.pause('b')
    await daemon.restart()
    for (const name of ['root', 'a']) await daemon.waitUntilReady(name)
    await daemon.resume('b')
    await daemon.waitUntilReady('b')
    for (const name of ['root', 'a']) {
      const notices = await readFacts(uuids[name] ?? '', 'child.suspended', 'child.resumed')
      expect(notices.filter(({ child, reason }) => child === uuids['b'] && reason !== 'daemon-shutdown').map(({ fact }) => fact)).toEqual([
        'child.suspended',
        'child.resumed',
      ])
    }
  })

  test('ends a wait for a suspension, but not a wait for the end', async () => {
    const root = await spawnWaiting('root')
    const child = await daemon.spawnShell('read -r line < /dev/null; while [ ! -e go ]; do sleep 0.1; done; exit 7', {
      name: 'child',
      parent: root,
    })
    await daemon.waitForStatus(child.uuid, 'working')
    const waitForEndCli = startCli(daemon.home, ['wait', 'child'])
    expect(await runCli(daemon.home, ['pause', 'root', '--subtree'])).toMatchObject({ code: 0 })
    expect(await runCli(daemon.home, ['wait', '--for', 'suspended', 'child'])).toMatchObject({ code: 0 })
    expect(await runCli(daemon.home, ['wait', '--timeout', '1ms', 'child'])).toMatchObject({ code: 124 })
    await runCli(daemon.home, ['resume', '-d', '--subtree', 'root'])
    await runCli(daemon.work, ['version'])
    await daemon.spawnScripted([{ tools: [{ name: 'bash', input: { command: 'touch go' } }] }])
    expect(await waitForEndCli.result).toMatchObject({ code: 7 })
  })
})

test("a parent is notified of its child's suspension, and does not take that for its end", async () => {
  const parent = await daemon.spawnScripted([{ text: 'ready' }], { interactive: true })
  await daemon.waitUntilReady(parent.uuid)
  const child = await daemon.spawnScripted([{ text: 'first' }, { text: 'second' }], { interactive: true, parent: parent.uuid })
  await daemon.waitUntilReady(child.uuid)
  await daemon.pause(child.uuid)
  const waited = await daemon.client.get<{ process: ProcessView; timedOut: boolean }>(`/v1/processes/${child.uuid}/wait`, {
    for: 'exited',
    timeoutMs: 1,
  })
  expect(waited).toMatchObject({ timedOut: true, process: { status: 'suspended' } })
  expect(await daemon.waitForEvent(parent.uuid, (event) => event['fact'] === 'child.suspended')).toMatchObject({ child: child.uuid })
  await daemon.signal(child.uuid, 'SIGKILL')
  await daemon.waitForEnd(child.uuid)
  await daemon.resume(child.uuid)
  expect(await daemon.waitUntilReady(child.uuid)).toMatchObject({ ppid: parent.pid, parentUuid: parent.uuid })
  expect(await daemon.readFactTypes(parent.uuid)).toEqual(expect.arrayContaining(['child.spawned', 'child.suspended', 'child.exited']))
})

describe('PIDs', () => {
  test('only rise, also those of restored processes, and when all their processes were removed', async () => {
    const { uuid, pid } = await daemon.spawnShell('true')
    await daemon.waitForEnd(uuid)
    await daemon.client.delete(`/v1/processes/${uuid}`)
    await daemon.restart()
    const suspended = await spawnWaiting('suspended')
    const first = (await daemon.waitUntilReady(suspended)).pid
    expect(first).toBeGreaterThan(pid)
    await daemon.pause(suspended)
    await daemon.restart()
    const second = (await daemon.view(suspended)).pid
    expect(second).toBeGreaterThan(first)
    await daemon.signal(suspended, 'SIGKILL')
    await daemon.waitForEnd(suspended)
    await daemon.client.delete(`/v1/processes/${suspended}`)
    await daemon.restart()
    expect((await daemon.spawnShell('true')).pid).toBeGreaterThan(second)
  })
})
