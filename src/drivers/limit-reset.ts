// When a rate limit is over, as providers and agents say it: in headers, in the body of an error, and in words for people.
// What cannot be read is not known: nobody is suspended for a time that was guessed. Pure: the time comes in.
// Test: test/tables/limit-reset.test.ts.

/** A limit that is said to last longer than this is none that anybody waits for, in ms. */
const MOST_MS = 35 * 86_400_000

/** Ms until the limits that are used up are there again; null: no header tells. Names are lower case. */
export function resetInHeaders(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const waits = Object.entries(headers).flatMap(([name, value]) => {
    if (!/ratelimit/.test(name) || !/reset/.test(name)) return []
    const remaining = headers[name.replace('reset', 'remaining')]
    const status = headers[name.replace('reset', 'status')]
    // One of several limits was met: the others say when they are full again, which is nothing to wait for.
    const isMet = status === undefined ? remaining === undefined || Number(remaining) === 0 : status === 'rejected'
    return isMet ? (waitOf(value, nowMs) ?? []) : []
  })
  return waits.length === 0 ? null : Math.max(...waits)
}

/** An instant (seconds or ms since the epoch, RFC 3339), seconds, or a span such as `6m0s`. */
function waitOf(value: string, nowMs: number): number | null {
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) {
    const number = Number(text)
    return within(number >= 1e12 ? number - nowMs : number >= 1e9 ? number * 1_000 - nowMs : number * 1_000)
  }
  const span = spanOf(text)
  if (span !== null) return within(span)
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : within(date - nowMs)
}

function within(ms: number): number | null {
  return ms > MOST_MS ? null : Math.max(0, Math.ceil(ms))
}

const UNITS: readonly (readonly [pattern: RegExp, ms: number])[] = [
  [/^(ms|milliseconds?)$/, 1], [/^(s|secs?|seconds?)$/, 1_000], [/^(m|mins?|minutes?)$/, 60_000], [/^(h|hrs?|hours?)$/, 3_600_000], [/^(d|days?)$/, 86_400_000],
]

/** `6m0s`, `1.5s`, `5 days 22 hours 11 minutes`; null for anything else. */
function spanOf(text: string): number | null {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)[\s,]*(?:and\s+)?/gi)]
  if (parts.length === 0 || parts.map(([all]) => all).join('') !== text) return null
  let ms = 0
  for (const [, number, unit = ''] of parts) {
    const each = UNITS.find(([pattern]) => pattern.test(unit.toLowerCase()))?.[1]
    if (each === undefined) return null
    ms += Number(number) * each
  }
  return ms
}

/** Only what speaks of a limit that was reached is read on. */
const LIMITED = /(usage|rate|session|weekly|hour|message|request)\S* limit|limit (was |has been )?reached|hit your (\S+ )?limit|usage_limit|rate_limit|too many requests|out of (extra )?usage/i

/** Wall ms at which a limit is over, by the words of an agent or the JSON of a provider; null: they do not say. Times of day are those of this machine. */
export function resetInWords(text: string, nowMs: number): number | null {
  if (!LIMITED.test(text)) return null
  const at = inNumbers(text, nowMs) ?? inSpan(text, nowMs) ?? atTime(text, nowMs)
  return at === null || at <= nowMs || at - nowMs > MOST_MS ? null : at
}

/** `…limit reached|1735689600`, `"resets_at":1775317531`, `"resets_in_seconds":600` */
function inNumbers(text: string, nowMs: number): number | null {
  const epoch = /(?:limit reached\||"resets?_?at"\s*:\s*"?)(\d{10,13})\b/i.exec(text)?.[1]
  if (epoch !== undefined) return epoch.length > 11 ? Number(epoch) : Number(epoch) * 1_000
  const seconds = /"resets_in_seconds"\s*:\s*(\d+)/.exec(text)?.[1]
  return seconds === undefined ? null : nowMs + Number(seconds) * 1_000
}

/** `try again in 5 days 22 hours 11 minutes` */
function inSpan(text: string, nowMs: number): number | null {
  const said = /(?:try again|retry|resets?) (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|d|h|m|s|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?)\b[\s,]*(?:and\s+)?)+)/i.exec(text)?.[1]
  const span = said === undefined ? null : spanOf(said)
  return span === null ? null : nowMs + span
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** `try again at Jul 5th, 2026 8:19 PM`, `resets 3pm (Europe/Berlin)`, `resets Oct 5 at 3:30pm`, `try again at 14:05` */
function atTime(text: string, nowMs: number): number | null {
  const found = /(?:try again|resets?)(?: at| on)? (?:([A-Z][a-z]{2})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,? ?(?:(\d{4})\b)?,? ?(?:at )?)?(\d{1,2})(?::(\d{2}))? ?([ap]m)?\b/i.exec(text)
  if (!found) return null
  const [, month, day, year, hourText = '', minute = '0', half] = found
  const hour = Number(hourText)
  // A bare number is no time.
  if ((half === undefined && found[5] === undefined) || hour > (half === undefined ? 23 : 12) || Number(minute) > 59) return null
  const hours = half === undefined ? hour : (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)
  const at = new Date(nowMs)
  if (month !== undefined) {
    const index = MONTHS.indexOf(month.toLowerCase())
    if (index < 0) return null
    at.setFullYear(year === undefined ? at.getFullYear() : Number(year), index, Number(day))
  }
  at.setHours(hours, Number(minute), 0, 0)
  if (at.getTime() <= nowMs && month === undefined) at.setDate(at.getDate() + 1)
  if (at.getTime() <= nowMs && year === undefined) at.setFullYear(at.getFullYear() + 1)
  return at.getTime()
}
