// The event streams. A reader gets every fact once and in order, despite any break. Slow readers cost little and lose no stored
// fact. A stream ends with its process. The tests read from the socket, without the client's own reconnecting.
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_EVENT_BYTES, readEventData } from '../../../src/api/client/event-stream.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeAll(async () => {
  daemon = await LocalDaemon.start()
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const STEPS = 150
const LONG_TEST = { timeout: 180_000 }
/** Many facts in a short time: four per step. */
const BUSY = Array.from({ length: STEPS }, (_, index) => ({ tools: [{ name: 'glob', input: { pattern: `${index}` } }] }))

/** A stream as it comes from the socket; nothing is read before the test reads. */
class Stream implements AsyncDisposable {
  readonly response: IncomingMessage
  readonly #events: AsyncGenerator<string, void>

  private constructor(response: IncomingMessage) {
    this.response = response
    this.#events = readEventData(response as AsyncIterable<Buffer>, MAX_EVENT_BYTES)
  }

  static async open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Stream> {
    const pending = request({ socketPath: daemon.paths.socket, path, headers })
    pending.end()
    const [response] = (await once(pending, 'response')) as [IncomingMessage]
    expect(response.headers['content-type']).toBe('text/event-stream')
    return new Stream(response)
  }

  async next(): Promise<EventView | null> {
    const { value, done } = await this.#events.next()
    return done ? null : (JSON.parse(value) as EventView)
  }

  async rest(): Promise<EventView[]> {
    const events: EventView[] = []
    for (let event = await this.next(); event !== null; event = await this.next()) events.push(event)
    return events
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.response.destroy()
  }
}

async function readAll(path: string, headers?: Readonly<Record<string, string>>): Promise<EventView[]> {
  await using stream = await Stream.open(path, headers)
  return await stream.rest()
}

const seqsOf = (events: readonly EventView[]): number[] => events.map((event) => event.seq)
const readCursor = async (): Promise<number> => (await daemon.client.get<{ cursor: number }>('/v1/daemon')).cursor

describe('order', () => {
  test('the stream of all processes has every cursor once', async () => {
    for (const { uuid } of await Promise.all([
      daemon.spawnScripted(BUSY.slice(0, 20)),
      daemon.spawnShell('seq 1 2000'),
      daemon.spawnScripted([{ text: 'x' }]),
    ]))
      await daemon.waitForEnd(uuid)
    const events = await readAll('/v1/events?after=0')
    expect(seqsOf(events)).toEqual(Array.from({ length: events.length }, (_, index) => index + 1))
    expect(events.length).toBe(await readCursor())
  })

  test('a reader that reconnects again and again during many facts misses nothing and sees nothing twice', LONG_TEST, async () => {
    const { uuid } = await daemon.spawnScripted(BUSY)
    const events: EventView[] = []
    for (let round = 1; events.at(-1)?.['fact'] !== 'process.reaped'; round += 1) {
      const headers = events.length === 0 ? {} : { 'last-event-id': String(events.at(-1)?.seq) }
      await using stream = await Stream.open(`/v1/processes/${uuid}/events?follow=1&after=0`, headers)
      for (let count = 0; count < round * 7; count += 1) {
        const event = await stream.next()
        if (event === null) break
        events.push(event)
      }
    }
    const journal = await daemon.readHistory(uuid)
    expect(seqsOf(events)).toEqual(seqsOf(journal))
    expect(journal.length).toBeGreaterThan(STEPS * 4)
  })

  test('fifty followers get the same facts, from the first to the last', LONG_TEST, async () => {
    const streams = await Promise.all(Array.from({ length: 50 }, () => Stream.open('/v1/events?follow=1')))
    const { uuid } = await daemon.spawnScripted(BUSY)
    const views = await Promise.all(
      streams.map(async (stream) => {
        await using open = stream
        const processEvents: EventView[] = []
        for (;;) {
          const event = await open.next()
          if (event?.uuid === uuid) processEvents.push(event)
          if (event === null || (event.uuid === uuid && event['fact'] === 'process.reaped')) return seqsOf(processEvents)
        }
      }),
    )
    const storedSeqs = seqsOf(await daemon.readHistory(uuid))
    for (const view of views) expect(view).toEqual(storedSeqs)
  })
})

