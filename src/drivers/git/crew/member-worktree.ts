// The worktree of a crew's member between two turns. Resets it to a commit, hands it over to a successor, and keeps its files on refs.
// Guarantees that files are salvaged to a ref before they change. Each function may be interrupted at any instruction, and repeated. Must
// never run while the member is in a turn, nor touch another worktree or a branch of the user. The commit of a task is in commit-task.ts.
// Tests: test/processes/crew/git.test.ts.
import { mkdir, readFile, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError } from '../git.ts'
import { restoreAfterCrash } from './snapshot.ts'
import { clearStaleLocks } from '../stale-locks.ts'
import { salvageNext } from '../salvage.ts'
import {
  commitAll,
  dirtyNames,
  clearSkipFlags,
  REVIEW_SUBJECT,
  STAGED_SUBJECT,
  submodulesIn,
  untrackedRepositories,
} from '../uncommitted-files.ts'
import { isOwnDir, openWorktreeToRead, openWorktree } from '../open-worktree.ts'
import { inRepository } from '../worktree.ts'
import { pathExists } from '../../common/path-exists.ts'
import type { Git, GitCall, GitUser } from '../git.ts'
import type { OpenWorktree } from '../open-worktree.ts'
import { ifMissing } from '../../../kernel/util/missing-file.ts'

/** time limit of a call that may run the user's filters and hooks, which may download, build and test; in ms */
export const LONG_CALL_MS = 600_000
/** time limit of any other call, in ms; enough for the status of a large repository with the user's filters */
export const MEMBER_CALL_MS = 120_000
/** The beginning of the subject of commits in which reeve keeps files. They are not commits of a member. */
const INTERNAL_SUBJECT = 'reeve: what '

/** Removes untracked files from the whole worktree. Works from any directory in it. */
const CLEAN_COMMAND = ['clean', '-q', '-f', '-d', '--', ':/']

/** Unfinished operations: the path in the git directory that shows each, and the command that abandons it without changing files. */
export const UNFINISHED_OPERATIONS = { 'rebase-merge': 'rebase', 'rebase-apply': 'rebase', sequencer: 'cherry-pick' } as const

/** Files in the git directory that exist during a merge, a cherry-pick or a revert. */
const MERGE_FILES = ['MERGE_HEAD', 'MERGE_MODE', 'MERGE_MSG', 'MERGE_RR', 'AUTO_MERGE', 'SQUASH_MSG', 'CHERRY_PICK_HEAD', 'REVERT_HEAD']

export interface MemberTree extends GitUser {
  readonly dir: string
  /** the git directory that all worktrees share */
  readonly repository: string
  /** the member's own branch */
  readonly branch: string
  /** the member's working directory, below `dir`; kept even if no commit has it, because a program needs its directory */
  readonly cwd?: string
  /** maximum wait for a lock that a killed git left, in ms */
  readonly lockMs?: number
}

/** The refs of salvaged files: `NAME-N`, with the first free number N. */
export interface SalvageName {
  readonly name: string
  readonly message: string
  /** refs whose files are safe already and need no salvage */
  readonly safeRefs?: readonly string[]
}

/**
 * Checks out the member's branch at a commit, and removes other files, except ignored ones. Returns the ref of the salvaged files, or null.
 */
export async function resetTo(git: Git, member: MemberTree, commit: string, salvage: SalvageName): Promise<string | null> {
  const { branch, cwd } = member
  const tree = await openMember(git, member)
  await checkBranchFree(git, tree, branch)
  const salvagedBefore = await salvageNext(git, tree, { ...salvage, branch })
  const call = await callInDir(tree, cwd)
  await git.run(CLEAN_COMMAND, call)
  await abandonUnfinished(git, tree)
  await checkOut(git, tree, { inside: call, branch, at: commit })
  // The new commit may ignore other files than the previous one, so files may be untracked now.
  const repositories = await untrackedRepositories(git, tree)
  const newlyUnignored =
    (await dirtyNames(git, tree, repositories)).length > 0 ? await salvageNext(git, tree, { ...salvage, branch }) : null
  if (newlyUnignored) await git.run(CLEAN_COMMAND, call)
  if (cwd !== undefined)
    await mkdir(cwd, { recursive: true }).catch((error: Error) => {
      throw new GitError(error.message)
    })
  return (salvagedBefore ?? newlyUnignored)?.ref ?? null
}

