// Supervision with a real daemon, real programs and real kills: restart policies, crash loops and waiting restarts, and supervisors
// with their strategies. Kills of the daemon: supervision-crash.test.ts.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { findProcessesWith, newToken, signalFound } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView, SupervisedView } from '../../../src/api/views/process.ts'

/** So short that tests need not wait for it; tests of the wait itself use a longer one. */
const SHORT = { initialMs: 1, maxMs: 5, factor: 1 }
const LONG_BACKOFF = { initialMs: 600_000, maxMs: 600_000, factor: 1 }
const DAY = 86_400_000

let home: DaemonHome
beforeAll(async () => {
  home = await DaemonHome.create()
  await home.start()
})
afterAll(() => home[Symbol.asyncDispose]())

/** Returns a program that writes a line at each start, and then runs `command`. */
function recordStarts(file: string, command: string): string[] {
  return ['sh', '-c', `echo $$ >> ${join(home.work, file)}; ${command}`]
}

function countStarts(file: string): number {
  const path = join(home.work, file)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
}

async function readFacts(uuid: string): Promise<EventView[]> {
  return (await home.readEvents()).filter((event) => event.uuid === uuid)
}

async function childrenOf(ref: string): Promise<SupervisedView[]> {
  return (await home.view(ref)).supervisor?.children ?? []
}

async function pollUntil(description: string, isMet: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await isMet())) {
    if (performance.now() > deadline) throw new Error(`never: ${description}; ${home.readLog()}`)
    await sleep(15)
  }
}

