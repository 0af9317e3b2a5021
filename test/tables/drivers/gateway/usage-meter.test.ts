// The usage of an answer in each format: complete, in pieces of any size, and cut at every byte. The results equal those of a
// simple reader that parses each line.
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { FORMATS, parseUsage } from '../../../../src/drivers/gateway/formats.ts'
import type { FormatName } from '../../../../src/drivers/gateway/formats.ts'
import { createMeter } from '../../../../src/drivers/gateway/usage-meter.ts'
import type { MeteredUsage } from '../../../../src/drivers/gateway/usage-meter.ts'
import { bodyOf, type ServedAnswer } from '../../../support/models/model-server.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const PATHS: Readonly<Record<FormatName, string>> = {
  anthropic: '/v1/messages',
  responses: '/v1/responses',
  chat: '/v1/chat/completions',
  gemini: '/v1beta/models/m:streamGenerateContent',
}
const NAMES = Object.keys(PATHS) as FormatName[]
const USED = { input: 100, output: 70, cacheRead: 30 }
/** Text of a model that imitates usage fields. */
const MISLEADING_TEXT =
  '{"usage":{"input_tokens":1,"output_tokens":1},"usageMetadata":{"promptTokenCount":1}}\n\ndata: {"usage":{"output_tokens":1}}'
const ANSWER: ServedAnswer = {
  text: `half of it ${MISLEADING_TEXT} and the rest`,
  thinking: { text: 'I think', signature: 's' },
  tools: [{ name: 'write', input: { usage: { output_tokens: 1 }, text: MISLEADING_TEXT } }],
  usage: USED,
}

/** The last object with usage in the whole lines; for Anthropic all of them merged. */
function usageByParser(format: FormatName, text: string): Record<string, unknown> | null {
  const events = text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as Record<string, Record<string, unknown>>] : []))
  const usages = events
    .flatMap((event) => [event['usage'], event['message']?.['usage'], event['response']?.['usage'], event['usageMetadata']])
    .filter((usage) => typeof usage === 'object' && usage !== null) as Record<string, unknown>[]
  if (usages.length === 0) return null
  return format === 'anthropic' ? (Object.assign({}, ...usages) as Record<string, unknown>) : (usages.at(-1) ?? null)
}

function meterChunks(format: FormatName, chunks: readonly Buffer[], isWhole: boolean, isStream = true): MeteredUsage {
  const meter = createMeter(format, isStream)
  for (const chunk of chunks) meter.write(chunk)
  return meter.readUsage(isWhole)
}

function splitBytes(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
}

const COUNTS = { inputTokens: 100, outputTokens: 70, cacheReadTokens: 30, cacheWriteTokens: 0 }

