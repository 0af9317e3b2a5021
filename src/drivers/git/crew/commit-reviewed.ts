// Commits a task: takes the author's commit if it equals the approved tree, otherwise commits the approved tree. Each function may be
// interrupted at any instruction, and repeated. Must never run while the author is in a turn, nor change a file of the worktree.
// Tests: test/processes/crew/commit-reviewed.test.ts, test/processes/crew/git-crash.test.ts.
import { findConflict, findDifference, isSameTree, filesWithNewMarkers } from './compare.ts'
import { crewHead, isAncestor } from './merge.ts'
import { commitTask, hooksNote, commitIdentity } from './commit-task.ts'
import { openMember } from './member-worktree.ts'
import { commitAll, clearSkipFlags, REVIEW_SUBJECT, STAGED_SUBJECT, untrackedRepositories } from '../uncommitted-files.ts'
import type { MergeConflict, TreeDifference, Reviewed } from './compare.ts'
import type { CrewBranch } from './merge.ts'
import type { CommitEnd, CommitRequest } from './commit-task.ts'
import type { MemberTree } from './member-worktree.ts'
import type { Git, GitCall } from '../git.ts'
import type { OpenWorktree } from '../open-worktree.ts'

export interface ReviewedCommitRequest extends CommitRequest {
  /** the approved files; null without a review, so that nothing is compared */
  readonly reviewed: Reviewed | null
  /** the commit whose conflict the task resolves; the task's commit must contain it */
  readonly mustContain: string | null
  /** the author cannot be asked, so the approved tree is committed in any case */
  readonly hasNoAuthor: boolean
  /** the commit will be merged into the crew's branch, so it must merge without conflicts */
  readonly willMerge: boolean
}

type Committed = Extract<CommitEnd, { type: 'committed' }>

export type ReviewedCommitEnd =
  | CommitEnd
  /** the commit differs from the approved tree */
  | ({ readonly type: 'differs'; readonly commit: string } & TreeDifference)
  /** the commit equals the approved tree, but conflicts with the crew's branch */
  | ({ readonly type: 'conflict'; readonly commit: string } & MergeConflict)

/** Commits the task, or returns what the author must do first. Errors: `GitError`. */
export async function commitReviewed(
  git: Git,
  member: MemberTree,
  crew: CrewBranch,
  request: ReviewedCommitRequest,
): Promise<ReviewedCommitEnd> {
  const tree = await openMember(git, member)
  const end = request.reviewed
    ? await commitApproved(git, { member, tree }, request, request.reviewed.commit)
    : await commitTask(git, member, request)
  if (end.type === 'nothing' && request.mustContain !== null) return { type: 'refused', output: missingMerge(request.mustContain) }
  if (end.type !== 'committed') return end
  const result = await withoutForeignHistory(git, { member, tree }, crew, { ...request, end })
  return result.type === 'committed' ? checkCommit(git, crew, { tree, end: result }, request) : result
}

/** The author's worktree. */
interface AuthorFiles {
  readonly member: MemberTree
  readonly tree: OpenWorktree
}

/** Returns the author's commit if it equals the approved tree. Otherwise commits that tree, or returns what the author must do. */
async function commitApproved(git: Git, files: AuthorFiles, request: ReviewedCommitRequest, reviewed: string): Promise<CommitEnd> {
  const { tree, member } = files
  const { mayCommit, hasNoAuthor, base } = request
  const authorEnd = await commitTask(git, member, { ...request, mayCommit: false })
  const isApproved = authorEnd.type === 'committed' && (await isSameTree(git, tree.refs, authorEnd.commit, reviewed))
  if (isApproved) return authorEnd
  if (authorEnd.type === 'refused') return mayCommit ? commitTree(git, files, request, reviewed) : authorEnd
  const hasApproved =
    authorEnd.type !== 'nothing' && (authorEnd.type === 'uncommitted' || authorEnd.left > 0) && (await isInWorktree(git, tree, reviewed))
  if (authorEnd.type === 'uncommitted') {
    if (!mayCommit) return authorEnd
    return hasApproved ? commitTask(git, member, request) : commitTree(git, files, request, reviewed)
  }
  if (authorEnd.type === 'nothing')
    return (await isSameTree(git, tree.refs, base, reviewed)) ? authorEnd : commitTree(git, files, request, reviewed)
  if (hasApproved)
    return mayCommit
      ? commitTree(git, files, request, reviewed, authorEnd.commit)
      : { type: 'uncommitted', files: authorEnd.files, more: 0 }
  return hasNoAuthor ? commitTree(git, files, request, reviewed) : authorEnd
}

/** Whether the files of the worktree equal the approved tree. */
async function isInWorktree(git: Git, tree: OpenWorktree, reviewed: string): Promise<boolean> {
  await clearSkipFlags(git, tree)
  const worktreeCommit = await commitAll(git, tree, { repositories: await untrackedRepositories(git, tree) })
  return isSameTree(git, tree.refs, worktreeCommit, reviewed)
}

