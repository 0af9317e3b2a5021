// Laws of a crew's repository after every step, whatever happened to it. The laws read only the model's state, and keep their own
// records. These are the author of each text, the approved forms, the verified files, and what each task has brought onto the branch. In the
// crew's row the laws read only the tasks and their members. Used by simulated-repository.ts.
import { hasVerifyCommand } from '../../../src/kernel/crew/state/verify-rules.ts'
import { treeId } from './objects.ts'
import type { By, Command } from '../../../src/kernel/model/crew/commands.ts'
import type { CrewFact, Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { Crew, Task } from '../../../src/kernel/model/crew/crew.ts'
import type { Operation, SimulatedRepository } from './simulated-repository.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'

export class BrokenLaw extends Error {
  readonly law: Law

  constructor(law: Law, words: string) {
    super(`${law}: ${words}`)
    this.law = law
  }
}

export type Law =
  | 'reviewed by another member'
  | 'in this form'
  | 'verified'
  | 'ends once'
  | 'lands once'
  | 'the user'
  | 'nothing is lost'
  | 'the branch'

interface Approval {
  readonly by: MemberId | 'the user'
  /** the form that was reviewed; null: no form was shown */
  readonly commit: string | null
}

interface Seen {
  readonly before: Crew
  readonly facts: readonly CrewFact[]
  readonly command: Command
  readonly by: By
}

const CLOSED: ReadonlySet<Task['state']> = new Set(['done', 'failed', 'cancelled'])

export class GitLaws {
  readonly #repository: SimulatedRepository
  /** the author of each text */
  readonly #authors = new Map<string, MemberId>()
  /** the last commit that a member was shown for a task */
  readonly #shown = new Map<string, string>()
  readonly #approvals = new Map<string, Approval>()
  readonly #greens = new Set<string>()
  /** the branch's commit when a task had landed on it, since the task was opened */
  readonly #landed = new Map<string, string>()
  readonly #ended = new Map<string, number>()
  /** the required commit of the crew's branch; null: no branch */
  #head: string | null = null
  /** the commit of the last merge */
  #last: string
  #user: string
  #own: { readonly commits: readonly string[]; readonly texts: readonly string[] } = { commits: [], texts: [] }
  landings = 0
  /** the number of landings whose files were checked again because the branch had moved on */
  merges = 0

  constructor(repository: SimulatedRepository) {
    this.#repository = repository
    this.#last = repository.base
    this.#user = this.#lookAtUser()
  }

  recordAuthor(member: MemberId, texts: readonly string[]): void {
    for (const text of texts) this.#authors.set(text, member)
  }

  /** The user changed the branch, which is allowed. */
  recordUserChange(): void {
    this.#user = this.#lookAtUser()
    this.#head = this.#branch()
  }

  /** A worker has checked out a branch of the user, and works on it. */
  recordWorkerChange(): void {
    this.#user = this.#lookAtUser()
  }

  #branch(): string | null {
    const { git, jobs } = this.#repository
    return git.refs.get(jobs.branch) ?? null
  }

  #lookAtUser(): string {
    const { git, user } = this.#repository
    return [git.refs.get('refs/heads/main'), git.refs.get('refs/heads/wip'), user.branch, treeId(user.index), treeId(user.files)].join(' ')
  }

  require(law: Law, holds: boolean, words: () => string): void {
    if (!holds) throw new BrokenLaw(law, words())
  }

  /** Checks the laws after each step. */
  checkAfterStep(operation: Operation): void {
    this.require('the user', this.#lookAtUser() === this.#user, () => `${operation.type} changed what the user has`)
    const head = this.#branch()
    if (head === this.#head || !this.#repository.world.spec.git) return
    this.require(
      'the branch',
      head === this.#last && this.#head === null,
      () =>
        `${operation.type === 'job' ? operation.job.type : operation.type} left the branch at ${head}; it was at ${this.#head}, and the last merge at ${this.#last}`,
    )
    this.#head = head
  }

  /** Records what only this worktree has, before a job on it. */
  recordBeforeJob(job: Exclude<Job, { type: 'spawn' }>): void {
    const { git, jobs, user } = this.#repository
    const tree = jobs.worktrees.get(job.member)
    const own = `refs/heads/${this.#repository.world.spec.git?.branch}.${job.member}`
    if (tree?.state !== 'there') {
      this.#own = { commits: [], texts: [] }
      return
    }
    const tip = git.refs.get(own)
    this.#own = {
      commits: git.without([tree.head, ...(tip === undefined ? [] : [tip])], [this.#repository.base, user.head]),
      texts: Object.entries(tree.files).map(([name, text]) => `${name}\0${text}`),
    }
  }

  checkAfterJob(job: Exclude<Job, { type: 'spawn' }>, result: JobResult): void {
    this.#checkLost(job)
    if (result.type === 'verified' && result.ran.code === 0) this.#greens.add(this.#treeOf(job, result.commit))
    if (job.type === 'brief' && result.type === 'briefed' && result.head !== null) this.recordReview(job, result.head)
    if (job.type === 'land' && this.#branch() !== this.#head) this.#checkLanding(job)
  }

  /** Records a reviewer's view; the user's approval is for the files at that time. */
  recordReview({ task, member }: Extract<Job, { type: 'brief' }>, head: string): void {
    this.#shown.set(`${task} ${member}`, head)
    const approval = this.#approvals.get(task)
    if (approval?.commit === null) this.#approvals.set(task, { ...approval, commit: head })
  }

  /** The files that verify saw, under any name. */
  #treeOf(job: Exclude<Job, { type: 'spawn' }>, commit: string | null): string {
    const tree = this.#repository.jobs.worktrees.get(job.member)
    return 'merge' in job && commit !== null ? treeId(this.#repository.git.files(commit)) : treeId(tree?.files ?? {})
  }

  /** All files and commits of the worktree still exist, or were saved. */
  #checkLost(job: Exclude<Job, { type: 'spawn' }>): void {
    const { git, jobs } = this.#repository
    const heads = [...git.refs.values(), ...[...jobs.worktrees.values()].map(({ head }) => head)]
    const isNamed = (commit: string): boolean => heads.some((head) => git.isIn(commit, head))
    const lost = this.#own.commits.filter((commit) => !isNamed(commit))
    const files = jobs.worktrees.get(job.member)?.files ?? {}
    const there = new Set(Object.entries(files).map(([name, text]) => `${name}\0${text}`))
    const texts = [
      ...this.#own.texts,
      ...lost.flatMap((commit) => Object.entries(git.files(commit)).map(([name, text]) => `${name}\0${text}`)),
    ].filter((text) => !there.has(text))
    if (texts.length === 0) return
    const known = new Set(
      heads
        .flatMap((head) => [...git.get(head).all])
        .flatMap((commit) => Object.entries(git.files(commit)).map(([name, text]) => `${name}\0${text}`)),
    )
    const gone = texts.filter((text) => !known.has(text))
    this.require(
      'nothing is lost',
      gone.length === 0,
      () => `${job.type} of ${job.member} left ${gone.map((text) => JSON.stringify(text)).join(', ')} nowhere`,
    )
  }

  /** Checks what a landing brought onto the branch. */
  #checkLanding({ task: id }: Extract<Job, { type: 'land' }>): void {
    const { git, world } = this.#repository
    const task = world.crew.tasks.find((one) => one.id === id)
    const [before, head] = [this.#head, this.#branch()]
    if (!task || head === null) throw new Error(`${id} lands, and is not there`)
    this.landings += 1
    this.require('the branch', before === null || git.isIn(before, head), () => `${id} landed in place of what was there`)
    this.require(
      'verified',
      !hasVerifyCommand(world.crew, world.spec, task) || this.#greens.has(treeId(git.files(head))),
      () => `what landed for ${id} was never green`,
    )
    // A change that the user removed from the branch may land once more.
    const earlier = this.#landed.get(id)
    this.require('lands once', earlier === undefined || before === null || !git.isIn(earlier, before), () => `${id} landed again`)
    this.#landed.set(id, head)
    if (task.reviews) this.#checkApproval(task, before ?? this.#last, head)
    this.#head = head
    this.#last = head
  }

  #checkApproval(task: Task, before: string, head: string): void {
    const { git } = this.#repository
    const approval = this.#approvals.get(task.id)
    if (approval === undefined) throw new BrokenLaw('reviewed by another member', `${task.id} landed, and was not approved`)
    const author = this.#authors.get(git.files(head)[`${task.id}.txt`] ?? '')
    const isOnlyOne = task.implementers.includes(approval.by as MemberId)
    this.require(
      'reviewed by another member',
      approval.by !== task.implementer && (author !== approval.by || isOnlyOne),
      () => `${approval.by} approved what ${author ?? task.implementer} wrote for ${task.id}`,
    )
    if (approval.commit === null) throw new BrokenLaw('in this form', `${task.id} landed, and ${approval.by} approved it in no form`)
    // A history without a common commit: then all its files are the reviewed change.
    const merged = git.merge(before, approval.commit) ?? { files: git.files(approval.commit), conflicts: [] }
    this.require(
      'in this form',
      merged.conflicts.length === 0 && treeId(merged.files) === treeId(git.files(head)),
      () =>
        `${task.id} landed as ${JSON.stringify(git.files(head))}, and was approved as ${JSON.stringify(git.files(approval.commit ?? ''))}; together with the branch that is ${JSON.stringify(merged.files)}`,
    )
    if (approval.commit !== head) this.merges += 1
  }

  /** Records approvals after each command, and checks tasks that ended. */
  checkAfterCommand({ before, facts, command, by }: Seen): void {
    const { crew } = this.#repository.world
    const opened = new Set<string>()
    const opens = command.type === 'reopen_task' || command.type === 'retry_task'
    for (const fact of facts) {
      if (opens && (fact.type === 'task.retried' || fact.type === 'task.reopened')) {
        opened.add(fact.task)
        for (const book of [this.#ended, this.#landed, this.#approvals]) book.delete(fact.task)
      }
      if (fact.type === 'task.verdict' && fact.verdict === 'APPROVED') this.#approve(fact.task, by)
      if (
        fact.type === 'task.approved' &&
        command.type !== 'report_review_verdict' &&
        by.type === 'user' &&
        crew.tasks.find(({ id }) => id === fact.task)?.verdict !== 'APPROVED'
      )
        this.#approve(fact.task, by)
      if (fact.type === 'task.done' || fact.type === 'task.failed' || fact.type === 'task.cancelled') this.#end(fact.task)
    }
    for (const was of before.tasks) {
      const now = crew.tasks.find(({ id }) => id === was.id)
      this.require(
        'ends once',
        !CLOSED.has(was.state) || now?.state === was.state || opened.has(was.id) || !this.#ended.has(was.id),
        () => `${was.id} was ${was.state}, and is ${now?.state}`,
      )
      if (now?.state === 'done' && was.state !== 'done' && now.merged !== null) this.#checkMerged(now)
    }
  }

  #approve(task: string, by: By): void {
    const one = this.#repository.world.crew.tasks.find(({ id }) => id === task)
    // The user is shown a reviewed form, or the commit that replaced it.
    const seen =
      by.type === 'member' && by.id !== 'coordinator' ? this.#shown.get(`${task} ${by.id}`) : (one?.landing?.differs?.commit ?? one?.viewed)
    this.#approvals.set(task, { by: by.type === 'member' ? by.id : 'the user', commit: seen ?? null })
  }

  #end(task: string): void {
    this.#ended.set(task, (this.#ended.get(task) ?? 0) + 1)
    this.require('ends once', this.#ended.get(task) === 1, () => `${task} ends ${this.#ended.get(task)} times`)
  }

  /** A commit that counts as merged must be on the branch. */
  #checkMerged({ id, commit }: Task): void {
    const { git } = this.#repository
    const head = this.#branch() ?? this.#last
    this.require(
      'the branch',
      commit !== null && (git.isIn(commit, head) || git.isIn(commit, this.#last)),
      () => `${id} counts as merged, and its commit is not on the branch`,
    )
  }
}
