// Performs the git part of a crew's jobs (jobs.ts), on a member's worktree and on the crew's branch. Also writes the messages of commits.
// Runs the commit, merge and land jobs of a repository one at a time. Each job is safe to repeat after a crash. Must never run on a
// member's files while that member is in a turn. Tests: test/processes/crew/jobs.test.ts.
import { join, relative, sep } from 'node:path'
import { KernelError } from '../../../kernel/model/errors.ts'
import { Git, GitError, gitUser } from '../../../drivers/git/git.ts'
import { commitReviewed } from '../../../drivers/git/crew/commit-reviewed.ts'
import { findConflict, findTasksThatTouched } from '../../../drivers/git/crew/compare.ts'
import { findCrewLeftovers } from '../../../drivers/git/crew/leftovers.ts'
import { crewHead, landCandidate, keepOnBranch, makeCandidate, joinCommits } from '../../../drivers/git/crew/merge.ts'
import {
  restoreTree,
  resetTo,
  deleteReviewRef,
  handOver,
  salvageFiles,
  setReviewRef,
  refHead,
  openMember,
  rescueFiles,
  commitForReview,
} from '../../../drivers/git/crew/member-worktree.ts'
import { restoreSnapshot, snapshotTree } from '../../../drivers/git/crew/snapshot.ts'
import { copyFiles, type CopyResult } from '../../../drivers/git/copy-to-worktree.ts'
import { dropTrial, keepFilesOnRef, openTrial, type Trial } from '../../../drivers/git/crew/trial-merge.ts'
import { inRepository } from '../../../drivers/git/worktree.ts'
import { approvedRef, memberBranch, mergeRef, SALVAGE_REFS, salvagePrefix, taskBranch, reviewRef, temporaryRefsOf } from './refs.ts'
import { BASE_REFS, HANDOVER_REFS } from '../../../drivers/git/salvage.ts'
import { WorktreeError, openWorktree } from '../../../drivers/git/open-worktree.ts'
import type { ContainmentManager } from '../../../drivers/contain/containment-contract.ts'
import type { CrewLeftovers } from '../../../drivers/git/crew/leftovers.ts'
import type { CandidateEnd, CrewBranch, LandEnd } from '../../../drivers/git/crew/merge.ts'
import type { ReviewedCommitEnd } from '../../../drivers/git/crew/commit-reviewed.ts'
import type { MemberTree, SalvageName } from '../../../drivers/git/crew/member-worktree.ts'
import { crewGitSpec } from '../../../kernel/crew/state/queries.ts'
import { hasPassed } from '../../../kernel/crew/decide/verify-results.ts'
import type { VerifyResult, ShellCommandRun } from '../../../kernel/model/crew/shell-command-results.ts'
import type { MergeCandidate } from '../../../kernel/model/crew/facts.ts'
import type { Task } from '../../../kernel/model/crew/crew.ts'
import type { Process } from '../../../kernel/model/process.ts'
import type { KeyedQueue } from '../../loop/keyed-queue.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'
import type { KeptFiles, MemberId, TaskId } from '../../../kernel/model/crew/words.ts'
import type { ProcessSpec, CrewGitSpec } from '../../../kernel/model/process-spec.ts'
import type { CrewKeptView } from '../../../api/views/process.ts'

/** maximum number of past merges that are searched for changes of a file */
const MAX_SEARCHED_MERGES = 20

export interface CrewGitDeps {
  readonly containments: Pick<ContainmentManager, 'open' | 'plan'>
  readonly tmpDir: string
  readonly newUuid: () => Uuid
  /** the folder of all worktrees; a crew's worktree for the verification of merges has the crew's UUID as its name */
  readonly worktrees: string
  /** runs one piece of work at a time per worktree and per repository; also used by the removal of worktrees */
  readonly queue: KeyedQueue
}

/** Identifies the files that a job works on: those of a member for a task. */
export interface MemberFiles {
  /** the crew's process */
  readonly crew: Process
  readonly member: Process
  readonly task: TaskId
}

/** The origin of the files in a prepared worktree. */
export interface PrepareOptions {
  /** the predecessor whose files are handed over */
  readonly from?: Process | null
  readonly keeps?: KeptFiles
}

export interface PreparedFiles {
  readonly base: string | null
  readonly salvaged: string | null
  /** the ref that the files come from */
  readonly kept?: string
  /** why the predecessor's files are missing */
  readonly without?: string
}

