// The commit of a task on the model: which worker made it, whether it is the approved form, and what reeve commits instead.
// Used by jobs.ts.
import { changed, isSame } from './objects.ts'
import type { Objects } from './objects.ts'
import type { Worktree } from './worktree.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'
import type { Job } from '../../../src/kernel/model/crew/facts.ts'

type JobOf<T extends Job['type']> = Extract<Job, { type: T }>

export const VIEW = 'reeve: what is to be reviewed'
export const STAGED = 'reeve: what was staged'

type Made =
  | { readonly type: 'committed'; readonly commit: string; readonly left: number }
  | { readonly type: 'nothing' }
  | { readonly type: 'uncommitted' }
  | { readonly type: 'refused' }

interface At {
  readonly git: Objects
  /** the crew's branch, which is created when it is missing */
  readonly head: () => string
  readonly branch: () => string
  /** the branch of a member */
  readonly own: (id: MemberId) => string
  readonly approved: (task: string) => string
}

export class ModelCommits {
  readonly #at: At

  constructor(at: At) {
    this.#at = at
  }

  /** The commit since the task began, or reeve's own commit. */
  committed(tree: Worktree, base: string, { force, own }: { readonly force: boolean; readonly own: string }): Made {
    const { git } = this.#at
    if (tree.unmerged.length > 0) return { type: 'refused' }
    const head = tree.head
    const others = git.isIn(base, head) ? [base] : [base, this.#at.head()]
    const left = tree.dirty.length
    if (git.without([head], others).length > 0) return { type: 'committed', commit: head, left }
    if (left === 0) return { type: 'nothing' }
    if (!force) return { type: 'uncommitted' }
    // A branch that is not the member's may be the user's, and stays.
    if (tree.branch !== own) tree.letGo()
    tree.add()
    if (isSame(tree.files, git.files(head))) return { type: 'nothing' }
    tree.commit('by reeve')
    return { type: 'committed', commit: tree.head, left: 0 }
  }

  asReviewed(
    tree: Worktree,
    { member, base, reviewed, force, instead }: JobOf<'commit'> & { readonly base: string; readonly reviewed: string },
  ): Made {
    const { git } = this.#at
    const approved = git.files(reviewed)
    const own = this.#at.own(member)
    const seen = this.committed(tree, base, { force: false, own })
    if (seen.type === 'committed' && isSame(git.files(seen.commit), approved)) return seen
    if (seen.type === 'refused') return force ? this.#ofReviewed(reviewed) : seen
    const lies = isSame(tree.files, approved)
    if (seen.type === 'uncommitted')
      return !force ? seen : lies ? this.committed(tree, base, { force: true, own }) : this.#ofReviewed(reviewed)
    if (seen.type === 'nothing') return isSame(git.files(base), approved) ? seen : this.#ofReviewed(reviewed)
    if (seen.left > 0 && lies) return force ? this.#ofReviewed(reviewed, seen.commit) : { type: 'uncommitted' }
    return instead ? this.#ofReviewed(reviewed) : seen
  }

  /** Reeve commits the approved form. */
  #ofReviewed(reviewed: string, parent?: string): Made {
    const { git } = this.#at
    const { files, parents, subject, at } = git.get(reviewed)
    if (subject !== VIEW) return { type: 'committed', commit: reviewed, left: 0 }
    const onto = parent === undefined ? parents.filter((one) => git.get(one).subject !== STAGED) : [parent]
    return { type: 'committed', commit: git.commit(files, onto, 'by reeve', at), left: 0 }
  }

  /** A commit whose history belongs neither to the task nor to the crew's branch stays out. */
  onOwnHistory(commit: string, { base, merges }: JobOf<'commit'>, lands: boolean): Made {
    const { git } = this.#at
    const start = base ?? ''
    const head = lands ? this.#at.head() : start
    const added = new Set(git.without([commit], [start, head, ...(merges === undefined ? [] : [merges])]))
    if (
      [...added].every(
        (one) =>
          !git
            .get(one)
            .parents.slice(1)
            .some((parent) => added.has(parent)),
      )
    )
      return { type: 'committed', commit, left: 0 }
    const taken = git.mergeBase(commit, head) ?? start
    const isMerged = merges !== undefined && git.isIn(merges, commit)
    if (!isMerged && isSame(git.files(commit), git.files(taken))) return { type: 'nothing' }
    return {
      type: 'committed',
      commit: git.commit(git.files(commit), [taken, ...(isMerged ? [merges] : [])], 'anew', git.get(commit).at),
      left: 0,
    }
  }

  markers(base: string, commit: string): string[] {
    const { git } = this.#at
    const has = (text: string | undefined): boolean => text !== undefined && /^<{7} /m.test(text) && /^>{7} /m.test(text)
    return changed(git.files(base), git.files(commit)).filter((name) => has(git.files(commit)[name]) && !has(git.files(base)[name]))
  }

  differing(commit: string, reviewed: string, task: string): { readonly from: string; readonly files: readonly string[] } | null {
    const { git } = this.#at
    if (commit === reviewed) return null
    const head = git.refs.get(this.#at.branch())
    const taken = head === undefined ? null : git.mergeBase(commit, head)
    const isNew = taken !== null && !git.isIn(taken, reviewed)
    const merged = isNew ? git.merge(reviewed, taken) : null
    const files = merged?.files ?? git.files(reviewed)
    const conflicts = merged?.conflicts ?? []
    if (conflicts.length === 0 && isSame(files, git.files(commit))) return null
    const from = git.commit(files, [reviewed, ...(isNew ? [taken] : [])], 'reeve: what was approved')
    git.refs.set(this.#at.approved(task), from)
    return { from, files: [...new Set([...changed(files, git.files(commit)), ...conflicts])].toSorted().slice(0, 20) }
  }
}
