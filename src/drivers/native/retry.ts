// When a failed model call is tried again, and after how long: exponential backoff with full jitter, or what the provider
// asked for. Pure but for the clock and the dice, which come in. Test: test/tables/native-retry.test.ts.
import type { CallFailed } from './model.ts'

export interface RetryPolicy {
  /** calls in all for one step */
  readonly attempts: number
  readonly baseMs: number
  readonly capMs: number
}

export const RETRY: RetryPolicy = { attempts: 8, baseMs: 1_000, capMs: 60_000 }

/** A provider that asks for a longer wait than this is not waited for, in ms. */
const MAX_RETRY_AFTER_MS = 3_600_000

/** Statuses after which the same request may succeed: time-out, conflict, rate limit, and all of the server's (529 is "overloaded"). */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/** Milliseconds to wait before the next attempt; null when there shall be none. */
export function retryDelay(policy: RetryPolicy, attempt: number, failure: CallFailed, random: () => number): number | null {
  if (!failure.retryable || attempt >= policy.attempts) return null
  if (failure.retryAfterMs !== null) return failure.retryAfterMs > MAX_RETRY_AFTER_MS ? null : failure.retryAfterMs
  return Math.round(random() * Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1)))
}

/** Wall ms at which the limit that was met is over; null: none was, or nobody knows. */
export function limitEnd({ kind, retryAfterMs: afterMs }: CallFailed, nowMs: number): number | null {
  return kind === 'rate-limit' && afterMs !== null ? nowMs + afterMs : null
}

/** What `retry-after-ms` (ms) or `retry-after` (seconds, or an HTTP date) ask for; null if neither can be read. Names are lower case. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const ms = readNumber(headers['retry-after-ms'])
  if (ms !== null) return ms
  const after = headers['retry-after']
  const seconds = readNumber(after)
  if (seconds !== null) return seconds * 1_000
  const date = after === undefined ? Number.NaN : Date.parse(after)
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs)
}

function readNumber(text: string | undefined): number | null {
  if (text === undefined || !/^\s*\d+(\.\d+)?\s*$/.test(text)) return null
  return Number(text)
}
