// Processes from spawn to end, as the API shows them: native agents, interactive agents and commands. Covers signals and
// their grace, pausing, limits, waiting. One daemon for all tests, real programs, scripts as models.
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeAll(async () => {
  daemon = await LocalDaemon.start()
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const isFact =
  (fact: string) =>
  (event: EventView): boolean =>
    event['fact'] === fact
const bashCall = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
const SHORT_LIMIT = { timeout: 15_000 }

describe('a native process', () => {
  test('runs its turn with tools and is completed', async () => {
    const { uuid } = await daemon.spawnScripted([
      { text: 'writing', tools: [{ name: 'write', input: { path: 'native.txt', content: 'made' } }], usage: { input: 100, output: 10 } },
      { text: 'it is made', usage: { input: 120, output: 5 } },
    ])
    const view = await daemon.waitForEnd(uuid)
    expect(view).toMatchObject({
      status: 'completed',
      state: 'dead',
      exit: { code: 0, reason: 'completed' },
      step: 2,
      turn: 1,
      lastText: 'it is made',
      driver: 'native',
      usage: { steps: 2, turns: 1, toolCalls: 1, inputTokens: 220, outputTokens: 15, contextTokens: 125 },
      activity: null,
      holds: [],
      stopping: null,
    })
    expect(view.exit).not.toHaveProperty('cause')
    expect(await readFile(join(daemon.work, 'native.txt'), 'utf8')).toBe('made')
    expect(await daemon.readFactTypes(uuid)).toEqual([
      'process.spawned',
      'process.queue',
      'process.started',
      'process.ready',
      'process.incoming',
      'process.working',
      'model.started',
      'model.finished',
      'tool.started',
      'tool.finished',
      'model.started',
      'model.finished',
      'process.ready',
      'process.exited',
      'process.reaped',
    ])
  })

  test('whose model fails for good is failed with the error as its reason', async () => {
    const { uuid } = await daemon.spawnScripted([{ error: { message: 'no such model', status: 404 } }])
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'failed',
      exit: { code: 1, reason: expect.stringContaining('no such model') },
    })
  })

  test('fails if its script is missing, and names the file', async () => {
    const { uuid } = await daemon.spawn({ model: 'script:missing.yaml' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'failed',
      exit: { code: 1, error: expect.stringContaining('missing.yaml') },
    })
  })

  test('has a time limit, which stops it', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'late', delay_ms: 600_000 }], { limits: { timeoutMs: 100 } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'failed', exit: { code: 1, reason: 'timed out' } })
  })

  test('has a step limit, which stops it', async () => {
    const { uuid } = await daemon.spawnScripted([bashCall('true'), bashCall('true'), bashCall('true')], { limits: { maxSteps: 2 } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'failed', step: 2, exit: { code: 1, reason: 'max steps exceeded' } })
  })

  test('over its token budget is suspended before the next call, and a resume by the user does not lift that', async () => {
    const { uuid } = await daemon.spawnScripted([{ ...bashCall('true'), usage: { input: 90, output: 10 } }, { text: 'too much' }], {
      limits: { budgetTokens: 100 },
    })
    const suspendedView = await daemon.waitForView(uuid, (view) => view.status === 'suspended' && view.note?.includes('draining') === false)
    expect(suspendedView).toMatchObject({ step: 1, holds: [{ reason: 'budget', by: 'system' }], limits: { budgetTokens: 100 } })
    expect(await daemon.readFactTypes(uuid)).not.toContain('process.exited')
    expect(await daemon.resume(uuid)).toMatchObject({ note: 'still suspended: budget', process: { status: 'suspended' } })
    expect((await daemon.readFactTypes(uuid)).filter((fact) => fact === 'model.started')).toHaveLength(1)
    await daemon.signal(uuid, 'SIGTERM')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'stopped',
      pausedAt: null,
      exit: { code: 1, reason: 'context cancelled while paused', signal: 'SIGTERM' },
    })
  })

  test('is stopped at once by a kill during a model call', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'never', delay_ms: 600_000 }])
    await daemon.waitForEvent(uuid, isFact('model.started'))
    expect(await daemon.signal(uuid, 'SIGTERM')).toMatchObject({
      affected: 1,
      process: { status: 'stopping', stopping: { signal: 'SIGTERM', by: 'user' } },
    })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'stopped',
      exit: { code: 143, reason: 'SIGTERM from user', signal: 'SIGTERM' },
    })
  })

  test('interrupted by SIGINT exits 130', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'never', delay_ms: 600_000 }])
    await daemon.waitForEvent(uuid, isFact('model.started'))
    await daemon.signal(uuid, 'SIGINT')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 130, signal: 'SIGINT' } })
  })
})

