// Real HTTP calls to a local provider, in the formats of Anthropic and of OpenAI's chat API: texts, tools, usage, cost, caching, failures
// and retries.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ModelServer, ServedAnswer } from '../../support/models/model-server.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness, Run, RunOptions } from '../../support/models/native-harness.ts'

interface Format {
  readonly name: string
  readonly model: string
  readonly urlName: string
  readonly urlPath: string
  readonly keyName: string
}

const ANTHROPIC: Format = {
  name: 'anthropic',
  model: 'anthropic/claude-sonnet-4-5',
  urlName: 'ANTHROPIC_BASE_URL',
  urlPath: '',
  keyName: 'ANTHROPIC_API_KEY',
}
const OPENAI: Format = {
  name: 'openai-chat',
  model: 'openai-chat/gpt-4o',
  urlName: 'OPENAI_BASE_URL',
  urlPath: '/v1',
  keyName: 'OPENAI_API_KEY',
}

const MIB = 1024 * 1024

let harness: NativeHarness
let server: ModelServer

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function startServed(format: Format, answers: readonly ServedAnswer[], options: RunOptions = {}): Promise<Run> {
  server = await startModelServer(answers)
  const credentials = { [format.keyName]: 'key-1', [format.urlName]: `${server.url}${format.urlPath}` }
  return harness.run({ ...options, credentials, spec: { model: format.model, system: 'be brief', ...options.spec } })
}

function messagesOf(index: number): readonly Record<string, unknown>[] {
  return server.requests[index]?.body['messages'] as readonly Record<string, unknown>[]
}

