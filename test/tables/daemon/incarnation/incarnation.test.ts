// An incarnation: the order of requests during the start of the driver, the wait for the end of a hold, and the release if a program
// survives its kill. Also the command driver, which leaves survivors to that release. The driver and the containment are fakes, because
// no real one fails on demand.
import { existsSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Incarnation } from '../../../../src/daemon/incarnation/incarnation.ts'
import { commandDriver } from '../../../../src/drivers/command/driver.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import type { Agent, Driver, KernelPort } from '../../../../src/drivers/port.ts'
import type { Containment, Program, StopResult } from '../../../../src/drivers/contain/containment-contract.ts'
import type { Ack, Report } from '../../../../src/kernel/model/reports.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

const INTENT = { kind: 'group', path: null, marker: 'test' } as const

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
})
afterEach(() => dir[Symbol.asyncDispose]())

/** An incarnation with a fake driver and a fake containment, whose calls it records. A test sets the results of `dispose` and `stop`. */
class IncarnationFixture {
  readonly calls: string[] = []
  readonly logged: string[] = []
  readonly starting = Promise.withResolvers<void>()
  /** a test may set this to delay the reports */
  reporting: Promise<void> = Promise.resolve()
  isHeld = false
  results: StopResult[] = []
  port: KernelPort | null = null
  readonly incarnation: Incarnation
  readonly tmpDir = join(dir.path, 'tmp')

  constructor(driver?: Driver, openError?: Error) {
    const containment = this.containment()
    this.incarnation = new Incarnation({
      driver: driver ?? this.#driver(),
      launch: {
        uuid: uuidOf(1),
        pid: 1,
        spec: specOf({ driver: 'command', argv: ['x'] }),
        intent: INTENT,
        tmpDir: this.tmpDir,
        credentials: {},
        step: 0,
        turn: 0,
        sessionId: null,
        resumed: false,
        resumeMessage: () => Promise.resolve(null),
        openCalls: [],
        context: null,
        historyOf: () => Promise.resolve([]),
        history: () => Promise.resolve([]),
        filteredHistory: () => Promise.resolve([]),
      },
      openContainment: () => (openError ? Promise.reject(openError) : Promise.resolve(containment)),
      report: (report) => this.#report(report),
      requestCall: () => Promise.resolve({ ack: 'late', reason: null }),
      worktree: null,
      isHeld: () => this.isHeld,
      showLive: () => undefined,
      log: (message) => this.logged.push(message),
    })
  }

  containment(program?: Program): Containment {
    const nextResult = (): Promise<StopResult> => {
      this.calls.push('dispose')
      return Promise.resolve(this.results.shift() ?? { outcome: 'gone', survivors: [] })
    }
    return {
      intent: INTENT,
      tmpDir: '/tmp',
      dispose: nextResult,
      stop: nextResult,
      members: () => Promise.resolve([]),
      freeze: () => Promise.resolve(),
      thaw: () => Promise.resolve(),
      measure: () => null,
      limitMemory: () => undefined,
      firstStart: new Promise(() => undefined),
      spawn: () => (program ? Promise.resolve(program) : Promise.reject(new KernelError('INTERNAL', 'no program'))),
    }
  }

  async #report(report: Report): Promise<Ack> {
    this.calls.push(`report ${report.type}${report.type === 'exited' ? ` ${report.code}` : ''}`)
    await this.reporting
    return 'ok'
  }

  #driver(): Driver {
    const recordCall = (name: string) => async (): Promise<void> => {
      this.calls.push(name)
    }
    const agent: Agent = {
      deliver: recordCall('deliver'),
      proceed: recordCall('proceed'),
      interrupt: recordCall('interrupt'),
      pause: recordCall('pause'),
      unpause: recordCall('unpause'),
      stop: recordCall('stop'),
      [Symbol.asyncDispose]: recordCall('end'),
    }
    return {
      start: async (_launch, port) => {
        this.port = port
        await this.starting.promise
        return agent
      },
    }
  }
}

async function startFixture(): Promise<IncarnationFixture> {
  const fixture = new IncarnationFixture()
  fixture.starting.resolve()
  fixture.incarnation.request('proceed', (agent) => agent.proceed(1))
  while (!fixture.calls.includes('proceed')) await turn()
  return fixture
}

test('requests during the start wait for the agent, and are passed on in order', async () => {
  const fixture = new IncarnationFixture()
  const { incarnation } = fixture
  incarnation.request('deliver', (agent) => agent.deliver({ id: 'm', from: 'user', text: 'x', turn: 1 }))
  incarnation.pause(false)
  incarnation.stop({ signal: 'SIGTERM', graceMs: 1 })
  await turn()
  expect(fixture.calls).toEqual([])
  fixture.starting.resolve()
  expect(await incarnation.release()).toEqual([])
  expect(fixture.calls).toEqual(['deliver', 'pause', 'stop', 'end', 'dispose'])
})

test('a pause that ends before the agent has started does nothing', async () => {
  const fixture = new IncarnationFixture()
  const { incarnation } = fixture
  incarnation.pause(false)
  incarnation.unpause()
  incarnation.request('proceed', (agent) => agent.proceed(1))
  fixture.starting.resolve()
  while (!fixture.calls.includes('proceed')) await turn()
  incarnation.pause(false)
  incarnation.unpause()
  incarnation.pause(false)
  await incarnation.release()
  expect(fixture.calls).toEqual(['proceed', 'unpause', 'pause', 'end', 'dispose'])
})

