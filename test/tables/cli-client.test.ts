// The client of the API over a real Unix socket: answers in every framing, errors, broken links, and streams that go on
// where they broke off.
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiError, Client } from '../../src/api/client.ts'
import { eventData } from '../../src/api/client-events.ts'
import { connect, type EventView, type Reeve } from '../../src/index.ts'
import { factEvent, fakeDaemon, processView, refusal, endedView } from '../support/fake-daemon.ts'
import { tempDir, type TempDir } from '../support/tmp.ts'

let dir: TempDir
let reeve: Reeve
beforeEach(async () => {
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
})
afterEach(async () => dir[Symbol.asyncDispose]())

/** A server that answers every request with these pieces, as they are, and then ends or breaks the connection. */
async function rawServer(pieces: readonly string[], end: 'end' | 'hold' | 'break' = 'end'): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', async () => {
      for (const piece of pieces) await new Promise<void>((resolve) => socket.write(piece, () => setImmediate(resolve)))
      if (end === 'end') socket.end()
      if (end === 'break') socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(join(dir.path, 'reeve.sock'), resolve))
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => {
    for (const socket of sockets) socket.destroy()
    server.close(() => resolve())
  }) }
}

const client = (): Client => new Client({ socketPath: () => join(dir.path, 'reeve.sock') })

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

