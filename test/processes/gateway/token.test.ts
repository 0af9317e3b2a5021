// Access to the gateway: with the token of a living incarnation, in any place where clients send keys, under the gateway's own name.
import { describe, expect, test } from 'vitest'
import { GatewayHarness, PROVIDER_KEY, sendRequest, startRawProvider } from '../../support/agents/gateway-harness.ts'

const BODY = '{"model":"m","max_tokens":10}'

async function withRequestHeaders(work: (harness: GatewayHarness, headers: () => Record<string, unknown>) => Promise<void>): Promise<void> {
  let headers: Record<string, unknown> = {}
  await using provider = await startRawProvider((request, response) => {
    headers = { ...request.headers, url: request.url }
    request.resume()
    response.end('{}')
  })
  await using harness = await GatewayHarness.open({ urls: { anthropic: provider.url, google: provider.url, openai: provider.url } })
  await work(harness, () => headers)
}

test.each<[string, (token: string) => Record<string, string>, string]>([
  ['authorization', (token) => ({ authorization: `Bearer ${token}` }), ''],
  ['authorization in small letters', (token) => ({ authorization: `bearer ${token}` }), ''],
  ['x-api-key', (token) => ({ 'x-api-key': token }), ''],
  ['x-goog-api-key', (token) => ({ 'x-goog-api-key': token }), ''],
  ['the query of the URL', () => ({}), '?key='],
  ['one of two headers', (token) => ({ authorization: 'Bearer other', 'x-api-key': token }), ''],
])('a token in %s is accepted, and the provider sees only its key', (_, headers, query) =>
  withRequestHeaders(async (harness, receivedHeaders) => {
    const { token } = harness.access
    const url = harness.url('google', `/v1beta/models/m:countTokens${query === '' ? '' : query + token}`)
    expect((await sendRequest(url, { headers: headers(token), body: '{}' })).status).toBe(200)
    expect(receivedHeaders()).toMatchObject({ 'x-goog-api-key': PROVIDER_KEY, url: '/v1beta/models/m:countTokens' })
    expect(JSON.stringify(receivedHeaders())).not.toContain(token)
  }),
)

describe('a request is refused', () => {
  test.each<[string, string, string]>([
    ['anthropic', '/v1/messages', '{"type":"error","error":{"type":"authentication_error","message":'],
    ['google', '/v1beta/models/m:generateContent', '{"error":{"code":401,"message":'],
    ['openai', '/responses', '{"error":{"message":'],
  ])('without a valid token, in the format of %s', (provider, path, shape) =>
    withRequestHeaders(async (harness, receivedHeaders) => {
      for (const headers of [
        {},
        { 'x-api-key': 'reeve-no' },
        { 'x-api-key': `${harness.access.token}x` },
        { 'x-api-key': harness.access.token.slice(0, -1) },
        { authorization: `Basic ${harness.access.token}` },
      ]) {
        const answer = await sendRequest(harness.url(provider, path), { headers, body: BODY })
        expect([answer.status, answer.body.toString().startsWith(shape)]).toEqual([401, true])
      }
      expect([receivedHeaders(), harness.callRequests]).toEqual([{}, []])
    }),
  )

  test('with the token of an ended incarnation, while that of another stays valid', () =>
    withRequestHeaders(async (harness) => {
      const other = await harness.addIncarnation(8)
      const send = (token: string): ReturnType<typeof sendRequest> =>
        sendRequest(harness.url('anthropic', '/v1/messages'), { headers: { 'x-api-key': token }, body: BODY })
      const { token } = harness.access
      harness.access.close()
      expect([(await send(token)).status, (await send(other.token)).status]).toEqual([401, 200])
      expect(harness.callRequests).toMatchObject([{ call: '8-1' }])
    }))

  test('for a host name that is not the gateway\u2019s own', () =>
    withRequestHeaders(async (harness, receivedHeaders) => {
      for (const host of ['evil.example', 'evil.example:80', '127.0.0.1', '127.0.0.1:1']) {
        expect(
          (
            await sendRequest(harness.url('anthropic', '/v1/messages'), {
              headers: { 'x-api-key': harness.access.token, host },
              body: BODY,
            })
          ).status,
        ).toBe(404)
      }
      const { port } = new URL(harness.url('anthropic', ''))
      expect(
        (
          await sendRequest(harness.url('anthropic', '/v1/messages'), {
            headers: { 'x-api-key': harness.access.token, host: `localhost:${port}` },
            body: BODY,
          })
        ).status,
      ).toBe(200)
      expect(receivedHeaders()).toMatchObject({ 'x-api-key': PROVIDER_KEY })
    }))

  test('for a provider that the process must not call, and for a path to another one', () =>
    withRequestHeaders(async (harness) => {
      const { origin } = new URL(harness.url('anthropic', ''))
      for (const path of ['/mistral/v1/chat/completions', '/', '/anthropic/..%2fopenai/v1/responses']) {
        expect((await sendRequest(origin + path, { headers: { 'x-api-key': harness.access.token }, body: BODY })).status).not.toBe(200)
      }
    }))
})

test('each incarnation has its own token of 256 bits', () =>
  withRequestHeaders(async (harness) => {
    const tokens = await Promise.all([1, 2, 3].map(async (pid) => (await harness.addIncarnation(pid)).token))
    expect(new Set([...tokens, harness.access.token]).size).toBe(4)
    for (const token of tokens) expect(Buffer.from(token.replace('reeve-', ''), 'base64url')).toHaveLength(32)
  }))
