// Restores a member's files after the user's command has run in them (`verify:`, `setup:`). Changes by the command are reverted, so that
// the review and the commit have the reported files; ignored files stay. While the command runs, a snapshot is in the git directory of the
// worktree. After a crash, the next open of the worktree restores this snapshot first. Must never run while the member is in a turn.
// Test: test/processes/crew/verify.test.ts.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { splitNames } from '../git.ts'
import { commitAll, copyIndex, dirtyNames, clearSkipFlags, REVIEW_SUBJECT, untrackedRepositories } from '../uncommitted-files.ts'
import type { Git } from '../git.ts'
import type { OpenWorktree } from '../open-worktree.ts'
import { ifMissing } from '../../../kernel/util/missing-file.ts'

/** maximum number of files in a result */
const MAX_NAMED = 20

/** The state of a worktree: a commit of all its files, HEAD, and the staged files. */
export interface Snapshot {
  readonly commit: string
  readonly tree: string
  readonly head: string
  /** the tree of the staged files; null during an unfinished merge */
  readonly staged: string | null
  /** the member's own branch */
  readonly branch: string
  /** the full name of the checked-out branch; null if HEAD is detached. Absent, in snapshots of older daemons: the member's own branch */
  readonly at?: string | null
}

/** The file in the git directory that has the snapshot while a command runs. */
const SNAPSHOT_FILE = 'reeve-verify'

/**
 * Takes a snapshot. Until it is restored, each open of the worktree restores it first. The worktree stays unchanged. Errors: `GitError`.
 */
export async function snapshotTree(
  git: Git,
  tree: OpenWorktree,
  { branch, ref }: { readonly branch: string; readonly ref?: string },
): Promise<Snapshot> {
  const snapshot = { ...(await readState(git, tree)), branch }
  if (ref !== undefined) await git.run(['update-ref', ref, snapshot.commit], tree.refs)
  await writeFile(join(tree.gitDir, SNAPSHOT_FILE), JSON.stringify(snapshot), { flush: true })
  return snapshot
}

/** Reverts the changes of a command during which reeve crashed. Errors: `GitError`. */
export async function restoreAfterCrash(git: Git, tree: OpenWorktree): Promise<void> {
  const text = await readFile(join(tree.gitDir, SNAPSHOT_FILE), 'utf8').catch(ifMissing(null))
  if (text === null) return
  const snapshot = parseSnapshot(text)
  if (snapshot === null) await rm(join(tree.gitDir, SNAPSHOT_FILE), { force: true })
  else await restoreSnapshot(git, tree, snapshot)
}

/** The snapshot in a text. Null if the text is incomplete, in which case the command had not begun. */
function parseSnapshot(text: string): Snapshot | null {
  try {
    return JSON.parse(text) as Snapshot
  } catch {
    // The text is incomplete.
    return null
  }
}

async function readState(git: Git, tree: OpenWorktree): Promise<Omit<Snapshot, 'branch'>> {
  await clearSkipFlags(git, tree)
  const repositories = await untrackedRepositories(git, tree)
  const head = await git.line(['rev-parse', 'HEAD'], tree.refs)
  const isDirty = (await dirtyNames(git, tree, repositories)).length > 0
  const commit = isDirty ? await commitAll(git, tree, { message: REVIEW_SUBJECT, repositories }) : head
  return {
    commit,
    head,
    at: await currentBranch(git, tree.refs),
    tree: await git.line(['rev-parse', `${commit}^{tree}`], tree.refs),
    staged: await git.tryLine(['write-tree'], tree.files),
  }
}

/** Restores a snapshot. Returns the names of the files that had changed. Errors: `GitError`. */
export async function restoreSnapshot(git: Git, tree: OpenWorktree, before: Snapshot): Promise<readonly string[]> {
  await restoreHead(git, tree, before)
  const after = await readState(git, tree)
  const changed = after.tree === before.tree ? [] : await restoreFiles(git, tree, { from: after.tree, to: before.tree })
  if (before.staged !== null && (await git.tryLine(['write-tree'], tree.files)) !== before.staged)
    await git.run(['read-tree', before.staged], tree.files)
  await git.tryLine(['update-index', '-q', '--refresh'], tree.files)
  await rm(join(tree.gitDir, SNAPSHOT_FILE), { force: true })
  return changed
}

/**
 * Restores HEAD. Only the member's own branch is moved. If another checked-out branch has moved, HEAD is detached at its earlier commit.
 */
async function restoreHead(git: Git, { refs }: OpenWorktree, { branch, head, at = `refs/heads/${branch}` }: Snapshot): Promise<void> {
  const commitOf = (name: string): Promise<string | null> => git.tryLine(['rev-parse', '--verify', '-q', `${name}^{commit}`], refs)
  if ((await currentBranch(git, refs)) === at && (await commitOf('HEAD')) === head) return
  if (at === `refs/heads/${branch}`) await git.run(['update-ref', '-m', 'reeve: put back', at, head], refs)
  if (at !== null && (await commitOf(at)) === head) await git.run(['symbolic-ref', '-m', 'reeve: put back', 'HEAD', at], refs)
  else await git.run(['update-ref', '--no-deref', '-m', 'reeve: put back', 'HEAD', head], refs)
}

/** The full name of the checked-out branch. Null if HEAD is detached. */
function currentBranch(git: Git, refs: OpenWorktree['refs']): Promise<string | null> {
  return git.tryLine(['symbolic-ref', '-q', 'HEAD'], refs)
}

async function restoreFiles(
  git: Git,
  tree: OpenWorktree,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<readonly string[]> {
  const changed = splitNames(await git.run(['diff-tree', '-r', '-z', '--no-renames', '--name-only', from, to], tree.refs))
  const expected = new Set(
    splitNames(await git.run(['ls-tree', '-r', '-z', '--name-only', '--full-tree', to], tree.refs)).map((name) => name.toString('latin1')),
  )
  const added = changed.filter((name) => !expected.has(name.toString('latin1')))
  for (const name of added) await rm(Buffer.concat([Buffer.from(`${tree.dir}/`), name]).toString(), { force: true, recursive: true })
  const index = join(tree.gitDir, 'index')
  const draft = `${index}.verify`
  try {
    await rm(`${draft}.lock`, { force: true })
    await copyIndex(index, draft)
    const call = { ...tree.files, at: tree.files.at && { ...tree.files.at, index: draft } }
    await git.run(['read-tree', to], call)
    const input = Buffer.concat(changed.filter((name) => expected.has(name.toString('latin1'))).flatMap((name) => [name, Buffer.from([0])]))
    await git.run(['checkout-index', '-f', '-q', '-z', '--stdin'], { ...call, input })
  } finally {
    await rm(draft, { force: true })
  }
  return changed.slice(0, MAX_NAMED).map(String)
}
