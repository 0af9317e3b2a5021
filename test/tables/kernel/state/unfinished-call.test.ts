// The charge for a model call with an unknown end: an estimate from the last counted call, charged once, also to budgets.
import { describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../../../src/kernel/state/fold.ts'
import { unfinishedCallUsage } from '../../../../src/kernel/state/unfinished-call.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'
import type { Usage } from '../../../../src/kernel/model/usage.ts'
import type { ProcessSpec } from '../../../../src/kernel/model/process-spec.ts'

const makeUsage = (changes: Partial<Usage>): Usage => ({ ...NO_USAGE, ...changes })
const native = { driver: 'native' } as ProcessSpec

test.each<[string, Partial<Usage>, object | null]>([
  ['there is no estimate before the first counted call', {}, null],
  ['there is no estimate while the context is an estimate itself', { contextTokens: 10 }, null],
  [
    'the estimate has the input of the last counted call, at its price',
    { inputTokens: 60, outputTokens: 20, cacheReadTokens: 15, cacheWriteTokens: 5, contextTokens: 50, costUsd: 2 },
    { inputTokens: 50, costUsd: 1 },
  ],
  [
    'the estimate has no cost without a known price',
    { inputTokens: 100, contextTokens: 50, unpriced: true },
    { inputTokens: 50, costUsd: null },
  ],
])('%s', (_, used, expected) => {
  expect(unfinishedCallUsage({ spec: native, usage: makeUsage(used) })).toEqual(
    expected && { outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, estimated: true, ...expected },
  )
})

test.each(['acp', 'command'] as const)('an agent of the driver %s reports its usage itself', (driver) => {
  expect(unfinishedCallUsage({ spec: { driver } as ProcessSpec, usage: makeUsage({ inputTokens: 9, contextTokens: 9 }) })).toBeNull()
})

describe.each([
  ['a step', '.report a model 2', 'model.failed'],
  ['a summary', '.report a compacting 1', 'compaction.failed'],
])('a daemon that dies during the model call for %s', (_, openCall, fact) => {
  test('charges the call once, when the process continues', () => {
    const player = new TranscriptPlayer()
    player.play(`
      .live a budgetTokens=202
      .report a model 1
      .report a answer 1 calls=c1:once tokens=100
      .report a tool c1
      ${openCall}
      .boot a
      .released a
      .resume a
      .start a
    `)
    expect((player.world.journal.get('a') ?? []).filter(({ body }) => body.type === fact).map(({ body }) => body)).toMatchObject([
      { error: 'interrupted', usage: { inputTokens: 101, estimated: true } },
    ])
    expect(player.world.row('a')?.usage).toMatchObject({
      inputTokens: 201,
      outputTokens: 1,
      contextTokens: 101,
      estimated: true,
      costUsd: 0.02,
    })
    expect(player.play('.report a up\nreport a model 2')).toContain('-> ack held')
  })
})