describe.each(NAMES)('a stream of %s', (name) => {
  const bytes = bodyOf(ANSWER, PATHS[name])
  const format = FORMATS[name]

  test.each([1, 2, 3, 7, 64, 1_000, 1e9])('is counted in pieces of %d bytes', (size) => {
    const result = meterChunks(name, splitBytes(bytes, size), true)
    expect(result.isFinal).toBe(true)
    expect(parseUsage(format, result.usage ?? {})?.tokens).toEqual(COUNTS)
  })

  test('cut at every byte has the usage up to the cut', () => {
    for (let length = 0; length < bytes.length; length++) {
      const expected = usageByParser(name, bytes.toString('latin1', 0, length))
      const result = meterChunks(name, splitBytes(bytes.subarray(0, length), 100), false)
      expect([length, result.usage]).toEqual([length, expected])
      // The usage may be final only if the whole answer arrived.
      if (result.isFinal) expect(parseUsage(format, result.usage ?? {})?.tokens).toEqual(COUNTS)
    }
    expect(meterChunks(name, [bytes.subarray(0, -1)], false).isFinal).toBe(true)
  })

  test('with CRLF has the same usage', () => {
    const crlf = Buffer.from(bytes.toString('latin1').replaceAll(/\r?\n/g, '\r\n'), 'latin1')
    expect(parseUsage(format, meterChunks(name, splitBytes(crlf, 33), true).usage ?? {})?.tokens).toEqual(COUNTS)
  })

  test('cut before the end has an output estimate near its text', () => {
    const longText = 'some words of an answer that is long. '.repeat(200)
    const longAnswer = bodyOf({ text: longText, usage: USED }, PATHS[name])
    const { outputTokens } = meterChunks(name, splitBytes(longAnswer.subarray(0, Math.floor(longAnswer.length * 0.9)), 500), false)
    expect(outputTokens).toBeGreaterThan((longText.length * 0.9) / 4 / 2)
    expect(outputTokens).toBeLessThan(((longText.length * 0.9) / 4) * 2)
  })

  test('with an endless line keeps no more than the limit', async () => {
    const meter = createMeter(name, true)
    // Checks each piece: the memory of the whole process has other users, and is returned late.
    const written = Array.from({ length: 100 }, () => {
      const piece = Buffer.alloc(1024 * 1024, 'x')
      meter.write(piece)
      return new WeakRef(piece.buffer)
    })
    await setImmediate() // The target of a new WeakRef exists to the end of the turn.
    collectGarbage()
    expect(written.filter((piece) => piece.deref() !== undefined).length).toBeLessThan(40)
    meter.write(Buffer.from('\n'))
    for (const chunk of splitBytes(bytes, 500)) meter.write(chunk)
    expect(parseUsage(format, meter.readUsage(true).usage ?? {})?.tokens).toEqual(COUNTS)
  })
})

describe('a whole answer', () => {
  const WHOLE_ANSWERS: Readonly<Record<FormatName, unknown>> = {
    anthropic: {
      type: 'message',
      content: [{ type: 'tool_use', input: { usage: { input_tokens: 1 } } }],
      usage: { input_tokens: 100, cache_read_input_tokens: 30, cache_creation_input_tokens: null, output_tokens: 70 },
    },
    responses: {
      output: [{ arguments: MISLEADING_TEXT }],
      usage: {
        input_tokens: 130,
        input_tokens_details: { cached_tokens: 30 },
        output_tokens: 70,
        output_tokens_details: { reasoning_tokens: 60 },
        total_tokens: 200,
      },
    },
    chat: {
      choices: [{ message: { content: MISLEADING_TEXT } }],
      usage: { prompt_tokens: 130, completion_tokens: 70, total_tokens: 200, prompt_tokens_details: { cached_tokens: 30 } },
    },
    gemini: {
      candidates: [{ content: { parts: [{ functionCall: { args: { usageMetadata: { promptTokenCount: 1 } } } }] } }],
      usageMetadata: {
        promptTokenCount: 120,
        toolUsePromptTokenCount: 10,
        cachedContentTokenCount: 30,
        candidatesTokenCount: 10,
        thoughtsTokenCount: 60,
      },
    },
  }

  test.each(NAMES)('of %s is counted if complete, and estimated if cut', (name) => {
    const bytes = Buffer.from(JSON.stringify(WHOLE_ANSWERS[name], null, 1))
    const result = meterChunks(name, splitBytes(bytes, 10), true, false)
    expect([result.isFinal, parseUsage(FORMATS[name], result.usage ?? {})?.tokens]).toEqual([true, COUNTS])
    for (let length = 0; length < bytes.length; length++)
      expect(meterChunks(name, [bytes.subarray(0, length)], false, false)).toMatchObject({ usage: null, isFinal: false })
  })

  test('of Gemini may be a list of answers: the last one counts', () => {
    const bytes = Buffer.from(`[${JSON.stringify({ usageMetadata: { promptTokenCount: 5 } })},\n${JSON.stringify(WHOLE_ANSWERS.gemini)}]`)
    expect(parseUsage(FORMATS.gemini, meterChunks('gemini', [bytes], true, false).usage ?? {})?.tokens).toEqual(COUNTS)
  })
})

