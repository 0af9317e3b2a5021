// The size limit of HTTP bodies: each event of a stream counts by itself, with LF or CRLF, wherever it is split.
import { describe, expect, test } from 'vitest'
import { limitBytes, limitEvents } from '../../../../src/drivers/common/event-size-limit.ts'

const MAX_BYTES = 100

/** Returns the number of bytes that came through, and the error that ended the stream. */
async function passThrough(
  limit: TransformStream<Uint8Array, Uint8Array>,
  chunks: readonly string[],
): Promise<readonly [bytes: number, error: string | null]> {
  let bytes = 0
  try {
    for await (const chunk of ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk))).pipeThrough(limit)) bytes += chunk.length
    return [bytes, null]
  } catch (error) {
    return [bytes, (error as Error).message]
  }
}

const makeError = (): Error => new Error('too long')
const eventOf = (bytes: number, lineEnd: string): string => `data: ${'x'.repeat(bytes - 6 - 2 * lineEnd.length)}${lineEnd}${lineEnd}`

describe.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
])('a stream whose lines end with %s', (_, lineEnd) => {
  test('passes any number of events below the limit, wherever they are split', async () => {
    const stream = eventOf(60, lineEnd).repeat(10)
    for (let size = 1; size <= 70; size += 1) {
      const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (__, index) => stream.slice(index * size, (index + 1) * size))
      expect(await passThrough(limitEvents(MAX_BYTES, makeError), chunks)).toEqual([600, null])
    }
  })

  test('fails at an event above the limit', async () => {
    const chunks = [eventOf(60, lineEnd), eventOf(150, lineEnd).slice(0, 80), eventOf(150, lineEnd).slice(80)]
    expect(await passThrough(limitEvents(MAX_BYTES, makeError), chunks.slice(0, 2))).toEqual([140, null])
    expect((await passThrough(limitEvents(MAX_BYTES, makeError), [...chunks.slice(0, 2), 'x'.repeat(30), lineEnd + lineEnd]))[1]).toBe(
      'too long',
    )
  })
})

test('a body that is not a stream counts as a whole', async () => {
  expect(await passThrough(limitBytes(MAX_BYTES, makeError), ['a\n\n'.repeat(20), 'a\n\n'.repeat(10)])).toEqual([90, null])
  expect((await passThrough(limitBytes(MAX_BYTES, makeError), ['a\n\n'.repeat(20), 'a\n\n'.repeat(20)]))[1]).toBe('too long')
})
