// The repetition of a failed model call: the errors after which it happens, and the wait before it.
import { expect, test } from 'vitest'
import { parseFailure } from '../../../../../src/drivers/native/models/failure.ts'
import { CallFailed } from '../../../../../src/drivers/native/models/model.ts'
import { retryAfterMs, retryDelay } from '../../../../../src/drivers/native/models/retry.ts'

const POLICY = { attempts: 3, baseMs: 100, capMs: 150 }
const NOW = Date.parse('2026-01-01T00:00:00Z')

const STATUSES: readonly (readonly [status: number, retryable: boolean])[] = [
  [400, false],
  [401, false],
  [403, false],
  [404, false],
  [408, true],
  [409, true],
  [413, false],
  [422, false],
  [429, true],
  [500, true],
  [502, true],
  [503, true],
  [529, true],
]

test.each(STATUSES)('after the status %i, a retry is allowed: %s', (statusCode, retryable) => {
  expect(parseFailure({ message: 'x', statusCode, isRetryable: true }, NOW)).toMatchObject({
    status: statusCode,
    retryable,
    message: `${statusCode} x`,
  })
})

const ERRORS: readonly (readonly [name: string, error: unknown, retryable: boolean])[] = [
  ['a network failure', { message: 'Cannot connect', isRetryable: true }, true],
  ['a body that was cut', new TypeError('terminated'), true],
  ['a stream that cannot be read', new SyntaxError('Unexpected token'), true],
  ['a request that the package itself refuses', { message: 'unsupported', isRetryable: false }, false],
  ['an overload inside the stream', { type: 'overloaded_error', message: 'x', statusCode: 529 }, true],
  ['a server error inside the stream', { type: 'server_error', message: 'x' }, true],
  ['a bad request inside the stream', { type: 'invalid_request_error', message: 'x' }, false],
  ['a status as the code of an error inside the stream', { message: 'x', code: 400 }, false],
  [
    'an exhausted account, which looks like a rate limit',
    { message: 'x', statusCode: 429, responseBody: '{"error":{"code":"insufficient_quota"}}' },
    false,
  ],
  ['a text', 'boom', true],
]

test.each(ERRORS)('after %s, a retry is allowed or not, as the table says', (_, error, retryable) => {
  expect(parseFailure(error, NOW)).toMatchObject({ retryable, message: expect.stringMatching(/./) })
})

const HEADERS: readonly (readonly [headers: Readonly<Record<string, string>>, ms: number | null])[] = [
  [{}, null],
  [{ 'retry-after': '2' }, 2_000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, null],
  [{ 'retry-after': '-1' }, 0], // Date.parse reads this as a past date, so the wait is 0
  [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1_500],
  [{ 'retry-after-ms': 'x', 'retry-after': '9' }, 9_000],
]

test.each(HEADERS)('%j asks for %s ms', (headers, ms) => {
  expect(retryAfterMs(headers, NOW)).toBe(ms)
  expect(parseFailure({ message: 'x', statusCode: 429, responseHeaders: headers }, NOW).retryAfterMs).toBe(ms)
})

const makeFailure = (facts: ConstructorParameters<typeof CallFailed>[1]): CallFailed => new CallFailed('x', facts)

test('the wait grows to its maximum, with full jitter, and there is no wait after the last attempt', () => {
  const longest = [1, 2, 3].map((attempt) => retryDelay(POLICY, attempt, makeFailure({ retryable: true }), () => 1))
  expect(longest).toEqual([100, 150, null])
  expect(retryDelay(POLICY, 1, makeFailure({ retryable: true }), () => 0)).toBe(0)
  expect(retryDelay(POLICY, 2, makeFailure({ retryable: true }), () => 0.5)).toBe(75)
})

test("the provider's own wait replaces the backoff, unless it is too long", () => {
  expect(retryDelay(POLICY, 1, makeFailure({ retryable: true, retryAfterMs: 42_000 }), () => 1)).toBe(42_000)
  expect(retryDelay(POLICY, 1, makeFailure({ retryable: true, retryAfterMs: 3_600_001 }), () => 1)).toBeNull()
  expect(retryDelay(POLICY, 3, makeFailure({ retryable: true, retryAfterMs: 1 }), () => 1)).toBeNull()
  expect(retryDelay(POLICY, 1, makeFailure({ retryable: false, retryAfterMs: 1 }), () => 1)).toBeNull()
})
