// Worktrees of the user's repository, one per process: finds their base, creates and removes them. Guarantees that a removal loses
// nothing except ignored files. Uncommitted files are salvaged to a ref first, and a worktree whose files cannot be salvaged stays. A
// branch with commits that no other branch has stays too. The caller must never remove a worktree in which a program still runs.
// Tests: test/processes/git/worktree.test.ts.
import { access, constants, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { GitError, envOf, readEnv } from './git.ts'
import { BASE_REFS, HANDOVER_REFS, salvageTree } from './salvage.ts'
import { innerRepositories } from './uncommitted-files.ts'
import { openWorktree, repositoryOf } from './open-worktree.ts'
import { pathExists } from '../common/path-exists.ts'
import type { Git, GitCall, GitUser } from './git.ts'

/** Time limit of a checkout, which may run the user's filters and so download files. */
export const CHECKOUT_MS = 600_000

type Env = Readonly<Record<string, string>>

export interface Repository {
  /** the git directory that all its worktrees share */
  readonly dir: string
  /** the git directory of the worktree that contains the given directory */
  readonly gitDir: string
  /** the root of that worktree */
  readonly top: string
  /** the commit that is checked out there */
  readonly head: string
  /** the path of the given directory below `top`; empty, or with a slash at its end */
  readonly prefix: string
  /** short names of the repository's branches below `reeve/` */
  readonly branches: readonly string[]
}

/** Finds the repository that contains a directory. Errors: `INVALID`. */
export async function findRepository(git: Git, cwd: string, env: Env): Promise<Repository> {
  const search: GitCall = { cwd, env: readEnv(env), at: null }
  const found = await git
    .line(['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-common-dir', '--git-dir', '--show-prefix'], search)
    .catch((error: unknown) => {
      if (error instanceof GitError)
        throw new KernelError('INVALID', `a worktree needs a git repository, and ${cwd} is not in the work tree of one: ${error.message}`)
      if (error instanceof KernelError && error.code === 'COMMAND_NOT_FOUND')
        throw new KernelError('INVALID', 'a worktree needs git, which is not installed')
      throw error
    })
  const [top = '', dir = '', gitDir = '', prefix = ''] = found.split('\n')
  const head = await git.tryLine(['rev-parse', '--verify', '-q', 'HEAD^{commit}'], {
    cwd,
    env: envOf({ env }),
    at: { gitDir, commonDir: dir },
  })
  if (head === null)
    throw new KernelError('INVALID', `the repository of ${cwd} has no commit yet, so no worktree can start from one: make a commit first`)
  return { dir, gitDir, top, head, prefix, branches: await branchesOf(git, inRepository({ repository: dir, env })) }
}

/** Returns the base of calls for the objects and refs of a repository. */
export function inRepository({
  repository,
  lockMs,
  limitMs,
  ...user
}: GitUser & { readonly repository: string; readonly lockMs?: number; readonly limitMs?: number }): GitCall {
  return {
    cwd: repository,
    env: envOf(user),
    at: { gitDir: repository },
    ...(user.network && { network: user.network }),
    ...(lockMs !== undefined && { lockMs }),
    ...(limitMs !== undefined && { limitMs }),
  }
}

/** Finds the base of a new worktree: the first of these commits that still exists. Errors: `INVALID`. */
export async function findBase(
  git: Git,
  { repository, commits, env }: { readonly repository: string; readonly commits: readonly string[]; readonly env: Env },
): Promise<{ readonly base: string; readonly branches: readonly string[] }> {
  if (!(await pathExists(repository))) throw new KernelError('INVALID', `the repository ${repository} is gone`)
  const call = inRepository({ repository, env })
  for (const base of commits) {
    if ((await git.tryLine(['cat-file', '-e', `${base}^{commit}`], call)) !== null) return { base, branches: await branchesOf(git, call) }
  }
  throw new KernelError('INVALID', `the commits of its worktree are gone from ${repository}`)
}

async function branchesOf(git: Git, call: GitCall): Promise<readonly string[]> {
  const refs = await git.line(['for-each-ref', '--format=%(refname:short)', 'refs/heads/reeve/'], call)
  return refs === '' ? [] : refs.split('\n')
}

/**
 * Checks that a branch can be set to a commit, and that a worktree and objects can be written. Changes nothing. Errors: `GitError`
 * with the obstacle.
 */
export async function checkWritable(
  git: Git,
  { repository, branch, commit, env }: { readonly repository: string; readonly branch: string; readonly commit: string; readonly env: Env },
): Promise<void> {
  for (const part of ['objects', 'worktrees']) {
    const dir = join(repository, part)
    // A missing directory would be created in the repository, so that is checked instead.
    const found = await stat(dir).catch(() => null)
    if (found && !found.isDirectory()) throw new GitError(`${dir} is not a directory`)
    await access(found ? dir : repository, constants.W_OK | constants.X_OK).catch((error: NodeJS.ErrnoException) => {
      throw new GitError(`${found ? dir : repository} cannot be written (${error.code})`)
    })
  }
  // Git takes the lock of the branch and releases it. This is the closest check that changes nothing.
  const trial = Buffer.from(`start\nupdate refs/heads/${branch} ${commit}\nprepare\nabort\n`)
  await git.run(['update-ref', '--stdin'], { ...inRepository({ repository, env }), input: trial })
}

export interface NewWorktree extends GitUser {
  readonly repository: string
  readonly dir: string
  readonly branch: string
  readonly base: string
  /** maximum wait for a lock that a killed git left, in ms */
  readonly lockMs?: number
}

/** Creates a worktree. An unfinished worktree at the same path is replaced, because no process has worked in it. */
export async function addWorktree(git: Git, { branch, base, ...at }: NewWorktree): Promise<void> {
  const { dir } = at
  const call = inRepository({ ...at, limitMs: CHECKOUT_MS })
  if (await pathExists(dir)) {
    await rm(dir, { recursive: true, force: true })
    await git.tryLine(['worktree', 'remove', '--force', '--force', dir], call)
  }
  // An existing branch at the base was created by an earlier attempt. A branch at any other commit is refused.
  const existing = await git.tryLine(['rev-parse', '--verify', '-q', `refs/heads/${branch}`], call)
  if (existing !== null && existing !== base) throw new GitError(`a branch named '${branch}' already exists`)
  // A separate call creates the branch, so that a retry of the next call finds no effects of the first.
  if (existing === null) await git.run(['branch', '-q', '--no-track', '--', branch, base], call)
  if (at.programs === true) return void (await git.run(['worktree', 'add', '-q', dir, branch], call))
  await git.run(['worktree', 'add', '-q', '--no-checkout', dir, branch], call)
  const { files } = await openWorktree(git, { ...at, limitMs: CHECKOUT_MS })
  await git.run(['read-tree', '--reset', '-u', base], files)
}

/** The result of the removal of a worktree. */
export interface RemovedWorktree {
  readonly dir: string
  /** why the worktree was kept */
  readonly kept?: string
  /** the ref with the salvaged files */
  readonly salvaged?: string
  /** a branch that was kept, because it has commits that no other branch has */
  readonly branch?: string
}

export interface OldWorktree extends GitUser {
  readonly dir: string
  readonly uuid: string
  /** the branch of the worktree; null for the branch that is checked out */
  readonly branch: string | null
  /** the repository of the worktree, if known */
  readonly repository?: string
  /** maximum wait for a lock that a killed git left, in ms */
  readonly lockMs?: number
}

/**
 * Removes a worktree. Returns null if there is nothing to report. Errors: `GitError` if it is unknown what would be lost; the
 * worktree then stays.
 */
export async function removeWorktree(git: Git, old: OldWorktree): Promise<RemovedWorktree | null> {
  const { dir, uuid, branch } = old
  if (!(await pathExists(dir))) return cleanUpRemoved(git, old)
  const repository = old.repository ?? (await repositoryOf(dir))
  const tree = await openWorktree(git, { ...old, repository })
  const [inner] = await innerRepositories(git, tree)
  if (inner !== undefined) return { dir, kept: `it contains another repository, ${inner.toString()}` }
  const branchName = branch ?? (await git.tryLine(['symbolic-ref', '-q', '--short', 'HEAD'], tree.refs))
  const salvaged = await salvageTree(git, tree, `refs/reeve/salvage/${uuid}`)
  const call = inRepository({ ...old, repository })
  await git.run(['worktree', 'remove', '--force', '--force', dir], call)
  const kept = branchName !== null && branchName.startsWith('reeve/') && !(await dropBranch(git, call, branchName)) ? branchName : null
  return { dir, ...(salvaged === null ? {} : { salvaged }), ...(kept === null ? {} : { branch: kept }) }
}

/** Cleans up after a worktree's directory that was removed without reeve: removes git's record of the worktree, and its branch. */
async function cleanUpRemoved(git: Git, old: OldWorktree): Promise<RemovedWorktree | null> {
  const { dir, branch, repository } = old
  if (branch === null || repository === undefined || !(await pathExists(repository))) return null
  const call = inRepository({ ...old, repository })
  // While git has a record of the worktree, its branch counts as checked out. The call fails if there is no record.
  await git.tryLine(['worktree', 'remove', '--force', '--force', dir], call)
  return (await dropBranch(git, call, branch)) ? null : { dir, branch }
}

/** Deletes a branch whose commits other branches have too, unless it is checked out. Returns whether the branch is gone. */
export async function dropBranch(git: Git, call: GitCall, branch: string): Promise<boolean> {
  const ref = `refs/heads/${branch}`
  const commit = await git.tryLine(['rev-parse', '--verify', '-q', ref], call)
  if (commit === null) return true
  const unshared = await git.line(
    [
      'rev-list',
      '-n',
      '1',
      commit,
      '--not',
      `--exclude=${branch}`,
      '--branches',
      '--tags',
      '--remotes',
      `--glob=${HANDOVER_REFS}*`,
      `--glob=${BASE_REFS}*`,
    ],
    call,
  )
  const at = await git.line(['for-each-ref', '--format=%(worktreepath)', ref], call)
  if (unshared !== '' || (at !== '' && (await pathExists(at)))) return false
  // `update-ref` is used, because `git branch -d` would write to the user's configuration.
  return (await git.tryLine(['update-ref', '-d', ref, commit], call)) !== null
}
