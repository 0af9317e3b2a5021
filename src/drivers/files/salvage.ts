// What is in a worktree and in no commit, or in commits that nothing names, as a commit under a ref of its own: as `git stash` does it.
// Owns what is looked at: also what git was told not to look at, and what was staged. Other repositories inside are left out.
// Must never change the worktree, its index or its branch. Tests: test/processes/worktree.test.ts, test/processes/crew-git.test.ts.
import { access, copyFile, lstat, rm } from 'node:fs/promises'
import { GitError, joined, names } from './git.ts'
import type { Git, GitCall } from './git.ts'

/** Below it is what tasks began at: merges that nobody has to keep. */
export const BASES = 'refs/reeve/base/'

/** Below it is what successors were given. */
export const HANDED_OVER = 'refs/reeve/handover/'

const SALVAGED = 'refs/reeve/salvage/'

const SLASH = 0x2f
/** So many salvages of one name are told apart. */
const MAX_NUMBER = 10_000

export interface Salvaged {
  readonly ref: string
  readonly commit: string
}

/** Under one ref, which moves on; one that has the same already will do. Null if there is nothing, or a successor was given all of it. */
export async function salvage(git: Git, here: GitCall, ref: string): Promise<string | null> {
  await lookAtAll(git, here)
  const commit = (await isDirty(git, here)) ? await commitAll(git, here) : await git.line(['rev-list', '-n', '1', 'HEAD', '--not', '--branches', '--tags', '--remotes', `--glob=${BASES}*`], here)
  if (commit === '') return null
  const same = await sameAs(git, here, commit)
  if (same !== null) return same.startsWith(HANDED_OVER) ? null : same
  await nameIt(git, here, ref, commit)
  return ref
}

/**
 * Under a new ref `NAME-N`; the same one if it was salvaged before. With `branch`, which is about to be moved: commits that it
 * alone has are salvaged, too.
 */
export async function salvageNext(git: Git, here: GitCall, { name, branch, message }: { readonly name: string; readonly branch: string | null; readonly message: string }): Promise<Salvaged | null> {
  await lookAtAll(git, here)
  const repositories = await untrackedRepositories(git, here)
  const dirty = await isDirty(git, here, repositories)
  const own = await onlyHere(git, here, branch)
  if (!dirty && own === '') return null
  const before = await salvagedBefore(git, here, `${name}-*`)
  const commit = dirty ? await commitAll(git, here, { message, repositories }) : own
  const [tree, head] = await Promise.all([git.line(['rev-parse', `${commit}^{tree}`], here), git.line(['rev-parse', 'HEAD'], here)])
  const same = before.find((one) => one.commit === commit || (dirty && one.tree === tree && one.parent === head))
  const found = same ?? { ref: freeName(name, before.map(({ ref }) => ref)), commit }
  if (!same) await nameIt(git, here, found.ref, commit)
  // The branch may be elsewhere than what is checked out: then both are named.
  const rest = await onlyHere(git, here, branch, `--glob=${name}-*`)
  if (rest !== '') await nameIt(git, here, freeName(name, [...before.map(({ ref }) => ref), found.ref]), rest)
  return { ref: found.ref, commit: found.commit }
}

/** A ref of ours with the same files on top of the same commit. */
async function sameAs(git: Git, here: GitCall, commit: string): Promise<string | null> {
  const [tree, head] = await Promise.all([`${commit}^{tree}`, `${commit}^1`].map((name) => git.maybe(['rev-parse', '--verify', '-q', name], here)))
  const before = [...(await salvagedBefore(git, here, HANDED_OVER)), ...(await salvagedBefore(git, here, SALVAGED))]
  return before.find((one) => one.tree === tree && one.parent === head)?.ref ?? null
}

/** The newest commit of what is checked out and of a branch that is about to be moved that no other one has; '' if there is none. */
async function onlyHere(git: Git, here: GitCall, branch: string | null, ...others: readonly string[]): Promise<string> {
  const tip = branch === null ? null : await git.maybe(['rev-parse', '--verify', '-q', `refs/heads/${branch}`], here)
  return git.line(['rev-list', '-n', '1', 'HEAD', ...(tip === null ? [] : [tip]), '--not', ...(branch === null ? [] : [`--exclude=${branch}`]), '--branches', '--tags', '--remotes', `--glob=${BASES}*`, ...others], here)
}

/** Whether anything is not committed. */
async function isDirty(git: Git, here: GitCall, repositories: readonly Buffer[] = []): Promise<boolean> {
  return (await dirtyNames(git, here, repositories)).length > 0
}

/** What is changed, staged or new, other repositories left out. */
export async function dirtyNames(git: Git, here: GitCall, repositories: readonly Buffer[] = []): Promise<readonly string[]> {
  const left = new Set(repositories.map((name) => name.toString('latin1')))
  const found: string[] = []
  const words = names(await git.run(['status', '-z', '--porcelain', '--untracked-files=all', '--no-renames', '--ignore-submodules=dirty'], here))
  for (const word of words) {
    const name = word.subarray(3)
    if (!left.has(name.toString('latin1'))) found.push(name.toString())
  }
  return found
}

/** A repository inside has a history of its own, which nobody but its owner can judge: those that git does not know, and submodules that are checked out. */
export async function innerRepositories(git: Git, here: GitCall): Promise<readonly Buffer[]> {
  return [...(await untrackedRepositories(git, here)).map((name) => name.subarray(0, -1)), ...(await submodules(git, here))]
}

