// Requests to a provider, in each of the four formats, as a real server receives them. Covers the context of another
// provider, images, cache breakpoints, efforts, an additional question, and the parts left out after a refusal.
import { describe, expect, test } from 'vitest'
import type { ContextMessage } from '../../../src/drivers/native/context/context.ts'
import type { ModelAnswer } from '../../../src/drivers/native/models/model.ts'
import type { ModelOptions } from '../../../src/drivers/native/models/resolve-model.ts'
import type { AssistantPart } from '../../../src/kernel/model/facts.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ServedAnswer } from '../../support/models/model-server.ts'
import { callModel, failureOf, OFFERED_TOOLS, createWireModel, WIRE_FORMATS } from '../../support/models/wire-formats.ts'
import type { CallInput, WireFormat } from '../../support/models/wire-formats.ts'

type Body = Readonly<Record<string, unknown>>
type Options = Partial<ModelOptions> & { readonly name?: string }

const USER: ContextMessage = { role: 'user', text: 'go' }
/** An answer with thinking and two calls, whose ids have the forms of different servers. */
const THOUGHTFUL: ServedAnswer = {
  thinking: { text: 'what I think', signature: 'sig-of-the-first' },
  text: 'I look',
  tools: [
    { id: 'functions.read:0', name: 'read', input: { path: 'a' } },
    { id: 'id_2', name: 'ls', input: {} },
  ],
}

async function requestFor(
  format: WireFormat,
  question: CallInput,
  options: Options = {},
  answer: ServedAnswer = { text: 'ok' },
): Promise<{ readonly body: Body; readonly answer: ModelAnswer }> {
  await using server = await startModelServer([answer])
  const modelAnswer = await callModel(await createWireModel(format, server.url, options), question)
  return { body: server.requests[0]?.body ?? {}, answer: modelAnswer }
}

function resultsOf(parts: readonly AssistantPart[]): ContextMessage {
  return {
    role: 'tool',
    results: parts.flatMap((part) =>
      part.type === 'tool-call'
        ? [{ callId: part.callId, name: part.name, outcome: 'ok' as const, content: `result of ${part.name}` }]
        : [],
    ),
  }
}

/** A context with two answers of a provider, the second after the results of the first. */
async function contextOf(format: WireFormat, options: Options = {}): Promise<readonly ContextMessage[]> {
  const first = await requestFor(format, { messages: [USER] }, options, THOUGHTFUL)
  const afterFirst: readonly ContextMessage[] = [USER, { role: 'assistant', parts: first.answer.message }, resultsOf(first.answer.message)]
  const second = await requestFor(format, { messages: afterFirst }, options, {
    ...THOUGHTFUL,
    thinking: { text: 'more thoughts', signature: 'sig-of-the-second' },
  })
  return [...afterFirst, { role: 'assistant', parts: second.answer.message }, resultsOf(second.answer.message)]
}

/** Checks what a provider would refuse: a repeated or invalid id; a result without its call. */
function checkIds(body: Body, kind: WireFormat['kind']): void {
  const text = JSON.stringify(body)
  const matchesOf = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1] ?? '')
  const ids: Readonly<Record<WireFormat['kind'], readonly [calls: RegExp, results: RegExp]>> = {
    anthropic: [/"type":"tool_use","id":"([^"]*)"/g, /"tool_use_id":"([^"]*)"/g],
    openai: [/"type":"function_call","call_id":"([^"]*)"/g, /"type":"function_call_output","call_id":"([^"]*)"/g],
    'openai-compatible': [/"id":"([^"]*)","type":"function"/g, /"tool_call_id":"([^"]*)"/g],
    google: [/"functionCall":\{"id":"([^"]*)"/g, /"functionResponse":\{"id":"([^"]*)"/g],
  }
  const calls = matchesOf(ids[kind][0])
  expect(calls).toHaveLength(4)
  expect(new Set(calls).size).toBe(4)
  expect(matchesOf(ids[kind][1])).toEqual(calls)
  if (kind !== 'openai-compatible') for (const id of calls) expect(id).toMatch(/^[\w-]{1,64}$/)
}

