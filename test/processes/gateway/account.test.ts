// Answers at the gateway with which a provider refuses the account. 400 and 429 also stand for other errors, so the body decides. The
// client gets the original bytes.
import { expect, test } from 'vitest'
import { GatewayHarness, sendRequest } from '../../support/agents/gateway-harness.ts'
import { startModelServer, type ServedAnswer } from '../../support/models/model-server.ts'

const PATHS = {
  anthropic: '/v1/messages',
  openai: '/responses',
  google: '/v1beta/models/m:streamGenerateContent?alt=sse',
} as const
const QUOTA = 'You exceeded your current quota, please check your plan and billing details.'

test.each<[provider: keyof typeof PATHS, status: number, error: ServedAnswer['error'], isRefused: boolean]>([
  ['anthropic', 400, { type: 'invalid_request_error', message: 'Your credit balance is too low to access the API.' }, true],
  ['anthropic', 400, { type: 'invalid_request_error', message: 'messages: at least one message is required' }, false],
  ['anthropic', 429, { type: 'rate_limit_error', message: 'This request would exceed your rate limit' }, false],
  ['openai', 429, { type: 'insufficient_quota', message: QUOTA }, true],
  ['openai', 429, { type: 'rate_limit_exceeded', message: 'Rate limit reached for gpt-x on tokens per min' }, false],
  ['google', 429, { type: 'RESOURCE_EXHAUSTED', message: `${QUOTA} Quota exceeded for metric: x, limit: 0` }, true],
  ['google', 429, { type: 'RESOURCE_EXHAUSTED', message: QUOTA }, false],
  ['google', 400, { type: 'INVALID_ARGUMENT', message: 'API key not valid. Please pass a valid API key.' }, true],
])('%s with %i and %j: the account is refused: %s', async (provider, status, error, isRefused) => {
  await using server = await startModelServer([{ status, error: error ?? { type: '', message: '' } }])
  await using harness = await GatewayHarness.open({ urls: { [provider]: server.url } })
  const { status: received, body } = await sendRequest(harness.url(provider, PATHS[provider]), {
    headers: { 'x-api-key': harness.access.token, authorization: `Bearer ${harness.access.token}`, 'x-goog-api-key': harness.access.token },
    body: '{"model":"m","max_tokens":10}',
  })
  await harness.waitForCalls(1)
  expect([received, body.toString().includes(error?.message ?? '')]).toEqual([status, true])
  expect(harness.finishedCalls.map(({ status: reported, account = false }) => [reported, account])).toEqual([[status, isRefused]])
})

test('an answer that cannot be decoded refuses nothing', async () => {
  await using server = await startModelServer([{ status: 429, body: `not gzip: ${QUOTA}`, headers: { 'content-encoding': 'gzip' } }])
  await using harness = await GatewayHarness.open({ urls: { openai: server.url } })
  await sendRequest(harness.url('openai', PATHS.openai), { headers: { authorization: `Bearer ${harness.access.token}` }, body: '{}' })
  await harness.waitForCalls(1)
  expect(harness.finishedCalls).toMatchObject([{ status: 429 }])
  expect(harness.finishedCalls[0]).not.toHaveProperty('account')
})
