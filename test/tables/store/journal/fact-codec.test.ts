// The stored form of each fact type: its number and its fields in order are a format on disk, and never change.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import { codeOf, packBody, unpackBody } from '../../../../src/store/journal/fact-codec.ts'
import { packMoment, unpackMoment } from '../../../../src/store/journal/moment-codec.ts'
import { FACT_TYPES, bodyOf, momentArbitrary } from '../../../support/store/arbitraries.ts'

/** The numbers as they were released. A new type gets a new number; a released number never changes. */
const RELEASED: Readonly<Record<string, number>> = {
  'process.spawned': 1,
  'process.started': 2,
  'process.attached': 3,
  'process.handle': 4,
  'process.ready': 5,
  'process.working': 6,
  'process.waiting': 7,
  'process.stopping': 8,
  'process.exited': 9,
  'process.reaped': 10,
  'process.reparented': 11,
  'process.resumed': 12,
  'process.rehydrated': 13,
  'process.held': 14,
  'process.released': 15,
  'process.drained': 16,
  'process.frozen': 17,
  'signal.sent': 18,
  'signal.pended': 19,
  'signal.unpended': 20,
  'signal.masked': 21,
  'signal.handled': 22,
  'process.queue': 23,
  'process.incoming': 24,
  'process.output': 25,
  'process.error': 26,
  'process.note': 27,
  'model.started': 28,
  'model.finished': 29,
  'model.failed': 30,
  'tool.started': 31,
  'tool.finished': 32,
  'checkpoint.written': 33,
  'checkpoint.failed': 34,
  'child.spawned': 35,
  'child.exited': 36,
  'child.suspended': 37,
  'child.resumed': 38,
  'context.window': 39,
  'compaction.started': 40,
  'compaction.failed': 41,
  'context.compacted': 42,
  'limit.warned': 43,
  'mcp.servers': 44,
  'process.answered': 45,
  'process.unasked': 46,
  'process.delivered': 175,
  'process.unanswered': 176,
  'usage.reported': 47,
  'process.forked': 48,
  'process.pinned': 49,
  'process.seen': 173,
  'process.snoozed': 174,
  'worktree.made': 50,
  'files.recorded': 51,
  'files.failed': 52,
  'signal.escalated': 53,
  'child.spent': 54,
  'limit.reached': 55,
  'process.limited': 56,
  'process.described': 60,
  'call.started': 57,
  'call.finished': 58,
  'message.sent': 59,
  'restart.due': 64,
  'supervisor.added': 65,
  'supervisor.removed': 66,
  'supervisor.restarting': 67,
  'supervisor.restarted': 68,
  'supervisor.held': 69,
  'supervisor.escalated': 70,
  'liveness.changed': 72,
  'liveness.looping': 73,
  'liveness.breaker': 74,
  'usage.measured': 78,
  'capability.refused': 81,
  'process.retired': 90,
  'crew.begun': 91,
  'crew.member': 92,
  'crew.joined': 93,
  'crew.leaving': 94,
  'crew.left': 95,
  'crew.replaced': 96,
  'crew.held': 97,
  'crew.full': 98,
  'crew.turn.begun': 99,
  'crew.turn': 100,
  'crew.heard': 101,
  'crew.job': 102,
  'crew.job.done': 103,
  'crew.sent': 104,
  'crew.notified': 105,
  'crew.stalled': 106,
  'crew.ending': 107,
  'crew.ended': 108,
  'task.added': 109,
  'task.assigned': 110,
  'task.prepared': 111,
  'task.reported': 112,
  'task.review': 113,
  'task.unreviewed': 114,
  'task.verdict': 115,
  'task.asked': 116,
  'task.answered': 117,
  'task.approved': 118,
  'task.committing': 119,
  'task.uncommitted': 120,
  'task.committed': 121,
  'task.merged': 122,
  'task.conflict': 123,
  'task.requeued': 124,
  'task.done': 125,
  'task.failed': 126,
  'task.cancelled': 127,
  'task.message': 128,
  'task.briefed': 129,
  'compose.starting': 130,
  'compose.started': 131,
  'compose.retrying': 132,
  'compose.completed': 133,
  'compose.failed': 134,
  'compose.blocked': 135,
  'compose.cancelled': 136,
  'compose.again': 137,
  'compose.resumed': 138,
  'compose.finished': 139,
  'message.taken': 140,
  'crew.kept': 141,
  'crew.inherited': 142,
  'process.raw': 143,
  'task.verify': 145,
  'task.parked': 146,
  'task.resumed': 147,
  'task.resolved': 150,
  'task.blocked': 151,
  'task.resolving': 152,
  'task.differs': 153,
  'task.ordered': 160,
  'task.retried': 161,
  'task.reopened': 162,
  'task.edited': 163,
  'task.taken': 164,
  'crew.setup': 171,
  'crew.halted': 172,
}

describe('the numbers of fact types', () => {
  test('never change', () => {
    expect(Object.fromEntries(FACT_TYPES.map((type) => [type, codeOf(type)]))).toEqual(RELEASED)
  })

  test('are unique', () => {
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
  ] as const)('%j has the stored form of its release', (moment, text) => {
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
  expect(unpackBody(29, [1, [], {}, 'stop', 5])).not.toHaveProperty('firstTokenMs')
  expect(unpackBody(29, [1, [], {}, 'stop', 5, 2])).toHaveProperty('firstTokenMs', 2)
})

describe('the codec refuses', () => {
  test.each<[string, number, unknown, RegExp]>([
    ['an unknown number', 9_999, [], /unknown fact type 9999/],
    ['a body that is not a list', 28, { step: 1 }, /not a list/],
    ['a body with a field too many', 28, [1, 2, 'm', null, 5], /has 5 fields/],
    ['a body without a required field', 28, [1, 2], /has no model/],
  ])('%s', (_, code, values, message) => {
    expect(unpackBody(code, values)).toMatch(message)
  })

  test('to write an unknown type', () => {
    expect(() => packBody({ type: 'no.such' } as unknown as FactBody)).toThrow(KernelError)
  })
})
