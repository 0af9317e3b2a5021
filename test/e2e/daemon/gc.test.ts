// Garbage collection in a daemon, by its own clock. A resume, a fork, a pin or an export never runs at the same time as the collection
// of its process. The second request waits, and sees the result of the first.
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { ApiError } from '../../../src/api/client/api-error.ts'
import type { GcView } from '../../../src/api/views/gc.ts'
import type { SteerView } from '../../../src/api/views/process.ts'
import { CHECK_MS } from '../../../src/daemon/operations/collector.ts'
import { ManualClock } from '../../support/clock.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { writeEndedProcesses } from '../../support/daemon/ended-processes.ts'

let daemon: LocalDaemon
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const collect = (): Promise<GcView> => daemon.client.post('/v1/gc', {})
const pin = (ref: string, isPinned: boolean): Promise<SteerView> => daemon.client.post(`/v1/processes/${ref}/pin`, { pinned: isPinned })

async function startWithEnded(count: number): Promise<string[]> {
  await daemon.stop()
  const uuids = await writeEndedProcesses(daemon.paths.state, count)
  await daemon.start()
  return uuids
}

async function checkStore(): Promise<void> {
  const { checks } = await daemon.client.get<{ checks: { name: string; ok: boolean; detail: string }[] }>('/v1/doctor', { verify: true })
  expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
}

test('the daemon collects by itself, some time after its start, and logs the result', async () => {
  const clock = new ManualClock()
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_entries: 2 }\n', clock })
  const uuids = await startWithEnded(5)
  clock.wind(CHECK_MS)
  await waitUntil(() => daemon.logMessages.some((line) => /^collected 3 ended processes, \d+ bytes$/.test(line)), 'it collected')
  const { processes } = await daemon.client.get<{ processes: { uuid: string }[] }>('/v1/processes', { all: true })
  expect(processes.map(({ uuid }) => uuid)).toEqual(uuids.slice(3))
  await expect(daemon.view(uuids[0] ?? '')).rejects.toMatchObject({ code: 'COLLECTED', details: { name: 'old-1', pid: 1 } })
  await checkStore()
})

test('a living, waiting or suspended process is never collected, however old', async () => {
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_bytes: 1 }\n' })
  const { uuid: readyUuid } = await daemon.spawnScripted([{ text: 'hello' }], { interactive: true, intent: 'talk' })
  const { uuid: suspendedUuid } = await daemon.spawnScripted([{ text: 'hello' }], { interactive: true, intent: 'talk' })
  await daemon.waitUntilReady(readyUuid)
  await daemon.waitUntilReady(suspendedUuid)
  await daemon.pause(suspendedUuid)
  const endedProcess = await daemon.waitForEnd((await daemon.spawnShell('true')).uuid)
  expect((await collect()).entries.map(({ uuid, rule }) => [uuid, rule])).toEqual([[endedProcess.uuid, 'max_bytes']])
  expect([(await daemon.view(readyUuid)).status, (await daemon.view(suspendedUuid)).status]).toEqual(['ready', 'suspended'])
})

test('a fork continues after the collection of its origin, and can itself be forked', async () => {
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_entries: 1 }\n' })
  const { uuid } = await daemon.spawnScripted(
    [{ text: 'one', tools: [{ name: 'bash', input: { command: 'echo 1' } }] }, { text: 'two' }, { text: 'three' }],
    { name: 'origin' },
  )
  await daemon.waitForEnd(uuid)
  const fork = await daemon.waitForEnd((await daemon.resume(uuid, { fork: true, fromStep: 1 })).process.uuid)
  expect((await collect()).entries.map((one) => one.uuid)).toEqual([uuid])
  await expect(daemon.view(uuid)).rejects.toMatchObject({ code: 'COLLECTED' })
  await daemon.resume(fork.uuid, { message: 'on' })
  expect((await daemon.waitForEnd(fork.uuid)).turn).toBe(2)
  const second = await daemon.waitForEnd((await daemon.resume(fork.uuid, { fork: true, fromStep: 1 })).process.uuid)
  expect(second.status).toBe('completed')
  await checkStore()
})

