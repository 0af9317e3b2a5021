// Checks the laws of a crew's repository after every step. The laws read only the simulated state and their own records. They record the
// author of each text, the approved files, the verified files, and the landings of each task. In the crew's row they read only the tasks
// and their members. Called by simulated-repository.ts.
import { hasVerifyCommand } from '../../../src/kernel/crew/state/verify-rules.ts'
import { treeId } from './objects.ts'
import type { Issuer, Command } from '../../../src/kernel/model/crew/commands.ts'
import type { CrewFact, Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { Crew, Task } from '../../../src/kernel/model/crew/crew.ts'
import type { Operation, SimulatedRepository } from './simulated-repository.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'

export class BrokenLaw extends Error {
  readonly law: Law

  constructor(law: Law, message: string) {
    super(`${law}: ${message}`)
    this.law = law
  }
}

export type Law =
  | 'reviewed by another member'
  | 'landed as approved'
  | 'verified'
  | 'ends once'
  | 'lands once'
  | 'user data unchanged'
  | 'nothing is lost'
  | 'landings stay'

interface Approval {
  readonly by: MemberId | 'the user'
  /** the commit that was shown to the reviewer; null: none was shown */
  readonly commit: string | null
}

interface CommandRecord {
  readonly before: Crew
  readonly facts: readonly CrewFact[]
  readonly command: Command
  readonly by: Issuer
}

const CLOSED: ReadonlySet<Task['state']> = new Set(['done', 'failed', 'cancelled'])

export class GitLaws {
  readonly #repository: SimulatedRepository
  /** the member who wrote each text */
  readonly #authors = new Map<string, MemberId>()
  /** the commit that a member was last shown for a task; the keys are `TASK MEMBER` */
  readonly #shown = new Map<string, string>()
  readonly #approvals = new Map<string, Approval>()
  readonly #verifiedTrees = new Set<string>()
  /** the head of the crew's branch after the landing of each task, since the task was last opened */
  readonly #landingCommits = new Map<string, string>()
  readonly #endCounts = new Map<string, number>()
  /** the commit at which the crew's branch must be; null: there was no branch */
  #requiredHead: string | null = null
  /** the commit of the last merge */
  #lastMerge: string
  #userState: string
  #worktreeContent: { readonly commits: readonly string[]; readonly texts: readonly string[] } = { commits: [], texts: [] }
  landingCount = 0
  /** the number of landings whose files were checked again because the branch had moved on */
  verifiedMergeCount = 0

  constructor(repository: SimulatedRepository) {
    this.#repository = repository
    this.#lastMerge = repository.base
    this.#userState = this.#readUserState()
  }

  recordAuthor(member: MemberId, texts: readonly string[]): void {
    for (const text of texts) this.#authors.set(text, member)
  }

  /** Accepts that the user changed the crew's branch or their own data. */
  acceptUserChange(): void {
    this.#userState = this.#readUserState()
    this.#requiredHead = this.#branchHead()
  }

  /** Accepts the commits of a worker on a branch of the user. */
  acceptWorkerCheckout(): void {
    this.#userState = this.#readUserState()
  }

  #branchHead(): string | null {
    const { git, jobs } = this.#repository
    return git.refs.get(jobs.branch) ?? null
  }

  #readUserState(): string {
    const { git, user } = this.#repository
    return [git.refs.get('refs/heads/main'), git.refs.get('refs/heads/wip'), user.branch, treeId(user.index), treeId(user.files)].join(' ')
  }

  #require(law: Law, holds: boolean, message: () => string): void {
    if (!holds) throw new BrokenLaw(law, message())
  }

  /** Checks that the user's data and the crew's branch changed only as allowed. */
  checkAfterStep(operation: Operation): void {
    this.#require(
      'user data unchanged',
      this.#readUserState() === this.#userState,
      () => `${operation.type} changed the branches or files of the user`,
    )
    const head = this.#branchHead()
    if (head === this.#requiredHead || !this.#repository.world.spec.git) return
    this.#require(
      'landings stay',
      head === this.#lastMerge && this.#requiredHead === null,
      () =>
        `${operation.type === 'job' ? operation.job.type : operation.type} left the branch at ${head}; it was at ${this.#requiredHead}, and the last merge was ${this.#lastMerge}`,
    )
    this.#requiredHead = head
  }

  /** Records the commits of a worktree that are not the user's, and its files, before a job on it. */
  recordBeforeJob(job: Exclude<Job, { type: 'spawn' }>): void {
    const { git, jobs, user } = this.#repository
    const tree = jobs.worktrees.get(job.member)
    const branchRef = `refs/heads/${this.#repository.world.spec.git?.branch}.${job.member}`
    if (tree?.state !== 'there') {
      this.#worktreeContent = { commits: [], texts: [] }
      return
    }
    const tip = git.refs.get(branchRef)
    this.#worktreeContent = {
      commits: git.commitsWithout([tree.head, ...(tip === undefined ? [] : [tip])], [this.#repository.base, user.head]),
      texts: Object.entries(tree.files).map(([name, text]) => `${name}\0${text}`),
    }
  }

  checkAfterJob(job: Exclude<Job, { type: 'spawn' }>, result: JobResult): void {
    this.#checkLost(job)
    if (result.type === 'verified' && result.ran.code === 0) this.#verifiedTrees.add(this.#treeOf(job, result.commit))
    if (job.type === 'brief' && result.type === 'briefed' && result.head !== null) this.#recordBrief(job, result.head)
    if (job.type === 'land' && this.#branchHead() !== this.#requiredHead) this.#checkLanding(job)
  }

  /** Records the commit that a reviewer is shown. An earlier approval without a commit is taken to be for it. */
  #recordBrief({ task, member }: Extract<Job, { type: 'brief' }>, head: string): void {
    this.#shown.set(`${task} ${member}`, head)
    const approval = this.#approvals.get(task)
    if (approval?.commit === null) this.#approvals.set(task, { ...approval, commit: head })
  }

  /** The tree of the files that the verify command read. */
  #treeOf(job: Exclude<Job, { type: 'spawn' }>, commit: string | null): string {
    const tree = this.#repository.jobs.worktrees.get(job.member)
    return 'merge' in job && commit !== null ? treeId(this.#repository.git.files(commit)) : treeId(tree?.files ?? {})
  }

  /** Checks that all files and commits that the worktree had before the job still exist somewhere. */
  #checkLost(job: Exclude<Job, { type: 'spawn' }>): void {
    const { git, jobs } = this.#repository
    const heads = [...git.refs.values(), ...[...jobs.worktrees.values()].map(({ head }) => head)]
    const isNamed = (commit: string): boolean => heads.some((head) => git.isAncestor(commit, head))
    const lostCommits = this.#worktreeContent.commits.filter((commit) => !isNamed(commit))
    const files = jobs.worktrees.get(job.member)?.files ?? {}
    const presentTexts = new Set(Object.entries(files).map(([name, text]) => `${name}\0${text}`))
    const texts = [
      ...this.#worktreeContent.texts,
      ...lostCommits.flatMap((commit) => Object.entries(git.files(commit)).map(([name, text]) => `${name}\0${text}`)),
    ].filter((text) => !presentTexts.has(text))
    if (texts.length === 0) return
    const reachableTexts = new Set(
      heads
        .flatMap((head) => [...git.get(head).ancestors])
        .flatMap((commit) => Object.entries(git.files(commit)).map(([name, text]) => `${name}\0${text}`)),
    )
    const lostTexts = texts.filter((text) => !reachableTexts.has(text))
    this.#require(
      'nothing is lost',
      lostTexts.length === 0,
      () => `${job.type} of ${job.member} left ${lostTexts.map((text) => JSON.stringify(text)).join(', ')} nowhere`,
    )
  }

  /** Checks the change that a landing added to the branch. */
  #checkLanding({ task: id }: Extract<Job, { type: 'land' }>): void {
    const { git, world } = this.#repository
    const task = world.crew.tasks.find((candidate) => candidate.id === id)
    const [before, head] = [this.#requiredHead, this.#branchHead()]
    if (!task || head === null) throw new Error(`${id} landed, but the crew has no such task`)
    this.landingCount += 1
    this.#require('landings stay', before === null || git.isAncestor(before, head), () => `${id} replaced earlier commits of the branch`)
    this.#require(
      'verified',
      !hasVerifyCommand(world.crew, world.spec, task) || this.#verifiedTrees.has(treeId(git.files(head))),
      () => `the files that ${id} landed never passed verify`,
    )
    // A change that the user removed from the branch may land again.
    const earlierLanding = this.#landingCommits.get(id)
    this.#require(
      'lands once',
      earlierLanding === undefined || before === null || !git.isAncestor(earlierLanding, before),
      () => `${id} landed again`,
    )
    this.#landingCommits.set(id, head)
    if (task.reviews) this.#checkApproval(task, before ?? this.#lastMerge, head)
    this.#requiredHead = head
    this.#lastMerge = head
  }

  #checkApproval(task: Task, before: string, head: string): void {
    const { git } = this.#repository
    const approval = this.#approvals.get(task.id)
    if (approval === undefined) throw new BrokenLaw('reviewed by another member', `${task.id} landed, but was not approved`)
    const author = this.#authors.get(git.files(head)[`${task.id}.txt`] ?? '')
    const hasImplemented = task.implementers.includes(approval.by as MemberId)
    this.#require(
      'reviewed by another member',
      approval.by !== task.implementer && (author !== approval.by || hasImplemented),
      () => `${approval.by} approved what ${author ?? task.implementer} wrote for ${task.id}`,
    )
    if (approval.commit === null)
      throw new BrokenLaw('landed as approved', `${task.id} landed, and ${approval.by} approved it without having been shown a commit`)
    // A history without a common commit: then all its files are the reviewed change.
    const merged = git.merge(before, approval.commit) ?? { files: git.files(approval.commit), conflicts: [] }
    this.#require(
      'landed as approved',
      merged.conflicts.length === 0 && treeId(merged.files) === treeId(git.files(head)),
      () =>
        `${task.id} landed as ${JSON.stringify(git.files(head))}, and was approved as ${JSON.stringify(git.files(approval.commit ?? ''))}; together with the branch that is ${JSON.stringify(merged.files)}`,
    )
    if (approval.commit !== head) this.verifiedMergeCount += 1
  }

  /** Records approvals after each command, and checks tasks that ended. */
  recordCommand({ before, facts, command, by }: CommandRecord): void {
    const { crew } = this.#repository.world
    const openedTasks = new Set<string>()
    const isOpening = command.type === 'reopen_task' || command.type === 'retry_task'
    for (const fact of facts) {
      if (isOpening && (fact.type === 'task.retried' || fact.type === 'task.reopened')) {
        openedTasks.add(fact.task)
        for (const record of [this.#endCounts, this.#landingCommits, this.#approvals]) record.delete(fact.task)
      }
      if (fact.type === 'task.verdict' && fact.verdict === 'APPROVED') this.#recordApproval(fact.task, by)
      if (
        fact.type === 'task.approved' &&
        command.type !== 'report_review_verdict' &&
        by.type === 'user' &&
        crew.tasks.find(({ id }) => id === fact.task)?.verdict !== 'APPROVED'
      )
        this.#recordApproval(fact.task, by)
      if (fact.type === 'task.done' || fact.type === 'task.failed' || fact.type === 'task.cancelled') this.#recordEnd(fact.task)
    }
    for (const previous of before.tasks) {
      const current = crew.tasks.find(({ id }) => id === previous.id)
      this.#require(
        'ends once',
        !CLOSED.has(previous.state) ||
          current?.state === previous.state ||
          openedTasks.has(previous.id) ||
          !this.#endCounts.has(previous.id),
        () => `${previous.id} was ${previous.state}, but is now ${current?.state}`,
      )
      if (current?.state === 'done' && previous.state !== 'done' && current.merged !== null) this.#checkMerged(current)
    }
  }

  #recordApproval(task: string, by: Issuer): void {
    const current = this.#repository.world.crew.tasks.find(({ id }) => id === task)
    // The user is shown the reviewed commit, or the commit that replaced it.
    const commit =
      by.type === 'member' && by.id !== 'coordinator'
        ? this.#shown.get(`${task} ${by.id}`)
        : (current?.landing?.differs?.commit ?? current?.viewed)
    this.#approvals.set(task, { by: by.type === 'member' ? by.id : 'the user', commit: commit ?? null })
  }

  #recordEnd(task: string): void {
    this.#endCounts.set(task, (this.#endCounts.get(task) ?? 0) + 1)
    this.#require('ends once', this.#endCounts.get(task) === 1, () => `${task} ended ${this.#endCounts.get(task)} times`)
  }

  /** A commit that counts as merged must be on the branch. */
  #checkMerged({ id, commit }: Task): void {
    const { git } = this.#repository
    const head = this.#branchHead() ?? this.#lastMerge
    this.#require(
      'landings stay',
      commit !== null && (git.isAncestor(commit, head) || git.isAncestor(commit, this.#lastMerge)),
      () => `${id} counts as merged, but its commit is not on the branch`,
    )
  }
}
