// Calls through the gateway whose metering fails. No such call is free: it is charged with the estimate of its request. The charge is
// marked as estimated, and the daemon logs the defect. A call whose price cannot be looked up is never sent.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { GatewayHarness, sendRequest, startRawProvider } from '../../support/agents/gateway-harness.ts'
import { bodyOf, startModelServer } from '../../support/models/model-server.ts'
import { FORMATS } from '../../../src/drivers/gateway/formats.ts'

const BODY = '{"model":"m","max_tokens":1000}'
const ESTIMATED_TOKENS = Math.ceil(BODY.length / 4)
const ANSWER = { text: 'hello', usage: { input: 100, output: 20 } }
/** The prices of the harness: the higher one of input and cache writes, and that of output. */
const USD = { perInputToken: 0.002, perOutputToken: 0.01 }

function send(harness: GatewayHarness): ReturnType<typeof sendRequest> {
  return sendRequest(harness.url('anthropic', '/v1/messages'), { headers: { 'x-api-key': harness.access.token }, body: BODY })
}

function throwDefect(): never {
  throw new Error('a defect')
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('a call is charged and the defect is logged', () => {
  test('with its metered tokens at the rates of its request, when the price table fails', async () => {
    await using server = await startModelServer([ANSWER])
    await using harness = await GatewayHarness.open({
      urls: { anthropic: server.url },
      prices: { cost: () => Promise.reject(new Error('a defect')) },
    })
    expect((await send(harness)).body.equals(bodyOf(ANSWER, '/v1/messages'))).toBe(true)
    await harness.waitForCalls(1)
    const costUsd = 100 * USD.perInputToken + 20 * USD.perOutputToken
    expect(harness.finishedCalls).toMatchObject([
      { status: 200, usage: { inputTokens: 100, outputTokens: 20, costUsd, estimated: true }, firstTokenMs: expect.any(Number) as number },
    ])
    expect(harness.logMessages).toEqual(['a call to anthropic could not be metered: its estimate is charged Error: a defect'])
  })

  test('with an unknown cost, when the price table fails and the request had no rates', async () => {
    await using server = await startModelServer([ANSWER])
    await using harness = await GatewayHarness.open({
      urls: { anthropic: server.url },
      prices: { rates: () => Promise.resolve(null), cost: () => Promise.reject(new Error('a defect')) },
    })
    await send(harness)
    await harness.waitForCalls(1)
    expect(harness.finishedCalls).toMatchObject([{ usage: { inputTokens: 100, outputTokens: 20, costUsd: null, estimated: true } }])
  })

  test.each([
    ['while the answer passes', (): unknown => vi.spyOn(FORMATS.anthropic.final as RegExp, 'test').mockImplementation(throwDefect)],
    ['at the end of the answer', (): unknown => vi.spyOn(FORMATS.anthropic, 'counts').mockImplementation(throwDefect)],
  ])('with the input and the most output of its request, when the meter fails %s', async (_, breakMeter) => {
    breakMeter()
    await using server = await startModelServer([ANSWER])
    await using harness = await GatewayHarness.open({ urls: { anthropic: server.url } })
    expect((await send(harness)).body.equals(bodyOf(ANSWER, '/v1/messages'))).toBe(true)
    await harness.waitForCalls(1)
    expect(harness.finishedCalls).toMatchObject([
      {
        status: 200,
        usage: { inputTokens: ESTIMATED_TOKENS, outputTokens: 1_000, costUsd: ESTIMATED_TOKENS * 0.001 + 1_000 * 0.01, estimated: true },
      },
    ])
    expect(harness.logMessages).toEqual(['a call to anthropic could not be metered: its estimate is charged Error: a defect'])
  })
})

describe('a call whose metering fails', () => {
  test('still costs nothing if the provider refused it', async () => {
    await using provider = await startRawProvider((request, response) => {
      request.resume()
      response.writeHead(500).end()
    })
    await using harness = await GatewayHarness.open({
      urls: { anthropic: provider.url },
      prices: { cost: () => Promise.reject(new Error('a defect')) },
    })
    await send(harness)
    await harness.waitForCalls(1)
    expect(harness.finishedCalls).toMatchObject([{ status: 500, usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } }])
    expect(harness.finishedCalls[0]).not.toHaveProperty('firstTokenMs')
    expect(harness.logMessages).toEqual([])
  })
})

describe('a call that reeve cannot begin', () => {
  const CALLS = [
    ['anthropic', '/v1/messages', { type: 'error', error: { type: 'api_error' } }],
    ['openai', '/responses', { error: { code: 'server_error' } }],
    ['chat', '/chat/completions', { error: { code: 'server_error' } }],
    ['google', '/v1beta/models/m:generateContent', { error: { code: 500, status: 'INTERNAL' } }],
  ] as const

  test.each(CALLS)('is reported, and %s clients get an error, when the price lookup rejects', async (name, path, error) => {
    await using server = await startModelServer([ANSWER])
    await using harness = await GatewayHarness.open({
      urls: { [name]: server.url },
      prices: { rates: () => Promise.reject(new Error('a defect')) },
    })
    const answer = await sendRequest(harness.url(name, path), { headers: { 'x-api-key': harness.access.token }, body: BODY })
    expect(answer.status).toBe(500)
    const body: unknown = JSON.parse(answer.body.toString())
    expect(body).toMatchObject(error)
    const message = 'reeve cannot look up the price of m: a defect'
    expect(body).toMatchObject({ error: { message } })
    expect(server.requests).toEqual([])
    await harness.waitForCalls(1)
    expect(harness.callRequests).toMatchObject([{ ask: { usd: null } }])
    expect(harness.finishedCalls).toMatchObject([{ status: null, error: message, usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } }])
    expect(harness.logMessages).toEqual([`a call to ${name} was not sent: its price cannot be looked up Error: a defect`])
  })

  test('gets no error while its process is held, and the error after the hold', async () => {
    await using server = await startModelServer([ANSWER])
    await using harness = await GatewayHarness.open({
      urls: { anthropic: server.url },
      prices: { rates: () => Promise.reject(new Error('a defect')) },
    })
    harness.hold()
    const answer = send(harness)
    await harness.waitFor(() => harness.callRequests.length > 0)
    expect(harness.finishedCalls).toEqual([])
    harness.release()
    expect((await answer).status).toBe(500)
  })

  test.each(CALLS)('for an unexpected reason gives %s clients an error', async (name, path, error) => {
    await using harness = await GatewayHarness.open({ urls: { [name]: 'http://127.0.0.1:1' }, decide: throwDefect })
    const answer = await sendRequest(harness.url(name, path), { headers: { 'x-api-key': harness.access.token }, body: BODY })
    expect(answer.status).toBe(500)
    expect(JSON.parse(answer.body.toString())).toMatchObject(error)
    expect(answer.body.toString()).toContain('the gateway cannot serve this request: a defect')
    expect(harness.logMessages).toEqual(['a request at the gateway failed Error: a defect'])
  })
})
