// Resolves the crew's repository, branch and base commit. The crew's branch is `reeve/NAME`. It is new, or was left by an earlier crew with
// the same name. Refuses a branch that is checked out anywhere. Test: test/e2e/crew/up.test.ts.
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError, type Git, type GitCall } from '../../../drivers/git/git.ts'
import { dirtyNames } from '../../../drivers/git/uncommitted-files.ts'
import { openWorktreeAt } from '../../../drivers/git/open-worktree.ts'
import { tryCheckout } from '../../../drivers/git/trial-checkout.ts'
import { checkWritable, findRepository, inRepository } from '../../../drivers/git/worktree.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { isRefName } from '../../operations/worktrees.ts'
import type { TrialCheckout } from '../../../drivers/git/trial-checkout.ts'
import type { CrewGitSpec } from '../../../kernel/model/process-spec.ts'

export interface CrewRepository {
  readonly git: CrewGitSpec
  readonly notes: readonly string[]
}

export interface RepositoryRequest {
  readonly name: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** the files that define the crew */
  readonly files: readonly string[]
  /** true: only checks, and moves no branch */
  readonly isPlan?: boolean
}

const NO_WORKTREES_HINT = 'With --no-worktrees the members work in one directory, and nothing is committed.'

/** Finds the repository. Errors: INVALID without a writable repository that has a commit; CONFLICT if the branch is in use. */
export async function findCrewRepository(git: Git, request: RepositoryRequest): Promise<CrewRepository> {
  const {
    dir: repository,
    gitDir,
    top,
    head,
    branches,
  } = await findRepository(git, request.cwd, request.env).catch((error: unknown) => {
    if (!(error instanceof KernelError) || error.code !== 'INVALID') throw error
    throw new KernelError(
      'INVALID',
      error.message.replace('a worktree needs', 'a crew needs'),
      error.details,
      `\`git init\` and a first commit make one. ${NO_WORKTREES_HINT}`,
    )
  })
  const branch = `reeve/${request.name}`
  if (!isRefName(request.name))
    throw new KernelError('INVALID', `git does not allow a branch named ${branch}`, undefined, 'Give the crew another --name.')
  const nested = branches.find((branchName) => branchName.startsWith(`${branch}/`))
  if (nested !== undefined)
    throw new KernelError(
      'CONFLICT',
      `the branch ${branch} cannot be created, because the branch ${nested} exists`,
      undefined,
      'Give the crew another --name.',
    )
  const call = inRepository({ repository, env: request.env })
  if ((await git.tryLine(['rev-parse', '--verify', '-q', 'refs/heads/reeve'], call)) !== null) {
    throw new KernelError(
      'CONFLICT',
      `the branch ${branch} cannot be created, because the branch reeve exists`,
      undefined,
      'Git allows no branch below another one: `git branch -m reeve NAME` renames the existing one.',
    )
  }
  await checkWritable(git, { repository, branch, commit: head, env: request.env }).catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error
    throw new KernelError(
      'INVALID',
      `no worktree of ${repository} can be created: ${error.message}`,
      undefined,
      `The user of the daemon must be able to write there. ${NO_WORKTREES_HINT}`,
    )
  })
  const start = branches.includes(branch)
    ? await continueBranch(git, { call, branch, head, isPlan: request.isPlan ?? false })
    : { base: head, notes: [] }
  return {
    git: { repository, branch, base: start.base },
    notes: [...start.notes, ...(start.base === head ? await uncommittedNote(git, { repository, gitDir, top }, request) : [])],
  }
}

/** Tries one real checkout, so that an error appears before the crew starts. Errors: INVALID or DISK_FULL, with git's message. */
export async function checkCheckout(git: Git, trial: TrialCheckout): Promise<void> {
  const failure = await tryCheckout(git, trial).catch((error: NodeJS.ErrnoException) => {
    if (!(error instanceof GitError) && error.code === undefined) throw error
    return { message: error.message, code: null }
  })
  if (!failure) return
  const { message: gitMessage, code } = failure
  const message = `no worktree of ${trial.repository} can be checked out: ${gitMessage}${code === null ? '' : ` (git ended with ${code})`}`
  if (/No space left on device|Disk quota exceeded|ENOSPC|EDQUOT/.test(gitMessage))
    throw new KernelError('DISK_FULL', message, undefined, `Each worker has a worktree of its own. ${NO_WORKTREES_HINT}`)
  throw new KernelError(
    'INVALID',
    message,
    undefined,
    `A filter of the repository may need a program that is not installed, or not in PATH, such as git-lfs. ${NO_WORKTREES_HINT}`,
  )
}

/**
 * The base commit for an existing branch of a crew. A branch with unmerged commits is continued at its last commit. Any other branch is
 * moved to `head`.
 */
async function continueBranch(
  git: Git,
  { call, branch, head, isPlan }: { readonly call: GitCall; readonly branch: string; readonly head: string; readonly isPlan: boolean },
): Promise<{ readonly base: string; readonly notes: readonly string[] }> {
  const [tip = '', checkedOutAt = ''] = (
    await git.line(['for-each-ref', '--format=%(objectname)%0a%(worktreepath)', `refs/heads/${branch}`], call)
  ).split('\n')
  if (checkedOutAt !== '')
    throw new KernelError(
      'CONFLICT',
      `the branch ${branch} is checked out in ${checkedOutAt}`,
      undefined,
      'Give the crew another --name, or check out another branch there.',
    )
  if (tip === head) return { base: head, notes: [] }
  if ((await git.tryLine(['merge-base', '--is-ancestor', tip, head], call)) !== null) {
    if (!isPlan) await git.run(['update-ref', '-m', 'reeve: a crew starts', `refs/heads/${branch}`, head, tip], call)
    return { base: head, notes: [] }
  }
  const ahead = await git.line(['rev-list', '--count', `${head}..${tip}`], call)
  return {
    base: tip,
    notes: [`the crew continues from ${branch}, which has ${ahead} ${ahead === '1' ? 'commit' : 'commits'} not in your checkout`],
  }
}

const MAX_NAMED_PATHS = 3

/** Names the files that the crew's worktrees lack, except those that define the crew. */
async function uncommittedNote(
  git: Git,
  { repository, gitDir, top }: { readonly repository: string; readonly gitDir: string; readonly top: string },
  { env, files }: RepositoryRequest,
): Promise<readonly string[]> {
  const tree = await openWorktreeAt(git, { dir: top, repository, env }, gitDir)
  const changedPaths = await dirtyNames(git, tree).catch((error: unknown) => {
    if (error instanceof GitError) return []
    throw error
  })
  // Git names real paths. A file that is gone meanwhile is not among them.
  const ownFiles = new Set(await Promise.all(files.map((file) => realpath(file).catch(() => file))))
  const otherPaths = changedPaths.filter((path) => !ownFiles.has(join(top, path)))
  if (otherPaths.length === 0) return []
  const shown = otherPaths.slice(0, MAX_NAMED_PATHS)
  const more = otherPaths.length - shown.length
  return [`uncommitted here, so not among the crew's files: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`]
}
