// One daemon per state directory: an exclusive transaction on lock.db, held for life.
// The system gives it back when the holder ends in whatever way, so that it is never stale. Nothing may open lock.db through
// `fs`: closing such a descriptor would drop the lock (a rule of POSIX locks). Test: test/processes/store-faults.test.ts.
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../kernel/errors.ts'
import { storeError } from './errors.ts'

/** Held until it is disposed or the process ends. */
export type Lock = AsyncDisposable

/** Takes the state directory for this process. Errors: `STORE_LOCKED`, `READ_ONLY`, `DISK_FULL`. */
export async function acquireLock(dir: string): Promise<Lock> {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const db = holdExclusive(join(dir, 'lock.db'))
    return { async [Symbol.asyncDispose]() { db.close() } }
  } catch (error) {
    throw lockError(error, dir)
  }
}

function holdExclusive(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  try {
    db.exec('BEGIN EXCLUSIVE')
    chmodSync(file, 0o600)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function lockError(cause: unknown, dir: string): KernelError {
  const error = storeError(cause, `The lock of ${dir}`)
  if (error.code !== 'STORE_LOCKED') return error
  return new KernelError('STORE_LOCKED', `Another daemon owns ${dir}.`, { dir })
}
