// Calls that must not begin yet: held, answered with a retry, refused by a budget, or lowered to it. Also calls that wait for their
// turn at the provider. With a manual clock.
import { describe, expect, test } from 'vitest'
import { GatewayHarness, sendRequest, readBody, startRawProvider } from '../../support/agents/gateway-harness.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { bodyOf } from '../../support/models/model-server.ts'
import type { RawProvider } from '../../support/agents/gateway-harness.ts'

const BODY = '{"model":"m","max_tokens":32000}'
const EVENTS = bodyOf({ text: 'hello', usage: { input: 100, output: 20 } }, '/v1/messages')

/** Records requests, and answers on command. */
class Provider {
  readonly bodies: string[] = []
  raw!: RawProvider
  /** the answers that wait for `answerOne`; null if each request is answered at once */
  #waitingAnswers: (() => void)[] | null = null
  #waiters: { count: number; resolve: () => void }[] = []

  static async open(isGated = false): Promise<Provider> {
    const provider = new Provider()
    if (isGated) provider.#waitingAnswers = []
    provider.raw = await startRawProvider((request, response) => {
      readBody(request).then(
        (body) => {
          provider.bodies.push(body.toString())
          const answer = (): void => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(EVENTS)
          if (provider.#waitingAnswers) provider.#waitingAnswers.push(answer)
          else answer()
          for (const one of provider.#waiters) if (provider.bodies.length >= one.count) one.resolve()
        },
        () => response.destroy(),
      )
    })
    return provider
  }

  waitForRequests(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ count, resolve })
      if (this.bodies.length >= count) resolve()
    })
  }

  answerOne(): void {
    this.#waitingAnswers?.shift()?.()
  }
}

const send = (
  harness: GatewayHarness,
  options: {
    readonly access?: { url(name: string): string | null; readonly token: string }
    readonly body?: string
    readonly signal?: AbortSignal
  } = {},
): ReturnType<typeof sendRequest> => {
  const { access = harness.access, body = BODY, signal } = options
  return sendRequest(`${access.url('anthropic')}/v1/messages`, {
    headers: { 'x-api-key': access.token },
    body,
    ...(signal ? { signal } : {}),
  })
}

describe('a held process', () => {
  test('waits at the gateway, reports that it is drained, and continues', async () => {
    const provider = await Provider.open()
    await using raw = provider.raw
    await using harness = await GatewayHarness.open({ urls: { anthropic: raw.url } })
    harness.hold()
    const pendingCall = send(harness)
    await harness.waitFor(() => harness.reports.length > 0)
    expect([harness.reports, provider.bodies]).toEqual([[{ type: 'drained' }], []])
    harness.release()
    expect((await pendingCall).body.equals(EVENTS)).toBe(true)
    expect(harness.callRequests).toHaveLength(2)
  })

  test('is drained only when its calls in flight have ended', async () => {
    const provider = await Provider.open(true)
    await using raw = provider.raw
    await using harness = await GatewayHarness.open({ urls: { anthropic: raw.url } })
    const first = send(harness)
    await provider.waitForRequests(1)
    harness.hold()
    const second = send(harness)
    await harness.waitFor(() => harness.callRequests.length === 2)
    expect(harness.reports).toEqual([])
    provider.answerOne()
    await first
    await harness.waitFor(() => harness.reports.length === 2)
    expect(harness.reports.map(({ type }) => type)).toEqual(['call.finished', 'drained'])
    harness.release()
    await provider.waitForRequests(2)
    provider.answerOne()
    expect((await second).status).toBe(200)
  })

  test('gets a retry answer after 240 s, before its client would drop the connection', async () => {
    await using harness = await GatewayHarness.open({ urls: { anthropic: 'http://127.0.0.1:1' } })
    harness.hold()
    const pendingCall = send(harness)
    await harness.waitFor(() => harness.reports.length > 0)
    harness.clock.wind(239_999)
    harness.clock.wind(1)
    const gatewayResponse = await pendingCall
    expect([gatewayResponse.status, gatewayResponse.headers['retry-after'], JSON.parse(gatewayResponse.body.toString())]).toEqual([
      429,
      '1',
      { type: 'error', error: { type: 'rate_limit_error', message: 'reeve holds process 7: paused by a test' } },
    ])
    expect(harness.finishedCalls).toEqual([])
    expect(harness.clock.timers).toBe(0)
  })

  test('stops waiting when its client closes the connection', async () => {
    await using harness = await GatewayHarness.open({ urls: { anthropic: 'http://127.0.0.1:1' } })
    harness.hold()
    const abortController = new AbortController()
    const pendingCall = send(harness, { signal: abortController.signal })
    await harness.waitFor(() => harness.reports.length > 0)
    abortController.abort()
    await expect(pendingCall).rejects.toThrow('aborted')
    await waitUntil(() => harness.clock.timers === 0, 'its request waits no longer')
    harness.release()
    await send(harness)
    // Only the second request reached the provider.
    expect(harness.finishedCalls).toHaveLength(1)
  })

  test('loses the connection when it ends', async () => {
    await using harness = await GatewayHarness.open({ urls: { anthropic: 'http://127.0.0.1:1' } })
    harness.hold()
    const pendingCall = send(harness)
    await harness.waitFor(() => harness.reports.length > 0)
    harness.abortController.abort()
    await expect(pendingCall).rejects.toThrow('socket hang up')
  })
})

