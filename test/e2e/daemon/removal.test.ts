// The removal of a process through the API. It never runs at the same time as a resume of the process, and a crash does not interrupt it.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiError } from '../../../src/api/client/api-error.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView, RemovedView } from '../../../src/api/views/process.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
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

const remove = (ref: string): Promise<RemovedView> => daemon.client.delete(`/v1/processes/${ref}`)

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    (value) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (error instanceof ApiError) return error
  throw error
}

async function runToEnd(name: string): Promise<ProcessView> {
  const { uuid } = await daemon.spawnScripted([{ text: 'done' }], { name })
  return daemon.waitForEnd(uuid)
}

function nameOf(events: readonly EventView[], uuid: string): unknown {
  return (events.find((event) => event.uuid === uuid && event.type === 'process.spawned')?.['spec'] as { name?: unknown } | undefined)?.name
}

async function readCursors(): Promise<number[]> {
  const seqs: number[] = []
  for await (const { seq } of daemon.client.events('/v1/events', { query: { after: 0 } })) seqs.push(seq)
  return seqs
}

describe('an ended process', () => {
  test('is gone, is remembered with the time, and is in no list, also after a restart', async () => {
    const { uuid, pid } = await runToEnd('gone')
    const other = await runToEnd('stays')
    const removedAfterMs = Date.now()
    const removal = await remove('gone')
    expect(removal).toEqual({ version: 1, uuid, pid, name: 'gone', removedAt: removal.removedAt })
    expect(Date.parse(removal.removedAt)).toBeGreaterThanOrEqual(removedAfterMs)
    for (const nextStep of [async () => {}, () => daemon.restart()]) {
      await nextStep()
      const { version: _, ...remembered } = removal
      for (const ref of [uuid, uuid.slice(-8), uuid.slice(0, 18), 'gone', String(pid)]) {
        const error = await errorOf(daemon.view(ref))
        expect([ref, error.code, error.details]).toEqual([ref, 'COLLECTED', { ...remembered, originUuid: null }])
        expect(error.message).toContain(removal.removedAt)
      }
      expect((await errorOf(remove(uuid))).code).toBe('COLLECTED')
      for (const path of ['steps', 'logs', 'events', 'wait'])
        expect((await errorOf(daemon.client.get(`/v1/processes/${uuid}/${path}`))).code).toBe('COLLECTED')
      expect((await errorOf(daemon.resume(uuid))).code).toBe('COLLECTED')
      const { processes } = await daemon.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true })
      expect(processes.map((one) => one.uuid)).toContain(other.uuid)
      expect(processes.map((one) => one.uuid)).not.toContain(uuid)
    }
    expect((await daemon.spawnShell('true')).pid).toBeGreaterThan(other.pid)
  })

  test('frees its name', async () => {
    const first = await runToEnd('again')
    await remove(first.uuid)
    const second = await runToEnd('again')
    expect((await daemon.view('again')).uuid).toBe(second.uuid)
    expect((await errorOf(daemon.view(first.uuid))).code).toBe('COLLECTED')
  })

  test('an unknown process is not found', async () => {
    expect((await errorOf(remove('never-was'))).code).toBe('NOT_FOUND')
    expect((await errorOf(remove('0'))).code).toBe('PERMISSION')
  })
})

describe('a process that has not ended', () => {
  test('is not removed, running or suspended, and continues', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'hello' }], { interactive: true, intent: 'talk' })
    await daemon.waitUntilReady(uuid)
    for (const step of [async () => {}, () => daemon.pause(uuid)]) {
      await step()
      const { code, hint } = await errorOf(remove(uuid))
      expect([code, hint]).toEqual(['CONFLICT', expect.stringContaining('reeve stop')])
    }
    expect((await daemon.view(uuid)).status).toBe('suspended')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    expect((await remove(uuid)).uuid).toBe(uuid)
  })
})