describe('the usage of', () => {
  const formatEvent = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
  const usageIn = (name: FormatName, text: string, isWhole = true): MeteredUsage => meterChunks(name, [Buffer.from(text)], isWhole)

  test('a chat without counts is estimated', () => {
    expect(meterChunks('chat', [bodyOf({ text: 'a', usage: null }, PATHS.chat)], true)).toMatchObject({ usage: null, isFinal: false })
  })

  test('a chat with counts in every event is that of the last event, and is final if the stream was complete', () => {
    const text = [1, 2, 3]
      .map((count) => formatEvent({ choices: [{ delta: { content: 'x' } }], usage: { prompt_tokens: 5, completion_tokens: count } }))
      .join('')
    expect(usageIn('chat', text)).toMatchObject({ usage: { completion_tokens: 3 }, isFinal: true })
    expect(usageIn('chat', text, false)).toMatchObject({ usage: { completion_tokens: 3 }, isFinal: false })
  })

  test('a chat with null counts in all events except one is that of this event', () => {
    const text = [
      formatEvent({ choices: [{ delta: {} }], usage: null }),
      formatEvent({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3 } }),
      formatEvent({ choices: [{ delta: {} }], usage: null }),
    ].join('')
    expect(usageIn('chat', text)).toMatchObject({ usage: { completion_tokens: 3 } })
  })

  test('a chat of a host includes reasoning outside of the completion, cached tokens outside of the details, and its own price', () => {
    expect(
      parseUsage(FORMATS.chat, {
        prompt_tokens: 10,
        completion_tokens: 4,
        total_tokens: 20,
        completion_tokens_details: { reasoning_tokens: 6 },
      })?.tokens.outputTokens,
    ).toBe(10)
    expect(parseUsage(FORMATS.chat, { prompt_tokens: 10, completion_tokens: 4, prompt_cache_hit_tokens: 8 })?.tokens).toMatchObject({
      inputTokens: 2,
      cacheReadTokens: 8,
    })
    expect(parseUsage(FORMATS.chat, { prompt_tokens: 10, completion_tokens: 4, cost: 0.25 })?.costUsd).toBe(0.25)
    expect(parseUsage(FORMATS.chat, {})).toBeNull()
  })

  test('an Anthropic stream with an error in the middle is not final', () => {
    const text = bodyOf({ text: 'a', usage: USED, isMidStream: true, error: { type: 'overloaded_error', message: 'x' } }, PATHS.anthropic)
    expect(meterChunks('anthropic', [text], true)).toMatchObject({
      usage: { input_tokens: 100, cache_read_input_tokens: 30 },
      isFinal: false,
    })
  })

  test('a blocked prompt of Gemini has only input tokens', () => {
    const text = bodyOf({ blockReason: 'SAFETY', usage: USED }, PATHS.gemini)
    const result = meterChunks('gemini', [text], true)
    expect([result.isFinal, parseUsage(FORMATS.gemini, result.usage ?? {})?.tokens]).toEqual([
      true,
      { inputTokens: 100, outputTokens: 0, cacheReadTokens: 30, cacheWriteTokens: 0 },
    ])
  })

  test('a failed answer of Responses is not known', () => {
    const text = bodyOf({ text: 'a', isMidStream: true, error: { type: 'server_error', message: 'x' } }, PATHS.responses)
    expect(meterChunks('responses', [text], true)).toMatchObject({ usage: null })
  })
})

test.each(NAMES)('%s ignores infinite counts, such as 1e999', (name) => {
  const usage = JSON.parse(
    '{"input_tokens":1e999,"output_tokens":1e999,"prompt_tokens":1e999,"completion_tokens":1e999,"promptTokenCount":1e999,"candidatesTokenCount":1e999,"cost":1e999}',
  ) as Record<string, unknown>
  expect(parseUsage(FORMATS[name], usage)).toBeNull()
})
