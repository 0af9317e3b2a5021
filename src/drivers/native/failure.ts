// Reads what a provider package threw: why the call failed, whether the same call may succeed later, how long to wait,
// and what the provider said. Knows the shapes and words of errors, not the packages, so that none is loaded for it.
// Tests: test/tables/native-retry.test.ts, test/e2e/native-wire-errors.test.ts.
import type { FailureKind } from './model.ts'
import { resetInHeaders, resetInWords } from '../limit-reset.ts'
import { isRetryableStatus, retryAfterMs } from './retry.ts'

export interface ReadFailure {
  readonly kind: FailureKind
  readonly message: string
  readonly status: number | null
  readonly retryable: boolean
  readonly retryAfterMs: number | null
}

/** Longest text of a provider that is kept, in characters. */
const MAX_MESSAGE_CHARS = 2_000
/** Of a body that is no error as documented, in characters. */
const MAX_BODY_CHARS = 300

/** What providers say, in the order in which it is looked for. Matched against error codes and messages together. */
const WORDS: readonly (readonly [kind: FailureKind, pattern: RegExp])[] = [
  ['auth', /insufficient_quota|billing_error|authentication_error|permission_error|invalid_api_key|credit balance is too low|insufficient (balance|credits?)|enable billing|API key (not valid|expired)|incorrect API key/i],
  // A limit on tokens per minute that one request alone exceeds, of all rate limits.
  ['too-long', /request too large for /i],
  ['rate-limit', /rate_limit|rate limit|too many requests|resource_exhausted|throttl/i],
  ['too-long', /context_(length|window)_exceeded|exceed_context_size|request_too_large|request payload size exceeds/i],
  ['too-long', /(prompt|input) (is |was )?too (long|large)|maximum (context|prompt|input|sequence) length|(context|maximum) allowed input length/i],
  ['too-long', /exceed\w*[^.\n]{0,60}context (length|size|window|limit)|context (length|size|window|limit)[^.\n]{0,40}exceed|(greater|longer|larger) than[^.\n]{0,20}context (length|size|window)/i],
  ['too-long', /(input|prompt) token count[^\n]{0,60}exceeds|exceeded model token limit|token limit exceeded|reduce the length of the (messages|prompt|input)/i],
  ['not-found', /not_found_error|model_not_found|(not a valid|no such|unknown) model|model\b[^\n]{0,120}\b(does not exist|not found|is not found)/i],
  ['refused', /content_policy|content_filter|content_management_policy|invalid_prompt|safety_check|prompt was flagged/i],
  ['overloaded', /overloaded|server_error|api_error|model is (currently )?loading|service.?unavailable/i],
]

/** These are final, whatever the status says. */
const FINAL: ReadonlySet<FailureKind> = new Set(['too-long', 'auth', 'not-found', 'refused'])
/** Error types for a request that is wrong in itself. */
const BAD_REQUEST = /invalid_request|bad_request|BadRequest|unprocessable|INVALID_ARGUMENT|FAILED_PRECONDITION|OUT_OF_RANGE/
/** Refusals of the packages themselves: the request was never sent. */
const OWN_REFUSALS: ReadonlySet<unknown> = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidArgumentError', 'AI_InvalidPromptError', 'AI_LoadAPIKeyError', 'AI_LoadSettingError'])

