// The repository of a crew in the simulated world: the members' worktrees, hostile git operations of members and the user, and
// the crew's jobs. All of it is on the simulated git. After each step the laws of laws.ts hold. With `trace` it records each
// operation and its result, so that git can repeat them (test/support/crew/real-git.ts).
// Tests: test/simulation, test/processes/crew/simulated-git.test.ts.
import { memberBranch } from '../../../src/daemon/crew/jobs/refs.ts'
import { GIT_MISUSES, type GitMisuse } from '../crew/misused-git.ts'
import { GitLaws } from './laws.ts'
import { SimulatedJobs } from './jobs.ts'
import { Objects, treeId, type Files } from './objects.ts'
import { Worktree } from './worktree.ts'
import type { Issuer, Command } from '../../../src/kernel/model/crew/commands.ts'
import type { CrewFact, Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { Crew } from '../../../src/kernel/model/crew/crew.ts'
import type { MemberProcess, CrewWorld } from '../crew-world/world.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../src/kernel/model/process-spec.ts'

/**
 * What the user does. `commit` is to the base; `forward`, `back` and `delete` concern the crew's branch. `switch` changes the branch of
 * the main worktree, between the base and the crew's branch.
 */
export const USER_CHANGES = ['commit', 'forward', 'back', 'delete', 'switch'] as const
export type UserChange = (typeof USER_CHANGES)[number]

/** One operation on the repository. */
export type Operation =
  | { readonly type: 'spawn'; readonly member: MemberId }
  | { readonly type: 'write'; readonly member: MemberId; readonly files: Files }
  /** the member commits all files, merges the branch `merge`, and resolves the conflicts */
  | { readonly type: 'commit'; readonly member: MemberId; readonly merge: string | null; readonly number: number }
  | { readonly type: 'misuse'; readonly member: MemberId; readonly what: GitMisuse; readonly number: number; readonly neighbour: string }
  | { readonly type: 'user-change'; readonly what: UserChange; readonly number: number }
  | { readonly type: 'job'; readonly job: Exclude<Job, { type: 'spawn' }>; readonly facts: readonly CrewFact[]; readonly result: JobResult }

/** The content of the repository. `refs`: the tree of each ref; `trees`: the checkout and the files of each worktree. */
export interface Content {
  readonly refs: Readonly<Record<string, string>>
  readonly trees: Readonly<Record<string, string>>
}

export interface Step {
  readonly operation: Operation
  /** the crew after the operation */
  readonly crew: { readonly row: Crew; readonly spec: CrewSpec }
  readonly after: Content
}

/** Deliberate defects, for the tests of the laws. Each changes a requested job or its result. */
export interface Defects {
  readonly job?: (job: Exclude<Job, { type: 'spawn' }>, repository: SimulatedRepository) => Exclude<Job, { type: 'spawn' }>
  readonly result?: (job: Exclude<Job, { type: 'spawn' }>, result: JobResult, repository: SimulatedRepository) => JobResult
}

export const BASE_FILES: Files = Object.freeze({ 'index.txt': 'the first line\n', 'main.txt': 'm\n' })
export const WIP_FILES: Files = Object.freeze({ ...BASE_FILES, 'wip.txt': 'unfinished\n' })
export const TEXTS = { foreign: 'unfinished work of the user' }

/** The initial repository: the base, and an unfinished branch of the user. */
function initialRepository(): { readonly git: Objects; readonly base: string } {
  const git = new Objects()
  const base = git.commit(BASE_FILES, [], 'first')
  git.tick()
  git.refs.set('refs/heads/main', base)
  git.refs.set('refs/heads/wip', git.commit(WIP_FILES, [base], TEXTS.foreign))
  return { git, base }
}

/** Whether the verify command fails on these files. Some changes fail alone, others only together with a second change. */
export function failsVerify(files: Files): boolean {
  const editNumbers = Object.entries(files)
    .filter(([name]) => /^t(ask-)?\d+\.txt$/.test(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, text]) => Number(/(\d+)\n$/.exec(text)?.[1] ?? 1))
  const [first, second] = editNumbers
  return editNumbers.some((number) => number % 11 === 0) || (first !== undefined && second !== undefined && (first + second) % 9 === 0)
}

export class SimulatedRepository {
  readonly git: Objects
  readonly base: string
  readonly user: Worktree
  readonly jobs: SimulatedJobs
  readonly laws: GitLaws
  readonly steps: Step[] = []
  /** the number of times that each operation has happened */
  readonly tally = new Map<string, number>()
  readonly #trace: boolean
  readonly #defects: Defects
  #world: CrewWorld | null = null
  #number = 0

  constructor({ trace = false, defects = {} }: { readonly trace?: boolean; readonly defects?: Defects } = {}) {
    const { git, base } = initialRepository()
    this.git = git
    this.base = base
    this.user = new Worktree(git, 'refs/heads/main', base)
    this.#trace = trace
    this.#defects = defects
    this.jobs = new SimulatedJobs({ git, user: this.user, failsVerify, spec: () => this.world.spec, crew: () => this.world.crew })
    this.laws = new GitLaws(this)
  }

