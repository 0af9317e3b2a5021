// Finds, stages and commits the uncommitted files of a worktree. Other repositories inside of the worktree are left out. Must never change
// a file of the worktree or move its branch. Only `addAll` and `clearSkipFlags` change the index.
// Tests: test/processes/git/worktree.test.ts, test/processes/crew/git.test.ts.
import { copyFile, lstat, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { joinNames, splitNames } from './git.ts'
import { followHead } from './open-worktree.ts'
import { pathExists } from '../common/path-exists.ts'
import type { Git } from './git.ts'
import type { OpenWorktree } from './open-worktree.ts'

/** The subject of a commit that waits for a review. Existing repositories contain it, so it must not change. */
export const REVIEW_SUBJECT = 'reeve: what is to be reviewed'
/** The subject of a commit of staged files. Existing repositories contain it, so it must not change. */
export const STAGED_SUBJECT = 'reeve: what was staged'

const SLASH = 0x2f

/** Returns the names of changed, staged and new files, without those of other repositories. */
export async function dirtyNames(git: Git, tree: OpenWorktree, repositories: readonly Buffer[] = []): Promise<readonly string[]> {
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
export async function innerRepositories(git: Git, tree: OpenWorktree): Promise<readonly Buffer[]> {
  return [...(await untrackedRepositories(git, tree)).map((name) => name.subarray(0, -1)), ...(await submodulesIn(git, tree))]
}

/** Returns the paths of untracked repositories, each with a slash at its end. */
export async function untrackedRepositories(git: Git, { files }: OpenWorktree): Promise<readonly Buffer[]> {
  return splitNames(await git.run(['ls-files', '-z', '-o', '--exclude-standard'], files)).filter((name) => name.at(-1) === SLASH)
}

/** Returns the paths of submodules that are checked out. */
export function submodulesIn(git: Git, tree: OpenWorktree): Promise<readonly Buffer[]> {
  return submodulesWith(git, tree, '/.git')
}

/** Returns the paths of submodules in whose directory the path `below` exists. */
async function submodulesWith(git: Git, { dir, files }: OpenWorktree, below: string): Promise<readonly Buffer[]> {
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
export async function addAll(git: Git, tree: OpenWorktree, repositories: readonly Buffer[]): Promise<void> {
  const { refs, files, head } = tree
  const sparse = (await git.tryLine(['config', '--type=bool', 'core.sparseCheckout'], refs)) === 'true' ? ['--sparse'] : []
  // Submodules are left out: git would run another git in each, with the configuration that it finds there.
  const links = head === null ? [] : await submodulesWith(git, tree, '/.')
  const input = patternsExcept([...repositories.map((name) => name.subarray(0, -1)), ...links])
  await git.run(['add', '-A', ...sparse, '--pathspec-from-file=-', '--pathspec-file-nul'], { ...files, input })
}

/** Clears the flags that make git skip files, because changes in these files would be missed. */
export async function clearSkipFlags(git: Git, { dir, files }: OpenWorktree): Promise<void> {
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
  tree: OpenWorktree,
  {
    message = 'reeve: what was not committed',
    repositories = [],
  }: { readonly message?: string; readonly repositories?: readonly Buffer[] } = {},
): Promise<string> {
  const { refs, gitDir } = tree
  const index = join(gitDir, 'index')
  const draft = `${index}.salvage`
  const { at } = tree.files
  const draftTree: OpenWorktree = { ...tree, files: { ...tree.files, at: at && { ...at, index: draft } } }
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
