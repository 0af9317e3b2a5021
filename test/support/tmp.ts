// A folder of its own for a test, removed when the test is over.
// Folders lie under the system's temporary directory and have short names, so that a socket fits inside.
import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempDir extends AsyncDisposable {
  readonly path: string
}

/** In memory, where there is such a place: for very many commits, in tests that let programs die and no machine. */
export function memoryDir(): Promise<TempDir> {
  const isThere = ((statSync('/dev/shm', { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0
  return tempDir(isThere ? '/dev/shm' : tmpdir())
}

/** `await using dir = await tempDir()`; or dispose of it by hand in `afterEach`. Mode 0700. */
export async function tempDir(root = tmpdir()): Promise<TempDir> {
  const path = await mkdtemp(join(root, 'reeve-t-'))
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  }
}
