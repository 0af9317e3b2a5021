// The times at which the sampler measures, and the changes that it reports, on a manual clock.
import { beforeEach, describe, expect, test } from 'vitest'
import { Sampler } from '../../../../src/daemon/incarnation/sampler.ts'
import type { ContainmentUsage } from '../../../../src/drivers/contain/containment-contract.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'
import type { Hold, Process } from '../../../../src/kernel/model/process.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import { ManualClock } from '../../../support/clock.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'
import type { Limits } from '../../../../src/kernel/model/words.ts'

const MB = 1_000_000
type Measured = Extract<Report, { type: 'measured' }>

let clock: ManualClock
let reports: Measured[]
let measureCount: number
let currentUsage: ContainmentUsage
let rows: Map<string, Process>
let sampler: Sampler
let logged: string[]

beforeEach(() => {
  clock = new ManualClock()
  reports = []
  measureCount = 0
  currentUsage = { cpuTimeMs: 0, rssBytes: 0, peakRssBytes: null, outputBytes: 0, outOfMemory: false }
  rows = new Map()
  logged = []
  sampler = new Sampler({
    clock,
    log: (message) => logged.push(message),
    get: (uuid) => rows.get(uuid),
    report: (uuid, pid, report) => {
      expect([uuid, pid]).toEqual([uuidOf(1), 1])
      reports.push(report)
    },
  })
})

function addProcess(number: number, limits: Limits, parent: number | null = null): Process {
  const uuid = uuidOf(number)
  const spec = { ...specOf({}), limits }
  const spawned = fold(undefined, {
    uuid,
    seq: 1,
    pid: number,
    at: 0,
    body: { type: 'process.spawned', pid: number, spec, parentUuid: parent === null ? null : uuidOf(parent), depth: 1, by: 'user' },
  })
  const process = fold(spawned, {
    uuid,
    seq: 2,
    pid: number,
    at: 0,
    body: { type: 'process.started', mono: 0, attached: true, containment: null },
  })
  rows.set(uuid, process)
  return process
}

async function watchProcess(process: Process, limitedTo: (number | null)[] = []): Promise<void> {
  const measure = (): ContainmentUsage => {
    measureCount += 1
    return currentUsage
  }
  sampler.watch(process, { measure, firstStart: Promise.resolve(), limitMemory: (bytes) => limitedTo.push(bytes) })
  await Promise.resolve()
}

const measuredValues = (): (readonly number[])[] =>
  reports.map(({ measured: { cpuTimeMs, outputBytes, rssBytes, peakRssBytes } }) => [cpuTimeMs, outputBytes, rssBytes, peakRssBytes])

describe('a process is measured', () => {
  test('every 5 s, without a report of small changes', async () => {
    await watchProcess(addProcess(1, {}))
    for (let second = 0; second < 60; second++) {
      currentUsage = { ...currentUsage, cpuTimeMs: currentUsage.cpuTimeMs + 1, outputBytes: currentUsage.outputBytes + 10 }
      clock.wind(1_000)
    }
    expect([measureCount, reports]).toEqual([12, []])
  })

  test.each([{ cpuTimeMs: 10_000 }, { memoryBytes: 100 * MB }, { outputBytes: 1_000 }])(
    'every second under the limit %o',
    async (limits) => {
      await watchProcess(addProcess(1, limits))
      for (let second = 0; second < 10; second++) clock.wind(1_000)
      expect(measureCount).toBe(10)
    },
  )

  test('every second under a limit of its payer', async () => {
    addProcess(2, { cpuTimeMs: 10_000 })
    await watchProcess(addProcess(1, {}, 2))
    for (let second = 0; second < 10; second++) clock.wind(1_000)
    expect(measureCount).toBe(10)
  })

  test('neither before its first program starts nor after its release', async () => {
    const process = addProcess(1, {})
    sampler.watch(process, {
      measure: () => {
        throw new Error('measured too early')
      },
      firstStart: new Promise(() => undefined),
      limitMemory: () => undefined,
    })
    clock.wind(60_000)
    await watchProcess(process)
    sampler.forget(process)
    clock.wind(60_000)
    expect([measureCount, clock.timers]).toEqual([0, 0])
  })

  test('once while it is suspended, and again when it continues', async () => {
    const process = addProcess(1, {})
    await watchProcess(process)
    const hold: Hold = { reason: 'user', by: 'user', at: 0 }
    const heldProcess = fold(process, { uuid: process.uuid, seq: 3, pid: 1, at: 0, body: { type: 'process.held', hold, mono: 0 } })
    rows.set(
      process.uuid,
      fold(heldProcess, { uuid: process.uuid, seq: 4, pid: 1, at: 0, body: { type: 'process.frozen', inFlight: null } }),
    )
    currentUsage = { ...currentUsage, cpuTimeMs: 7 }
    for (let second = 0; second < 60; second++) clock.wind(1_000)
    expect([measureCount, measuredValues(), clock.timers]).toEqual([1, [[7, 0, 0, 0]], 0])
    rows.set(process.uuid, process)
    sampler.wake(process.uuid)
    for (let second = 0; second < 10; second++) clock.wind(1_000)
    expect(measureCount).toBeGreaterThan(2)
  })
})