/** Thrown if no member's worktree could be prepared for the task. */
export class TaskPreparationError extends GitError {}

export interface CommitOptions {
  readonly base: string | null
  /** whether reeve commits the files itself */
  readonly force: boolean
  /** the approved commit; null without a review */
  readonly reviewed?: string | null
  /** a commit that must be an ancestor of the task's commit */
  readonly merges?: string | null
  /** true if the worker has left, so that it cannot be asked */
  readonly instead?: boolean
}

export type CommitResult =
  | Exclude<ReviewedCommitEnd, { type: 'conflict' }>
  | (Extract<ReviewedCommitEnd, { type: 'conflict' }> & { readonly branch: string })

/** The files of a merge, which does not need the worker. `member`: null if its process was removed. */
type MergeFiles = Omit<MemberFiles, 'member'> & { readonly member: Process | null }

export class CrewGit {
  readonly #deps: CrewGitDeps

  constructor(deps: CrewGitDeps) {
    this.#deps = deps
  }

  /** The branch and the base commit of a new member's worktree, for `worktrees.plan`. Null without a repository. Errors: `GitError`. */
  planMemberBranch(crew: Process, member: MemberId): Promise<{ readonly branch: string; readonly base: string } | null> {
    return this.#withGit(async (git) => {
      const spec = crewGitSpec(crew)
      return spec ? { branch: memberBranch(spec, member), base: await crewHead(git, branchOf(crew, spec), lastMerged(crew, spec)) } : null
    })
  }

  /**
   * Prepares the member's worktree for a task. By default it gets the crew's branch, merged with unmerged commits of needed tasks.
   * `from`: a successor gets the files of this predecessor. `keeps`: the worktree gets the files of this ref of the task.
   * Other files in the worktree are salvaged first. Errors: `GitError`; `TaskPreparationError` if every worktree would fail.
   */
  prepare({ crew, member, task }: MemberFiles, { from = null, keeps }: PrepareOptions = {}): Promise<PreparedFiles> {
    const prepareFiles = () =>
      this.#withFiles(member, async (git): Promise<PreparedFiles> => {
        const [spec, tree] = [crewGitSpec(crew), worktreeOf(member)]
        if (!spec || !tree) return { base: null, salvaged: null }
        const branch = branchOf(crew, spec, tree)
        const head = await crewHead(git, branch, lastMerged(crew, spec))
        const current = taskOf(crew, task)
        const salvage = { ...salvageName(spec, member, task), safeRefs: parkedRefs(crew, spec) }
        const ref = keeps === 'review' ? reviewRef(spec, task) : keeps === 'salvage' ? current.salvaged : null
        const restored = ref === null ? null : await restoreTree(git, tree, { ref, head, salvage })
        // The task's earlier commit is part of these files. On its own it must not be merged.
        if (restored && keeps === 'review')
          await git.tryLine(['update-ref', '-d', `refs/heads/${taskBranch(spec, task)}`], inRepository(tree))
        if (ref !== null && restored) return { ...restored, kept: ref }
        const predecessorTree = from && isMembersFirstTask(crew, member, task) ? worktreeOf(from) : null
        const handedOver = predecessorTree
          ? await handOver(git, { from: predecessorTree, to: tree, ref: `${HANDOVER_REFS}${member.uuid}`, salvage }).catch(
              reasonIfFilesAreLost(predecessorTree),
            )
          : null
        if (handedOver && !('without' in handedOver)) return { base: current.base ?? head, salvaged: handedOver.salvaged }
        const base = await joinCommits(git, branch, head, { commits: unmergedCommits(crew, current), ref: `${BASE_REFS}${member.uuid}` })
        if ('problem' in base) throw new TaskPreparationError(base.problem)
        return { base: base.commit, salvaged: await resetTo(git, tree, base.commit, salvage), ...handedOver }
      })
    return from ? this.#deps.queue.run(queueKey(from), prepareFiles) : prepareFiles()
  }

  /**
   * Returns what a reviewer needs: the directory, the branch and the commit `head`. If `commit` is given, `head` is that
   * commit. Otherwise it is the verified commit, or a new commit of all files. For a parked task, it is the commit on its review ref.
   */
  brief(
    { crew, member, task }: MemberFiles,
    commit?: string,
  ): Promise<{ readonly dir: string | null; readonly branch: string | null; readonly head: string | null }> {
    return this.#withFiles(member, async (git) => {
      const [spec, tree] = [crewGitSpec(crew), worktreeOf(member)]
      if (!spec || !tree) return { dir: null, branch: null, head: null }
      const { check, parked } = taskOf(crew, task)
      const ref = reviewRef(spec, task)
      // The worker's worktree has the files of another task now.
      if (parked && commit === undefined) return { dir: null, branch: null, head: await refHead(git, tree, ref) }
      // The verified files are reviewed, even if the worktree has changed meanwhile.
      const verified = check?.ok && check.commit !== null ? check.commit : await commitForReview(git, tree, ref)
      return { dir: tree.dir, branch: tree.branch, head: commit === undefined ? verified : await setReviewRef(git, tree, ref, commit) }
    })
  }

  /** Stores the files of a waiting task on its review ref, so that the member may do another task. Errors: `GitError`. */
  park({ crew, member, task }: MemberFiles): Promise<unknown> {
    return this.#withFiles(member, async (git) => {
      const [spec, tree] = [crewGitSpec(crew), worktreeOf(member)]
      return spec && tree ? commitForReview(git, tree, reviewRef(spec, task)) : null
    })
  }

  /** Sets up a new member's worktree: copies files of the user's checkout, then calls `run`. Errors: `GitError`; those of `run`. */
  setUp(
    crew: Process,
    member: Process,
    run: (() => Promise<ShellCommandRun>) | null,
  ): Promise<CopyResult & { readonly ran: ShellCommandRun | null }> {
    return this.#withFiles(member, async (git) => {
      const tree = worktreeOf(member)
      if (!tree) return { copied: 0, skipped: [], ran: (await run?.()) ?? null }
      const copied = await copyFiles(git, tree, { from: crew.spec.cwd, patterns: crew.spec.crew?.copy ?? [] })
      if (run === null) return { ...copied, ran: null }
      const snapshot = await snapshotTree(git, await openMember(git, tree), { branch: tree.branch })
      try {
        return { ...copied, ran: await run() }
      } finally {
        await restoreSnapshot(git, await openWorktree(git, tree), snapshot)
      }
    })
  }

  /** Runs a command in the member's files and restores them afterwards. Errors: `GitError`; those of `run`. */
  verify({ crew, member, task }: MemberFiles, run: () => Promise<ShellCommandRun>): Promise<Omit<VerifyResult, 'type' | 'command'>> {
    return this.#withFiles(member, async (git) => {
      const [spec, tree] = [crewGitSpec(crew), worktreeOf(member)]
      if (!spec || !tree) return { ran: await run(), commit: null, tree: null, changed: [] }
      const snapshot = await snapshotTree(git, await openMember(git, tree), { branch: tree.branch, ref: reviewRef(spec, task) })
      try {
        const ran = await run()
        return {
          ran,
          commit: snapshot.commit,
          tree: snapshot.tree,
          changed: await restoreSnapshot(git, await openWorktree(git, tree), snapshot),
        }
      } catch (error) {
        await restoreSnapshot(git, await openWorktree(git, tree), snapshot)
        throw error
      }
    })
  }

  /**
   * Runs a command on the merge candidate, in the crew's worktree for merges. If the command fails, the files are kept for the task's next
   * implementer. `run` gets the directory, and whether the worktree is new. Errors: `GitError`; those of `run`.
   */
  verifyMerged(
    { crew, member, task }: MemberFiles,
    { candidate, head }: MergeCandidate,
    run: (cwd: string, isNew: boolean) => Promise<ShellCommandRun>,
  ): Promise<Omit<VerifyResult, 'type' | 'command'>> {
    const trial = this.#trialWorktreeOf(crew, member.spec)
    if (!trial) throw new GitError('the crew has no repository')
    const { worktree, cwd } = member.spec
    return this.#deps.queue.run(trial.dir, () =>
      this.#withGit(async (git) => {
        const isNew = await openTrial(git, trial, candidate)
        if (isNew) await copyFiles(git, trial, { from: crew.spec.cwd, patterns: crew.spec.crew?.copy ?? [] })
        const tree = await git.line(['rev-parse', `${candidate}^{tree}`], inRepository(trial))
        const ran = await run(
          worktree && cwd.startsWith(`${worktree.dir}${sep}`) ? join(trial.dir, relative(worktree.dir, cwd)) : trial.dir,
          isNew,
        )
        const isOk = hasPassed(ran)
        // A worktree whose setup failed is created again next time.
        if (isNew && !isOk) await dropTrial(git, trial)
        if (!isOk) await keepFilesOnRef(git, trial, { files: candidate, onto: head, ref: reviewRef(trial, task) })
        return { ran, commit: candidate, tree, changed: [] }
      }),
    )
  }

  /** Removes the worktree in which merges were verified. Never rejects. */
  async dropTrial(crew: Process): Promise<void> {
    const trial = this.#trialWorktreeOf(crew, crew.spec)
    // A worktree that stays does no harm: the next daemon tries again.
    if (trial) await this.#deps.queue.run(trial.dir, () => this.#withGit((git) => dropTrial(git, trial))).catch(() => undefined)
  }

  #trialWorktreeOf(crew: Process, user: ProcessSpec): (Trial & CrewGitSpec) | null {
    const spec = crewGitSpec(crew)
    return spec && { ...spec, dir: join(this.#deps.worktrees, crew.uuid), ...gitUser(user) }
  }

  /**
   * Tries to merge the reviewed commit into the crew's current branch. Returns the conflicting files and the tasks that changed them.
   * Errors: `GitError`.
   */
  check(
    { crew, member, task }: MemberFiles,
    reviewed: string | null,
  ): Promise<{ readonly files: readonly string[]; readonly tasks: readonly TaskId[] }> {
    const [spec, tree] = [crewGitSpec(crew), worktreeOf(member)]
    if (!spec || !tree) return Promise.resolve({ files: [], tasks: [] })
    return this.#withFiles(member, async (git) => {
      const branch = branchOf(crew, spec, tree)
      const commit = reviewed ?? (await commitForReview(git, tree, reviewRef(spec, task)))
      const conflict = await findConflict(git, branch, commit, lastMerged(crew, spec))
      if (!conflict) return { files: [], tasks: [] }
      return {
        files: conflict.files,
        tasks: await findTasksThatTouched(git, branch, recentMerges(crew), { since: commit, files: conflict.files }),
      }
    })
  }

  /**
   * Checks that the task is committed as approved. With `force`, reeve commits it. Until the merge, the task's branch keeps the commit.
   */
  commit(
    { crew, member, task }: MemberFiles,
    { base, force, reviewed = null, merges = null, instead = false }: CommitOptions,
  ): Promise<CommitResult> {
    const [spec, tree] = [crewGitSpec(crew), worktreeOf(member)]
    if (!spec || !tree || base === null) return Promise.resolve({ type: 'nothing' })
    return this.#deps.queue.run(spec.repository, () =>
      this.#withFiles(member, async (git) => {
        const [current, to] = [taskOf(crew, task), branchOf(crew, spec, tree)]
        const willMerge = crew.spec.crew?.merge === 'auto'
        const request = {
          base,
          crew: spec.branch,
          mayCommit: force,
          hasNoAuthor: instead,
          mustContain: merges,
          willMerge,
          message: `${current.title}\n\n${commitTrailers(current)}`,
          reviewed: reviewed === null ? null : { commit: reviewed, ref: approvedRef(spec, task) },
        }
        await crewHead(git, to, lastMerged(crew, spec))
        const end = await commitReviewed(git, tree, to, request)
        const isKept = end.type === 'committed' || end.type === 'conflict'
        const branch = isKept ? await keepOnBranch(git, to, { commit: end.commit, unmergedBranch: taskBranch(spec, task) }) : ''
        // The review ref is kept until the change has landed.
        if ((end.type === 'committed' && !willMerge) || end.type === 'nothing') await this.#deleteReviewRefs(git, spec, task, tree)
        return end.type === 'conflict' ? { ...end, branch } : end
      }),
    )
  }

  /**
   * Makes the merge candidate: the commit merged with the crew's branch. No branch points to it yet. After a conflict, the task's branch
   * keeps the commit. Errors: `GitError`.
   */
  merge({ crew, member, task }: MergeFiles, commit: string): Promise<CandidateEnd> {
    const spec = crewGitSpec(crew)
    if (!spec) return Promise.resolve({ type: 'merged', commit })
    return this.#deps.queue.run(spec.repository, () =>
      this.#withGit(async (git) => {
        const current = taskOf(crew, task)
        const branch = branchOf(crew, spec, member && worktreeOf(member))
        await crewHead(git, branch, lastMerged(crew, spec))
        const end = await makeCandidate(git, branch, {
          commit,
          unmergedBranch: taskBranch(spec, task),
          ref: mergeRef(spec, task),
          message: `Merge ${task}: ${current.title}\n\n${commitTrailers(current)}`,
        })
        if (end.type === 'merged') await this.#deleteReviewRefs(git, spec, task, branch)
        return end
      }),
    )
  }

  /** Moves the crew's branch to the candidate and deletes the review refs, unless the branch has moved meanwhile. Errors: `GitError`. */
  land(
    { crew, member, task }: MergeFiles,
    candidate: { readonly commit: string; readonly candidate: string; readonly head: string },
  ): Promise<LandEnd> {
    const spec = crewGitSpec(crew)
    if (!spec) return Promise.resolve({ type: 'merged', commit: candidate.commit })
    return this.#deps.queue.run(spec.repository, () =>
      this.#withGit(async (git) => {
        const branch = branchOf(crew, spec, member && worktreeOf(member))
        const end = await landCandidate(git, branch, { ...candidate, unmergedBranch: taskBranch(spec, task), ref: mergeRef(spec, task) })
        if (end.type === 'merged') await this.#deleteReviewRefs(git, spec, task, branch)
        return end
      }),
    )
  }

  /** Deletes the review ref and the ref of the approved files. */
  async #deleteReviewRefs(git: Git, spec: CrewGitSpec, task: TaskId, member: Parameters<typeof deleteReviewRef>[1]): Promise<void> {
    for (const ref of [reviewRef(spec, task), approvedRef(spec, task)]) await deleteReviewRef(git, member, ref)
  }

  /** Resets the worktree of a member that no longer has the task. Returns the salvage ref; null if there was nothing to salvage. */
  reset({ crew, member, task }: MemberFiles): Promise<string | null> {
    return this.#withFiles(member, async (git) => {
      const [spec, tree] = [crewGitSpec(crew), worktreeOf(member)]
      if (!spec || !tree) return null
      const head = await crewHead(git, branchOf(crew, spec, tree), lastMerged(crew, spec))
      await this.#deleteReviewRefs(git, spec, task, tree)
      return resetTo(git, tree, head, salvageName(spec, member, task))
    })
  }

  /** Stores the files of a departed member on a salvage ref. Its worktree stays. Returns the ref; null if there is nothing to salvage. */
  salvage({ crew, member, task }: MemberFiles): Promise<string | null> {
    return this.#withFiles(member, async (git) => {
      const [spec, tree] = [crewGitSpec(crew), worktreeOf(member)]
      if (!spec || !tree) return null
      const salvage = salvageName(spec, member, task)
      return salvageFiles(git, tree, salvage).catch((error: unknown) => {
        if (error instanceof WorktreeError) return rescueFiles(git, tree, salvage)
        throw error
      })
    })
  }

  /**
   * Finds the crew's branches and refs in git that the user may want. Null without a repository. Errors: `GitError` if the repository is
   * gone.
   */
  findLeftovers(crew: Process): Promise<CrewLeftovers | null> {
    return this.#withGit(async (git) => {
      const spec = crewGitSpec(crew)
      const members = (crew.crew?.members ?? []).flatMap(({ uuid }) => (uuid === null ? [] : [`${SALVAGE_REFS}${uuid}`]))
      return spec
        ? findCrewLeftovers(git, branchOf(crew, spec), {
            base: spec.base,
            salvagePatterns: [`${salvagePrefix(spec)}/`, ...members],
            temporaryRefs: temporaryRefsOf(crew, spec),
          })
        : null
    })
  }

  /** Finds the branch and refs that stay after the removal of a crew. Null for other processes, and if git fails. */
  async findKept(crew: Process): Promise<CrewKeptView | null> {
    // An error of git does not stop the removal. The branch and refs stay in the repository.
    const left = crew.spec.crew ? await this.findLeftovers(crew).catch(() => null) : null
    if (!left || left.head === null) return null
    return {
      branch: crewGitSpec(crew)?.branch ?? '',
      commits: left.commits,
      unmerged: left.unmerged.map(({ name }) => name),
      salvaged: left.salvaged.map(({ ref }) => ref),
    }
  }

  /** Runs `work` with exclusive use of the member's files. */
  #withFiles<T>(member: Process, work: (git: Git) => Promise<T>): Promise<T> {
    return this.#deps.queue.run(queueKey(member), () => this.#withGit(work))
  }

  async #withGit<T>(work: (git: Git) => Promise<T>): Promise<T> {
    const { containments, newUuid, tmpDir } = this.#deps
    await using git = new Git((network) => containments.open(containments.plan(newUuid(), 0, 'auto'), tmpDir, network))
    return await work(git)
  }
}

