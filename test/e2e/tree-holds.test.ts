// Holds in a tree of real processes: pauses that overlap, who wakes whom, children born in a pause or in its very moment,
// what the family is told, and what a wait makes of it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventView, ProcessView, ResumeBody } from '../../src/api/views.ts'
import { runCli, startCli } from '../support/cli.ts'
import { LocalDaemon } from '../support/local-daemon.ts'

let daemon: LocalDaemon
let uuids: Readonly<Record<string, string>>

beforeEach(async () => { daemon = await LocalDaemon.start() })
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** One that waits for messages. */
const waiting = async (name: string, parent?: string): Promise<string> => {
  const { uuid } = await daemon.play([{ text: 'heard' }], { name, interactive: true, ...(parent === undefined ? {} : { parent }) })
  return uuid
}

/** root → (a → (b, c), d) */
async function family(): Promise<void> {
  const root = await waiting('root')
  const a = await waiting('a', root)
  uuids = { root, a, b: await waiting('b', a), c: await waiting('c', a), d: await waiting('d', root) }
  for (const uuid of Object.values(uuids)) await daemon.ready(uuid)
}

/** The holds of each that has some. */
async function held(): Promise<Record<string, string>> {
  const { processes } = await daemon.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true })
  const names = new Map(processes.map(({ uuid, name }) => [uuid, name]))
  const shown = processes.filter(({ status }) => status === 'suspended').map(({ name, holds }) => [name ?? '', holds.map(({ reason, root }) => (root === undefined ? reason : `${reason} ${names.get(root)}`)).join(', ')])
  return Object.fromEntries(shown) as Record<string, string>
}

const facts = async (uuid: string, ...which: string[]): Promise<EventView[]> => (await daemon.history(uuid)).filter(({ fact }) => which.includes(String(fact)))

describe('pauses that overlap', () => {
  const PAUSED = { root: 'subtree root', a: 'subtree a, subtree root', b: 'user, subtree a, subtree root', c: 'subtree a, subtree root', d: 'subtree root' }

  beforeEach(async () => {
    await family()
    await daemon.pause('b')
    await daemon.pause('a', { subtree: true })
    await daemon.pause('root', { subtree: true })
    expect(await held()).toEqual(PAUSED)
  })

  test.each<[string, ResumeBody, Record<string, string>, number]>([
    ['root', { subtree: true }, { a: 'subtree a', b: 'user, subtree a', c: 'subtree a' }, 5],
    ['root', {}, { a: PAUSED.a, b: PAUSED.b, c: PAUSED.c, d: PAUSED.d }, 1],
    ['a', { subtree: true }, { b: 'user, subtree root', c: 'subtree root', d: 'subtree root' }, 4],
    ['a', { subtree: true, only: true }, { root: PAUSED.root, b: 'user, subtree root', c: 'subtree root', d: 'subtree root' }, 3],
    ['b', {}, { c: PAUSED.c, d: PAUSED.d }, 3],
    ['b', { only: true }, { root: PAUSED.root, a: PAUSED.a, c: PAUSED.c, d: PAUSED.d }, 1],
    ['d', {}, { a: PAUSED.a, b: PAUSED.b, c: PAUSED.c }, 2],
  ])('a resume of %s with %j leaves held what it does not mean', async (who, body, left, affected) => {
    expect(await daemon.resume(who, body)).toMatchObject({ affected })
    expect(await held()).toEqual(left)
    await daemon.restart()
    expect(await held()).toEqual(left)
  })

  test('twice by the same is one, and one resume ends both', async () => {
    await daemon.pause('b')
    await daemon.pause('root', { subtree: true })
    expect(await held()).toEqual(PAUSED)
    expect(await facts(uuids['b'] ?? '', 'process.held')).toHaveLength(3)
    await daemon.resume('b')
    expect(await daemon.resume('b')).toMatchObject({ affected: 0, note: 'it was not suspended' })
  })

  test('killing one of them works at once, and wakes nobody', async () => {
    await daemon.signal('a', 'SIGTERM')
    expect(await daemon.ended(uuids['a'] ?? '')).toMatchObject({ status: 'stopped', exit: { code: 1, reason: 'context cancelled while paused' } })
    expect(await held()).toEqual({ root: PAUSED.root, b: PAUSED.b, c: PAUSED.c, d: PAUSED.d })
    // Who was paused with what is gone is freed by its own name.
    expect(await daemon.resume('c')).toMatchObject({ affected: 1 })
    expect(await held()).toEqual({ root: PAUSED.root, b: PAUSED.b, d: PAUSED.d })
    // Who was paused with the root is found by it, also where PID 0 is its parent now.
    expect(await daemon.resume('root', { subtree: true })).toMatchObject({ affected: 3 })
    expect(await held()).toEqual({ b: 'user, subtree a' })
  })
})