describe('a collection and', () => {
  /**
   * Sends a collection and another request at the same time, in rounds. Returns how often the process existed afterwards, and how often
   * not.
   */
  async function race(
    rounds: number,
    other: (uuid: string, round: number) => Promise<unknown>,
    check: (state: 'there' | 'gone', code: string) => void,
  ): Promise<Record<'there' | 'gone', number>> {
    daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_bytes: 1 }\n' })
    const outcomes = { there: 0, gone: 0 }
    for (let round = 0; round < rounds; round++) {
      const { uuid } = await daemon.spawnScripted(
        [{ text: 'one' }, { text: '', tools: [{ name: 'bash', input: { command: 'sleep 600' } }] }],
        {
          name: `race-${round}`,
        },
      )
      await daemon.waitForEnd(uuid)
      const answer = (): Promise<string> =>
        other(uuid, round).then(
          () => 'ok',
          (error: ApiError) => error.code,
        )
      const requests = round % 2 === 0 ? [collect(), answer()] : [answer(), collect()]
      const [first, second] = await Promise.all(requests)
      const state = await daemon.view(uuid).then(
        () => 'there' as const,
        () => 'gone' as const,
      )
      outcomes[state] += 1
      check(state, String(typeof first === 'string' ? first : second))
      // A resumed process does not end by itself, so that no collection may take it.
      if (state === 'there') await daemon.signal(uuid, 'SIGKILL').catch(() => null)
      if (state === 'there') await daemon.waitForEnd(uuid)
    }
    await checkStore()
    return outcomes
  }

  test('a resume: the process is resumed, or the resume reports that it is gone', async () => {
    const outcomes = await race(
      10,
      (uuid) => daemon.resume(uuid, { message: 'again' }),
      (state, code) =>
        expect([state, code]).toEqual(state === 'there' ? ['there', 'ok'] : ['gone', expect.stringMatching(/^(COLLECTED|NOT_FOUND)$/)]),
    )
    expect(outcomes.there + outcomes.gone).toBe(10)
  })

  test('a pin: the process exists, or the pin reports that it is gone', async () => {
    await race(
      10,
      (uuid) => pin(uuid, true),
      (state, code) =>
        expect([state, code]).toEqual(state === 'there' ? ['there', 'ok'] : ['gone', expect.stringMatching(/^(COLLECTED|NOT_FOUND)$/)]),
    )
  })

  test('a fork: the fork is whole, or reports that its origin is gone', async () => {
    const forks: string[] = []
    await race(
      10,
      async (uuid) => {
        forks.push((await daemon.resume(uuid, { fork: true })).process.uuid)
      },
      (_found, code) => expect(code).toMatch(/^(ok|COLLECTED|NOT_FOUND)$/),
    )
    for (const uuid of forks) {
      const view = await daemon.view(uuid).catch((error: ApiError) => error.code)
      // The ended fork may itself have been collected.
      if (typeof view !== 'string') expect((await daemon.readHistory(uuid)).length).toBeGreaterThan(1)
    }
  })

  test('an export: the export is whole, or does not exist', async () => {
    await race(
      10,
      (uuid, round) => daemon.client.post(`/v1/processes/${uuid}/export`, { dir: join(daemon.work, String(round)) }),
      (_found, code) => expect(code).toMatch(/^(ok|COLLECTED|NOT_FOUND)$/),
    )
    for (let round = 0; round < 10; round++) {
      const dir = join(daemon.work, String(round))
      const imported = await daemon.client.post<{ processes: { uuid: string; warnings: string[] }[] }>('/v1/import', { dir }).then(
        ({ processes: [one] }) => one,
        (error: ApiError) => error,
      )
      // An export is imported whole, unless the process is still here or was never exported.
      expect(imported).toMatchObject(
        'code' in (imported ?? {}) ? { code: expect.stringMatching(/^(CONFLICT|INVALID)$/) } : { warnings: [] },
      )
    }
    await checkStore()
  })
})
