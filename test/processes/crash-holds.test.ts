// The user's word across restarts: what was paused stays paused, what was killed stays dead, after SIGKILL of the daemon and
// after its orderly stop; and an orderly stop lets go on by itself only what it had held itself.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views.ts'
import { DaemonHome, type Item } from '../support/daemon.ts'
import { eventually, livingWith, newToken } from '../support/living.ts'

const LINES = 12

const bash = (command: string, delay_ms = 0): Item => ({ delay_ms, tools: [{ name: 'bash', input: { command } }] })

/** Writes the lines 1 to 12 into a file of its own, one a step. */
function writer(home: DaemonHome, file: string, delayMs = 120): { model: string } {
  const steps = Array.from({ length: LINES }, (_, index) => bash(`echo ${index + 1} >> ${file}`, delayMs))
  return { model: home.script([...steps, { text: 'done' }]) }
}

function linesOf(home: DaemonHome, file: string): number[] {
  return readFileSync(join(home.work, file), 'utf8').trim().split('\n').map(Number)
}

const ALL = Array.from({ length: LINES }, (_, index) => index + 1)

const reasons = (view: ProcessView): string[] => view.holds.map(({ reason }) => reason)

/** Pauses it in the middle of its work and waits until nothing of it is in flight. */
async function pauseAtWork(home: DaemonHome, uuid: string): Promise<ProcessView> {
  await home.until(uuid, ({ step }) => step >= 3)
  await home.pause(uuid)
  return home.until(uuid, ({ status, note }) => status === 'suspended' && note?.includes('draining') !== true)
}

const ENDS: readonly { readonly by: string; readonly end: (home: DaemonHome) => Promise<unknown> }[] = [
  { by: 'SIGKILL', end: (home) => home.kill() },
  { by: 'an orderly stop', end: (home) => home.stop() },
]

