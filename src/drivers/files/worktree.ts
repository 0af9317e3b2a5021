// Worktrees of the user's repository, one per process: where one would be, how it is made, and how it goes.
// Owns that nothing is lost with one: what is not committed is salvaged to a ref first, a branch that has commits of its own stays,
// and what cannot be salvaged keeps the worktree. Must never be asked to remove one in which something still runs.
// Tests: test/processes/worktree.test.ts.
import { access, constants, realpath, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { KernelError } from '../../kernel/errors.ts'
import { GitError, userEnv } from './git.ts'
import { BASES, HANDED_OVER, innerRepositories, salvage } from './salvage.ts'
import type { Git } from './git.ts'

/** A checkout may run the user's filters, and fetch what they need. */
const CHECKOUT_MS = 600_000

type Env = Readonly<Record<string, string>>

export interface Repository {
  /** the git directory that all its worktrees share */
  readonly dir: string
  /** what is checked out where we are */
  readonly head: string
  /** the directory that we are in, from the top of the work tree; empty or with a slash at its end */
  readonly prefix: string
  /** short names of its branches below `reeve/` */
  readonly branches: readonly string[]
}

/** The repository that holds a directory. Errors: `INVALID`. */
export async function findRepository(git: Git, cwd: string, env: Env): Promise<Repository> {
  const call = { cwd, env: userEnv(env) }
  const found = await git.line(['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-common-dir', '--show-prefix'], call).catch((error: unknown) => {
    if (error instanceof GitError) throw new KernelError('INVALID', `a worktree needs a git repository, and ${cwd} is not in the work tree of one: ${error.message}`)
    if (error instanceof KernelError && error.code === 'COMMAND_NOT_FOUND') throw new KernelError('INVALID', 'a worktree needs git, and it is not installed')
    throw error
  })
  const [, dir = '', prefix = ''] = found.split('\n')
  const head = await git.maybe(['rev-parse', '--verify', '-q', 'HEAD^{commit}'], call)
  if (head === null) throw new KernelError('INVALID', `the repository of ${cwd} has no commit yet, so that no worktree can begin at one: make a commit first`)
  return { dir, head, prefix, branches: await branchesOf(git, dir, call) }
}

/** Where a worktree could begin: the first of these commits that is still there. Errors: `INVALID`. */
export async function findBase(git: Git, { repository, commits, env }: { readonly repository: string; readonly commits: readonly string[]; readonly env: Env }): Promise<{ readonly base: string; readonly branches: readonly string[] }> {
  if (!(await isThere(repository))) throw new KernelError('INVALID', `the repository ${repository} is gone`)
  const call = { cwd: repository, env: userEnv(env) }
  for (const base of commits) {
    if ((await git.maybe([`--git-dir=${repository}`, 'cat-file', '-e', `${base}^{commit}`], call)) !== null) return { base, branches: await branchesOf(git, repository, call) }
  }
  throw new KernelError('INVALID', `the commits that its worktree was at are gone from ${repository}`)
}

async function branchesOf(git: Git, repository: string, call: Call): Promise<readonly string[]> {
  const refs = await git.line([`--git-dir=${repository}`, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/reeve/'], call)
  return refs === '' ? [] : refs.split('\n')
}

/** Whether a branch could be set to a commit, and a worktree and objects be written; nothing is changed. Errors: `GitError` with what is in the way. */
export async function checkWritable(git: Git, { repository, branch, commit, env }: { readonly repository: string; readonly branch: string; readonly commit: string; readonly env: Env }): Promise<void> {
  for (const part of ['objects', 'worktrees']) {
    const dir = join(repository, part)
    const found = await stat(dir).catch(() => null)
    if (found && !found.isDirectory()) throw new GitError(`${dir} is not a directory`)
    await access(found ? dir : repository, constants.W_OK | constants.X_OK).catch((error: NodeJS.ErrnoException) => {
      throw new GitError(`${found ? dir : repository} cannot be written (${error.code})`)
    })
  }
  // Git takes its lock, and gives it back: that is as near as one comes without doing it.
  const trial = Buffer.from(`start\nupdate refs/heads/${branch} ${commit}\nprepare\nabort\n`)
  await git.run([`--git-dir=${repository}`, 'update-ref', '--stdin'], { cwd: repository, env: userEnv(env), input: trial })
}

export interface NewWorktree {
  readonly repository: string
  readonly dir: string
  readonly branch: string
  readonly base: string
  readonly env: Env
  readonly lockMs?: number
}

/** Makes it. What is there of one that was begun and not finished is made anew: nothing has worked in it. */
export async function addWorktree(git: Git, { repository, dir, branch, base, env, lockMs }: NewWorktree): Promise<void> {
  const call = { cwd: repository, env: userEnv(env), limitMs: CHECKOUT_MS, ...(lockMs === undefined ? {} : { lockMs }) }
  const where = `--git-dir=${repository}`
  if (await isThere(dir)) {
    await rm(dir, { recursive: true, force: true })
    await git.maybe([where, 'worktree', 'remove', '--force', '--force', dir], call)
  }
  // A branch that is there already, and has nothing of its own, was made by the same beginning; any other one is refused.
  const begun = await git.maybe([where, 'rev-parse', '--verify', '-q', `refs/heads/${branch}`], call)
  if (begun !== null && begun !== base) throw new GitError(`a branch named '${branch}' already exists`)
  // By itself, so that what may have to be tried again has done nothing.
  if (begun === null) await git.run([where, 'branch', '-q', '--no-track', '--', branch, base], call)
  await git.run([where, 'worktree', 'add', '-q', dir, branch], call)
}

/** What became of a worktree whose process is removed. */
export interface WorktreeEnd {
  readonly dir: string
  /** why it is still there */
  readonly kept?: string
  /** the ref that has what was not committed */
  readonly salvaged?: string
  /** a branch that stays: it has commits that no other one has */
  readonly branch?: string
}

export interface OldWorktree {
  readonly dir: string
  readonly uuid: string
  /** null: what is checked out in it */
  readonly branch: string | null
  /** the repository whose worktree it was, where that is known */
  readonly repository?: string
  readonly env: Env
  readonly lockMs?: number
}

/** Removes it. Resolves with null if there was nothing to be told of. Errors: `GitError`, when it is not known what would be lost: then it stays. */
export async function removeWorktree(git: Git, old: OldWorktree): Promise<WorktreeEnd | null> {
  const { dir, uuid, branch, env, lockMs } = old
  if (!(await isThere(dir))) return dropGone(git, old)
  const here = { cwd: dir, env: userEnv(env), ...(lockMs === undefined ? {} : { lockMs }) }
  const [top, repository = ''] = (await git.line(['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-common-dir'], here)).split('\n')
  // Without its own `.git` the question was answered by a repository above it.
  if (top !== (await realpath(dir))) throw new GitError(`${dir} is no worktree any more`)
  const [inner] = await innerRepositories(git, here)
  if (inner !== undefined) return { dir, kept: `there is another repository in it, ${inner.toString()}` }
  const own = branch ?? (await git.maybe(['symbolic-ref', '-q', '--short', 'HEAD'], here))
  const salvaged = await salvage(git, here, `refs/reeve/salvage/${uuid}`)
  const there = { ...here, cwd: repository }
  await git.run([`--git-dir=${repository}`, 'worktree', 'remove', '--force', '--force', dir], there)
  const kept = own !== null && own.startsWith('reeve/') && !(await dropBranch(git, there, own)) ? own : null
  return { dir, ...(salvaged === null ? {} : { salvaged }), ...(kept === null ? {} : { branch: kept }) }
}

/** Somebody has removed the folder: only what git remembers of it is left, and its branch. */
async function dropGone(git: Git, { dir, branch, repository, env }: OldWorktree): Promise<WorktreeEnd | null> {
  if (branch === null || repository === undefined || !(await isThere(repository))) return null
  const there = { cwd: repository, env: userEnv(env) }
  // It fails where git has forgotten it already; else the branch would count as checked out.
  await git.maybe([`--git-dir=${repository}`, 'worktree', 'remove', '--force', '--force', dir], there)
  return (await dropBranch(git, there, branch)) ? null : { dir, branch }
}

type Call = Parameters<Git['run']>[1]

/** A branch whose commits others have too is of no use any more, unless it is checked out; true if it is gone. */
export async function dropBranch(git: Git, there: Call, branch: string): Promise<boolean> {
  const where = `--git-dir=${there.cwd}`
  const ref = `refs/heads/${branch}`
  const commit = await git.maybe([where, 'rev-parse', '--verify', '-q', ref], there)
  if (commit === null) return true
  const own = await git.line([where, 'rev-list', '-n', '1', commit, '--not', `--exclude=${branch}`, '--branches', '--tags', '--remotes', `--glob=${HANDED_OVER}*`, `--glob=${BASES}*`], there)
  const at = await git.line([where, 'for-each-ref', '--format=%(worktreepath)', ref], there)
  if (own !== '' || (at !== '' && (await isThere(at)))) return false
  // `git branch -d` would write the user's configuration.
  return (await git.maybe([where, 'update-ref', '-d', ref, commit], there)) !== null
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}
