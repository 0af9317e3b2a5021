// Prepares the user's merge of the work of a process or crew: plans the merge, and commits the uncommitted files. The plan runs no program
// but git, and writes new objects to a scratch directory. The commit has the author that the user names. It is made on the checked-out
// branch of the worktree, or on no branch if the worktree is gone. Must never touch a checkout of the user, nor run a hook. Test:
// test/e2e/worktree/merge.test.ts.
import { join } from 'node:path'
import { diffOf } from './diff.ts'
import { GitError, splitNames } from './git.ts'
import { mergeTrees } from './merge-tree.ts'
import { addAll, clearSkipFlags, untrackedRepositories } from './uncommitted-files.ts'
import { findLeftWork, readFiles, scratchObjects } from './current-files.ts'
import { createInertGitDir, openWorktree } from './open-worktree.ts'
import { inRepository } from './worktree.ts'
import { pathExists } from '../common/path-exists.ts'
import type { Diff } from './diff.ts'
import type { Git, GitCall, GitUser } from './git.ts'
import type { OpenWorktree } from './open-worktree.ts'

/** Time limit of one call of git, which may read every file. */
const WORK_MS = 120_000
/** The maximum number of commits that a plan names. */
const MAX_COMMITS = 100
/** Files of an unfinished merge, rebase or similar, in the git directory of a worktree. */
const UNFINISHED = ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'rebase-merge', 'rebase-apply']

/** Where the work of a process or crew is. */
export interface WorkPlace extends GitUser {
  /** the worktree, which may be gone; null: a crew, whose work is its branch */
  readonly dir: string | null
  readonly repository: string
  readonly uuid: string
  readonly branch: string
}

export interface WorkPlanRequest {
  /** the commit into which the work would be merged */
  readonly onto: string
  /** the checkout whose attributes apply */
  readonly top: string
}

export interface WorkPlan extends Pick<Diff, 'files'> {
  readonly of: 'worktree' | 'salvage' | 'branch' | 'crew'
  /** the newest commit of the work; its uncommitted files are on top of it */
  readonly head: string
  /** the commits that `onto` lacks, newest first, up to a limit */
  readonly commits: readonly { readonly commit: string; readonly subject: string }[]
  /** the number of uncommitted files */
  readonly uncommitted: number
  /** files with conflicts */
  readonly conflicts: readonly string[]
}

/** A commit and the files on top of it. */
interface Work {
  readonly of: WorkPlan['of']
  readonly head: string
  readonly tree: string
  /** the directory of objects that contains the tree */
  readonly objects: string
}

/** Plans a merge without any effect. Null if nothing is left of the work. Errors: `GitError`. */
export async function planMerge(git: Git, place: WorkPlace, { onto, top }: WorkPlanRequest): Promise<WorkPlan | null> {
  const work = await findWork(git, place)
  if (work === null) return null
  const { of, head, tree, objects } = work
  const inert = await createInertGitDir(git, place)
  const call: GitCall = { ...inRepository({ ...place, limitMs: WORK_MS }), ...inert, at: { ...inert.at, objects } }
  if ((await git.tryLine(['cat-file', '-e', `${onto}^{commit}`], call)) === null) throw new GitError(`the repository has no commit ${onto}`)
  const names = splitNames(await git.run(['diff-tree', '-r', '-z', '-M', '--name-only', head, tree], call))
  const commit = names.length === 0 ? head : await git.line(['commit-tree', tree, '-p', head, '-m', 'uncommitted files'], call)
  const merged = (await isAncestor(git, call, commit, onto))
    ? { tree: onto, files: [] }
    : (await isAncestor(git, call, onto, commit))
      ? { tree, files: [] }
      : await mergeTrees(git, { ...call, cwd: top, at: { ...inert.at, objects, workTree: top } }, onto, commit)
  if ('unable' in merged) throw new GitError(merged.unable)
  const { files } = await diffOf(git, { ...place, objects }, { from: onto, to: merged.tree, maxLines: 0 })
  return { of, head, uncommitted: names.length, commits: await newCommits(git, call, head, onto), files, conflicts: merged.files }
}