describe.each([ANTHROPIC, OPENAI])('$name', (format) => {
  test('a text, a tool call and its result are sent and received', async () => {
    await writeFile(join(harness.dir, 'a.txt'), 'the content')
    const { kernel, runTurn } = await startServed(format, [
      { text: 'I look', tools: [{ id: 'id_7', name: 'read', input: { path: 'a.txt' } }] },
      { text: 'It is short.' },
    ])
    await runTurn('what is in a.txt?')
    expect(kernel.factsOf('model.finished').map(({ message, finish }) => [finish, message])).toMatchObject([
      [
        'tool-calls',
        [
          { type: 'text', text: 'I look' },
          { type: 'tool-call', callId: 'id_7', name: 'read', input: { path: 'a.txt' } },
        ],
      ],
      ['stop', [{ type: 'text', text: 'It is short.' }]],
    ])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'It is short.' }])
    expect(
      kernel.liveOutputs
        .filter((live) => live.type === 'text')
        .map((live) => live.text)
        .join(''),
    ).toBe('I lookIt is short.')
    expect(JSON.stringify(messagesOf(1))).toContain('the content')
    expect(server.requests[0]?.body['tools']).toHaveLength(7)
    const headers = server.requests[0]?.headers
    expect(headers?.['x-api-key'] ?? headers?.authorization).toMatch(/^(Bearer )?key-1$/)
  })

  test('an event without end is cut before it fills the memory, and is not requested again', async () => {
    const { kernel, runTurn } = await startServed(format, [{ floodBytes: 200 * MIB }])
    await runTurn('go')
    expect(kernel.factsOf('model.failed')).toMatchObject([{ error: expect.stringContaining('larger than'), retryInMs: null }])
    expect(server.sentBytes).toBeLessThan(100 * MIB)
  })

  test('an error without end is read only at its beginning', async () => {
    const { kernel, runTurn } = await startServed(format, [{ status: 400, floodBytes: 200 * MIB }])
    await runTurn('go')
    expect(kernel.factsOf('model.failed')).toMatchObject([{ status: 400, retryInMs: null }])
    expect(server.sentBytes).toBeLessThan(100 * MIB)
  })

  test('an answer with too many tool calls fails', async () => {
    const tools = Array.from({ length: 1_001 }, (_, index) => ({ id: `id_${index}`, name: 'ls', input: {} }))
    const { kernel, runTurn } = await startServed(format, [{ tools }])
    await runTurn('go')
    expect(kernel.factsOf('model.failed')).toMatchObject([{ error: expect.stringContaining('1000 tools'), retryInMs: null }])
  })

  test('two calls in one answer get two results, in their order', async () => {
    const { kernel, runTurn } = await startServed(format, [
      {
        tools: [
          { id: 'x', name: 'ls', input: {} },
          { id: 'y', name: 'glob', input: { pattern: 'nothing' } },
        ],
      },
      { text: 'ok' },
    ])
    await runTurn('go')
    expect(
      kernel
        .factsOf('tool.finished')
        .map(({ callId, outcome }) => [callId, outcome])
        .toSorted(),
    ).toEqual([
      ['x', 'ok'],
      ['y', 'ok'],
    ])
    const sentText = JSON.stringify(messagesOf(1))
    expect(sentText.indexOf('"x"')).toBeLessThan(sentText.lastIndexOf('"y"'))
    expect(sentText.match(/no files match/g)).toHaveLength(1)
  })

  test('an input that is not JSON gets an error, a call with a repeated id gets its own id, and the turn continues', async () => {
    const { kernel, runTurn } = await startServed(format, [
      {
        tools: [
          { id: 'same', name: 'read', input: '{"path": "a' },
          { id: 'same', name: 'ls', input: {} },
        ],
      },
      { text: 'ok' },
    ])
    await runTurn('go')
    expect(new Set(kernel.factsOf('tool.started').map(({ callId }) => callId)).size).toBe(2)
    expect(kernel.factsOf('tool.finished').find(({ callId }) => callId === 'same')).toMatchObject({
      outcome: 'error',
      content: expect.stringContaining('invalid input'),
    })
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'ok' }])
  })

  test('each token is counted once, cached ones too, and the cost follows', async () => {
    const { kernel, runTurn } = await startServed(format, [{ text: 'hi', usage: { input: 1_000, output: 100, cacheRead: 20_000 } }])
    await runTurn('go')
    const usage = kernel.factsOf('model.finished')[0]?.usage
    expect(usage).toMatchObject({ inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 20_000, cacheWriteTokens: 0 })
    // USD per million: claude-sonnet-4-5 3 in, 15 out, 0.30 cached; gpt-4o 2.50 in, 10 out, 1.25 cached
    expect(usage?.costUsd).toBeCloseTo(format === ANTHROPIC ? 0.003 + 0.0015 + 0.006 : 0.0025 + 0.001 + 0.025, 9)
    expect(usage?.estimated).toBeUndefined()
  })

  test('a cut stream is requested again, and no tool is repeated', async () => {
    const { kernel, runTurn } = await startServed(format, [
      { tools: [{ name: 'bash', input: { command: 'echo once >> log; cat log' } }] },
      { text: 'half of it', tools: [{ name: 'bash', input: { command: 'echo twice >> log' } }], cutAfterBytes: 700 },
      { text: 'done' },
    ])
    await runTurn('go')
    expect(kernel.factsOf('model.started').map(({ step, attempt }) => [step, attempt])).toEqual([
      [1, 1],
      [2, 1],
      [2, 2],
    ])
    expect(kernel.factsOf('model.failed')).toMatchObject([
      { step: 2, attempt: 1, status: null, retryInMs: expect.any(Number), usage: { estimated: true } },
    ])
    expect(kernel.factsOf('tool.finished').map(({ content }) => content)).toEqual(['once\n[exit code 0]'])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
    expect(messagesOf(2)).toEqual(messagesOf(1))
  })

  test('a stream without the end of the answer counts as cut, also after a whole tool call', async () => {
    const endMarker = format === ANTHROPIC ? 'event: message_delta' : '"finish_reason":"tool_calls"'
    const answer: ServedAnswer = { tools: [{ name: 'bash', input: { command: 'touch never' } }] }
    const { anthropicEvents } = await import('../../support/models/model-server-anthropic.ts')
    const { openaiChatEvents } = await import('../../support/models/model-server-openai-chat.ts')
    const body = (format === ANTHROPIC ? anthropicEvents : openaiChatEvents)(answer)
    const cutAt = body.lastIndexOf('\n\n', body.indexOf(endMarker)) + 2
    const { kernel, runTurn } = await startServed(format, [{ ...answer, cutAfterBytes: cutAt }, { text: 'done' }])
    await runTurn('go')
    expect(kernel.factsOf('tool.started')).toEqual([])
    expect(kernel.factsOf('model.started').map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  })

  test("a refused request ends the turn with the provider's message", async () => {
    const { kernel, runTurn } = await startServed(format, [
      { status: 401, error: { type: 'authentication_error', message: 'invalid x-api-key' } },
    ])
    await runTurn('go')
    expect(kernel.factsOf('model.failed')).toMatchObject([{ status: 401, retryInMs: null, error: `${format.name}: 401 invalid x-api-key` }])
    expect(kernel.factsOf('model.failed')[0]?.usage).toBeUndefined()
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'error', error: `${format.name}: 401 invalid x-api-key` }])
    expect(server.requests).toHaveLength(1)
  })

  test('the agent gives up after the last attempt', async () => {
    const overloaded: ServedAnswer = { status: 529, error: { type: 'overloaded_error', message: 'Overloaded' } }
    const { kernel, runTurn } = await startServed(
      format,
      Array.from({ length: 9 }, () => overloaded),
    )
    await runTurn('go')
    expect(kernel.factsOf('model.failed').map(({ status, retryInMs }) => [status, retryInMs === null])).toEqual([
      [529, false],
      [529, false],
      [529, false],
      [529, true],
    ])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'error', error: expect.stringContaining('Overloaded') }])
  })

  test('after a 429 the agent waits as long as the provider demands', async () => {
    const { kernel, runTurn } = await startServed(format, [
      { status: 429, headers: { 'retry-after-ms': '150' }, error: { type: 'rate_limit_error', message: 'slow down' } },
      { text: 'done' },
    ])
    await runTurn('go')
    expect(kernel.factsOf('model.failed')).toMatchObject([{ status: 429, retryInMs: 150 }])
    const [first, second] = server.requests
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(145)
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  })

  test('a temporary error inside the stream is retried', async () => {
    const { kernel, runTurn } = await startServed(format, [
      { text: 'beginning', isMidStream: true, error: { type: 'overloaded_error', message: 'Overloaded' } },
      { text: 'done' },
    ])
    await runTurn('go')
    expect(kernel.factsOf('model.failed')).toMatchObject([{ attempt: 1, error: expect.stringContaining('Overloaded') }])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  })

  test('a permanent error inside the stream ends the turn', async () => {
    const { kernel, runTurn } = await startServed(format, [
      { text: 'b', isMidStream: true, error: { type: 'invalid_request_error', message: 'too long' } },
    ])
    await runTurn('go')
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'error', error: expect.stringContaining('too long') }])
    expect(server.requests).toHaveLength(1)
  })

  test('a hanging stream is cut after the idle time and requested again', async () => {
    const native = { idleMs: 100, retry: { attempts: 2, baseMs: 1, capMs: 1 } }
    const { kernel, runTurn } = await startServed(format, [{ text: 'never all of it', hangAfterBytes: 300 }, { hangAfterBytes: 0 }], {
      native,
    })
    await runTurn('go')
    expect(kernel.factsOf('model.failed').map(({ error, retryInMs }) => [error, retryInMs === null])).toEqual([
      [`${format.name}: no data for 100 ms`, false],
      [`${format.name}: no data for 100 ms`, true],
    ])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'error' }])
  })

  test('an interruption ends the stream at once and keeps the partial text', async () => {
    const { kernel, agent, send } = await startServed(format, [{ text: 'this much and then nothing', hangAfterBytes: 900 }])
    await send('go')
    await kernel.waitFor(() => kernel.liveOutputs.length > 0, 'text comes in')
    const since = performance.now()
    await agent.interrupt()
    await kernel.waitForTurnEnd()
    await server.requests[0]?.closed
    expect(performance.now() - since).toBeLessThan(20_000)
    const partialText = kernel.liveOutputs.map((live) => live.text).join('')
    expect(partialText).not.toBe('')
    expect(kernel.factsOf('model.failed')).toMatchObject([
      { partial: partialText, retryInMs: null, error: 'interrupted', usage: { estimated: true } },
    ])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
  })

  test('an answer that is cut by its length ends the turn with a note; a withheld one is an error', async () => {
    const { kernel, runTurn } = await startServed(format, [
      { text: 'long', finish: 'length' },
      { text: 'no', finish: 'refused' },
    ])
    await runTurn('go')
    await runTurn('again')
    expect(kernel.factsOf('process.note')).toMatchObject([{ text: expect.stringContaining('limit of output tokens') }])
    expect(kernel.factsOf('process.ready')).toMatchObject([
      { outcome: 'ok', result: 'long' },
      { outcome: 'error', error: expect.stringContaining('content filter') },
    ])
  })

  test('a resumed process sends the same messages', async () => {
    const answers: readonly ServedAnswer[] = [
      { thinking: { text: 'hm', signature: 'sig-1' }, text: 'a', tools: [{ id: 'id_1', name: 'ls', input: {} }] },
      { text: 'b' },
      { text: 'c' },
    ]
    const first = await startServed(format, answers)
    await first.runTurn('one')
    await first.runTurn('two')
    const expected = messagesOf(2)
    await server[Symbol.asyncDispose]()
    const factsBefore = first.kernel.facts.slice(0, first.kernel.facts.findIndex(({ body }) => body.type === 'process.ready') + 1)
    const second = await startServed(format, answers.slice(2), { earlierFacts: factsBefore })
    await second.runTurn('two')
    expect(messagesOf(0)).toEqual(expected)
  })
})

