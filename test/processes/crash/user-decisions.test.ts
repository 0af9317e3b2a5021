// The user's decisions across restarts: paused processes stay paused and killed ones stay dead, after SIGKILL of the daemon and
// after an orderly stop. After an orderly stop only processes that the stop itself held continue.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { DaemonHome, type ScriptAnswer } from '../../support/daemon/daemon-home.ts'
import { findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const LINES = 12

const bashStep = (command: string, delay_ms = 0): ScriptAnswer => ({ delay_ms, tools: [{ name: 'bash', input: { command } }] })

/** Writes the lines 1 to 12 into its own file, one per step. */
function writerModel(home: DaemonHome, file: string, delayMs = 200): { model: string } {
  const steps = Array.from({ length: LINES }, (_, index) => bashStep(`echo ${index + 1} >> ${file}`, delayMs))
  return { model: home.writeScript([...steps, { text: 'done' }]) }
}

function linesOf(home: DaemonHome, file: string): number[] {
  return readFileSync(join(home.work, file), 'utf8').trim().split('\n').map(Number)
}

const ALL_LINES = Array.from({ length: LINES }, (_, index) => index + 1)

const holdReasons = (view: ProcessView): string[] => view.holds.map(({ reason }) => reason)

const isDrained = ({ note }: ProcessView): boolean => note?.includes('draining') !== true

/** Pauses a process in the middle of its work, and waits until no call of it is in flight. */
async function pauseAtWork(home: DaemonHome, uuid: string): Promise<ProcessView> {
  await home.waitForView(uuid, ({ step }) => step >= 3)
  await home.pause(uuid)
  return home.waitForView(uuid, (view) => view.status === 'suspended' && isDrained(view))
}

const ENDS: readonly { readonly by: string; readonly end: (home: DaemonHome) => Promise<unknown> }[] = [
  { by: 'SIGKILL', end: (home) => home.kill() },
  { by: 'an orderly stop', end: (home) => home.stop() },
]

describe.each(ENDS)('after $by of the daemon', ({ end }) => {
  let home: DaemonHome
  const token = newToken()
  /** the rows at the end of the daemon */
  let paused: ProcessView, parent: ProcessView, child: ProcessView, messaged: ProcessView, command: ProcessView
  let killedProcesses: readonly ProcessView[]

  beforeAll(async () => {
    home = await DaemonHome.create()
    await home.start()
    await Promise.all([setUpPaused(), setUpSubtree(), setUpMessaged(), setUpKilled(), setUpCommand()])
    await end(home)
    await home.waitUntilNothingIsLeft()
    expect(findProcessesWith(token)).toEqual([])
    await home.start()
  })
  afterAll(() => home[Symbol.asyncDispose]())

  async function setUpPaused(): Promise<void> {
    paused = await pauseAtWork(home, (await home.spawn(writerModel(home, 'lines'))).uuid)
  }

  async function setUpSubtree(): Promise<void> {
    parent = await home.spawn({ name: 'parent', ...writerModel(home, 'parent') })
    child = await home.spawn({ name: 'child', parent: 'parent', ...writerModel(home, 'child') })
    await home.waitForView(child.uuid, ({ step }) => step >= 2)
    await home.pause('parent', { subtree: true })
    for (const { uuid } of [parent, child]) await home.waitForView(uuid, isDrained)
  }

  async function setUpMessaged(): Promise<void> {
    messaged = await home.spawn({ model: home.writeScript([{ text: 'first' }, { text: 'second' }]), interactive: true })
    await home.waitForView(messaged.uuid, ({ status }) => status === 'ready')
    await home.pause(messaged.uuid)
    await home.client.post(`/v1/processes/${messaged.uuid}/send`, { text: 'go on' })
  }

  async function setUpKilled(): Promise<void> {
    killedProcesses = [await home.spawn(writerModel(home, 'killed')), await home.spawn(writerModel(home, 'killed-paused'))]
    const [working, suspended] = killedProcesses.map(({ uuid }) => uuid)
    await pauseAtWork(home, suspended ?? '')
    await home.waitForView(working ?? '', ({ step }) => step >= 2)
    for (const { uuid } of killedProcesses) {
      await home.signal(uuid, { signal: 'SIGTERM' })
      await home.waitForEnd(uuid)
    }
  }

  async function setUpCommand(): Promise<void> {
    command = await home.spawn({ argv: ['sleep', `1000.${token}`] })
    await waitUntil(() => findProcessesWith(token).length > 0, 'it runs')
    await home.pause(command.uuid)
    await home.waitForView(command.uuid, isDrained)
  }

  test('a paused subtree stays paused, and is resumed as one', async () => {
    const views = (await home.listProcesses()).filter(({ name }) => name === 'parent' || name === 'child')
    expect(views.map((view) => [view.name, view.status, ...holdReasons(view)])).toEqual([
      ['parent', 'suspended', 'subtree'],
      ['child', 'suspended', 'subtree'],
    ])
    expect(views.find(({ name }) => name === 'child')?.ppid).toBe(views.find(({ name }) => name === 'parent')?.pid)
    await home.resume('parent', { subtree: true })
    for (const { uuid, name } of [parent, child]) {
      expect((await home.waitForEnd(uuid)).status).toBe('completed')
      expect(linesOf(home, name ?? '')).toEqual(ALL_LINES)
    }
  })

  test('a message to a paused process is delivered when it continues', async () => {
    const { uuid } = messaged
    expect(await home.view(uuid)).toMatchObject({ status: 'suspended', queueCount: 1, step: 1 })
    await home.resume(uuid)
    expect(await home.waitForView(uuid, ({ status, step }) => status === 'ready' && step === 2)).toMatchObject({
      queueCount: 0,
      lastText: 'second',
    })
  })

  test('a killed process stays dead, whether it worked or was paused', async () => {
    const [first, second] = await Promise.all(killedProcesses.map(({ uuid }) => home.view(uuid)))
    expect(first).toMatchObject({ status: 'stopped', pid: killedProcesses[0]?.pid, exit: { code: 143, signal: 'SIGTERM' } })
    expect(second).toMatchObject({
      status: 'stopped',
      pid: killedProcesses[1]?.pid,
      exit: { code: 1, reason: 'context cancelled while paused', signal: 'SIGTERM' },
    })
  })

  test('a suspended process comes back suspended with a new PID, and keeps that PID at the resume', async () => {
    const { uuid, pid, step, elapsedMs } = paused
    const viewAfter = await home.view(uuid)
    expect({ status: viewAfter.status, holds: holdReasons(viewAfter), step: viewAfter.step, elapsedMs: viewAfter.elapsedMs }).toEqual({
      status: 'suspended',
      holds: ['user'],
      step,
      elapsedMs,
    })
    expect(viewAfter.pid).toBeGreaterThan(pid)
    // The second time no agent has been started for the process, and it comes back all the same.
    await end(home)
    await home.start()
    const resumedView = await home.view(uuid)
    expect({ status: resumedView.status, holds: holdReasons(resumedView) }).toEqual({ status: 'suspended', holds: ['user'] })
    expect(resumedView.pid).toBeGreaterThan(viewAfter.pid)
    expect((await home.resume(uuid)).pid).toBe(resumedView.pid)
    const endedView = await home.waitForEnd(uuid)
    expect({ status: endedView.status, pid: endedView.pid }).toEqual({ status: 'completed', pid: resumedView.pid })
    expect(linesOf(home, 'lines')).toEqual(ALL_LINES)
  })

  test('a paused command is interrupted; it cannot be resumed, but run again', async () => {
    const { uuid, pid } = command
    expect(await home.view(uuid)).toMatchObject({ status: 'interrupted', pid })
    await expect(home.resume(uuid)).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
    const rerun = await home.resume(uuid, { rerun: true })
    expect(rerun.pid).toBeGreaterThan(pid)
    await waitUntil(() => findProcessesWith(token).length > 0, 'it runs again')
  })
})

describe('SIGKILL of the daemon', () => {
  const scriptIgnoringSigterm = (file: string, token: string): string =>
    `trap "" TERM; touch ${file}; while :; do sleep 0.1; done; : 1000.${token}`
  const KILLED = [
    {
      what: 'a command',
      token: newToken(),
      body: (_: DaemonHome, token: string) => ({ argv: ['sh', '-c', scriptIgnoringSigterm('deaf-command', token)] }),
      file: 'deaf-command',
    },
    {
      what: 'an agent',
      token: newToken(),
      body: (home: DaemonHome, token: string) => ({
        model: home.writeScript([bashStep(scriptIgnoringSigterm('deaf-agent', token)), { text: 'done' }]),
      }),
      file: 'deaf-agent',
    },
  ]
  const PAUSED_CASES = [
    { what: 'a pause that had not drained', token: newToken(), now: false, file: 'paused' },
    { what: 'a freeze in the middle of a call', token: newToken(), now: true, file: 'frozen' },
  ]

  describe('in the middle of', () => {
    let home: DaemonHome
    const views = new Map<string, ProcessView>()
    const viewOf = (token: string): ProcessView => {
      const view = views.get(token)
      if (!view) throw new Error('no process was spawned with this token')
      return view
    }

    beforeAll(async () => {
      home = await DaemonHome.create()
      await home.start()
      await Promise.all([...KILLED.map(setUpKilled), ...PAUSED_CASES.map(setUpPaused)])
      await home.kill()
      await home.waitUntilNothingIsLeft()
      await home.start()
    })
    afterAll(() => home[Symbol.asyncDispose]())

    async function setUpKilled({ token, body, file }: (typeof KILLED)[number]): Promise<void> {
      const { uuid } = await home.spawn(body(home, token))
      await waitUntil(() => existsSync(join(home.work, file)), 'it is deaf to SIGTERM')
      await home.signal(uuid, { signal: 'SIGTERM', graceMs: 60_000 })
      const view = await home.view(uuid)
      expect(view.status).toBe('stopping')
      expect(findProcessesWith(token).length).toBeGreaterThan(0)
      views.set(token, view)
    }

    async function setUpPaused({ token, now, file }: (typeof PAUSED_CASES)[number]): Promise<void> {
      const { uuid } = await home.spawn({
        model: home.writeScript([bashStep(`echo 1 >> ${file}; sleep 1000.${token}`), bashStep(`echo 2 >> ${file}`), { text: 'done' }]),
      })
      await waitUntil(() => findProcessesWith(token).some(({ argv }) => argv[0] === 'sleep'), 'the call is in flight')
      expect((await home.pause(uuid, { now })).status).toBe('suspended')
      views.set(token, await home.waitForView(uuid, ({ note }) => note?.includes('draining') === !now))
    }

    test.each(KILLED)('a durable, unfinished kill of $what is completed', async ({ token }) => {
      const { uuid, pid } = viewOf(token)
      expect(await home.view(uuid)).toMatchObject({
        status: 'stopped',
        pid,
        exit: { code: 143, reason: 'SIGTERM from user', signal: 'SIGTERM' },
      })
    })

    test.each(PAUSED_CASES)('$what is still a pause afterwards; the call in flight is not repeated', async ({ token, file }) => {
      const { uuid } = viewOf(token)
      expect(await home.view(uuid)).toMatchObject({ status: 'suspended', step: 1 })
      await home.resume(uuid)
      expect((await home.waitForEnd(uuid)).status).toBe('completed')
      expect(linesOf(home, file)).toEqual([1, 2])
      const calls = (await home.readEvents()).filter((event) => event.uuid === uuid && event['fact'] === 'tool.finished')
      expect(calls.map(({ step, outcome }) => [step, outcome])).toEqual([
        [1, 'interrupted'],
        [2, 'ok'],
      ])
    })
  })

  test('running and ready processes are interrupted, and none continues by itself', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    const working = await home.spawn(writerModel(home, 'working'))
    const readyProcess = await home.spawn({ model: home.writeScript([{ text: 'hello' }]), interactive: true })
    await home.waitForView(readyProcess.uuid, ({ status }) => status === 'ready')
    await home.waitForView(working.uuid, ({ step }) => step >= 2)
    await home.kill()
    const { cursor } = await home.start()
    expect((await home.listProcesses()).map(({ uuid, pid, status }) => ({ uuid, pid, status }))).toEqual(
      [working, readyProcess].map(({ uuid, pid }) => ({ uuid, pid, status: 'interrupted' })),
    )
    expect((await home.client.get<{ cursor: number }>('/v1/daemon')).cursor).toBe(cursor)
    const resumedView = await home.resume(working.uuid)
    expect(resumedView.pid).toBeGreaterThan(readyProcess.pid)
    expect((await home.waitForEnd(working.uuid)).status).toBe('completed')
  })
})

