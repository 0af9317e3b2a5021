// Signals end to end: masks and handlers by the API, the library and the command line. Covers senders and origins, the
// escalation of a kill, and the last output before the end.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../../src/index.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Starts a command and waits until it has printed `up`. */
async function startProgram(command: string): Promise<string> {
  const { uuid } = await daemon.spawnShell(command, { env: testEnv(daemon.work) })
  await daemon.waitForEvent(uuid, ({ fact, text }) => fact === 'process.output' && String(text).includes('up'), { follow: true })
  return uuid
}

const WAITING_COMMAND = 'echo up; exec sleep 600'
const SIGNAL_IGNORING_COMMAND = "trap '' TERM INT; echo up; while :; do sleep 1; done"

describe('masks and handlers', () => {
  test('by the library: a masked signal of the user waits, and arrives with the unblock', async () => {
    const uuid = await startProgram(WAITING_COMMAND)
    const reeve = connect({ home: daemon.home, start: false, client: 'a program' })
    expect(await reeve.sigmask(uuid, { set: ['SIGTERM'], block: ['SIGPAUSE'] })).toMatchObject({
      mask: ['SIGTERM', 'SIGPAUSE'],
      pending: [],
    })
    await reeve.signal(uuid, 'SIGPAUSE')
    const { pending, recent } = await reeve.signals(uuid)
    expect(pending).toEqual([
      { signal: 'SIGPAUSE', by: 'user', via: `a program pid=${process.pid}`, root: null, dueInMs: expect.any(Number) as number },
    ])
    expect(pending[0]?.dueInMs).toBeLessThanOrEqual(10_000)
    expect(recent.map(({ signal, disposition }) => [signal, disposition])).toEqual([['SIGPAUSE', 'pending']])
    expect((await reeve.get(uuid)).status).toBe('working')
    expect(await reeve.sigmask(uuid, { unblock: ['SIGPAUSE'] })).toMatchObject({ mask: ['SIGTERM'], pending: [] })
    expect((await reeve.get(uuid)).status).toBe('suspended')
    expect((await reeve.signals(uuid)).recent.map(({ via, disposition }) => [via, disposition])).toEqual([
      [`a program pid=${process.pid}`, 'pending'],
      [`a program pid=${process.pid}`, 'default'],
    ])
    expect(await reeve.sighandle(uuid, 'SIGINT', 'ignore')).toMatchObject({ handlers: { SIGINT: 'ignore' } })
  })

  test('an invalid mask or handler is an error, and changes nothing', async () => {
    const uuid = await startProgram(WAITING_COMMAND)
    const tryHandler = (body: object): Promise<unknown> =>
      daemon.post(`/v1/processes/${uuid}/signals`, body).then(({ status, body: { error } }) => [status, error?.code])
    expect(await tryHandler({ handlers: { SIGINT: 'ignore' }, block: ['SIGKILL'] })).toEqual([400, 'INVALID'])
    expect(await tryHandler({ handlers: { SIGKILL: 'ignore' } })).toEqual([400, 'INVALID'])
    expect(await tryHandler({ handlers: { SIGTERM: 'message' } })).toEqual([400, 'INVALID'])
    expect(await tryHandler({ block: [6] })).toEqual([400, 'INVALID'])
    expect(await tryHandler({ block: ['HUP'] })).toEqual([400, 'INVALID'])
    expect((await daemon.view(uuid)).signals).toEqual({ mask: [], pending: [], handlers: {}, recent: [] })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    expect(await tryHandler({ block: [1] })).toEqual([404, 'NOT_FOUND'])
  })

  test('by the command line: `reeve signals` shows them, and changes them', async () => {
    const uuid = await startProgram(WAITING_COMMAND)
    const runSignals = (...flags: string[]): ReturnType<typeof runCli> => runCli(daemon.home, ['signals', uuid, ...flags])
    expect(await runSignals()).toMatchObject({ code: 0, stdout: 'blocked   none\nhandlers  none\npending   none\n' })
    expect(await runSignals('--block', 'TERM,pause', '--handle', 'INT=ignore')).toMatchObject({
      code: 0,
      stdout: 'blocked   SIGTERM, SIGPAUSE\nhandlers  SIGINT=ignore\npending   none\n',
    })
    expect(await runCli(daemon.home, ['kill', '-s', 'STOP', uuid])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^PID (\d+) got SIGPAUSE \(working\); SIGPAUSE is delayed for at most 10 s, as the process requested \(`reeve signals \1`\)\n$/,
      ) as string,
    })
    const { stdout } = await runSignals('--unblock', '15')
    expect(stdout).toMatch(
      /^blocked {3}SIGPAUSE\nhandlers {2}SIGINT=ignore\npending {3}SIGPAUSE by user \(cli pid=\d+\), for at most \S+\nsent {6}SIGPAUSE by user \(cli pid=\d+\), .*: pending\n$/,
    )
    expect(await runSignals('--handle', 'TERM=message')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('takes no messages') as string,
    })
    expect(await runSignals('--handle', 'TERM=louder')).toMatchObject({ code: 64 })
    expect(JSON.parse((await runSignals('--json')).stdout)).toMatchObject({
      version: 1,
      uuid,
      mask: ['SIGPAUSE'],
      handlers: { SIGINT: 'ignore' },
      pending: [{ signal: 'SIGPAUSE' }],
    })
    expect((await runCli(daemon.home, ['inspect', uuid])).stdout).toMatch(/signals +SIGPAUSE by user \(cli pid=\d+\)/)
    expect(await runCli(daemon.home, ['kill', '-s', '0', uuid])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('there is no signal 0') as string,
    })
  })
})