describe('a restart policy', () => {
  test('gives up a crash loop after exactly the allowed incarnations', async () => {
    const { uuid } = await home.spawn({
      argv: recordStarts('loop', 'exit 3'),
      restart: { type: 'on-failure', maxRestarts: 4, windowMs: DAY, backoff: SHORT },
    })
    const endedView = await home.waitForEnd(uuid)
    expect(endedView).toMatchObject({ status: 'failed', exit: { code: 3 }, note: 'exit code 3; not restarted again, after 4 restarts' })
    expect(countStarts('loop')).toBe(5)
    const pids = (await readFacts(uuid)).filter(({ fact }) => fact === 'process.started').map(({ pid }) => pid)
    expect(new Set(pids).size).toBe(5)
  })

  test('restarts a completed process only if it is `always`', async () => {
    const completedProcess = await home.spawn({ argv: recordStarts('done', 'exit 0'), restart: 'on-failure' })
    expect(await home.waitForEnd(completedProcess.uuid)).toMatchObject({ status: 'completed' })
    const always = await home.spawn({
      argv: recordStarts('always', 'exit 0'),
      restart: { type: 'always', maxRestarts: 2, windowMs: DAY, backoff: SHORT },
    })
    await home.waitForEnd(always.uuid)
    expect([countStarts('done'), countStarts('always')]).toEqual([1, 3])
  })

  test('a stop overtakes a waiting restart', async () => {
    const { uuid } = await home.spawn({ argv: recordStarts('waits', 'exit 3'), restart: { type: 'always', backoff: LONG_BACKOFF } })
    const waiting = await home.waitForView(uuid, ({ status, pendingRestart }) => status === 'pending' && pendingRestart !== null)
    expect(waiting.note).toMatch(/^restart 1 at \d\d:\d\d:\d\d: exit code 3$/)
    expect(waiting.pendingRestart).toMatchObject({ attempt: 1, cause: 'exit code 3' })
    await home.signal(uuid, { signal: 'SIGTERM' })
    expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'stopped' })
    expect(countStarts('waits')).toBe(1)
  })

  test('the kill of a program from outside is shown at once, and a restart is pending', async () => {
    const token = newToken()
    const { uuid } = await home.spawn({
      argv: recordStarts('outside', `exec sleep ${token}`),
      restart: { type: 'on-failure', backoff: LONG_BACKOFF },
    })
    await pollUntil('it runs', async () => countStarts('outside') === 1 && (await home.view(uuid)).status === 'working')
    signalFound(await waitUntil(() => findProcessesWith(token).find(({ argv }) => argv[0] === 'sleep') ?? null, 'it sleeps'), 'SIGKILL')
    const endedView = await home.waitForView(uuid, ({ status }) => status !== 'working' && status !== 'zombie')
    expect(endedView).toMatchObject({ status: 'pending', pendingRestart: { attempt: 1, cause: 'ended by SIGKILL' } })
    await home.signal(uuid, { signal: 'SIGKILL' })
  })

  test('a resume does not wait for the backoff', async () => {
    const { uuid } = await home.spawn({
      argv: recordStarts('hurried', 'test $(wc -l < hurried) -gt 1 && exec sleep 600; exit 3'),
      restart: { type: 'always', backoff: LONG_BACKOFF },
    })
    await home.waitForView(uuid, ({ pendingRestart }) => pendingRestart !== null)
    await home.resume(uuid)
    await pollUntil('it runs again', async () => countStarts('hurried') === 2 && (await home.view(uuid)).status === 'working')
    await home.signal(uuid, { signal: 'SIGKILL' })
    await home.waitForEnd(uuid)
  })

  test('an agent with the same failure three times in a row is held with the cause; a resume tries again', async () => {
    const model = home.writeScript([{ error: 'the disk of the provider is on fire' }])
    const { uuid } = await home.spawn({ model, restart: { type: 'always', backoff: SHORT } })
    const heldView = await home.waitForView(uuid, ({ status }) => status === 'suspended')
    expect(heldView.holds).toMatchObject([{ reason: 'supervisor', by: 'system' }])
    expect(heldView.note).toContain('3 times in a row')
    const countFailures = async (): Promise<number> => (await readFacts(uuid)).filter(({ fact }) => fact === 'process.exited').length
    expect(await countFailures()).toBe(3)
    await home.resume(uuid)
    await pollUntil('it is held again', async () => (await countFailures()) > 3 && (await home.view(uuid)).status === 'suspended')
    await home.signal(uuid, { signal: 'SIGKILL' })
  })

  test('a process that a limit ends is held, and not restarted', async () => {
    const { uuid } = await home.spawn({ argv: recordStarts('limited', 'exec sleep 600'), limits: { timeoutMs: 50 }, restart: 'always' })
    const heldView = await home.waitForView(uuid, ({ status }) => status === 'suspended')
    expect(heldView).toMatchObject({ note: 'paused: supervisor (timed out)', holds: [{ reason: 'supervisor' }] })
    expect((await readFacts(uuid)).filter(({ fact, attached }) => fact === 'process.started' && attached === true)).toHaveLength(1)
    await home.signal(uuid, { signal: 'SIGKILL' })
  })
})