interface Shape {
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

/** An error without a status is a cut or unreadable stream, or a network that failed: all may pass. */
export function readFailure(error: unknown, nowMs: number): ReadFailure {
  const shape: Shape = typeof error === 'object' && error !== null ? error : { message: error }
  const said = readBody(shape)
  const status = readStatus(shape)
  const text = said.message ?? (typeof shape.message === 'string' && shape.message !== '' ? shape.message : JSON.stringify(error) ?? 'unknown error')
  const codes = [shape.type, shape.code, ...said.codes].filter((each) => typeof each === 'string').join(' ')
  const isOwn = status === null && (shape.isRetryable === false || OWN_REFUSALS.has(shape.name))
  const kind = isOwn ? 'other' : readKind(status, `${codes} ${text}`)
  return {
    kind,
    message: (status === null ? text : `${status} ${text}`).slice(0, MAX_MESSAGE_CHARS),
    status,
    retryable: !isOwn && !FINAL.has(kind) && (status === null ? !BAD_REQUEST.test(codes) : isRetryableStatus(status) || kind === 'rate-limit' || kind === 'overloaded'),
    retryAfterMs: retryAfterMs(headersOf(shape), nowMs) ?? askedInWords(text, shape) ?? (kind === 'rate-limit' ? limitReset(text, shape, nowMs) : null),
  }
}

function readKind(status: number | null, words: string): FailureKind {
  const said = WORDS.find(([, pattern]) => pattern.test(words))?.[0]
  // A server in trouble may say anything; only its word on the context is to be believed.
  if (said !== undefined && (status === null || status < 500 || said === 'too-long')) return said
  if (status === null) return BAD_REQUEST.test(words) ? 'other' : 'cut'
  if (status === 401 || status === 402 || status === 403) return 'auth'
  if (status === 404) return 'not-found'
  if (status === 413) return 'too-long'
  if (status === 429) return 'rate-limit'
  return isRetryableStatus(status) ? 'overloaded' : 'other'
}

/** Some servers send the HTTP status as the `code` of an error inside a stream. */
function readStatus(shape: Shape): number | null {
  const value = [shape.statusCode, Number(shape.code)].find((each) => typeof each === 'number' && each >= 400 && each < 600)
  return typeof value === 'number' ? value : null
}

interface Said {
  readonly message: string | null
  readonly codes: readonly unknown[]
}

/** The packages know the errors of one format each; proxies and small servers answer with others. */
function readBody(shape: Shape): Said {
  if (typeof shape.responseBody !== 'string' || shape.responseBody.trim() === '') return fromError(shape.data)
  try {
    const body: unknown = JSON.parse(shape.responseBody)
    return fromError(Array.isArray(body) ? body[0] : body)
  } catch {
    const plain = shape.responseBody.replaceAll(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ').trim()
    return { message: plain.slice(0, MAX_BODY_CHARS), codes: [] }
  }
}

function fromError(body: unknown): Said {
  const outer = fieldsOf(body)
  if (typeof outer['error'] === 'string') return { message: outer['error'], codes: [outer['type'], outer['code']] }
  const inner = { ...fieldsOf(outer['response']), ...outer }
  const error = typeof inner['error'] === 'object' && inner['error'] !== null ? fieldsOf(inner['error']) : outer
  const said = error['message'] ?? error['detail']
  // OpenRouter passes on what the model's own host said, as a text.
  const { raw } = fieldsOf(error['metadata'])
  const message = [said, raw].flatMap((each) => (each === undefined || each === null ? [] : typeof each === 'string' ? each : JSON.stringify(each))).join(': ')
  return { message: message || null, codes: [error['type'], error['code'], error['status']] }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Gemini names the delay in the body, OpenAI inside a stream in its text: "try again in 1.5s". */
function askedInWords(text: string, shape: Shape): number | null {
  const body = typeof shape.responseBody === 'string' ? shape.responseBody : JSON.stringify(shape.data ?? null)
  const found = /"retryDelay":\s*"(\d+(?:\.\d+)?)(s)"/.exec(body) ?? /try again in (\d+(?:\.\d+)?)\s*(ms|s)\b/i.exec(text)
  return found === null ? null : Math.ceil(Number(found[1]) * (found[2] === 'ms' ? 1 : 1_000))
}

/** No word on the next try, but on the limit itself. */
function limitReset(text: string, shape: Shape, nowMs: number): number | null {
  const inHeaders = resetInHeaders(headersOf(shape), nowMs)
  if (inHeaders !== null) return inHeaders
  const at = resetInWords(`${text} ${typeof shape.responseBody === 'string' ? shape.responseBody : ''}`, nowMs)
  return at === null ? null : at - nowMs
}

function headersOf(shape: Shape): Record<string, string> {
  const headers = shape.responseHeaders
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {}
}