describe('a slow reader', () => {
  const measureMemory = (): number => {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }

  test('costs less memory than what it has not read, and gets every fact when it reads again', LONG_TEST, async () => {
    const slowStreams = await Promise.all(Array.from({ length: 10 }, () => Stream.open('/v1/events?follow=1')))
    const settledBefore = measureMemory()
    // About 60 MB of facts: ten readers that buffered them would hold ten times that.
    const { uuid } = await daemon.spawnShell(`yes ${'x'.repeat(100)} | head -c 60000000`)
    await daemon.waitForEnd(uuid)
    expect((measureMemory() - settledBefore) / 1_000_000).toBeLessThan(100)
    const storedSeqs = seqsOf(await daemon.readHistory(uuid))
    expect(storedSeqs.length).toBeGreaterThan(500)
    for (const stream of slowStreams.slice(0, 2)) {
      await using open = stream
      const streamSeqs: number[] = []
      while (streamSeqs.length < storedSeqs.length) {
        const event = await open.next()
        if (event?.uuid === uuid) streamSeqs.push(event.seq)
      }
      expect(streamSeqs).toEqual(storedSeqs)
    }
    for (const stream of slowStreams) await stream[Symbol.asyncDispose]()
  })

  test('loses live events, which are not stored, and learns their number', LONG_TEST, async () => {
    const { uuid } = await daemon.spawnScripted(
      [{ tools: [{ name: 'bash', input: { command: 'yes xxxxxxx | head -c 60000000' } }] }, { text: 'end' }],
      { interactive: true },
    )
    await daemon.waitUntilReady(uuid)
    await using stream = await Stream.open(`/v1/processes/${uuid}/events?follow=1&live=1&after=0`)
    await daemon.send(uuid, 'go')
    await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    const events = await stream.rest()
    const gap = events.find((event) => event.type === 'live.gap')
    expect(gap).toMatchObject({ seq: 0, lost: expect.any(Number) })
    expect(Number(gap?.['lost'])).toBeGreaterThan(0)
    expect(events.filter((event) => event.type === 'live.tool-output').length).toBeGreaterThan(0)
    expect(events.findIndex((event) => event.type === 'live.gap')).toBeLessThan(events.findIndex((event) => event.type === 'tool.finished'))
    expect(seqsOf(events.filter((event) => event.seq > 0))).toEqual(seqsOf(await daemon.readHistory(uuid)))
  })

  test('that disconnects while it waits is forgotten', async () => {
    const stream = await Stream.open('/v1/events?follow=1&live=1')
    await stream[Symbol.asyncDispose]()
    const { uuid } = await daemon.spawnShell('echo on')
    expect((await daemon.waitForEnd(uuid)).status).toBe('completed')
  })
})

describe('the start of a stream', () => {
  test('of all processes is the present with `follow`, and the given number of events earlier with `tail`', async () => {
    const cursor = await readCursor()
    await using stream = await Stream.open('/v1/events?follow=1')
    const { uuid } = await daemon.spawnShell('true')
    const first = await stream.next()
    expect(first).toMatchObject({ seq: cursor + 1, uuid, type: 'process.spawned' })
    await daemon.waitForEnd(uuid)
    const lastCursor = await readCursor()
    expect(seqsOf(await readAll('/v1/events?tail=3'))).toEqual([lastCursor - 2, lastCursor - 1, lastCursor])
  })

  test('of one process is its beginning, with `tail` its last events, and with `after` the event after that cursor', async () => {
    const { uuid } = await daemon.spawnShell('echo 1; exit 2')
    await daemon.waitForEnd(uuid)
    const events = await readAll(`/v1/processes/${uuid}/events`)
    expect(events[0]).toMatchObject({
      version: 1,
      uuid,
      type: 'process.spawned',
      fact: 'process.spawned',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*[+-]\d\d:\d\d$/),
    })
    expect(seqsOf(await readAll(`/v1/processes/${uuid}/events?tail=2`))).toEqual(seqsOf(events).slice(-2))
    expect(seqsOf(await readAll(`/v1/processes/${uuid}/events?after=${events[2]?.seq}`))).toEqual(seqsOf(events).slice(3))
    expect(seqsOf(await readAll(`/v1/processes/${uuid}/events?after=0`, { 'last-event-id': String(events[2]?.seq) }))).toEqual(
      seqsOf(events).slice(3),
    )
  })

  test.each(['after=-1', 'after=x', 'after=1.5', 'tail=99999', 'follow=yes', 'since=yesterday', 'before=3'])(
    '?%s is INVALID',
    async (query) => {
      expect(await daemon.sendRaw({ path: `/v1/events?${query}` })).toMatchObject({ status: 400, body: { error: { code: 'INVALID' } } })
    },
  )

  test('a future cursor is INVALID, as its reader would wait for ever', async () => {
    const lastCursor = await readCursor()
    const answer = await daemon.sendRaw({ path: `/v1/events?follow=1&after=${lastCursor + 1_000}` })
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'INVALID', details: { last: lastCursor } } } })
    expect(await daemon.sendRaw({ path: '/v1/events?follow=1', headers: { 'last-event-id': '999999999999' } })).toMatchObject({
      status: 400,
    })
  })
})

