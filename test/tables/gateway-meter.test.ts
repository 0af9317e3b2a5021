// What an answer used, in each format: whole, in pieces of any size, and cut at every byte, held against a reader that takes the
// text apart line by line and parses each.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { FORMATS, usageOf } from '../../src/drivers/gateway/formats.ts'
import type { FormatName } from '../../src/drivers/gateway/formats.ts'
import { meterOf } from '../../src/drivers/gateway/meter.ts'
import type { Seen } from '../../src/drivers/gateway/meter.ts'
import { bodyOf, type ServedAnswer } from '../support/model-server.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const PATHS: Readonly<Record<FormatName, string>> = { anthropic: '/v1/messages', responses: '/v1/responses', chat: '/v1/chat/completions', gemini: '/v1beta/models/m:streamGenerateContent' }
const NAMES = Object.keys(PATHS) as FormatName[]
const USED = { input: 100, output: 70, cacheRead: 30 }
/** A model that would like to be counted otherwise. */
const LIAR = '{"usage":{"input_tokens":1,"output_tokens":1},"usageMetadata":{"promptTokenCount":1}}\n\ndata: {"usage":{"output_tokens":1}}'
const ANSWER: ServedAnswer = { text: `half of it ${LIAR} and the rest`, thinking: { text: 'I think', signature: 's' }, tools: [{ name: 'write', input: { usage: { output_tokens: 1 }, text: LIAR } }], usage: USED }

/** The last object with usage, or for Anthropic all of them put together, of the lines that are whole. */
function dumb(format: FormatName, text: string): Record<string, unknown> | null {
  const events = text.split('\n').slice(0, -1).flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as Record<string, Record<string, unknown>>] : []))
  const all = events.flatMap((event) => [event['usage'], event['message']?.['usage'], event['response']?.['usage'], event['usageMetadata']]).filter((one) => typeof one === 'object' && one !== null) as Record<string, unknown>[]
  if (all.length === 0) return null
  return format === 'anthropic' ? Object.assign({}, ...all) as Record<string, unknown> : (all.at(-1) ?? null)
}

function metered(format: FormatName, chunks: readonly Buffer[], isWhole: boolean, isStream = true): Seen {
  const meter = meterOf(format, isStream)
  for (const chunk of chunks) meter.write(chunk)
  return meter.seen(isWhole)
}

function pieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
}

const BUCKETS = { inputTokens: 100, outputTokens: 70, cacheReadTokens: 30, cacheWriteTokens: 0 }

describe.each(NAMES)('a stream of %s', (name) => {
  const bytes = bodyOf(ANSWER, PATHS[name])
  const format = FORMATS[name]

  test.each([1, 2, 3, 7, 64, 1_000, 1e9])('is counted in pieces of %d bytes', (size) => {
    const seen = metered(name, pieces(bytes, size), true)
    expect(seen.isFinal).toBe(true)
    expect(usageOf(format, seen.usage ?? {})?.buckets).toEqual(BUCKETS)
  })

  test('cut at every byte tells what was said until then', () => {
    for (let end = 0; end < bytes.length; end++) {
      const expected = dumb(name, bytes.toString('latin1', 0, end))
      const seen = metered(name, pieces(bytes.subarray(0, end), 100), false)
      expect([end, seen.usage]).toEqual([end, expected])
      // It may be taken for the last word only if all of it was there.
      if (seen.isFinal) expect(usageOf(format, seen.usage ?? {})?.buckets).toEqual(BUCKETS)
    }
    expect(metered(name, [bytes.subarray(0, -1)], false).isFinal).toBe(true)
  })

  test('with CRLF is the same', () => {
    const crlf = Buffer.from(bytes.toString('latin1').replaceAll(/\r?\n/g, '\r\n'), 'latin1')
    expect(usageOf(format, metered(name, pieces(crlf, 33), true).usage ?? {})?.buckets).toEqual(BUCKETS)
  })

  test('that is cut before the end has about as many output tokens as its text makes', () => {
    const words = 'some words of an answer that is long. '.repeat(200)
    const long = bodyOf({ text: words, usage: USED }, PATHS[name])
    const { outputTokens } = metered(name, pieces(long.subarray(0, Math.floor(long.length * 0.9)), 500), false)
    expect(outputTokens).toBeGreaterThan(words.length * 0.9 / 4 / 2)
    expect(outputTokens).toBeLessThan(words.length * 0.9 / 4 * 2)
  })

  test('in which a line never ends holds no more than is allowed', () => {
    const meter = meterOf(name, true)
    const piece = Buffer.alloc(1024 * 1024, 'x')
    collectGarbage()
    const before = process.memoryUsage().arrayBuffers
    for (let mib = 0; mib < 100; mib++) meter.write(Buffer.from(piece))
    collectGarbage()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40 * 1024 * 1024)
    meter.write(Buffer.from('\n'))
    for (const chunk of pieces(bytes, 500)) meter.write(chunk)
    expect(usageOf(format, meter.seen(true).usage ?? {})?.buckets).toEqual(BUCKETS)
  })
})

