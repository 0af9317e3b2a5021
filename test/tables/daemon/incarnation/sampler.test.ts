// The times at which the sampler measures, and the changes that it reports, on a manual clock.
import { beforeEach, describe, expect, test } from 'vitest'
import { Sampler } from '../../../../src/daemon/incarnation/sampler.ts'
import type { ContainmentUsage } from '../../../../src/drivers/contain/types.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'
import type { Hold, Process } from '../../../../src/kernel/model/process.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import { ManualClock } from '../../../support/clock.ts'
import { specOf, uuidOf } from '../../../support/store/facts.ts'
import type { Limits } from '../../../../src/kernel/model/words.ts'

const MB = 1_000_000
type Told = Extract<Report, { type: 'measured' }>

let clock: ManualClock
let told: Told[]
let looks: number
let now: ContainmentUsage
let rows: Map<string, Process>
let sampler: Sampler
let logged: string[]

beforeEach(() => {
  clock = new ManualClock()
  told = []
  looks = 0
  now = { cpuTimeMs: 0, rssBytes: 0, peakRssBytes: null, outputBytes: 0, outOfMemory: false }
  rows = new Map()
  logged = []
  sampler = new Sampler({
    clock,
    log: (message) => logged.push(message),
    get: (uuid) => rows.get(uuid),
    report: (uuid, pid, report) => {
      expect([uuid, pid]).toEqual([uuidOf(1), 1])
      told.push(report)
    },
  })
})