test.each(WIRE_FORMATS)(
  '$kind: half a character at the end of a cut text is not sent: a provider would refuse each later call',
  async (format) => {
    const brokenText = 'cut here \ud83d'
    const messages: readonly ContextMessage[] = [
      { role: 'user', text: brokenText },
      {
        role: 'assistant',
        parts: [
          { type: 'text', text: brokenText },
          { type: 'tool-call', callId: 'c1', name: 'read', input: { path: brokenText, list: [{ [brokenText]: brokenText }] } },
        ],
      },
      { role: 'tool', results: [{ callId: 'c1', name: 'read', outcome: 'error', content: brokenText }] },
      { role: 'user', text: 'whole \u{1f600}, and a text that looks so: \\ud83d' },
    ]
    const { body } = await requestFor(format, {
      messages,
      system: brokenText,
      question: brokenText,
      tools: [{ name: 'read', description: brokenText, schema: { type: 'object', properties: { [brokenText]: { type: 'string' } } } }],
    })
    const text = JSON.stringify(body)
    // Whole characters are written unchanged, halves only as escapes.
    expect(text.replaceAll(String.raw`\\ud83d`, '').match(/\\ud[89a-f]../gi)).toBeNull()
    expect(text).toContain(String.raw`looks so: \\ud83d`)
    expect(text).toContain('whole \u{1f600}')
    expect(text).toContain('cut here \ufffd')
  },
)

describe.each(WIRE_FORMATS)('from $kind', (origin) => {
  test.each(WIRE_FORMATS)('to $kind: the context is well formed', async (target) => {
    const messages = await contextOf(origin)
    const { body } = await requestFor(target, { messages })
    checkIds(body, target.kind)
    const text = JSON.stringify(body)
    expect(text).toContain('result of read')
    expect(text).not.toContain('reeve')
    if (origin.kind === target.kind) {
      for (const thought of ['what I think', 'more thoughts']) expect(text).toContain(thought)
      if (origin.kind !== 'openai-compatible')
        for (const signature of ['sig-of-the-first', 'sig-of-the-second']) expect(text).toContain(signature)
    } else {
      for (const originData of ['what I think', 'more thoughts', 'sig-of', 'rs_1', 'fc_0', 'msg_1', 'itemId'])
        expect(text).not.toContain(originData)
    }
  })

  test('to another model of the same provider: the thoughts are left out', async () => {
    const { body } = await requestFor(origin, { messages: await contextOf(origin) }, { name: 'another-model' })
    checkIds(body, origin.kind)
    expect(JSON.stringify(body)).not.toMatch(/what I think|sig-of/)
  })
})

describe('thinking that is bound to the messages before it', () => {
  const [format] = WIRE_FORMATS.filter((each) => each.kind === 'anthropic')
  if (format === undefined) throw new Error('no format')

  test.each([
    ['an unchanged request keeps it', {}, true],
    ['another system prompt removes it', { system: 'be long' }, false],
    ['another tool removes it', { tools: OFFERED_TOOLS.slice(1) }, false],
    ['an additional question at the end keeps it', { question: 'sum it up' }, true],
  ])('%s', async (_, change, isKept) => {
    const { body } = await requestFor(format, { messages: await contextOf(format), ...change })
    expect(JSON.stringify(body).includes('what I think')).toBe(isKept)
    expect(JSON.stringify(body).includes('more thoughts')).toBe(isKept)
  })

  test('hidden thinking is sent back unchanged', async () => {
    const { answer } = await requestFor(format, { messages: [USER] }, {}, { ...THOUGHTFUL, redacted: 'sealed' })
    const { body } = await requestFor(format, { messages: [USER, { role: 'assistant', parts: answer.message }, resultsOf(answer.message)] })
    expect(body).toMatchObject({
      messages: [{}, { content: [{ type: 'thinking' }, { type: 'redacted_thinking', data: 'sealed' }, { type: 'text' }, {}, {}] }, {}],
    })
  })

  test('thinking of a compacted context is left out', async () => {
    const [, ...kept] = await contextOf(format)
    const { body } = await requestFor(format, { messages: [{ role: 'user', text: 'what was before' }, ...kept] })
    checkIds(body, 'anthropic')
    expect(JSON.stringify(body)).not.toMatch(/what I think|more thoughts/)
  })
})

const IMAGE = { mediaType: 'image/png', data: 'iVBORw0KGgo=' }
const IMAGE_CONTEXT: readonly ContextMessage[] = [
  USER,
  {
    role: 'assistant',
    parts: [
      { type: 'tool-call', callId: 'c1', name: 'read', input: { path: 'a.png' } },
      { type: 'tool-call', callId: 'c2', name: 'ls', input: {} },
    ],
  },
  {
    role: 'tool',
    results: [
      { callId: 'c1', name: 'read', outcome: 'ok', content: 'a.png, 8 bytes', images: [IMAGE] },
      { callId: 'c2', name: 'ls', outcome: 'ok', content: 'a.png' },
    ],
  },
]
const FILE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: IMAGE.data } }
const DATA_URL = `data:image/png;base64,${IMAGE.data}`