describe('an interactive process', () => {
  test('is ready between turns, and reads one message per turn, in order', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'one', delay_ms: 50 }, { text: 'two' }, { text: 'three' }], { interactive: true })
    expect(await daemon.waitUntilReady(uuid)).toMatchObject({ status: 'ready', turn: 0, activity: 'ready' })
    for (const text of ['first', 'second', 'third']) await daemon.send(uuid, text)
    const viewAfter = await daemon.waitForView(uuid, (view) => view.turn === 3 && view.status === 'ready')
    expect(viewAfter).toMatchObject({ lastText: 'three', queueCount: 0, usage: { turns: 3 } })
    const events = await daemon.readHistory(uuid)
    const queued = events.filter(isFact('process.queue')).map((event) => [event['id'], event['text']])
    expect(queued.map(([, text]) => text)).toEqual(['first', 'second', 'third'])
    expect(events.filter(isFact('process.incoming')).map((event) => [event['id'], event['turn']])).toEqual(
      queued.map(([id], index) => [id, index + 1]),
    )
    await daemon.signal(uuid, 'SIGTERM')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143 } })
  })

  test('reads an urgent message before its next model call in the same turn, with all earlier messages', async () => {
    const { uuid } = await daemon.spawnScripted(
      [bashCall(`until test -e ${daemon.work}/read-now; do sleep 0.02; done`), { text: 'steered' }, { text: 'next' }],
      { interactive: true, intent: 'begin' },
    )
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'tool.started')
    await daemon.send(uuid, 'earlier')
    await daemon.client.post(`/v1/processes/${uuid}/send`, { text: 'leave the tests alone', now: true })
    await daemon.send(uuid, 'later')
    await writeFile(join(daemon.work, 'read-now'), '')
    await daemon.waitForView(uuid, ({ step, status }) => step === 3 && status === 'ready')
    const readMessages = (await daemon.readHistory(uuid)).filter(
      ({ fact }) => fact === 'process.incoming' || fact === 'model.started' || fact === 'tool.started',
    )
    expect(readMessages.map(({ fact, turn }) => [fact, turn])).toEqual([
      ['process.incoming', 1],
      ['model.started', undefined],
      ['tool.started', undefined],
      ['process.incoming', 1],
      ['process.incoming', 1],
      ['model.started', undefined],
      ['process.incoming', 2],
      ['model.started', undefined],
    ])
  })

  test('reads an urgent message in the same turn also after a restart of the daemon', async () => {
    const { uuid } = await daemon.spawnScripted(
      [bashCall(`until test -e ${daemon.work}/read-after-restart; do sleep 0.02; done`), { text: 'steered' }],
      { interactive: true, intent: 'begin' },
    )
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'tool.started')
    await daemon.pause(uuid)
    await daemon.client.post(`/v1/processes/${uuid}/send`, { text: 'leave the tests alone', now: true })
    await writeFile(join(daemon.work, 'read-after-restart'), '')
    await daemon.waitForEvent(uuid, isFact('process.drained'))
    await daemon.restart()
    await daemon.resume(uuid)
    expect(await daemon.waitForView(uuid, ({ step, status }) => step === 2 && status === 'ready')).toMatchObject({ turn: 1, queueCount: 0 })
    const incoming = (await daemon.readHistory(uuid)).filter(isFact('process.incoming'))
    expect(incoming.map(({ turn }) => turn)).toEqual([1, 1])
  })

  test('ends the turn at SIGINT and is ready again', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'slow', delay_ms: 600_000 }], { interactive: true, intent: 'go' })
    await daemon.waitForEvent(uuid, isFact('model.started'))
    await daemon.signal(uuid, 'SIGINT')
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.ready' && event['outcome'] === 'interrupted')
    expect(await daemon.waitUntilReady(uuid)).toMatchObject({ status: 'ready', turn: 1 })
    await daemon.signal(uuid, 'SIGKILL')
    expect((await daemon.waitForEnd(uuid)).exit?.code).toBe(137)
  })

  test('that is paused is not woken by a message; the message waits', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'heard' }], { interactive: true })
    await daemon.waitUntilReady(uuid)
    await daemon.pause(uuid)
    await daemon.send(uuid, 'wake up')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', queueCount: 1, turn: 0 })
    expect(await daemon.readFactTypes(uuid)).not.toContain('process.working')
    await daemon.resume(uuid)
    expect(await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')).toMatchObject({
      lastText: 'heard',
      queueCount: 0,
    })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('whose turn fails is ready again and takes the next message', async () => {
    const { uuid } = await daemon.spawnScripted([{ error: { message: 'refused', status: 400 } }], { interactive: true, intent: 'one' })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.ready' && event['outcome'] === 'error')
    expect(await daemon.waitUntilReady(uuid)).toMatchObject({ status: 'ready', note: expect.stringContaining('refused') })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })
})

