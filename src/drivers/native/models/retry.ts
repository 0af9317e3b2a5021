// Decides whether and when a failed model call is repeated. The wait is the one that the provider requests, or else exponential
// backoff with full jitter. Pure: the time and the random numbers are parameters.
// Test: test/tables/drivers/native/models/retry.test.ts.
import type { CallFailed } from './model.ts'

export interface RetryPolicy {
  /** the maximum number of calls of one model for one step */
  readonly attempts: number
  /** the longest wait after the first attempt, in ms; it doubles with each attempt */
  readonly baseMs: number
  /** the longest wait after any attempt, in ms */
  readonly capMs: number
}

export const DEFAULT_RETRY: RetryPolicy = { attempts: 8, baseMs: 1_000, capMs: 60_000 }

/** The longest wait that a provider may request, in ms. After a longer one the call is not repeated. */
const MAX_RETRY_AFTER_MS = 3_600_000

/** Statuses after which the same request may succeed: timeout, conflict, rate limit, and all server errors (529 is "overloaded"). */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/** The wait before the next attempt in ms; null if the call must not be repeated. `attempt` counts from 1. */
export function retryDelay(policy: RetryPolicy, attempt: number, failure: CallFailed, random: () => number): number | null {
  if (!failure.retryable || attempt >= policy.attempts) return null
  if (failure.retryAfterMs !== null) return failure.retryAfterMs > MAX_RETRY_AFTER_MS ? null : failure.retryAfterMs
  return Math.round(random() * Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1)))
}

/** The wall-clock time in ms at which the exceeded rate limit ends. Null if none was exceeded, or its end is unknown. */
export function rateLimitEndMs({ kind, retryAfterMs: delayMs }: CallFailed, nowMs: number): number | null {
  return kind === 'rate-limit' && delayMs !== null ? nowMs + delayMs : null
}

/**
 * The wait in ms that `retry-after-ms` (ms) or `retry-after` (seconds, or an HTTP date) requests. Null if neither header is valid. Header
 * names are lower case.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const delayMs = parseNumber(headers['retry-after-ms'])
  if (delayMs !== null) return delayMs
  const retryAfter = headers['retry-after']
  const seconds = parseNumber(retryAfter)
  if (seconds !== null) return seconds * 1_000
  const date = retryAfter === undefined ? Number.NaN : Date.parse(retryAfter)
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs)
}

function parseNumber(text: string | undefined): number | null {
  if (text === undefined || !/^\s*\d+(\.\d+)?\s*$/.test(text)) return null
  return Number(text)
}