async function checkOut(
  git: Git,
  tree: OpenWorktree,
  { inside, branch, at }: { readonly inside: GitCall; readonly branch: string; readonly at: string },
): Promise<void> {
  const { refs, files, head } = tree
  if (head === null) {
    await git.run(['checkout', '-q', '-f', '-B', branch, at], { ...inside, limitMs: LONG_CALL_MS })
    // Without the update, the next commit would revert changes of submodules by other tasks. A missing or changed submodule stays.
    if ((await submodulesIn(git, tree)).length > 0)
      await git.tryLine(['submodule', '--quiet', 'update', '--no-fetch', '--recursive'], { ...files, limitMs: LONG_CALL_MS })
    return
  }
  await git.run(['read-tree', '--reset', '-u', at], { ...inside, limitMs: LONG_CALL_MS })
  await git.run(['update-ref', '-m', 'reeve: checkout', `refs/heads/${branch}`, at], refs)
  await git.run(['symbolic-ref', '-m', 'reeve: checkout', 'HEAD', `refs/heads/${branch}`], refs)
  await removeMergeFiles(tree)
}

/**
 * Gives the state of a worktree to a successor's worktree: the commits, and the staged, changed and new files. `ref` keeps that state, so
 * that a repeated call has the same result, whatever happened to the first worktree.
 */
export async function handOver(
  git: Git,
  { from, to, ref, salvage }: { readonly from: MemberTree; readonly to: MemberTree; readonly ref: string; readonly salvage: SalvageName },
): Promise<{ readonly head: string; readonly salvaged: string | null }> {
  await openMember(git, to)
  return restoreSnapshotCommit(git, to, await keepForSuccessor(git, from, ref), salvage)
}

/** Restores a snapshot into a worktree: the commit, the staged files and the files. */
async function restoreSnapshotCommit(
  git: Git,
  to: MemberTree,
  snapshot: string,
  salvage: SalvageName,
): Promise<{ readonly head: string; readonly salvaged: string | null }> {
  const tree = await openMember(git, to)
  const [, head = '', second = head] = (await git.line(['rev-list', '--parents', '-n', '1', snapshot], tree.refs)).split(' ')
  // A second parent with another subject belongs to an unfinished merge.
  const staged = (await git.line(['log', '-1', '--format=%s', second], tree.refs)) === STAGED_SUBJECT ? second : head
  const salvaged = await resetTo(git, to, head, salvage)
  await git.run(['read-tree', '--reset', '-u', snapshot], { ...(await callInDir(tree, to.cwd)), limitMs: LONG_CALL_MS })
  await git.run(['read-tree', staged], tree.files)
  await git.tryLine(['update-index', '-q', '--refresh'], tree.files)
  return { head, salvaged }
}

/**
 * Restores the state that a ref of reeve keeps; files that were not committed become uncommitted files. Null if the ref does not exist.
 * `head`: the head of the crew's branch. `base` in the result: the merge base of that head and the commit.
 */
export async function restoreTree(
  git: Git,
  to: MemberTree,
  { ref, head, salvage }: { readonly ref: string; readonly head: string; readonly salvage: SalvageName },
): Promise<{ readonly base: string; readonly salvaged: string | null } | null> {
  const { refs } = await openMember(git, to)
  const commit = await git.tryLine(['rev-parse', '--verify', '-q', `${ref}^{commit}`], refs)
  const base = commit === null ? null : await git.tryLine(['merge-base', commit, head], refs)
  if (commit === null || base === null) return null
  const subject = await git.line(['log', '-1', '--format=%s', commit], refs)
  const salvaged = subject.startsWith(INTERNAL_SUBJECT)
    ? (await restoreSnapshotCommit(git, to, commit, salvage)).salvaged
    : await resetTo(git, to, commit, salvage)
  return { base, salvaged }
}

/** Commits all files for the review, and points `ref` to the commit. Without changes, this is HEAD. The worktree stays unchanged. */
export async function commitForReview(git: Git, member: MemberTree, ref: string): Promise<string> {
  const tree = await openMember(git, member)
  await clearSkipFlags(git, tree)
  const repositories = await untrackedRepositories(git, tree)
  const merges = await mergeHeads(tree)
  const isHead = merges.length === 0 && (await dirtyNames(git, tree, repositories)).length === 0
  const head = await git.line(['rev-parse', 'HEAD'], tree.refs)
  const commit = isHead
    ? head
    : await withMergeParents(git, tree, await commitAll(git, tree, { message: REVIEW_SUBJECT, repositories }), merges)
  await git.run(['update-ref', ref, commit], tree.refs)
  return commit
}

/** The commit of a ref. Null if the ref does not exist. */
export async function refHead(git: Git, member: MemberTree, ref: string): Promise<string | null> {
  return git.tryLine(['rev-parse', '--verify', '-q', ref], inRepository(member))
}

/** Adds the parents of an unfinished merge to the commit for the review. Its history then shows which conflicts were resolved. */
async function withMergeParents(git: Git, { refs }: OpenWorktree, files: string, merges: readonly string[]): Promise<string> {
  if (merges.length === 0) return files
  const parents = (await git.line(['log', '-1', '--format=%P', files], refs)).split(' ')
  return git.line(
    ['commit-tree', `${files}^{tree}`, ...[...parents, ...merges].flatMap((parent) => ['-p', parent]), '-m', REVIEW_SUBJECT],
    refs,
  )
}

