// The commit of a task on the simulated git: the worker's own commit, or the commit that reeve makes of the approved files.
// Used by jobs.ts.
import { changedFiles, isSame } from './objects.ts'
import type { Objects } from './objects.ts'
import type { Worktree } from './worktree.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'
import type { Job } from '../../../src/kernel/model/crew/facts.ts'

type JobOf<T extends Job['type']> = Extract<Job, { type: T }>

export const REVIEW_SUBJECT = 'reeve: what is to be reviewed'
export const STAGED_SUBJECT = 'reeve: what was staged'

type CommitOutcome =
  | { readonly type: 'committed'; readonly commit: string; readonly left: number }
  | { readonly type: 'nothing' }
  | { readonly type: 'uncommitted' }
  | { readonly type: 'refused' }

interface CommitPlace {
  readonly git: Objects
  /** the crew's branch, which is created when it is missing */
  readonly head: () => string
  readonly branch: () => string
  readonly branchOf: (id: MemberId) => string
  readonly approvedRefOf: (task: string) => string
}

export class SimulatedCommits {
  readonly #place: CommitPlace

  constructor(place: CommitPlace) {
    this.#place = place
  }

  /** Returns the worker's newest commit since the task began. With `force`, reeve commits the files if there is none. */
  commitOf(
    tree: Worktree,
    base: string,
    { force, memberBranch }: { readonly force: boolean; readonly memberBranch: string },
  ): CommitOutcome {
    const { git } = this.#place
    if (tree.unmerged.length > 0) return { type: 'refused' }
    const head = tree.head
    const knownCommits = git.isAncestor(base, head) ? [base] : [base, this.#place.head()]
    const uncommitted = tree.dirty.length
    if (git.commitsWithout([head], knownCommits).length > 0) return { type: 'committed', commit: head, left: uncommitted }
    if (uncommitted === 0) return { type: 'nothing' }
    if (!force) return { type: 'uncommitted' }
    // A branch that is not the member's may be the user's, and stays.
    if (tree.branch !== memberBranch) tree.detachFromBranch()
    tree.add()
    if (isSame(tree.files, git.files(head))) return { type: 'nothing' }
    tree.commit('by reeve')
    return { type: 'committed', commit: tree.head, left: 0 }
  }

  /** Returns the worker's commit, or a commit by reeve of the approved files. */
  commitReviewedFiles(
    tree: Worktree,
    { member, base, reviewed, force, instead }: JobOf<'commit'> & { readonly base: string; readonly reviewed: string },
  ): CommitOutcome {
    const { git } = this.#place
    const approved = git.files(reviewed)
    const memberBranch = this.#place.branchOf(member)
    const outcome = this.commitOf(tree, base, { force: false, memberBranch })
    if (outcome.type === 'committed' && isSame(git.files(outcome.commit), approved)) return outcome
    if (outcome.type === 'refused') return force ? this.#commitReviewed(reviewed) : outcome
    const isInFiles = isSame(tree.files, approved)
    if (outcome.type === 'uncommitted')
      return !force ? outcome : isInFiles ? this.commitOf(tree, base, { force: true, memberBranch }) : this.#commitReviewed(reviewed)
    if (outcome.type === 'nothing') return isSame(git.files(base), approved) ? outcome : this.#commitReviewed(reviewed)
    if (outcome.left > 0 && isInFiles) return force ? this.#commitReviewed(reviewed, outcome.commit) : { type: 'uncommitted' }
    return instead ? this.#commitReviewed(reviewed) : outcome
  }

  /** Commits the approved files as reeve, unless the reviewed commit is one of the worker. */
  #commitReviewed(reviewed: string, parent?: string): CommitOutcome {
    const { git } = this.#place
    const { files, parents, subject, at } = git.get(reviewed)
    if (subject !== REVIEW_SUBJECT) return { type: 'committed', commit: reviewed, left: 0 }
    const newParents = parent === undefined ? parents.filter((candidate) => git.get(candidate).subject !== STAGED_SUBJECT) : [parent]
    return { type: 'committed', commit: git.commit(files, newParents, 'by reeve', at), left: 0 }
  }

  /** Returns the commit, or, if it has merged foreign history, a new commit with the same files on the merge base. */
  withoutForeignHistory(commit: string, { base, merges }: JobOf<'commit'>, lands: boolean): CommitOutcome {
    const { git } = this.#place
    const start = base ?? ''
    const head = lands ? this.#place.head() : start
    const added = new Set(git.commitsWithout([commit], [start, head, ...(merges === undefined ? [] : [merges])]))
    if (
      [...added].every(
        (id) =>
          !git
            .get(id)
            .parents.slice(1)
            .some((parent) => added.has(parent)),
      )
    )
      return { type: 'committed', commit, left: 0 }
    const baseCommit = git.mergeBase(commit, head) ?? start
    const isMerged = merges !== undefined && git.isAncestor(merges, commit)
    if (!isMerged && isSame(git.files(commit), git.files(baseCommit))) return { type: 'nothing' }
    return {
      type: 'committed',
      commit: git.commit(git.files(commit), [baseCommit, ...(isMerged ? [merges] : [])], 'anew', git.get(commit).at),
      left: 0,
    }
  }

  filesWithNewMarkers(base: string, commit: string): string[] {
    const { git } = this.#place
    const hasMarkers = (text: string | undefined): boolean => text !== undefined && /^<{7} /m.test(text) && /^>{7} /m.test(text)
    return changedFiles(git.files(base), git.files(commit)).filter(
      (name) => hasMarkers(git.files(commit)[name]) && !hasMarkers(git.files(base)[name]),
    )
  }

  differenceFrom(commit: string, reviewed: string, task: string): { readonly from: string; readonly files: readonly string[] } | null {
    const { git } = this.#place
    if (commit === reviewed) return null
    const head = git.refs.get(this.#place.branch())
    const baseCommit = head === undefined ? null : git.mergeBase(commit, head)
    const isNew = baseCommit !== null && !git.isAncestor(baseCommit, reviewed)
    const merged = isNew ? git.merge(reviewed, baseCommit) : null
    const files = merged?.files ?? git.files(reviewed)
    const conflicts = merged?.conflicts ?? []
    if (conflicts.length === 0 && isSame(files, git.files(commit))) return null
    const from = git.commit(files, [reviewed, ...(isNew ? [baseCommit] : [])], 'reeve: what was approved')
    git.refs.set(this.#place.approvedRefOf(task), from)
    return { from, files: [...new Set([...changedFiles(files, git.files(commit)), ...conflicts])].toSorted().slice(0, 20) }
  }
}
