// The worktree in which the merge candidate of a crew's branch is verified. No agent works in it. Guarantees that the worktree is on no
// branch, and has only the files of that commit and ignored files. A damaged worktree is replaced. Each function may be interrupted and
// repeated. Its files must never be salvaged, because no agent made them. Test: test/processes/crew/verify.test.ts.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError } from '../git.ts'
import { clearStaleLocks } from '../stale-locks.ts'
import { openWorktree } from '../open-worktree.ts'
import { CHECKOUT_MS, inRepository } from '../worktree.ts'
import { pathExists } from '../../common/path-exists.ts'
import type { Git, GitUser } from '../git.ts'

/** The place of the worktree, and the process for which git works in it. */
export interface Trial extends GitUser {
  readonly repository: string
  readonly dir: string
}

/** Checks out a commit. Returns whether the worktree was created or replaced. Errors: `GitError`. */
export async function openTrial(git: Git, trial: Trial, commit: string): Promise<boolean> {
  if ((await pathExists(trial.dir)) && (await checkOut(git, trial, commit).then(() => true, isGitError))) return false
  await dropTrial(git, trial)
  const call = inRepository({ ...trial, limitMs: CHECKOUT_MS })
  await git.run(['worktree', 'add', '-q', '--detach', ...(trial.programs === true ? [] : ['--no-checkout']), trial.dir, commit], call)
  if (trial.programs !== true) await checkOut(git, trial, commit)
  return true
}

/** Removes the worktree. Errors: `GitError`. */
export async function dropTrial(git: Git, trial: Trial): Promise<void> {
  if (!(await pathExists(trial.repository))) return rm(trial.dir, { recursive: true, force: true })
  await git.tryLine(['worktree', 'remove', '--force', '--force', trial.dir], inRepository({ ...trial, limitMs: CHECKOUT_MS }))
  await rm(trial.dir, { recursive: true, force: true, maxRetries: 2 })
}

async function checkOut(git: Git, trial: Trial, commit: string): Promise<void> {
  const tree = await openWorktree(git, { ...trial, limitMs: CHECKOUT_MS })
  await clearStaleLocks([join(tree.gitDir, 'index.lock'), join(tree.gitDir, 'HEAD.lock')])
  await git.run(['update-ref', '--no-deref', '-m', 'reeve: to be verified', 'HEAD', commit], tree.refs)
  await git.run(['read-tree', '--reset', '-u', commit], tree.files)
  await git.run(['clean', '-q', '-f', '-f', '-d', '--', ':/'], tree.files)
  await git.run(['read-tree', '--reset', '-u', commit], tree.files)
}

/** Keeps the files of one commit on a ref, as a commit on top of `onto`. A later worker continues with them as uncommitted files. */
export async function keepFilesOnRef(
  git: Git,
  trial: Pick<Trial, 'repository'> & GitUser,
  { files, onto, ref }: { readonly files: string; readonly onto: string; readonly ref: string },
): Promise<void> {
  const call = inRepository(trial)
  const commit = await git.line(['commit-tree', `${files}^{tree}`, '-p', onto, '-m', 'reeve: what did not verify when it was merged'], call)
  await git.run(['update-ref', ref, commit], call)
}

function isGitError(error: unknown): false {
  if (error instanceof GitError) return false
  throw error
}
