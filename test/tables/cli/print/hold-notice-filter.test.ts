// The notice of a hold replaces the facts that it repeats. All other facts are shown.
import { expect, test } from 'vitest'
import { HoldNoticeFilter } from '../../../../src/cli/print/hold-notice-filter.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import type { HoldReason } from '../../../../src/kernel/model/words.ts'

const modelFailed = (error: string, retryInMs: number | null = null): FactBody => ({
  type: 'model.failed',
  step: 1,
  attempt: 1,
  error,
  status: 401,
  retryInMs,
})
const heldFor = (reason: HoldReason): FactBody => ({ type: 'process.held', hold: { reason, by: 'system', at: 0 }, mono: 0 })
const makeNote = (text: string): FactBody => ({ type: 'process.note', text })
const loopFound: FactBody = { type: 'liveness.looping', times: 12, calls: [] }
const processExited: FactBody = { type: 'process.exited', exit: { code: 1, reason: 'failed', cause: 'agent' } as never, mono: 0 }

test.each<[string, readonly FactBody[], readonly string[]]>([
  ['a refused key', [modelFailed('bad key'), heldFor('credentials'), makeNote('KEY was refused: bad key')], ['process.held']],
  ['a missing key', [heldFor('credentials'), makeNote('needs KEY')], ['process.held']],
  ['a loop', [loopFound, makeNote('12 times the same'), heldFor('loop')], ['liveness.looping', 'process.held']],
  ['a loop that is reported to the agent', [{ ...loopFound, told: 7 }, makeNote('a note')], ['liveness.looping', 'process.note']],
  [
    'a full context, whose notice has no reason',
    [heldFor('context-full'), makeNote('the context is full: too long')],
    ['process.held', 'process.note'],
  ],
  ['a pause by the user', [heldFor('user'), makeNote('a note')], ['process.held', 'process.note']],
  ['a failure that ends it', [modelFailed('not found'), processExited], ['model.failed', 'process.exited']],
  ['a failure that nothing follows', [modelFailed('not found')], ['model.failed']],
  ['a failure that is tried again', [modelFailed('busy', 100)], ['model.failed']],
  ['two failures', [modelFailed('one'), modelFailed('two'), processExited], ['model.failed', 'model.failed', 'process.exited']],
  [
    'a failure, and a hold for another reason',
    [modelFailed('cut off'), heldFor('credentials'), makeNote('needs KEY')],
    ['process.held', 'model.failed'],
  ],
  ['a note of something else', [makeNote('one'), makeNote('two')], ['process.note', 'process.note']],
])('of %s, the facts that no notice repeats are shown', (_, facts, expected) => {
  const filter = new HoldNoticeFilter()
  expect([...facts.flatMap((fact) => filter.visibleFacts(fact)), ...filter.flush()].map(({ type }) => type)).toEqual(expected)
})
