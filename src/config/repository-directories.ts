// Finds the directories from a working directory up to the root of its repository, without git.
// Tests: test/tables/config/instructions.test.ts, test/tables/config/skills.test.ts.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ancestorDirectories } from './untrusted-files.ts'

/**
 * Returns a directory and those above it, up to the root of its repository. Outside of a repository, returns only the directory. `start` is
 * a real path.
 */
export async function repositoryDirectories(start: string): Promise<readonly string[]> {
  const dirs = ancestorDirectories(start)
  for (const [index, dir] of dirs.entries()) {
    if (await isTopOfRepository(dir)) return dirs.slice(0, index + 1)
  }
  return [start]
}

/**
 * Whether a directory is the root of a repository. In a worktree or submodule `.git` is a file. A directory `.git` without HEAD is not a
 * repository.
 */
async function isTopOfRepository(dir: string): Promise<boolean> {
  // A directory that the user cannot search counts as one without a repository.
  const [git, head] = await Promise.all([join(dir, '.git'), join(dir, '.git', 'HEAD')].map((path) => stat(path).catch(() => null)))
  return git?.isFile() === true || (git?.isDirectory() === true && head !== null)
}