/** Returns the commits that an unfinished merge merges; none without a merge. */
export async function mergeHeads({ gitDir }: Pick<OpenWorktree, 'gitDir'>): Promise<readonly string[]> {
  const text = await readFile(join(gitDir, 'MERGE_HEAD'), 'utf8').catch(ifMissing(''))
  return text.split('\n').filter((line) => /^[0-9a-f]{40,64}$/.test(line))
}

/** Points the review ref to an existing commit. */
export async function setReviewRef(git: Git, member: MemberTree, ref: string, commit: string): Promise<string> {
  await git.run(['update-ref', ref, commit], inRepository(member))
  return commit
}

export async function deleteReviewRef(git: Git, member: Parameters<typeof inRepository>[0], ref: string): Promise<void> {
  await git.tryLine(['update-ref', '-d', ref], inRepository(member))
}

/**
 * Salvages uncommitted files, and commits that no branch has. The worktree stays unchanged. Null if there is nothing to salvage, or no
 * worktree.
 */
export async function salvageFiles(git: Git, member: MemberTree, salvage: SalvageName): Promise<string | null> {
  if (!(await pathExists(member.dir))) return null
  return (await salvageNext(git, await openMember(git, member), { ...salvage, branch: null }))?.ref ?? null
}

/** Like `salvageFiles`, for a worktree whose `.git` is gone or was replaced. Reads the files through the repository. */
export async function rescueFiles(git: Git, member: MemberTree, salvage: SalvageName): Promise<string | null> {
  if (!(await pathExists(member.dir))) return null
  const tree = await openWorktreeToRead(git, { ...member, limitMs: MEMBER_CALL_MS })
  return (await salvageNext(git, tree, { ...salvage, branch: null }))?.ref ?? null
}

/** Commits the whole state for a successor, and points `ref` to the commit. An existing ref stays. Returns its commit. */
export async function keepForSuccessor(git: Git, from: MemberTree, ref: string): Promise<string> {
  const existing = await git.tryLine(['rev-parse', '--verify', '-q', ref], inRepository(from))
  if (existing !== null) return existing
  const tree = await openMember(git, from)
  await clearSkipFlags(git, tree)
  const repositories = await untrackedRepositories(git, tree)
  const commit = await commitAll(git, tree, { message: 'reeve: what was handed over', repositories })
  await git.run(['update-ref', '-m', 'reeve: handed over', ref, commit], tree.refs)
  return commit
}

/** Opens the worktree of a member. Removes leftover locks, and restores files that a killed daemon left changed. */
export async function openMember(git: Git, member: MemberTree): Promise<OpenWorktree> {
  const { repository, branch, lockMs } = member
  const tree = await openWorktree(git, { ...member, limitMs: MEMBER_CALL_MS })
  // Only the member and reeve use this worktree, and the member is in no turn: any lock is a leftover.
  await clearStaleLocks(
    [join(tree.gitDir, 'index.lock'), join(tree.gitDir, 'HEAD.lock'), join(repository, 'refs', 'heads', `${branch}.lock`)],
    lockMs,
  )
  await restoreAfterCrash(git, tree)
  return tree
}

/**
 * A call of git in the working directory of the member, because git does not remove its own working directory. Not in a link or another
 * repository.
 */
async function callInDir(tree: OpenWorktree, cwd: string = tree.dir): Promise<GitCall> {
  return cwd !== tree.dir && (await isOwnDir(tree, cwd)) ? { ...tree.files, cwd } : tree.files
}

/** Errors: `GitError` if another worktree has the branch checked out. Older versions of git would move it there. */
async function checkBranchFree(git: Git, { dir, refs }: OpenWorktree, branch: string): Promise<void> {
  const worktrees = (await git.line(['worktree', 'list', '--porcelain'], refs)).split('\n\n').map((entry) => entry.split('\n'))
  const ownDir = await realpath(dir)
  for (const lines of worktrees) {
    const worktree = lines[0]?.slice('worktree '.length) ?? ''
    if (lines.includes(`branch refs/heads/${branch}`) && worktree !== ownDir && (await pathExists(worktree)))
      throw new GitError(`${branch} is checked out in ${worktree}: check out another branch there`)
  }
}

async function abandonUnfinished(git: Git, { refs, gitDir }: OpenWorktree): Promise<void> {
  for (const [name, verb] of Object.entries(UNFINISHED_OPERATIONS))
    if (await pathExists(join(gitDir, name))) await git.tryLine([verb, '--quit'], refs)
}

/** Removes git's files of an unfinished merge, cherry-pick or revert. */
export async function removeMergeFiles({ gitDir }: OpenWorktree): Promise<void> {
  await Promise.all(MERGE_FILES.map((name) => rm(join(gitDir, name), { force: true })))
}
