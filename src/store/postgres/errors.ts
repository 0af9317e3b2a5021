// Translates errors of PostgreSQL and of the connection into the codes of the error table. Must never pass on a password: the URL of the
// database is in no message, and an error of a URL has no cause. Test: test/tables/store/postgres/errors.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { ErrorCode } from '../../kernel/model/errors.ts'

/** Error codes by SQLSTATE. */
const CODE_BY_STATE: Readonly<Record<string, ErrorCode>> = {
  '25006': 'STORE_UNREACHABLE', // the server became a standby, which cannot write
  '40001': 'UNAVAILABLE',
  '40P01': 'UNAVAILABLE',
  '42501': 'STORE_UNSUITABLE', // missing privileges
  '42P01': 'STORE_REGRESSED', // a table of the store is missing
  '42703': 'STORE_NEWER',
  '53100': 'DISK_FULL',
  '55P03': 'UNAVAILABLE',
  '57014': 'UNAVAILABLE',
  '58030': 'DISK_FAILED',
  XX001: 'STORE_DAMAGED',
  XX002: 'STORE_DAMAGED',
}
/** Error codes by the class of the SQLSTATE. */
const CODE_BY_CLASS: Readonly<Record<string, ErrorCode>> = {
  '08': 'STORE_UNREACHABLE',
  '28': 'STORE_UNREACHABLE', // authentication
  '3D': 'STORE_UNREACHABLE', // no such database
  '53': 'STORE_UNREACHABLE', // too many connections, no memory
  '57': 'STORE_UNREACHABLE', // shutdown
}

/** The unique index over the names of living processes. */
const LIVING_NAME_INDEX = 'process_living_name'

type RawError = Error & { readonly code?: unknown; readonly severity?: unknown; readonly constraint?: unknown; readonly detail?: unknown }

/** Returns the SQLSTATE of an error that the server has sent; null for an error of the connection. */
function stateOf(error: RawError): string | null {
  return typeof error.severity === 'string' && typeof error.code === 'string' ? error.code : null
}

/**
 * Whether the server has refused the statement, so that nothing was written. After any other error the end of the statement is unknown:
 * the connection is gone, or the server ends it.
 */
export function isRefusal(error: unknown): boolean {
  const state = error instanceof Error ? stateOf(error) : null
  return state !== null && !state.startsWith('08') && !state.startsWith('57P') && state !== '40003'
}

/** Whether something exists already: a schema, a table, or a value that must be unique. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof Error && ['42P06', '42P07', '23505'].includes(stateOf(error) ?? '')
}

/** Returns the error as a `KernelError` whose message begins with `operation`. A `KernelError` is returned unchanged. */
export function postgresError(cause: unknown, operation: string): KernelError {
  if (cause instanceof KernelError) return cause
  const raw: RawError = cause instanceof Error ? cause : new Error(String(cause))
  const state = stateOf(raw)
  if (raw.constraint === LIVING_NAME_INDEX)
    return new KernelError('CONFLICT', `a living process has this name already: ${String(raw.detail)}`)
  const error = new KernelError(codeFor(raw, state), `${operation}: ${messageOf(raw)}`, state === null ? undefined : { sqlstate: state })
  error.cause = raw
  return error
}

function codeFor(raw: RawError, state: string | null): ErrorCode {
  if (state !== null) return CODE_BY_STATE[state] ?? CODE_BY_CLASS[state.slice(0, 2)] ?? 'INTERNAL'
  // Errors of the system and of the driver's connection. A defect of this code is a TypeError or a RangeError.
  return raw instanceof TypeError || raw instanceof RangeError || raw instanceof SyntaxError ? 'INTERNAL' : 'STORE_UNREACHABLE'
}

/** Node reports a failed connection to several addresses as an error without a message. */
function messageOf(raw: Error): string {
  return raw.message === '' && raw instanceof AggregateError ? raw.errors.map(String).join('; ') : raw.message
}