describe('a command', () => {
  test.each<[string, string, object]>([
    ['completed', 'exit 0', { code: 0, reason: 'completed' }],
    ['failed', 'exit 7', { code: 7, reason: 'exit code 7' }],
    ['failed', 'kill -TERM $$', { code: 143, reason: 'ended by SIGTERM' }],
    ['failed', 'kill -KILL $$', { code: 137, reason: 'ended by SIGKILL' }],
    ['failed', 'kill -SEGV $$', { code: 139, reason: 'ended by SIGSEGV' }],
  ])('is %s after `%s`', async (status, command, exit) => {
    const { uuid } = await daemon.spawnShell(command)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status, exit })
  })

  test('has an empty stdin, its directory and environment, and may open its output again', async () => {
    const { uuid } = await daemon.spawnShell('cat; readlink /proc/self/fd/0; pwd; echo "$GREETING"; echo again > /dev/stdout', {
      env: { PATH: process.env['PATH'] ?? '', GREETING: 'hi there' },
    })
    expect((await daemon.waitForEnd(uuid)).exit?.code).toBe(0)
    expect((await daemon.readOutput(uuid)).split('\n')).toEqual(['/dev/null', daemon.work, 'hi there', 'again', ''])
  })

  test('has its whole output in the journal before it is ended, also without a newline', async () => {
    const { uuid } = await daemon.spawnShell('seq 1 20000; printf end')
    await daemon.waitForEnd(uuid)
    const text = await daemon.readOutput(uuid)
    expect(text.split('\n')).toHaveLength(20_001)
    expect(text.endsWith('20000\nend')).toBe(true)
  })

  test('gets SIGTERM, then SIGKILL after the grace, and the recorded signal stays SIGTERM', async () => {
    const { uuid } = await daemon.spawnShell('trap "" TERM; echo deaf; while :; do sleep 600; done')
    await daemon.waitForEvent(uuid, isFact('process.output'))
    const since = performance.now()
    await daemon.signal(uuid, 'SIGTERM', { graceMs: 400 })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143, signal: 'SIGTERM' } })
    expect(performance.now() - since).toBeGreaterThan(390)
  })

  test('may use its grace to clean up, and is then stopped whatever its exit code', async () => {
    const { uuid } = await daemon.spawnShell('trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.05; done')
    await daemon.waitForEvent(uuid, isFact('process.output'))
    await daemon.signal(uuid, 'SIGTERM', { graceMs: 10_000 })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143 } })
    expect(await daemon.readOutput(uuid)).toContain('bye')
  })

  test('leaves no program behind when it ends or is killed', async () => {
    const token = newToken()
    try {
      const endedProcess = await daemon.spawnShell(`setsid sleep 600.${token} & (sleep 600.${token} &); exit 0`)
      await daemon.waitForEnd(endedProcess.uuid)
      expect(findProcessesWith(token)).toEqual([])
      const killedProcess = await daemon.spawnShell(`setsid sleep 600.${token} & echo up; wait`)
      await daemon.waitForEvent(killedProcess.uuid, isFact('process.output'))
      await daemon.signal(killedProcess.uuid, 'SIGKILL')
      await daemon.waitForEnd(killedProcess.uuid)
      expect(findProcessesWith(token)).toEqual([])
    } finally {
      killRemaining(token)
    }
  })

  test('can be killed during its start', async () => {
    const views = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const { uuid } = await daemon.spawnShell('sleep 600')
        await daemon.signal(uuid, index % 2 === 0 ? 'SIGKILL' : 'SIGTERM')
        return daemon.waitForEnd(uuid)
      }),
    )
    expect(views.map((view) => view.status)).toEqual(views.map(() => 'stopped'))
  })

  test('is reaped before a concurrent resume starts it again', async () => {
    const { uuid, pid: first } = await daemon.spawnShell('sleep 1000 & sleep 1000')
    let pid = first
    for (let run = 0; run < 10; run++) {
      await daemon.signal(uuid, 'SIGKILL')
      await daemon.waitForView(uuid, ({ state }) => state !== 'running')
      const { process } = await daemon.resume(uuid, { rerun: true })
      expect(process.pid).toBeGreaterThan(pid)
      pid = process.pid
    }
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('runs again by a resume with `rerun`, under the same UUID and a new PID', async () => {
    const first = await daemon.spawnShell('echo "$SHOWN"; exit 4', { env: { PATH: process.env['PATH'] ?? '', SHOWN: 'recorded' } })
    await daemon.waitForEnd(first.uuid)
    const secondStart = await daemon.resume(first.uuid, { rerun: true })
    expect(secondStart.process).toMatchObject({ uuid: first.uuid, state: 'created' })
    expect(secondStart.process.pid).toBeGreaterThan(first.pid)
    expect((await daemon.waitForEnd(first.uuid)).exit?.code).toBe(4)
    expect(await daemon.readOutput(first.uuid)).toBe('recorded\nrecorded\n')
  })
})