const IMAGES: Readonly<Record<WireFormat['kind'], readonly [name: string, expected: object]>> = {
  anthropic: [
    'claude-sonnet-4-5',
    {
      messages: [
        {},
        {},
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'a.png, 8 bytes' }, FILE] },
            { type: 'tool_result', tool_use_id: 'c2' },
          ],
        },
      ],
    },
  ],
  openai: [
    'gpt-5',
    {
      input: [
        {},
        {},
        {},
        {},
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [
            { type: 'input_text', text: 'a.png, 8 bytes' },
            { type: 'input_image', image_url: DATA_URL },
          ],
        },
        { type: 'function_call_output', call_id: 'c2', output: 'a.png' },
      ],
    },
  ],
  'openai-compatible': [
    'qwen',
    {
      messages: [
        {},
        {},
        {},
        { role: 'tool', tool_call_id: 'c1', content: 'a.png, 8 bytes' },
        { role: 'tool', tool_call_id: 'c2' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Images returned by read:' },
            { type: 'image_url', image_url: { url: DATA_URL } },
          ],
        },
      ],
    },
  ],
  google: [
    'gemini-3-pro-preview',
    {
      contents: [
        {},
        {},
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'c1', name: 'read', parts: [{ inlineData: { mimeType: 'image/png', data: IMAGE.data } }] } },
            { functionResponse: { id: 'c2' } },
          ],
        },
      ],
    },
  ],
}