/** The last merges of the crew, newest first. */
function recentMerges({ crew }: Process): { readonly task: TaskId; readonly merged: string }[] {
  const merges = (crew?.tasks ?? []).flatMap(({ id, merged, times }) =>
    merged === null ? [] : [{ task: id, merged, at: times.ended ?? 0 }],
  )
  return merges.toSorted((a, b) => b.at - a.at).slice(0, MAX_SEARCHED_MERGES)
}

/** Whether this is the member's first task. Files of a predecessor belong only to the task that was taken over, which is the first. */
function isMembersFirstTask({ crew }: Process, { spec: { member } }: Process, task: TaskId): boolean {
  return !crew?.tasks.some(({ id, implementers }) => id !== task && member !== undefined && implementers.includes(member.id))
}

/** Returns an error handler. For a lost worktree it returns the reason, so that the successor starts without the predecessor's files. */
function reasonIfFilesAreLost({ dir }: MemberTree): (error: unknown) => { readonly without: string } {
  return (error) => {
    if (error instanceof WorktreeError && error.dir === dir) return { without: error.message }
    throw error
  }
}

/** The key of a member's files in the queue of jobs. */
function queueKey({ uuid, spec: { worktree } }: Process): string {
  return worktree?.dir ?? uuid
}

/** The member's worktree; null until it is created. */
function worktreeOf({ files, spec, spec: { worktree, cwd } }: Process): MemberTree | null {
  if (!files || !worktree) return null
  const { repository, dir, branch } = worktree
  return { repository, dir, branch, ...gitUser(spec), ...(cwd.startsWith(`${dir}${sep}`) ? { cwd } : {}) }
}