test('a checkpoint is written every five steps', async () => {
  const { uuid } = await daemon.spawnScripted([
    ...Array.from({ length: 12 }, (_, index) => ({ tools: [{ name: 'glob', input: { pattern: `${index}` } }] })),
    { text: 'end' },
  ])
  await daemon.waitForEnd(uuid)
  const written = (await daemon.readHistory(uuid)).filter(({ fact }) => fact === 'checkpoint.written')
  expect(written.map(({ step }) => step)).toEqual([5, 10])
})

describe('pause and resume', () => {
  test('a soft pause finishes and records the work in flight, then the process is drained; its clock stops', async () => {
    const { uuid } = await daemon.spawnScripted([{ ...bashCall('true'), delay_ms: 2_000 }, { text: 'end' }])
    await daemon.waitForEvent(uuid, isFact('model.started'))
    const { process } = await daemon.pause(uuid)
    expect(process).toMatchObject({ status: 'suspended', holds: [{ reason: 'user', by: 'user' }], note: 'paused: by user (draining)' })
    await daemon.waitForEvent(uuid, isFact('process.drained'))
    const facts = await daemon.readFactTypes(uuid)
    expect(facts.slice(facts.indexOf('process.held'))).toEqual(['process.held', 'model.finished', 'tool.started', 'process.drained'])
    const frozenView = await daemon.view(uuid)
    expect(frozenView).toMatchObject({ status: 'suspended', pausedAt: expect.any(String), note: 'paused: by user' })
    await daemon.pause(uuid)
    expect((await daemon.view(uuid)).holds).toHaveLength(1)
    expect((await daemon.view(uuid)).elapsedMs).toBe(frozenView.elapsedMs)
    expect(await daemon.resume(uuid)).toMatchObject({ affected: 1, process: { holds: [] } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', pausedAt: null, lastText: 'end' })
  })

  test('`--now` freezes a native process with its running tool, and names the tool; after the resume the process continues', async () => {
    const marks = join(daemon.work, 'marks')
    const { uuid } = await daemon.spawnScripted([
      bashCall(`for i in $(seq 1 40); do echo $i >> ${marks}; sleep 0.1; done`),
      { text: 'end' },
    ])
    await waitUntil(() => existsSync(marks), 'the tool has begun')
    await daemon.pause(uuid, { now: true })
    const frozenEvent = await daemon.waitForEvent(uuid, isFact('process.frozen'))
    expect(frozenEvent['inFlight']).toMatch(/^bash .*for i in/)
    const marksBefore = await readFile(marks, 'utf8')
    // Long enough for several more marks if the program ran: here nothing must happen, so the test must wait.
    await new Promise((resolve) => setTimeout(resolve, 350))
    expect(await readFile(marks, 'utf8')).toBe(marksBefore)
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', usage: { toolCalls: 1 } })
    expect((await readFile(marks, 'utf8')).split('\n')).toHaveLength(41)
  })

  test('a command is frozen as a whole, and continues where it was', async () => {
    const marks = join(daemon.work, 'command-marks')
    const { uuid } = await daemon.spawnShell(`echo up; for i in $(seq 1 40); do echo $i >> ${marks}; sleep 0.1; done`)
    await waitUntil(() => existsSync(marks), 'the command has begun')
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, isFact('process.frozen'))
    const marksBefore = await readFile(marks, 'utf8')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await readFile(marks, 'utf8')).toBe(marksBefore)
    await daemon.resume(uuid)
    expect((await daemon.waitForEnd(uuid)).exit?.code).toBe(0)
    expect((await readFile(marks, 'utf8')).split('\n')).toHaveLength(41)
  })

  test('a suspended process can be killed at once', async () => {
    const { uuid } = await daemon.spawnShell('trap "" TERM; echo up; sleep 600')
    await daemon.waitForEvent(uuid, isFact('process.output'))
    await daemon.pause(uuid)
    await daemon.signal(uuid, 'SIGTERM', { graceMs: 600_000 })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'stopped',
      exit: { code: 1, reason: 'context cancelled while paused', signal: 'SIGTERM' },
    })
  })

  test('processes paused during their spawn are suspended, and continue after a resume', async () => {
    const processes = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const file = join(daemon.work, `began-${index}`)
        const { uuid } = await daemon.spawnShell(`touch ${file}; sleep 600`)
        return { file, uuid, paused: (await daemon.pause(uuid)).process.status }
      }),
    )
    expect(processes.map(({ paused }) => paused)).toEqual(processes.map(() => 'suspended'))
    for (const { file, uuid } of processes) {
      await daemon.resume(uuid)
      await waitUntil(() => existsSync(file), 'it has begun')
      await daemon.waitForStatus(uuid, 'working')
      await daemon.signal(uuid, 'SIGKILL')
      await daemon.waitForEnd(uuid)
    }
  })

  test('a stopping process cannot be paused or resumed', async () => {
    const { uuid } = await daemon.spawnShell('trap "" TERM; echo up; sleep 600')
    await daemon.waitForEvent(uuid, isFact('process.output'))
    await daemon.signal(uuid, 'SIGTERM', { graceMs: 20_000 })
    await expect(daemon.pause(uuid)).rejects.toMatchObject({ code: 'INVALID' })
    await expect(daemon.resume(uuid)).rejects.toMatchObject({ code: 'INVALID' })
    await daemon.signal(uuid, 'SIGKILL')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ exit: { code: 143 } })
  })

  test('children that are born during a pause of a subtree start held, and one resume lets all continue', async () => {
    const parent = await daemon.spawnScripted([], { interactive: true })
    await daemon.waitUntilReady(parent.uuid)
    const child = await daemon.spawnScripted([], { interactive: true, parent: parent.uuid })
    await daemon.waitUntilReady(child.uuid)
    expect((await daemon.pause(parent.uuid, { subtree: true })).affected).toBe(2)
    const lateChild = await daemon.spawnScripted([], { interactive: true, parent: parent.uuid })
    expect(await daemon.waitForStatus(lateChild.uuid, 'suspended')).toMatchObject({
      ppid: parent.pid,
      parentUuid: parent.uuid,
      holds: [{ reason: 'subtree' }],
    })
    expect((await daemon.view(parent.uuid)).children).toEqual([child.uuid, lateChild.uuid])
    expect((await daemon.resume(parent.uuid, { subtree: true })).affected).toBe(3)
    for (const { uuid } of [parent, child, lateChild]) await daemon.waitUntilReady(uuid)
    expect((await daemon.signal(parent.uuid, 'SIGTERM', { subtree: true })).affected).toBe(3)
    for (const { uuid } of [parent, child, lateChild]) expect((await daemon.waitForEnd(uuid)).status).toBe('stopped')
  })

  test('a kill reports how many children keep running, and PID 0 becomes their parent', async () => {
    const parent = await daemon.spawnScripted([], { interactive: true })
    await daemon.waitUntilReady(parent.uuid)
    const child = await daemon.spawnScripted([], { interactive: true, parent: parent.uuid })
    await daemon.waitUntilReady(child.uuid)
    expect((await daemon.signal(parent.uuid, 'SIGKILL')).childrenGoOn).toBe(1)
    await daemon.waitForEnd(parent.uuid)
    expect(await daemon.view(child.uuid)).toMatchObject({ ppid: 0, parentUuid: parent.uuid, status: 'ready' })
    await daemon.signal(child.uuid, 'SIGKILL')
    await daemon.waitForEnd(child.uuid)
  })
})