describe('an orderly stop of the daemon', () => {
  test('holds running processes with `daemon-shutdown`; the next start releases only that hold', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    const runningProcess = await home.spawn({ name: 'running', ...writerModel(home, 'running') })
    const pausedProcess = await home.spawn({ name: 'paused', ...writerModel(home, 'paused') })
    const readyProcess = await home.spawn({ name: 'ready', model: home.writeScript([{ text: 'hello' }]), interactive: true })
    await pauseAtWork(home, pausedProcess.uuid)
    const { step } = await home.waitForView(runningProcess.uuid, (view) => view.step >= 3)
    await home.waitForView(readyProcess.uuid, ({ status }) => status === 'ready')
    expect(await home.stop()).toEqual({ code: 0, signal: null })
    await home.waitUntilNothingIsLeft()
    await home.start()

    expect(await home.view('paused')).toMatchObject({ status: 'suspended', holds: [{ reason: 'user' }] })
    const runningView = await home.view('running')
    expect(runningView.pid).toBeGreaterThan(runningProcess.pid)
    const endedView = await home.waitForEnd('running')
    expect(endedView).toMatchObject({ status: 'completed', pid: runningView.pid })
    expect(linesOf(home, 'running')).toEqual(ALL_LINES)
    expect(await home.waitForView('ready', ({ status }) => status === 'ready')).toMatchObject({ step: 1, lastText: 'hello' })

    const facts = (await home.readEvents()).filter((event) => event.uuid === runningProcess.uuid)
    const positionOf = (fact: string, process: string): number =>
      facts.findIndex((event) => event['fact'] === fact && JSON.stringify(event).includes(process))
    const order = [
      positionOf('process.held', 'daemon-shutdown'),
      positionOf('process.drained', ''),
      positionOf('process.rehydrated', ''),
      positionOf('process.released', 'daemon-shutdown'),
      positionOf('process.attached', ''),
    ]
    expect(order.every((position) => position > 0)).toBe(true)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(facts.filter(({ fact, outcome }) => fact === 'tool.finished' && outcome !== 'ok')).toEqual([])
    expect(facts.filter(({ fact }) => fact === 'model.started').length).toBeGreaterThan(step)

    await home.resume('paused')
    expect((await home.waitForEnd('paused')).status).toBe('completed')
    expect(linesOf(home, 'paused')).toEqual(ALL_LINES)
  })
})
