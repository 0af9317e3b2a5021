// The branch of a crew in the user's repository: creates it, merges into it, and keeps unmerged commits elsewhere. Works on git objects and
// refs alone. A merge has two steps: `makeCandidate` makes the merge commit and keeps it on a ref, `landCandidate` moves the branch to it
// by compare-and-swap. The caller verifies the merged files between the two. Guarantees that a branch only moves from its last known
// commit. Must never touch a checkout, an index, a branch outside `reeve/`, or a branch that is checked out.
// Tests: test/processes/crew/git.test.ts, test/processes/crew/git-crash.test.ts.
import { GitError } from '../git.ts'
import { commitIdentity } from './commit-task.ts'
import { MEMBER_CALL_MS } from './member-worktree.ts'
import { mergeTrees } from '../merge-tree.ts'
import { createInertGitDir } from '../open-worktree.ts'
import { dropBranch, inRepository } from '../worktree.ts'
import { pathExists } from '../../common/path-exists.ts'
import type { Git, GitCall, GitUser } from '../git.ts'
import type { MergedTree } from '../merge-tree.ts'

/** maximum number at the end of a branch name */
const MAX_BRANCH_NUMBER = 100
/** maximum number of commits that are searched for a merge */
const MAX_SEARCHED_COMMITS = 10_000
/** maximum number of conflicting files in a result */
const MAX_NAMED_FILES = 100
/** maximum length of the text of a reflog line, in characters */
const MAX_REFLOG_CHARS = 100
/** Options for calls that create commits and refs, which must survive a loss of power. */
const DURABLE_CONFIG = ['-c', 'core.fsync=committed,reference', '-c', 'core.fsyncMethod=fsync']

export interface CrewBranch extends GitUser {
  /** the git directory that all worktrees share */
  readonly repository: string
  /** short name of the branch */
  readonly branch: string
  /** the worktree whose git attributes apply, such as `merge=union`; default: none */
  readonly dir?: string
  /** maximum wait for a lock that a killed git left, in ms */
  readonly lockMs?: number
}

export type CandidateEnd =
  /** the merge exists as `commit`; the branch may move to it only from `head` */
  | { readonly type: 'candidate'; readonly commit: string; readonly head: string; readonly tree: string; readonly notes: readonly string[] }
  /** the crew's branch already has the commit */
  | { readonly type: 'merged'; readonly commit: string }
  /** the commit conflicts; `branch` keeps it */
  | { readonly type: 'conflict'; readonly files: readonly string[]; readonly more: number; readonly branch: string }
  /** the crew's branch is checked out in a worktree */
  | { readonly type: 'occupied'; readonly reason: string }
  /** git cannot merge the commit at all; `branch` keeps it */
  | { readonly type: 'left'; readonly branch: string; readonly reason: string }

export type LandEnd =
  | { readonly type: 'merged'; readonly commit: string }
  /** the branch is gone or has moved, so a new candidate is needed. `by`: who moved it last and how, from the reflog */
  | { readonly type: 'moved'; readonly by?: string }
  | { readonly type: 'occupied'; readonly reason: string }

/** The head of the crew's branch. A missing branch is created at the commit `otherwise`. Errors: `GitError`. */
export async function crewHead(git: Git, crew: CrewBranch, otherwise: string): Promise<string> {
  const call = await crewCall(crew)
  const ref = `refs/heads/${crew.branch}`
  const head = await git.tryLine(['rev-parse', '--verify', '-q', `${ref}^{commit}`], call)
  if (head !== null) return head
  const failure = await git
    .run([...DURABLE_CONFIG, 'update-ref', '-m', 'reeve: the branch of a crew', '--create-reflog', ref, otherwise, ''], call)
    .then(
      () => null,
      (error: unknown) => error,
    )
  if (failure === null) return otherwise
  // Members start at the same time, so another member may have created the branch meanwhile.
  const other = await git.tryLine(['rev-parse', '--verify', '-q', `${ref}^{commit}`], call)
  if (other === null) throw failure
  return other
}