describe('children of a pause', () => {
  test('born in it they start held, at every depth, and have begun nothing; a fork of one of them too', async () => {
    await family()
    await daemon.pause('root', { subtree: true })
    const late = await waiting('late', 'b')
    const command = await daemon.sh('echo never before', { name: 'command', parent: late })
    expect(await held()).toMatchObject({ late: 'subtree root', command: 'subtree root' })
    expect(await daemon.output(command.uuid)).toBe('')
    await daemon.resume('root', { subtree: true })
    expect(await daemon.ended(command.uuid)).toMatchObject({ status: 'completed' })
    await daemon.ready(late)
  })

  test('born in the moment of it, each is paused or begins held; none escapes', async () => {
    await family()
    const births = (): Promise<ProcessView>[] => ['root', 'a', 'b', 'root', 'c', 'd'].map((parent) => daemon.sh('sleep 600', { parent }))
    const early = births()
    const paused = daemon.pause('root', { subtree: true })
    const born = (await Promise.all([...early, ...births()])).map(({ uuid }) => uuid)
    const { affected } = await paused
    expect(affected).toBeGreaterThanOrEqual(5)
    for (const uuid of born) expect((await daemon.until(uuid, 'suspended')).holds).toMatchObject([{ reason: 'subtree', root: uuids['root'] }])
    expect((await daemon.resume('root', { subtree: true })).affected).toBe(5 + born.length)
    expect((await daemon.signal('root', 'SIGKILL', { subtree: true })).affected).toBe(5 + born.length)
    for (const uuid of born) expect((await daemon.ended(uuid)).status).toBe('stopped')
  })
})

describe('the family', () => {
  test('all living ancestors are told that one is suspended, why and by whom, and that it goes on', async () => {
    await family()
    await daemon.signal('a', 'SIGKILL')
    await daemon.ended(uuids['a'] ?? '')
    await daemon.pause('d')
    await daemon.resume('d', { only: true })
    const told = await facts(uuids['root'] ?? '', 'child.suspended', 'child.resumed')
    expect(told.map(({ fact, child, reason, by }) => [fact, child, reason, by])).toEqual([['child.suspended', uuids['d'], 'user', 'user'], ['child.resumed', uuids['d'], undefined, 'user']])
    // What has gone to PID 0 with the death of its parent has no one to tell.
    await daemon.pause('b')
    expect(await facts(uuids['root'] ?? '', 'child.suspended')).toHaveLength(1)
    expect(await facts(uuids['a'] ?? '', 'child.suspended')).toEqual([])
  })

  test('over generations, and also of what a restart brought back', async () => {
    await family()
    await daemon.pause('b')
    await daemon.restart()
    for (const name of ['root', 'a']) await daemon.ready(name)
    await daemon.resume('b')
    await daemon.ready('b')
    for (const name of ['root', 'a']) {
      const told = await facts(uuids[name] ?? '', 'child.suspended', 'child.resumed')
      expect(told.filter(({ child, reason }) => child === uuids['b'] && reason !== 'daemon-shutdown').map(({ fact }) => fact)).toEqual(['child.suspended', 'child.resumed'])
    }
  })

  test('a wait for an end does not take suspended for one; a wait for suspended does', async () => {
    const root = await waiting('root')
    const child = await daemon.sh('read -r line < /dev/null; while [ ! -e go ]; do sleep 0.1; done; exit 7', { name: 'child', parent: root })
    await daemon.until(child.uuid, 'working')
    const ended = startCli(daemon.home, ['wait', 'child'])
    expect(await runCli(daemon.home, ['pause', 'root', '--subtree'])).toMatchObject({ code: 0 })
    expect(await runCli(daemon.home, ['wait', '--for', 'suspended', 'child'])).toMatchObject({ code: 0 })
    expect(await runCli(daemon.home, ['wait', '--timeout', '1ms', 'child'])).toMatchObject({ code: 124 })
    await runCli(daemon.home, ['resume', '--subtree', 'root'])
    await runCli(daemon.work, ['version'])
    await daemon.play([{ tools: [{ name: 'bash', input: { command: 'touch go' } }] }])
    expect(await ended.done).toMatchObject({ code: 7 })
  })
})

describe('PIDs', () => {
  test('only rise: also of placeholders, and when all that had them are gone', async () => {
    const { uuid, pid } = await daemon.sh('true')
    await daemon.ended(uuid)
    await daemon.client.delete(`/v1/processes/${uuid}`)
    await daemon.restart()
    const suspended = await waiting('suspended')
    const first = (await daemon.ready(suspended)).pid
    expect(first).toBeGreaterThan(pid)
    await daemon.pause(suspended)
    await daemon.restart()
    const second = (await daemon.view(suspended)).pid
    expect(second).toBeGreaterThan(first)
    await daemon.signal(suspended, 'SIGKILL')
    await daemon.ended(suspended)
    await daemon.client.delete(`/v1/processes/${suspended}`)
    await daemon.restart()
    expect((await daemon.sh('true')).pid).toBeGreaterThan(second)
  })
})
