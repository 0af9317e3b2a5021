// Parses the error of a provider package: its kind, whether a repeated call may succeed, the requested wait, and the message. Recognizes
// errors by their fields and texts, so that no provider package must be loaded.
// Tests: test/tables/drivers/native/models/retry.test.ts, test/processes/native/wire-errors.test.ts.
import type { FailureKind } from './model.ts'
import { findResetDelayMs, findResetTimeMs } from '../../common/rate-limit-reset.ts'
import { isRetryableStatus, retryAfterMs } from './retry.ts'
import { truncate } from '../../../kernel/util/truncate.ts'

export interface ParsedFailure {
  readonly kind: FailureKind
  readonly message: string
  /** the HTTP status; null without a response */
  readonly status: number | null
  /** true if the same call may succeed later */
  readonly retryable: boolean
  /** the wait that the provider requests, in ms; null if it requests none */
  readonly retryAfterMs: number | null
}

/** The longest message of a provider that is kept, in characters. */
const MAX_MESSAGE_CHARS = 2_000
/** The longest part of an undocumented error body that is kept, in characters. */
const MAX_BODY_CHARS = 300

/** Matches the codes and messages of providers' errors. The first match decides the kind. */
const KIND_TEXTS: readonly (readonly [kind: FailureKind, pattern: RegExp])[] = [
  [
    'auth',
    /insufficient_quota|billing_error|authentication_error|permission_error|invalid_api_key|credit balance is too low|insufficient (balance|credits?)|enable billing|API key (not valid|expired)|incorrect API key/i,
  ],
  // Gemini: the account has no quota at all, or has used up that of the day. Waiting as for a rate limit does not help.
  ['auth', /quota exceeded for metric[^\n]*\blimit: 0\b|(requests|tokens)PerDay/i],
  // A single request exceeds the limit on tokens per minute, so waiting does not help.
  ['too-long', /request too large for /i],
  ['rate-limit', /rate_limit|rate limit|too many requests|resource_exhausted|throttl/i],
  ['too-long', /context_(length|window)_exceeded|exceed_context_size|request_too_large|request payload size exceeds/i],
  [
    'too-long',
    /(prompt|input) (is |was )?too (long|large)|maximum (context|prompt|input|sequence) length|(context|maximum) allowed input length/i,
  ],
  [
    'too-long',
    /exceed\w*[^.\n]{0,60}context (length|size|window|limit)|context (length|size|window|limit)[^.\n]{0,40}exceed|(greater|longer|larger) than[^.\n]{0,20}context (length|size|window)/i,
  ],
  [
    'too-long',
    /(input|prompt) token count[^\n]{0,60}exceeds|exceeded model token limit|token limit exceeded|reduce the length of the (messages|prompt|input)/i,
  ],
  [
    'not-found',
    /not_found_error|model_not_found|(not a valid|no such|unknown) model|model\b[^\n]{0,120}\b(does not exist|not found|is not found)/i,
  ],
  ['refused', /content_policy|content_filter|content_management_policy|invalid_prompt|safety_check|prompt was flagged/i],
  ['overloaded', /overloaded|server_error|api_error|model is (currently )?loading|service.?unavailable/i],
]

/** The kinds of failure that are never retried, whatever the status. */
const NEVER_RETRIED: ReadonlySet<FailureKind> = new Set(['too-long', 'auth', 'not-found', 'refused'])
/** Matches the error types of invalid requests. */
const BAD_REQUEST = /invalid_request|bad_request|BadRequest|unprocessable|INVALID_ARGUMENT|FAILED_PRECONDITION|OUT_OF_RANGE/
/** The names of errors that the provider packages raise before they send the request. */
const UNSENT_ERRORS: ReadonlySet<unknown> = new Set([
  'AI_UnsupportedFunctionalityError',
  'AI_InvalidArgumentError',
  'AI_InvalidPromptError',
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
])

/** The fields that an error of a provider package may have. */
interface ErrorFields {
  readonly name?: unknown
  readonly message?: unknown
  readonly statusCode?: unknown
  readonly responseHeaders?: unknown
  readonly responseBody?: unknown
  readonly isRetryable?: unknown
  readonly type?: unknown
  readonly code?: unknown
  readonly data?: unknown
}