describe.each(WIRE_FORMATS)('$kind', (format) => {
  test('an image from a tool is sent', async () => {
    const [name, expected] = IMAGES[format.kind]
    expect((await requestFor(format, { messages: IMAGE_CONTEXT }, { name })).body).toMatchObject(expected)
  })

  test('a model that rejects images is asked again without them, and so from then on', async () => {
    await using server = await startModelServer([
      { status: 400, error: { type: 'invalid_request_error', message: 'this model does not support image input' } },
      { text: 'ok' },
      { text: 'ok' },
    ])
    const model = await createWireModel(format, server.url, { name: 'blind' })
    expect(await failureOf(callModel(model, { messages: IMAGE_CONTEXT }))).toMatchObject({
      retryable: true,
      retryAfterMs: 0,
      usage: undefined,
      message: expect.stringContaining('retrying without images'),
    })
    await callModel(model, { messages: IMAGE_CONTEXT })
    await callModel(model, { messages: IMAGE_CONTEXT })
    const [first, second, third] = server.requests.map(({ body }) => JSON.stringify(body))
    expect(first).toContain(IMAGE.data)
    expect(second).not.toContain(IMAGE.data)
    expect(second).toContain('omitted: this model does not accept images')
    expect(third).toBe(second)
  })

  test('a model that rejects an effort is asked again without one', async () => {
    await using server = await startModelServer([
      { status: 400, error: { type: 'invalid_request_error', message: 'thinking is not supported by this model: reasoning_effort' } },
      { text: 'ok' },
    ])
    const model = await createWireModel(format, server.url, { effort: 'high' })
    expect(await failureOf(callModel(model))).toMatchObject({
      retryable: true,
      message: expect.stringContaining('retrying without effort'),
    })
    await callModel(model)
    expect(JSON.stringify(server.requests[0]?.body)).toMatch(/effort|budget|thinkingBudget/i)
    expect(JSON.stringify(server.requests[1]?.body)).not.toMatch(/effort|budget|thinkingConfig/i)
  })

  test.each([
    [404, 'No endpoints found that support image input'],
    [500, 'image input is not supported - hint: provide the mmproj'],
  ])('status %i with "%s" refuses images, and fails a second time without another attempt', async (status, message) => {
    await using server = await startModelServer(() => ({ status, error: { type: 'x', message } }))
    const model = await createWireModel(format, server.url)
    expect(await failureOf(callModel(model, { messages: IMAGE_CONTEXT }))).toMatchObject({
      retryable: true,
      retryAfterMs: 0,
      kind: 'other',
    })
    expect((await failureOf(callModel(model, { messages: IMAGE_CONTEXT }))).message).not.toContain('retrying without')
  })

  test('only sent parts are left out: otherwise the refusal stands', async () => {
    await using server = await startModelServer(() => ({
      status: 400,
      error: { type: 'invalid_request_error', message: 'no thinking, no image, no signature' },
    }))
    expect(await failureOf(callModel(await createWireModel(format, server.url)))).toMatchObject({ retryable: false, kind: 'other' })
  })

  test('refused signatures are left out', async () => {
    const messages = await contextOf(format)
    await using server = await startModelServer([
      { status: 400, error: { type: 'invalid_request_error', message: 'messages.1.content.0: Invalid `signature` in `thinking` block' } },
      { text: 'ok' },
    ])
    const model = await createWireModel(format, server.url)
    expect(await failureOf(callModel(model, { messages }))).toMatchObject({
      retryable: true,
      message: expect.stringContaining('without reasoning'),
    })
    await callModel(model, { messages })
    expect(JSON.stringify(server.requests[1]?.body)).not.toContain('what I think')
  })

  test('an additional question follows the context; tools stay declared, and none may be called', async () => {
    const { body } = await requestFor(format, { messages: IMAGE_CONTEXT, question: 'sum it up' })
    const text = JSON.stringify(body)
    expect(text).toContain('"lists a folder"')
    expect(text).toMatch(/"tool_choice":(\{"type":"none"\}|"none")|"mode":"NONE"/)
    const list = (body['messages'] ?? body['input'] ?? body['contents']) as readonly unknown[]
    expect(JSON.stringify(list.at(-1))).toContain('sum it up')
  })

  test('a schema is sent unchanged, except for its draft', async () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] }, b: { $ref: '#/$defs/q' } },
      $defs: { q: { const: 7 } },
      required: ['a'],
    }
    const { $schema: _, ...rest } = schema
    const text = JSON.stringify((await requestFor(format, { tools: [{ name: 'mcp__x__y', description: 'd', schema }] })).body)
    expect(text).toContain(JSON.stringify(rest).slice(1, -1))
    expect(text).not.toContain('$schema')
  })

  test('the configured output limit is sent, or a lower one for a small window', async () => {
    const limits = /"(max_tokens|max_output_tokens|maxOutputTokens)":(\d+)/
    const provider = { name: format.provider, kind: format.kind, apiKeyEnv: null }
    const sentLimit = async (models: NonNullable<ModelOptions['providers'][number]['models']>): Promise<string | undefined> => {
      await using server = await startModelServer([{ text: 'ok' }])
      const model = await createWireModel(format, server.url, {
        providers: [{ ...provider, baseURL: `${server.url}${format.basePath}`, models }],
      })
      await callModel(model)
      expect(model.window).toBe(models[format.name]?.contextWindow ?? model.window)
      return limits.exec(JSON.stringify(server.requests[0]?.body))?.[2]
    }
    expect(await sentLimit({})).toBe('16384')
    expect(await sentLimit({ [format.name]: { maxOutputTokens: 20_000 } })).toBe('20000')
    expect(await sentLimit({ [format.name]: { contextWindow: 8_192 } })).toBe('4096')
    expect(await sentLimit({ [format.name]: { contextWindow: 8_192, maxOutputTokens: 7_000 } })).toBe('7000')
  })

  test('an answer is limited to the granted output tokens, including its thinking', async () => {
    for (const effort of [undefined, 'high'] as const) {
      const { body } = await requestFor(
        format,
        { maxOutputTokens: 3_000 },
        { ...(effort ? { effort } : {}), maxOutputTokens: 8_000, name: format.kind === 'anthropic' ? 'claude-sonnet-4-5' : format.name },
      )
      const sentLimits = [
        body['max_tokens'],
        body['max_completion_tokens'],
        body['max_output_tokens'],
        (body['generationConfig'] as Body | undefined)?.['maxOutputTokens'],
      ].filter((value) => value !== undefined)
      expect(sentLimits).toEqual([3_000])
      expect((body['thinking'] as Body | undefined)?.['budget_tokens'] ?? 0).toBeLessThan(3_000)
    }
  })

  test('every effort is accepted, whatever the model supports', async () => {
    for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const) {
      for (const name of [format.name, 'unheard-of']) expect((await requestFor(format, {}, { effort, name })).answer.finish).toBe('stop')
    }
  })
})

test.each(WIRE_FORMATS.filter(({ kind }) => kind === 'openai' || kind === 'google'))(
  '$kind: a model that refuses to show its thoughts is asked again without them',
  async (format) => {
    const message = 'Your organization must be verified to generate reasoning summaries (includeThoughts).'
    await using server = await startModelServer([{ status: 400, error: { type: 'invalid_request_error', message } }, { text: 'ok' }])
    const model = await createWireModel(format, server.url, { effort: 'low' })
    expect(await failureOf(callModel(model))).toMatchObject({ retryable: true, message: expect.stringContaining('without thoughts') })
    await callModel(model)
    const [first, second] = server.requests.map(({ body }) => JSON.stringify(body))
    expect(first).toMatch(/"summary":"auto"|"includeThoughts":true/)
    expect(second).not.toMatch(/summary|includeThoughts/)
    expect(second).toMatch(/"effort":"low"|thinkingBudget/)
  },
)

