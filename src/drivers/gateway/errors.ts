// Creates the gateway's own error responses, in the wire format of the client's provider, so that the client shows the message to its user.
// The status and the type of an error decide whether a client retries. Test: test/tables/drivers/gateway/errors.test.ts.
import type { FormatName } from './formats.ts'

/**
 * The kinds of errors.
 *
 * `token`: the token is missing or wrong.
 * `unknown`: the path is unknown, or this process may not use it.
 * `large`: the request is too large.
 * `budget`: reeve ends the process, so the client should not retry.
 * `wait`: the call cannot begin yet; the client should retry.
 * `unreachable`: the provider does not answer.
 * `failed`: a failure of reeve itself.
 */
export type GatewayErrorKind = 'token' | 'unknown' | 'large' | 'budget' | 'wait' | 'unreachable' | 'failed'

/** An HTTP status, and the error type in each format. */
interface ErrorRow {
  readonly status: number
  readonly anthropic: string
  readonly openai: string
  readonly gemini: string
}

// After 400, all clients except one give up. After 429, 500 and 502, all retry. docs/reference/gateway.md has the measurements.
const ERROR_ROWS: Readonly<Record<GatewayErrorKind, ErrorRow>> = {
  token: { status: 401, anthropic: 'authentication_error', openai: 'invalid_api_key', gemini: 'UNAUTHENTICATED' },
  unknown: { status: 404, anthropic: 'not_found_error', openai: 'not_found', gemini: 'NOT_FOUND' },
  large: { status: 413, anthropic: 'request_too_large', openai: 'request_too_large', gemini: 'INVALID_ARGUMENT' },
  budget: { status: 400, anthropic: 'invalid_request_error', openai: 'budget_exceeded', gemini: 'FAILED_PRECONDITION' },
  wait: { status: 429, anthropic: 'rate_limit_error', openai: 'rate_limit_exceeded', gemini: 'RESOURCE_EXHAUSTED' },
  failed: { status: 500, anthropic: 'api_error', openai: 'server_error', gemini: 'INTERNAL' },
  unreachable: { status: 502, anthropic: 'api_error', openai: 'server_error', gemini: 'UNAVAILABLE' },
}

export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Creates an error response. `retryAfterS`: the client should retry after this many whole seconds. */
export function createErrorAnswer(format: FormatName, kind: GatewayErrorKind, message: string, retryAfterS?: number): ErrorAnswer {
  const { status, ...types } = ERROR_ROWS[kind]
  const retry = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
  return {
    status,
    headers: { 'content-type': 'application/json', ...retry },
    body: JSON.stringify(bodyOf(format, { status, types, message, retryAfterS })),
  }
}

interface AnswerParts {
  readonly status: number
  readonly types: Omit<ErrorRow, 'status'>
  readonly message: string
  readonly retryAfterS: number | undefined
}

function bodyOf(format: FormatName, { status, types, message, retryAfterS }: AnswerParts): unknown {
  if (format === 'anthropic') return { type: 'error', error: { type: types.anthropic, message } }
  if (format !== 'gemini')
    return { error: { message, type: status === 429 ? 'requests' : 'invalid_request_error', param: null, code: types.openai } }
  const details =
    retryAfterS === undefined ? {} : { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterS}s` }] }
  return { error: { code: status, message, status: types.gemini, ...details } }
}
