// Values by their path in the bytes of a JSON text, held against JSON.parse over random documents; and bytes that are none.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { find, replaced, valueAt } from '../../src/drivers/gateway/scan.ts'

const PATHS = ['a', 'b', 'a.b', 'a.b.c', 'max_tokens']
const key = fc.oneof(fc.constantFrom('a', 'b', 'c', 'max_tokens'), fc.string({ unit: 'binary', maxLength: 40 }).filter((text) => !text.includes('.')))
const leaf = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.constantFrom('\\', '"', '\\"', 'a"b\\', ...[254, 255, 256, 257, 600].flatMap((count) => [`${'x'.repeat(count)}\\`, `${'y'.repeat(count)}"z`, `${'\\'.repeat(count)}"`])), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null))
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, tie('object'), fc.array(tie('value'), { maxLength: 4 })),
  object: fc.dictionary(key, tie('value'), { maxKeys: 6 }),
}))

function dumb(document: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined), document)
}

describe('a JSON text', () => {
  test('gives the same values as a parser, at every path', () => {
    fc.assert(fc.property(json.object, fc.constantFrom(undefined, 1, '\t'), (document, indent) => {
      const text = JSON.stringify(document, null, indent)
      const bytes = Buffer.from(text)
      const found = find(bytes, PATHS)
      if (!found) throw new Error('it is not taken for JSON')
      for (const path of PATHS) expect(valueAt(bytes, found, path)).toEqual(dumb(JSON.parse(text), path))
    }), { numRuns: 2_000 })
  })

  test('with a key twice, or written with escapes, has the last value, and all places', () => {
    const bytes = Buffer.from(String.raw`{"max_tokens":1, "max\u005ftokens" : 2,"x":{"max_tokens":3}}`)
    const found = find(bytes, PATHS)
    expect(found && valueAt(bytes, found, 'max_tokens')).toBe(2)
    expect(replaced(bytes, found?.spans.get('max_tokens') ?? [], '9').toString()).toBe(String.raw`{"max_tokens":9, "max\u005ftokens" : 9,"x":{"max_tokens":3}}`)
  })

  test('that is a list is read object by object', () => {
    const bytes = Buffer.from('[{"a":1}\n,\n{"b":2},3,{"a":{"b":4}}]')
    const found = find(bytes, PATHS)
    expect(found && [valueAt(bytes, found, 'b'), valueAt(bytes, found, 'a.b')]).toEqual([2, 4])
  })

  test.each(['', ' ', '1', '"a"', '{', '{"a"', '{"a":', '{"a":}', '{"a":1', '{"a":1,', '{"a":1,}', '{"a" 1}', '{a:1}', '{"a":"x', String.raw`{"a":"x\"}`, '{"a":[1,2}', '[{"a":1}', '[1,'])('%j is none', (text) => {
    expect(find(Buffer.from(text), PATHS)).toBeNull()
  })

  test('cut anywhere is none, and does not throw', () => {
    const whole = Buffer.from(JSON.stringify({ a: { b: { c: ['x"y\\', { d: 'é'.repeat(30) }] } }, max_tokens: 12, z: null }))
    for (let end = 0; end < whole.length; end++) expect(find(whole.subarray(0, end), PATHS)).toBeNull()
    expect(find(whole, PATHS)).not.toBeNull()
  })

  test('a long string without a space is data, another is text', () => {
    const picture = 'iVBORw0KGgo'.repeat(2_000)
    const dataBytes = (value: unknown): number | undefined => find(Buffer.from(JSON.stringify({ messages: [{ content: value }] })), PATHS)?.dataBytes
    expect(dataBytes(picture)).toBe(picture.length + 2)
    expect(dataBytes('some words '.repeat(2_000))).toBe(0)
    expect(dataBytes('a line\n'.repeat(2_000))).toBe(0)
    expect(dataBytes('short')).toBe(0)
  })
})