/**
 * The crew's branch for git calls. A member's change is merged with the permissions of that member. If the member has left, no programs may
 * run.
 */
function branchOf(crew: Process, { repository, branch }: CrewGitSpec, tree: MemberTree | null = null): CrewBranch {
  const { dir, programs, network } = tree ?? {}
  return {
    repository,
    branch,
    env: crew.spec.env,
    ...(dir !== undefined && { dir }),
    ...(programs && { programs }),
    ...(network && { network }),
  }
}

/** The commit at which the crew's branch is created again if it was deleted. */
function lastMerged(crew: Process, { base }: CrewGitSpec): string {
  const landed = (crew.crew?.tasks ?? []).map(({ merged, earlier, times }) => ({
    merged: merged ?? earlier?.merged ?? null,
    at: merged === null ? 0 : (times.ended ?? 0),
  }))
  return (
    landed
      .filter(({ merged }) => merged !== null)
      .toSorted((a, b) => a.at - b.at)
      .at(-1)?.merged ?? base
  )
}

/**
 * The unmerged commits that a task starts from: those of needed tasks, and for a reopened task its earlier commit.
 */
function unmergedCommits(crew: Process, { id: own, needs }: Task): readonly string[] {
  return (crew.crew?.tasks ?? []).flatMap(({ id, commit, merged, earlier }) => {
    const landed = commit === null && earlier ? earlier : { commit, merged }
    return (needs.includes(id) || id === own) && landed.commit !== null && landed.merged === null ? [landed.commit] : []
  })
}

/** The review refs of parked tasks. They keep the files of the workers, which need no other salvage. */
function parkedRefs({ crew }: Process, spec: CrewGitSpec): readonly string[] {
  return (crew?.tasks ?? []).flatMap(({ id, parked }) => (parked ? [reviewRef(spec, id)] : []))
}

function salvageName(spec: CrewGitSpec, { spec: { member } }: Process, task: TaskId): SalvageName {
  const id = member?.id ?? 'member'
  return { name: `${salvagePrefix(spec)}/${id}`, message: `reeve: what ${id} left of ${task}` }
}

function commitTrailers({ id, implementer, reviewer }: Task): string {
  return [
    ['Task', id],
    ['Worker', implementer],
    ['Reviewer', reviewer],
  ]
    .flatMap(([name, value]) => (value ? [`Reeve-${name}: ${value}\n`] : []))
    .join('')
}

function taskOf({ crew, pid }: Process, id: TaskId): Task {
  const task = crew?.tasks.find((candidate) => candidate.id === id)
  if (!task) throw new KernelError('INTERNAL', `crew ${pid} has no task ${id}`)
  return task
}
