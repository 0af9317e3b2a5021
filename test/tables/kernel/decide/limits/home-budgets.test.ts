// Budgets of the home in the kernel: which calls begin, which processes are held and until when, and what lets them continue.
import { expect, test } from 'vitest'
import { DAY_MS, HomeBudgetWorld } from '../../../../support/kernel/home-budget-world.ts'

test('parallel calls share what is left, and the one without room waits for the end of the other', () => {
  const home = new HomeBudgetWorld()
  home.setDay(10, { dailyUsd: 1 })
  for (const uuid of ['a', 'b']) home.start(uuid)
  expect(home.requestCall('a', 9_500)).toMatchObject({ ack: 'go', maxOutputTokens: 9_500 })
  expect(home.requestCall('b', 9_500)).toMatchObject({ ack: 'held' })
  expect(home.holds('b')).toEqual([['budget', null]])
  home.finishCall('a', 0.2)
  expect(home.holds('b')).toEqual([])
  expect(home.requestCall('b', 9_500)).toMatchObject({ ack: 'go', maxOutputTokens: 8_000 })
})

test('a spent day holds each process that wants more until the day ends, and the next day continues them', () => {
  const home = new HomeBudgetWorld()
  home.setDay(10, { dailyUsd: 1, monthlyUsd: 5 })
  for (const uuid of ['a', 'b']) home.start(uuid)
  home.requestCall('a', 9_000)
  home.finishCall('a', 1)
  for (const uuid of ['a', 'b']) expect(home.requestCall(uuid, 9_000)).toMatchObject({ ack: 'held' })
  expect(home.holds('a')).toEqual([['budget', 11 * DAY_MS]])
  expect(home.row('b').note).toBe('budget of the home: $1.0000 of $1 are spent today')
  home.setDay(10, { dailyUsd: 1, monthlyUsd: 5 })
  expect(home.holds('a')).toHaveLength(1)
  home.setDay(11, { dailyUsd: 1, monthlyUsd: 5 })
  expect([home.holds('a'), home.holds('b')]).toEqual([[], []])
  expect(home.requestCall('a', 9_000)).toMatchObject({ ack: 'go' })
})

test('a resume does not release a process that a spent budget holds; a raised budget does, at once', () => {
  const home = new HomeBudgetWorld()
  home.setDay(10, { dailyUsd: 1 })
  home.start('a')
  home.requestCall('a', 9_000)
  home.finishCall('a', 1.2)
  home.requestCall('a', 9_000)
  home.input({
    type: 'resume',
    reply: 1,
    by: 'user',
    uuid: 'a',
    endedRow: null,
    subtree: false,
    only: false,
    message: null,
    spec: null,
    rerun: false,
  })
  expect(home.holds('a')).toHaveLength(1)
  home.setDay(10, { dailyUsd: 3 })
  expect(home.holds('a')).toEqual([])
})

test('the warning at 80 % comes once, in the journal of the process that reached it', () => {
  const home = new HomeBudgetWorld()
  home.setDay(10, { dailyUsd: 1 })
  home.start('a')
  for (const usd of [0.5, 0.35, 0.01]) {
    home.requestCall('a', 1_000)
    home.finishCall('a', usd)
  }
  const warnings = home.world.journal
    .get('a')
    ?.filter(({ body }) => body.type === 'limit.warned')
    .map(({ body }) => body)
  expect(warnings).toEqual([{ type: 'limit.warned', limit: 'dailyUsd', used: 0.85, of: 1 }])
})

test('an external agent outside the gateway is frozen at the report that exceeds the budget', () => {
  const home = new HomeBudgetWorld()
  home.setDay(10, { monthlyUsd: 1 })
  home.start('x', 'acp')
  home.report('x', { type: 'usage', usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 2 } })
  expect(home.holds('x')).toEqual([['budget', 11 * DAY_MS]])
})

test('without budgets, the money is still counted, and nothing is reserved', () => {
  const home = new HomeBudgetWorld()
  home.setDay(10, {})
  home.start('a')
  expect(home.requestCall('a', 9_000)).toMatchObject({ ack: 'go' })
  expect(home.row('a').progress.reserve).toBeUndefined()
  home.finishCall('a', 0.25)
  expect(home.world.overlay.home.book.dailyUsd.nanoUsd).toBe(250_000_000)
})
