// The model, the token limit and the estimated input of a request in each format, and the gateway's only change to a request: a lower
// limit. All other bytes stay unchanged.
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { lowerMaxTokens, readRequest, decodeBody } from '../../../../src/drivers/gateway/request-body.ts'
import type { FormatName } from '../../../../src/drivers/gateway/formats.ts'

const bytesOf = (text: string): Buffer => Buffer.from(text)

describe('a request', () => {
  test.each<[FormatName, string, string | null, { model: string; maxOutputTokens: number | null }]>([
    [
      'anthropic',
      '{"model":"claude-x","max_tokens":32000,"messages":[{"max_tokens":1}]}',
      null,
      { model: 'claude-x', maxOutputTokens: 32_000 },
    ],
    ['responses', '{"input":[{"model":"no"}],"model":"gpt-x"}', null, { model: 'gpt-x', maxOutputTokens: null }],
    ['responses', '{"max_output_tokens":5,"model":"gpt-x"}', null, { model: 'gpt-x', maxOutputTokens: 5 }],
    ['chat', '{"model":"m","max_tokens":7}', null, { model: 'm', maxOutputTokens: 7 }],
    ['chat', '{"model":"m","max_completion_tokens":8,"max_tokens":7}', null, { model: 'm', maxOutputTokens: 8 }],
    ['gemini', '{"contents":[],"generationConfig":{"maxOutputTokens":9}}', 'gemini-x', { model: 'gemini-x', maxOutputTokens: 9 }],
    ['gemini', '{"contents":[]}', 'gemini-x', { model: 'gemini-x', maxOutputTokens: null }],
    ['anthropic', 'no json', null, { model: 'unknown', maxOutputTokens: null }],
    ['anthropic', '{"model":5,"max_tokens":"many"}', null, { model: 'unknown', maxOutputTokens: null }],
  ])('of the format %s has its model and its limit: %s', async (format, body, model, expected) => {
    expect(await readRequest(bytesOf(body), format, model)).toMatchObject(expected)
  })

  test('is estimated as a token for four bytes of text, and far fewer for an image', async () => {
    const text = 'four'.repeat(100)
    expect((await readRequest(bytesOf(text), 'chat', null)).inputTokens).toBe(100)
    const image = JSON.stringify({ model: 'm', messages: [{ image: 'A'.repeat(1_000_000) }] })
    expect((await readRequest(bytesOf(image), 'anthropic', null)).inputTokens).toBeLessThan(40_000)
    expect((await readRequest(bytesOf(image), 'anthropic', null)).inputTokens).toBeGreaterThan(10_000)
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['identity', (body: Buffer) => body],
  ] as const)('that is compressed with %s is read', async (name, pack) => {
    expect(await decodeBody(pack(bytesOf('{"model":"m"}')), name, 1_000)).toEqual(bytesOf('{"model":"m"}'))
  })

  test('that cannot be decoded, or is too large when decoded, is invalid', async () => {
    expect(await decodeBody(bytesOf('x'), 'gzip', 1_000)).toBeNull()
    expect(await decodeBody(bytesOf('x'), 'rot13', 1_000)).toBeNull()
    expect(await decodeBody(gzipSync(Buffer.alloc(10_000)), 'gzip', 1_000)).toBeNull()
  })
})

describe('a lower limit of output tokens', () => {
  test.each<[FormatName, string, string]>([
    ['anthropic', '{ "max_tokens" : 32000 ,"messages":[{"max_tokens":1}]}', '{ "max_tokens" : 1500 ,"messages":[{"max_tokens":1}]}'],
    ['anthropic', '{"max_tokens":9000,"max_tokens":8000}', '{"max_tokens":1500,"max_tokens":1500}'],
    [
      'anthropic',
      '{"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":31999}}',
      '{"max_tokens":1500,"thinking":{"type":"enabled","budget_tokens":1024}}',
    ],
    ['anthropic', '{"max_tokens":32000,"thinking":{"budget_tokens":1024}}', '{"max_tokens":1500,"thinking":{"budget_tokens":1024}}'],
    ['responses', '{"model":"m","max_output_tokens":2000}', '{"model":"m","max_output_tokens":1500}'],
    ['responses', '{"model":"m"}', '{"max_output_tokens":1500,"model":"m"}'],
    ['responses', '{ }', '{"max_output_tokens":1500 }'],
    ['chat', '{"max_completion_tokens":4000,"max_tokens":5000}', '{"max_completion_tokens":1500,"max_tokens":1500}'],
    ['gemini', '{"contents":[]}', '{"generationConfig":{"maxOutputTokens":1500},"contents":[]}'],
    [
      'gemini',
      '{"generationConfig":{"temperature":0},"contents":[]}',
      '{"generationConfig":{"maxOutputTokens":1500,"temperature":0},"contents":[]}',
    ],
    ['gemini', '{"generationConfig":{ "maxOutputTokens":65536 }}', '{"generationConfig":{ "maxOutputTokens":1500 }}'],
    ['gemini', '{"generation_config":{"max_output_tokens":65536}}', '{"generation_config":{"max_output_tokens":1500}}'],
    ['chat', 'no json', 'no json'],
  ])('replaces the limit of a request of the format %s: %s', async (format, before, after) => {
    expect((await lowerMaxTokens(bytesOf(before), format, 1_500)).toString()).toBe(after)
  })

  test.each([
    ['anthropic', '[]'],
    ['anthropic', ' [{"a":1}]'],
    ['chat', '"{"'],
    ['chat', '7'],
    ['gemini', '{"generationConfig":5}'],
    ['gemini', '{"generationConfig":[{}]}'],
  ] as const)('leaves an invalid request of the format %s unchanged: %s', async (format, body) => {
    expect((await lowerMaxTokens(bytesOf(body), format, 1_500)).toString()).toBe(body)
  })

  test("is set in the provider's own field if the request has no limit", async () => {
    expect((await lowerMaxTokens(bytesOf('{"a":1}'), 'chat', 1_500, 'max_tokens')).toString()).toBe('{"max_tokens":1500,"a":1}')
  })
})
