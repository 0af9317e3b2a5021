// Translates errors of SQLite and the file system into the codes of the error table, and reports damage. Every error that the
// store throws goes through `storeError`. Test: test/tables/store/errors.test.ts.
import { KernelError } from '../kernel/model/errors.ts'
import type { ErrorCode } from '../kernel/model/errors.ts'

/** Error codes by SQLite's primary result codes, the low byte of `errcode`. */
const CODE_BY_PRIMARY_RESULT: Readonly<Record<number, ErrorCode>> = {
  5: 'STORE_LOCKED', // BUSY
  6: 'STORE_LOCKED', // LOCKED
  8: 'READ_ONLY', // READONLY
  10: 'DISK_FAILED', // IOERR while writing: EIO; also EDQUOT and EFBIG, which only the file system distinguishes (`explainWrite`)
  11: 'STORE_DAMAGED', // CORRUPT
  13: 'DISK_FULL', // FULL
  14: 'READ_ONLY', // CANTOPEN
  26: 'STORE_DAMAGED', // NOTADB
}

/** Error codes by extended result codes whose meaning differs from their low byte. Unreadable data counts as damaged. */
const CODE_BY_EXTENDED_RESULT: Readonly<Record<number, ErrorCode>> = {
  266: 'STORE_DAMAGED', // IOERR_READ
  522: 'STORE_DAMAGED', // IOERR_SHORT_READ
  3850: 'READ_ONLY', // IOERR_LOCK: a file system without locks
  8202: 'STORE_DAMAGED', // IOERR_DATA
  8458: 'STORE_DAMAGED', // IOERR_CORRUPTFS
}

const CODE_BY_SYSTEM_ERROR: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EFBIG: 'DISK_FULL',
  EIO: 'DISK_FAILED',
  EACCES: 'READ_ONLY',
  EPERM: 'READ_ONLY',
  EROFS: 'READ_ONLY',
  ENOTDIR: 'READ_ONLY',
  EEXIST: 'READ_ONLY',
  ENAMETOOLONG: 'READ_ONLY',
  ERR_OUT_OF_RANGE: 'STORE_DAMAGED', // an integer in a row that is too large for a JavaScript number: the store never writes one
  ERR_INVALID_STATE: 'UNAVAILABLE', // the database is closed
}

/** Hints for system errors for which the usual hint of the error code does not fit. */
const HINT_BY_SYSTEM_ERROR: Readonly<Record<string, string>> = {
  EDQUOT: 'Your quota is used up: free some space, or ask for more. Held processes resume automatically.',
  EFBIG:
    'A file would exceed its allowed size. Raise the limit (`ulimit -f`), or use a file system for larger files. Held processes resume automatically.',
}

function codeFor(error: Error & { code?: unknown; errcode?: unknown }): ErrorCode {
  if (typeof error.errcode === 'number')
    return CODE_BY_EXTENDED_RESULT[error.errcode] ?? CODE_BY_PRIMARY_RESULT[error.errcode & 0xff] ?? 'INTERNAL'
  return CODE_BY_SYSTEM_ERROR[String(error.code)] ?? 'INTERNAL'
}

/** Returns the error as a `KernelError` whose message begins with `operation`. A `KernelError` is returned unchanged. */
export function storeError(cause: unknown, operation: string): KernelError {
  if (cause instanceof KernelError) return cause
  const raw = cause instanceof Error ? cause : new Error(String(cause))
  const sqlite = (raw as { errcode?: unknown }).errcode
  const details = typeof sqlite === 'number' ? { sqlite } : undefined
  const error = new KernelError(
    codeFor(raw),
    `${operation}: ${raw.message}`,
    details,
    HINT_BY_SYSTEM_ERROR[String((raw as { code?: unknown }).code)],
  )
  error.cause = raw
  return error
}

/**
 * Replaces a failed write's error by the system's own error, which SQLite does not pass on: `tryWrite` writes a file and throws that
 * error.
 */
export function explainWrite(error: unknown, tryWrite: () => void): unknown {
  if (!(error instanceof KernelError) || error.code !== 'DISK_FAILED') return error
  try {
    tryWrite()
    return error
  } catch (cause) {
    return storeError(cause, error.message)
  }
}

/** The location of damage in the store. */
export interface DamageLocation {
  readonly table: 'meta' | 'processes' | 'places' | 'journal' | 'blobs' | 'tombstones' | 'kept' | 'spenders' | 'spent' | 'log' | 'identity'
  readonly uuid?: string
  readonly seq?: number
  readonly cursor?: number
  readonly hash?: string
  /** the number of the frame in SQLite's WAL */
  readonly frame?: number
  readonly byte?: number
}

/** Creates the error for damage. Its message names the table, the process and the fact, or the position in a file. */
export function damageError(location: DamageLocation, what: string): KernelError {
  const { table, ...position } = location
  const where = Object.entries(position).map(([name, value]) => ` ${name === 'uuid' ? 'process' : name} ${value}`)
  return new KernelError('STORE_DAMAGED', `${table}${where.join('')}: ${what}`, { ...location })
}