function put(number: number, limits: Limits, parent: number | null = null): Process {
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

async function watch(process: Process, limited: (number | null)[] = []): Promise<void> {
  const measure = (): ContainmentUsage => {
    looks += 1
    return now
  }
  sampler.watch(process, { measure, firstStart: Promise.resolve(), limitMemory: (bytes) => limited.push(bytes) })
  await Promise.resolve()
}

const measuredOf = (): (readonly number[])[] =>
  told.map(({ measured: { cpuTimeMs, outputBytes, rssBytes, peakRssBytes } }) => [cpuTimeMs, outputBytes, rssBytes, peakRssBytes])

describe('a process is measured', () => {
  test('every 5 s, without a report of small changes', async () => {
    await watch(put(1, {}))
    for (let second = 0; second < 60; second++) {
      now = { ...now, cpuTimeMs: now.cpuTimeMs + 1, outputBytes: now.outputBytes + 10 }
      clock.wind(1_000)
    }
    expect([looks, told]).toEqual([12, []])
  })

  test.each([{ cpuTimeMs: 10_000 }, { memoryBytes: 100 * MB }, { outputBytes: 1_000 }])('every second under %o', async (limits) => {
    await watch(put(1, limits))
    for (let second = 0; second < 10; second++) clock.wind(1_000)
    expect(looks).toBe(10)
  })

  test('every second under a limit of its payer', async () => {
    put(2, { cpuTimeMs: 10_000 })
    await watch(put(1, {}, 2))
    for (let second = 0; second < 10; second++) clock.wind(1_000)
    expect(looks).toBe(10)
  })

  test('neither before its first program starts nor after its release', async () => {
    const process = put(1, {})
    sampler.watch(process, {
      measure: () => {
        throw new Error('looked')
      },
      firstStart: new Promise(() => undefined),
      limitMemory: () => undefined,
    })
    clock.wind(60_000)
    await watch(process)
    sampler.forget(process)
    clock.wind(60_000)
    expect([looks, clock.timers]).toEqual([0, 0])
  })

  test('once while it is suspended, and again when it continues', async () => {
    const process = put(1, {})
    await watch(process)
    const hold: Hold = { reason: 'user', by: 'user', at: 0 }
    const held = fold(process, { uuid: process.uuid, seq: 3, pid: 1, at: 0, body: { type: 'process.held', hold, mono: 0 } })
    rows.set(process.uuid, fold(held, { uuid: process.uuid, seq: 4, pid: 1, at: 0, body: { type: 'process.frozen', inFlight: null } }))
    now = { ...now, cpuTimeMs: 7 }
    for (let second = 0; second < 60; second++) clock.wind(1_000)
    expect([looks, measuredOf(), clock.timers]).toEqual([1, [[7, 0, 0, 0]], 0])
    rows.set(process.uuid, process)
    sampler.wake(process.uuid)
    for (let second = 0; second < 10; second++) clock.wind(1_000)
    expect(looks).toBeGreaterThan(2)
  })
})

describe('the sampler reports', () => {
  test('changes every 30 s, as the difference to the last report', async () => {
    await watch(put(1, {}))
    for (let second = 0; second < 65; second++) {
      now = { ...now, cpuTimeMs: now.cpuTimeMs + 10.3, rssBytes: second === 20 ? 90 * MB : 40 * MB }
      clock.wind(1_000)
    }
    expect(told).toHaveLength(2)
    expect(told.reduce((sum, { measured }) => sum + measured.cpuTimeMs, 0)).toBe(Math.round(61 * 10.3))
    expect(measuredOf().at(-1)?.slice(2)).toEqual([40 * MB, 90 * MB])
  })

  test('the use of a hundredth of a limit as soon as it is measured', async () => {
    await watch(put(1, { cpuTimeMs: 10_000, outputBytes: 1_000 }))
    clock.wind(1_000)
    now = { ...now, cpuTimeMs: 99 }
    clock.wind(1_000)
    expect(told).toEqual([])
    now = { ...now, cpuTimeMs: 100 }
    clock.wind(1_000)
    now = { ...now, outputBytes: 10 }
    clock.wind(1_000)
    expect(measuredOf()).toEqual([
      [100, 0, 0, 0],
      [0, 10, 0, 0],
    ])
  })

  test('changes of memory near its limit', async () => {
    await watch(put(1, { memoryBytes: 100 * MB }))
    for (const rssBytes of [50, 79, 80, 80.5, 82]) {
      now = { ...now, rssBytes: rssBytes * MB }
      clock.wind(1_000)
    }
    expect(measuredOf().map(([, , rss]) => rss)).toEqual([80 * MB, 82 * MB])
  })

  test('once that the system has ended a program for its memory', async () => {
    await watch(put(1, { memoryBytes: 100 * MB }))
    now = { ...now, outOfMemory: true }
    clock.wind(1_000)
    clock.wind(1_000)
    expect(told.map(({ outOfMemory }) => outOfMemory)).toEqual([true])
  })

  test('the unreported usage at the end, and no usage twice', async () => {
    const process = put(1, {})
    await watch(process)
    now = { ...now, cpuTimeMs: 3, outputBytes: 4, rssBytes: 5 }
    expect(sampler.takeUnreported(process)?.measured).toEqual({ cpuTimeMs: 3, outputBytes: 4, rssBytes: 5, peakRssBytes: 5 })
    now = { ...now, cpuTimeMs: 4.4, rssBytes: 0 }
    expect(sampler.takeUnreported(process)?.measured).toEqual({ cpuTimeMs: 1, outputBytes: 0, rssBytes: 0, peakRssBytes: 5 })
    expect([sampler.takeUnreported(process), sampler.takeUnreported({ uuid: process.uuid, pid: 2 })]).toEqual([null, null])
  })

  test('the unreported usage of all processes when the daemon stops', async () => {
    await watch(put(1, {}))
    now = { ...now, cpuTimeMs: 3 }
    sampler.flush()
    expect([measuredOf(), clock.timers]).toEqual([[[3, 0, 0, 0]], 0])
  })
})

test('a raised limit is applied', async () => {
  const limited: (number | null)[] = []
  await watch(put(1, { memoryBytes: 100 * MB }), limited)
  put(1, { memoryBytes: 200 * MB })
  clock.wind(1_000)
  clock.wind(1_000)
  put(1, {})
  clock.wind(1_000)
  expect(limited).toEqual([100 * MB, 200 * MB, null])
})

test('an error of measuring is logged once, and other processes are still measured', async () => {
  const broken = {
    measure: () => {
      throw new Error('EMFILE')
    },
    firstStart: Promise.resolve(),
    limitMemory: () => undefined,
  }
  sampler.watch({ ...put(2, {}), pid: 2 }, broken)
  await watch(put(1, {}))
  now = { ...now, cpuTimeMs: 500 }
  for (let second = 0; second < 40; second++) clock.wind(1_000)
  expect([logged, measuredOf().length, sampler.takeUnreported({ uuid: uuidOf(2), pid: 2 })]).toEqual([
    ['the usage of process 2 cannot be measured, or limited'],
    1,
    null,
  ])
})