type EffortRow = readonly [kind: WireFormat['kind'], name: string, effort: NonNullable<ModelOptions['effort']>, expected: object]

const EFFORTS: readonly EffortRow[] = [
  ['anthropic', 'claude-opus-4-6', 'high', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
  ['anthropic', 'claude-opus-4-6', 'max', { output_config: { effort: 'max' } }],
  ['anthropic', 'claude-sonnet-4-5', 'none', { thinking: { type: 'disabled' } }],
  ['anthropic', 'claude-sonnet-4-5', 'low', { thinking: { type: 'enabled', budget_tokens: 6_400 } }],
  ['openai', 'gpt-5', 'max', { reasoning: { effort: 'high' }, store: false, include: ['reasoning.encrypted_content'] }],
  ['openai', 'gpt-5', 'none', { reasoning: { effort: 'minimal' } }],
  ['openai', 'my-thinker', 'high', { reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'] }],
  ['openai-compatible', 'qwen', 'max', { reasoning_effort: 'high' }],
  ['openai-compatible', 'qwen', 'minimal', { reasoning_effort: 'low' }],
  ['openai-compatible', 'qwen', 'none', { reasoning_effort: 'none' }],
  ['google', 'gemini-3-pro-preview', 'max', { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' } } }],
  ['google', 'gemini-2.5-flash', 'none', { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
]

test.each(EFFORTS)('%s %s: the effort `%s` is sent in the terms of the provider', async (kind, name, effort, expected) => {
  const [format] = WIRE_FORMATS.filter((each) => each.kind === kind)
  if (format === undefined) throw new Error(kind)
  expect((await requestFor(format, {}, { name, effort })).body).toMatchObject(expected)
})

test('without an effort, a request sets no effort and no budget for the thinking', async () => {
  for (const format of WIRE_FORMATS) {
    const text = JSON.stringify((await requestFor(format, {})).body)
    expect(text).not.toMatch(/effort|budget|thinkingLevel/i)
  }
})

test('openai: the calls of a process share the key of their cache, and nothing is stored', async () => {
  const [format] = WIRE_FORMATS.filter((each) => each.kind === 'openai')
  if (format === undefined) throw new Error('no format')
  expect((await requestFor(format, {}, { cacheKey: 'uuid-1' })).body).toMatchObject({ prompt_cache_key: 'uuid-1', store: false })
})

test('anthropic: after many calls, cache breakpoints are at the former and at the new end of the messages', async () => {
  const [format] = WIRE_FORMATS.filter((each) => each.kind === 'anthropic')
  if (format === undefined) throw new Error('no format')
  const calls = Array.from({ length: 30 }, (_, index): AssistantPart => ({ type: 'tool-call', callId: `c${index}`, name: 'ls', input: {} }))
  const { body } = await requestFor(format, { messages: [USER, { role: 'assistant', parts: calls }, resultsOf(calls)] })
  const blocks = (body['messages'] as readonly { readonly content: readonly object[] }[]).flatMap(({ content }) => content)
  expect(blocks.flatMap((block, index) => ('cache_control' in block ? [index] : []))).toEqual([0, blocks.length - 1])
  expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4)
})

test("the key is sent in the vendor's header", async () => {
  const names: Readonly<Record<WireFormat['kind'], string>> = {
    anthropic: 'x-api-key',
    openai: 'authorization',
    'openai-compatible': 'authorization',
    google: 'x-goog-api-key',
  }
  for (const format of WIRE_FORMATS) {
    await using server = await startModelServer([{ text: 'ok' }])
    await callModel(await createWireModel(format, server.url))
    expect(server.requests[0]?.path.split('?')[0]).toBe(format.path)
    expect(server.requests[0]?.headers[names[format.kind]]).toMatch(/^(Bearer )?key-1$/)
  }
})

test("an address for the vendor's own clients, without the version, is accepted", async () => {
  for (const format of WIRE_FORMATS.filter((each) => each.kind === 'anthropic' || each.kind === 'google')) {
    await using server = await startModelServer([{ text: 'ok' }])
    const providers = [{ name: format.provider, kind: format.kind, baseURL: `${server.url}/`, apiKeyEnv: null }]
    await callModel(await createWireModel(format, server.url, { providers }))
    expect(server.requests[0]?.path.split('?')[0]).toBe(format.path)
  }
})
