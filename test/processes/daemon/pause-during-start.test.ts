// A pause during the start of a process, at every point, with real programs. A program that has not started waits for the resume. A
// started one stands still, a resume leaves nothing frozen, and a kill leaves nothing alive. The tests stop the start where
// the incarnation gets its files, its containment and its gateway access, and where the containment starts the program.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Incarnation } from '../../../src/daemon/incarnation/incarnation.ts'
import { acpDriver } from '../../../src/drivers/acp/driver.ts'
import { commandDriver } from '../../../src/drivers/command/driver.ts'
import type { Containment } from '../../../src/drivers/contain/containment-contract.ts'
import type { Launch } from '../../../src/drivers/port.ts'
import type { Ack, Report } from '../../../src/kernel/model/reports.ts'
import { makeLaunch } from '../../support/agents/command-harness.ts'
import { openContainmentHarness, findWorkingKinds } from '../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const kinds = await findWorkingKinds()

/** The points at which the pause can come: before each part exists, or after it exists and before it is known. */
const POINTS_BEFORE_SPAWN = ['files', 'containment', 'gateway', 'spawn'] as const
const POINTS_AFTER_SPAWN = ['spawned', 'handle', 'running'] as const
const POINTS = [...POINTS_BEFORE_SPAWN, ...POINTS_AFTER_SPAWN]
type Point = (typeof POINTS)[number]
/** The points for the driver `acp`. The program does not speak the protocol, so its handle is never reported. */
const ACP_POINTS = POINTS.filter((point) => point !== 'handle')

const DRIVERS = { command: commandDriver({}), acp: acpDriver({}) }
type DriverName = keyof typeof DRIVERS

class ObservedStart {
  readonly reports: Report[] = []
  readonly logged: string[] = []
  readonly incarnation: Incarnation
  readonly token: string
  readonly #point: Point
  readonly #cgroup: string | null
  readonly #file: string
  readonly #reached = Promise.withResolvers<void>()
  readonly #mayContinue = Promise.withResolvers<void>()
  #isHeld = false

  private constructor(contained: ContainmentHarness, point: Point, driver: DriverName, { containment, ...launch }: Launch) {
    this.#point = point
    this.#cgroup = containment.intent.path
    this.#file = fileOf(contained, point, driver)
    this.token = tokenOf(contained, point, driver)
    this.incarnation = new Incarnation({
      driver: DRIVERS[driver],
      launch,
      worktree: {
        prepare: () => this.#pass('files'),
        send: (report) => this.#report(report),
        sendInOrder: (_, send) => send(),
        abandon: () => undefined,
        close: () => Promise.resolve(),
      },
      openContainment: async () => {
        await this.#pass('containment')
        return this.#observeSpawn(containment)
      },
      openGateway: async () => {
        await this.#pass('gateway')
        return { url: () => null, token: '', hiddenVariables: [], close: () => undefined }
      },
      report: (report) => this.#report(report),
      requestCall: () => Promise.resolve({ ack: 'late', reason: null }),
      isHeld: () => this.#isHeld,
      showLive: () => undefined,
      log: (message, error) => this.logged.push(`${message}: ${String(error)}`),
    })
  }

