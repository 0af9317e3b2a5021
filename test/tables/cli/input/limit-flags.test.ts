// Limits on the command line: values with units, increments, and their text.
import { describe, expect, test } from 'vitest'
import { parseCommandLine } from '../../../../src/cli/input/args.ts'
import { parseLimitChanges, parseNewLimits } from '../../../../src/cli/input/limit-flags.ts'
import { LIMIT_FLAGS, RAISE_FLAGS } from '../../../../src/cli/table/limits.ts'
import { limitRows, limitText } from '../../../../src/cli/print/limits.ts'
import type { LimitUseView, ProcessView } from '../../../../src/api/views/process.ts'

const parseRunLimits = (line: string): unknown => parseNewLimits(parseCommandLine(line.split(' '), LIMIT_FLAGS, false))
const parseResumeLimits = (line: string): unknown => parseLimitChanges(parseCommandLine(line.split(' '), RAISE_FLAGS, false))

test.each<[string, object]>([
  ['--max-steps 5', { maxSteps: 5 }],
  ['--budget-usd 0.5 --budget-tokens 1000', { budgetUsd: 0.5, budgetTokens: 1_000 }],
  [
    '--memory 2GiB --cpu-time 10m --timeout 1h30m --max-output 100MB',
    { memoryBytes: 2 ** 31, cpuTimeMs: 600_000, timeoutMs: 5_400_000, outputBytes: 1e8 },
  ],
  ['--max-turns 2 --max-tool-calls 3 --max-children 4 --max-depth 5', { maxTurns: 2, maxToolCalls: 3, maxChildren: 4, maxDepth: 5 }],
  ['--unknown-price refuse', { unknownPrice: 'refuse' }],
  [
    '--on-limit terminate --budget-usd 1',
    { budgetUsd: 1, actions: expect.objectContaining({ budgetUsd: 'terminate', maxSteps: 'terminate' }) },
  ],
])('`run %s` sets its limits', (line, limits) => {
  expect(parseRunLimits(line)).toEqual(limits)
})

test.each<[string, object]>([
  ['--budget-usd +5', { raise: { budgetUsd: 5 } }],
  ['--budget-usd 20 --max-steps +10', { limits: { budgetUsd: 20 }, raise: { maxSteps: 10 } }],
  ['--timeout +10m --memory 1GiB', { limits: { memoryBytes: 2 ** 30 }, raise: { timeoutMs: 600_000 } }],
])('`resume %s` changes its limits', (line, changes) => {
  expect(parseResumeLimits(line)).toEqual(changes)
})

describe('a value is refused in', () => {
  test.each([
    '--memory 2XB',
    '--budget-usd x',
    '--budget-usd=-1',
    '--timeout 10',
    '--max-steps 1.5',
    '--on-limit stop',
    '--unknown-price free',
  ])('%s', (line) => {
    expect(() => parseRunLimits(line)).toThrow(/is not|choose from/)
  })

  test('an increment of a new limit', () => {
    expect(() => parseRunLimits('--budget-usd +5')).toThrow('cannot be raised')
  })
})

describe('the text of limits', () => {
  const makeLimitUse = (changes: Partial<LimitUseView>): LimitUseView => ({
    limit: 'budgetUsd',
    used: 0.95,
    of: 1,
    action: 'suspend',
    scope: null,
    source: 'process',
    ...changes,
  })

  test.each<[LimitUseView, string]>([
    [makeLimitUse({}), '$0.95 of $1, then suspend'],
    [
      makeLimitUse({ limit: 'maxSteps', used: 3, of: 60, action: 'terminate', scope: '0198c1a2-7b54-7cc3-9d4e-5f60718293a4' }),
      '3 of 60 steps (of 718293a4), then terminate',
    ],
    [
      makeLimitUse({ limit: 'memoryBytes', used: 2 ** 20, of: 2 ** 31, action: 'terminate' }),
      '1.0 MiB of 2.0 GiB of memory, then terminate',
    ],
    [makeLimitUse({ source: 'config' }), '$0.95 of $1, then suspend (config.yaml)'],
    [makeLimitUse({ limit: 'maxDepth', used: 0, of: 2, action: 'refuse' }), '2 levels below it, then refuse'],
  ])('has the used and the allowed amount: %j', (view, text) => {
    expect(limitText(view)).toBe(text)
  })

  test('marks a budget that is not checked before each call', () => {
    const view = { limits: { budgetUsd: 1 }, limitUse: [makeLimitUse({})], metering: 'report', memoryLimit: null } as unknown as ProcessView
    expect(limitRows(view)).toEqual([
      ['limits', '$0.95 of $1, then suspend'],
      ['checked', 'after each report of the agent; it may exceed the limit'],
    ])
  })
})