/** Commits the approved tree without the worktree's files. A repeated call gives the same commit. */
async function commitTree(
  git: Git,
  { member, tree }: AuthorFiles,
  { message }: ReviewedCommitRequest,
  reviewed: string,
  parent?: string,
): Promise<Committed> {
  const { refs } = tree
  const [subject = '', date = '', parents = ''] = (await git.line(['log', '-1', '--format=%s%n%cI%n%P', reviewed], refs)).split('\n')
  // The reviewed commit is a commit of the author, and needs no new one.
  if (subject !== REVIEW_SUBJECT)
    return {
      type: 'committed',
      commit: reviewed,
      commits: 1,
      left: 0,
      files: [],
      notes: ['its worker had moved away from its reviewed commit: reeve uses that commit'],
    }
  const onto = parent === undefined ? await withoutStagedParents(git, refs, parents.split(' ')) : [parent]
  const { commit, notes } = await commitFiles(git, { member, refs }, { of: reviewed, onto, date, message })
  return {
    type: 'committed',
    commit,
    commits: 1,
    left: 0,
    files: [],
    notes: [
      ...notes,
      'its worker did not commit the approved files: reeve did',
      ...(await hooksNote(git, tree, 'reeve committed the reviewed files')),
    ],
  }
}

interface NewCommit {
  /** the commit with the files */
  readonly of: string
  readonly onto: readonly string[]
  /** the author date and the committer date; both are fixed, so that a repeated call gives the same commit */
  readonly date: string
  readonly message: string
}

/** Commits the files of another commit on other parents. The author is the user of git's configuration. */
async function commitFiles(
  git: Git,
  { member, refs }: { readonly member: MemberTree; readonly refs: GitCall },
  { of, onto, date, message }: NewCommit,
): Promise<{ readonly commit: string; readonly notes: readonly string[] }> {
  const identity = await commitIdentity(git, refs, member.env)
  const call: GitCall = {
    ...refs,
    env: { ...refs.env, ...identity.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
    input: Buffer.from(message),
  }
  const commit = await git.line(['commit-tree', `${of}^{tree}`, ...onto.flatMap((parent) => ['-p', parent]), '-F', '-'], call)
  return { commit, notes: identity.notes }
}

async function withoutStagedParents(git: Git, refs: GitCall, parents: readonly string[]): Promise<readonly string[]> {
  const kept: string[] = []
  for (const parent of parents) if ((await git.line(['log', '-1', '--format=%s', parent], refs)) !== STAGED_SUBJECT) kept.push(parent)
  return kept
}

/**
 * Removes foreign history from a commit. A commit may merge history that belongs neither to the task nor to the crew's branch. Git would
 * then count that history as merged, even if the files have none of it. In this case reeve commits the same tree again, on the commit of
 * the crew's branch from which the task started.
 */
async function withoutForeignHistory(
  git: Git,
  { member, tree: { refs } }: AuthorFiles,
  crew: CrewBranch,
  { end, base, mustContain, willMerge, message }: ReviewedCommitRequest & { readonly end: Committed },
): Promise<Committed | { readonly type: 'nothing' }> {
  const head = willMerge ? await crewHead(git, crew, base) : base
  const known = [base, head, ...(mustContain === null ? [] : [mustContain])]
  if (await hasOnlyKnownHistory(git, refs, end.commit, known)) return end
  const startCommit = (await git.tryLine(['merge-base', end.commit, head], refs)) ?? base
  const isMerged = mustContain !== null && (await isAncestor(git, refs, mustContain, end.commit))
  if (!isMerged && (await isSameTree(git, refs, end.commit, startCommit))) return { type: 'nothing' }
  const date = await git.line(['log', '-1', '--format=%cI', end.commit], refs)
  const { commit, notes } = await commitFiles(
    git,
    { member, refs },
    { of: end.commit, onto: [startCommit, ...(isMerged ? [mustContain] : [])], date, message },
  )
  return {
    ...end,
    commit,
    commits: 1,
    notes: [...notes, ...end.notes, 'its history contained commits of other tasks, so reeve committed its files again without them'],
  }
}

/** Whether the new merge commits merge only commits that are in `known`, or in their history. */
async function hasOnlyKnownHistory(git: Git, refs: GitCall, commit: string, known: readonly string[]): Promise<boolean> {
  const lines = (await git.line(['rev-list', '--parents', commit, '--not', ...known], refs)).split('\n').map((line) => line.split(' '))
  const added = new Set(lines.map(([id]) => id))
  return lines.every(([, , ...merged]) => !merged.some((parent) => added.has(parent)))
}

function missingMerge(commit: string): string {
  return `it does not contain ${commit}, whose conflict it resolves: run \`git merge ${commit}\``
}

async function checkCommit(
  git: Git,
  crew: CrewBranch,
  { tree, end }: { readonly tree: OpenWorktree; readonly end: Committed },
  request: ReviewedCommitRequest,
): Promise<ReviewedCommitEnd> {
  const { reviewed, mustContain, base, mayCommit, hasNoAuthor, willMerge } = request
  const { commit } = end
  if (mustContain !== null && !(await isAncestor(git, tree.refs, mustContain, commit)))
    return { type: 'refused', output: missingMerge(mustContain) }
  const markers = commit === reviewed?.commit ? [] : await filesWithNewMarkers(git, tree.refs, base, commit)
  const mustAsk = markers.length > 0 && !(mayCommit && reviewed && !hasNoAuthor)
  if (mustAsk) return { type: 'refused', output: `conflict markers are left in ${markers.join(', ')}` }
  const difference = reviewed ? await findDifference(git, crew, commit, reviewed) : null
  if (difference) return { type: 'differs', commit, ...difference }
  if (markers.length > 0 && reviewed) return { type: 'differs', commit, from: reviewed.commit, files: markers, more: 0 }
  const conflict = willMerge ? await findConflict(git, crew, commit, base) : null
  return conflict ? { type: 'conflict', commit, ...conflict } : end
}
