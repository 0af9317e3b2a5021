// The scanner finds values by their path in the bytes of a JSON text, as JSON.parse does. It refuses bytes that are not JSON.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findValues, findValuesInSlices, replaceSpans, valueAt } from '../../../../src/drivers/gateway/json-scan.ts'

const PATHS = ['a', 'b', 'a.b', 'a.b.c', 'max_tokens']
const key = fc.oneof(
  fc.constantFrom('a', 'b', 'c', 'max_tokens'),
  fc.string({ unit: 'binary', maxLength: 40 }).filter((text) => !text.includes('.')),
)
const leaf = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom(
    '\\',
    '"',
    '\\"',
    'a"b\\',
    ...[254, 255, 256, 257, 600].flatMap((length) => [`${'x'.repeat(length)}\\`, `${'y'.repeat(length)}"z`, `${'\\'.repeat(length)}"`]),
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
)
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, tie('object'), fc.array(tie('value'), { maxLength: 4 })),
  object: fc.dictionary(key, tie('value'), { maxKeys: 6 }),
}))

function valueByParser(document: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
          ? (value as Record<string, unknown>)[name]
          : undefined,
      document,
    )
}

describe('a JSON text', () => {
  test('gives the same values as a parser, at every path', () => {
    fc.assert(
      fc.property(json.object, fc.constantFrom(undefined, 1, '\t'), (document, indent) => {
        const text = JSON.stringify(document, null, indent)
        const bytes = Buffer.from(text)
        const found = findValues(bytes, PATHS)
        if (!found) throw new Error('it is not taken for JSON')
        for (const path of PATHS) expect(valueAt(bytes, found, path)).toEqual(valueByParser(JSON.parse(text), path))
      }),
      { numRuns: 2_000 },
    )
  })

  test('with a repeated or escaped key has the last value, and all positions', () => {
    const bytes = Buffer.from(String.raw`{"max_tokens":1, "max\u005ftokens" : 2,"x":{"max_tokens":3}}`)
    const found = findValues(bytes, PATHS)
    expect(found && valueAt(bytes, found, 'max_tokens')).toBe(2)
    expect(replaceSpans(bytes, found?.spans.get('max_tokens') ?? [], '9').toString()).toBe(
      String.raw`{"max_tokens":9, "max\u005ftokens" : 9,"x":{"max_tokens":3}}`,
    )
  })

  test('with an array at the top is read object by object', () => {
    const bytes = Buffer.from('[{"a":1}\n,\n{"b":2},3,{"a":{"b":4}}]')
    const found = findValues(bytes, PATHS)
    expect(found && [valueAt(bytes, found, 'b'), valueAt(bytes, found, 'a.b')]).toEqual([2, 4])
  })

  test.each([
    '',
    ' ',
    '1',
    '"a"',
    '{',
    '{"a"',
    '{"a":',
    '{"a":}',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{"a" 1}',
    '{a:1}',
    '{"a":"x',
    String.raw`{"a":"x\"}`,
    '{"a":[1,2}',
    '[{"a":1}',
    '[1,',
  ])('%j is not a JSON text', (text) => {
    expect(findValues(Buffer.from(text), PATHS)).toBeNull()
  })

  test('that is cut anywhere is invalid, and does not throw', () => {
    const bytes = Buffer.from(JSON.stringify({ a: { b: { c: ['x"y\\', { d: 'é'.repeat(30) }] } }, max_tokens: 12, z: null }))
    for (let length = 0; length < bytes.length; length++) expect(findValues(bytes.subarray(0, length), PATHS)).toBeNull()
    expect(findValues(bytes, PATHS)).not.toBeNull()
  })

  test('counts a long string without a space as data, and any other as text', () => {
    const image = 'iVBORw0KGgo'.repeat(2_000)
    const dataBytes = (value: unknown): number | undefined =>
      findValues(Buffer.from(JSON.stringify({ messages: [{ content: value }] })), PATHS)?.dataBytes
    expect(dataBytes(image)).toBe(image.length + 2)
    expect(dataBytes('some words '.repeat(2_000))).toBe(0)
    expect(dataBytes('a line\n'.repeat(2_000))).toBe(0)
    expect(dataBytes('short')).toBe(0)
  })
})

const MIB = 1024 * 1024
const fillBytes = (bytes: number, opening: string, piece: string, closing: string): Buffer =>
  Buffer.concat([
    Buffer.from(`{"max_tokens":1,"z":${opening}`),
    Buffer.alloc(bytes - (bytes % piece.length), piece),
    Buffer.from(`${closing},"a":2}`),
  ])

describe('a long text', () => {
  test.each([
    ['escapes', '"', String.raw`ab\"c `, '"'],
    ['numbers', '[1', ',1', ']'],
    ['short strings', '["x"', ',"ab"', ']'],
    ['fields', '{"x":1', ',"max":1', '}'],
    ['fields at the top', '0', ',"max":1', ''],
  ])('of %s is scanned in slices, one per turn of the event loop, and found whole', async (_, opening, piece, closing) => {
    const bytes = fillBytes(4 * MIB, opening, piece, closing)
    let turns = 0
    let isOver = false
    const countTurn = (): void => {
      turns += 1
      if (!isOver) setImmediate(countTurn)
    }
    setImmediate(countTurn)
    const results = await Promise.all([findValuesInSlices(bytes, PATHS), findValuesInSlices(bytes, PATHS)])
    isOver = true
    for (const found of results) expect(found && [valueAt(bytes, found, 'a'), valueAt(bytes, found, 'max_tokens')]).toEqual([2, 1])
    expect(turns).toBeGreaterThanOrEqual(2 * 4)
  })

  test('that repeats one field many times is scanned in time proportional to its bytes', async () => {
    const bytes = fillBytes(4 * MIB, '0', ',"max_tokens":12', '')
    const found = await findValuesInSlices(bytes, PATHS)
    expect([found?.spans.get('max_tokens')?.length, found && valueAt(bytes, found, 'max_tokens')]).toEqual([
      1 + Math.floor((4 * MIB) / 16),
      12,
    ])
  })

  test('that is cut within a slice is invalid', async () => {
    const bytes = fillBytes(2 * MIB, '"', String.raw`"`, '"')
    for (const length of [MIB, MIB + 1, MIB + 20, bytes.length - 1])
      expect(await findValuesInSlices(bytes.subarray(0, length), PATHS)).toBeNull()
  })

  test('is not parsed if it is the value of a requested field', async () => {
    const bytes = Buffer.from(JSON.stringify({ a: 'x'.repeat(100_000) }))
    const found = await findValuesInSlices(bytes, PATHS)
    expect(found && valueAt(bytes, found, 'a')).toBeUndefined()
  })
})