test('a delayed pause is reported as delayed, not as done', async () => {
  const uuid = await startProgram(WAITING_COMMAND)
  expect((await runCli(daemon.home, ['signals', uuid, '--block', 'PAUSE'])).code).toBe(0)
  const { pid } = await daemon.view(uuid)
  expect(await runCli(daemon.home, ['pause', uuid])).toMatchObject({
    code: 0,
    stderr: `PID ${pid} working; SIGPAUSE is delayed for at most 10 s, as the process requested (\`reeve signals ${pid}\`)\n`,
  })
})

describe('the sender', () => {
  test.each([
    [{ 'x-reeve-client': 'curl 8' }, 'curl 8'],
    [{}, 'api'],
    [{ 'x-reeve-client': 'x'.repeat(101) }, 'api'],
    [{ 'x-reeve-client': 'caf\u00e9' }, 'api'],
  ])('%j is recorded as %j', async (headers, via) => {
    const uuid = await startProgram(WAITING_COMMAND)
    const path = `/v1/processes/${uuid}`
    for (const [verb, body] of [
      ['signal', { signal: 'SIGRESUME', subtree: true }],
      ['pause', {}],
    ] as const) {
      await daemon.sendRaw({
        method: 'POST',
        path: `${path}/${verb}`,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    }
    expect((await daemon.view(uuid)).signals.recent.map((signal) => [signal.signal, signal.by, signal.via, signal.root])).toEqual([
      ['SIGRESUME', 'user', via, uuid],
      ['SIGPAUSE', 'user', via, null],
    ])
  })
})

describe('a forced end', () => {
  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s: the first cause stays, and the events, the exit and inspect show that SIGKILL followed', async (signal, code) => {
    const uuid = await startProgram(SIGNAL_IGNORING_COMMAND)
    await daemon.signal(uuid, signal, { graceMs: 50 })
    const {
      exit,
      status,
      signals: { recent },
    } = await daemon.waitForEnd(uuid)
    const [escalation] = (await daemon.readHistory(uuid)).filter(({ type }) => type === 'signal.escalated')
    const { afterMs } = escalation as unknown as { afterMs: number }
    expect(escalation).toMatchObject({ from: signal, to: 'SIGKILL' })
    expect(afterMs).toBeGreaterThanOrEqual(49)
    expect([status, exit]).toEqual(['stopped', { code, reason: `${signal} from user; SIGKILL after ${afterMs} ms`, signal }])
    expect(recent).toMatchObject([{ signal, escalatedMs: afterMs }])
    expect((await runCli(daemon.home, ['inspect', uuid])).stdout).toContain(`SIGKILL followed after ${afterMs} ms`)
  })

  test('an end in time, and an immediate kill, have no escalation', async () => {
    const obedientProcess = await startProgram(WAITING_COMMAND)
    await daemon.signal(obedientProcess, 'SIGTERM', { graceMs: 600_000 })
    const killedProcess = await startProgram(SIGNAL_IGNORING_COMMAND)
    await daemon.signal(killedProcess, 'SIGKILL')
    for (const uuid of [obedientProcess, killedProcess]) {
      expect((await daemon.waitForEnd(uuid)).signals.recent).toMatchObject([{ escalatedMs: null }])
      expect(await daemon.readFactTypes(uuid)).not.toContain('signal.escalated')
    }
  })

  test('keeps the last output of a command, also without a newline', async () => {
    const uuid = await startProgram("trap '' TERM; echo up; printf 'half a li'; while :; do sleep 1; done")
    await daemon.waitForEvent(uuid, ({ fact, text }) => fact === 'process.output' && String(text).includes('half a li'), { follow: true })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    expect(await daemon.readOutput(uuid)).toBe('up\nhalf a li')
  })
})