export interface MergeRequest {
  readonly commit: string
  readonly message: string
  /** short name of the branch that keeps a commit which cannot be merged */
  readonly unmergedBranch: string
  /** the ref that keeps the candidate until it lands */
  readonly ref: string
}

/**
 * Makes the merge commit, and keeps it on a ref. The branch does not move. A repeated call gives the same or a newer commit. Errors:
 * `GitError`.
 */
export async function makeCandidate(git: Git, crew: CrewBranch, request: MergeRequest): Promise<CandidateEnd> {
  const { commit, ref } = request
  const call = await crewCall(crew)
  const head = await requireHead(git, call, crew.branch)
  if (await isAncestor(git, call, commit, head)) return cleanUpMerged(git, call, request, head)
  const blocked = await findCheckout(git, call, crew.branch)
  if (blocked !== null) return blocked
  const next = await mergeCommits(git, crew, { head, commit, message: request.message })
  if (next.type === 'unable') return { type: 'left', branch: await keepOnBranch(git, crew, request), reason: next.reason }
  if (next.type === 'conflict') return { ...next, branch: await keepOnBranch(git, crew, request) }
  await git.run([...DURABLE_CONFIG, 'update-ref', '-m', 'reeve: to be merged', ref, next.commit], call)
  return {
    type: 'candidate',
    commit: next.commit,
    head,
    tree: await git.line(['rev-parse', `${next.commit}^{tree}`], call),
    notes: next.notes,
  }
}

export interface LandRequest extends Omit<MergeRequest, 'message'> {
  readonly candidate: string
  /** the head of the branch when the candidate was made */
  readonly head: string
}

/**
 * Moves the branch from `head` to the candidate. The result `merged` means that the branch contains the commit. Safe to repeat. Errors:
 * `GitError`.
 */
export async function landCandidate(git: Git, crew: CrewBranch, request: LandRequest): Promise<LandEnd> {
  const call = await crewCall(crew)
  const current = await findHead(git, call, crew.branch)
  // The branch was deleted. The next candidate creates it again.
  if (current === null) return { type: 'moved' }
  if (await isAncestor(git, call, request.commit, current)) return cleanUpMerged(git, call, request, current)
  const blocked = await findCheckout(git, call, crew.branch)
  if (blocked !== null) return blocked
  if (current !== request.head || !(await moveBranch(git, crew, request.candidate, current))) return describeMove(git, call, crew.branch)
  const after = await findHead(git, call, crew.branch)
  return after !== null && (await isAncestor(git, call, request.commit, after))
    ? cleanUpMerged(git, call, request, after)
    : describeMove(git, call, crew.branch)
}

async function describeMove(git: Git, call: GitCall, branch: string): Promise<{ readonly type: 'moved'; readonly by?: string }> {
  const [author = '', action = ''] = (
    (await git.tryLine(['log', '-g', '-1', '--format=%gn%n%gs', `refs/heads/${branch}`], call)) ?? ''
  ).split('\n')
  return author === ''
    ? { type: 'moved' }
    : { type: 'moved', by: action === '' ? author : `${author} (${action.slice(0, MAX_REFLOG_CHARS)})` }
}

function findHead(git: Git, call: GitCall, branch: string): Promise<string | null> {
  return git.tryLine(['rev-parse', '--verify', '-q', `refs/heads/${branch}^{commit}`], call)
}

async function requireHead(git: Git, call: GitCall, branch: string): Promise<string> {
  const head = await findHead(git, call, branch)
  if (head === null) throw new GitError(`the branch ${branch} does not exist any more`)
  return head
}

