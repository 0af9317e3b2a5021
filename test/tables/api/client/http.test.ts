// The client of the API over a real Unix socket: bodies with a length, with chunks and without both, errors, broken connections, and
// streams that survive a broken connection.
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ApiError } from '../../../../src/api/client/api-error.ts'
import { Client } from '../../../../src/api/client/client.ts'
import { readEventData, readRowEvents } from '../../../../src/api/client/event-stream.ts'
import { connect, type EventView, type Reeve } from '../../../../src/index.ts'
import { startFakeDaemon, refusedAnswer } from '../../../support/daemon/fake-daemon.ts'
import { factEvent, processView, endedView } from '../../../support/daemon/process-view.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'
import { waitUntil } from '../../../support/wait-until.ts'

let dir: TempDir
let reeve: Reeve
beforeEach(async () => {
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
})
afterEach(async () => dir[Symbol.asyncDispose]())

/** A server that answers every request with these bytes, and then ends or breaks the connection. */
async function startRawServer(pieces: readonly string[], end: 'end' | 'hold' | 'break' = 'end'): Promise<AsyncDisposable> {
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
  return {
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

const newClient = (): Client => new Client({ socketPath: () => join(dir.path, 'reeve.sock') })

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

async function rejectionOf(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ApiError)
  return error as ApiError
}

describe('an answer', () => {
  test.each([
    ['with a length', ['HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"a":', '"é"}', '\n']],
    ['cut inside a character', ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"a":"é"}']],
    ['up to the end', ['HTTP/1.1 200 OK\r\n\r\n{"a"', ':"é"}']],
    ['in chunks', ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n', '7;x=y\r\n":"é"}\r\n0\r\n\r\n']],
    [
      'in chunks cut anywhere',
      ['HTTP/1.1 2', '00 OK\r', '\nTransfer-Encoding: chunked\r\n\r\n', '3', '\r\n{"', 'a\r', '\n7\r\n":"é"}\r\n', '0\r\n\r\n'],
    ],
  ])('%s is read', async (_, pieces) => {
    await using _server = await startRawServer(pieces)
    expect(await newClient().get('/')).toEqual({ a: 'é' })
  })

  test('with a known length is complete before the connection ends', async () => {
    await using _server = await startRawServer(['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'], 'hold')
    expect(await newClient().get('/')).toEqual({})
  })

  test.each([
    ['not HTTP', ['SSH-2.0-OpenSSH\r\n']],
    ['empty', []],
    ['cut in its head', ['HTTP/1.1 200 OK\r\ncontent-le']],
    ['cut in its body', ['HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{"a":']],
    ['cut in a chunk', ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{"a"']],
    ['in chunks without size', ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n']],
    ['a head without end', [`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(200)}`]],
    ['a line without end', [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`]],
  ])('that is %s is UNAVAILABLE', async (_, pieces) => {
    await using _server = await startRawServer(pieces)
    expect((await rejectionOf(newClient().get('/'))).code).toBe('UNAVAILABLE')
  })
})

describe('errors of a request', () => {
  test('have the code, message, hint and exit code that the daemon gives', async () => {
    await using _daemon = await startFakeDaemon(dir.path, {
      'GET /v1/processes/5': () => refusedAnswer('AMBIGUOUS', '"5" may be any of two'),
    })
    const error = await rejectionOf(reeve.get('5'))
    expect([error.code, error.message, error.exit]).toEqual(['AMBIGUOUS', '"5" may be any of two', 3])
    expect(error.hint).not.toBe('')
  })

  test('whose body is not from the daemon are INTERNAL', async () => {
    await using _server = await startRawServer(['HTTP/1.1 502 Bad Gateway\r\n\r\noops'])
    expect(await rejectionOf(newClient().get('/'))).toMatchObject({ code: 'INTERNAL', message: 'the daemon answered 502: oops' })
  })

  test('are UNAVAILABLE if no daemon listens', async () => {
    expect(await rejectionOf(reeve.list())).toMatchObject({ code: 'UNAVAILABLE', exit: 4 })
  })
})

describe('the start of the daemon by the client', () => {
  test('happens if no daemon listens, and the request follows', async () => {
    let daemon: AsyncDisposable | undefined
    const start = async (): Promise<void> => {
      daemon = await startFakeDaemon(dir.path, { 'GET /x': () => ({ json: { ok: true } }) })
    }
    expect(await new Client({ socketPath: () => join(dir.path, 'reeve.sock'), start }).get('/x')).toEqual({ ok: true })
    await daemon?.[Symbol.asyncDispose]()
  })

  test('does not happen for a broken wait, which another daemon may answer', async () => {
    let requestCount = 0
    await using _daemon = await startFakeDaemon(dir.path, {
      'GET /x': () => (++requestCount < 3 ? { events: [], then: 'break' } : { json: { ok: true } }),
    })
    const start = async (): Promise<void> => {
      throw new Error('started')
    }
    const client = new Client({ socketPath: () => join(dir.path, 'reeve.sock'), start })
    expect((await rejectionOf(client.get('/x'))).code).toBe('UNAVAILABLE')
    expect([await client.get('/x', {}, { isRepeatable: true }), requestCount]).toEqual([{ ok: true }, 3])
  })

  test('does not happen after a request that may have been received', async () => {
    await using _server = await startRawServer([], 'break')
    let startCount = 0
    const start = async (): Promise<void> => {
      startCount += 1
    }
    const error = await rejectionOf(new Client({ socketPath: () => join(dir.path, 'reeve.sock'), start }).post('/x', {}))
    expect([error.code, startCount]).toEqual(['UNAVAILABLE', 0])
  })
})

describe('events', () => {
  const firstEvent = factEvent(1, { type: 'process.note', text: 'é' })
  const secondEvent = factEvent(2, { type: 'process.note', text: 'b\nc' })
  const lastEvent = factEvent(3, { type: 'process.reaped' })
  const route = 'GET /v1/processes/5/events'

  test('end after the last recorded event', async () => {
    await using daemon = await startFakeDaemon(dir.path, { [route]: () => ({ events: [firstEvent, secondEvent], then: 'end' }) })
    expect(await collect(reeve.events({ process: '5', after: 0 }))).toEqual([firstEvent, secondEvent])
    expect(daemon.requests[0]?.headers.accept).toBe('text/event-stream')
  })

  test('continue after a broken connection, with each event once', async () => {
    const eventsByCursor: Record<string, readonly EventView[]> = { 0: [firstEvent], 1: [secondEvent], 2: [lastEvent] }
    await using daemon = await startFakeDaemon(dir.path, {
      [route]: ({ query }) => ({
        events: eventsByCursor[query.get('after') ?? ''] ?? [],
        then: query.get('after') === '2' ? 'end' : 'break',
      }),
    })
    expect(await collect(reeve.events({ process: '5', after: 0, follow: true }))).toEqual([firstEvent, secondEvent, lastEvent])
    expect(daemon.requests.map(({ headers }) => headers['last-event-id'])).toEqual(['0', '1', '2'])
  })

  test('are accompanied by reports when no daemon answers, and when one answers again', async () => {
    const firstDaemon = await startFakeDaemon(dir.path, { [route]: () => ({ events: [firstEvent], then: 'open' }) })
    const linkChanges: boolean[] = []
    const receivedEvents: EventView[] = []
    let secondDaemon: Promise<AsyncDisposable> | undefined
    const onLink = (isUp: boolean): void => {
      linkChanges.push(isUp)
      if (!isUp) secondDaemon = startFakeDaemon(dir.path, { [route]: () => ({ events: [lastEvent], then: 'end' }) })
    }
    for await (const event of reeve.events({ process: '5', after: 0, follow: true, onLink })) {
      receivedEvents.push(event)
      if (event === receivedEvents[0]) await firstDaemon[Symbol.asyncDispose]()
    }
    await using _after = await secondDaemon
    expect([receivedEvents, linkChanges]).toEqual([
      [firstEvent, lastEvent],
      [false, true],
    ])
  })

  test('that break without follow are an error', async () => {
    await using _daemon = await startFakeDaemon(dir.path, { [route]: () => ({ events: [firstEvent], then: 'break' }) })
    expect((await rejectionOf(collect(reeve.events({ process: '5' })))).code).toBe('UNAVAILABLE')
  })

  test('end with the last event of an ended process', async () => {
    await using daemon = await startFakeDaemon(dir.path, { [route]: () => ({ events: [lastEvent], then: 'end' }) })
    expect(await collect(reeve.events({ process: '5', follow: true }))).toEqual([lastEvent])
    expect(daemon.requests).toHaveLength(1)
  })

  test('end when the daemon ends the stream; only a broken connection is opened again', async () => {
    await using daemon = await startFakeDaemon(dir.path, { [route]: () => ({ events: [firstEvent], then: 'end' }) })
    expect(await collect(reeve.events({ process: '5', follow: true }))).toEqual([firstEvent])
    expect(daemon.requests).toHaveLength(1)
  })

  test('end when the signal aborts, and close the connection', async () => {
    await using daemon = await startFakeDaemon(dir.path, { [route]: () => ({ events: [firstEvent], then: 'open' }) })
    const abort = new AbortController()
    const receivedEvents: EventView[] = []
    for await (const event of reeve.events({ process: '5', follow: true, signal: abort.signal })) {
      receivedEvents.push(event)
      abort.abort()
    }
    expect(receivedEvents).toEqual([firstEvent])
    await waitUntil(async () => (await daemon.countConnections()) === 0, 'the client closes its connection')
  })

  test('that the daemon refuses are an error at once', async () => {
    await using daemon = await startFakeDaemon(dir.path, { [route]: () => refusedAnswer('COLLECTED', 'it was removed') })
    expect((await rejectionOf(collect(reeve.events({ process: '5', after: 1, follow: true })))).code).toBe('COLLECTED')
    expect(daemon.requests).toHaveLength(1)
  })

  test('are split only at newlines, for any division into chunks', async () => {
    const bytes = Buffer.from('id: 1\nevent: x\ndata: "é\\u2028\u2028"\n\n: comment\n\ndata: a\r\ndata:b\r\n\r\n')
    for (let splitAt = 0; splitAt <= bytes.length; splitAt++) {
      const pieces = (async function* () {
        yield bytes.subarray(0, splitAt)
        yield bytes.subarray(splitAt)
      })()
      expect(await collect(readEventData(pieces))).toEqual(['"é\\u2028\u2028"', 'a\nb'])
    }
  })

  test('of rows are split only at newlines, too', async () => {
    const bytes = Buffer.from('id: 1\nevent: x\ndata: {"rows":[{"uuid":"é\u2028"},{}],"seq":1}\n\n: comment\n\ndata:{"seq":2}\r\n\r\n')
    for (let splitAt = 0; splitAt <= bytes.length; splitAt++) {
      const pieces = (async function* () {
        yield bytes.subarray(0, splitAt)
        yield bytes.subarray(splitAt)
      })()
      expect(await collect(readRowEvents(pieces))).toEqual([{ rows: [{ uuid: 'é\u2028' }, {}], seq: 1 }, { seq: 2 }])
    }
  })

  test('that are too long are refused', async () => {
    const endless = async function* (): AsyncGenerator<Buffer> {
      for (;;) yield Buffer.alloc(1000, 'x')
    }
    for (const read of [readEventData, readRowEvents]) {
      await expect(collect(read(endless(), 10_000))).rejects.toThrow('longer than 10000 bytes')
    }
  })
})

describe('the library', () => {
  test('encodes any name of a process in a path', async () => {
    await using _daemon = await startFakeDaemon(dir.path, { 'GET /v1/processes/a/b ?#é': () => ({ json: { process: processView() } }) })
    expect((await reeve.get('a/b ?#é')).pid).toBe(5)
  })

  test('sends its directory and its environment with a spawn', async () => {
    await using daemon = await startFakeDaemon(dir.path, {
      'POST /v1/processes': () => ({ status: 201, json: { process: processView() } }),
    })
    await reeve.spawn({ intent: 'x' })
    expect(daemon.requests[0]?.body).toMatchObject({ intent: 'x', cwd: process.cwd(), env: { PATH: process.env['PATH'] } })
  })

  test('sends further requests until the time limit of a wait', async () => {
    let pollCount = 0
    await using daemon = await startFakeDaemon(dir.path, {
      'GET /v1/processes/5/wait': () => ({
        json: ++pollCount < 3 ? { process: processView(), timedOut: true } : { process: endedView(0), timedOut: false },
      }),
    })
    expect(await reeve.wait('5', { timeoutMs: 200_000 })).toMatchObject({ timedOut: false, process: { state: 'dead' } })
    expect(daemon.requests.map(({ query }) => query.get('for'))).toEqual(['exited', 'exited', 'exited'])
    pollCount = 0
    expect(await reeve.wait('5', { timeoutMs: 0 })).toMatchObject({ timedOut: true })
  })

  test('reports a slow answer, but not that of a long poll', async () => {
    const open: ServerResponse[] = []
    const hold = () => ({ stream: (response: ServerResponse) => void open.push(response) })
    await using _daemon = await startFakeDaemon(dir.path, {
      'GET /v1/processes/5/wait': hold,
      'GET /v1/web/links/a/wait': hold,
      'GET /v1/processes': hold,
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      let slowCount = 0
      const watched = connect({ home: dir.path, start: false, onSlow: () => (slowCount += 1) })
      const counts: number[] = []
      for (const call of [() => watched.wait('5'), () => watched.web.waitForLink('a'), () => watched.list()]) {
        const answered = call()
        while (open.length === counts.length) await turn()
        vi.advanceTimersByTime(2_000)
        counts.push(slowCount)
        open.at(-1)?.end('{"processes":[]}')
        await answered
      }
      expect(counts).toEqual([0, 0, 1])
    } finally {
      vi.useRealTimers()
    }
  })

  test('returns the number of processes', async () => {
    const processes = { live: 1, suspended: 2, max: 3 }
    await using _daemon = await startFakeDaemon(dir.path, { 'GET /v1/daemon': () => ({ json: { processes } }) })
    expect(await reeve.count()).toEqual(processes)
  })
})

describe('a server that accepts connections and does not answer', () => {
  test('counts as hanging, if it does not answer the second request either', async () => {
    await using _ = await startRawServer([], 'hold')
    const startMs = performance.now()
    const error = await rejectionOf(reeve.list())
    expect([error.code, error.exit, error.message]).toEqual([
      'HANGS',
      4,
      'the daemon has been hanging for more than 5 s: it accepts connections but does not answer',
    ])
    expect(performance.now() - startMs).toBeLessThan(15_000)
  })

  test('counts as slow, if it answers the second request', async () => {
    const paths: string[] = []
    const server = createServer((socket) => {
      socket.once('data', (data) => {
        const path = String(data).split(' ')[1] ?? ''
        paths.push(path)
        if (path === '/v1/daemon') {
          socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
          // The first request was examined, so the second one has waited for long enough.
          openSocket?.end('HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{"processes":[]}')
        } else openSocket = socket
      })
    })
    let openSocket: Socket | undefined
    await new Promise<void>((resolve) => server.listen(join(dir.path, 'reeve.sock'), resolve))
    expect(await reeve.list()).toEqual([])
    expect(paths).toEqual([expect.stringContaining('/v1/processes'), '/v1/daemon'])
    await new Promise((resolve) => server.close(resolve))
  })
})