describe('the end of a stream', () => {
  test('comes with the followed process, after its last event', async () => {
    const { uuid } = await daemon.spawnShell('sleep 0.2; exit 3')
    const events = await readAll(`/v1/processes/${uuid}/events?follow=1`)
    expect(events.slice(-2)).toMatchObject([{ type: 'process.exited', exit: { code: 3 } }, { type: 'process.reaped' }])
  })

  test('comes at once for an ended process, also behind its last event', async () => {
    const { uuid } = await daemon.spawnShell('true')
    await daemon.waitForEnd(uuid)
    const events = await readAll(`/v1/processes/${uuid}/events?follow=1`)
    expect(events.at(-1)?.type).toBe('process.reaped')
    expect(await readAll(`/v1/processes/${uuid}/events?follow=1&after=${events.at(-1)?.seq}`)).toEqual([])
    expect(await readAll(`/v1/processes/${uuid}/events?follow=1&tail=0`)).toEqual([])
  })

  test('does not come with an earlier incarnation', async () => {
    const { uuid } = await daemon.spawnShell('echo once')
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { rerun: true })
    const events = await readAll(`/v1/processes/${uuid}/events?follow=1`)
    expect(events.filter((event) => event.type === 'process.reaped')).toHaveLength(2)
  })
})

describe('the content of an event', () => {
  test('has live text only on request, and live text has no id', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'spoken' }], { interactive: true })
    await daemon.waitUntilReady(uuid)
    await using live = await Stream.open(`/v1/processes/${uuid}/events?follow=1&live=1`)
    await using plain = await Stream.open(`/v1/processes/${uuid}/events?follow=1`)
    await daemon.send(uuid, 'speak')
    await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')
    await daemon.signal(uuid, 'SIGKILL')
    const [liveEvents, storedEvents] = await Promise.all([live.rest(), plain.rest()])
    expect(liveEvents.filter((event) => event.seq === 0)).toMatchObject([{ type: 'live.text', uuid, text: 'spoken', step: 1 }])
    expect(seqsOf(liveEvents.filter((event) => event.seq > 0))).toEqual(seqsOf(storedEvents))
  })

  test('has a spec without environment and role prompt, and a coarse type beside the fact', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'x' }], { env: { PATH: '/bin', VISIBLE: 'environment-value' } })
    await daemon.waitForEnd(uuid)
    const events = await daemon.readHistory(uuid)
    expect(JSON.stringify(events)).not.toContain('environment-value')
    expect(events[0]?.['spec']).not.toHaveProperty('system')
    expect(events.map((event) => event.type)).toEqual([
      'process.spawned',
      'process.queue',
      'process.status',
      'process.ready',
      'process.incoming',
      'process.working',
      'step.started',
      'step.finished',
      'process.ready',
      'process.exited',
      'process.reaped',
    ])
  })
})

test('a stream can be limited to some types, and shortens texts with `brief`', async () => {
  const { uuid } = await daemon.spawnShell('head -c 9000 /dev/zero | tr "\\0" x', { name: 'loud' })
  await daemon.waitForEnd(uuid)
  const read = async (query: Record<string, string | number>): Promise<EventView[]> => {
    const events: EventView[] = []
    for await (const event of daemon.client.events(`/v1/processes/${uuid}/events`, { query: { after: 0, ...query } })) events.push(event)
    return events
  }
  const facts = (events: readonly EventView[]): unknown[] => [...new Set(events.map(({ fact }) => fact))]
  expect(facts(await read({ types: 'process.output,process.exited' }))).toEqual(['process.output', 'process.exited'])
  const [brief] = await read({ types: 'process.output', brief: 1 })
  expect(String(brief?.['text'])).toMatch(/^x{2048}\[… \d+ more characters\]$/)
  const [whole] = await read({ types: 'process.output' })
  expect(String(whole?.['text']).length).toBeGreaterThan(2_100)
  await expect(read({ types: 'process.outputs' })).rejects.toThrow('no event has the type "process.outputs"')
})