async function rejection(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(() => undefined, (thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ApiError)
  return error as ApiError
}

describe('an answer', () => {
  test.each([
    ['with a length', ['HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"a":', '"é"}', '\n']],
    ['cut inside a character', ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"a":"é"}']],
    ['up to the end', ['HTTP/1.1 200 OK\r\n\r\n{"a"', ':"é"}']],
    ['in chunks', ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n', '7;x=y\r\n":"é"}\r\n0\r\n\r\n']],
    ['in chunks cut anywhere', ['HTTP/1.1 2', '00 OK\r', '\nTransfer-Encoding: chunked\r\n\r\n', '3', '\r\n{"', 'a\r', '\n7\r\n":"é"}\r\n', '0\r\n\r\n']],
  ])('%s is read', async (_, pieces) => {
    await using _server = await rawServer(pieces)
    expect(await client().get('/')).toEqual({ a: 'é' })
  })

  test('that does not end is not waited for when its length is known', async () => {
    await using _server = await rawServer(['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'], 'hold')
    expect(await client().get('/')).toEqual({})
  })

  test.each([
    ['no HTTP', ['SSH-2.0-OpenSSH\r\n']],
    ['empty', []],
    ['cut in its head', ['HTTP/1.1 200 OK\r\ncontent-le']],
    ['cut in its body', ['HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"a":']],
    ['cut in a chunk', ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{"a"']],
    ['in chunks without size', ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n']],
    ['a head without end', [`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(200)}`]],
    ['a line without end', [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`]],
  ])('that is %s is UNAVAILABLE', async (_, pieces) => {
    await using _server = await rawServer(pieces)
    expect((await rejection(client().get('/'))).code).toBe('UNAVAILABLE')
  })
})

describe('errors', () => {
  test('have the code, message, hint and exit code that the daemon gives', async () => {
    await using _daemon = await fakeDaemon(dir.path, { 'GET /v1/processes/5': () => refusal('AMBIGUOUS', '"5" may be any of two') })
    const error = await rejection(reeve.get('5'))
    expect([error.code, error.message, error.exit]).toEqual(['AMBIGUOUS', '"5" may be any of two', 3])
    expect(error.hint).not.toBe('')
  })

  test('without a body of ours are INTERNAL', async () => {
    await using _server = await rawServer(['HTTP/1.1 502 Bad Gateway\r\n\r\noops'])
    expect(await rejection(client().get('/'))).toMatchObject({ code: 'INTERNAL', message: 'the daemon answered 502: oops' })
  })

  test('say when nobody listens', async () => {
    expect(await rejection(reeve.list())).toMatchObject({ code: 'UNAVAILABLE', exit: 4 })
  })
})

describe('starting the daemon', () => {
  test('happens when nobody listens, and the request is made then', async () => {
    let daemon: AsyncDisposable | undefined
    const start = async (): Promise<void> => {
      daemon = await fakeDaemon(dir.path, { 'GET /x': () => ({ json: { ok: true } }) })
    }
    expect(await new Client({ socketPath: () => join(dir.path, 'reeve.sock'), start }).get('/x')).toEqual({ ok: true })
    await daemon?.[Symbol.asyncDispose]()
  })

  test('does not happen when a wait is left alone: another daemon may answer it', async () => {
    let asked = 0
    await using _daemon = await fakeDaemon(dir.path, { 'GET /x': () => (++asked < 3 ? { events: [], then: 'break' } : { json: { ok: true } }) })
    const start = async (): Promise<void> => {
      throw new Error('started')
    }
    const both = new Client({ socketPath: () => join(dir.path, 'reeve.sock'), start })
    expect((await rejection(both.get('/x'))).code).toBe('UNAVAILABLE')
    expect([await both.get('/x', {}, { again: true }), asked]).toEqual([{ ok: true }, 3])
  })

  test('does not happen after a request that may have been received', async () => {
    await using _server = await rawServer([], 'break')
    let starts = 0
    const start = async (): Promise<void> => {
      starts += 1
    }
    const error = await rejection(new Client({ socketPath: () => join(dir.path, 'reeve.sock'), start }).post('/x', {}))
    expect([error.code, starts]).toEqual(['UNAVAILABLE', 0])
  })
})

describe('events', () => {
  const first = factEvent(1, { type: 'process.note', text: 'é' })
  const second = factEvent(2, { type: 'process.note', text: 'b\nc' })
  const last = factEvent(3, { type: 'process.reaped' })
  const route = 'GET /v1/processes/5/events'

  test('end at the present', async () => {
    await using daemon = await fakeDaemon(dir.path, { [route]: () => ({ events: [first, second], then: 'end' }) })
    expect(await all(reeve.events({ process: '5', after: 0 }))).toEqual([first, second])
    expect(daemon.requests[0]?.headers.accept).toBe('text/event-stream')
  })

  test('go on after a broken link from where they were, each once', async () => {
    const parts: Record<string, readonly EventView[]> = { 0: [first], 1: [second], 2: [last] }
    await using daemon = await fakeDaemon(dir.path, {
      [route]: ({ query }) => ({ events: parts[query.get('after') ?? ''] ?? [], then: query.get('after') === '2' ? 'end' : 'break' }),
    })
    expect(await all(reeve.events({ process: '5', after: 0, follow: true }))).toEqual([first, second, last])
    expect(daemon.requests.map(({ headers }) => headers['last-event-id'])).toEqual(['0', '1', '2'])
  })

  test('tell when nobody answers, and when somebody does again', async () => {
    const before = await fakeDaemon(dir.path, { [route]: () => ({ events: [first], then: 'open' }) })
    const told: boolean[] = []
    const seen: EventView[] = []
    let after: Promise<AsyncDisposable> | undefined
    const onLink = (isUp: boolean): void => {
      told.push(isUp)
      if (!isUp) after = fakeDaemon(dir.path, { [route]: () => ({ events: [last], then: 'end' }) })
    }
    for await (const event of reeve.events({ process: '5', after: 0, follow: true, onLink })) {
      seen.push(event)
      if (event === seen[0]) await before[Symbol.asyncDispose]()
    }
    await using _after = await after
    expect([seen, told]).toEqual([[first, last], [false, true]])
  })

  test('that break without follow are an error', async () => {
    await using _daemon = await fakeDaemon(dir.path, { [route]: () => ({ events: [first], then: 'break' }) })
    expect((await rejection(all(reeve.events({ process: '5' })))).code).toBe('UNAVAILABLE')
  })

  test('of a process that ended are over when the stream is', async () => {
    await using daemon = await fakeDaemon(dir.path, { [route]: () => ({ events: [last], then: 'end' }) })
    expect(await all(reeve.events({ process: '5', follow: true }))).toEqual([last])
    expect(daemon.requests).toHaveLength(1)
  })

  test('that the daemon ends are over, whatever came last; only a broken link is tried again', async () => {
    await using daemon = await fakeDaemon(dir.path, { [route]: () => ({ events: [first], then: 'end' }) })
    expect(await all(reeve.events({ process: '5', follow: true }))).toEqual([first])
    expect(daemon.requests).toHaveLength(1)
  })

  test('end when the signal aborts, and close the connection', async () => {
    await using _daemon = await fakeDaemon(dir.path, { [route]: () => ({ events: [first], then: 'open' }) })
    const leave = new AbortController()
    const seen: EventView[] = []
    for await (const event of reeve.events({ process: '5', follow: true, signal: leave.signal })) {
      seen.push(event)
      leave.abort()
    }
    expect(seen).toEqual([first])
  })

  test('that are refused are an error at once', async () => {
    await using daemon = await fakeDaemon(dir.path, { [route]: () => refusal('COLLECTED', 'it was removed') })
    expect((await rejection(all(reeve.events({ process: '5', after: 1, follow: true })))).code).toBe('COLLECTED')
    expect(daemon.requests).toHaveLength(1)
  })

  test('are split on newlines alone, wherever the bytes are cut', async () => {
    const bytes = Buffer.from('id: 1\nevent: x\ndata: "é\\u2028\u2028"\n\n: comment\n\ndata: a\r\ndata:b\r\n\r\n')
    for (let cut = 0; cut <= bytes.length; cut++) {
      const pieces = (async function* () {
        yield bytes.subarray(0, cut)
        yield bytes.subarray(cut)
      })()
      expect(await all(eventData(pieces))).toEqual(['"é\\u2028\u2028"', 'a\nb'])
    }
  })

  test('that are too long are refused', async () => {
    const endless = (async function* () {
      for (;;) yield Buffer.alloc(1000, 'x')
    })()
    await expect(all(eventData(endless, 10_000))).rejects.toThrow('longer than 10000 bytes')
  })
})

describe('the library', () => {
  test('names a process in a path however it is called', async () => {
    await using _daemon = await fakeDaemon(dir.path, { 'GET /v1/processes/a/b ?#é': () => ({ json: { process: processView() } }) })
    expect((await reeve.get('a/b ?#é')).pid).toBe(5)
  })

  test('sends where it is and its environment with a spawn', async () => {
    await using daemon = await fakeDaemon(dir.path, { 'POST /v1/processes': () => ({ status: 201, json: { process: processView() } }) })
    await reeve.spawn({ intent: 'x' })
    expect(daemon.requests[0]?.body).toMatchObject({ intent: 'x', cwd: process.cwd(), env: { PATH: process.env['PATH'] } })
  })

  test('waits on when one poll is over, until its own time is', async () => {
    let polls = 0
    await using daemon = await fakeDaemon(dir.path, {
      'GET /v1/processes/5/wait': () => ({ json: ++polls < 3 ? { process: processView(), timedOut: true } : { process: endedView(0), timedOut: false } }),
    })
    expect(await reeve.wait('5', { timeoutMs: 200_000 })).toMatchObject({ timedOut: false, process: { state: 'dead' } })
    expect(daemon.requests.map(({ query }) => query.get('for'))).toEqual(['exited', 'exited', 'exited'])
    polls = 0
    expect(await reeve.wait('5', { timeoutMs: 0 })).toMatchObject({ timedOut: true })
  })

  test('counts', async () => {
    const processes = { live: 1, suspended: 2, max: 3 }
    await using _daemon = await fakeDaemon(dir.path, { 'GET /v1/daemon': () => ({ json: { processes } }) })
    expect(await reeve.count()).toEqual(processes)
  })
})
