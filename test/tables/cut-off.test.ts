// What is charged for a call to the model whose end nobody has seen: by the last exact count, once, and for a budget too.
import { describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../src/kernel/fold.ts'
import { cutOffUsage } from '../../src/kernel/cut-off.ts'
import type { ProcessSpec, Usage } from '../../src/kernel/types.ts'
import { Player } from '../support/kernel/transcript.ts'

const usage = (more: Partial<Usage>): Usage => ({ ...NO_USAGE, ...more })
const native = { driver: 'native' } as ProcessSpec

test.each<[string, Partial<Usage>, object | null]>([
  ['nothing was counted yet', {}, null],
  ['a context that is an estimate, and nothing counted', { contextTokens: 10 }, null],
  ['a price', { inputTokens: 60, outputTokens: 20, cacheReadTokens: 15, cacheWriteTokens: 5, contextTokens: 50, costUsd: 2 }, { inputTokens: 50, costUsd: 1 }],
  ['no known price', { inputTokens: 100, contextTokens: 50, unpriced: true }, { inputTokens: 50, costUsd: null }],
])('%s', (_, used, expected) => {
  expect(cutOffUsage({ spec: native, usage: usage(used) })).toEqual(expected && { outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, estimated: true, ...expected })
})

test.each(['acp', 'command'] as const)('an agent of the driver %s tells by itself what it has used', (driver) => {
  expect(cutOffUsage({ spec: { driver } as ProcessSpec, usage: usage({ inputTokens: 9, contextTokens: 9 }) })).toBeNull()
})

describe.each([
  ['a step', '.report a model 2', 'model.failed'],
  ['a summary', '.report a compacting 1', 'compaction.failed'],
])('a daemon that dies in the question for %s', (_, question, fact) => {
  test('has it charged once when the process goes on', () => {
    const player = new Player()
    player.play(`
      .live a budgetTokens=202
      .report a model 1
      .report a answer 1 calls=c1:once tokens=100
      .report a tool c1
      ${question}
      .boot a
      .released a
      .resume a
      .start a
    `)
    expect((player.world.journal.get('a') ?? []).filter(({ body }) => body.type === fact).map(({ body }) => body)).toMatchObject([{ error: 'interrupted', usage: { inputTokens: 101, estimated: true } }])
    expect(player.world.row('a')?.usage).toMatchObject({ inputTokens: 201, outputTokens: 1, contextTokens: 101, estimated: true, costUsd: 0.02 })
    expect(player.play('.report a up\nreport a model 2')).toContain('-> ack held')
  })
})
