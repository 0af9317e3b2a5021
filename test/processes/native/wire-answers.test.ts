// The results of answers in each of the four formats, against a real server. Covers all documented stop reasons, parallel
// calls, and usage with its caches. Each token is counted once.
import { describe, expect, test, vi } from 'vitest'
import type { FinishReason } from '../../../src/kernel/model/facts.ts'
import type { ModelAnswer, CallFailed } from '../../../src/drivers/native/models/model.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ServedAnswer } from '../../support/models/model-server.ts'
import { callModel, failureOf, createWireModel, requestOf, WIRE_FORMATS } from '../../support/models/wire-formats.ts'
import type { WireFormat } from '../../support/models/wire-formats.ts'

type Kind = WireFormat['kind']

function formatOf(kind: Kind): WireFormat {
  const format = WIRE_FORMATS.find((each) => each.kind === kind)
  if (format === undefined) throw new Error(kind)
  return format
}

async function callThatSucceeds(kind: Kind, answer: ServedAnswer, name?: string): Promise<ModelAnswer> {
  await using server = await startModelServer(() => answer)
  const format = formatOf(kind)
  return await callModel(await createWireModel(format, server.url, name === undefined ? {} : { name }))
}

async function callThatFails(kind: Kind, answer: ServedAnswer): Promise<CallFailed> {
  await using server = await startModelServer(() => answer)
  return await failureOf(callModel(await createWireModel(formatOf(kind), server.url)))
}

const CALL = [{ id: 'id_1', name: 'read', input: { path: 'a' } }]
const USAGE = { input: 11, output: 5 }

/** Stop reasons with a text. */
const STOPS: readonly (readonly [kind: Kind, answer: ServedAnswer, finish: FinishReason])[] = [
  ['anthropic', { stopReason: 'end_turn' }, 'stop'],
  ['anthropic', { stopReason: 'stop_sequence' }, 'stop'],
  ['anthropic', { stopReason: 'max_tokens' }, 'length'],
  ['anthropic', { stopReason: 'model_context_window_exceeded' }, 'length'],
  ['anthropic', { stopReason: 'refusal' }, 'content-filter'],
  ['anthropic', { stopReason: 'tool_use', tools: CALL }, 'tool-calls'],
  ['anthropic', { stopReason: 'end_turn', tools: CALL }, 'tool-calls'],
  ['anthropic', { stopReason: 'pause_turn', tools: CALL }, 'tool-calls'],
  ['anthropic', { stopReason: 'a_new_reason' }, 'other'],
  ['openai', {}, 'stop'],
  ['openai', { stopReason: 'max_output_tokens' }, 'length'],
  ['openai', { stopReason: 'content_filter' }, 'content-filter'],
  ['openai', { refusal: 'I will not' }, 'content-filter'],
  ['openai', { tools: CALL }, 'tool-calls'],
  ['openai', { stopReason: 'a_new_reason' }, 'other'],
  ['openai-compatible', { stopReason: 'stop' }, 'stop'],
  ['openai-compatible', { stopReason: 'length' }, 'length'],
  ['openai-compatible', { stopReason: 'content_filter' }, 'content-filter'],
  ['openai-compatible', { stopReason: 'sensitive' }, 'content-filter'],
  ['openai-compatible', { stopReason: 'tool_calls', tools: CALL }, 'tool-calls'],
  ['openai-compatible', { stopReason: 'stop', tools: CALL }, 'tool-calls'],
  ['openai-compatible', { stopReason: 'function_call', tools: CALL }, 'tool-calls'],
  ['openai-compatible', { stopReason: 'tool_calls' }, 'stop'],
  ['openai-compatible', { stopReason: 'model_context_window_exceeded' }, 'length'],
  ['openai-compatible', { stopReason: 'eos' }, 'other'],
  ['google', { stopReason: 'STOP' }, 'stop'],
  ['google', { stopReason: 'STOP', tools: CALL }, 'tool-calls'],
  ['google', { stopReason: 'MAX_TOKENS' }, 'length'],
  ['google', { stopReason: 'OTHER' }, 'other'],
  ...['SAFETY', 'RECITATION', 'LANGUAGE', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY'].map(
    (stopReason) => ['google', { stopReason }, 'content-filter'] as const,
  ),
]

test.each(STOPS)('%s: %j ends as %s', async (kind, answer, finish) => {
  const result = await callThatSucceeds(kind, { text: 'some text', usage: USAGE, ...answer })
  expect(result.finish).toBe(finish)
  expect(result.message[0]).toMatchObject({ type: 'text', text: 'some text' })
  expect(result.message.filter((part) => part.type === 'tool-call')).toHaveLength(answer.tools?.length ?? 0)
  expect(result.usage).toMatchObject({ inputTokens: 11, outputTokens: 5 })
})