test.each<[string, Error, string, boolean]>([
  ['a command that does not exist', new KernelError('COMMAND_NOT_FOUND', 'x'), 'report exited 127', false],
  ['a command that cannot be run', new KernelError('NOT_RUNNABLE', 'x'), 'report exited 126', false],
  ['a containment that does not work', new KernelError('INVALID', 'x'), 'report exited 1', false],
  ['a defect of the driver', new Error('x'), 'report exited 1', true],
])('%s at the start is reported as an exit, and the release leaves nothing', async (_name, error, report, isLogged) => {
  const driver: Driver = { start: () => Promise.reject(error) }
  for (const newFixture of [() => new IncarnationFixture(driver), () => new IncarnationFixture(undefined, error)]) {
    const fixture = newFixture()
    fixture.incarnation.stop({ signal: 'SIGKILL', graceMs: 0 })
    expect(await fixture.incarnation.release()).toEqual([])
    expect(fixture.calls.filter((call) => call.startsWith('report'))).toEqual([report])
    expect(fixture.logged.length > 0).toBe(isLogged)
    expect(existsSync(fixture.tmpDir)).toBe(false)
  }
})

test('an incarnation that is cancelled while a pause delays its start logs nothing, even if no further report is possible', async () => {
  const fixture = new IncarnationFixture()
  fixture.reporting = Promise.reject(new Error('the daemon is stopping'))
  fixture.reporting.catch(() => undefined)
  fixture.incarnation.pause(true)
  fixture.incarnation.cancel()
  expect(await fixture.incarnation.release()).toEqual([])
  expect(fixture.logged).toEqual([])
})

test('a release returns the survivors, keeps their files, and can be repeated', async () => {
  const fixture = await startFixture()
  fixture.results = [{ outcome: 'survived', survivors: [41, 42] }]
  expect(await fixture.incarnation.release()).toEqual([41, 42])
  expect(existsSync(fixture.tmpDir)).toBe(true)
  expect(await fixture.incarnation.release()).toEqual([])
  expect(existsSync(fixture.tmpDir)).toBe(false)
})

describe('the wait for the end of a hold', () => {
  test('ends at once without a hold, and reports nothing', async () => {
    const fixture = await startFixture()
    await fixture.port?.waitUntilUnpaused()
    expect(fixture.calls).toEqual(['proceed'])
  })

  test('reports `drained`, and ends with the last hold', async () => {
    const fixture = await startFixture()
    fixture.isHeld = true
    let hasPassed = false
    const waitIsOver = fixture.port?.waitUntilUnpaused().then(() => {
      hasPassed = true
    })
    await turn()
    fixture.incarnation.unpause() // One of two holds has ended, so the process is still held.
    await turn()
    expect(hasPassed).toBe(false)
    fixture.isHeld = false
    fixture.incarnation.unpause()
    await waitIsOver
    expect(fixture.calls.filter((call) => call === 'report drained').length).toBeGreaterThan(0)
  })

  test('ends even if the hold ends while `drained` is being reported', async () => {
    const fixture = await startFixture()
    const reporting = Promise.withResolvers<void>()
    fixture.reporting = reporting.promise
    fixture.isHeld = true
    const waitIsOver = fixture.port?.waitUntilUnpaused()
    await turn()
    fixture.isHeld = false
    fixture.incarnation.unpause()
    reporting.resolve()
    await waitIsOver
  })

  test('rejects if the incarnation is cancelled, before or during the wait', async () => {
    const fixture = await startFixture()
    fixture.isHeld = true
    const waitIsOver = fixture.port?.waitUntilUnpaused()
    await turn()
    fixture.incarnation.cancel()
    await expect(waitIsOver).rejects.toThrow(/abort/i)
    fixture.isHeld = false
    await expect(fixture.port?.waitUntilUnpaused()).rejects.toThrow(/abort/i)
  })
})

test('the command driver disposes of its containment once, and does not wait for survivors', async () => {
  const fixture = await startFixture()
  const handle = { pid: 1, startTime: '1', pgid: 1 }
  const program: Program = {
    handle,
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    stdin: null,
    exited: new Promise(() => undefined),
    signal: () => true,
  }
  const port: KernelPort = {
    report: () => Promise.resolve('ok'),
    requestCall: () => Promise.resolve({ ack: 'late', reason: null }),
    waitUntilUnpaused: () => Promise.resolve(),
    showLive: () => undefined,
    signal: new AbortController().signal,
  }
  const launch = {
    uuid: uuidOf(2),
    pid: 2,
    spec: specOf({ driver: 'command', argv: ['x'] }),
    containment: fixture.containment(program),
    intent: INTENT,
    tmpDir: fixture.tmpDir,
    credentials: {},
    step: 0,
    turn: 0,
    sessionId: null,
    resumed: false,
    resumeMessage: () => Promise.resolve(null),
    openCalls: [],
    context: null,
    historyOf: () => Promise.resolve([]),
    history: () => Promise.resolve([]),
    filteredHistory: () => Promise.resolve([]),
  }
  const agent = await commandDriver({}).start(launch, port)
  fixture.results = [{ outcome: 'survived', survivors: [9] }]
  await agent[Symbol.asyncDispose]()
  expect(fixture.calls.filter((call) => call === 'dispose')).toHaveLength(1)
})
