// Limits on the command line: values with units, and increments.
import { expect, test } from 'vitest'
import { parseCommandLine } from '../../../../src/cli/input/args.ts'
import { parseLimitChanges, parseNewLimits } from '../../../../src/cli/input/limit-flags.ts'
import { LIMIT_FLAGS, RAISE_FLAGS } from '../../../../src/cli/table/limits.ts'

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

test.each([
  '--memory 2XB',
  '--budget-usd x',
  '--budget-usd=-1',
  '--timeout 10',
  '--max-steps 1.5',
  '--on-limit stop',
  '--unknown-price free',
])('`run %s` is refused because of its value', (line) => {
  expect(() => parseRunLimits(line)).toThrow(/is not|choose from/)
})

test('an increment is refused for a new process, which has no limit to raise', () => {
  expect(() => parseRunLimits('--budget-usd +5')).toThrow('cannot be raised')
})
