// Finds where the work of a process is: its worktree, or the branch of a crew. Runs git there, and makes the errors for missing work.
// Tests: test/e2e/worktree/diff.test.ts, test/e2e/worktree/merge.test.ts, test/e2e/crew/merge.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { GitError, gitUser, type Git } from '../../drivers/git/git.ts'
import type { WorkPlace } from '../../drivers/git/merge-work.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { CrewGitSpec, CrewSpec } from '../../kernel/model/process-spec.ts'
import type { WorktreeSpec } from '../../kernel/model/spec-parts.ts'
import type { RecordFact, Worktrees } from './worktrees.ts'

/** Returns the place of the work. Errors: `INVALID` if the process has none. */
export function workPlaceOf(process: Process): WorkPlace {
  const { uuid, spec, files } = process
  if (spec.crew) {
    const { repository, branch } = requireBranch(process, spec.crew)
    return { uuid, dir: null, repository, branch, ...gitUser(spec) }
  }
  const { dir, repository, branch } = requireWorktree(process)
  return { uuid, dir, repository, branch: files?.branch ?? branch, ...gitUser(spec) }
}

/** Returns the error for a process whose work is gone, or does not exist yet. */
export function nothingLeftError({ pid, files, spec: { worktree, crew } }: Process): KernelError {
  if (crew?.git)
    return new KernelError(
      'NOT_FOUND',
      `crew ${pid} no longer has the branch ${crew.git.branch}`,
      undefined,
      `\`git log --all\` lists all commits.`,
    )
  const dir = worktree?.dir ?? ''
  return files
    ? new KernelError(
        'NOT_FOUND',
        `the worktree of process ${pid} is gone (${dir}), with no commit, ref or record of its files`,
        { dir },
        'Its branch had nothing that another branch lacks: `git log --all` lists all commits.',
      )
    : new KernelError(
        'NOT_FOUND',
        `the worktree of process ${pid} has not been created yet`,
        { dir },
        'Try again when the process has started.',
      )
}

/** Runs `work` while no other job uses the worktree `dir`. Errors: `INVALID` instead of those of git. */
export async function useGitExclusively<T>(
  worktrees: Pick<Worktrees, 'useExclusively'>,
  dir: string,
  work: (git: Git) => Promise<T>,
): Promise<T> {
  return worktrees.useExclusively(dir, work).catch((error: unknown) => {
    if (error instanceof GitError) throw new KernelError('INVALID', `git cannot read the work: ${error.message}`)
    throw error
  })
}

/** Finds the newest record of a process; null if there is none. */
export async function findNewestRecord(worktrees: Pick<Worktrees, 'findRecord'>, process: Process): Promise<RecordFact | null> {
  return worktrees.findRecord(process, Infinity).catch((error: unknown) => {
    if (error instanceof KernelError && error.code === 'INVALID') return null
    throw error
  })
}

/** Returns the branch of a crew. Errors: `INVALID` if it works without a repository. */
function requireBranch({ pid }: Process, { git }: CrewSpec): CrewGitSpec {
  if (git) return git
  throw new KernelError('INVALID', `crew ${pid} works without git, so its changes are not separate from other changes`)
}

/** Returns the worktree of a process. Errors: `INVALID` if it has none. */
function requireWorktree({ pid, spec: { worktree, driver } }: Process): WorktreeSpec {
  if (worktree) return worktree
  if (driver === 'compose' || driver === 'supervisor')
    throw new KernelError(
      'INVALID',
      `process ${pid} is a ${driver === 'compose' ? 'compose run' : 'supervisor'}, which has no files of its own`,
      undefined,
      `Name one of its processes: \`reeve inspect ${pid}\` lists them.`,
    )
  throw new KernelError(
    'INVALID',
    `process ${pid} has no worktree, so its changes are not separate from other changes`,
    undefined,
    '`reeve run --worktree` gives a process a worktree of its own. `git diff` shows the changes in a shared directory.',
  )
}
