// The text of limits: the used and the allowed amount, the action, and when a budget is checked.
import { expect, test } from 'vitest'
import { limitRows, limitText } from '../../../../src/cli/print/limits.ts'
import type { LimitUseView, ProcessView } from '../../../../src/api/views/process.ts'

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
  [makeLimitUse({ limit: 'memoryBytes', used: 2 ** 20, of: 2 ** 31, action: 'terminate' }), '1.0 MiB of 2.0 GiB of memory, then terminate'],
  [makeLimitUse({ source: 'config' }), '$0.95 of $1, then suspend (config.yaml)'],
  [makeLimitUse({ limit: 'maxDepth', used: 0, of: 2, action: 'refuse' }), '2 levels below it, then refuse'],
])('the text of a limit has the used and the allowed amount: %j', (view, text) => {
  expect(limitText(view)).toBe(text)
})

test('the rows say that a budget is not checked before each call', () => {
  const view = { limits: { budgetUsd: 1 }, limitUse: [makeLimitUse({})], metering: 'report', memoryLimit: null } as unknown as ProcessView
  expect(limitRows(view)).toEqual([
    ['limits', '$0.95 of $1, then suspend'],
    ['checked', 'after each report of the agent; it may exceed the limit'],
  ])
})
