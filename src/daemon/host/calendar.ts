// The calendar day and month of a time, in the time zone of the daemon: their numbers, and when they end.
// Test: test/tables/daemon/host/calendar.test.ts.
import type { Calendar } from '../../kernel/model/home.ts'

const DAY_MS = 86_400_000

/** `wall`: wall ms. The number of a period only identifies it; its end is in wall ms. */
export function calendarAt(wall: number): Calendar {
  const date = new Date(wall)
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()]
  return {
    dailyUsd: { number: Date.UTC(year, month, day) / DAY_MS, end: new Date(year, month, day + 1).getTime() },
    monthlyUsd: { number: year * 12 + month, end: new Date(year, month + 1, 1).getTime() },
  }
}
