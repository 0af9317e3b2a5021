// Finds new work in a worktree: uncommitted files, and commits on top of its branch's base. Must never change the worktree or its
// branch. Test: test/e2e/worktree/worktree.test.ts.
import { dirtyNames, untrackedRepositories } from './uncommitted-files.ts'
import { openWorktree } from './open-worktree.ts'
import type { Git, GitUser } from './git.ts'

/** The maximum number of files that are named. */
const MAX_NAMED = 100

export interface UnsavedChanges {
  /** the number of commits on top of the base */
  readonly commits: number
  /** the number of uncommitted files */
  readonly count: number
  /** the names of the first uncommitted files */
  readonly files: string[]
}

/** Finds the changes in a worktree. Errors: `GitError` if the worktree is gone or its `.git` was replaced. */
export async function findUnsavedChanges(
  git: Git,
  { base, branch, ...at }: GitUser & { readonly dir: string; readonly repository: string; readonly branch: string; readonly base: string },
): Promise<UnsavedChanges> {
  const tree = await openWorktree(git, at)
  const names = await dirtyNames(git, tree, await untrackedRepositories(git, tree))
  const commits = Number(await git.line(['rev-list', '--count', `${base}..refs/heads/${branch}`], tree.refs))
  return { commits, count: names.length, files: names.slice(0, MAX_NAMED) }
}
