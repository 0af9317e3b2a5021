// Salvages the uncommitted files of a worktree, and its commits that are on no branch. They become a commit under a ref of their own, like
// `git stash`. Files that git was configured to skip are salvaged, too, and staged files. Other repositories inside of the worktree are
// left out. Must never change the files of the worktree, its staged files or its branch.
// Tests: test/processes/files/worktree.test.ts, test/processes/crew/git.test.ts.
import { copyFile, lstat, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError, joinNames, splitNames } from './git.ts'
import { followHead } from './open-worktree.ts'
import { pathExists } from '../common/path-exists.ts'
import type { Git, GitCall } from './git.ts'
import type { Tree } from './open-worktree.ts'

/** Prefix of the refs of commits at which tasks began. These commits are merges that need not be kept. */
export const BASE_REFS = 'refs/reeve/base/'

/** Prefix of the refs of files that were handed over to successors. */
export const HANDOVER_REFS = 'refs/reeve/handover/'

/** The subject of a commit that waits for a review. Existing repositories contain it, so it must not change. */
export const REVIEW_SUBJECT = 'reeve: what is to be reviewed'
/** The subject of a commit of staged files. Existing repositories contain it, so it must not change. */
export const STAGED_SUBJECT = 'reeve: what was staged'

const SALVAGE_REFS = 'refs/reeve/salvage/'

