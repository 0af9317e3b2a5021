// The git jobs of a crew on the simulated git, written from docs/concepts/crews-done.md. Their results must equal those of
// src/daemon/crew/jobs/git.ts, with which they share only the names of branches and refs. Used by simulated-repository.ts.
import { approvedRef, memberBranch, mergeRef, salvagePrefix, taskBranch, reviewRef } from '../../../src/daemon/crew/jobs/refs.ts'
import { SimulatedCommits, STAGED_SUBJECT, REVIEW_SUBJECT } from './commits.ts'
import { changedFiles, freeName, isSame, treeId } from './objects.ts'
import { Worktree } from './worktree.ts'
import type { ShellCommandRun } from '../../../src/kernel/model/crew/shell-command-results.ts'
import type { Crew, Task } from '../../../src/kernel/model/crew/crew.ts'
import type { Files, Objects } from './objects.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'
import type { Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { CrewSpec } from '../../../src/kernel/model/process-spec.ts'

type JobOf<T extends Job['type']> = Extract<Job, { type: T }>
type GitJob = Exclude<Job, { type: 'spawn' }>

const RAN = { end: 'exited', signal: null, ms: 1, output: '', left: 0 } as const

/** The files of the member cannot be opened. */
class LostFiles extends Error {}
/** The job is impossible in any worktree. */
class ImpossibleTask extends Error {}

export interface JobsParts {
  readonly git: Objects
  readonly spec: () => CrewSpec
  readonly crew: () => Crew
  /** whether verify fails on these files */
  readonly failsVerify: (files: Files) => boolean
  /** the user's worktree */
  readonly user: Worktree
}

/** The name of a salvage ref, and the prefixes of other refs that belong to it. */
interface Salvage {
  readonly name: string
  readonly otherPrefixes?: readonly string[]
}

export class SimulatedJobs {
  readonly #parts: JobsParts
  readonly #commits: SimulatedCommits
  readonly worktrees = new Map<MemberId, Worktree>()

  constructor(parts: JobsParts) {
    this.#parts = parts
    this.#commits = new SimulatedCommits({
      git: parts.git,
      head: () => this.#head(),
      branch: () => this.branch,
      branchOf: (id) => this.#branchOf(id),
      approvedRefOf: (task) => approvedRef(this.#spec, task),
    })
  }

  get branch(): string {
    return `refs/heads/${this.#spec.branch}`
  }

  #branchOf(id: MemberId): string {
    return `refs/heads/${memberBranch(this.#spec, id)}`
  }

  get #spec(): NonNullable<CrewSpec['git']> {
    const { git } = this.#parts.spec()
    if (!git) throw new Error('the crew has no repository')
    return git
  }

  #task(id: string): Task {
    const task = this.#parts.crew().tasks.find((candidate) => candidate.id === id)
    if (!task) throw new Error(`no task ${id}`)
    return task
  }

  spawn(id: MemberId): void {
    const { git } = this.#parts
    const branch = this.#branchOf(id)
    const head = this.#head()
    git.refs.set(branch, head)
    this.worktrees.set(id, new Worktree(git, branch, head))
  }

  perform(job: GitJob): JobResult {
    try {
      return this.#performJob(job)
    } catch (error) {
      if (error instanceof LostFiles)
        return { type: 'error', error: error.message, lost: (job.type === 'brief' ? job.implementer : job.member) ?? job.member }
      if (error instanceof ImpossibleTask) return { type: 'error', error: error.message, of: 'task' }
      throw error
    }
  }

  #performJob(job: GitJob): JobResult {
    switch (job.type) {
      case 'setup':
        return this.#setUp(job)
      case 'prepare':
        return this.#prepare(job)
      case 'brief':
        return this.#brief(job)
      case 'check':
        return this.#check(job)
      case 'commit':
        return this.#commit(job)
      case 'verify':
        return job.merge ? this.#verifyMerged(job, job.merge) : this.#verify(job)
      case 'merge':
        return this.#merge(job)
      case 'land':
        return this.#land(job)
      case 'park': {
        this.#commitForReview(this.#openWorktree(job.member), job.task)
        return { type: 'parked' }
      }
      case 'reset': {
        const head = this.#head()
        this.#dropReviewRefs(job.task)
        return { type: 'salvaged', ref: this.#salvageAndCheckOut(job.member, head) }
      }
      case 'salvage': {
        const tree = this.worktrees.get(job.member)
        return { type: 'salvaged', ref: tree && tree.state !== 'gone' ? this.#salvage(tree, null, this.#salvageOf(job.member)) : null }
      }
    }
  }

  #openWorktree(id: MemberId): Worktree {
    const tree = this.worktrees.get(id)
    if (tree?.state !== 'there') throw new LostFiles(`the worktree of ${id} cannot be opened`)
    return tree
  }

  /** The head of the crew's branch; a missing branch is created again at the last merge. */
  #head(): string {
    const { git, crew } = this.#parts
    const existingHead = git.refs.get(this.branch)
    if (existingHead !== undefined) return existingHead
    const mergeCommits = crew().tasks.flatMap(({ merged, earlier, times }) => {
      const mergeCommit = merged ?? earlier?.merged ?? null
      return mergeCommit === null ? [] : [{ at: mergeCommit, ended: merged === null ? 0 : (times.ended ?? 0) }]
    })
    const head = mergeCommits.toSorted((a, b) => a.ended - b.ended).at(-1)?.at ?? this.#spec.base
    git.refs.set(this.branch, head)
    return head
  }

  #salvageOf(id: MemberId): Salvage {
    return { name: `${salvagePrefix(this.#spec)}/${id}` }
  }

  /** Commits all files, on top of the checkout and of the staged files. */
  #commitAll(tree: Worktree, subject: string): string {
    const { git } = this.#parts
    const hasStagedVersion = tree.unmerged.length === 0 && !isSame(tree.index, tree.files) && !isSame(tree.index, git.files(tree.head))
    return git.commit(tree.files, [tree.head, ...(hasStagedVersion ? [git.commit(tree.index, [tree.head], STAGED_SUBJECT)] : [])], subject)
  }

  /** Saves uncommitted files, and commits that no other ref reaches. Returns the ref. Null if nothing new was saved. */
  #salvage(tree: Worktree, branch: string | null, { name, otherPrefixes = [] }: Salvage): string | null {
    const { git } = this.#parts
    const tip = branch === null ? undefined : git.refs.get(branch)
    const firstUnreachable = (otherCommits: readonly string[]): string | undefined => {
      const knownCommits = [...git.refsBelow('refs/heads/').filter(([ref]) => ref !== branch), ...git.refsBelow('refs/reeve/base/')].map(
        ([, commit]) => commit,
      )
      return git.commitsWithout([tree.head, ...(tip === undefined ? [] : [tip])], [...knownCommits, ...otherCommits])[0]
    }
    const unreachable = firstUnreachable([])
    if (!tree.isDirty && unreachable === undefined) return null
    const otherRefs = otherPrefixes.flatMap((ref) => git.refsBelow(ref))
    const existingRefs = [...git.refsBelow(`${name}-`), ...otherRefs]
    const commit = tree.isDirty ? this.#commitAll(tree, 'reeve: what was left') : (unreachable ?? '')
    const equalRef = existingRefs.find(
      ([, id]) => id === commit || (tree.isDirty && isSame(git.files(id), git.files(commit)) && git.get(id).parents[0] === tree.head),
    )
    const takenNames = existingRefs.map(([ref]) => ref)
    const ref = equalRef?.[0] ?? freeName(name, takenNames)
    if (!equalRef) git.refs.set(ref, commit)
    const remaining = firstUnreachable([...git.refsBelow(`${name}-`), ...otherRefs].map(([, one]) => one))
    if (remaining !== undefined) git.refs.set(freeName(name, [...takenNames, ref]), remaining)
    return otherRefs.some(([one]) => one === ref) ? null : ref
  }

  #salvageAndCheckOut(id: MemberId, commit: string, otherPrefixes: readonly string[] = []): string | null {
    const tree = this.#openWorktree(id)
    const branch = this.#branchOf(id)
    const salvaged = this.#salvage(tree, branch, { ...this.#salvageOf(id), otherPrefixes })
    tree.checkOutClean(branch, commit)
    return salvaged
  }

  /** Restores a snapshot that reeve made: the checkout, the staged files and the other files. */
  #restoreSnapshot(
    id: MemberId,
    snapshot: string,
    otherPrefixes: readonly string[],
  ): { readonly head: string; readonly salvaged: string | null } {
    const { git } = this.#parts
    const [head = snapshot, second = head] = git.get(snapshot).parents
    const salvaged = this.#salvageAndCheckOut(id, head, otherPrefixes)
    const tree = this.#openWorktree(id)
    tree.files = git.files(snapshot)
    tree.index = git.files(git.get(second).subject === STAGED_SUBJECT ? second : head)
    return { head, salvaged }
  }

  #prepare({ member, task: id, from, keeps }: JobOf<'prepare'>): JobResult {
    const { git, crew } = this.#parts
    const task = this.#task(id)
    const head = this.#head()
    const reviewRefs = crew().tasks.flatMap((other) => (other.parked ? [reviewRef(this.#spec, other.id)] : []))
    const prepared = (
      base: string,
      salvaged: string | null,
      fields: { readonly kept?: string; readonly without?: string } = {},
    ): JobResult => ({
      type: 'prepared',
      base,
      read: [],
      ...fields,
      ...(salvaged === null ? {} : { salvaged }),
    })
    const ref = keeps === 'review' ? reviewRef(this.#spec, id) : keeps === 'salvage' ? task.salvaged : null
    if (ref !== null) this.#openWorktree(member)
    const keptCommit = ref === null ? undefined : git.refs.get(ref)
    const base = keptCommit === undefined ? null : git.mergeBase(keptCommit, head)
    if (ref !== null && keptCommit !== undefined && base !== null) {
      const salvaged = git.get(keptCommit).subject.startsWith('reeve: what ')
        ? this.#restoreSnapshot(member, keptCommit, reviewRefs).salvaged
        : this.#salvageAndCheckOut(member, keptCommit, reviewRefs)
      if (keeps === 'review') git.refs.delete(`refs/heads/${taskBranch(this.#spec, id)}`)
      return prepared(base, salvaged, { kept: ref })
    }
    const isFirst = !crew().tasks.some((other) => other.id !== id && other.implementers.includes(member))
    const handover = from !== null && isFirst ? this.#handOver(from, member) : null
    if (handover && 'snapshot' in handover)
      return prepared(task.base ?? head, this.#restoreSnapshot(member, handover.snapshot, reviewRefs).salvaged)
    const start = this.#headWithNeeds(head, task, `refs/reeve/base/u-${member}`)
    return prepared(start, this.#salvageAndCheckOut(member, start, reviewRefs), handover ?? {})
  }

  #handOver(from: MemberId, to: MemberId): { readonly snapshot: string } | { readonly without: string } {
    const { git } = this.#parts
    this.#openWorktree(to)
    const ref = `refs/reeve/handover/u-${to}`
    const oldWorktree = this.worktrees.get(from)
    const handedOver = git.refs.get(ref)
    if (handedOver === undefined && oldWorktree?.state !== 'there') return { without: `the worktree of ${from} cannot be opened` }
    const snapshot = handedOver ?? (oldWorktree ? this.#commitAll(oldWorktree, 'reeve: what was handed over') : '')
    git.refs.set(ref, snapshot)
    return { snapshot }
  }

  /** Merges the head with the needed commits that it lacks. */
  #headWithNeeds(head: string, { id: taskId, needs }: Task, ref: string): string {
    const { git, crew } = this.#parts
    let base = head
    for (const { id, commit, merged, earlier } of crew().tasks) {
      const approved = commit === null && earlier ? earlier : { commit, merged }
      if (
        (!needs.includes(id) && id !== taskId) ||
        approved.commit === null ||
        approved.merged !== null ||
        git.isAncestor(approved.commit, base)
      )
        continue
      const mergeResult = this.#mergeOnto(base, approved.commit)
      if (typeof mergeResult !== 'string') throw new ImpossibleTask('the commits of the needed tasks cannot be merged')
      base = mergeResult
    }
    if (base !== head) git.refs.set(ref, base)
    return base
  }

  /** Returns the merge commit, or the files in conflict, or null if git cannot merge them. */
  #mergeOnto(head: string, commit: string): string | readonly string[] | null {
    const { git } = this.#parts
    if (git.isAncestor(head, commit)) return commit
    const merged = git.merge(head, commit)
    if (!merged) return null
    return merged.conflicts.length > 0 ? merged.conflicts : git.commit(merged.files, [head, commit], 'Merge')
  }

  /** Commits all files to the task's ref. */
  #commitForReview(tree: Worktree, task: string): string {
    const { git } = this.#parts
    const isHead = tree.merging === null && !tree.isDirty
    const files = isHead ? tree.head : this.#commitAll(tree, REVIEW_SUBJECT)
    const commit = tree.merging === null ? files : git.commit(git.files(files), [...git.get(files).parents, tree.merging], REVIEW_SUBJECT)
    git.refs.set(reviewRef(this.#spec, task), commit)
    return commit
  }

  #brief({ implementer, task: id, commit }: JobOf<'brief'>): JobResult {
    const { git } = this.#parts
    if (implementer === null) return { type: 'briefed', dir: null, branch: null, head: null, read: [] }
    const { check, parked } = this.#task(id)
    const ref = reviewRef(this.#spec, id)
    if (parked && commit === undefined) return { type: 'briefed', dir: null, branch: null, head: git.refs.get(ref) ?? null, read: [] }
    const head = check?.ok && check.commit !== null ? check.commit : this.#commitForReview(this.#openWorktree(implementer), id)
    if (commit !== undefined) git.refs.set(ref, commit)
    return { type: 'briefed', dir: implementer, branch: memberBranch(this.#spec, implementer), head: commit ?? head, read: [] }
  }

  #check({ member, task, reviewed }: JobOf<'check'>): JobResult {
    const { git, crew } = this.#parts
    const commit = reviewed ?? this.#commitForReview(this.#openWorktree(member), task)
    const files = this.#conflictsOf(commit)
    const mergedTasks = crew()
      .tasks.filter(({ merged }) => merged !== null)
      .toSorted((a, b) => (b.times.ended ?? 0) - (a.times.ended ?? 0))
      .slice(0, 20)
    const conflictingTasks = mergedTasks.filter(({ merged }) => {
      const [parent] = merged === null ? [] : git.get(merged).parents
      return (
        merged !== null &&
        parent !== undefined &&
        !git.isAncestor(merged, commit) &&
        changedFiles(git.files(parent), git.files(merged)).some((name) => files.includes(name))
      )
    })
    return { type: 'checked', files, tasks: files.length === 0 ? [] : conflictingTasks.map(({ id }) => id) }
  }

  /** The files that conflict with the crew's branch. */
  #conflictsOf(commit: string): readonly string[] {
    const { git } = this.#parts
    const head = this.#head()
    if (git.isAncestor(head, commit) || git.isAncestor(commit, head)) return []
    return git.merge(head, commit)?.conflicts ?? []
  }

  #commit(job: JobOf<'commit'>): JobResult {
    const { git } = this.#parts
    const { base, task, reviewed } = job
    const mergesAutomatically = this.#parts.spec().merge === 'auto'
    if (base === null) return { type: 'committed', commit: null, dirty: false }
    this.#head()
    const tree = this.#openWorktree(job.member)
    const found =
      reviewed === undefined
        ? this.#commits.commitOf(tree, base, { force: job.force, memberBranch: this.#branchOf(job.member) })
        : this.#commits.commitReviewedFiles(tree, { ...job, base, reviewed })
    const outcome = found.type === 'nothing' && job.merges !== undefined ? { type: 'refused' as const } : found
    const finalOutcome =
      outcome.type === 'committed' ? this.#commits.withoutForeignHistory(outcome.commit, job, mergesAutomatically) : outcome
    if (finalOutcome.type === 'nothing') this.#dropReviewRefs(task)
    if (finalOutcome.type === 'uncommitted' || finalOutcome.type === 'refused')
      return { type: 'committed', commit: null, dirty: true, output: finalOutcome.type }
    if (finalOutcome.type === 'nothing') return { type: 'committed', commit: null, dirty: false }
    const { commit } = finalOutcome
    if (job.merges !== undefined && !git.isAncestor(job.merges, commit))
      return { type: 'committed', commit: null, dirty: true, output: 'unmerged' }
    const markers = commit === reviewed ? [] : this.#commits.filesWithNewMarkers(base, commit)
    const isAsked = !(job.force && reviewed !== undefined && !job.instead)
    if (markers.length > 0 && isAsked) return { type: 'committed', commit: null, dirty: true, output: 'markers' }
    const difference =
      reviewed === undefined
        ? null
        : (this.#commits.differenceFrom(commit, reviewed, task) ?? (markers.length > 0 ? { from: reviewed, files: markers } : null))
    if (difference) return { type: 'differs', commit, ...difference }
    const files = mergesAutomatically ? this.#conflictsOf(commit) : []
    const branch = this.#keepOnBranch(task, commit)
    if (files.length > 0) return { type: 'conflict', commit, files, branch }
    if (!mergesAutomatically) this.#dropReviewRefs(task)
    return { type: 'committed', commit, dirty: false }
  }

  /** Keeps the commit on the task's own branch. */
  #keepOnBranch(task: string, commit: string): string {
    const { git } = this.#parts
    const branch = taskBranch(this.#spec, task)
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? branch : `${branch}-${number}`
      const existing = git.refs.get(`refs/heads/${name}`)
      if (existing !== undefined && existing !== commit && !git.isAncestor(existing, commit)) continue
      git.refs.set(`refs/heads/${name}`, commit)
      return name
    }
  }

  #setUp({ member }: JobOf<'setup'>): JobResult {
    this.#openWorktree(member)
    return { type: 'setUp', command: 'make', ran: { ...RAN, code: 0 }, copied: 0, skipped: [] }
  }

  #runVerify(files: Files): ShellCommandRun {
    return { ...RAN, code: this.#parts.failsVerify(files) ? 1 : 0 }
  }

  #verify({ member, task }: JobOf<'verify'>): JobResult {
    const { git } = this.#parts
    const tree = this.#openWorktree(member)
    const commit = tree.isDirty ? this.#commitAll(tree, REVIEW_SUBJECT) : tree.head
    git.refs.set(reviewRef(this.#spec, task), commit)
    return { type: 'verified', command: 'make check', ran: this.#runVerify(tree.files), commit, tree: treeId(tree.files), changed: [] }
  }

  #verifyMerged({ task }: JobOf<'verify'>, { candidate, head }: NonNullable<JobOf<'verify'>['merge']>): JobResult {
    const { git } = this.#parts
    const files = git.files(candidate)
    const ran = this.#runVerify(files)
    if (ran.code !== 0)
      git.refs.set(reviewRef(this.#spec, task), git.commit(files, [head], 'reeve: what did not verify when it was merged'))
    return { type: 'verified', command: 'make check', ran, commit: candidate, tree: treeId(files), changed: [] }
  }

  #merge({ task, commit }: JobOf<'merge'>): JobResult {
    const { git } = this.#parts
    const head = this.#head()
    if (git.isAncestor(commit, head)) return this.#finishMerge(task, commit)
    if (this.#isOccupied) return { type: 'occupied', reason: 'the user looks at it' }
    const mergeResult = this.#mergeOnto(head, commit)
    if (mergeResult === null) return { type: 'left', branch: this.#keepOnBranch(task, commit), reason: 'unable' }
    if (typeof mergeResult !== 'string') return { type: 'conflict', files: mergeResult, branch: this.#keepOnBranch(task, commit) }
    git.refs.set(mergeRef(this.#spec, task), mergeResult)
    return { type: 'candidate', candidate: mergeResult, head, tree: treeId(git.files(mergeResult)) }
  }

  #land({ task, commit, candidate, head }: JobOf<'land'>): JobResult {
    const { git } = this.#parts
    const branchHead = git.refs.get(this.branch)
    if (branchHead !== undefined && git.isAncestor(commit, branchHead)) return this.#finishMerge(task, commit)
    if (this.#isOccupied) return { type: 'occupied', reason: 'the user looks at it' }
    if (branchHead !== head) return { type: 'moved' }
    git.refs.set(this.branch, candidate)
    return this.#finishMerge(task, commit)
  }

  get #isOccupied(): boolean {
    return this.#parts.user.branch === this.branch
  }

  /** Removes the refs of the task, and reports the merge. */
  #finishMerge(task: string, commit: string): JobResult {
    const { git } = this.#parts
    const branch = `refs/heads/${taskBranch(this.#spec, task)}`
    for (const [ref, commitOnBranch] of git.refsBelow(branch)) {
      const otherCommits = [
        ...git.refsBelow('refs/heads/'),
        ...git.refsBelow('refs/reeve/handover/'),
        ...git.refsBelow('refs/reeve/base/'),
      ].flatMap(([otherRef, otherCommit]) => (otherRef === ref ? [] : [otherCommit]))
      if (
        (ref === branch || ref.startsWith(`${branch}-`)) &&
        commitOnBranch === commit &&
        git.commitsWithout([commitOnBranch], otherCommits).length === 0
      )
        git.refs.delete(ref)
    }
    git.refs.delete(mergeRef(this.#spec, task))
    this.#dropReviewRefs(task)
    return { type: 'merged', merged: this.#mergeCommitOf(commit) }
  }

  /** The commit of the crew's branch that merged this commit. */
  #mergeCommitOf(commit: string): string {
    const { git } = this.#parts
    const head = git.refs.get(this.branch) ?? ''
    for (let candidate: string | undefined = head; candidate !== undefined; candidate = git.get(candidate).parents[0]) {
      if (candidate === commit || git.get(candidate).parents.slice(1).includes(commit)) return candidate
    }
    return head
  }

  #dropReviewRefs(task: string): void {
    this.#parts.git.refs.delete(reviewRef(this.#spec, task))
    this.#parts.git.refs.delete(approvedRef(this.#spec, task))
  }
}