test('anthropic: cache breakpoints, the output limit, and signed thinking are sent', async () => {
  const { runTurn } = await startServed(ANTHROPIC, [
    { thinking: { text: 'let me see', signature: 'sig-1' }, text: 'a', tools: [{ id: 'id_1', name: 'ls', input: {} }] },
    { text: 'b', usage: { input: 5, output: 5, cacheRead: 0, cacheWrite: 300 } },
  ])
  await runTurn('go')
  const body = server.requests[1]?.body
  expect(server.requests[1]?.path).toBe('/v1/messages')
  expect(body).toMatchObject({ max_tokens: 16_384, system: [{ text: 'be brief', cache_control: { type: 'ephemeral' } }] })
  const [user, assistant, result] = messagesOf(1)
  expect(user).toMatchObject({ content: [{ text: 'go', cache_control: { type: 'ephemeral' } }] }) // the former end of the prompt
  expect((body?.['tools'] as readonly object[] | undefined)?.map((tool) => 'cache_control' in tool)).toEqual([
    false,
    false,
    false,
    false,
    false,
    false,
    true,
  ])
  expect(assistant).toMatchObject({
    content: [
      { type: 'thinking', thinking: 'let me see', signature: 'sig-1' },
      { type: 'text', text: 'a' },
      { type: 'tool_use', id: 'id_1' },
    ],
  })
  expect(result).toMatchObject({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'id_1', cache_control: { type: 'ephemeral' } }],
  })
  expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4) // the largest allowed number
})

