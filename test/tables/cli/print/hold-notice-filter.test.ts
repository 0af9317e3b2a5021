// The facts that the notice of a hold repeats, which are dropped, and all others, which are shown.
import { expect, test } from 'vitest'
import { logLines } from '../../../../src/api/text/log-lines.ts'
import { HoldNoticeFilter } from '../../../../src/cli/print/hold-notice-filter.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import type { HoldReason } from '../../../../src/kernel/model/words.ts'

const failed = (error: string, retryInMs: number | null = null): FactBody => ({
  type: 'model.failed',
  step: 1,
  attempt: 1,
  error,
  status: 401,
  retryInMs,
})
const held = (reason: HoldReason): FactBody => ({ type: 'process.held', hold: { reason, by: 'system', at: 0 }, mono: 0 })
const note = (text: string): FactBody => ({ type: 'process.note', text })
const loop: FactBody = { type: 'liveness.looping', times: 12, calls: [] }
const exited: FactBody = { type: 'process.exited', exit: { code: 1, reason: 'failed', cause: 'agent' } as never, mono: 0 }

test.each<[string, readonly FactBody[], readonly string[]]>([
  ['a refused key', [failed('bad key'), held('credentials'), note('KEY was refused: bad key')], ['process.held']],
  ['a missing key', [held('credentials'), note('needs KEY')], ['process.held']],
  ['a loop', [loop, note('12 times the same'), held('loop')], ['liveness.looping', 'process.held']],
  ['a loop that is reported to the agent', [{ ...loop, told: 7 }, note('a note')], ['liveness.looping', 'process.note']],
  [
    'a full context, whose notice has no reason',
    [held('context-full'), note('the context is full: too long')],
    ['process.held', 'process.note'],
  ],
  ['a pause by the user', [held('user'), note('a note')], ['process.held', 'process.note']],
  ['a failure that ends it', [failed('not found'), exited], ['model.failed', 'process.exited']],
  ['a failure that nothing follows', [failed('not found')], ['model.failed']],
  ['a failure that is tried again', [failed('busy', 100)], ['model.failed']],
  ['two failures', [failed('one'), failed('two'), exited], ['model.failed', 'model.failed', 'process.exited']],
  [
    'a failure, and a hold for another reason',
    [failed('cut off'), held('credentials'), note('needs KEY')],
    ['process.held', 'model.failed'],
  ],
  ['a note of something else', [note('one'), note('two')], ['process.note', 'process.note']],
])('%s', (_, facts, shown) => {
  const echoes = new HoldNoticeFilter()
  expect([...facts.flatMap((fact) => echoes.visibleFacts(fact)), ...echoes.flush()].map(({ type }) => type)).toEqual(shown)
})

test('the log describes the end of a suspended process in plain text', () => {
  const ended: FactBody = { type: 'process.exited', exit: { code: 1, reason: 'context cancelled while paused', cause: 'person' }, mono: 0 }
  expect(logLines('', ended).map(({ text }) => text)).toEqual(['ended: ended while it was suspended (1)'])
})
