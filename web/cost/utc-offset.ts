// The offset of the daemon's time zone from UTC. The browser may be in another zone, and the rows of a report are named by the daemon's
// days and hours. Pure. Test: test/tables/web/utc-offset.test.ts.
import type { UsageReportView } from '../../src/api/views/usage.ts'

/**
 * The offset in ms, as the daemon writes it in its times. It is that of the end of today: times before a change to or from summer time get
 * the wrong hour.
 */
export function utcOffsetMs({ home }: Pick<UsageReportView, 'home'>): number {
  const [, sign, hours = 0, minutes = 0] = /([+-])(\d\d):(\d\d)$/.exec(home.day.endsAt) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}
