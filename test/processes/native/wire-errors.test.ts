// Failures of a call in each of the four formats, against a real server. Covers documented HTTP errors, errors inside the
// stream, and bodies that are not an answer. The kind of a failure decides what the loop does next.
import { describe, expect, test } from 'vitest'
import type { CallFailed, FailureKind } from '../../../src/drivers/native/models/model.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ServedAnswer } from '../../support/models/model-server.ts'
import { callModel, failureOf, createWireModel, WIRE_FORMATS } from '../../support/models/wire-formats.ts'
import type { WireFormat } from '../../support/models/wire-formats.ts'

type Row = readonly [what: string, status: number, type: string, message: string, kind: FailureKind, retryable: boolean]

/** For all formats: the result of a status without a known error type. */
const STATUSES: readonly (readonly [status: number, kind: FailureKind, retryable: boolean])[] = [
  [400, 'other', false],
  [401, 'auth', false],
  [402, 'auth', false],
  [403, 'auth', false],
  [404, 'not-found', false],
  [408, 'overloaded', true],
  [409, 'overloaded', true],
  [413, 'too-long', false],
  [422, 'other', false],
  [429, 'rate-limit', true],
  [500, 'overloaded', true],
  [502, 'overloaded', true],
  [503, 'overloaded', true],
  [504, 'overloaded', true],
  [529, 'overloaded', true],
]