/** Parses an error. An error without a status is a cut or unreadable stream, or a network failure: a repeated call may succeed. */
export function parseFailure(error: unknown, nowMs: number): ParsedFailure {
  const fields: ErrorFields = typeof error === 'object' && error !== null ? error : { message: error }
  const body = parseBody(fields)
  const status = parseStatus(fields)
  const text =
    body.message ??
    (typeof fields.message === 'string' && fields.message !== '' ? fields.message : (JSON.stringify(error) ?? 'unknown error'))
  const codes = [fields.type, fields.code, ...body.codes].filter((each) => typeof each === 'string').join(' ')
  const isUnsent = status === null && (fields.isRetryable === false || UNSENT_ERRORS.has(fields.name))
  const kind = isUnsent ? 'other' : classify(status, `${codes} ${text}`)
  return {
    kind,
    message: truncate(status === null ? text : `${status} ${text}`, MAX_MESSAGE_CHARS),
    status,
    retryable:
      !isUnsent &&
      !NEVER_RETRIED.has(kind) &&
      (status === null ? !BAD_REQUEST.test(codes) : isRetryableStatus(status) || kind === 'rate-limit' || kind === 'overloaded'),
    retryAfterMs:
      retryAfterMs(headersOf(fields), nowMs) ??
      requestedDelayMs(text, fields) ??
      (kind === 'rate-limit' ? limitResetMs(text, fields, nowMs) : null),
  }
}

function classify(status: number | null, text: string): FailureKind {
  const kind = KIND_TEXTS.find(([, pattern]) => pattern.test(text))?.[0]
  // A server with an internal error may send any message. Only a message about the context length is believed then.
  if (kind !== undefined && (status === null || status < 500 || kind === 'too-long')) return kind
  if (status === null) return BAD_REQUEST.test(text) ? 'other' : 'cut'
  if (status === 401 || status === 402 || status === 403) return 'auth'
  if (status === 404) return 'not-found'
  if (status === 413) return 'too-long'
  if (status === 429) return 'rate-limit'
  return isRetryableStatus(status) ? 'overloaded' : 'other'
}

/** The HTTP status; null if there is none. Some servers send it as the `code` of an error inside a stream. */
function parseStatus(fields: ErrorFields): number | null {
  const value = [fields.statusCode, Number(fields.code)].find((each) => typeof each === 'number' && each >= 400 && each < 600)
  return typeof value === 'number' ? value : null
}

interface ErrorText {
  readonly message: string | null
  readonly codes: readonly unknown[]
}

/** Parses the body of the error response. Proxies and small servers send other formats than the one that the package parses. */
function parseBody(fields: ErrorFields): ErrorText {
  if (typeof fields.responseBody !== 'string' || fields.responseBody.trim() === '') return parseErrorObject(fields.data)
  try {
    const body: unknown = JSON.parse(fields.responseBody)
    return parseErrorObject(Array.isArray(body) ? body[0] : body)
  } catch {
    const plain = fields.responseBody
      .replaceAll(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
    return { message: truncate(plain, MAX_BODY_CHARS), codes: [] }
  }
}

function parseErrorObject(body: unknown): ErrorText {
  const outer = fieldsOf(body)
  if (typeof outer['error'] === 'string') return { message: outer['error'], codes: [outer['type'], outer['code']] }
  const inner = { ...fieldsOf(outer['response']), ...outer }
  const error = typeof inner['error'] === 'object' && inner['error'] !== null ? fieldsOf(inner['error']) : outer
  const text = error['message'] ?? error['detail']
  // OpenRouter passes on the message of the model's host in this field.
  const { raw } = fieldsOf(error['metadata'])
  const message = [text, raw]
    .flatMap((each) => (each === undefined || each === null ? [] : typeof each === 'string' ? each : JSON.stringify(each)))
    .join(': ')
  return { message: message || null, codes: [error['type'], error['code'], error['status'], ...quotaIds(error['details'])] }
}

/** The names of the exceeded quotas, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. Only Gemini sends them. */
function quotaIds(details: unknown): readonly unknown[] {
  const violations = Array.isArray(details) ? details.flatMap((detail) => fieldsOf(detail)['violations'] ?? []) : []
  return violations.map((violation) => fieldsOf(violation)['quotaId'])
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/**
 * The delay in ms that the provider requests before the next attempt. Gemini states it in the body. In a stream, OpenAI states it in the
 * message: "try again in 1.5s".
 */
function requestedDelayMs(text: string, fields: ErrorFields): number | null {
  const body = typeof fields.responseBody === 'string' ? fields.responseBody : JSON.stringify(fields.data ?? null)
  const match = /"retryDelay":\s*"(\d+(?:\.\d+)?)(s)"/.exec(body) ?? /try again in (\d+(?:\.\d+)?)\s*(ms|s)\b/i.exec(text)
  return match === null ? null : Math.ceil(Number(match[1]) * (match[2] === 'ms' ? 1 : 1_000))
}

/** The time in ms until the rate limit ends, from headers and texts about the limit itself. Null if none states it. */
function limitResetMs(text: string, fields: ErrorFields, nowMs: number): number | null {
  const headerDelayMs = findResetDelayMs(headersOf(fields), nowMs)
  if (headerDelayMs !== null) return headerDelayMs
  const resetTimeMs = findResetTimeMs(`${text} ${typeof fields.responseBody === 'string' ? fields.responseBody : ''}`, nowMs)
  return resetTimeMs === null ? null : resetTimeMs - nowMs
}

function headersOf(fields: ErrorFields): Record<string, string> {
  const headers = fields.responseHeaders
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {}
}