describe('a budget', () => {
  test('lowers the limit of output tokens to what is left of it, and changes nothing else in the request', async () => {
    const provider = await Provider.open()
    await using raw = provider.raw
    await using harness = await GatewayHarness.open({ urls: { anthropic: raw.url }, decide: () => ({ ack: 'go', maxOutputTokens: 1_234 }) })
    await send(harness, { body: '{ "model":"m",  "max_tokens" :32000, "x":[1,\n2] }' })
    await send(harness, { body: '{"model":"m","max_tokens":1000}' })
    await send(harness, { body: '{"model":"m"}' })
    expect(provider.bodies).toEqual([
      '{ "model":"m",  "max_tokens" :1234, "x":[1,\n2] }',
      '{"model":"m","max_tokens":1000}',
      '{"max_tokens":1234,"model":"m"}',
    ])
  })

  test('that ends the process gives the client a bad request, which clients do not repeat', async () => {
    await using harness = await GatewayHarness.open({
      urls: { anthropic: 'http://127.0.0.1:1' },
      decide: () => ({ ack: 'stop', reason: 'budget of 5 USD: 4.99 used' }),
    })
    const gatewayResponse = await send(harness)
    expect([gatewayResponse.status, gatewayResponse.headers['retry-after'], JSON.parse(gatewayResponse.body.toString())]).toEqual([
      400,
      undefined,
      { type: 'error', error: { type: 'invalid_request_error', message: 'reeve ends process 7: budget of 5 USD: 4.99 used' } },
    ])
    expect(harness.finishedCalls).toEqual([])
  })
})

test('a call of a process that has ended gets no answer', async () => {
  await using harness = await GatewayHarness.open({
    urls: { anthropic: 'http://127.0.0.1:1' },
    decide: () => ({ ack: 'late', reason: null }),
  })
  await expect(send(harness)).rejects.toThrow('socket hang up')
})

test('the input tokens of a request are estimated with the ratio of tokens to bytes of the last one', async () => {
  const counts = [3_000, 9_000, 10]
  await using raw = await startRawProvider((request, response) => {
    request
      .resume()
      .once('end', () =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ usage: { input_tokens: counts.shift(), output_tokens: 1 } })),
      )
  })
  await using harness = await GatewayHarness.open({ urls: { anthropic: raw.url } })
  const body = JSON.stringify({ model: 'm', max_tokens: 10, messages: 'x y '.repeat(2_000) })
  const byBytes = Math.ceil(body.length / 4)
  for (let count = 1; count <= 4; count++) {
    await send(harness, { body })
    await harness.waitForCalls(count)
  }
  // At most twice the estimate by bytes, and never less.
  expect(harness.callRequests.map(({ ask: { inputTokens } }) => inputTokens)).toEqual([byBytes, 3_000, 2 * byBytes, byBytes])
})