/** Each with a slash at its end. */
export async function untrackedRepositories(git: Git, here: GitCall): Promise<readonly Buffer[]> {
  return names(await git.run(['ls-files', '-z', '-o', '--exclude-standard'], here)).filter((name) => name.at(-1) === SLASH)
}

/** Those that are checked out. */
export async function submodules(git: Git, here: GitCall): Promise<readonly Buffer[]> {
  const links = names(await git.run(['ls-files', '-z', '-s'], here)).filter((line) => line.subarray(0, 7).toString() === '160000 ')
  const paths = links.map((line) => line.subarray(line.indexOf(0x09) + 1))
  const there = await Promise.all(paths.map((path) => access(Buffer.concat([Buffer.from(`${here.cwd}/`), path, Buffer.from('/.git')])).then(() => true, () => false)))
  return paths.filter((_, index) => there[index])
}

/** What `git add` takes of a list of paths on its stdin: everything but other repositories. */
function allBut(repositories: readonly Buffer[]): Buffer {
  return joined([Buffer.from(':/'), ...repositories.map((name) => Buffer.concat([Buffer.from(':(top,exclude,literal)'), name.subarray(0, -1)]))])
}

/** `git add` that takes everything, also where not all of the repository is checked out. */
export async function addAll(git: Git, here: GitCall, repositories: readonly Buffer[]): Promise<void> {
  const sparse = (await git.maybe(['config', '--type=bool', 'core.sparseCheckout'], here)) === 'true' ? ['--sparse'] : []
  await git.run(['add', '-A', ...sparse, '--pathspec-from-file=-', '--pathspec-file-nul'], { ...here, input: allBut(repositories) })
}

/** git was told not to look at some files: what is changed in these would go unseen. */
export async function lookAtAll(git: Git, here: GitCall): Promise<void> {
  const marked = names(await git.run(['ls-files', '-z', '-v'], here)).map((line) => ({ tag: line.subarray(0, 1).toString(), name: line.subarray(2) })).filter(({ tag }) => tag !== 'H')
  const there = await Promise.all(marked.map(({ name }) => lstat(Buffer.concat([Buffer.from(`${here.cwd}/`), name])).then(() => true, () => false)))
  const unseen = joined(marked.filter(({ tag }, index) => there[index] && tag.toUpperCase() !== 'M').map(({ name }) => name))
  if (unseen.length === 0) return
  await git.run(['update-index', '-z', '--no-assume-unchanged', '--stdin'], { ...here, input: unseen })
  await git.run(['update-index', '-z', '--no-skip-worktree', '--stdin'], { ...here, input: unseen })
}

/** The files, on top of what is checked out and of what was staged. */
export async function commitAll(git: Git, here: GitCall, { message = 'reeve: what was not committed', repositories = [] }: { readonly message?: string; readonly repositories?: readonly Buffer[] } = {}): Promise<string> {
  const index = await git.line(['rev-parse', '--path-format=absolute', '--git-path', 'index'], here)
  const draft = `${index}.salvage`
  const over = { ...here, env: { ...here.env, GIT_INDEX_FILE: draft } }
  try {
    // One that was cut off may have left its lock; nobody else has this name.
    await rm(`${draft}.lock`, { force: true })
    await copyFile(index, draft).catch((error: NodeJS.ErrnoException) => { if (error.code !== 'ENOENT') throw error })
    // Where a merge is not done there is no tree of it; its files have both sides.
    const staged = await git.maybe(['write-tree'], over)
    await addAll(git, over, repositories)
    const files = await git.line(['write-tree'], over)
    const head = await git.line(['rev-parse', 'HEAD'], here)
    const isApart = staged !== null && staged !== files && staged !== (await git.line(['rev-parse', 'HEAD^{tree}'], here))
    const parents = isApart ? [head, await git.line(['commit-tree', staged, '-p', head, '-m', 'reeve: what was staged'], here)] : [head]
    return await git.line(['commit-tree', files, ...parents.flatMap((parent) => ['-p', parent]), '-m', message], here)
  } finally {
    await rm(draft, { force: true })
  }
}

async function nameIt(git: Git, here: GitCall, ref: string, commit: string): Promise<void> {
  await git.run(['update-ref', '-m', 'reeve: salvaged', '--create-reflog', ref, commit], here)
}

interface Before extends Salvaged {
  readonly tree: string
  readonly parent: string
}

async function salvagedBefore(git: Git, here: GitCall, pattern: string): Promise<readonly Before[]> {
  const lines = await git.line(['for-each-ref', '--format=%(refname) %(objectname) %(tree) %(parent)', pattern], here)
  return lines === '' ? [] : lines.split('\n').map((line) => {
    const [ref = '', commit = '', tree = '', parent = ''] = line.split(' ')
    return { ref, commit, tree, parent }
  })
}

function freeName(name: string, taken: readonly string[]): string {
  for (let number = 1; number <= MAX_NUMBER; number += 1) if (!taken.includes(`${name}-${number}`)) return `${name}-${number}`
  throw new GitError(`there are ${MAX_NUMBER} refs ${name}-* already: remove old ones with \`git update-ref -d REF\``)
}
