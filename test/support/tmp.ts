// A temporary folder for a test, removed when the test is over. REEVE_TEST_ROOM names the parent of `tempDir`, which `npm test` sets to a
// folder in memory; the default is the system's temporary directory. `memoryDir` always tries a folder in memory.
// Names are short, because the path of a socket has a limit.
import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempDir extends AsyncDisposable {
  readonly path: string
}

/** Returns a folder in memory, where possible: for tests with very many commits, which do not simulate a crash of the machine. */
export function memoryDir(): Promise<TempDir> {
  const isWritable = ((statSync('/dev/shm', { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0
  return tempDir(isWritable ? '/dev/shm' : tmpdir())
}

/** `await using dir = await tempDir()`, or disposed of by hand in `afterEach`. Mode 0700. */
export async function tempDir(root = process.env['REEVE_TEST_ROOM'] || tmpdir()): Promise<TempDir> {
  const path = await mkdtemp(join(root, 'reeve-t-'))
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  }
}