const SLASH = 0x2f
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
export async function salvageTree(git: Git, tree: Tree, ref: string): Promise<string | null> {
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
  tree: Tree,
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

/** Returns the newest commit that only HEAD or the branch has, which is about to move; empty if there is none. */
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
async function isDirty(git: Git, tree: Tree, repositories: readonly Buffer[] = []): Promise<boolean> {
  return (await dirtyNames(git, tree, repositories)).length > 0
}

/** Returns the names of changed, staged and new files, without those of other repositories. */
export async function dirtyNames(git: Git, tree: Tree, repositories: readonly Buffer[] = []): Promise<readonly string[]> {
  await followHead(git, tree)
  const left = new Set(repositories.map((name) => name.toString('latin1')))
  const found: string[] = []
  const entries = splitNames(
    await git.run(['status', '-z', '--porcelain', '--untracked-files=all', '--no-renames', '--ignore-submodules=dirty'], tree.files),
  )
  for (const entry of entries) {
    const name = entry.subarray(3)
    if (!left.has(name.toString('latin1'))) found.push(name.toString())
  }
  return found
}

/**
 * Returns other repositories inside of a worktree, whose history reeve cannot judge: untracked ones, and submodules that are checked
 * out.
 */
export async function innerRepositories(git: Git, tree: Tree): Promise<readonly Buffer[]> {
  return [...(await untrackedRepositories(git, tree)).map((name) => name.subarray(0, -1)), ...(await submodulesIn(git, tree))]
}

/** Returns the paths of untracked repositories, each with a slash at its end. */
export async function untrackedRepositories(git: Git, { files }: Tree): Promise<readonly Buffer[]> {
  return splitNames(await git.run(['ls-files', '-z', '-o', '--exclude-standard'], files)).filter((name) => name.at(-1) === SLASH)
}

/** Returns the paths of submodules that are checked out. */
export function submodulesIn(git: Git, tree: Tree): Promise<readonly Buffer[]> {
  return submodulesWith(git, tree, '/.git')
}

/** Returns the paths of submodules in whose directory the path `below` exists. */
async function submodulesWith(git: Git, { dir, files }: Tree, below: string): Promise<readonly Buffer[]> {
  const links = splitNames(await git.run(['ls-files', '-z', '-s'], files)).filter((line) => line.subarray(0, 7).toString() === '160000 ')
  const paths = links.map((line) => line.subarray(line.indexOf(0x09) + 1))
  const there = await Promise.all(paths.map((path) => pathExists(Buffer.concat([Buffer.from(`${dir}/`), path, Buffer.from(below)]))))
  return paths.filter((_, index) => there[index])
}

/** Returns path patterns for `git add` that match everything except these directories. */
function patternsExcept(directories: readonly Buffer[]): Buffer {
  return joinNames([Buffer.from(':/'), ...directories.map((name) => Buffer.concat([Buffer.from(':(top,exclude,literal)'), name]))])
}

/** Stages all files except other repositories, even in a sparse checkout. */
export async function addAll(git: Git, tree: Tree, repositories: readonly Buffer[]): Promise<void> {
  const { refs, files, head } = tree
  const sparse = (await git.tryLine(['config', '--type=bool', 'core.sparseCheckout'], refs)) === 'true' ? ['--sparse'] : []
  // Submodules are left out: git would run another git in each, with the configuration that it finds there.
  const links = head === null ? [] : await submodulesWith(git, tree, '/.')
  const input = patternsExcept([...repositories.map((name) => name.subarray(0, -1)), ...links])
  await git.run(['add', '-A', ...sparse, '--pathspec-from-file=-', '--pathspec-file-nul'], { ...files, input })
}

/** Clears the flags that make git skip files, because changes in these files would be missed. */
export async function clearSkipFlags(git: Git, { dir, files }: Tree): Promise<void> {
  const marked = splitNames(await git.run(['ls-files', '-z', '-v'], files))
    .map((line) => ({ tag: line.subarray(0, 1).toString(), name: line.subarray(2) }))
    .filter(({ tag }) => tag !== 'H')
  const there = await Promise.all(
    marked.map(({ name }) =>
      lstat(Buffer.concat([Buffer.from(`${dir}/`), name])).then(
        () => true,
        () => false,
      ),
    ),
  )
  const skipped = joinNames(marked.filter(({ tag }, index) => there[index] && tag.toUpperCase() !== 'M').map(({ name }) => name))
  if (skipped.length === 0) return
  await git.run(['update-index', '-z', '--no-assume-unchanged', '--stdin'], { ...files, input: skipped })
  await git.run(['update-index', '-z', '--no-skip-worktree', '--stdin'], { ...files, input: skipped })
}

/**
 * Commits all files on top of HEAD, and on top of a commit with the staged files. Changes neither the index nor the branch. Returns
 * the commit.
 */
export async function commitAll(
  git: Git,
  tree: Tree,
  {
    message = 'reeve: what was not committed',
    repositories = [],
  }: { readonly message?: string; readonly repositories?: readonly Buffer[] } = {},
): Promise<string> {
  const { refs, gitDir } = tree
  const index = join(gitDir, 'index')
  const draft = `${index}.salvage`
  const { at } = tree.files
  const draftTree: Tree = { ...tree, files: { ...tree.files, at: at && { ...at, index: draft } } }
  try {
    // A killed call may have left its lock. No other function uses this name.
    await rm(`${draft}.lock`, { force: true })
    await copyIndex(index, draft)
    // In an unfinished merge the index has no tree. The files contain both sides.
    const staged = await git.tryLine(['write-tree'], draftTree.files)
    await addAll(git, draftTree, repositories)
    const files = await git.line(['write-tree'], draftTree.files)
    const head = await git.line(['rev-parse', 'HEAD'], refs)
    const hasStagedFiles = staged !== null && staged !== files && staged !== (await git.line(['rev-parse', 'HEAD^{tree}'], refs))
    const parents = hasStagedFiles ? [head, await git.line(['commit-tree', staged, '-p', head, '-m', STAGED_SUBJECT], refs)] : [head]
    return await git.line(['commit-tree', files, ...parents.flatMap((parent) => ['-p', parent]), '-m', message], refs)
  } finally {
    await rm(draft, { force: true })
  }
}

/**
 * Copies an index with its modification time. Git reads files again that are as new as its index, because their time does not show later
 * changes. Does nothing if there is no index.
 */
export async function copyIndex(index: string, to: string): Promise<void> {
  const from = await stat(index).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!from) return
  await copyFile(index, to)
  const seconds = Math.floor(from.mtimeMs / 1_000)
  await utimes(to, seconds, seconds)
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
