// Calls through the gateway in each format against the model server: whole, streamed, refused, cut anywhere. The client gets the
// bytes that the provider sent, and the kernel gets their usage.
import { describe, expect, test } from 'vitest'
import { bodyOf, startModelServer, type ServedAnswer } from '../../support/models/model-server.ts'
import { FORMATS, parseUsage, type FormatName } from '../../../src/drivers/gateway/formats.ts'
import { createMeter } from '../../../src/drivers/gateway/usage-meter.ts'
import { GatewayHarness, PROVIDER_KEY, sendRequest } from '../../support/agents/gateway-harness.ts'

interface FormatCase {
  readonly format: FormatName
  readonly provider: 'anthropic' | 'openai' | 'chat' | 'google'
  readonly path: string
  /** the path at the provider */
  readonly providerPath: string
  readonly body: string
  /** the header in which its client sends a key */
  readonly key: (token: string) => Record<string, string>
  readonly sentKey: readonly [name: string, value: string]
  /** a whole answer, with the usage of `ANSWER` */
  readonly whole: object
}

const FORMAT_CASES: readonly FormatCase[] = [
  {
    format: 'anthropic',
    provider: 'anthropic',
    path: '/v1/messages',
    providerPath: '/v1/messages',
    body: '{"model":"m-1","max_tokens":1000,"stream":true}',
    key: (token) => ({ 'x-api-key': token }),
    sentKey: ['x-api-key', PROVIDER_KEY],
    whole: { content: [{ type: 'text', text: 'x' }], usage: { input_tokens: 100, cache_read_input_tokens: 30, output_tokens: 20 } },
  },
  {
    format: 'responses',
    provider: 'openai',
    path: '/responses',
    providerPath: '/v1/responses',
    body: '{"model":"m-1","max_output_tokens":1000,"stream":true}',
    key: (token) => ({ authorization: `Bearer ${token}` }),
    sentKey: ['authorization', `Bearer ${PROVIDER_KEY}`],
    whole: { output: [], usage: { input_tokens: 130, input_tokens_details: { cached_tokens: 30 }, output_tokens: 20 } },
  },
  {
    format: 'chat',
    provider: 'chat',
    path: '/chat/completions',
    providerPath: '/v1/chat/completions',
    body: '{"model":"m-1","max_tokens":1000,"stream":true}',
    key: (token) => ({ authorization: `Bearer ${token}` }),
    sentKey: ['authorization', `Bearer ${PROVIDER_KEY}`],
    whole: { choices: [], usage: { prompt_tokens: 130, prompt_tokens_details: { cached_tokens: 30 }, completion_tokens: 20 } },
  },
  {
    format: 'gemini',
    provider: 'google',
    path: '/v1beta/models/m-1:streamGenerateContent?alt=sse',
    providerPath: '/v1beta/models/m-1:streamGenerateContent?alt=sse',
    body: '{"generationConfig":{"maxOutputTokens":1000}}',
    key: (token) => ({ 'x-goog-api-key': token }),
    sentKey: ['x-goog-api-key', PROVIDER_KEY],
    whole: { candidates: [], usageMetadata: { promptTokenCount: 130, cachedContentTokenCount: 30, candidatesTokenCount: 20 } },
  },
]
const ANSWER: ServedAnswer = {
  text: 'an answer in two halves',
  thinking: { text: 'a thought', signature: 's' },
  tools: [{ name: 'read', input: { path: 'x' } }],
  usage: { input: 100, output: 20, cacheRead: 30 },
}
const COST = 100 * 0.001 + 20 * 0.01

async function sendThrough(
  formatCase: FormatCase,
  answers: Parameters<typeof startModelServer>[0],
  work: (
    harness: GatewayHarness,
    send: () => ReturnType<typeof sendRequest>,
    server: Awaited<ReturnType<typeof startModelServer>>,
  ) => Promise<void>,
): Promise<void> {
  await using server = await startModelServer(answers)
  await using harness = await GatewayHarness.open({ urls: { [formatCase.provider]: server.url } })
  await work(
    harness,
    () =>
      sendRequest(harness.url(formatCase.provider, formatCase.path), {
        headers: { ...formatCase.key(harness.access.token), 'content-type': 'application/json' },
        body: formatCase.body,
      }),
    server,
  )
}