describe.each(ENDS)('after $by of the daemon', ({ end }) => {
  test('a suspended process comes back suspended with a new PID, and keeps that PID when it is resumed', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    const { uuid } = await home.spawn(writer(home, 'lines'))
    const before = await pauseAtWork(home, uuid)
    await end(home)
    await home.start()
    const back = await home.view(uuid)
    expect({ status: back.status, holds: reasons(back), step: back.step, elapsedMs: back.elapsedMs })
      .toEqual({ status: 'suspended', holds: ['user'], step: before.step, elapsedMs: before.elapsedMs })
    expect(back.pid).toBeGreaterThan(before.pid)
    // A second time: it is a row only, and comes back all the same.
    await end(home)
    await home.start()
    const again = await home.view(uuid)
    expect({ status: again.status, holds: reasons(again) }).toEqual({ status: 'suspended', holds: ['user'] })
    expect(again.pid).toBeGreaterThan(back.pid)
    expect((await home.resume(uuid)).pid).toBe(again.pid)
    const ended = await home.ended(uuid)
    expect({ status: ended.status, pid: ended.pid }).toEqual({ status: 'completed', pid: again.pid })
    expect(linesOf(home, 'lines')).toEqual(ALL)
  })

  test('a paused subtree stays paused, and is resumed as one', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    const parent = await home.spawn({ name: 'parent', ...writer(home, 'parent') })
    const child = await home.spawn({ name: 'child', parent: 'parent', ...writer(home, 'child') })
    await home.until(child.uuid, ({ step }) => step >= 2)
    await home.pause('parent', { subtree: true })
    for (const { uuid } of [parent, child]) await home.until(uuid, ({ note }) => note?.includes('draining') !== true)
    await end(home)
    await home.start()
    const views = await home.list()
    expect(views.map((view) => [view.name, view.status, ...reasons(view)])).toEqual([['parent', 'suspended', 'subtree'], ['child', 'suspended', 'subtree']])
    expect(views.find(({ name }) => name === 'child')?.ppid).toBe(views.find(({ name }) => name === 'parent')?.pid)
    await home.resume('parent', { subtree: true })
    for (const { uuid, name } of [parent, child]) {
      expect((await home.ended(uuid)).status).toBe('completed')
      expect(linesOf(home, name ?? '')).toEqual(ALL)
    }
  })

  test('a message that was sent to a paused process is there when it goes on', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    const { uuid } = await home.spawn({ model: home.script([{ text: 'first' }, { text: 'second' }]), interactive: true })
    await home.until(uuid, ({ status }) => status === 'ready')
    await home.pause(uuid)
    await home.client.post(`/v1/processes/${uuid}/send`, { text: 'go on' })
    await end(home)
    await home.start()
    expect(await home.view(uuid)).toMatchObject({ status: 'suspended', queueCount: 1, step: 1 })
    await home.resume(uuid)
    expect(await home.until(uuid, ({ status, step }) => status === 'ready' && step === 2)).toMatchObject({ queueCount: 0, lastText: 'second' })
  })

  test('what was killed stays dead', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    const working = await home.spawn(writer(home, 'working'))
    const paused = await home.spawn(writer(home, 'paused'))
    await pauseAtWork(home, paused.uuid)
    await home.until(working.uuid, ({ step }) => step >= 2)
    for (const { uuid } of [working, paused]) {
      await home.signal(uuid, { signal: 'SIGTERM' })
      await home.ended(uuid)
    }
    await end(home)
    await home.start()
    const [one, two] = [await home.view(working.uuid), await home.view(paused.uuid)]
    expect(one).toMatchObject({ status: 'stopped', pid: working.pid, exit: { code: 143, signal: 'SIGTERM' } })
    expect(two).toMatchObject({ status: 'stopped', pid: paused.pid, exit: { code: 1, reason: 'context cancelled while paused', signal: 'SIGTERM' } })
  })

  test('a command that was paused is interrupted, and says that it can only be run again', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    const token = newToken()
    const { uuid, pid } = await home.spawn({ argv: ['sleep', `1000.${token}`] })
    await eventually(() => livingWith(token).length > 0, 'it runs')
    await home.pause(uuid)
    await home.until(uuid, ({ note }) => note?.includes('draining') !== true)
    await end(home)
    await home.nothingLeft()
    expect(livingWith(token)).toEqual([])
    await home.start()
    expect(await home.view(uuid)).toMatchObject({ status: 'interrupted', pid })
    await expect(home.resume(uuid)).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
    const rerun = await home.resume(uuid, { rerun: true })
    expect(rerun.pid).toBeGreaterThan(pid)
    await eventually(() => livingWith(token).length > 0, 'it runs again')
  })
})