describe('the sampler reports', () => {
  test('changes every 30 s, as the difference from the last report', async () => {
    await watchProcess(addProcess(1, {}))
    for (let second = 0; second < 65; second++) {
      currentUsage = { ...currentUsage, cpuTimeMs: currentUsage.cpuTimeMs + 10.3, rssBytes: second === 20 ? 90 * MB : 40 * MB }
      clock.wind(1_000)
    }
    expect(reports).toHaveLength(2)
    expect(reports.reduce((sum, { measured }) => sum + measured.cpuTimeMs, 0)).toBe(Math.round(61 * 10.3))
    expect(measuredValues().at(-1)?.slice(2)).toEqual([40 * MB, 90 * MB])
  })

  test('the use of a hundredth of a limit as soon as it is measured', async () => {
    await watchProcess(addProcess(1, { cpuTimeMs: 10_000, outputBytes: 1_000 }))
    clock.wind(1_000)
    currentUsage = { ...currentUsage, cpuTimeMs: 99 }
    clock.wind(1_000)
    expect(reports).toEqual([])
    currentUsage = { ...currentUsage, cpuTimeMs: 100 }
    clock.wind(1_000)
    currentUsage = { ...currentUsage, outputBytes: 10 }
    clock.wind(1_000)
    expect(measuredValues()).toEqual([
      [100, 0, 0, 0],
      [0, 10, 0, 0],
    ])
  })

  test('changes of memory only near its limit', async () => {
    await watchProcess(addProcess(1, { memoryBytes: 100 * MB }))
    for (const rssBytes of [50, 79, 80, 80.5, 82]) {
      currentUsage = { ...currentUsage, rssBytes: rssBytes * MB }
      clock.wind(1_000)
    }
    expect(measuredValues().map(([, , rss]) => rss)).toEqual([80 * MB, 82 * MB])
  })

  test('only once that the operating system has ended a program because of its memory', async () => {
    await watchProcess(addProcess(1, { memoryBytes: 100 * MB }))
    currentUsage = { ...currentUsage, outOfMemory: true }
    clock.wind(1_000)
    clock.wind(1_000)
    expect(reports.map(({ outOfMemory }) => outOfMemory)).toEqual([true])
  })

  test('the unreported usage at the end, and no usage twice', async () => {
    const process = addProcess(1, {})
    await watchProcess(process)
    currentUsage = { ...currentUsage, cpuTimeMs: 3, outputBytes: 4, rssBytes: 5 }
    expect(sampler.takeUnreported(process)?.measured).toEqual({ cpuTimeMs: 3, outputBytes: 4, rssBytes: 5, peakRssBytes: 5 })
    currentUsage = { ...currentUsage, cpuTimeMs: 4.4, rssBytes: 0 }
    expect(sampler.takeUnreported(process)?.measured).toEqual({ cpuTimeMs: 1, outputBytes: 0, rssBytes: 0, peakRssBytes: 5 })
    expect([sampler.takeUnreported(process), sampler.takeUnreported({ uuid: process.uuid, pid: 2 })]).toEqual([null, null])
  })

  test('the unreported usage of all processes when the daemon stops', async () => {
    await watchProcess(addProcess(1, {}))
    currentUsage = { ...currentUsage, cpuTimeMs: 3 }
    sampler.flush()
    expect([measuredValues(), clock.timers]).toEqual([[[3, 0, 0, 0]], 0])
  })
})

test('a changed or removed memory limit is applied', async () => {
  const limitedTo: (number | null)[] = []
  await watchProcess(addProcess(1, { memoryBytes: 100 * MB }), limitedTo)
  addProcess(1, { memoryBytes: 200 * MB })
  clock.wind(1_000)
  clock.wind(1_000)
  addProcess(1, {})
  clock.wind(1_000)
  expect(limitedTo).toEqual([100 * MB, 200 * MB, null])
})

test('an error during a measurement is logged once, and other processes are still measured', async () => {
  const failingContainment = {
    measure: () => {
      throw new Error('EMFILE')
    },
    firstStart: Promise.resolve(),
    limitMemory: () => undefined,
  }
  sampler.watch({ ...addProcess(2, {}), pid: 2 }, failingContainment)
  await watchProcess(addProcess(1, {}))
  currentUsage = { ...currentUsage, cpuTimeMs: 500 }
  for (let second = 0; second < 40; second++) clock.wind(1_000)
  expect([logged, measuredValues().length, sampler.takeUnreported({ uuid: uuidOf(2), pid: 2 })]).toEqual([
    ['the usage of process 2 cannot be measured, or limited'],
    1,
    null,
  ])
})