test('anthropic: tokens written to the cache are counted separately; an interrupted call keeps the exact input', async () => {
  const usage = { input: 50, output: 10, cacheRead: 1_000, cacheWrite: 300 }
  const { kernel, runTurn } = await startServed(ANTHROPIC, [
    { text: 'half', usage, cutAfterBytes: 600 },
    { text: 'whole', usage },
  ])
  await runTurn('go')
  expect(kernel.factsOf('model.failed')[0]?.usage).toMatchObject({
    inputTokens: 50,
    cacheReadTokens: 1_000,
    cacheWriteTokens: 300,
    estimated: true,
  })
  expect(kernel.factsOf('model.finished')[0]?.usage).toMatchObject({
    inputTokens: 50,
    outputTokens: 10,
    cacheReadTokens: 1_000,
    cacheWriteTokens: 300,
  })
})

test('a configured provider needs no key, and an unknown price is null; no usage is estimated', async () => {
  server = await startModelServer([{ text: 'a local answer', usage: null }])
  const providers = [{ name: 'local', kind: 'openai-compatible' as const, baseURL: `${server.url}/v1`, apiKeyEnv: null }]
  const { kernel, runTurn } = await harness.run({ spec: { model: 'local/some/model' }, native: { providers, maxOutputTokens: 77 } })
  await runTurn('go')
  expect(server.requests[0]?.body).toMatchObject({ model: 'some/model', max_tokens: 77 })
  expect(server.requests[0]?.headers.authorization).toBeUndefined()
  expect(kernel.factsOf('model.finished')[0]?.usage).toMatchObject({ costUsd: null, estimated: true })
  expect(kernel.factsOf('model.finished')[0]?.usage.inputTokens).toBeGreaterThan(0)
})

test('an unreachable provider is tried again, then named', async () => {
  server = await startModelServer([])
  const { url } = server
  await server[Symbol.asyncDispose]()
  const { kernel, runTurn } = await harness.run({
    spec: { model: 'openai-chat/gpt-4o' },
    credentials: { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: url },
  })
  await runTurn('go')
  expect(kernel.factsOf('model.failed')).toHaveLength(4)
  expect(kernel.factsOf('model.failed')[0]?.usage).toBeUndefined()
  expect(kernel.factsOf('process.ready')).toMatchObject([
    { outcome: 'error', error: expect.stringContaining('openai-chat: Cannot connect') },
  ])
})