  /** The world of this repository. */
  set world(world: CrewWorld) {
    this.#world = world
  }

  get world(): CrewWorld {
    if (!this.#world) throw new Error('the repository has no crew')
    return this.#world
  }

  get isCrewBranchCheckedOut(): boolean {
    return this.user.branch === this.jobs.branch
  }

  /** Counts the operation, and returns a number that makes names and contents unique. */
  #nextNumber(operationName: string): number {
    this.tally.set(operationName, (this.tally.get(operationName) ?? 0) + 1)
    this.#number += 1
    this.git.tick()
    return this.#number
  }

  spawn(member: MemberId): void {
    if (!this.world.spec.git || member.startsWith('coordinator')) return
    this.git.tick()
    this.jobs.spawn(member)
    this.#record({ type: 'spawn', member })
  }

  #openWorktree(member: MemberId): Worktree | null {
    const tree = this.jobs.worktrees.get(member)
    return tree?.state === 'there' ? tree : null
  }

  /** Changes the member's own file and, usually, the common file. */
  edit({ id }: MemberProcess): void {
    const tree = this.#openWorktree(id)
    if (!tree) return
    const task = this.world.crew.members.find((member) => member.id === id)?.task ?? 'none'
    const number = this.#nextNumber('edit')
    const files = { [`${task}.txt`]: `${task} ${number}\n`, ...(number % 5 < 3 ? { 'index.txt': `${task} ${number}\n` } : {}) }
    for (const [name, text] of Object.entries(files)) tree.write(name, text)
    this.laws.recordAuthor(id, Object.values(files))
    this.#record({ type: 'write', member: id, files })
  }

  /** Commits as the task's text demands: also a merge, with its conflicts resolved. */
  commit({ id, reading }: MemberProcess): void {
    const tree = this.#openWorktree(id)
    if (!tree) return
    const number = this.#nextNumber('commit')
    const merge = reading?.text.includes('git merge') ? (/git merge ([^`\s]+)/.exec(reading.text)?.[1] ?? null) : null
    tree.add()
    tree.commit('what was asked for')
    const mergedCommit =
      merge === null ? undefined : (this.git.refs.get(`refs/heads/${merge}`) ?? (this.git.commits.has(merge) ? merge : undefined))
    if (merge !== null && mergedCommit !== undefined) {
      tree.merge(mergedCommit, merge)
      for (const name of tree.unmerged) if (tree.files[name] !== undefined) tree.write(name, `resolved ${number}\n`)
      tree.add()
      tree.commit('resolved')
    }
    this.laws.acceptWorkerCheckout()
    this.#record({ type: 'commit', member: id, merge, number })
  }

  /** Misuses git in a worktree, also outside a turn: a program that the worker left running can do that, too. */
  misuse(chosenNumber: number): void {
    const members = [...this.jobs.worktrees]
      .filter(([id, { state }]) => state === 'there' && this.world.procs.get(id)?.isAlive)
      .map(([id]) => id)
    const member = members[chosenNumber % Math.max(1, members.length)]
    const tree = member === undefined ? null : this.#openWorktree(member)
    const misuse = GIT_MISUSES[Math.floor(chosenNumber / 7) % GIT_MISUSES.length]
    if (member === undefined || !tree || misuse === undefined) return
    // Misuses that end a worktree are rare: otherwise no crew would finish.
    if ((misuse === 'gone' || misuse === 'broken' || misuse === 'removed') && chosenNumber % 3 > 0) return
    const allMembers = [...this.jobs.worktrees.keys()]
    const neighbour = memberBranch({ ...this.#spec }, allMembers[Math.floor(chosenNumber / 3) % allMembers.length] ?? member)
    const number = this.#nextNumber(misuse)
    this.#applyMisuse(misuse, { tree, member, number, neighbour })
    this.laws.acceptWorkerCheckout()
    this.#record({ type: 'misuse', member, what: misuse, number, neighbour })
  }

  get #spec(): NonNullable<CrewSpec['git']> {
    const { git } = this.world.spec
    if (!git) throw new Error('the crew has no repository')
    return git
  }

  /** Misuses the simulated git in the way in which misused-git.ts misuses git. */
  #applyMisuse(
    what: GitMisuse,
    {
      tree,
      member,
      number,
      neighbour,
    }: { readonly tree: Worktree; readonly member: MemberId; readonly number: number; readonly neighbour: string },
  ): void {
    const { git } = this
    const commitOf = (ref: string): string => git.refs.get(`refs/heads/${ref}`) ?? ''
    const write = (name: string, text: string): void => {
      tree.write(name, text)
      this.laws.recordAuthor(member, [text])
    }
    switch (what) {
      case 'reset':
        return tree.reset(commitOf('main'))
      case 'stash':
        return void tree.stash()
      case 'half':
        return void [write(`new-${number}.txt`, `left out ${number}\n`), tree.commit('half of it', { all: true })]
      case 'other':
        return void [write('main.txt', `steal() ${number}\n`), tree.add(), tree.commit('not what was reviewed')]
      case 'staged':
        return void [
          write(`staged-${number}.txt`, `staged ${number}\n`),
          tree.add(),
          write(`staged-${number}.txt`, `and changed ${number}\n`),
        ]
      case 'deleted':
        return void (tree.files = Object.fromEntries(Object.entries(tree.files).filter(([name]) => name !== 'main.txt')))
      case 'foreign':
        return tree.detach(commitOf('wip'))
      case 'theirs': {
        const isCheckedOut = [...this.jobs.worktrees.values()].some((worktree) => worktree !== tree && worktree.branch === 'refs/heads/wip')
        if (!isCheckedOut) tree.checkOut('refs/heads/wip')
        return
      }
      case 'neighbour':
        return void (commitOf(neighbour) !== '' && tree.merge(commitOf(neighbour), neighbour))
      case 'branch':
        return void tree.createBranch(`refs/heads/private-${number}`)
      case 'moved':
        return void git.refs.set(`refs/heads/${memberBranch(this.#spec, member)}`, commitOf('main'))
      case 'markers':
        return void [write('index.txt', `<<<<<<< ours\na\n=======\nb ${number}\n>>>>>>> theirs\n`), tree.add(), tree.commit('resolved')]
      case 'ours': {
        const ref = number % 2 === 0 ? 'wip' : this.#spec.branch
        return void (commitOf(ref) !== '' && tree.merge(commitOf(ref), ref, { ours: true }))
      }
      case 'amend':
        return void tree.amend('amended')
      case 'removed':
      case 'gone':
        return void (tree.state = 'gone')
      case 'broken':
        return void (tree.state = 'broken')
    }
  }

  /** The user changes the crew's branch, the base, or the checkout of the main worktree. */
  changeAsUser(change: UserChange): void {
    const { git } = this
    const { branch } = this.jobs
    const head = git.refs.get(branch)
    if (change !== 'commit' && (head === undefined || (this.isCrewBranchCheckedOut && change !== 'switch'))) return
    if (change === 'commit' && this.isCrewBranchCheckedOut) return
    const number = this.#nextNumber(`user: ${change}`)
    if (change === 'commit') {
      this.user.write('main.txt', `by the user ${number}\n`)
      this.user.add()
      this.user.commit('by the user')
    } else if (change === 'switch') {
      const nextBranch = this.isCrewBranchCheckedOut ? 'refs/heads/main' : branch
      this.user.checkOutClean(nextBranch, git.refs.get(nextBranch) ?? '')
    } else if (change === 'delete') git.refs.delete(branch)
    else if (change === 'back') git.refs.set(branch, git.get(head ?? '').parents[0] ?? head ?? '')
    else git.refs.set(branch, git.commit(git.files(head ?? ''), [head ?? ''], 'by the user, on the branch of the crew'))
    this.laws.acceptUserChange()
    this.#record({ type: 'user-change', what: change, number })
  }

  /** Performs a job. Returns null while the job waits for the user to check out another branch. */
  perform(requested: Exclude<Job, { type: 'spawn' }>): JobResult | null {
    if ('patient' in requested && requested.patient && this.isCrewBranchCheckedOut) return null
    this.git.tick()
    this.laws.recordBeforeJob(requested)
    const job = this.#defects.job?.(requested, this) ?? requested
    const answer = this.jobs.perform(job)
    this.laws.checkAfterJob(job, answer)
    const result = this.#defects.result?.(job, answer, this) ?? answer
    this.#record({ type: 'job', job, facts: this.#trace ? [...this.world.journal] : [], result })
    return result
  }

  /** Checks the laws after each command. */
  recordCommand(before: Crew, facts: readonly CrewFact[], command: Command, by: Issuer): void {
    if (this.world.spec.git) this.laws.recordCommand({ before, facts, command, by })
  }

  #record(operation: Operation): void {
    this.laws.checkAfterStep(operation)
    if (this.#trace) this.steps.push({ operation, crew: { row: this.world.crew, spec: this.world.spec }, after: this.content() })
  }

  content(): Content {
    const refs = Object.fromEntries(
      [...this.git.refs].filter(([ref]) => isComparedRef(ref)).map(([ref, commit]) => [ref, treeId(this.git.files(commit))]),
    )
    const trees = Object.fromEntries([...this.jobs.worktrees, ['the user', this.user] as const].map(([id, tree]) => [id, contentOf(tree)]))
    return { refs, trees }
  }
}

/** Whether the ref is compared with git. Other refs depend on the names of commits, which differ in git. */
export function isComparedRef(ref: string): boolean {
  return (ref.startsWith('refs/heads/') || ref.startsWith('refs/reeve/')) && !ref.startsWith('refs/reeve/approved/')
}

function contentOf({ state, branch, files }: Worktree): string {
  return state === 'there' ? `${branch ?? 'detached'} ${treeId(files)}` : state
}
