// Reads what a provider package threw: which status, whether the same call may succeed later, how long to wait, and what
// the provider said. Knows the shapes of errors, not the packages, so that none is loaded for it.
// Test: test/tables/native-retry.test.ts.
import { isRetryableStatus, retryAfterMs } from './retry.ts'

export interface ReadFailure {
  readonly message: string
  readonly status: number | null
  readonly retryable: boolean
  readonly retryAfterMs: number | null
}

/** Longest text of a provider that is kept, in characters. */
const MAX_MESSAGE_CHARS = 2_000

/** Error words in a body that no waiting cures, whatever the status says. */
const FINAL_WORDS = ['insufficient_quota', 'invalid_request_error', 'authentication_error', 'permission_error', 'not_found_error', 'billing_error', 'request_too_large']

interface Shape {
  readonly message?: unknown
  readonly statusCode?: unknown
  readonly responseHeaders?: unknown
  readonly responseBody?: unknown
  readonly isRetryable?: unknown
  readonly type?: unknown
  readonly code?: unknown
}

/** An error without a status is a cut or unreadable stream, or a network that failed: all may pass. */
export function readFailure(error: unknown, nowMs: number): ReadFailure {
  const shape: Shape = typeof error === 'object' && error !== null ? error : { message: error }
  const status = readStatus(shape)
  const text = typeof shape.message === 'string' && shape.message !== '' ? shape.message : JSON.stringify(error) ?? 'unknown error'
  const message = (status === null ? text : `${status} ${text}`).slice(0, MAX_MESSAGE_CHARS)
  return { message, status, retryable: isRetryable(shape, status), retryAfterMs: retryAfterMs(headersOf(shape), nowMs) }
}

/** Some servers send the HTTP status as the `code` of an error inside a stream. */
function readStatus(shape: Shape): number | null {
  const value = [shape.statusCode, shape.code].find((each) => typeof each === 'number' && each >= 400 && each < 600)
  return typeof value === 'number' ? value : null
}

function isRetryable(shape: Shape, status: number | null): boolean {
  const body = typeof shape.responseBody === 'string' ? shape.responseBody : ''
  const words = [shape.type, shape.code]
  if (FINAL_WORDS.some((word) => words.includes(word) || (status === 429 && body.includes(word)))) return false
  return status === null ? isNetwork(shape) : isRetryableStatus(status)
}

/** A package's own refusal (no status, and said not to be retryable) is final; all else without a status was cut. */
function isNetwork(shape: Shape): boolean {
  return shape.isRetryable !== false
}

function headersOf(shape: Shape): Record<string, string> {
  const headers = shape.responseHeaders
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {}
}