/** The reason why the branch cannot move: a worktree has it checked out. Null if none has. */
async function findCheckout(
  git: Git,
  call: GitCall,
  branch: string,
): Promise<{ readonly type: 'occupied'; readonly reason: string } | null> {
  const worktree = await findWorktreeWith(git, call, branch)
  return worktree === null
    ? null
    : {
        type: 'occupied',
        reason: `${branch} is checked out in ${worktree}, and reeve does not move a branch that is checked out: check out another branch there`,
      }
}

/**
 * Keeps an unmerged commit on a branch, for the user or for a conflict task. Returns the branch. If its name is in use, a number is added.
 */
export async function keepOnBranch(
  git: Git,
  crew: CrewBranch,
  { commit, unmergedBranch }: Pick<MergeRequest, 'commit' | 'unmergedBranch'>,
): Promise<string> {
  const call = await crewCall(crew)
  for (let number = 1; number <= MAX_BRANCH_NUMBER; number += 1) {
    const name = number === 1 ? unmergedBranch : `${unmergedBranch}-${number}`
    const current = await git.tryLine(['rev-parse', '--verify', '-q', `refs/heads/${name}`], call)
    if (current === commit) return name
    // The commit contains the branch, so the branch may move to it.
    if (current !== null && (!(await isAncestor(git, call, current, commit)) || (await findWorktreeWith(git, call, name)) !== null))
      continue
    await git.run(
      [...DURABLE_CONFIG, 'update-ref', '-m', 'reeve: not merged', '--create-reflog', `refs/heads/${name}`, commit, current ?? ''],
      call,
    )
    return name
  }
  throw new GitError(`there are already ${MAX_BRANCH_NUMBER} branches ${unmergedBranch}-*: merge or delete some`)
}

/** Merges commits into one commit: the start of a task that needs unmerged tasks. `ref`, which is not a branch, keeps it. */
export async function joinCommits(
  git: Git,
  crew: CrewBranch,
  head: string,
  { commits, ref }: { readonly commits: readonly string[]; readonly ref: string },
): Promise<{ readonly commit: string } | { readonly problem: string }> {
  const call = await crewCall(crew)
  let current = head
  for (const commit of commits) {
    if (await isAncestor(git, call, commit, current)) continue
    const next = await mergeCommits(git, crew, {
      head: current,
      commit,
      message: `Merge ${commit.slice(0, 12)}, on which this task depends\n`,
    })
    if (next.type === 'conflict') return { problem: `the tasks that it depends on conflict in ${next.files.join(', ')}` }
    if (next.type === 'unable') return { problem: next.reason }
    current = next.commit
  }
  if (current !== head) await git.run(['update-ref', ref, current], call)
  return { commit: current }
}

type MergeAttempt =
  | { readonly type: 'next'; readonly commit: string; readonly notes: readonly string[] }
  | { readonly type: 'conflict'; readonly files: readonly string[]; readonly more: number }
  | { readonly type: 'unable'; readonly reason: string }

async function mergeCommits(
  git: Git,
  crew: CrewBranch,
  { head, commit, message }: { readonly head: string; readonly commit: string; readonly message: string },
): Promise<MergeAttempt> {
  const call = await crewCall(crew)
  if (await isAncestor(git, call, head, commit)) return { type: 'next', commit, notes: [] }
  const merged = await mergeTree(git, crew, head, commit)
  if ('unable' in merged) return { type: 'unable', reason: merged.unable }
  if (merged.files.length > 0)
    return { type: 'conflict', files: merged.files.slice(0, MAX_NAMED_FILES), more: Math.max(0, merged.files.length - MAX_NAMED_FILES) }
  const identity = await commitIdentity(git, call, crew.env)
  const merge = await git.line([...DURABLE_CONFIG, 'commit-tree', merged.tree, '-p', head, '-p', commit, '-F', '-'], {
    ...call,
    env: { ...call.env, ...identity.env },
    input: Buffer.from(message),
  })
  return { type: 'next', commit: merge, notes: identity.notes }
}

