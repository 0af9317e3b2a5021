// What the calendar day and month of the home will have cost at the present rate.
import { expect, test } from 'vitest'
import { usageRateView, type UsageRateDeps } from '../../../../src/daemon/views/usage-report.ts'

const HOUR_MS = 3_600_000
const NOW = { wall: Date.parse('2026-11-20T12:00:00.000Z'), mono: 0 }
const period = (usd: number) => ({ number: 1, nanoUsd: usd * 1e9, warnedNanoUsd: 0 })

test.each([
  ['nothing is spent', { perMinute: 0, day: 3, month: 40, dayLeft: 12, monthLeft: 252 }, { day: 3, month: 40 }],
  ['an hour cost 6 USD', { perMinute: 0.1, day: 3, month: 40, dayLeft: 12, monthLeft: 252 }, { day: 75, month: 1_552 }],
  ['the day has just ended', { perMinute: 0.1, day: 3, month: 40, dayLeft: -0.01, monthLeft: 1 }, { day: 3, month: 46 }],
])('if %s', async (_, { perMinute, day, month, dayLeft, monthLeft }, expected) => {
  const rate = (minutes: number) => ({ minutes, costUsd: minutes === 60 ? perMinute : 99, tokens: 0 })
  const ends = { dailyUsd: NOW.wall + dayLeft * HOUR_MS, monthlyUsd: NOW.wall + monthLeft * HOUR_MS }
  const home = { book: { dailyUsd: period(day), monthlyUsd: period(month) }, budgets: {}, ends, hasWaiting: false }
  const view = await usageRateView({
    rate: { total: () => [rate(1), rate(5), rate(60)], totalByMinute: () => [], trees: () => [] },
    table: { home },
    clock: { now: () => NOW },
    startedAt: NOW.wall,
  } as unknown as UsageRateDeps)
  expect({ day: Math.round(view.projectedUsd.day), month: Math.round(view.projectedUsd.month) }).toEqual(expected)
})
