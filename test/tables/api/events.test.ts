// The closed union of events: the compiler narrows the fields of an event by its type, and these fields are those of published events.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventOf } from '../../../src/daemon/loop/events.ts'
import { bodyOf, FACT_TYPES } from '../../support/store/arbitraries.ts'
import type { FactBody } from '../../../src/kernel/model/facts.ts'
import type { ReeveEvent } from '../../../src/index.ts'

const publish = (body: FactBody): ReeveEvent =>
  eventOf({ uuid: 'a', pid: 7, seq: 1, at: 1_700_000_000_000, cursor: 9, body, moment: { status: 'working', queueCount: 0 } })

/** Reads fields that exist only after the compiler has narrowed the type. */
function summaryOf(event: ReeveEvent): string {
  switch (event.type) {
    case 'tool.finished':
      return `${event.name} ${event.outcome} ${event.images?.[0]?.bytes ?? 0}`
    case 'process.spawned':
      return `${event.spec.agent} in ${event.spec.cwd}`
    case 'live.gap':
      return `${event.lost} lost`
    default:
      return event.fact === 'model.failed' ? `HTTP ${event.httpStatus} at attempt ${event.attempt}` : event.type
  }
}

test('a consumer narrows an event by its type, or by its fact', () => {
  const image = { mediaType: 'image/png', data: Buffer.from('12345').toString('base64') }
  const tool = {
    type: 'tool.finished',
    step: 1,
    callId: 'c',
    name: 'read',
    outcome: 'ok',
    content: '',
    durationMs: 1,
    images: [image],
  } as const
  const failed = { type: 'model.failed', step: 1, attempt: 2, error: 'busy', status: 529, retryInMs: null } as const
  expect([summaryOf(publish(tool)), summaryOf(publish(failed))]).toEqual(['read ok 5', 'HTTP 529 at attempt 2'])
})

test.each(FACT_TYPES)('an event of %s has all fields of its fact, and its own names for those that differ', (type) => {
  fc.assert(
    fc.property(bodyOf(type), (body) => {
      const event = publish(body)
      const renamed = Object.keys(body).map((key) => (key === 'status' ? 'httpStatus' : key))
      expect(Object.keys(event)).toEqual(expect.arrayContaining([...renamed, 'version', 'seq', 'uuid', 'pid', 'at', 'type', 'fact']))
      if ('spec' in event && event.spec) expect(event.spec).not.toHaveProperty('env')
    }),
    { numRuns: 20 },
  )
})