describe('resume of an ended native process', () => {
  test('continues with its context under the same UUID and a new PID, with a message', async () => {
    const first = await daemon.spawnScripted([
      bashCall('echo kept'),
      { text: 'slow', delay_ms: 600_000 },
      { text: 'after {{ lastResult }}' },
    ])
    await daemon.waitForEvent(first.uuid, (event) => event['fact'] === 'model.started' && event['step'] === 2)
    await daemon.signal(first.uuid, 'SIGKILL')
    await daemon.waitForEnd(first.uuid)
    await writeFile(join(daemon.work, (first.model ?? '').split('/').at(-1) ?? ''), JSON.stringify([{}, { text: 'now {{ lastResult }}' }]))
    const { process } = await daemon.resume(first.uuid, { message: 'and this' })
    expect(process.pid).toBeGreaterThan(first.pid)
    expect(await daemon.waitForEnd(first.uuid)).toMatchObject({
      uuid: first.uuid,
      status: 'completed',
      resumedFromStep: 1,
      turn: 1,
      lastText: expect.stringContaining('now kept') as string,
    })
    // The message is read before the next model call, in the turn that was open.
    const facts = (await daemon.readFactTypes(first.uuid)).slice(-20)
    expect(
      facts
        .slice(facts.lastIndexOf('process.working'))
        .filter((fact) => ['process.incoming', 'model.started', 'model.finished'].includes(fact)),
    ).toEqual(['process.incoming', 'model.started', 'model.finished'])
  })
})

