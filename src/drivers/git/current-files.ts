// Reads what a worktree contains, for comparisons: its current files, committed or not, as a tree object. If the worktree was removed,
// finds what is left of it. New objects go to a scratch directory that borrows the repository's objects. Must never write to the
// repository, the worktree or its index, because the process may run meanwhile. Test: test/e2e/worktree/diff.test.ts.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addAll, clearSkipFlags, copyIndex, untrackedRepositories } from './uncommitted-files.ts'
import { openWorktreeToRead } from './open-worktree.ts'
import { inRepository } from './worktree.ts'
import type { Git, GitUser } from './git.ts'
import type { OpenWorktree, WorktreeLocation } from './open-worktree.ts'

/** Time limit of one call of git, which may read every file. */
const READ_MS = 120_000

/** The files of a worktree as a tree object, in a directory of objects that is removed with the `Git` object. */
interface FilesTree {
  readonly tree: string
  readonly objects: string
}

/** Reads the current files of a worktree, in any state, to compare them. Errors: `GitError` if the worktree is gone. */
export async function readCurrentFiles(git: Git, at: Omit<WorktreeLocation, 'limitMs'>): Promise<FilesTree> {
  return readFiles(git, await openWorktreeToRead(git, { ...at, limitMs: READ_MS }), at.repository)
}

/** Reads the files of a worktree, except ignored files and other repositories, into a tree object. */
export async function readFiles(git: Git, tree: OpenWorktree, repository: string): Promise<FilesTree> {
  const objects = await scratchObjects(git, repository)
  const index = join(objects, '..', 'index')
  await copyIndex(join(tree.gitDir, 'index'), index)
  const { at, settings = [] } = tree.files
  const draft: OpenWorktree = {
    ...tree,
    files: { ...tree.files, settings: [...settings, 'core.splitIndex=false'], at: at && { ...at, index, objects } },
  }
  await clearSkipFlags(git, draft)
  await addAll(git, draft, await untrackedRepositories(git, draft))
  return { tree: await git.line(['write-tree'], draft.files), objects }
}

/** Creates a directory for new objects, which borrows those of a repository, and of further directories of objects. */
export async function scratchObjects(git: Git, repository: string, borrowed: readonly string[] = []): Promise<string> {
  const objects = join(await git.scratch(), 'objects')
  await mkdir(join(objects, 'info'), { recursive: true })
  await writeFile(join(objects, 'info', 'alternates'), [join(repository, 'objects'), ...borrowed].map((dir) => `${dir}\n`).join(''))
  return objects
}

/** Finds what is left of a removed worktree in its repository: salvaged files, else its branch. Null if neither exists. */
export async function findLeftWork(
  git: Git,
  { uuid, branch, ...place }: GitUser & { readonly repository: string; readonly uuid: string; readonly branch: string },
): Promise<{ readonly salvage: string | null; readonly branch: string | null }> {
  const call = inRepository(place)
  const commitOf = (ref: string): Promise<string | null> => git.tryLine(['rev-parse', '--verify', '-q', `${ref}^{commit}`], call)
  return { salvage: await commitOf(`refs/reeve/salvage/${uuid}`), branch: await commitOf(`refs/heads/${branch}`) }
}
