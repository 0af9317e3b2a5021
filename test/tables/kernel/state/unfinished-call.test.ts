// The charge for a model call with an unknown end: an estimate from the last counted call, charged once, also to budgets.
import { describe, expect, test } from 'vitest'
import { NO_USAGE } from '../../../../src/kernel/state/fold.ts'
import { INTERRUPTED_CALL } from '../../../../src/kernel/decide/close-open-calls.ts'
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
])('a daemon that dies during the model call for %s', (_, question, fact) => {
  test('charges the call once, when the process continues', () => {
    const player = new TranscriptPlayer()
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

describe('an open call of a tool that may run twice', () => {
  const OPEN = '.report a model 1\n.report a answer 1 calls=c1:read,c2:idempotent,c3:once'
  const GO_ON = '.resume a\n.start a'
  const PAUSED = '.signal SIGPAUSE a'

  /** The results of the call when the daemon dies again and again. */
  function callsAfter(lines: readonly string[]): readonly string[] {
    const player = new TranscriptPlayer()
    player.play(['.live a', OPEN, ...lines].join('\n'))
    const calls = (player.world.journal.get('a') ?? []).flatMap(({ body }) =>
      body.type === 'tool.finished' ? [`${body.callId} ${body.content}`] : [],
    )
    return [...(player.world.row('a')?.progress.openCalls.map(({ callId }) => callId) ?? []), ...calls]
  }

  const ONCE = `c3 ${INTERRUPTED_CALL}`
  const ALL = [ONCE, `c1 ${INTERRUPTED_CALL}`, `c2 ${INTERRUPTED_CALL}`]
  const AGAIN = ['c1', 'c2', ONCE]

  test.each<readonly [string, readonly string[], readonly string[]]>([
    ['is repeated after one death of the daemon', ['.boot a', GO_ON], AGAIN],
    ['gets a result after two deaths of the daemon', ['.boot a', GO_ON, '.boot a', GO_ON], ALL],
    [
      'is repeated however often the user ends the process',
      [1, 2, 3].flatMap(() => ['.signal SIGKILL a', '.report a exited 0', '.released a', GO_ON]),
      AGAIN,
    ],
    [
      'is repeated after an end by the user and one by the daemon',
      ['.signal SIGKILL a', '.report a exited 0', '.released a', GO_ON, '.boot a', GO_ON],
      AGAIN,
    ],
    ['gets a result when the daemon dies for the second time in a pause that had not drained', ['.boot a', GO_ON, PAUSED, '.boot a'], ALL],
    [
      'gets a result at the next start after the daemon died in two pauses',
      [PAUSED, '.boot a', '.signal SIGRESUME a', '.start a', PAUSED, '.boot a'],
      ALL,
    ],
    [
      'stays open if it had not begun, because the process had drained',
      [PAUSED, '.report a drained', '.boot a', '.boot a', '.boot a'],
      ['c1', 'c2', 'c3'],
    ],
  ])('%s', (_, lines, calls) => expect(callsAfter(lines)).toEqual(calls))
})
