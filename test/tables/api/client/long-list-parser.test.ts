// A JSON object with a long list is the same as JSON.parse makes it, wherever its bytes are cut.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LongListParser } from '../../../../src/api/client/long-list-parser.ts'

function parseCut(json: string, lengths: readonly number[]): unknown {
  const bytes = Buffer.from(json)
  const parser = new LongListParser('rows')
  let start = 0
  for (const length of [...lengths, bytes.length]) {
    parser.push(bytes.subarray(start, start + length))
    start += length
  }
  return parser.end()
}

/** texts that look like the structure of JSON */
const text = fc.oneof(fc.constantFrom('"rows":[', '{"a":"\\"}', '],[', '\\', '"', 'é€😀', '}]'), fc.string({ unit: 'binary' }))
const value = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, text, fc.integer(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom('rows', 'uuid', 'why', 'é'), tie('value'), { maxKeys: 3 }),
}))
const event = fc.record(
  { type: text, needs: value.value, rows: fc.oneof(fc.array(value.object, { maxLength: 6 }), value.list, value.value), sums: value.value },
  { requiredKeys: [] },
)

test('an object is what JSON.parse makes of it, wherever its bytes are cut', () => {
  fc.assert(
    fc.property(event, fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 }), (object, lengths) => {
      const json = JSON.stringify(object)
      expect(parseCut(json, lengths)).toEqual(JSON.parse(json))
    }),
  )
})

test.each([
  ['an end within the list', '{"rows":[{"uuid":"a"},{"uuid":"b"}'],
  ['an item that is no JSON', '{"rows":[{"uuid":a}]}'],
  ['bytes behind the object', '{"rows":[]}}'],
  ['a missing comma', '{"rows":[{"uuid":"a"}{"uuid":"b"}]}'],
  ['a comma too many', '{"rows":[{"uuid":"a"},]}'],
  ['no bytes', ''],
])('%s: an error', (_, json) => {
  for (const lengths of [[], Array<number>(json.length).fill(1)]) expect(() => parseCut(json, lengths)).toThrow(SyntaxError)
})
