// A folder of its own for a test, removed when the test is over.
// Folders lie under the system's temporary directory and have short names, so that a socket fits inside.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempDir extends AsyncDisposable {
  readonly path: string
}

/** `await using dir = await tempDir()`; or dispose of it by hand in `afterEach`. Mode 0700. */
export async function tempDir(): Promise<TempDir> {
  const path = await mkdtemp(join(tmpdir(), 'reeve-t-'))
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  }
}