describe('an answer in one piece', () => {
  const whole: Readonly<Record<FormatName, unknown>> = {
    anthropic: { type: 'message', content: [{ type: 'tool_use', input: { usage: { input_tokens: 1 } } }], usage: { input_tokens: 100, cache_read_input_tokens: 30, cache_creation_input_tokens: null, output_tokens: 70 } },
    responses: { output: [{ arguments: LIAR }], usage: { input_tokens: 130, input_tokens_details: { cached_tokens: 30 }, output_tokens: 70, output_tokens_details: { reasoning_tokens: 60 }, total_tokens: 200 } },
    chat: { choices: [{ message: { content: LIAR } }], usage: { prompt_tokens: 130, completion_tokens: 70, total_tokens: 200, prompt_tokens_details: { cached_tokens: 30 } } },
    gemini: { candidates: [{ content: { parts: [{ functionCall: { args: { usageMetadata: { promptTokenCount: 1 } } } }] } }], usageMetadata: { promptTokenCount: 120, toolUsePromptTokenCount: 10, cachedContentTokenCount: 30, candidatesTokenCount: 10, thoughtsTokenCount: 60 } },
  }

  test.each(NAMES)('of %s is counted when it is whole, and estimated when it is cut', (name) => {
    const bytes = Buffer.from(JSON.stringify(whole[name], null, 1))
    const seen = metered(name, pieces(bytes, 10), true, false)
    expect([seen.isFinal, usageOf(FORMATS[name], seen.usage ?? {})?.buckets]).toEqual([true, BUCKETS])
    for (let end = 0; end < bytes.length; end++) expect(metered(name, [bytes.subarray(0, end)], false, false)).toMatchObject({ usage: null, isFinal: false })
  })

  test('of Gemini may be a list of them: the last one counts', () => {
    const bytes = Buffer.from(`[${JSON.stringify({ usageMetadata: { promptTokenCount: 5 } })},\n${JSON.stringify(whole.gemini)}]`)
    expect(usageOf(FORMATS.gemini, metered('gemini', [bytes], true, false).usage ?? {})?.buckets).toEqual(BUCKETS)
  })
})

describe('what providers do', () => {
  const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
  const seenIn = (name: FormatName, text: string, isWhole = true): Seen => metered(name, [Buffer.from(text)], isWhole)

  test('a chat that says nothing of usage leaves it to be estimated', () => {
    expect(metered('chat', [bodyOf({ text: 'a', usage: null }, PATHS.chat)], true)).toMatchObject({ usage: null, isFinal: false })
  })

  test('a chat whose every event has its usage so far: the last one counts, as the last word if the stream was whole', () => {
    const text = [1, 2, 3].map((count) => event({ choices: [{ delta: { content: 'x' } }], usage: { prompt_tokens: 5, completion_tokens: count } })).join('')
    expect(seenIn('chat', text)).toMatchObject({ usage: { completion_tokens: 3 }, isFinal: true })
    expect(seenIn('chat', text, false)).toMatchObject({ usage: { completion_tokens: 3 }, isFinal: false })
  })

  test('a chat that says null in each event but one', () => {
    const text = [event({ choices: [{ delta: {} }], usage: null }), event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3 } }), event({ choices: [{ delta: {} }], usage: null })].join('')
    expect(seenIn('chat', text)).toMatchObject({ usage: { completion_tokens: 3 } })
  })

  test('reasoning beside the completion, cached tokens beside the details, and a price of the host', () => {
    expect(usageOf(FORMATS.chat, { prompt_tokens: 10, completion_tokens: 4, total_tokens: 20, completion_tokens_details: { reasoning_tokens: 6 } })?.buckets.outputTokens).toBe(10)
    expect(usageOf(FORMATS.chat, { prompt_tokens: 10, completion_tokens: 4, prompt_cache_hit_tokens: 8 })?.buckets).toMatchObject({ inputTokens: 2, cacheReadTokens: 8 })
    expect(usageOf(FORMATS.chat, { prompt_tokens: 10, completion_tokens: 4, cost: 0.25 })?.costUsd).toBe(0.25)
    expect(usageOf(FORMATS.chat, {})).toBeNull()
  })

  test('an error in the middle of an Anthropic stream is no end of it', () => {
    const text = bodyOf({ text: 'a', usage: USED, midStream: true, error: { type: 'overloaded_error', message: 'x' } }, PATHS.anthropic)
    expect(metered('anthropic', [text], true)).toMatchObject({ usage: { input_tokens: 100, cache_read_input_tokens: 30 }, isFinal: false })
  })

  test('a blocked prompt of Gemini has an input, and that is all', () => {
    const text = bodyOf({ blocked: 'SAFETY', usage: USED }, PATHS.gemini)
    const seen = metered('gemini', [text], true)
    expect([seen.isFinal, usageOf(FORMATS.gemini, seen.usage ?? {})?.buckets]).toEqual([true, { inputTokens: 100, outputTokens: 0, cacheReadTokens: 30, cacheWriteTokens: 0 }])
  })

  test('an answer of Responses that fails has no usage', () => {
    const text = bodyOf({ text: 'a', midStream: true, error: { type: 'server_error', message: 'x' } }, PATHS.responses)
    expect(metered('responses', [text], true)).toMatchObject({ usage: null })
  })
})
