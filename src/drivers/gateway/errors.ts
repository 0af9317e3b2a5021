// What the gateway itself answers, in the shape of the provider whose client asks, so that it shows the words to its user.
// Owns which status and type each trouble has: what a client repeats, and what it gives up on, hangs on them.
// Test: test/tables/gateway-errors.test.ts.
import type { FormatName } from './formats.ts'

/** `budget`: refused for good; `wait`: to be asked again after a while. */
export type Trouble = 'token' | 'unknown' | 'large' | 'budget' | 'wait' | 'unreachable'

interface Row {
  readonly status: number
  readonly anthropic: string
  readonly openai: string
  readonly gemini: string
}

// 400 is given up at once by all but one, 429 and 502 are repeated by all; docs/gateway.md says what was measured.
const ROWS: Readonly<Record<Trouble, Row>> = {
  token: { status: 401, anthropic: 'authentication_error', openai: 'invalid_api_key', gemini: 'UNAUTHENTICATED' },
  unknown: { status: 404, anthropic: 'not_found_error', openai: 'not_found', gemini: 'NOT_FOUND' },
  large: { status: 413, anthropic: 'request_too_large', openai: 'request_too_large', gemini: 'INVALID_ARGUMENT' },
  budget: { status: 400, anthropic: 'invalid_request_error', openai: 'budget_exceeded', gemini: 'FAILED_PRECONDITION' },
  wait: { status: 429, anthropic: 'rate_limit_error', openai: 'rate_limit_exceeded', gemini: 'RESOURCE_EXHAUSTED' },
  unreachable: { status: 502, anthropic: 'api_error', openai: 'server_error', gemini: 'UNAVAILABLE' },
}

export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** `retryAfterS`: whole seconds after which it is worth asking again. */
export function errorAnswer(format: FormatName, trouble: Trouble, message: string, retryAfterS?: number): ErrorAnswer {
  const { status, ...types } = ROWS[trouble]
  const retry = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
  return { status, headers: { 'content-type': 'application/json', ...retry }, body: JSON.stringify(shape(format, { status, types, message, retryAfterS })) }
}

interface Said {
  readonly status: number
  readonly types: Omit<Row, 'status'>
  readonly message: string
  readonly retryAfterS: number | undefined
}

function shape(format: FormatName, { status, types, message, retryAfterS }: Said): unknown {
  if (format === 'anthropic') return { type: 'error', error: { type: types.anthropic, message } }
  if (format !== 'gemini') return { error: { message, type: status === 429 ? 'requests' : 'invalid_request_error', param: null, code: types.openai } }
  const details = retryAfterS === undefined ? {} : { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterS}s` }] }
  return { error: { code: status, message, status: types.gemini, ...details } }
}