/** Merges two commits into a tree. `files` are the conflicting files, which have conflict markers in the tree. */
export async function mergeTree(git: Git, crew: CrewBranch, ours: string, theirs: string): Promise<MergedTree> {
  return mergeTrees(git, await mergeCall(git, crew), ours, theirs)
}

/** Moves the branch by compare-and-swap. False if the branch has moved meanwhile. */
async function moveBranch(git: Git, crew: CrewBranch, to: string, from: string): Promise<boolean> {
  const call = await crewCall(crew)
  const ref = `refs/heads/${crew.branch}`
  const { code, stderr } = await git.tryRun([...DURABLE_CONFIG, 'update-ref', '-m', 'reeve: merged', ref, to, from], call)
  if (code === 0) return true
  if ((await git.tryLine(['rev-parse', '--verify', '-q', ref], call)) !== from) return false
  throw new GitError(stderr.toString().trim())
}

/** Deletes the branches and the ref that kept a commit until it was merged. */
async function cleanUpMerged(
  git: Git,
  call: GitCall,
  { commit, unmergedBranch, ref }: Pick<MergeRequest, 'commit' | 'unmergedBranch' | 'ref'>,
  head: string,
): Promise<{ readonly type: 'merged'; readonly commit: string }> {
  const branches = await git.line(
    [
      'for-each-ref',
      '--format=%(refname:lstrip=2)',
      '--points-at',
      commit,
      `refs/heads/${unmergedBranch}`,
      `refs/heads/${unmergedBranch}-*`,
    ],
    call,
  )
  for (const branch of branches === '' ? [] : branches.split('\n')) await dropBranch(git, call, branch)
  await git.tryLine(['update-ref', '-d', ref], call)
  return { type: 'merged', commit: await mergeCommitOf(git, call, commit, head) }
}

/** The commit on the branch with which a commit landed: the commit itself, or the merge of it. */
async function mergeCommitOf(git: Git, call: GitCall, commit: string, head: string): Promise<string> {
  const line = await git.line(['rev-list', '--first-parent', '--parents', '-n', String(MAX_SEARCHED_COMMITS), head], call)
  for (const [landed = '', , ...merged] of line.split('\n').map((parents) => parents.split(' '))) {
    if (landed === commit || merged.includes(commit)) return landed
  }
  return head
}

/** Whether a commit is `head` or one of its ancestors. */
export async function isAncestor(git: Git, call: GitCall, commit: string, head: string): Promise<boolean> {
  const { code, stderr } = await git.tryRun(['merge-base', '--is-ancestor', commit, head], call)
  if (code !== 0 && code !== 1) throw new GitError(stderr.toString().trim())
  return code === 0
}

/** The worktree that has the branch checked out. Null if there is none, or if its folder is gone. */
async function findWorktreeWith(git: Git, call: GitCall, branch: string): Promise<string | null> {
  const dir = await git.line(['for-each-ref', '--format=%(worktreepath)', `refs/heads/${branch}`], call)
  return dir !== '' && (await pathExists(dir)) ? dir : null
}

/** A call for objects and refs of the repository. Errors: `GitError` if the repository is gone. */
export async function crewCall({ branch: _, dir: __, ...crew }: CrewBranch): Promise<GitCall> {
  if (!(await pathExists(crew.repository))) throw new GitError(`the repository ${crew.repository} is gone: if it was moved, move it back`)
  return inRepository({ ...crew, limitMs: MEMBER_CALL_MS })
}

/** Returns a call for a merge, with the attributes of a worktree. Merge drivers run only if the member may run programs. */
async function mergeCall(git: Git, crew: CrewBranch): Promise<GitCall> {
  const { dir, programs } = crew
  const call = await crewCall(crew)
  const merge = programs === true ? call : { ...call, ...(await createInertGitDir(git, crew)) }
  return dir !== undefined && merge.at !== null && (await pathExists(dir))
    ? { ...merge, cwd: dir, at: { ...merge.at, workTree: dir } }
    : merge
}