describe.each(FORMAT_CASES)('$format', (formatCase) => {
  test('a stream arrives unchanged, and is counted', () =>
    sendThrough(formatCase, [ANSWER], async (harness, send, server) => {
      const response = await send()
      expect([response.status, response.isCut, response.headers['content-type']]).toEqual([200, false, 'text/event-stream'])
      expect(response.body).toEqual(bodyOf(ANSWER, formatCase.providerPath))
      expect(harness.callRequests).toMatchObject([
        {
          type: 'call.started',
          model: 'm-1',
          provider: formatCase.provider,
          ask: {
            inputTokens: Math.ceil(formatCase.body.length / 4),
            maxOutputTokens: 1_000,
            usd: { perInputToken: 0.002, perOutputToken: 0.01 },
          },
        },
      ])
      await harness.waitForCalls(1)
      expect(harness.finishedCalls).toEqual([
        {
          type: 'call.finished',
          call: harness.callRequests[0]?.call,
          status: 200,
          usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 0, costUsd: COST },
          // The clock of the harness stands still.
          firstTokenMs: 0,
        },
      ])
      const [request] = server.requests
      expect([
        request?.path,
        request?.headers[formatCase.sentKey[0]],
        JSON.stringify(request?.headers).includes(harness.access.token),
      ]).toEqual([formatCase.providerPath, formatCase.sentKey[1], false])
      expect(JSON.stringify(request?.body)).toBe(formatCase.body)
    }))

  test('a whole answer arrives unchanged, and is counted', () =>
    sendThrough(formatCase, [{ status: 200, body: JSON.stringify(formatCase.whole, null, 2) }], async (harness, send) => {
      const response = await send()
      expect([response.status, response.body.toString()]).toEqual([200, JSON.stringify(formatCase.whole, null, 2)])
      await harness.waitForCalls(1)
      expect(harness.finishedCalls).toMatchObject([
        { status: 200, usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 0, costUsd: COST } },
      ])
    }))

  test('an error arrives unchanged, and costs nothing', () =>
    sendThrough(
      formatCase,
      [{ status: 429, headers: { 'retry-after': '0', 'x-request-id': 'r-1' }, error: { type: 'rate_limit_error', message: 'slower' } }],
      async (harness, send) => {
        const response = await send()
        expect([response.status, response.headers['x-request-id'], response.body.toString().includes('slower')]).toEqual([429, 'r-1', true])
        await harness.waitForCalls(1)
        expect(harness.finishedCalls).toMatchObject([{ status: 429, usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } }])
      },
    ))

  test('the client of a cut answer gets the received part, and the kernel its usage', async () => {
    const wholeBody = bodyOf(ANSWER, formatCase.providerPath)
    let end = 0
    await sendThrough(
      formatCase,
      () => ({ ...ANSWER, cutAfterBytes: end }),
      async (harness, send) => {
        // Each byte of the end, which has the usage; the meter's own tests cover all bytes.
        for (end = 1; end < wholeBody.length; end += end > wholeBody.length - 100 ? 1 : 11) {
          const response = await send()
          expect([end, response.isCut, response.body.equals(wholeBody.subarray(0, end))]).toEqual([end, true, true])
          await harness.waitForCalls(1)
          const [finished] = harness.reports.splice(0) as unknown as typeof harness.finishedCalls
          expect([end, finished?.usage]).toEqual([end, usageAt(formatCase, wholeBody.subarray(0, end))])
          expect(finished?.error).toBeDefined()
        }
      },
    )
  }, 300_000)

  test('an answer without usage is charged by an estimate', () =>
    sendThrough(formatCase, [{ ...ANSWER, body: 'data: {"text":"four and four and four"}\n\n' }], async (harness, send) => {
      await send()
      await harness.waitForCalls(1)
      expect(harness.finishedCalls).toMatchObject([{ usage: { inputTokens: Math.ceil(formatCase.body.length / 4), estimated: true } }])
    }))
})

/** Expected usage by the meter, whose own tests compare it with a full parser. */
function usageAt(formatCase: FormatCase, bytes: Buffer): unknown {
  const meter = createMeter(formatCase.format, true)
  meter.write(bytes)
  const { usage, isFinal, outputTokens: seenTokens } = meter.readUsage(false)
  const knownTokens = usage && parseUsage(FORMATS[formatCase.format], usage)?.tokens
  const tokens = knownTokens ?? {
    inputTokens: Math.ceil(formatCase.body.length / 4),
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  }
  const outputTokens = isFinal ? tokens.outputTokens : Math.max(tokens.outputTokens, seenTokens)
  return { ...tokens, outputTokens, costUsd: tokens.inputTokens * 0.001 + outputTokens * 0.01, ...(isFinal ? {} : { estimated: true }) }
}