describe('a subtree', () => {
  test('is reached as a whole by a signal, also children born at that moment; each journal names the origin', async () => {
    const root = await startProgram(WAITING_COMMAND)
    const spawnBelow = async (parent: string): Promise<string> =>
      (await daemon.spawnShell(WAITING_COMMAND, { env: testEnv(daemon.work), parent })).uuid
    const first = await spawnBelow(root)
    const endedUuid = (await daemon.spawnShell('true', { env: testEnv(daemon.work), parent: root })).uuid
    await daemon.waitForEnd(endedUuid)
    // Some of these spawns come before the signal; the others are refused.
    const startBirths = (parents: readonly string[]): Promise<string | Error>[] =>
      parents.map((parent) => spawnBelow(parent).catch((error: unknown) => error as Error))
    const earlyBirths = startBirths([first, root, first, root, first, root])
    const signalled = connect({ home: daemon.home, start: false, client: 'test' }).signalTree(root, 'SIGTERM')
    const lateBirths = startBirths([root, first, root, first])
    const bornUuids = (await Promise.all([...earlyBirths, ...lateBirths])).filter((one) => typeof one === 'string')
    expect((await signalled).affected).toBe(2 + bornUuids.length)
    for (const uuid of [root, first, ...bornUuids]) {
      const {
        status,
        signals: {
          recent: [sent],
        },
      } = await daemon.waitForEnd(uuid)
      expect([status, sent?.root, sent?.via]).toEqual(['stopped', root, `test pid=${process.pid}`])
    }
    expect((await daemon.view(endedUuid)).signals.recent).toEqual([])
  })

  test('a kill of a subtree reports the number of processes that it reached', async () => {
    const root = await startProgram(WAITING_COMMAND)
    await daemon.spawnShell(WAITING_COMMAND, { env: testEnv(daemon.work), parent: root })
    expect(await runCli(daemon.home, ['kill', '--subtree', root])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('2 processes in all') as string,
    })
  })

  test('a kill of one process reports how many of its children keep running', async () => {
    const root = await startProgram(WAITING_COMMAND)
    const child = (await daemon.spawnShell(WAITING_COMMAND, { env: testEnv(daemon.work), parent: root })).uuid
    await daemon.waitForStatus(child, 'working')
    expect(await runCli(daemon.home, ['kill', root])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('1 child keeps running') as string,
    })
    expect((await daemon.view(child)).status).toBe('working')
    await daemon.signal(child, 'SIGKILL')
    await daemon.waitForEnd(child)
  })
})