describe('SIGKILL of the daemon', () => {
  const DEAF = (token: string): string => `trap "" TERM; touch deaf; while :; do sleep 0.1; done; : 1000.${token}`

  test.each([
    { what: 'a command', body: (_: DaemonHome, token: string) => ({ argv: ['sh', '-c', DEAF(token)] }) },
    { what: 'an agent', body: (home: DaemonHome, token: string) => ({ model: home.script([bash(DEAF(token)), { text: 'done' }]) }) },
  ])('a kill of $what that was durable and not finished is finished', async ({ body }) => {
    await using home = await DaemonHome.make()
    await home.start()
    const token = newToken()
    const { uuid, pid } = await home.spawn(body(home, token))
    await eventually(() => existsSync(join(home.work, 'deaf')), 'it is deaf to SIGTERM')
    await home.signal(uuid, { signal: 'SIGTERM', graceMs: 60_000 })
    expect((await home.view(uuid)).status).toBe('stopping')
    expect(livingWith(token).length).toBeGreaterThan(0)
    await home.kill()
    await home.nothingLeft()
    await home.start()
    expect(await home.view(uuid)).toMatchObject({ status: 'stopped', pid, exit: { code: 143, reason: 'SIGTERM from user', signal: 'SIGTERM' } })
  })

  test.each([
    { what: 'a pause that had not drained', now: false },
    { what: 'a freeze in the middle of a call', now: true },
  ])('$what is a pause; the call that was in flight is not run again', async ({ now }) => {
    await using home = await DaemonHome.make()
    await home.start()
    const token = newToken()
    const { uuid } = await home.spawn({ model: home.script([bash(`echo 1 >> lines; sleep 1000.${token}`), bash('echo 2 >> lines'), { text: 'done' }]) })
    await eventually(() => livingWith(token).some(({ argv }) => argv[0] === 'sleep'), 'the call is in flight')
    expect((await home.pause(uuid, { now })).status).toBe('suspended')
    await home.until(uuid, ({ note }) => note?.includes('draining') === !now)
    await home.kill()
    await home.start()
    expect(await home.view(uuid)).toMatchObject({ status: 'suspended', step: 1 })
    await home.resume(uuid)
    expect((await home.ended(uuid)).status).toBe('completed')
    expect(linesOf(home, 'lines')).toEqual([1, 2])
    const calls = (await home.events()).filter(({ fact }) => fact === 'tool.finished')
    expect(calls.map(({ step, outcome }) => [step, outcome])).toEqual([[1, 'interrupted'], [2, 'ok']])
  })

  test('what runs or waits for a message is interrupted, and nothing goes on by itself', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    const working = await home.spawn(writer(home, 'working'))
    const ready = await home.spawn({ model: home.script([{ text: 'hello' }]), interactive: true })
    await home.until(ready.uuid, ({ status }) => status === 'ready')
    await home.until(working.uuid, ({ step }) => step >= 2)
    await home.kill()
    const { cursor } = await home.start()
    expect((await home.list()).map(({ uuid, pid, status }) => ({ uuid, pid, status }))).toEqual([working, ready].map(({ uuid, pid }) => ({ uuid, pid, status: 'interrupted' })))
    expect((await home.client.get<{ cursor: number }>('/v1/daemon')).cursor).toBe(cursor)
    const resumed = await home.resume(working.uuid)
    expect(resumed.pid).toBeGreaterThan(ready.pid)
    expect((await home.ended(working.uuid)).status).toBe('completed')
  })
})

describe('an orderly stop of the daemon', () => {
  test('holds what runs with `daemon-shutdown`; the next start releases just that', async () => {
    await using home = await DaemonHome.make()
    await home.start()
    const running = await home.spawn({ name: 'running', ...writer(home, 'running') })
    const paused = await home.spawn({ name: 'paused', ...writer(home, 'paused') })
    const ready = await home.spawn({ name: 'ready', model: home.script([{ text: 'hello' }]), interactive: true })
    await pauseAtWork(home, paused.uuid)
    const { step } = await home.until(running.uuid, (view) => view.step >= 3)
    await home.until(ready.uuid, ({ status }) => status === 'ready')
    expect(await home.stop()).toEqual({ code: 0, signal: null })
    await home.nothingLeft()
    await home.start()

    expect(await home.view('paused')).toMatchObject({ status: 'suspended', holds: [{ reason: 'user' }] })
    const went = await home.view('running')
    expect(went.pid).toBeGreaterThan(running.pid)
    const ended = await home.ended('running')
    expect(ended).toMatchObject({ status: 'completed', pid: went.pid })
    expect(linesOf(home, 'running')).toEqual(ALL)
    expect(await home.until('ready', ({ status }) => status === 'ready')).toMatchObject({ step: 1, lastText: 'hello' })

    const facts = (await home.events()).filter((event) => event.uuid === running.uuid)
    const place = (fact: string, about: string): number => facts.findIndex((event) => event['fact'] === fact && JSON.stringify(event).includes(about))
    const order = [place('process.held', 'daemon-shutdown'), place('process.drained', ''), place('process.rehydrated', ''), place('process.released', 'daemon-shutdown'), place('process.attached', '')]
    expect(order.every((at) => at > 0)).toBe(true)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(facts.filter(({ fact, outcome }) => fact === 'tool.finished' && outcome !== 'ok')).toEqual([])
    expect(facts.filter(({ fact }) => fact === 'model.started').length).toBeGreaterThan(step)

    await home.resume('paused')
    expect((await home.ended('paused')).status).toBe('completed')
    expect(linesOf(home, 'paused')).toEqual(ALL)
  })
})