const DOCUMENTED: Readonly<Record<WireFormat['kind'], readonly Row[]>> = {
  anthropic: [
    ['an invalid request', 400, 'invalid_request_error', 'messages: at least one message is required', 'other', false],
    ['a context that is too long', 400, 'invalid_request_error', 'prompt is too long: 213462 tokens > 200000 maximum', 'too-long', false],
    [
      'a question and an answer that are too long together',
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000',
      'too-long',
      false,
    ],
    [
      'an answer longer than the model allows',
      400,
      'invalid_request_error',
      'max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for claude-x',
      'other',
      false,
    ],
    [
      'an account without money',
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API.',
      'auth',
      false,
    ],
    ['an invalid key', 401, 'authentication_error', 'invalid x-api-key', 'auth', false],
    ['an unpaid bill', 402, 'billing_error', 'There is an issue with your billing', 'auth', false],
    ['a missing permission', 403, 'permission_error', 'Your API key does not have permission', 'auth', false],
    ['an unknown model', 404, 'not_found_error', 'model: claude-x', 'not-found', false],
    ['a request with too many bytes', 413, 'request_too_large', 'Request exceeds the maximum allowed number of bytes.', 'too-long', false],
    [
      'a rate limit',
      429,
      'rate_limit_error',
      'This request would exceed your rate limit of 40,000 input tokens per minute',
      'rate-limit',
      true,
    ],
    ['an error of the provider', 500, 'api_error', 'Internal server error', 'overloaded', true],
    ['a timeout of the provider', 504, 'timeout_error', 'The request timed out', 'overloaded', true],
    ['an overload of the provider', 529, 'overloaded_error', 'Overloaded', 'overloaded', true],
  ],
  openai: [
    ['an invalid request', 400, 'invalid_request_error', "Missing required parameter: 'input'.", 'other', false],
    [
      'a context that is too long',
      400,
      'context_length_exceeded',
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
      'too-long',
      false,
    ],
    [
      'a flagged prompt',
      400,
      'invalid_prompt',
      'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
      'refused',
      false,
    ],
    ['an invalid key', 401, 'invalid_api_key', 'Incorrect API key provided: sk-x.', 'auth', false],
    ['an unsupported country', 403, 'unsupported_country_region_territory', 'Country, region, or territory not supported', 'auth', false],
    ['an unknown model', 404, 'model_not_found', 'The model `gpt-x` does not exist or you do not have access to it.', 'not-found', false],
    [
      'an account without money',
      429,
      'insufficient_quota',
      'You exceeded your current quota, please check your plan and billing details.',
      'auth',
      false,
    ],
    [
      'a rate limit',
      429,
      'rate_limit_exceeded',
      'Rate limit reached for gpt-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.',
      'rate-limit',
      true,
    ],
    [
      'a request above the limit of a minute',
      429,
      'rate_limit_exceeded',
      'Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 44000.',
      'too-long',
      false,
    ],
    ['an error of the provider', 500, 'server_error', 'The server had an error while processing your request', 'overloaded', true],
    [
      'an overload of the provider',
      503,
      'server_is_overloaded',
      'The engine is currently overloaded, please try again later',
      'overloaded',
      true,
    ],
  ],
  'openai-compatible': [
    [
      'OpenAI: a context that is too long',
      400,
      'context_length_exceeded',
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
      'too-long',
      false,
    ],
    [
      'vLLM: a context that is too long',
      400,
      'BadRequestError',
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 65536 tokens and your request has 57879 input tokens",
      'too-long',
      false,
    ],
    [
      'llama.cpp: a context that is too long',
      400,
      'exceed_context_size_error',
      'the request exceeds the available context size, try increasing it',
      'too-long',
      false,
    ],
    [
      'LM Studio: a context that is too long',
      400,
      'invalid_request_error',
      'The number of tokens to keep from the initial prompt is greater than the context length',
      'too-long',
      false,
    ],
    [
      'Ollama: a context that is too long',
      500,
      'api_error',
      'prompt too long; exceeded max context length by 12 tokens',
      'too-long',
      false,
    ],
    [
      'Groq: a context that is too long',
      400,
      'invalid_request_error',
      'Please reduce the length of the messages or completion.',
      'too-long',
      false,
    ],
    [
      'Together: a context that is too long',
      422,
      'invalid_request_error',
      "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
      'too-long',
      false,
    ],
    [
      'xAI: a context that is too long',
      400,
      'invalid_request_error',
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
      'too-long',
      false,
    ],
    [
      'Moonshot: a context that is too long',
      400,
      'invalid_request_error',
      'Your request exceeded model token limit: 262144 (requested: 291351)',
      'too-long',
      false,
    ],
    ['DeepSeek: an account without money', 402, 'unknown_error', 'Insufficient Balance', 'auth', false],
    ['OpenRouter: an unknown model', 400, 'invalid_request_error', 'x/y is not a valid model ID', 'not-found', false],
    ['Ollama: an unknown model', 404, 'api_error', 'model "x" not found, try pulling it first', 'not-found', false],
    [
      'Azure: a filter',
      400,
      'content_filter',
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      'refused',
      false,
    ],
    ['llama.cpp: a model that is loading', 503, 'unavailable_error', 'Loading model', 'overloaded', true],
  ],
  google: [
    ['an invalid request', 400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.', 'other', false],
    [
      'a context that is too long',
      400,
      'INVALID_ARGUMENT',
      'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
      'too-long',
      false,
    ],
    ['an invalid key', 400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'auth', false],
    [
      'an unsupported country',
      400,
      'FAILED_PRECONDITION',
      'Gemini API free tier is not available in your country. Please enable billing on your project.',
      'auth',
      false,
    ],
    ['a missing permission', 403, 'PERMISSION_DENIED', 'Your API key does not have the required permissions.', 'auth', false],
    ['an unknown model', 404, 'NOT_FOUND', 'models/gemini-x is not found for API version v1beta', 'not-found', false],
    ['a rate limit', 429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', 'rate-limit', true],
    [
      'a used-up quota',
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota. Quota exceeded for metric: x, limit: 0',
      'auth',
      false,
    ],
    ['an error of the provider', 500, 'INTERNAL', 'An internal error has occurred.', 'overloaded', true],
    ['an overload of the provider', 503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.', 'overloaded', true],
    [
      'a timeout of the provider',
      504,
      'DEADLINE_EXCEEDED',
      'The service is unable to finish processing within the deadline.',
      'overloaded',
      true,
    ],
  ],
}

async function callThatFails(format: WireFormat, answer: ServedAnswer): Promise<CallFailed> {
  await using server = await startModelServer(() => answer)
  return await failureOf(callModel(await createWireModel(format, server.url)))
}

describe.each(WIRE_FORMATS)('$kind', (format) => {
  test.each(STATUSES)('status %i is %s, tried again: %s', async (status, kind, retryable) => {
    const failure = await callThatFails(format, { status, error: { type: 'some_error', message: 'some words' } })
    expect(failure).toMatchObject({
      status,
      kind,
      retryable,
      message: `${format.provider}: ${status} some words`,
      usage: undefined,
      partial: '',
    })
  })

  test.each(DOCUMENTED[format.kind])(
    'the documented error is recognized: %s (%i %s)',
    async (_, status, type, message, kind, retryable) => {
      const failure = await callThatFails(format, { status, error: { type, message } })
      expect(failure).toMatchObject({ status, kind, retryable, message: `${format.provider}: ${status} ${message}` })
    },
  )

  test.each([
    ['seconds', { 'retry-after': '2' }, 2_000],
    ['milliseconds', { 'retry-after-ms': '1500', 'retry-after': '9' }, 1_500],
    ['a date in the past', { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' }, 0],
    ['nothing', {}, null],
  ])('the delay of a 429 is read as %s', async (_, headers, ms) => {
    expect(await callThatFails(format, { status: 429, headers, error: { type: 'rate_limit_error', message: 'x' } })).toMatchObject({
      retryAfterMs: ms,
    })
  })

  test('a date in the future is converted to a delay', async () => {
    const retryDate = new Date(Date.now() + 3_600_000).toUTCString()
    const { retryAfterMs } = await callThatFails(format, {
      status: 503,
      headers: { 'retry-after': retryDate },
      error: { type: 'x', message: 'x' },
    })
    expect(retryAfterMs).toBeGreaterThan(1_800_000)
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000)
  })

  test.each([
    [
      'the page of a proxy',
      { status: 502, headers: { 'content-type': 'text/html' }, body: '<html><style>b{}</style><h1>Bad   Gateway</h1></html>' },
      'overloaded',
      '502 Bad Gateway',
    ],
    ['the text of Ollama', { status: 404, body: '{"error":"model \'x\' not found"}' }, 'not-found', "404 model 'x' not found"],
    ['the list of FastAPI', { status: 422, body: '{"detail":[{"loc":["body"],"msg":"field required"}]}' }, 'other', 'field required'],
    [
      'a flat object',
      { status: 400, body: '{"object":"error","message":"prompt is too long","code":400}' },
      'too-long',
      '400 prompt is too long',
    ],
    [
      'a list with an error',
      { status: 429, body: '[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]' },
      'rate-limit',
      '429 slow',
    ],
    ['an empty body', { status: 500, body: '' }, 'overloaded', '500'],
  ] satisfies readonly (readonly [string, ServedAnswer, FailureKind, string])[])(
    'the message of an error is found in %s',
    async (_, answer, kind, words) => {
      expect(await callThatFails(format, answer)).toMatchObject({ kind, status: answer.status, message: expect.stringContaining(words) })
    },
  )

  test.each([
    [
      'a page',
      { headers: { 'content-type': 'text/html' }, body: '<html>Log in</html>' },
      { kind: 'not-found', retryable: false, message: expect.stringContaining('base URL') },
    ],
    [
      'one JSON document',
      { headers: { 'content-type': 'application/json' }, body: '{"choices":[]}' },
      { kind: 'other', retryable: false, message: expect.stringContaining('instead of an event stream') },
    ],
    [
      'an error in JSON',
      { headers: { 'content-type': 'application/json' }, body: '{"error":{"code":429,"message":"slow down"}}' },
      { kind: 'rate-limit', retryable: true, status: 429 },
    ],
    ['an empty stream', { body: '' }, { kind: 'cut', retryable: true }],
    ['only a comment', { body: ': keep-alive\n\n' }, { kind: 'cut', retryable: true }],
    ['an event that is not JSON', { body: 'data: {"x\n\n' }, { kind: 'cut', retryable: true }],
    ['events of another kind', { body: 'data: {"hello":"world"}\n\ndata: 7\n\n' }, { kind: 'cut', retryable: true }],
    ['a page as an event stream', { body: '<html>Log in</html>' }, { kind: 'cut', retryable: true }],
  ] satisfies readonly (readonly [string, ServedAnswer, object])[])('status 200 with %s is a failure', async (_, answer, expected) => {
    expect(await callThatFails(format, answer)).toMatchObject(expected)
  })

  test('a hanging stream is cut after the idle time, an interrupted one at once; no connection stays', async () => {
    await using server = await startModelServer(({ body }) => ({
      text: 'never all of it',
      hangAfterBytes: JSON.stringify(body).includes('silent') ? 0 : 800,
    }))
    const modelWithIdleLimit = await createWireModel(format, server.url, { idleMs: 100 })
    for (const text of ['silent', 'half']) {
      expect(await failureOf(callModel(modelWithIdleLimit, { text }))).toMatchObject({
        kind: 'cut',
        retryable: true,
        usage: { estimated: true },
        message: `${format.provider}: no data for 100 ms`,
      })
    }
    const abortController = new AbortController()
    const requestsBefore = server.requests.length
    const call = failureOf(callModel(await createWireModel(format, server.url), { signal: abortController.signal }))
    await server.waitForRequests(requestsBefore + 1)
    abortController.abort()
    expect(await call).toMatchObject({ kind: 'cut', retryable: false, message: 'interrupted', usage: { estimated: true } })
    await Promise.all(server.requests.map(({ closed }) => closed))
  })

  test('an event without end is cut before it fills the memory', async () => {
    await using server = await startModelServer([{ floodBytes: 200 * 1024 * 1024 }])
    expect(await failureOf(callModel(await createWireModel(format, server.url)))).toMatchObject({
      kind: 'other',
      retryable: false,
      message: expect.stringContaining('larger than'),
    })
    expect(server.sentBytes).toBeLessThan(100 * 1024 * 1024)
  })

  test("a key in the provider's message is not shown", async () => {
    const key = 'a-key-of-the-user'
    await using server = await startModelServer([
      { status: 401, error: { type: 'authentication_error', message: `bad key ${key}; ${key} is not known` } },
    ])
    const failure = await failureOf(callModel(await createWireModel(format, server.url, { lookup: () => key })))
    expect(failure.message).toBe(`${format.provider}: 401 bad key [secret]; [secret] is not known`)
  })

  test('a redirection is not followed: the key would be sent along', async () => {
    await using other = await startModelServer([{ text: 'ok' }])
    const failure = await callThatFails(format, { status: 307, headers: { location: `${other.url}${format.path}` }, body: '' })
    expect(failure).toMatchObject({ kind: 'not-found', retryable: false, message: expect.stringContaining(other.url) })
    expect(other.requests).toEqual([])
  })

  test('comments and pings between events change nothing', async () => {
    const { bodyOf } = await import('../../support/models/model-server.ts')
    const body = bodyOf({ text: 'hi' }, format.path)
      .toString()
      .replaceAll(/(\r?\n)\1/g, '$1$1: ping$1$1')
    await using server = await startModelServer(() => ({ body }))
    expect(await callModel(await createWireModel(format, server.url))).toMatchObject({
      message: [{ type: 'text', text: 'hi' }],
      finish: 'stop',
    })
  })
})

type StreamRow = readonly [kind: WireFormat['kind'], answer: ServedAnswer, expected: Partial<CallFailed>]

const failedAnswer = (type: string, message: string, stopReason?: string): ServedAnswer => ({
  text: 'half of',
  isMidStream: true,
  error: { type, message },
  ...(stopReason === undefined ? {} : { stopReason }),
})

const IN_STREAM: readonly StreamRow[] = [
  ['anthropic', failedAnswer('overloaded_error', 'Overloaded'), { kind: 'overloaded', retryable: true, status: 529 }],
  ['anthropic', failedAnswer('api_error', 'Internal server error'), { kind: 'overloaded', retryable: true, status: 500 }],
  ['anthropic', failedAnswer('rate_limit_error', 'slow down'), { kind: 'rate-limit', retryable: true, status: 429 }],
  ['anthropic', failedAnswer('invalid_request_error', 'prompt is too long: 3 tokens > 2 maximum'), { kind: 'too-long', retryable: false }],
  ['anthropic', failedAnswer('authentication_error', 'expired'), { kind: 'auth', retryable: false }],
  ['anthropic', failedAnswer('some_new_error', 'what'), { kind: 'cut', retryable: true }],
  ['openai', failedAnswer('server_error', 'The server had an error'), { kind: 'overloaded', retryable: true }],
  ['openai', failedAnswer('server_error', 'The server had an error', 'error'), { kind: 'overloaded', retryable: true }],
  [
    'openai',
    failedAnswer('rate_limit_exceeded', 'Rate limit reached. Please try again in 1.5s.'),
    { kind: 'rate-limit', retryable: true, retryAfterMs: 1_500 },
  ],
  [
    'openai',
    failedAnswer('rate_limit_exceeded', 'Rate limit reached. Please try again in 250ms.', 'error'),
    { kind: 'rate-limit', retryable: true, retryAfterMs: 250 },
  ],
  [
    'openai',
    failedAnswer('context_length_exceeded', 'Your input exceeds the context window of this model.'),
    { kind: 'too-long', retryable: false },
  ],
  ['openai', failedAnswer('insufficient_quota', 'You exceeded your current quota'), { kind: 'auth', retryable: false }],
  ['openai', failedAnswer('invalid_prompt', 'Invalid prompt'), { kind: 'refused', retryable: false }],
  ['openai-compatible', failedAnswer('server_error', 'Provider disconnected'), { kind: 'overloaded', retryable: true }],
  ['openai-compatible', failedAnswer('502', 'Upstream error'), { kind: 'overloaded', retryable: true, status: 502 }],
  ['openai-compatible', failedAnswer('429', 'slow down'), { kind: 'rate-limit', retryable: true, status: 429 }],
  ['openai-compatible', failedAnswer('context_length_exceeded', 'too much'), { kind: 'too-long', retryable: false }],
  ['google', failedAnswer('UNAVAILABLE', 'The model is overloaded.', '503'), { kind: 'overloaded', retryable: true, status: 503 }],
  ['google', failedAnswer('RESOURCE_EXHAUSTED', 'quota', '429'), { kind: 'rate-limit', retryable: true, status: 429 }],
  ['google', failedAnswer('INVALID_ARGUMENT', 'bad', '400'), { kind: 'other', retryable: false, status: 400 }],
]

test.each(IN_STREAM)('%s: an error inside the stream fails the call: %j', async (kind, answer, expected) => {
  const format = WIRE_FORMATS.find((each) => each.kind === kind)
  if (format === undefined) throw new Error(kind)
  const failure = await callThatFails(format, answer)
  expect(failure).toMatchObject({ ...expected, partial: 'half of', usage: { estimated: true } })
  expect(failure.message).toContain(answer.error?.message)
})

test.each(IN_STREAM)(
  '%s: an error before any text fails the call: %j',
  async (kind, { text: _, ...answer }, { status: __, ...expected }) => {
    const format = WIRE_FORMATS.find((each) => each.kind === kind)
    if (format === undefined) throw new Error(kind)
    expect(await callThatFails(format, answer)).toMatchObject({ ...expected, partial: '' })
  },
)

test("OpenRouter passes on the message of the model's host", async () => {
  const [format] = WIRE_FORMATS.filter((each) => each.kind === 'openai-compatible')
  if (format === undefined) throw new Error('no format')
  const body = JSON.stringify({
    error: {
      message: 'Provider returned error',
      code: 400,
      metadata: { raw: '{"error":{"message":"maximum context length is 8192 tokens"}}', provider_name: 'X' },
    },
  })
  expect(await callThatFails(format, { status: 400, body })).toMatchObject({ kind: 'too-long', message: expect.stringContaining('8192') })
})

test.each([
  ['GenerateRequestsPerDayPerProjectPerModel-FreeTier', 'auth'],
  ['GenerateRequestsPerMinutePerProjectPerModel-FreeTier', 'rate-limit'],
])('Gemini names the exceeded quota %s, which is %s', async (quotaId, kind) => {
  const [format] = WIRE_FORMATS.filter((each) => each.kind === 'google')
  if (format === undefined) throw new Error('no format')
  const details = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId, quotaValue: '50' }] }]
  const body = JSON.stringify({ error: { code: 429, message: 'You exceeded your current quota.', status: 'RESOURCE_EXHAUSTED', details } })
  expect(await callThatFails(format, { status: 429, body })).toMatchObject({ kind, retryable: kind === 'rate-limit' })
})

test('Gemini names the delay in the body', async () => {
  const [format] = WIRE_FORMATS.filter((each) => each.kind === 'google')
  if (format === undefined) throw new Error('no format')
  const body = JSON.stringify({
    error: {
      code: 429,
      message: 'quota',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }],
    },
  })
  expect(await callThatFails(format, { status: 429, body })).toMatchObject({ kind: 'rate-limit', retryAfterMs: 34_500 })
})
