// Makes a directory with all above it that are missing, where a person or an agent says where.
// Node's own recursive `mkdir` never ends where the system refuses a new entry with ENOENT (in /proc, say).
// Test: test/tables/make-dirs.test.ts.
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Errors: those of the system; EEXIST for what is there and is no directory. */
export async function makeDirs(dir: string): Promise<void> {
  try {
    await makeOne(dir)
  } catch (error) {
    if (!isNotFound(error) || dirname(dir) === dir) throw error
    await makeDirs(dirname(dir))
    await makeOne(dir)
  }
}

async function makeOne(dir: string): Promise<void> {
  try {
    await mkdir(dir)
  } catch (error) {
    const isThere = await stat(dir).then((found) => found.isDirectory(), () => false)
    if (!isThere) throw error
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
