// Salvages the uncommitted files of a worktree, and its commits that are on no branch. They become a commit under their own ref, like
// `git stash`. Files that git was configured to skip are salvaged, too, and staged files. Other repositories inside of the worktree are
// left out. Must never change the files of the worktree, its staged files or its branch.
// Tests: test/processes/git/worktree.test.ts, test/processes/crew/git.test.ts.
import { GitError } from './git.ts'
import { clearSkipFlags, commitAll, dirtyNames, untrackedRepositories } from './uncommitted-files.ts'
import type { Git, GitCall } from './git.ts'
import type { OpenWorktree } from './open-worktree.ts'

/** Prefix of the refs of commits at which tasks began. These commits are merges that need not be kept. */
export const BASE_REFS = 'refs/reeve/base/'

/** Prefix of the refs of files that were handed over to successors. */
export const HANDOVER_REFS = 'refs/reeve/handover/'

const SALVAGE_REFS = 'refs/reeve/salvage/'

/** The highest number N of a salvage `NAME-N`. */
const MAX_NUMBER = 10_000

export interface Salvaged {
  readonly ref: string
  readonly commit: string
}

/**
 * Salvages to one ref, which is moved if it exists, unless another ref has the same files. Returns the ref. Null if nothing must be
 * salvaged, or a successor has received all of it.
 */
export async function salvageTree(git: Git, tree: OpenWorktree, ref: string): Promise<string | null> {
  const { refs } = tree
  await clearSkipFlags(git, tree)
  const commit = (await isDirty(git, tree))
    ? await commitAll(git, tree)
    : await git.line(['rev-list', '-n', '1', 'HEAD', '--not', '--branches', '--tags', '--remotes', `--glob=${BASE_REFS}*`], refs)
  if (commit === '') return null
  const same = await findSame(git, refs, commit)
  if (same !== null) return same.startsWith(HANDOVER_REFS) ? null : same
  await writeRef(git, refs, ref, commit)
  return ref
}

/**
 * Salvages to a new ref `NAME-N`, or reuses the ref of an equal salvage. `branch` is about to move, so commits that only this branch has
 * are salvaged too. The files of the refs in `safeRefs` are kept already. Null if nothing must be salvaged, or if one of these refs
 * has the same files.
 */
export async function salvageNext(
  git: Git,
  tree: OpenWorktree,
  {
    name,
    branch,
    message,
    safeRefs = [],
  }: { readonly name: string; readonly branch: string | null; readonly message: string; readonly safeRefs?: readonly string[] },
): Promise<Salvaged | null> {
  const { refs } = tree
  await clearSkipFlags(git, tree)
  const repositories = await untrackedRepositories(git, tree)
  const hasChanges = await isDirty(git, tree, repositories)
  const unshared = await newestUnsharedCommit(git, refs, branch)
  if (!hasChanges && unshared === '') return null
  const kept = (await Promise.all(safeRefs.map((ref) => earlierSalvages(git, refs, ref)))).flat()
  const earlier = [...(await earlierSalvages(git, refs, `${name}-*`)), ...kept]
  const commit = hasChanges ? await commitAll(git, tree, { message, repositories }) : unshared
  const [files, head] = await Promise.all([git.line(['rev-parse', `${commit}^{tree}`], refs), git.line(['rev-parse', 'HEAD'], refs)])
  const same = earlier.find((old) => old.commit === commit || (hasChanges && old.tree === files && old.parent === head))
  const found = same ?? {
    ref: freeName(
      name,
      earlier.map(({ ref }) => ref),
    ),
    commit,
  }
  if (!same) await writeRef(git, refs, found.ref, commit)
  // If the branch differs from the commit that is checked out, both get a ref.
  const unnamed = await newestUnsharedCommit(git, refs, branch, `--glob=${name}-*`, ...kept.map(({ ref }) => ref))
  if (unnamed !== '') await writeRef(git, refs, freeName(name, [...earlier.map(({ ref }) => ref), found.ref]), unnamed)
  return kept.some(({ ref }) => ref === found.ref) ? null : { ref: found.ref, commit: found.commit }
}

/** Returns a ref of reeve with the same files on top of the same commit; null if there is none. */
async function findSame(git: Git, refCall: GitCall, commit: string): Promise<string | null> {
  const [tree, head] = await Promise.all(
    [`${commit}^{tree}`, `${commit}^1`].map((name) => git.tryLine(['rev-parse', '--verify', '-q', name], refCall)),
  )
  const before = [...(await earlierSalvages(git, refCall, HANDOVER_REFS)), ...(await earlierSalvages(git, refCall, SALVAGE_REFS))]
  return before.find((old) => old.tree === tree && old.parent === head)?.ref ?? null
}

/** Returns the newest commit that no ref has but HEAD and `branch`, which is about to move. Empty if there is none. */
async function newestUnsharedCommit(git: Git, refCall: GitCall, branch: string | null, ...others: readonly string[]): Promise<string> {
  const tip = branch === null ? null : await git.tryLine(['rev-parse', '--verify', '-q', `refs/heads/${branch}`], refCall)
  return git.line(
    [
      'rev-list',
      '-n',
      '1',
      'HEAD',
      ...(tip === null ? [] : [tip]),
      '--not',
      ...(branch === null ? [] : [`--exclude=${branch}`]),
      '--branches',
      '--tags',
      '--remotes',
      `--glob=${BASE_REFS}*`,
      ...others,
    ],
    refCall,
  )
}

/** Whether any file is uncommitted. */
async function isDirty(git: Git, tree: OpenWorktree, repositories: readonly Buffer[] = []): Promise<boolean> {
  return (await dirtyNames(git, tree, repositories)).length > 0
}

async function writeRef(git: Git, refCall: GitCall, ref: string, commit: string): Promise<void> {
  await git.run(['update-ref', '-m', 'reeve: salvaged', '--create-reflog', ref, commit], refCall)
}

interface EarlierSalvage extends Salvaged {
  readonly tree: string
  readonly parent: string
}

async function earlierSalvages(git: Git, refCall: GitCall, pattern: string): Promise<readonly EarlierSalvage[]> {
  const lines = await git.line(['for-each-ref', '--format=%(refname) %(objectname) %(tree) %(parent)', pattern], refCall)
  return lines === ''
    ? []
    : lines.split('\n').map((line) => {
        const [ref = '', commit = '', tree = '', parent = ''] = line.split(' ')
        return { ref, commit, tree, parent }
      })
}

/** Returns the first unused ref `NAME-N`. */
function freeName(name: string, taken: readonly string[]): string {
  for (let number = 1; number <= MAX_NUMBER; number += 1) if (!taken.includes(`${name}-${number}`)) return `${name}-${number}`
  throw new GitError(`there are already ${MAX_NUMBER} refs ${name}-*: remove old ones with \`git update-ref -d REF\``)
}