/** Stop reasons without a text: the request is repeated, or fails. */
const FAILED_STOPS: readonly (readonly [kind: Kind, answer: ServedAnswer, expected: Partial<CallFailed>])[] = [
  ['anthropic', { stopReason: 'pause_turn' }, { kind: 'other', retryable: true }],
  ['anthropic', { stopReason: 'model_context_window_exceeded' }, { kind: 'too-long', retryable: false }],
  ['anthropic', { stopReason: 'tool_use' }, { kind: 'other', retryable: true }],
  ['openai-compatible', { stopReason: 'error' }, { kind: 'overloaded', retryable: true }],
  ['openai-compatible', { stopReason: 'abort' }, { kind: 'overloaded', retryable: true }],
  ['openai-compatible', { stopReason: 'insufficient_system_resource' }, { kind: 'overloaded', retryable: true }],
  ['openai-compatible', { stopReason: 'tool_calls' }, { kind: 'other', retryable: true }],
  ['openai-compatible', { stopReason: 'function_call' }, { kind: 'other', retryable: true }],
  ...[
    'MALFORMED_FUNCTION_CALL',
    'UNEXPECTED_TOOL_CALL',
    'TOO_MANY_TOOL_CALLS',
    'MISSING_THOUGHT_SIGNATURE',
    'MALFORMED_RESPONSE',
    'OTHER',
    'FINISH_REASON_UNSPECIFIED',
  ].map((stopReason) => ['google', { stopReason }, { kind: 'other', retryable: true }] as const),
]

test.each(FAILED_STOPS)('%s: %j fails, and its cost is charged', async (kind, answer, expected) => {
  const failure = await callThatFails(kind, { usage: USAGE, ...answer })
  expect(failure).toMatchObject({ ...expected, usage: { inputTokens: 11, outputTokens: 5 } })
  expect(failure.usage?.estimated).toBeUndefined()
})

test('an answer that the window cuts before its first token fails as too long; an empty answer within the window does not', async () => {
  await using server = await startModelServer([
    { finish: 'length', usage: { input: 8_100, output: 80 } },
    { finish: 'length', usage: { input: 100, output: 80 } },
  ])
  const format = formatOf('openai-compatible')
  const providers = [
    {
      name: format.provider,
      kind: format.kind,
      baseURL: `${server.url}/v1`,
      apiKeyEnv: null,
      models: { [format.name]: { contextWindow: 8_192 } },
    },
  ]
  const model = await createWireModel(format, server.url, { providers })
  expect(await failureOf(callModel(model))).toMatchObject({
    kind: 'too-long',
    retryable: false,
    usage: { inputTokens: 8_100, outputTokens: 80 },
  })
  expect(await callModel(model)).toMatchObject({ message: [], finish: 'length' })
})

test('a prompt that Gemini refuses gets an empty answer', async () => {
  expect(await callThatSucceeds('google', { blockReason: 'SAFETY' })).toMatchObject({ message: [], finish: 'content-filter' })
})

test('a withheld answer calls no tools', async () => {
  expect(await callThatSucceeds('anthropic', { text: 'I', tools: CALL, stopReason: 'refusal' })).toMatchObject({
    message: [{ type: 'text', text: 'I' }],
    finish: 'content-filter',
  })
})

describe.each(WIRE_FORMATS)('$kind', ({ kind }) => {
  test('parallel calls keep their order, with ids that are unique', async () => {
    const tools = [
      { id: 'x', name: 'read', input: { path: '1' } },
      { id: 'y', name: 'ls', input: {} },
      { id: 'z', name: 'read', input: { path: '2' } },
    ]
    const { message } = await callThatSucceeds(kind, { tools })
    expect(message).toMatchObject([
      { callId: 'x', input: { path: '1' } },
      { callId: 'y', input: {} },
      { callId: 'z', input: { path: '2' } },
    ])
  })

  test('calls get unique ids if the provider gives all of them the same id, or none', async () => {
    const sameIds = await callThatSucceeds(kind, {
      tools: [
        { id: 'x', name: 'ls', input: {} },
        { id: 'x', name: 'ls', input: {} },
      ],
    })
    const none = await callThatSucceeds(kind, {
      tools: [
        { name: 'ls', input: {} },
        { name: 'read', input: { path: 'a' } },
      ],
    })
    for (const { message } of [sameIds, none]) {
      const ids = message.map((part) => (part.type === 'tool-call' ? part.callId : ''))
      expect(new Set(ids).size).toBe(2)
      expect(ids).not.toContain('')
    }
  })

  test('if an answer is cut by its length before the input of its last call, that call gets an invalid input', async () => {
    const tools = [
      { id: 'x', name: 'ls', input: {} },
      { id: 'y', name: 'ls', input: '' },
    ]
    const { message, finish } = await callThatSucceeds(kind, {
      tools: kind === 'google' ? tools.map((tool) => ({ ...tool, input: {} })) : tools,
      finish: 'length',
    })
    expect(finish).toBe('length')
    expect(message).toMatchObject([
      { callId: 'x', input: {} },
      { callId: 'y', input: { invalid_input: '' } },
    ])
  })

  test('each token is counted once; reasoning is output', async () => {
    const { usage } = await callThatSucceeds(kind, { text: 'x', usage: { input: 100, output: 50, cacheRead: 1_000, reasoning: 20 } })
    expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 50, cacheReadTokens: 1_000, cacheWriteTokens: 0 })
    expect(usage.estimated).toBeUndefined()
    expect(usage.costUsd).toBeGreaterThan(0)
  })
})

