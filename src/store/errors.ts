// What SQLite and the file system say, in the words of the one table of errors; and the one way to report damage.
// Everything that the store throws goes through `storeErrors`. Test: test/tables/store-errors.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { ErrorCode } from '../kernel/errors.ts'

/** SQLite's primary result codes, the low byte of `errcode`. */
const PRIMARY: Readonly<Record<number, ErrorCode>> = {
  5: 'STORE_LOCKED', // BUSY
  6: 'STORE_LOCKED', // LOCKED
  8: 'READ_ONLY', // READONLY
  10: 'DISK_FULL', // IOERR while writing: ENOSPC beside the data file, EDQUOT, EFBIG, EIO
  11: 'STORE_DAMAGED', // CORRUPT
  13: 'DISK_FULL', // FULL
  14: 'READ_ONLY', // CANTOPEN
  26: 'STORE_DAMAGED', // NOTADB
}

/** Extended codes that say something else than their low byte: what could not be read is damaged. */
const EXTENDED: Readonly<Record<number, ErrorCode>> = {
  266: 'STORE_DAMAGED', // IOERR_READ
  522: 'STORE_DAMAGED', // IOERR_SHORT_READ
  3850: 'READ_ONLY', // IOERR_LOCK: a file system without locks
  8202: 'STORE_DAMAGED', // IOERR_DATA
  8458: 'STORE_DAMAGED', // IOERR_CORRUPTFS
}

const FILE_SYSTEM: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL', EDQUOT: 'DISK_FULL', EFBIG: 'DISK_FULL',
  EACCES: 'READ_ONLY', EPERM: 'READ_ONLY', EROFS: 'READ_ONLY', ENOTDIR: 'READ_ONLY', EEXIST: 'READ_ONLY', ENAMETOOLONG: 'READ_ONLY',
  ERR_OUT_OF_RANGE: 'STORE_DAMAGED', // an integer in a row that no JavaScript number holds: the store never writes one
  ERR_INVALID_STATE: 'UNAVAILABLE', // the database is closed
}

function codeFor(error: Error & { code?: unknown; errcode?: unknown }): ErrorCode {
  if (typeof error.errcode === 'number') return EXTENDED[error.errcode] ?? PRIMARY[error.errcode & 0xff] ?? 'INTERNAL'
  return FILE_SYSTEM[String(error.code)] ?? 'INTERNAL'
}

/** The error as a `KernelError` with `doing` and the cause's own words; one that is a `KernelError` already stays as it is. */
export function storeError(cause: unknown, doing: string): KernelError {
  if (cause instanceof KernelError) return cause
  const raw = cause instanceof Error ? cause : new Error(String(cause))
  const sqlite = (raw as { errcode?: unknown }).errcode
  const details = typeof sqlite === 'number' ? { sqlite } : undefined
  const error = new KernelError(codeFor(raw), `${doing}: ${raw.message}`, details)
  error.cause = raw
  return error
}

/** Where damage is. */
export interface Place {
  readonly table: 'meta' | 'processes' | 'places' | 'journal' | 'blobs' | 'tombstones' | 'kept' | 'spenders' | 'spent'
  readonly uuid?: string
  readonly seq?: number
  readonly cursor?: number
  readonly hash?: string
}

/** Damage is never skipped: this names the table, the process and the fact. */
export function damaged(place: Place, what: string): KernelError {
  const { table, ...rest } = place
  const where = Object.entries(rest).map(([name, value]) => ` ${name === 'uuid' ? 'process' : name} ${value}`)
  return new KernelError('STORE_DAMAGED', `${table}${where.join('')}: ${what}`, { ...place })
}
