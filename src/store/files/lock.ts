// Ensures that a state directory has only one daemon: an exclusive transaction on lock.db stays open until the process ends. The
// operating system releases the lock when the process ends for any reason, so the lock is never stale. No code may open lock.db
// through `fs`, because closing such a descriptor drops the lock (a rule of POSIX locks).
// Test: test/processes/daemon/store-faults.test.ts.
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '../../kernel/model/errors.ts'
import { storeError } from '../errors.ts'

/** The lock of a state directory, until it is disposed of or the process ends. */
export type Lock = AsyncDisposable

/** Acquires the lock of a state directory, which is created if it is missing. Errors: `STORE_LOCKED`, `READ_ONLY`, `DISK_FULL`. */
export async function acquireLock(dir: string): Promise<Lock> {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const db = openExclusively(join(dir, 'lock.db'))
    return {
      async [Symbol.asyncDispose]() {
        db.close()
      },
    }
  } catch (error) {
    throw lockError(error, dir)
  }
}

function openExclusively(file: string): DatabaseSync {
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
