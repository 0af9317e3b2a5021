// Collection in a daemon: by itself on its own clock; and that a resume, a fork, a pin or an export of the same process never
// meets it: one comes first, and the other is told what it left.
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { ApiError } from '../../src/api/client.ts'
import type { GcView } from '../../src/api/history-views.ts'
import type { SteerView } from '../../src/api/views.ts'
import { LOOK_MS } from '../../src/daemon/collector.ts'
import { HandClock } from '../support/clock.ts'
import { eventually } from '../support/living.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { writePast } from '../support/past.ts'

let daemon: LocalDaemon
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const gc = (): Promise<GcView> => daemon.client.post('/v1/gc', {})
const pin = (ref: string, pinned: boolean): Promise<SteerView> => daemon.client.post(`/v1/processes/${ref}/pin`, { pinned })

async function past(count: number): Promise<string[]> {
  await daemon.stop()
  const uuids = await writePast(daemon.paths.state, count)
  await daemon.start()
  return uuids
}

async function sound(): Promise<void> {
  const { checks } = await daemon.client.get<{ checks: { name: string; ok: boolean; detail: string }[] }>('/v1/doctor', { verify: true })
  expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
}

test('the daemon collects by itself, some time after its start, and says what it did', async () => {
  const clock = new HandClock()
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_entries: 2 }\n', clock })
  const uuids = await past(5)
  clock.wind(LOOK_MS)
  await eventually(() => daemon.logged.some((line) => /^collected 3 ended processes, \d+ bytes$/.test(line)), 'it collected')
  const { processes } = await daemon.client.get<{ processes: { uuid: string }[] }>('/v1/processes', { all: true })
  expect(processes.map(({ uuid }) => uuid)).toEqual(uuids.slice(3))
  await expect(daemon.view(uuids[0] ?? '')).rejects.toMatchObject({ code: 'COLLECTED', details: { name: 'old-1', pid: 1 } })
  await sound()
})

test('what lives, waits or is suspended is never taken, however old', async () => {
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_bytes: 1 }\n' })
  const { uuid: ready } = await daemon.play([{ text: 'hello' }], { interactive: true, intent: 'talk' })
  const { uuid: held } = await daemon.play([{ text: 'hello' }], { interactive: true, intent: 'talk' })
  await daemon.ready(ready)
  await daemon.ready(held)
  await daemon.pause(held)
  const ended = await daemon.ended((await daemon.sh('true')).uuid)
  expect((await gc()).entries.map(({ uuid, rule }) => [uuid, rule])).toEqual([[ended.uuid, 'max_bytes']])
  expect([(await daemon.view(ready)).status, (await daemon.view(held)).status]).toEqual(['ready', 'suspended'])
})

test('a fork goes on when its origin was collected, and another fork of that can be made of it', async () => {
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_entries: 1 }\n' })
  const { uuid } = await daemon.play([{ text: 'one', tools: [{ name: 'bash', input: { command: 'echo 1' } }] }, { text: 'two' }, { text: 'three' }], { name: 'origin' })
  await daemon.ended(uuid)
  const fork = await daemon.ended((await daemon.resume(uuid, { fork: true, fromStep: 1 })).process.uuid)
  expect((await gc()).entries.map((one) => one.uuid)).toEqual([uuid])
  await expect(daemon.view(uuid)).rejects.toMatchObject({ code: 'COLLECTED' })
  await daemon.resume(fork.uuid, { message: 'on' })
  expect((await daemon.ended(fork.uuid)).turn).toBe(2)
  const second = await daemon.ended((await daemon.resume(fork.uuid, { fork: true, fromStep: 1 })).process.uuid)
  expect(second.status).toBe('completed')
  await sound()
})

describe('a collection and', () => {
  /** How often the process was there afterwards, and how often not. */
  async function race(rounds: number, other: (uuid: string, round: number) => Promise<unknown>, check: (found: 'there' | 'gone', code: string) => void): Promise<Record<'there' | 'gone', number>> {
    daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_bytes: 1 }\n' })
    const outcomes = { there: 0, gone: 0 }
    for (let round = 0; round < rounds; round++) {
      const { uuid } = await daemon.play([{ text: 'one' }, { text: '', tools: [{ name: 'bash', input: { command: 'sleep 600' } }] }], { name: `race-${round}` })
      await daemon.ended(uuid)
      const answer = (): Promise<string> => other(uuid, round).then(() => 'ok', (error: ApiError) => error.code)
      const both = round % 2 === 0 ? [gc(), answer()] : [answer(), gc()]
      const [first, second] = await Promise.all(both)
      const found = await daemon.view(uuid).then(() => 'there' as const, () => 'gone' as const)
      outcomes[found] += 1
      check(found, String(typeof first === 'string' ? first : second))
      // Who was resumed does not end by itself, so that no collection may take it.
      if (found === 'there') await daemon.signal(uuid, 'SIGKILL').catch(() => null)
      if (found === 'there') await daemon.ended(uuid)
    }
    await sound()
    return outcomes
  }

  test('a resume: the resumed lives, or was told that it is gone', async () => {
    const outcomes = await race(10, (uuid) => daemon.resume(uuid, { message: 'again' }), (found, code) => expect([found, code]).toEqual(found === 'there' ? ['there', 'ok'] : ['gone', expect.stringMatching(/^(COLLECTED|NOT_FOUND)$/)]))
    expect(outcomes.there + outcomes.gone).toBe(10)
  }, 60_000)

  test('a pin: the pinned is there, or was told that it is gone', async () => {
    await race(10, (uuid) => pin(uuid, true), (found, code) => expect([found, code]).toEqual(found === 'there' ? ['there', 'ok'] : ['gone', expect.stringMatching(/^(COLLECTED|NOT_FOUND)$/)]))
  }, 60_000)

  test('a fork: it is whole, or was told that its origin is gone', async () => {
    const forks: string[] = []
    await race(10, async (uuid) => { forks.push((await daemon.resume(uuid, { fork: true })).process.uuid) }, (_found, code) => expect(code).toMatch(/^(ok|COLLECTED|NOT_FOUND)$/))
    for (const uuid of forks) {
      const view = await daemon.view(uuid).catch((error: ApiError) => error.code)
      // It may have been collected itself, when it had ended.
      if (typeof view !== 'string') expect((await daemon.history(uuid)).length).toBeGreaterThan(1)
    }
  }, 60_000)

  test('an export: it is whole, or there is none', async () => {
    await race(10, (uuid, round) => daemon.client.post(`/v1/processes/${uuid}/export`, { dir: join(daemon.work, String(round)) }), (_found, code) => expect(code).toMatch(/^(ok|COLLECTED|NOT_FOUND)$/))
    for (let round = 0; round < 10; round++) {
      const dir = join(daemon.work, String(round))
      const uuid = await daemon.client.post<{ processes: { uuid: string; warnings: string[] }[] }>('/v1/import', { dir }).then(({ processes: [one] }) => one, (error: ApiError) => error)
      // What was exported comes back whole, unless it is still here or never went out.
      expect(uuid).toMatchObject('code' in (uuid ?? {}) ? { code: expect.stringMatching(/^(CONFLICT|INVALID)$/) } : { warnings: [] })
    }
    await sound()
  }, 60_000)
})
