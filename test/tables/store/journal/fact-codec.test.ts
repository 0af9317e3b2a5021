// The stored form of each fact type: its number and its fields in order are a format on disk, and never change.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import { codeOf, packBody, unpackBody } from '../../../../src/store/journal/fact-codec.ts'
import { packMoment, unpackMoment } from '../../../../src/store/journal/moment-codec.ts'
import { FACT_TYPES, bodyOf, momentArbitrary } from '../../../support/store/arbitraries.ts'

/** The numbers as they were released. A type is added at the end; no line is ever changed. */
const RELEASED = [
  'process.spawned',
  'process.started',
  'process.attached',
  'process.handle',
  'process.ready',
  'process.working',
  'process.waiting',
  'process.stopping',
  'process.exited',
  'process.reaped',
  'process.reparented',
  'process.resumed',
  'process.rehydrated',
  'process.held',
  'process.released',
  'process.drained',
  'process.frozen',
  'signal.sent',
  'signal.pended',
  'signal.unpended',
  'signal.masked',
  'signal.handled',
  'process.queue',
  'process.incoming',
  'process.output',
  'process.error',
  'process.note',
  'model.started',
  'model.finished',
  'model.failed',
  'tool.started',
  'tool.finished',
  'checkpoint.written',
  'checkpoint.failed',
  'child.spawned',
  'child.exited',
  'child.suspended',
  'child.resumed',
]

describe('the numbers of fact types', () => {
  test('never change', () => {
    expect(RELEASED.map(codeOf)).toEqual(RELEASED.map((_, index) => index + 1))
  })

  test('are one per fact type', () => {
    expect(new Set(FACT_TYPES.map(codeOf)).size).toBe(FACT_TYPES.length)
    expect(codeOf('no.such')).toBeUndefined()
  })
})

describe('the order of fields never changes', () => {
  test.each<[FactBody, unknown[]]>([
    [{ type: 'process.ready', turn: 3, result: 'r' }, [3, null, 'r']],
    [{ type: 'process.resumed', pid: 4, by: 'user', fromStep: 7 }, [4, 'user', null, 7]],
    [{ type: 'process.reaped' }, []],
    [{ type: 'tool.finished', step: 1, callId: 'c', name: 'n', outcome: 'ok', content: 't', durationMs: 5 }, [1, 'c', 'n', 'ok', 't', 5]],
    [
      { type: 'tool.finished', step: 1, callId: 'c', name: 'n', outcome: 'ok', content: 't', durationMs: 5, exitCode: 3 },
      [1, 'c', 'n', 'ok', 't', 5, null, 3],
    ],
    [{ type: 'model.started', step: 1, attempt: 2, model: 'm' }, [1, 2, 'm']],
  ])('%j', (body, values) => {
    expect(packBody(body).values).toEqual(values)
  })
})

test.each(FACT_TYPES)('%s is restored unchanged', (type) => {
  fc.assert(
    fc.property(bodyOf(type), (body) => {
      const { code, values } = packBody(body)
      expect(unpackBody(code, JSON.parse(JSON.stringify(values)))).toStrictEqual(body)
    }),
    { numRuns: 30 },
  )
})

describe('a moment', () => {
  test.each([
    [{ status: 'working', queueCount: 0 }, '[3]'],
    [{ status: 'interrupted', queueCount: 2 }, '[12,2]'],
    [{ status: 'ready', queueCount: 0, role: 'generic', phase: 'idle' }, '[2,0,"generic","idle"]'],
    [{ status: 'working', queueCount: 1, role: 'generic', phase: 'implementing', taskId: 'one' }, '[3,1,"generic","implementing","one"]'],
  ] as const)('%j stands as it was released', (moment, text) => {
    expect(packMoment(moment)).toBe(text)
  })

  test('is restored unchanged', () => {
    fc.assert(
      fc.property(momentArbitrary, (moment) => {
        expect(unpackMoment(packMoment(moment))).toStrictEqual(moment)
      }),
    )
  })

  test.each(['', '{}', '[13]', '[1,"x"]', '[1,0,7]', 'null'])('%j is not a moment', (text) => {
    expect(unpackMoment(text)).toBeUndefined()
  })
})

test('an optional field that was added later is absent from an older row', () => {
  expect(unpackBody(5, [3])).toStrictEqual({ type: 'process.ready', turn: 3 })
})

describe('refused', () => {
  test.each<[string, number, unknown, RegExp]>([
    ['an unknown number', 9_999, [], /unknown fact type 9999/],
    ['a body that is not a list', 28, { step: 1 }, /not a list/],
    ['a body with a field too many', 28, [1, 2, 'm', null, 5], /has 5 fields/],
    ['a body without a required field', 28, [1, 2], /has no model/],
  ])('%s', (_, code, values, what) => {
    expect(unpackBody(code, values)).toMatch(what)
  })

  test('an unknown type when it is written', () => {
    expect(() => packBody({ type: 'no.such' } as unknown as FactBody)).toThrow(KernelError)
  })
})