  /** Begins a start, and resolves when it has reached the point, where it waits. */
  static async beginUntil(
    point: Point,
    contained: ContainmentHarness,
    kind: ContainmentKind,
    driver: DriverName = 'command',
  ): Promise<ObservedStart> {
    const loop = `while :; do echo x >> "${fileOf(contained, point, driver)}"; sleep 0.03; done`
    const argv = ['sh', '-c', loop, tokenOf(contained, point, driver)]
    const launch = await makeLaunch(contained, argv, { containment: kind }, { tmpDir: join(contained.dir, `tmp-${driver}-${point}`) })
    const start = new ObservedStart(contained, point, driver, launch)
    await (point === 'running' ? waitUntil(() => start.ticks > 0) : start.#reached.promise)
    return start
  }

  get ticks(): number {
    return existsSync(this.#file) ? readFileSync(this.#file, 'latin1').length : 0
  }

  pause(): void {
    this.#isHeld = true
    this.incarnation.pause(true)
  }

  resume(): void {
    this.#isHeld = false
    this.incarnation.unpause()
  }

  letContinue(): void {
    this.#mayContinue.resolve()
  }

  hasReported(type: Report['type']): boolean {
    return this.reports.some((report) => report.type === type)
  }

  /** The state as the system reports it. A process in the state D waits for its vfork child, which is stopped. */
  standsStill(): boolean {
    if (this.#cgroup === null) return findProcessesWith(this.token).every(({ state }) => state === 'T' || state === 'D')
    const events = join(this.#cgroup, 'cgroup.events')
    return !existsSync(events) || /^frozen 1$/m.test(readFileSync(events, 'latin1'))
  }

  /** Kills the process, and checks that nothing of it is left. */
  async endWithoutTrace(): Promise<void> {
    this.incarnation.stop({ signal: 'SIGKILL', graceMs: 0 })
    this.letContinue()
    await waitUntil(() => this.hasReported('exited'))
    expect(await this.incarnation.release()).toEqual([])
    expect(findProcessesWith(this.token)).toEqual([])
    expect(this.logged).toEqual([])
  }

  async #pass(point: Point): Promise<void> {
    if (point !== this.#point) return
    this.#reached.resolve()
    await this.#mayContinue.promise
  }

  async #report(report: Report): Promise<Ack> {
    this.reports.push(report)
    if (report.type === 'up') await this.#pass('handle')
    return 'ok'
  }

  /** The containment, with a stop before and after the start of a program. */
  #observeSpawn(real: Containment): Containment {
    return {
      intent: real.intent,
      tmpDir: real.tmpDir,
      firstStart: real.firstStart,
      members: () => real.members(),
      measure: (options) => real.measure(options),
      limitMemory: (bytes) => real.limitMemory(bytes),
      freeze: () => real.freeze(),
      thaw: () => real.thaw(),
      stop: (ladder) => real.stop(ladder),
      dispose: () => real.dispose(),
      spawn: async (request) => {
        await this.#pass('spawn')
        const program = await real.spawn(request)
        await this.#pass('spawned')
        return program
      },
    }
  }
}

function fileOf({ dir }: ContainmentHarness, point: Point, driver: DriverName): string {
  return join(dir, `ticks-${driver}-${point}`)
}

function tokenOf({ token }: ContainmentHarness, point: Point, driver: DriverName): string {
  return `${token}.${driver}.${point}.`
}

// 15 further programs have run and exited by then: enough time for any program that does not wait.
async function runOtherPrograms(contained: ContainmentHarness): Promise<void> {
  const other = await contained.open('group')
  await (
    await other.spawn(contained.request(['sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 0.01; done']))
  ).exited
}

function waitForTicks(start: ObservedStart): Promise<unknown> {
  const ticksBefore = start.ticks
  return waitUntil(() => start.ticks > ticksBefore + 3)
}

function forEachStart<T>(all: readonly ObservedStart[], work: (start: ObservedStart) => T | Promise<T>): Promise<T[]> {
  return Promise.all(all.map(work))
}

describe.each(kinds)('%s', (kind) => {
  test.each(['command', 'acp'] as const)(
    '%s: a process that is paused before its program starts reports the pause, and starts the program at the resume',
    async (driver) => {
      await using contained = await openContainmentHarness()
      const starts = await Promise.all(POINTS_BEFORE_SPAWN.map((point) => ObservedStart.beginUntil(point, contained, kind, driver)))
      await forEachStart(starts, (start) => {
        start.pause()
        start.letContinue()
      })
      await waitUntil(() => starts.every((start) => start.hasReported('frozen')))
      await runOtherPrograms(contained)
      expect(await forEachStart(starts, (start) => [start.ticks, findProcessesWith(start.token), start.hasReported('up')])).toEqual(
        starts.map(() => [0, [], false]),
      )
      await forEachStart(starts, (start) => start.resume())
      await forEachStart(starts, waitForTicks)
      await forEachStart(starts, (start) => start.endWithoutTrace())
    },
  )

  test('a process that is paused during the start of its program stands still, and continues', async () => {
    await using contained = await openContainmentHarness()
    const starts = await Promise.all(POINTS_AFTER_SPAWN.map((point) => ObservedStart.beginUntil(point, contained, kind)))
    await forEachStart(starts, (start) => start.pause())
    await waitUntil(() => starts.every((start) => start.hasReported('frozen')))
    expect(await forEachStart(starts, (start) => start.standsStill())).toEqual(starts.map(() => true))
    const ticksBefore = await forEachStart(starts, (start) => start.ticks)
    await forEachStart(starts, (start) => start.letContinue())
    await runOtherPrograms(contained)
    expect(await forEachStart(starts, (start) => start.standsStill())).toEqual(starts.map(() => true))
    expect(await forEachStart(starts, (start) => start.ticks)).toEqual(ticksBefore)
    await forEachStart(starts, (start) => start.resume())
    await forEachStart(starts, waitForTicks)
    await forEachStart(starts, (start) => start.endWithoutTrace())
  })

  test('a resume during the freeze leaves nothing frozen; the last request wins', async () => {
    await using contained = await openContainmentHarness()
    const starts = await Promise.all(POINTS.map((point) => ObservedStart.beginUntil(point, contained, kind)))
    await forEachStart(starts, (start) => {
      start.pause()
      start.resume()
      start.letContinue()
    })
    await forEachStart(starts, waitForTicks)
    const acpStarts = await Promise.all(ACP_POINTS.map((point) => ObservedStart.beginUntil(point, contained, kind, 'acp')))
    await forEachStart([...starts, ...acpStarts], (start) => {
      start.pause()
      start.resume()
      start.pause()
      start.letContinue()
    })
    await waitUntil(() => [...starts, ...acpStarts].every((start) => start.hasReported('frozen')))
    await runOtherPrograms(contained)
    expect(await forEachStart([...starts, ...acpStarts], (start) => start.standsStill())).toEqual([...starts, ...acpStarts].map(() => true))
    await forEachStart([...starts, ...acpStarts], (start) => start.endWithoutTrace())
  })

  test('a kill during the start leaves nothing, paused or not', async () => {
    await using contained = await openContainmentHarness()
    const pausedStarts = await Promise.all(POINTS.map((point) => ObservedStart.beginUntil(point, contained, kind)))
    await forEachStart(pausedStarts, (start) => start.pause())
    const runningStarts = await Promise.all(ACP_POINTS.map((point) => ObservedStart.beginUntil(point, contained, kind, 'acp')))
    await forEachStart([...pausedStarts, ...runningStarts], (start) => start.endWithoutTrace())
  })

  test('the end of the incarnation does not wait for starts that wait for the thaw', async () => {
    await using contained = await openContainmentHarness()
    const starts = await Promise.all(POINTS.map((point) => ObservedStart.beginUntil(point, contained, kind)))
    await forEachStart(starts, (start) => {
      start.pause()
      start.incarnation.cancel()
      start.letContinue()
    })
    expect(await forEachStart(starts, (start) => start.incarnation.release())).toEqual(starts.map(() => []))
    expect(await forEachStart(starts, (start) => findProcessesWith(start.token))).toEqual(starts.map(() => []))
  })
})
