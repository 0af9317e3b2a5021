// The git jobs of a crew by their meaning (docs/crews-done.md), on the model: the jobs and answers of src/daemon/crew/jobs/git.ts.
// Shares only the names of branches and refs with them. Used by simulated-repository.ts.
import { approvedRef, memberBranch, mergeRef, salvagePrefix, taskBranch, reviewRef } from '../../../src/daemon/crew/jobs/refs.ts'
import { ModelCommits, STAGED, VIEW } from './commits.ts'
import { changed, freeName, isSame, treeId } from './objects.ts'
import { Worktree } from './worktree.ts'
import type { CommandRun } from '../../../src/kernel/model/crew/command-runs.ts'
import type { Crew, Task } from '../../../src/kernel/model/crew/crew.ts'
import type { Files, Objects } from './objects.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'
import type { Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { CrewSpec } from '../../../src/kernel/model/process-spec.ts'

type JobOf<T extends Job['type']> = Extract<Job, { type: T }>
type GitJob = Exclude<Job, { type: 'spawn' }>

const RAN = { end: 'exited', signal: null, ms: 1, output: '', left: 0 } as const

/** The files of the member cannot be opened. */
class Lost extends Error {}
/** The job is impossible in any worktree. */
class Unable extends Error {}

export interface JobsParts {
  readonly git: Objects
  readonly spec: () => CrewSpec
  readonly crew: () => Crew
  /** whether verify fails on these files */
  readonly failsVerify: (files: Files) => boolean
  /** the user's worktree */
  readonly user: Worktree
}

/** The name of a salvage, and other commits that belong to it. */
interface Salvage {
  readonly name: string
  readonly also?: readonly string[]
}

export class ModelJobs {
  readonly #parts: JobsParts
  readonly #commits: ModelCommits
  readonly worktrees = new Map<MemberId, Worktree>()

  constructor(parts: JobsParts) {
    this.#parts = parts
    this.#commits = new ModelCommits({
      git: parts.git,
      head: () => this.#head(),
      branch: () => this.branch,
      own: (id) => this.#own(id),
      approved: (task) => approvedRef(this.#spec, task),
    })
  }

  get branch(): string {
    return `refs/heads/${this.#spec.branch}`
  }

  #own(id: MemberId): string {
    return `refs/heads/${memberBranch(this.#spec, id)}`
  }

  get #spec(): NonNullable<CrewSpec['git']> {
    const { git } = this.#parts.spec()
    if (!git) throw new Error('the crew has no repository')
    return git
  }

  #task(id: string): Task {
    const task = this.#parts.crew().tasks.find((one) => one.id === id)
    if (!task) throw new Error(`no task ${id}`)
    return task
  }

  spawn(id: MemberId): void {
    const { git } = this.#parts
    const branch = this.#own(id)
    const at = this.#head()
    git.refs.set(branch, at)
    this.worktrees.set(id, new Worktree(git, branch, at))
  }

  perform(job: GitJob): JobResult {
    try {
      return this.#do(job)
    } catch (error) {
      if (error instanceof Lost)
        return { type: 'error', error: error.message, lost: (job.type === 'brief' ? job.implementer : job.member) ?? job.member }
      if (error instanceof Unable) return { type: 'error', error: error.message, of: 'task' }
      throw error
    }
  }

  #do(job: GitJob): JobResult {
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
        this.#view(this.#open(job.member), job.task)
        return { type: 'parked' }
      }
      case 'reset': {
        const head = this.#head()
        this.#dropViews(job.task)
        return { type: 'salvaged', ref: this.#bringTo(job.member, head) }
      }
      case 'salvage': {
        const tree = this.worktrees.get(job.member)
        return { type: 'salvaged', ref: tree && tree.state !== 'gone' ? this.#salvage(tree, null, this.#salvageOf(job.member)) : null }
      }
    }
  }

  #open(id: MemberId): Worktree {
    const tree = this.worktrees.get(id)
    if (tree?.state !== 'there') throw new Lost(`the worktree of ${id} cannot be opened`)
    return tree
  }

  /** The head of the crew's branch; a missing branch is created again at the last merge. */
  #head(): string {
    const { git, crew } = this.#parts
    const known = git.refs.get(this.branch)
    if (known !== undefined) return known
    const landed = crew().tasks.flatMap(({ merged, earlier, times }) => {
      const at = merged ?? earlier?.merged ?? null
      return at === null ? [] : [{ at, ended: merged === null ? 0 : (times.ended ?? 0) }]
    })
    const head = landed.toSorted((a, b) => a.ended - b.ended).at(-1)?.at ?? this.#spec.base
    git.refs.set(this.branch, head)
    return head
  }

  #salvageOf(id: MemberId): Salvage {
    return { name: `${salvagePrefix(this.#spec)}/${id}` }
  }

  /** Commits all files, on top of the checkout and of the staged files. */
  #all(tree: Worktree, subject: string): string {
    const { git } = this.#parts
    const isApart = tree.unmerged.length === 0 && !isSame(tree.index, tree.files) && !isSame(tree.index, git.files(tree.head))
    return git.commit(tree.files, [tree.head, ...(isApart ? [git.commit(tree.index, [tree.head], STAGED)] : [])], subject)
  }

  /** Saves files without a commit, and commits that no other ref names. */
  #salvage(tree: Worktree, branch: string | null, { name, also = [] }: Salvage): string | null {
    const { git } = this.#parts
    const tip = branch === null ? undefined : git.refs.get(branch)
    const onlyHere = (others: readonly string[]): string | undefined => {
      const known = [...git.below('refs/heads/').filter(([ref]) => ref !== branch), ...git.below('refs/reeve/base/')].map(
        ([, commit]) => commit,
      )
      return git.without([tree.head, ...(tip === undefined ? [] : [tip])], [...known, ...others])[0]
    }
    const own = onlyHere([])
    if (!tree.isDirty && own === undefined) return null
    const kept = also.flatMap((ref) => git.below(ref))
    const before = [...git.below(`${name}-`), ...kept]
    const commit = tree.isDirty ? this.#all(tree, 'reeve: what was left') : (own ?? '')
    const same = before.find(
      ([, one]) => one === commit || (tree.isDirty && isSame(git.files(one), git.files(commit)) && git.get(one).parents[0] === tree.head),
    )
    const taken = before.map(([ref]) => ref)
    const ref = same?.[0] ?? freeName(name, taken)
    if (!same) git.refs.set(ref, commit)
    const rest = onlyHere([...git.below(`${name}-`), ...kept].map(([, one]) => one))
    if (rest !== undefined) git.refs.set(freeName(name, [...taken, ref]), rest)
    return kept.some(([one]) => one === ref) ? null : ref
  }

  #bringTo(id: MemberId, at: string, also: readonly string[] = []): string | null {
    const tree = this.#open(id)
    const branch = this.#own(id)
    const salvaged = this.#salvage(tree, branch, { ...this.#salvageOf(id), also })
    tree.checkOut(branch, at)
    return salvaged
  }

  /** Takes up reeve's own commits: what was checked out, what was staged, and the files. */
  #takeUp(id: MemberId, snapshot: string, also: readonly string[]): { readonly head: string; readonly salvaged: string | null } {
    const { git } = this.#parts
    const [head = snapshot, second = head] = git.get(snapshot).parents
    const salvaged = this.#bringTo(id, head, also)
    const tree = this.#open(id)
    tree.files = git.files(snapshot)
    tree.index = git.files(git.get(second).subject === STAGED ? second : head)
    return { head, salvaged }
  }

  #prepare({ member, task: id, from, keeps }: JobOf<'prepare'>): JobResult {
    const { git, crew } = this.#parts
    const task = this.#task(id)
    const head = this.#head()
    const also = crew().tasks.flatMap((one) => (one.parked ? [reviewRef(this.#spec, one.id)] : []))
    const done = (base: string, salvaged: string | null, more: { readonly kept?: string; readonly without?: string } = {}): JobResult => ({
      type: 'prepared',
      base,
      read: [],
      ...more,
      ...(salvaged === null ? {} : { salvaged }),
    })
    const ref = keeps === 'review' ? reviewRef(this.#spec, id) : keeps === 'salvage' ? task.salvaged : null
    if (ref !== null) this.#open(member)
    const kept = ref === null ? undefined : git.refs.get(ref)
    const base = kept === undefined ? null : git.mergeBase(kept, head)
    if (ref !== null && kept !== undefined && base !== null) {
      const salvaged = git.get(kept).subject.startsWith('reeve: what ')
        ? this.#takeUp(member, kept, also).salvaged
        : this.#bringTo(member, kept, also)
      if (keeps === 'review') git.refs.delete(`refs/heads/${taskBranch(this.#spec, id)}`)
      return done(base, salvaged, { kept: ref })
    }
    const isFirst = !crew().tasks.some((one) => one.id !== id && one.implementers.includes(member))
    const without = from !== null && isFirst ? this.#handOver(from, member) : null
    if (without && 'snapshot' in without) return done(task.base ?? head, this.#takeUp(member, without.snapshot, also).salvaged)
    const begin = this.#headWithNeeds(head, task, `refs/reeve/base/u-${member}`)
    return done(begin, this.#bringTo(member, begin, also), without ?? {})
  }

  #handOver(from: MemberId, to: MemberId): { readonly snapshot: string } | { readonly without: string } {
    const { git } = this.#parts
    this.#open(to)
    const ref = `refs/reeve/handover/u-${to}`
    const old = this.worktrees.get(from)
    const known = git.refs.get(ref)
    if (known === undefined && old?.state !== 'there') return { without: `the worktree of ${from} cannot be opened` }
    const snapshot = known ?? (old ? this.#all(old, 'reeve: what was handed over') : '')
    git.refs.set(ref, snapshot)
    return { snapshot }
  }

  /** The crew's branch, and the commits that the task needs and that are not on it. */
  #headWithNeeds(head: string, { id: own, needs }: Task, ref: string): string {
    const { git, crew } = this.#parts
    let at = head
    for (const { id, commit, merged, earlier } of crew().tasks) {
      const landed = commit === null && earlier ? earlier : { commit, merged }
      if ((!needs.includes(id) && id !== own) || landed.commit === null || landed.merged !== null || git.isIn(landed.commit, at)) continue
      const next = this.#mergeOnto(at, landed.commit)
      if (typeof next !== 'string') throw new Unable('what it needs does not go together')
      at = next
    }
    if (at !== head) git.refs.set(ref, at)
    return at
  }

  /** The commit; or the files in conflict; or null: git cannot merge them. */
  #mergeOnto(head: string, commit: string): string | readonly string[] | null {
    const { git } = this.#parts
    if (git.isIn(head, commit)) return commit
    const merged = git.merge(head, commit)
    if (!merged) return null
    return merged.conflicts.length > 0 ? merged.conflicts : git.commit(merged.files, [head, commit], 'Merge')
  }

  /** Commits all files to the task's ref. */
  #view(tree: Worktree, task: string): string {
    const { git } = this.#parts
    const isHead = tree.merging === null && !tree.isDirty
    const files = isHead ? tree.head : this.#all(tree, VIEW)
    const commit = tree.merging === null ? files : git.commit(git.files(files), [...git.get(files).parents, tree.merging], VIEW)
    git.refs.set(reviewRef(this.#spec, task), commit)
    return commit
  }

  #brief({ implementer, task: id, commit }: JobOf<'brief'>): JobResult {
    const { git } = this.#parts
    if (implementer === null) return { type: 'briefed', dir: null, branch: null, head: null, read: [] }
    const { check, parked } = this.#task(id)
    const ref = reviewRef(this.#spec, id)
    if (parked && commit === undefined) return { type: 'briefed', dir: null, branch: null, head: git.refs.get(ref) ?? null, read: [] }
    const head = check?.ok && check.commit !== null ? check.commit : this.#view(this.#open(implementer), id)
    if (commit !== undefined) git.refs.set(ref, commit)
    return { type: 'briefed', dir: implementer, branch: memberBranch(this.#spec, implementer), head: commit ?? head, read: [] }
  }

  #check({ member, task, reviewed }: JobOf<'check'>): JobResult {
    const { git, crew } = this.#parts
    const commit = reviewed ?? this.#view(this.#open(member), task)
    const files = this.#conflictsOf(commit)
    const landed = crew()
      .tasks.filter(({ merged }) => merged !== null)
      .toSorted((a, b) => (b.times.ended ?? 0) - (a.times.ended ?? 0))
      .slice(0, 20)
    const touched = landed.filter(({ merged }) => {
      const [before] = merged === null ? [] : git.get(merged).parents
      return (
        merged !== null &&
        before !== undefined &&
        !git.isIn(merged, commit) &&
        changed(git.files(before), git.files(merged)).some((name) => files.includes(name))
      )
    })
    return { type: 'checked', files, tasks: files.length === 0 ? [] : touched.map(({ id }) => id) }
  }

  /** The files that conflict with the crew's branch. */
  #conflictsOf(commit: string): readonly string[] {
    const { git } = this.#parts
    const head = this.#head()
    if (git.isIn(head, commit) || git.isIn(commit, head)) return []
    return git.merge(head, commit)?.conflicts ?? []
  }

  #commit(job: JobOf<'commit'>): JobResult {
    const { git } = this.#parts
    const { base, task, reviewed } = job
    const lands = this.#parts.spec().merge === 'auto'
    if (base === null) return { type: 'committed', commit: null, dirty: false }
    this.#head()
    const tree = this.#open(job.member)
    const seen =
      reviewed === undefined
        ? this.#commits.committed(tree, base, { force: job.force, own: this.#own(job.member) })
        : this.#commits.asReviewed(tree, { ...job, base, reviewed })
    const made = seen.type === 'nothing' && job.merges !== undefined ? { type: 'refused' as const } : seen
    const end = made.type === 'committed' ? this.#commits.onOwnHistory(made.commit, job, lands) : made
    if (end.type === 'nothing') this.#dropViews(task)
    if (end.type === 'uncommitted' || end.type === 'refused') return { type: 'committed', commit: null, dirty: true, output: end.type }
    if (end.type === 'nothing') return { type: 'committed', commit: null, dirty: false }
    const { commit } = end
    if (job.merges !== undefined && !git.isIn(job.merges, commit))
      return { type: 'committed', commit: null, dirty: true, output: 'unmerged' }
    const markers = commit === reviewed ? [] : this.#commits.markers(base, commit)
    const isAsked = !(job.force && reviewed !== undefined && !job.instead)
    if (markers.length > 0 && isAsked) return { type: 'committed', commit: null, dirty: true, output: 'markers' }
    const other =
      reviewed === undefined
        ? null
        : (this.#commits.differing(commit, reviewed, task) ?? (markers.length > 0 ? { from: reviewed, files: markers } : null))
    if (other) return { type: 'differs', commit, ...other }
    const files = lands ? this.#conflictsOf(commit) : []
    const branch = this.#leave(task, commit)
    if (files.length > 0) return { type: 'conflict', commit, files, branch }
    if (!lands) this.#dropViews(task)
    return { type: 'committed', commit, dirty: false }
  }

  /** Keeps the commit on the task's own branch. */
  #leave(task: string, commit: string): string {
    const { git } = this.#parts
    const left = taskBranch(this.#spec, task)
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? left : `${left}-${number}`
      const at = git.refs.get(`refs/heads/${name}`)
      if (at !== undefined && at !== commit && !git.isIn(at, commit)) continue
      git.refs.set(`refs/heads/${name}`, commit)
      return name
    }
  }

  #setUp({ member }: JobOf<'setup'>): JobResult {
    this.#open(member)
    return { type: 'setUp', command: 'make', ran: { ...RAN, code: 0 }, copied: 0, skipped: [] }
  }

  #ran(files: Files): CommandRun {
    return { ...RAN, code: this.#parts.failsVerify(files) ? 1 : 0 }
  }

  #verify({ member, task }: JobOf<'verify'>): JobResult {
    const { git } = this.#parts
    const tree = this.#open(member)
    const commit = tree.isDirty ? this.#all(tree, VIEW) : tree.head
    git.refs.set(reviewRef(this.#spec, task), commit)
    return { type: 'verified', command: 'make check', ran: this.#ran(tree.files), commit, tree: treeId(tree.files), changed: [] }
  }

  #verifyMerged({ task }: JobOf<'verify'>, { candidate, head }: NonNullable<JobOf<'verify'>['merge']>): JobResult {
    const { git } = this.#parts
    const files = git.files(candidate)
    const ran = this.#ran(files)
    if (ran.code !== 0)
      git.refs.set(reviewRef(this.#spec, task), git.commit(files, [head], 'reeve: what did not verify when it was merged'))
    return { type: 'verified', command: 'make check', ran, commit: candidate, tree: treeId(files), changed: [] }
  }

  #merge({ task, commit }: JobOf<'merge'>): JobResult {
    const { git } = this.#parts
    const head = this.#head()
    if (git.isIn(commit, head)) return this.#landed(task, commit)
    if (this.#isOccupied) return { type: 'occupied', reason: 'the user looks at it' }
    const next = this.#mergeOnto(head, commit)
    if (next === null) return { type: 'left', branch: this.#leave(task, commit), reason: 'unable' }
    if (typeof next !== 'string') return { type: 'conflict', files: next, branch: this.#leave(task, commit) }
    git.refs.set(mergeRef(this.#spec, task), next)
    return { type: 'candidate', candidate: next, head, tree: treeId(git.files(next)) }
  }

  #land({ task, commit, candidate, head }: JobOf<'land'>): JobResult {
    const { git } = this.#parts
    const now = git.refs.get(this.branch)
    if (now !== undefined && git.isIn(commit, now)) return this.#landed(task, commit)
    if (this.#isOccupied) return { type: 'occupied', reason: 'the user looks at it' }
    if (now !== head) return { type: 'moved' }
    git.refs.set(this.branch, candidate)
    return this.#landed(task, commit)
  }

  get #isOccupied(): boolean {
    return this.#parts.user.branch === this.branch
  }

  /** Removes what was kept for the task. */
  #landed(task: string, commit: string): JobResult {
    const { git } = this.#parts
    const left = `refs/heads/${taskBranch(this.#spec, task)}`
    for (const [ref, at] of git.below(left)) {
      const others = [...git.below('refs/heads/'), ...git.below('refs/reeve/handover/'), ...git.below('refs/reeve/base/')].flatMap(
        ([one, its]) => (one === ref ? [] : [its]),
      )
      if ((ref === left || ref.startsWith(`${left}-`)) && at === commit && git.without([at], others).length === 0) git.refs.delete(ref)
    }
    git.refs.delete(mergeRef(this.#spec, task))
    this.#dropViews(task)
    return { type: 'merged', merged: this.#mergedAs(commit) }
  }

  /** The commit that merged it. */
  #mergedAs(commit: string): string {
    const { git } = this.#parts
    const head = git.refs.get(this.branch) ?? ''
    for (let at: string | undefined = head; at !== undefined; at = git.get(at).parents[0]) {
      if (at === commit || git.get(at).parents.slice(1).includes(commit)) return at
    }
    return head
  }

  #dropViews(task: string): void {
    this.#parts.git.refs.delete(reviewRef(this.#spec, task))
    this.#parts.git.refs.delete(approvedRef(this.#spec, task))
  }
}
