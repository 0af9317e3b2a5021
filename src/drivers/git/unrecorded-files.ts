// Counts the files of a worktree that differ from its newest record, or from its commit. Also counts the commits that no other branch has.
// Only reads: a process may work in the worktree meanwhile, so it takes no lock. The caller limits the time.
// Test: test/e2e/lifecycle/stakes.test.ts.
import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ownGitEnv, splitNames } from './git.ts'
import { openWorktree } from './open-worktree.ts'
import { dirtyNames, untrackedRepositories } from './uncommitted-files.ts'
import { inRepository } from './worktree.ts'
import type { Git, GitCall, GitUser } from './git.ts'

export interface FileCounts {
  readonly files: number
  /** lines of text that were added; binary files have none */
  readonly added: number
  readonly removed: number
}

/** Larger new files count without their lines. */
const MAX_READ_BYTES = 1_000_000
/** The largest number of new files whose lines are counted. */
const MAX_READ_FILES = 200
/** The name of a record's index file, with the number of its writer. */
const INDEX = /^index-(\d+)$/
const NUMSTAT = ['diff', '--numstat', '-z', '--no-renames', '--no-ext-diff', '--no-textconv', '--ignore-submodules=all']

/** Counts the files that differ from the newest record. Null if there is no record. */
export async function countUnrecorded(
  git: Git,
  { dir, records, env, network }: GitUser & { readonly dir: string; readonly records: string },
): Promise<FileCounts | null> {
  // A missing directory has no record.
  const names = await readdir(records).catch(() => [])
  const newest = Math.max(-1, ...names.map((name) => Number(INDEX.exec(name)?.[1] ?? -1)))
  if (newest < 0) return null
  const at = { gitDir: records, workTree: dir, index: join(records, `index-${newest}`) }
  const call: GitCall = { cwd: dir, env: ownGitEnv(env), at, ...(network && { network }) }
  const [changed, untracked] = await Promise.all([git.run(NUMSTAT, call), git.run(['ls-files', '-z', '-o', '--exclude-standard'], call)])
  return total([...numstatOf(changed), ...(await readNewFiles(dir, splitNames(untracked)))])
}

/** Counts the files that differ from the commit that is checked out. Errors: `GitError` if the worktree is gone. */
export async function countUncommitted(git: Git, at: GitUser & { readonly dir: string; readonly repository: string }): Promise<FileCounts> {
  const tree = await openWorktree(git, at)
  const names = await dirtyNames(git, tree, await untrackedRepositories(git, tree))
  const changed = numstatOf(await git.run([...NUMSTAT, 'HEAD'], tree.files))
  const known = new Set(changed.map(({ name }) => name))
  const others = names.filter((name) => !known.has(name)).map((name) => Buffer.from(name))
  return total([...changed, ...(await readNewFiles(at.dir, others))])
}

/**
 * Counts the commits of a branch that no tag, remote or other branch has; 0 if the branch is gone. `below`: patterns of branches that do
 * not count, because they belong to this one.
 */
export async function countUnmerged(
  git: Git,
  { branch, below = [], ...at }: GitUser & { readonly repository: string; readonly branch: string; readonly below?: readonly string[] },
): Promise<number> {
  const others = [...[branch, ...below].map((name) => `--exclude=${name}`), '--branches', '--tags', '--remotes']
  const found = await git.tryLine(['rev-list', '--count', `refs/heads/${branch}`, '--not', ...others], inRepository(at))
  return Number(found ?? 0)
}

interface ChangedFile {
  readonly name: string
  readonly added: number
  readonly removed: number
}

function numstatOf(output: Buffer): ChangedFile[] {
  return splitNames(output).map((entry) => {
    const [added = '', removed = '', ...name] = entry.toString().split('\t')
    // Binary files have a dash.
    return { name: name.join('\t'), added: Number(added) || 0, removed: Number(removed) || 0 }
  })
}

async function readNewFiles(dir: string, names: readonly Buffer[]): Promise<ChangedFile[]> {
  return Promise.all(
    names.map(async (name, index) => ({
      name: name.toString(),
      added: index < MAX_READ_FILES ? await countLines(Buffer.concat([Buffer.from(`${dir}/`), name])) : 0,
      removed: 0,
    })),
  )
}

/** Counts the lines of a small text file; 0 for any other file. */
async function countLines(path: Buffer): Promise<number> {
  // A file that is gone or unreadable has no lines to count.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(() => null)
  if (handle === null) return 0
  try {
    const stat = await handle.stat()
    if (!stat.isFile() || stat.size > MAX_READ_BYTES) return 0
    const content = await handle.readFile()
    if (content.includes(0)) return 0
    const text = content.toString('latin1')
    return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  } finally {
    await handle.close()
  }
}

function total(files: readonly ChangedFile[]): FileCounts {
  return {
    files: files.length,
    added: files.reduce((sum, { added }) => sum + added, 0),
    removed: files.reduce((sum, { removed }) => sum + removed, 0),
  }
}