describe('a rate limit', () => {
  test('is shared fairly: a process with many calls delays no other process', async () => {
    const provider = await Provider.open(true)
    await using raw = provider.raw
    await using harness = await GatewayHarness.open({ urls: { anthropic: raw.url }, rateLimits: { anthropic: { concurrent: 1 } } })
    const other = await harness.addIncarnation(8)
    const requestBody = (name: string): string => `{"model":"${name}"}`
    const calls = [send(harness, { body: requestBody('a1') })]
    await provider.waitForRequests(1)
    for (const name of ['a2', 'a3', 'a4']) {
      calls.push(send(harness, { body: requestBody(name) }))
      await harness.waitFor(() => true)
    }
    // The calls are in the queue when a later request has been answered.
    await sendRequest(`${harness.access.url('anthropic')}/v1/embeddings`, { headers: { 'x-api-key': harness.access.token } })
    calls.push(send(harness, { access: other, body: requestBody('b1') }))
    await sendRequest(`${other.url('anthropic')}/v1/embeddings`, { headers: { 'x-api-key': other.token } })
    for (let count = 1; count <= 5; count++) {
      await provider.waitForRequests(count)
      provider.answerOne()
    }
    await Promise.all(calls)
    const order = harness.callRequests.map(({ model }) => model)
    expect(order).toHaveLength(5)
    expect(order.indexOf('b1')).toBeLessThanOrEqual(2)
  })

  test('reported by the provider holds all calls with its key', async () => {
    let isLimited = true
    await using raw = await startRawProvider((request, response) => {
      request.resume()
      if (isLimited) response.writeHead(429, { 'retry-after': '20', 'content-type': 'application/json' }).end('{"type":"error"}')
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(EVENTS)
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: raw.url } })
    const other = await harness.addIncarnation(8)
    const first = await send(harness)
    expect([first.status, first.headers['retry-after'], first.body.toString()]).toEqual([429, '20', '{"type":"error"}'])
    isLimited = false
    const [firstCall, secondCall] = [send(harness), send(harness, { access: other })]
    await sendRequest(`${other.url('anthropic')}/v1/embeddings`, { headers: { 'x-api-key': other.token } })
    expect(harness.callRequests).toHaveLength(1)
    harness.clock.wind(20_000)
    // Each of the two processes gets one note.
    expect(harness.reports.filter(({ type }) => type === 'note')).toEqual(
      Array.from({ length: 2 }, () => ({ type: 'note', text: 'waits for its turn at anthropic: the rate limit is reached' })),
    )
    expect([(await firstCall).status, (await secondCall).status]).toEqual([200, 200])
  })

  test('that lasts longer than clients wait causes an answer with 429 at once', async () => {
    await using raw = await startRawProvider((request, response) => {
      request.resume()
      response.writeHead(429, { 'retry-after': '600' }).end()
    })
    await using harness = await GatewayHarness.open({ urls: { anthropic: raw.url } })
    await send(harness)
    const gatewayResponse = await send(harness)
    expect([gatewayResponse.status, gatewayResponse.headers['retry-after'], harness.callRequests.length]).toEqual([429, '600', 1])
    expect(gatewayResponse.body.toString()).toContain('its rate limit is reached')
  })

  test('is not used up by a call whose process is held: that call gives its turn back', async () => {
    const provider = await Provider.open()
    await using raw = provider.raw
    await using harness = await GatewayHarness.open({ urls: { anthropic: raw.url }, rateLimits: { anthropic: { concurrent: 1 } } })
    harness.hold()
    const pendingCall = send(harness)
    await harness.waitFor(() => harness.reports.length > 0)
    const other = await harness.addIncarnation(8)
    harness.isHeld = false
    expect((await send(harness, { access: other })).status).toBe(200)
    harness.release()
    expect((await pendingCall).status).toBe(200)
  })
})
