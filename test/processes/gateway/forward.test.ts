// Requests and answers pass the gateway unchanged, with all kinds of HTTP behaviour of providers: bytes, back-pressure, the ends of
// connections and keep-alive. Bodies may be compressed, very large, and many at once.
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { GatewayHarness, PROVIDER_KEY, sendRequest, readBody, startRawProvider } from '../../support/agents/gateway-harness.ts'
import { bodyOf } from '../../support/models/model-server.ts'

const MIB = 1024 * 1024
const BODY = '{"model":"m","max_tokens":1000}'
const STREAM = { 'content-type': 'text/event-stream' }
const USED = { input: 100, output: 20 }
const EVENTS = bodyOf({ text: 'hello', usage: USED }, '/v1/messages')

const authHeaders = (harness: GatewayHarness): Record<string, string> => ({ 'x-api-key': harness.access.token })

describe('bytes', () => {
  test('status, reason phrase, headers and bodies stay unchanged', async () => {
    const body = randomBytes(100_000)
    await using provider = await startRawProvider((request, response) => {
      readBody(request).then(
        (receivedBody) => {
          response.sendDate = false
          response.writeHead(418, 'I am one', [
            'X-Two',
            'a',
            'X-Two',
            'b',
            'Content-Type',
            'application/octet-stream',
            'Content-Length',
            String(receivedBody.length),
            'Date',
            'some day',
          ])
          response.end(receivedBody)
        },
        () => response.destroy(),
      )
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const gatewayResponse = await sendRequest(harness.url('anthropic', '/v1/messages?beta=true'), { headers: authHeaders(harness), body })
    expect(gatewayResponse.status).toBe(418)
    expect(gatewayResponse.rawHeaders.slice(0, 10)).toEqual([
      'X-Two',
      'a',
      'X-Two',
      'b',
      'Content-Type',
      'application/octet-stream',
      'Content-Length',
      String(body.length),
      'Date',
      'some day',
    ])
    expect(gatewayResponse.body.equals(body)).toBe(true)
  })

  test('a request that costs nothing is passed on without a report to the kernel', async () => {
    const seenPaths: string[] = []
    await using provider = await startRawProvider((request, response) => {
      seenPaths.push(`${request.method} ${request.url} ${request.headers['x-api-key']}`)
      request.resume()
      response.end('{"data":[]}')
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    expect(
      (await sendRequest(harness.url('anthropic', '/v1/models?limit=3'), { method: 'GET', headers: authHeaders(harness) })).body.toString(),
    ).toBe('{"data":[]}')
    expect(
      (await sendRequest(harness.url('anthropic', '/v1/messages/count_tokens'), { headers: authHeaders(harness), body: BODY })).status,
    ).toBe(200)
    expect((await sendRequest(harness.url('anthropic', ''), { method: 'HEAD', headers: authHeaders(harness) })).status).toBe(200)
    expect(seenPaths).toEqual([
      `GET /v1/models?limit=3 ${PROVIDER_KEY}`,
      `POST /v1/messages/count_tokens ${PROVIDER_KEY}`,
      `HEAD / ${PROVIDER_KEY}`,
    ])
    expect([harness.callRequests, harness.reports]).toEqual([[], []])
  })

  test('a request of unknown cost is refused', async () => {
    await using harness = await GatewayHarness.open({ urls: { openai: 'http://127.0.0.1:1' } })
    const gatewayResponse = await sendRequest(harness.url('openai', '/embeddings'), { headers: authHeaders(harness), body: '{}' })
    expect([gatewayResponse.status, gatewayResponse.body.toString()]).toEqual([
      404,
      expect.stringContaining('POST /v1/embeddings is not passed on'),
    ])
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('an answer compressed with %s stays compressed, and is counted', async (name, pack) => {
    const compressedBody = pack(EVENTS)
    await using provider = await startRawProvider((request, response) => {
      request.resume()
      response.writeHead(200, { ...STREAM, 'content-encoding': name, 'x-asked': request.headers['accept-encoding'] ?? '' })
      response.write(compressedBody.subarray(0, 20))
      setImmediate(() => response.end(compressedBody.subarray(20)))
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const gatewayResponse = await sendRequest(harness.url('anthropic', '/v1/messages'), {
      headers: { ...authHeaders(harness), 'accept-encoding': 'gzip, br' },
      body: BODY,
    })
    expect([
      gatewayResponse.body.equals(compressedBody),
      gatewayResponse.headers['x-asked'],
      gatewayResponse.headers['content-encoding'],
    ]).toEqual([true, 'gzip, br', name])
    await harness.waitForCalls(1)
    expect(harness.finishedCalls).toMatchObject([{ usage: { inputTokens: 100, outputTokens: 20 } }])
  })

  test('a compressed request is passed on unchanged, and is read all the same', async () => {
    const compressedBody = zstdCompressSync(Buffer.from('{"model":"packed","max_tokens":5000}'))
    const receivedBodies: Buffer[] = []
    await using provider = await startRawProvider((request, response) => {
      readBody(request).then(
        (body) => {
          receivedBodies.push(body)
          response.writeHead(200, STREAM).end(EVENTS)
        },
        () => response.destroy(),
      )
    })
    let maxOutputTokens = 5_000
    await using harness = await GatewayHarness.open({
      urls: { anthropic: provider.url },
      decide: () => ({ ack: 'go', maxOutputTokens }),
    })
    const send = (): ReturnType<typeof sendRequest> =>
      sendRequest(harness.url('anthropic', '/v1/messages'), {
        headers: { ...authHeaders(harness), 'content-encoding': 'zstd' },
        body: compressedBody,
      })
    await send()
    maxOutputTokens = 2_000
    await send()
    expect(harness.callRequests.map(({ model, ask: { maxOutputTokens } }) => [model, maxOutputTokens])).toEqual([
      ['packed', 5_000],
      ['packed', 5_000],
    ])
    expect(receivedBodies[0]?.equals(compressedBody)).toBe(true)
    expect(receivedBodies[1]?.toString()).toBe('{"model":"packed","max_tokens":2000}')
  })

  test('a request of 20 MB is passed on; one that exceeds the limit is refused', async () => {
    let bytes = 0
    await using provider = await startRawProvider((request, response) => {
      readBody(request).then(
        (body) => {
          bytes = body.length
          response.writeHead(200, STREAM).end(EVENTS)
        },
        () => response.destroy(),
      )
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const largeBody = Buffer.concat([Buffer.from('{"model":"m","x":"'), Buffer.alloc(20 * MIB, 'a'), Buffer.from('","max_tokens":77}')])
    expect((await sendRequest(harness.url('anthropic', '/v1/messages'), { headers: authHeaders(harness), body: largeBody })).status).toBe(
      200,
    )
    expect([bytes, harness.callRequests[0]?.ask.maxOutputTokens]).toEqual([largeBody.length, 77])
    const refusal = await sendRequest(harness.url('anthropic', '/v1/messages'), {
      headers: { ...authHeaders(harness), 'content-length': String(65 * MIB) },
    }).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ status: 413 })
  })
})

describe('ends', () => {
  test('the request of a client that closes its connection is cancelled, and the received part of its answer is charged', async () => {
    const providerAborted = Promise.withResolvers<void>()
    await using provider = await startRawProvider((request, response) => {
      request.resume()
      response.once('close', () => providerAborted.resolve())
      response.writeHead(200, STREAM).write(EVENTS.subarray(0, EVENTS.length - 200))
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const abortController = new AbortController()
    const pendingCall = sendRequest(harness.url('anthropic', '/v1/messages'), {
      headers: authHeaders(harness),
      body: BODY,
      signal: abortController.signal,
      onResponse: (answer) => answer.once('data', () => abortController.abort()),
    })
    await expect(pendingCall).rejects.toThrow('aborted')
    await providerAborted.promise
    await harness.waitForCalls(1)
    expect(harness.finishedCalls).toMatchObject([{ status: 200, usage: { inputTokens: 100, estimated: true } }])
  })

  test('the request of a client that closes its connection before an answer is charged', async () => {
    const [arrived, providerAborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await using provider = await startRawProvider((request, response) => {
      response.once('close', () => providerAborted.resolve())
      request.resume().once('end', () => arrived.resolve())
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const abortController = new AbortController()
    const pendingCall = sendRequest(harness.url('anthropic', '/v1/messages'), {
      headers: authHeaders(harness),
      body: BODY,
      signal: abortController.signal,
    })
    await arrived.promise
    abortController.abort()
    await expect(pendingCall).rejects.toThrow('aborted')
    await providerAborted.promise
    await harness.waitForCalls(1)
    expect(harness.finishedCalls).toMatchObject([
      {
        status: null,
        usage: { inputTokens: Math.ceil(BODY.length / 4), outputTokens: 0, costUsd: Math.ceil(BODY.length / 4) * 0.001, estimated: true },
      },
    ])
  })

  test.each([
    ['chunked', {}],
    ['with its length', { 'content-length': '100000' }],
  ])('a cut answer %s is cut for the client', async (_, headers) => {
    await using provider = await startRawProvider((request, response) => {
      request.resume()
      response.writeHead(200, { ...STREAM, ...headers }).write(EVENTS, () => response.socket?.destroy())
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const gatewayResponse = await sendRequest(harness.url('anthropic', '/v1/messages'), { headers: authHeaders(harness), body: BODY })
    expect([gatewayResponse.isCut, gatewayResponse.body.equals(EVENTS)]).toEqual([true, true])
    await harness.waitForCalls(1)
    // The usage had arrived before the cut.
    expect(harness.finishedCalls).toMatchObject([{ error: expect.any(String), usage: { inputTokens: 100, outputTokens: 20 } }])
    expect(harness.finishedCalls[0]?.usage.estimated).toBeUndefined()
  })

  test('an unreachable provider gives an error in its format, and costs nothing', async () => {
    await using provider = await startRawProvider(() => undefined)
    const { url } = provider
    await provider[Symbol.asyncDispose]()
    await using harness = await GatewayHarness.open({ urls: { anthropic: url } })
    const gatewayResponse = await sendRequest(harness.url('anthropic', '/v1/messages'), { headers: authHeaders(harness), body: BODY })
    expect([gatewayResponse.status, JSON.parse(gatewayResponse.body.toString())]).toEqual([
      502,
      { type: 'error', error: { type: 'api_error', message: 'anthropic cannot be reached: ECONNREFUSED' } },
    ])
    await harness.waitForCalls(1)
    expect(harness.finishedCalls).toMatchObject([{ status: null, error: 'ECONNREFUSED', usage: { inputTokens: 0, costUsd: 0 } }])
  })

  test('the open requests of an incarnation end with it', async () => {
    const providerAborted = Promise.withResolvers<void>()
    await using provider = await startRawProvider((request, response) => {
      request.resume()
      response.once('close', () => providerAborted.resolve())
      response.writeHead(200, STREAM).write(EVENTS.subarray(0, 100))
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const gatewayResponse = await sendRequest(harness.url('anthropic', '/v1/messages'), {
      headers: authHeaders(harness),
      body: BODY,
      onResponse: (answer) => answer.once('data', () => harness.access.close()),
    })
    expect(gatewayResponse.isCut).toBe(true)
    await providerAborted.promise
  })
})

describe('connections', () => {
  test('are kept on both sides', async () => {
    await using provider = await startRawProvider((request, response) => {
      request.resume().once('end', () => response.writeHead(200, STREAM).end(EVENTS))
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ports = new Set<number | undefined>()
    for (let count = 0; count < 5; count++)
      await sendRequest(harness.url('anthropic', '/v1/messages'), {
        headers: authHeaders(harness),
        body: BODY,
        agent,
        onResponse: (answer) => ports.add(answer.socket.localPort),
      })
    agent.destroy()
    expect([ports.size, provider.connectionCount]).toEqual([1, 1])
  })

  test('that the provider has closed are opened again, unnoticed by the client', async () => {
    await using provider = await startRawProvider((request, response) => {
      request.resume().once('end', () => {
        response.writeHead(200, STREAM).end(EVENTS)
        // The server does not announce the close, so the gateway keeps the connection and finds it closed.
        response.once('close', () => setImmediate(() => request.socket.resetAndDestroy()))
      })
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    for (let count = 0; count < 20; count++)
      expect((await sendRequest(harness.url('anthropic', '/v1/messages'), { headers: authHeaders(harness), body: BODY })).status).toBe(200)
  })

  test('a slow client delays the provider, and memory stays bounded', async () => {
    const piece = Buffer.alloc(MIB, 'x')
    let sentPieces = 0
    const blocked = Promise.withResolvers<void>()
    await using provider = await startRawProvider((request, response) => {
      request.resume()
      response.writeHead(200, STREAM)
      const write = (): void => {
        while (sentPieces < 200 && !response.destroyed) {
          sentPieces += 1
          if (!response.write(piece)) {
            blocked.resolve()
            return void response.once('drain', write)
          }
        }
        response.end()
      }
      write()
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    let piecesDuringPause = 0
    const gatewayResponse = await sendRequest(harness.url('anthropic', '/v1/messages'), {
      headers: authHeaders(harness),
      body: BODY,
      onResponse: (answer) => {
        answer.pause()
        // If the count of sent pieces is the same in 200 checks, back-pressure holds the provider back.
        let [lastSent, unchangedChecks] = [-1, 0]
        const checkProgress = (): void => {
          unchangedChecks = sentPieces === lastSent ? unchangedChecks + 1 : 0
          lastSent = sentPieces
          if (unchangedChecks < 200) return void setTimeout(checkProgress, 1)
          piecesDuringPause = sentPieces
          answer.resume()
        }
        blocked.promise.then(checkProgress, () => undefined)
      },
    })
    expect(piecesDuringPause).toBeLessThan(100)
    expect(gatewayResponse.body.length).toBe(200 * MIB)
  })

  test('a thousand calls at once each get their own answer', async () => {
    await using provider = await startRawProvider((request, response) => {
      readBody(request).then(
        (body) => {
          response.writeHead(200, STREAM)
          response.write(EVENTS.subarray(0, 50))
          setImmediate(() => response.end(Buffer.concat([EVENTS.subarray(50), Buffer.from(`: ${body.toString()}\n\n`)])))
        },
        () => response.destroy(),
      )
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url } })
    const bodies = Array.from({ length: 1_000 }, (_, index) => `{"model":"m-${index}","max_tokens":10}`)
    const answers = await Promise.all(
      bodies.map((body) => sendRequest(harness.url('anthropic', '/v1/messages'), { headers: authHeaders(harness), body })),
    )
    expect(answers.every(({ status, body }, index) => status === 200 && body.toString().endsWith(`: ${bodies[index]}\n\n`))).toBe(true)
    await harness.waitForCalls(1_000)
    expect(new Set(harness.finishedCalls.map(({ call }) => call)).size).toBe(1_000)
    expect(harness.chunkCount).toBeGreaterThanOrEqual(1_000)
    expect(harness.finishedCalls.every(({ usage }) => usage.inputTokens === 100 && usage.outputTokens === 20)).toBe(true)
  })
})
