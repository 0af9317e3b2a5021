// Conversion of facts of every type to lines and back. A changed bit, a cut and an invalid field of a line are detected.
import fc from 'fast-check'
import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { factOf, lineOf } from '../../../../src/daemon/archive/event-lines.ts'
import type { Fact } from '../../../../src/kernel/model/facts.ts'
import { bodyOf, FACT_TYPES, momentArbitrary } from '../../../support/store/arbitraries.ts'
import { uuidOf } from '../../../support/store/facts.ts'

const factArbitrary: fc.Arbitrary<Fact> = fc
  .record({
    seq: fc.integer({ min: 1 }),
    pid: fc.integer({ min: 1 }),
    at: fc.integer({ min: 0, max: 8.64e15 }),
    body: fc.constantFrom(...FACT_TYPES).chain(bodyOf),
    moment: fc.option(momentArbitrary, { nil: undefined }),
  })
  .map(({ seq, pid, at, body, moment }) => ({
    ...(moment ? { moment } : {}),
    uuid: uuidOf(1),
    seq,
    pid,
    at,
    body: 'pid' in body ? { ...body, pid } : body,
  }))
const NOTE: Fact = { uuid: uuidOf(1), seq: 3, pid: 5, at: 1_700_000_000_000, body: { type: 'process.note', text: 'é "x"' } }

/** Returns the line of `NOTE` with changed fields and the matching checksum. */
function forgedLine(change: (event: Record<string, unknown>) => void): Buffer {
  const { sum: _, ...event } = JSON.parse(lineOf(NOTE)) as Record<string, unknown>
  change(event)
  const fields = JSON.stringify(event).slice(0, -1)
  return Buffer.from(`${fields},"sum":"${crc32(fields).toString(16).padStart(8, '0')}"}`)
}

test('a fact of any type is converted to a line and back without a change', () => {
  fc.assert(
    fc.property(factArbitrary, (fact) => {
      const line = lineOf(fact)
      expect(line).not.toContain('\n')
      const parsed = factOf(Buffer.from(line))
      expect(parsed).toEqual(fact)
      expect(lineOf(parsed as Fact)).toBe(line)
    }),
    { numRuns: 2_000 },
  )
})

test('a line has the fields of an event', () => {
  expect(lineOf(NOTE)).toBe(
    `{"version":1,"seq":3,"uuid":"${uuidOf(1)}","pid":5,"at":"2023-11-14T22:13:20.000Z","type":"process.status","fact":"process.note","text":"é \\"x\\"","sum":"${(JSON.parse(lineOf(NOTE)) as { sum: string }).sum}"}`,
  )
})

test('a change of any bit of a line is detected, and so is a cut', () => {
  const line = Buffer.from(lineOf(NOTE))
  for (let bit = 0; bit < line.length * 8; bit++) {
    const damaged = Buffer.from(line)
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(factOf(damaged), `bit ${bit}`).toEqual(expect.any(String))
  }
  for (let length = 0; length < line.length; length++)
    expect(factOf(line.subarray(0, length)), `cut at ${length}`).toEqual(expect.any(String))
})

describe('a handmade line', () => {
  test.each<[string, (event: Record<string, unknown>) => void, RegExp]>([
    [
      'of a newer version',
      (event) => {
        event['version'] = 2
      },
      /its version is 2/,
    ],
    [
      'of an unknown fact',
      (event) => {
        event['fact'] = 'process.flown'
      },
      /knows no fact "process.flown"/,
    ],
    [
      'with an event type that its fact does not have',
      (event) => {
        event['type'] = 'process.note'
      },
      /is not "process.note"/,
    ],
    [
      'without a required field',
      (event) => {
        delete event['text']
      },
      /its fields are not those|has no text/,
    ],
    [
      'with an invalid moment',
      (event) => {
        event['moment'] = { status: 'flying', queueCount: 0 }
      },
      /its `moment` is not valid/,
    ],
    [
      'with a string as its moment',
      (event) => {
        event['moment'] = 'working'
      },
      /its `moment` is not valid/,
    ],
    [
      'with an unknown field',
      (event) => {
        event['more'] = 1
      },
      /its fields are not those/,
    ],
    [
      'with an invalid sequence number',
      (event) => {
        event['seq'] = 0
      },
      /`at` is not valid/,
    ],
    [
      'with an invalid time',
      (event) => {
        event['at'] = 'yesterday'
      },
      /`at` is not valid/,
    ],
    [
      'without the UUID of its process',
      (event) => {
        delete event['uuid']
      },
      /`at` is not valid/,
    ],
    [
      "with a name of JavaScript's own objects as its fact",
      (event) => {
        event['fact'] = 'constructor'
      },
      /knows no fact "constructor"/,
    ],
  ])('%s is refused', (_what, change, reason) => {
    expect(factOf(forgedLine(change))).toMatch(reason)
  })

  test('is accepted if it has no error', () => {
    expect(factOf(forgedLine(() => {}))).toEqual(NOTE)
  })
})

test('a body that has a field of the envelope cannot become a line', () => {
  expect(() => lineOf({ ...NOTE, body: { type: 'process.rehydrated', pid: 6 } })).toThrow(/has the field pid of its envelope/)
})
