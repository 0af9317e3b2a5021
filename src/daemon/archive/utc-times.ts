// Converts the times of a view to UTC, so that exports of one process are equal in each time zone. Pure.
// Test: test/tables/daemon/archive/utc-times.test.ts.

/** Matches the keys of times in views, such as `at`, `createdAt`, `since` and `until`. */
const TIME_KEY = /(?:^at|^since|^until|At|Until)$/
/** A time as a view has it, with the local offset. Other texts under such a key, such as the value of a label, stay as they are. */
const LOCAL_TIME = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/

/** Returns the value with all its times in UTC, instead of with the local offset. */
export function withUtcTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUtcTimes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, isTime(key, item) ? new Date(item).toISOString() : withUtcTimes(item)]),
  )
}

function isTime(key: string, value: unknown): value is string {
  return typeof value === 'string' && TIME_KEY.test(key) && LOCAL_TIME.test(value)
}
