// Creates a directory and its missing parents at a path that a user or an agent chose.
// Node's own recursive `mkdir` loops forever where the system refuses a new entry with ENOENT, such as in /proc.
// Test: test/tables/drivers/common/make-dirs.test.ts.
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Does nothing if the directory exists. Errors: those of `mkdir`; EEXIST if the path exists and is not a directory. */
export async function makeDirs(dir: string): Promise<void> {
  try {
    await makeDir(dir)
  } catch (error) {
    if (!isNotFound(error) || dirname(dir) === dir) throw error
    await makeDirs(dirname(dir))
    await makeDir(dir)
  }
}

async function makeDir(dir: string): Promise<void> {
  try {
    await mkdir(dir)
  } catch (error) {
    const isDirectory = await stat(dir).then(
      (found) => found.isDirectory(),
      () => false,
    )
    if (!isDirectory) throw error
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