describe('a supervisor', () => {
  async function spawnSupervisor(name: string, supervisor: object): Promise<ProcessView> {
    const { uuid } = await home.spawn({ name, supervisor })
    return home.waitForView(uuid, ({ status }) => status === 'ready')
  }

  test('fails when a child has used up its restarts, after it has stopped the other children in reverse order', async () => {
    const { uuid } = await spawnSupervisor('tree', {
      maxRestarts: 3,
      windowMs: DAY,
      backoff: SHORT,
      children: [
        { childId: 'first', argv: ['sleep', '600'], restart: 'always' },
        { childId: 'bad', argv: recordStarts('bad', 'exit 7'), restart: 'always' },
        { childId: 'last', argv: ['sleep', '600'], restart: 'always' },
      ],
    })
    const endedView = await home.waitForEnd(uuid)
    expect(endedView).toMatchObject({
      status: 'failed',
      exit: { code: 1, reason: expect.stringMatching(/^child bad ended 4 times within/) as string },
    })
    expect(countStarts('bad')).toBe(4)
    const children = endedView.supervisor?.children ?? []
    expect(children.map(({ status }) => status)).toEqual([null, null, null])
    const endedChildren = (await home.readEvents())
      .filter(({ fact, uuid: of }) => fact === 'process.exited' && children.some((child) => child.uuid === of))
      .map(({ uuid: of }) => children.find((child) => child.uuid === of)?.id)
    expect(endedChildren).toEqual(['bad', 'bad', 'bad', 'bad', 'last', 'first'])
  })

  test('leaves a child dead that the user killed, also after a stop and resume of the supervisor', async () => {
    const { uuid } = await spawnSupervisor('team', {
      backoff: SHORT,
      children: [
        { childId: 'a', argv: recordStarts('a', 'exec sleep 600'), restart: 'always' },
        { childId: 'b', argv: recordStarts('b', 'exec sleep 600'), restart: 'always' },
      ],
    })
    await pollUntil(
      'both run',
      async () => countStarts('a') === 1 && countStarts('b') === 1 && (await childrenOf(uuid)).every(({ status }) => status === 'working'),
    )
    const [firstChild] = await childrenOf(uuid)
    await home.signal(firstChild?.uuid ?? '', { signal: 'SIGKILL' })
    await home.waitForEnd(firstChild?.uuid ?? '')
    await home.signal(uuid, { signal: 'SIGTERM', graceMs: 10_000 })
    expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'stopped' })
    await home.resume(uuid)
    await pollUntil(
      'b runs again',
      async () => countStarts('b') === 2 && (await childrenOf(uuid)).find(({ id }) => id === 'b')?.status === 'working',
    )
    expect(countStarts('a')).toBe(1)
    await home.signal(uuid, { signal: 'SIGKILL' })
    await home.waitForEnd(uuid)
    await pollUntil('none of it runs', async () => (await childrenOf(uuid)).every(({ status }) => status === null))
  })

  test('with `one_for_all` stops the other children, and restarts all; children can be added and removed', async () => {
    const flag = join(home.work, 'fail-once')
    const { uuid } = await spawnSupervisor('all', {
      strategy: 'one_for_all',
      backoff: SHORT,
      children: [
        { childId: 'x', argv: recordStarts('x', 'exec sleep 600'), restart: 'always' },
        {
          childId: 'y',
          argv: recordStarts('y', `while ! test -e ${flag}; do sleep 0.02; done; rm ${flag}; exit 1`),
          restart: 'on-failure',
        },
      ],
    })
    await pollUntil(
      'both run',
      async () => (await childrenOf(uuid)).every(({ status }) => status === 'working') && countStarts('x') === 1 && countStarts('y') === 1,
    )
    writeFileSync(flag, '')
    await pollUntil(
      'both have begun again',
      async () => countStarts('x') === 2 && countStarts('y') === 2 && (await childrenOf(uuid)).every(({ status }) => status === 'working'),
    )
    expect((await childrenOf(uuid)).map(({ restarts }) => restarts)).toEqual([0, 1])
    await home.spawn({ parent: uuid, childId: 'z', argv: ['sleep', '600'] })
    await expect(home.spawn({ parent: uuid, childId: 'z', argv: ['true'] })).rejects.toMatchObject({ code: 'CONFLICT' })
    await home.client.delete(`/v1/processes/${uuid}/children?id=y`)
    await pollUntil('y is gone', async () => (await childrenOf(uuid)).map(({ id }) => id).join() === 'x,z')
    await home.signal(uuid, { signal: 'SIGKILL' })
    await home.waitForEnd(uuid)
  })

  test('that cannot start all its children starts none', async () => {
    const children = [
      { childId: 'ok', name: 'ok-child', argv: ['sleep', '600'] },
      { childId: 'bad', name: 'ok-child', argv: ['sleep', '600'] },
    ]
    await expect(home.spawn({ name: 'broken', supervisor: { children } })).rejects.toMatchObject({ code: 'CONFLICT' })
    await pollUntil('nothing of it lives', async () =>
      (await home.listProcesses()).every(({ name, exit }) => !['broken', 'ok-child'].includes(name ?? '') || exit !== null),
    )
    await expect(home.spawn({ supervisor: { children: [{ childId: 'x', agent: 'nobody', intent: 'x' }] } })).rejects.toMatchObject({
      code: 'AGENT_INVALID',
    })
  })
})
