// A trial checkout: tests whether a commit's files can be written to disk, with the user's filters, permissions and network. Leaves nothing
// behind: files and index are in a directory of reeve, and the repository does not change.
// Test: test/e2e/crew/up.test.ts.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openWorktreeAt } from './open-worktree.ts'
import { CHECKOUT_MS } from './worktree.ts'
import type { Git, GitUser } from './git.ts'

/** The maximum length of git's messages that are reported; the end is kept. */
const MAX_MESSAGE_CHARS = 600

export interface TrialCheckout extends GitUser {
  /** the git directory that all worktrees share */
  readonly repository: string
  readonly commit: string
  /** the directory for the files; after a crash the next daemon removes them */
  readonly tmpDir: string
}

/** Returns null if the checkout works; otherwise git's messages and exit code. */
export async function tryCheckout(
  git: Git,
  { commit, tmpDir, ...user }: TrialCheckout,
): Promise<{ readonly message: string; readonly code: number | null } | null> {
  const scratch = await mkdtemp(join(tmpDir, 'checkout-'))
  const dir = join(scratch, 'files')
  try {
    await mkdir(dir)
    const { files } = await openWorktreeAt(git, { ...user, dir, limitMs: CHECKOUT_MS }, user.repository)
    const call = { ...files, at: files.at && { ...files.at, index: join(scratch, 'index') } }
    const { code, stderr } = await git.tryRun(['read-tree', '--reset', '-u', commit], call)
    return code === 0 ? null : { message: messagesOf(stderr), code }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function messagesOf(stderr: Buffer): string {
  const lines = stderr
    .toString()
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
  return [...new Set(lines)].join('; ').slice(-MAX_MESSAGE_CHARS)
}
