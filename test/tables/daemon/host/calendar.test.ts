// The calendar of the budgets: days and months of the local time zone, also when summer time begins or ends.
import { afterEach, expect, test } from 'vitest'
import { calendarAt } from '../../../../src/daemon/host/calendar.ts'

const zoneBefore = process.env['TZ']
afterEach(() => {
  if (zoneBefore === undefined) delete process.env['TZ']
  else process.env['TZ'] = zoneBefore
})

test.each(['UTC', 'Europe/Berlin', 'America/St_Johns'])(
  'in %s, a day and a month begin where the last one ends, and have the next number',
  (zone) => {
    process.env['TZ'] = zone
    const start = new Date(2026, 0, 1, 12).getTime()
    const { dailyUsd, monthlyUsd } = calendarAt(start)
    expect(new Date(dailyUsd.end)).toEqual(new Date(2026, 0, 2))
    expect(new Date(monthlyUsd.end)).toEqual(new Date(2026, 1, 1))
    let [day, month] = [dailyUsd, monthlyUsd]
    for (let count = 0; count < 800; count += 1) {
      expect(calendarAt(day.end - 1).dailyUsd).toEqual(day)
      const next = calendarAt(day.end)
      expect(next.dailyUsd.number).toBe(day.number + 1)
      expect(next.monthlyUsd.number).toBe(month.number + (day.end === month.end ? 1 : 0))
      ;[day, month] = [next.dailyUsd, next.monthlyUsd]
    }
  },
)
