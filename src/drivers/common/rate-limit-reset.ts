// Finds the time at which a rate limit ends, in response headers, error bodies and messages of providers and agents.
// A time that cannot be parsed is reported as unknown, so that no process is suspended for a guessed time.
// Pure: the current time is a parameter.
// Test: test/tables/drivers/common/rate-limit-reset.test.ts.

/** The longest plausible wait, in ms. A longer one is reported as unknown. */
const MAX_WAIT_MS = 35 * 86_400_000

/** Returns the milliseconds until all exhausted limits are reset; null if no header states it. Header names are lower case. */
export function findResetDelayMs(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const waits = Object.entries(headers).flatMap(([name, value]) => {
    if (!/ratelimit/.test(name) || !/reset/.test(name)) return []
    const remaining = headers[name.replace('reset', 'remaining')]
    const status = headers[name.replace('reset', 'status')]
    // The headers may describe several limits. Only an exhausted limit needs a wait.
    const isExhausted = status === undefined ? remaining === undefined || Number(remaining) === 0 : status === 'rejected'
    return isExhausted ? (parseWaitMs(value, nowMs) ?? []) : []
  })
  return waits.length === 0 ? null : Math.max(...waits)
}

/** Parses a header to a wait in ms. Accepts seconds or ms since the epoch, RFC 3339, a number of seconds, and a duration such as `6m0s`. */
export function parseWaitMs(value: string, nowMs: number): number | null {
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) {
    const amount = Number(text)
    return boundedMs(amount >= 1e12 ? amount - nowMs : amount >= 1e9 ? amount * 1_000 - nowMs : amount * 1_000)
  }
  const durationMs = parseDurationMs(text)
  if (durationMs !== null) return boundedMs(durationMs)
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : boundedMs(date - nowMs)
}

function boundedMs(ms: number): number | null {
  return ms > MAX_WAIT_MS ? null : Math.max(0, Math.ceil(ms))
}

const UNITS: readonly (readonly [pattern: RegExp, ms: number])[] = [
  [/^(ms|milliseconds?)$/, 1],
  [/^(s|secs?|seconds?)$/, 1_000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hrs?|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
]

/** Parses a duration such as `6m0s`, `1.5s` or `5 days 22 hours 11 minutes` to ms. Null for any other text. */
function parseDurationMs(text: string): number | null {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)[\s,]*(?:and\s+)?/gi)]
  if (parts.length === 0 || parts.map(([all]) => all).join('') !== text) return null
  let ms = 0
  for (const [, amount, unit = ''] of parts) {
    const unitMs = UNITS.find(([pattern]) => pattern.test(unit.toLowerCase()))?.[1]
    if (unitMs === undefined) return null
    ms += Number(amount) * unitMs
  }
  return ms
}

/** Matches a text about a reached limit. No other text is searched for a time. */
const LIMIT_TEXT =
  /(usage|rate|session|weekly|hour|message|request)\S* limit|limit (was |has been )?reached|hit your (\S+ )?limit|usage_limit|rate_limit|too many requests|out of (extra )?usage/i

/**
 * Returns the wall-clock time in ms at which a limit ends, from an agent's message or a provider's JSON. Null if the text states none. A
 * time of day is in the zone that the text names, or else in the zone of this machine.
 */
export function findResetTimeMs(text: string, nowMs: number): number | null {
  if (!LIMIT_TEXT.test(text)) return null
  const at = timeFromNumbers(text, nowMs) ?? timeFromDuration(text, nowMs) ?? timeFromClock(text, nowMs)
  return at === null || at <= nowMs || at - nowMs > MAX_WAIT_MS ? null : at
}

/** Reads `…limit reached|1735689600`, `"resets_at":1775317531` or `"resets_in_seconds":600`. */
function timeFromNumbers(text: string, nowMs: number): number | null {
  const epoch = /(?:limit reached\||"resets?_?at"\s*:\s*"?)(\d{10,13})\b/i.exec(text)?.[1]
  if (epoch !== undefined) return epoch.length > 11 ? Number(epoch) : Number(epoch) * 1_000
  const seconds = /"resets_in_seconds"\s*:\s*(\d+)/.exec(text)?.[1]
  return seconds === undefined ? null : nowMs + Number(seconds) * 1_000
}

/** Reads `try again in 5 days 22 hours 11 minutes`. */
function timeFromDuration(text: string, nowMs: number): number | null {
  const wait =
    /(?:try again|retry|resets?) (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|d|h|m|s|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?)\b[\s,]*(?:and\s+)?)+)/i.exec(
      text,
    )?.[1]
  const durationMs = wait === undefined ? null : parseDurationMs(wait)
  return durationMs === null ? null : nowMs + durationMs
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** Matches `try again at Jul 5th, 2026 8:19 PM`, `resets 3pm (Europe/Berlin)`, `resets Oct 5 at 3:30pm` or `try again at 14:05`. */
const CLOCK_TIME =
  /(?:try again|resets?)(?: at| on)? (?:([A-Z][a-z]{2})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,? ?(?:(\d{4})\b)?,? ?(?:at )?)?(\d{1,2})(?::(\d{2}))? ?([ap]m)?\b(?: ?\(?([a-z_]+\/[\w+/-]+|UTC|GMT)\b)?/i

function timeFromClock(text: string, nowMs: number): number | null {
  const match = CLOCK_TIME.exec(text)
  if (!match) return null
  const [, month, day, year, hourText = '', minute = '0', meridiem, zone] = match
  const hour = Number(hourText)
  // A number without minutes or `am`/`pm` is not a time of day.
  if ((meridiem === undefined && match[5] === undefined) || hour > (meridiem === undefined ? 23 : 12) || Number(minute) > 59) return null
  const hours = meridiem === undefined ? hour : (hour % 12) + (meridiem.toLowerCase() === 'pm' ? 12 : 0)
  const offsetAt = zoneOffset(zone)
  if (offsetAt === null) return null
  // The UTC fields of this date show the local time of the zone.
  const now = nowMs + offsetAt(nowMs)
  const at = new Date(now)
  if (month !== undefined) {
    const index = MONTHS.indexOf(month.toLowerCase())
    if (index < 0) return null
    at.setUTCFullYear(year === undefined ? at.getUTCFullYear() : Number(year), index, Number(day))
  }
  at.setUTCHours(hours, Number(minute), 0, 0)
  if (at.getTime() <= now && month === undefined) at.setUTCDate(at.getUTCDate() + 1)
  if (at.getTime() <= now && year === undefined) at.setUTCFullYear(at.getUTCFullYear() + 1)
  // The zone's offset may change before that time (daylight saving time).
  return at.getTime() - offsetAt(at.getTime() - offsetAt(nowMs))
}

/**
 * Returns a function from an instant to the zone's offset from UTC, both in ms. Without a name, the zone is this machine's. Null for an
 * unknown zone.
 */
function zoneOffset(zone: string | undefined): ((ms: number) => number) | null {
  if (zone === undefined) return (ms) => -60_000 * new Date(ms).getTimezoneOffset()
  try {
    const clock = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    return (ms) => {
      const [, sign, hours = '0', minutes = '0'] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(clock.format(ms)) ?? []
      return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
    }
  } catch {
    // `Intl` does not know the zone, so the time is unknown.
    return null
  }
}
