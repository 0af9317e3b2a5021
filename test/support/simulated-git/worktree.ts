// A checkout of the simulated git: the branch or commit, the index, the files, and a merge in progress. Its operations have the results of
// git; false means that git refuses. Used by jobs.ts and simulated-repository.ts.
import { changedFiles, isSame, withFile } from './objects.ts'
import type { Files, Objects } from './objects.ts'

export class Worktree {
  readonly #git: Objects
  /** `broken`: its `.git` is missing; `gone`: the whole folder is */
  state: 'there' | 'broken' | 'gone' = 'there'
  /** full name of the branch that is checked out; null: a commit is checked out */
  branch: string | null
  /** the commit that is checked out when no branch is */
  #detached: string
  index: Files
  /** files in conflict */
  unmerged: readonly string[] = []
  files: Files
  /** the commit of the merge in progress */
  merging: string | null = null

  constructor(git: Objects, branch: string, commit: string) {
    this.#git = git
    this.branch = branch
    this.#detached = commit
    this.index = git.files(commit)
    this.files = this.index
  }

  get head(): string {
    return (this.branch === null ? undefined : this.#git.refs.get(this.branch)) ?? this.#detached
  }

  /** Moves the branch that is checked out, or the detached checkout. */
  moveTo(commit: string): void {
    if (this.branch === null) this.#detached = commit
    else this.#git.refs.set(this.branch, commit)
  }

  get isDirty(): boolean {
    return this.unmerged.length > 0 || !isSame(this.files, this.index) || !isSame(this.index, this.#git.files(this.head))
  }

  /** The names of changed, staged or new files. */
  get dirty(): readonly string[] {
    return [
      ...new Set([...this.unmerged, ...changedFiles(this.files, this.index), ...changedFiles(this.index, this.#git.files(this.head))]),
    ].toSorted()
  }

  write(name: string, text: string): void {
    this.files = withFile(this.files, name, text)
  }

  add(): void {
    this.index = this.files
    this.unmerged = []
  }

  /** `git commit`; with `all` also changes of known files. */
  commit(subject: string, { all = false } = {}): boolean {
    if (all) {
      for (const name of new Set([...Object.keys(this.index), ...this.unmerged]))
        this.index = withFile(this.index, name, this.files[name] ?? null)
      this.unmerged = []
    }
    const head = this.#git.files(this.head)
    if (this.unmerged.length > 0 || (this.merging === null && isSame(this.index, head))) return false
    this.moveTo(this.#git.commit(this.index, [this.head, ...(this.merging === null ? [] : [this.merging])], subject))
    this.merging = null
    return true
  }

  amend(subject: string): boolean {
    if (this.merging !== null || this.unmerged.length > 0) return false
    this.moveTo(this.#git.commit(this.index, this.#git.get(this.head).parents, subject))
    return true
  }

  /** `git merge`, with `ours` by the strategy of that name. */
  merge(otherCommit: string, label: string, { ours = false } = {}): boolean {
    if (this.merging !== null || this.unmerged.length > 0) return false
    const { head } = this
    if (this.#git.isAncestor(otherCommit, head)) return true
    const merged = this.#git.merge(head, otherCommit, ['HEAD', label])
    if (!merged) return false
    const ownFiles = this.#git.files(head)
    const isForward = !ours && this.#git.isAncestor(head, otherCommit)
    if (!isForward && !isSame(this.index, ownFiles)) return false
    if (ours) return this.#commitMerge(otherCommit, ownFiles)
    const mergedFiles = isForward ? this.#git.files(otherCommit) : merged.files
    const changedNames = new Set([...changedFiles(ownFiles, mergedFiles), ...(isForward ? [] : merged.conflicts)])
    if ([...changedNames].some((name) => this.files[name] !== ownFiles[name] || this.index[name] !== ownFiles[name])) return false
    for (const name of changedNames) {
      this.files = withFile(this.files, name, mergedFiles[name] ?? null)
      this.index = withFile(this.index, name, mergedFiles[name] ?? null)
    }
    if (isForward) {
      this.moveTo(otherCommit)
      return true
    }
    if (merged.conflicts.length === 0) return this.#commitMerge(otherCommit, mergedFiles)
    this.merging = otherCommit
    this.unmerged = merged.conflicts
    return false
  }

  #commitMerge(otherCommit: string, files: Files): true {
    this.moveTo(this.#git.commit(files, [this.head, otherCommit], 'merge'))
    return true
  }

  /** `git reset --hard` and `git clean`. */
  reset(commit: string): void {
    this.moveTo(commit)
    this.replaceFiles(this.#git.files(commit))
  }

  /** Replaces the content with these files. */
  replaceFiles(files: Files): void {
    Object.assign(this, { index: files, files, unmerged: [], merging: null })
  }

  /** `git checkout --force --detach`: untracked files stay. */
  detach(commit: string): void {
    this.#leaveFor(null, commit)
  }

  /** `git checkout --force` of a branch. */
  checkOut(branch: string): void {
    this.#leaveFor(branch, this.#git.refs.get(branch) ?? '')
  }

  /** Detaches the checkout from its branch. */
  detachFromBranch(): void {
    this.#detached = this.head
    this.branch = null
  }

  #leaveFor(branch: string | null, commit: string): void {
    const trackedNames = new Set([...Object.keys(this.index), ...this.unmerged])
    const untracked = Object.fromEntries(Object.entries(this.files).filter(([name]) => !trackedNames.has(name)))
    this.branch = branch
    this.#detached = commit
    this.replaceFiles(this.#git.files(commit))
    this.files = { ...untracked, ...this.files }
  }

  /** `git checkout --force -B` and `git clean`. */
  checkOutClean(branch: string, commit: string): void {
    this.branch = branch
    this.reset(commit)
  }

  /** `git checkout -b`. */
  createBranch(branch: string): boolean {
    if (this.unmerged.length > 0 || this.#git.refs.has(branch)) return false
    this.#git.refs.set(branch, this.head)
    this.branch = branch
    this.merging = null
    return true
  }

  /** `git stash --include-untracked`. */
  stash(): boolean {
    if (this.unmerged.length > 0) return false
    if (this.isDirty) this.reset(this.head)
    return true
  }
}