describe('a resume that raises a limit', () => {
  test('of tokens lets a suspended process continue at once, and no work is lost', async () => {
    const spend = { ...bashCall('echo spent >> spent'), usage: { input: 90, output: 10 } }
    const { uuid } = await daemon.spawnScripted([spend, { text: 'went on', usage: { input: 1, output: 1 } }], {
      limits: { budgetTokens: 100, maxSteps: 50 },
    })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.held' && JSON.stringify(event['hold']).includes('budget'))
    await expect(daemon.resume(uuid, { raise: { budgetUsd: 1 } })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('no budgetUsd'),
    })
    expect((await daemon.resume(uuid)).note).toBe('still suspended: budget')
    expect((await daemon.resume(uuid, { raise: { budgetTokens: 100 } })).note).toBeUndefined()
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'completed',
      lastText: 'went on',
      limits: { budgetTokens: 200, maxSteps: 50 },
      usage: { inputTokens: 91, toolCalls: 1 },
    })
    expect(await readFile(join(daemon.work, 'spent'), 'utf8')).toBe('spent\n')
  })

  test('of steps lets a process that had too few continue from where it was', async () => {
    const { uuid } = await daemon.spawnScripted([bashCall('true'), bashCall('true'), { text: 'the third' }], { limits: { maxSteps: 2 } })
    expect((await daemon.waitForEnd(uuid)).exit?.reason).toBe('max steps exceeded')
    await daemon.resume(uuid, { limits: { maxSteps: 3 } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'the third', step: 3 })
  })
})

describe('wait', () => {
  const wait = (ref: string, what: string, timeoutMs: number): Promise<{ timedOut: boolean; process: { status: string } }> =>
    daemon.client.get(`/v1/processes/${ref}/wait`, { for: what, timeoutMs })

  test('many clients can wait for one end, and a suspension ends only the waits for it', SHORT_LIMIT, async () => {
    const { uuid } = await daemon.spawnShell('echo up; sleep 600')
    await daemon.waitForEvent(uuid, isFact('process.output'))
    const exits = Array.from({ length: 20 }, () => wait(uuid, 'exited', 20_000))
    const suspended = wait(uuid, 'suspended', 20_000)
    await daemon.pause(uuid)
    expect(await suspended).toMatchObject({ timedOut: false, process: { status: 'suspended' } })
    expect(await wait(uuid, 'exited', 50)).toMatchObject({ timedOut: true, process: { status: 'suspended' } })
    await daemon.resume(uuid)
    await daemon.signal(uuid, 'SIGKILL')
    for (const answer of await Promise.all(exits)) expect(answer).toMatchObject({ timedOut: false, process: { status: 'stopped' } })
  })

  test('a wait for a state that the process never reaches ends with the process', async () => {
    const { uuid } = await daemon.spawnShell('echo up; sleep 600')
    await daemon.waitForEvent(uuid, isFact('process.output'))
    const readyWait = wait(uuid, 'ready', 20_000)
    await daemon.signal(uuid, 'SIGKILL')
    expect(await readyWait).toMatchObject({ timedOut: false, process: { status: 'stopped' } })
    expect(await wait(uuid, 'exited', 0)).toMatchObject({ timedOut: false })
  })

  test('a timeout of 0 checks once', async () => {
    const { uuid } = await daemon.spawnShell('sleep 600')
    expect(await wait(uuid, 'exited', 0)).toMatchObject({ timedOut: true })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })
})