test.each(['openai', 'openai-compatible', 'google'] as const)('%s: missing usage is estimated', async (kind) => {
  expect((await callThatSucceeds(kind, { text: 'some text', usage: null })).usage).toMatchObject({
    estimated: true,
    inputTokens: 7,
    outputTokens: 3,
  })
})

test.each(['anthropic', 'openai'] as const)('%s: tokens written to the cache are counted separately', async (kind) => {
  const { usage } = await callThatSucceeds(kind, { text: 'x', usage: { input: 100, output: 50, cacheRead: 1_000, cacheWrite: 300 } })
  expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 50, cacheReadTokens: 1_000, cacheWriteTokens: 300 })
})

const FIELDS: readonly (readonly [what: string, fields: object, expected: object])[] = [
  [
    'DeepSeek: cache hits beside the details',
    { prompt_tokens: 110, prompt_tokens_details: null, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 46 },
    { inputTokens: 46, cacheReadTokens: 64, outputTokens: 50 },
  ],
  [
    'Moonshot: cache hits at the top',
    { prompt_tokens: 110, prompt_tokens_details: undefined, cached_tokens: 64 },
    { inputTokens: 46, cacheReadTokens: 64, outputTokens: 50 },
  ],
  [
    'OpenRouter: cache writes in the details',
    { prompt_tokens: 410, prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 300 } },
    { inputTokens: 10, cacheReadTokens: 100, cacheWriteTokens: 300, outputTokens: 50 },
  ],
  [
    'xAI: reasoning beside the completion',
    { completion_tokens: 30, completion_tokens_details: { reasoning_tokens: 20 }, total_tokens: 150 },
    { inputTokens: 100, outputTokens: 50 },
  ],
  [
    'OpenAI: reasoning in the completion',
    { completion_tokens_details: { reasoning_tokens: 20 }, total_tokens: 150 },
    { inputTokens: 100, outputTokens: 50 },
  ],
]

test.each(FIELDS)('usage is read from the fields of %s', async (_, usageFields, expected) => {
  const { usage } = await callThatSucceeds('openai-compatible', {
    text: 'x',
    usage: { input: 100, output: 50 },
    usageFields: { ...usageFields },
  })
  expect(usage).toMatchObject({ cacheReadTokens: 0, cacheWriteTokens: 0, ...expected })
})

test("a host's own cost is used where no price is known", async () => {
  const unpriced = await callThatSucceeds('openai-compatible', { text: 'x', usageFields: { cost: 0.0123 } }, 'no-such-model')
  expect(unpriced.usage.costUsd).toBe(0.0123)
  expect((await callThatSucceeds('openai-compatible', { text: 'x' }, 'no-such-model')).usage.costUsd).toBeNull()
  expect((await callThatSucceeds('openai-compatible', { text: 'x', usageFields: { cost: 99 } })).usage.costUsd).toBeLessThan(1)
})

test('a cut stream of Gemini is charged with its reported input', async () => {
  const failure = await callThatFails('google', {
    text: 'half and more',
    usage: { input: 50, output: 9, cacheRead: 1_000 },
    cutAfterBytes: 400,
  })
  expect(failure).toMatchObject({ kind: 'cut', usage: { inputTokens: 50, cacheReadTokens: 1_000, estimated: true } })
})

test.each(
  WIRE_FORMATS.flatMap((format) => [
    [format.provider, 'a text', format, { text: 'some text' }] as const,
    [format.provider, 'a tool call', format, { tools: [{ id: 'id_1', name: 'read', input: { path: 'a' } }] }] as const,
  ]),
)('%s: the time to %s is measured from the request, and not to the end of the answer', async (_, __, format, answer) => {
  let nowMs = 100
  using clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  await using server = await startModelServer(() => {
    nowMs = 140
    return { ...answer, usage: USAGE }
  })
  const model = await createWireModel(format, server.url)
  const onText = (): void => {
    queueMicrotask(() => {
      nowMs = 1_000
    })
  }
  expect((await model.call({ ...requestOf(), onText })).firstTokenMs).toBe(40)
  expect(clock).toHaveBeenCalled()
})