async function findWork(git: Git, place: WorkPlace): Promise<Work | null> {
  const { dir, repository } = place
  if (dir !== null && (await pathExists(dir))) {
    const tree = await openWork(git, { ...place, dir })
    return { of: 'worktree', head: await git.line(['rev-parse', 'HEAD'], tree.refs), ...(await readFiles(git, tree, repository)) }
  }
  const left = await findLeftWork(git, place)
  const commit = left.salvage ?? left.branch
  if (commit === null) return null
  const call = inRepository(place)
  return {
    of: dir === null ? 'crew' : left.salvage === null ? 'branch' : 'salvage',
    head: left.salvage === null ? commit : await git.line(['rev-parse', `${commit}^1`], call),
    tree: await git.line(['rev-parse', `${commit}^{tree}`], call),
    objects: await scratchObjects(git, repository),
  }
}

/** Opens a worktree that is in no unfinished operation of git. Errors: `GitError`. */
async function openWork(git: Git, place: WorkPlace & { readonly dir: string }): Promise<OpenWorktree> {
  const tree = await openWorktree(git, { ...place, limitMs: WORK_MS })
  for (const name of UNFINISHED) {
    if (await pathExists(join(tree.gitDir, name)))
      throw new GitError(`the worktree ${place.dir} is in the middle of a merge or rebase (${name}): finish or abort that first`)
  }
  return tree
}

async function isAncestor(git: Git, call: GitCall, commit: string, of: string): Promise<boolean> {
  return (await git.tryRun(['merge-base', '--is-ancestor', commit, of], call)).code === 0
}

async function newCommits(git: Git, call: GitCall, head: string, onto: string): Promise<WorkPlan['commits']> {
  const listed = splitNames(await git.run(['log', '-z', '-n', String(MAX_COMMITS), '--format=%H %s', head, '--not', onto], call))
  return listed.map(String).map((line) => ({ commit: line.slice(0, line.indexOf(' ')), subject: line.slice(line.indexOf(' ') + 1) }))
}

export interface WorkCommitRequest {
  readonly author: { readonly name: string; readonly email: string }
  readonly message: string
}

export interface CommittedWork {
  /** the newest commit of the work, which contains all of its files */
  readonly commit: string
  /** whether that commit is new */
  readonly isNew: boolean
}

/**
 * Commits the uncommitted files of a worktree to its checked-out branch. What is left of a removed worktree becomes a commit without a
 * branch. Null if nothing is left. Errors: `GitError`.
 */
export async function commitWork(git: Git, place: WorkPlace, request: WorkCommitRequest): Promise<CommittedWork | null> {
  const { dir } = place
  if (dir !== null && (await pathExists(dir))) return commitFiles(git, await openWork(git, { ...place, dir }), request)
  const work = await findWork(git, place)
  if (work === null) return null
  const { head, tree } = work
  return commitTree(git, inRepository(place), { head, tree }, request)
}

async function commitFiles(git: Git, tree: OpenWorktree, request: WorkCommitRequest): Promise<CommittedWork> {
  const { refs, files } = tree
  const head = await git.line(['rev-parse', 'HEAD'], refs)
  // If a later call fails, the files are staged, and nothing is lost.
  await clearSkipFlags(git, tree)
  await addAll(git, tree, await untrackedRepositories(git, tree))
  const end = await commitTree(git, refs, { head, tree: await git.line(['write-tree'], files) }, request)
  if (end.isNew) await git.run(['update-ref', '-m', 'reeve: commit for a merge', 'HEAD', end.commit, head], refs)
  return end
}

async function commitTree(
  git: Git,
  call: GitCall,
  { head, tree }: { readonly head: string; readonly tree: string },
  { author: { name, email }, message }: WorkCommitRequest,
): Promise<CommittedWork> {
  if ((await git.line(['rev-parse', `${head}^{tree}`], call)) === tree) return { commit: head, isNew: false }
  const identity = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email }
  const commit = await git.line(['commit-tree', tree, '-p', head, '-F', '-'], {
    ...call,
    env: { ...call.env, ...identity },
    input: Buffer.from(message),
  })
  return { commit, isNew: true }
}