describe('streams', () => {
  test('skip removed processes, continue, and repeat no event', async () => {
    const first = await runToEnd('first')
    await runToEnd('second')
    const third = await runToEnd('third')
    const cursorsBefore = await readCursors()
    const following = new AbortController()
    const receivedEvents: EventView[] = []
    const follow = (async () => {
      for await (const event of daemon.client.events('/v1/events', { query: { after: 0, follow: true }, signal: following.signal })) {
        receivedEvents.push(event)
        if (event['fact'] === 'process.reaped' && nameOf(receivedEvents, event.uuid) === 'last') return
      }
    })()
    await remove(first.uuid)
    await remove(third.uuid)
    await runToEnd('last')
    await follow
    following.abort()
    const order = receivedEvents.map(({ seq }) => seq)
    expect(order).toEqual([...new Set(order)].toSorted((a, b) => a - b))
    const cursorsAfter = await readCursors()
    // The remaining past, and all new facts; some may have come after the last one that was followed.
    expect(order.filter((seq) => cursorsAfter.includes(seq))).toEqual(cursorsAfter.filter((seq) => seq <= (order.at(-1) ?? 0)))
    expect(cursorsAfter.length).toBeLessThan(cursorsBefore.length + receivedEvents.length)
    const resumedSeqs: number[] = []
    for await (const { seq } of daemon.client.events('/v1/events', { query: { after: cursorsBefore[3] ?? 0 } })) resumedSeqs.push(seq)
    expect(resumedSeqs.filter((seq) => seq <= (cursorsAfter.at(-1) ?? 0))).toEqual(
      cursorsAfter.filter((seq) => seq > (cursorsBefore[3] ?? 0)),
    )
  })
})

describe('a removal and a resume of one process', () => {
  test('never run at the same time: one wins, and the other one reports that', async () => {
    const outcomes = { resumed: 0, removed: 0 }
    for (let round = 0; round < 12; round++) {
      const { uuid } = await daemon.spawnScripted([{ text: 'one' }, { text: 'two' }], { name: `race-${round}` })
      await daemon.waitForEnd(uuid)
      const resume = (): Promise<unknown> => daemon.resume(uuid, { message: 'again' })
      const requests = round % 2 === 0 ? [remove(uuid), resume(), remove(uuid), resume()] : [resume(), remove(uuid), resume(), remove(uuid)]
      const answers = await Promise.allSettled(requests)
      const codes = answers.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as ApiError).code))
      const state = await daemon.view(uuid).then(
        ({ state }) => state,
        (error: ApiError) => error.code,
      )
      if (state === 'COLLECTED') {
        outcomes.removed += 1
        // A later request learns of the removal; an earlier one learned that the process was alive.
        expect(
          codes.filter((code) => !['ok', 'COLLECTED', 'CONFLICT', 'INVALID'].includes(code)),
          codes.join(),
        ).toEqual([])
        expect(codes).toContain('ok')
      } else {
        outcomes.resumed += 1
        expect(
          codes.filter((code) => !['ok', 'CONFLICT', 'INVALID'].includes(code)),
          codes.join(),
        ).toEqual([])
        await daemon.waitForEnd(uuid)
        expect((await daemon.readFactTypes(uuid)).filter((fact) => fact === 'process.resumed').length).toBeGreaterThan(0)
        await remove(uuid)
      }
      expect((await errorOf(daemon.view(uuid))).code).toBe('COLLECTED')
    }
    expect(outcomes.resumed).toBeGreaterThan(0)
    expect(outcomes.removed).toBeGreaterThan(0)
    const checks = await daemon.client.get<{ checks: { name: string; ok: boolean; detail: string }[] }>('/v1/doctor', { verify: true })
    expect(checks.checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
  }, 300_000)
})

describe('a daemon that is killed in the middle of a removal', () => {
  test('has removed the process, and the next daemon clears away the rest', async () => {
    await using home = await DaemonHome.create()
    await home.start()
    const spawnedProcess = await home.spawn({ argv: ['sh', '-c', 'echo kept'] })
    // About ten megabytes, so that the daemon clears it in several pieces, and the size of the file shows it.
    const { uuid } = await home.spawn({
      argv: ['sh', '-c', 'i=0; while [ $i -lt 60 ]; do head -c 60000 /dev/urandom | od -An -tx1 -w4000; i=$((i + 1)); done'],
    })
    await home.waitForEnd(uuid)
    await home.waitForEnd(spawnedProcess.uuid)
    const sizeOf = (): number => statSync(join(home.paths.state, 'store.db')).size
    const sizeBefore = sizeOf()
    expect(sizeBefore).toBeGreaterThan(5_000_000)
    expect(await home.client.delete(`/v1/processes/${uuid}`)).toMatchObject({ uuid })
    await home.kill()
    await home.start()
    expect(await home.view(uuid).catch((error: ApiError) => error.code)).toBe('COLLECTED')
    expect((await home.view(spawnedProcess.uuid)).status).toBe('completed')
    await waitUntil(() => sizeOf() < sizeBefore / 4, 'the file has shrunk')
    const { checks } = await home.client.get<{ checks: { name: string; ok: boolean }[] }>(
      '/v1/doctor',
      { verify: true },
      { extraMs: 60_000 },
    )
    expect(checks.filter(({ name, ok }) => name.startsWith('store') && !ok)).toEqual([])
    expect((await home.stop()).code).toBe(0)
  }, 300_000)
})
