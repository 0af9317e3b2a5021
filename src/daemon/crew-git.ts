// What git does for a crew: each of its jobs on the worktree of a member and on the crew's branch, for the one who runs jobs (crews.ts).
// Owns the names of branches and refs, what commits say, and that one job at a time commits or merges in a repository. Each job may
// be asked again after a crash. Must never be asked while that member is in a turn. Tests: test/processes/crew-jobs.test.ts.
import { sep } from 'node:path'
import { KernelError } from '../kernel/errors.ts'
import { Git, GitError } from '../drivers/files/git.ts'
import { crewLeft } from '../drivers/files/crew-left.ts'
import { crewHead, leaveBranch, mergeInto, together } from '../drivers/files/crew-merge.ts'
import { bringTo, commitTask, dropView, handOver, keepFiles, viewOf } from '../drivers/files/crew-tree.ts'
import { BASES, HANDED_OVER } from '../drivers/files/salvage.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { CrewLeft } from '../drivers/files/crew-left.ts'
import type { CrewBranch, MergeEnd } from '../drivers/files/crew-merge.ts'
import type { CommitEnd, MemberTree, SalvageName } from '../drivers/files/crew-tree.ts'
import type { CrewKeptView } from '../api/crew-report-views.ts'
import type { CrewGitSpec, MemberId, Task, TaskId } from '../crew/types.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Lines } from './lines.ts'

const BRANCHES = 'reeve/'
const SALVAGED = 'refs/reeve/salvage/'

export interface CrewGitParts {
  readonly container: Pick<Container, 'open' | 'plan'>
  readonly tmpDir: string
  readonly newUuid: () => Uuid
  /** by worktree and by repository; also of those who remove worktrees */
  readonly lines: Lines
}

/** Whose files, and for what. */
export interface CrewWork {
  /** the crew's process */
  readonly crew: Process
  readonly member: Process
  readonly task: TaskId
}

export class CrewGit {
  readonly #parts: CrewGitParts

  constructor(parts: CrewGitParts) {
    this.#parts = parts
  }

  /** Where a new member's worktree begins: for `worktrees.plan`. Null: the crew has no repository. Errors: `GitError`. */
  place(crew: Process, member: MemberId): Promise<{ readonly branch: string; readonly base: string } | null> {
    return this.#with(async (git) => {
      const spec = crew.spec.crew?.git
      return spec ? { branch: memberBranch(spec, member), base: await crewHead(git, branchOf(crew, spec), lastMerged(crew, spec)) } : null
    })
  }

  /**
   * The member's worktree has what the task begins with, and nothing else: the crew's branch and what the task needs and was left
   * beside it; of a successor, what `from` has. What was there is salvaged. Errors: `GitError`.
   */
  prepare({ crew, member, task }: CrewWork, from: Process | null): Promise<{ readonly base: string | null; readonly salvaged: string | null }> {
    const begin = () => this.#in(member, async (git) => {
      const [spec, tree] = [crew.spec.crew?.git, treeOf(member)]
      if (!spec || !tree) return { base: null, salvaged: null }
      const branch = branchOf(crew, spec, tree)
      const head = await crewHead(git, branch, lastMerged(crew, spec))
      const one = taskOf(crew, task)
      const old = from && isFirst(crew, member, task) ? treeOf(from) : null
      if (old) {
        const given = await handOver(git, { from: old, to: tree, ref: `${HANDED_OVER}${member.uuid}`, salvage: salvageName(spec, member, task) })
        return { base: one.base ?? head, salvaged: given.salvaged }
      }
      const base = await together(git, branch, head, { commits: leftBeside(crew, one), ref: `${BASES}${member.uuid}` })
      if ('problem' in base) throw new GitError(base.problem)
      return { base: base.commit, salvaged: await bringTo(git, tree, base.commit, salvageName(spec, member, task)) }
    })
    return from ? this.#parts.lines.run(placeOf(from), begin) : begin()
  }

  /** Where a reviewer finds what the member did; `head` is a commit that has also what is not committed, new files too. */
  brief({ crew, member, task }: CrewWork): Promise<{ readonly dir: string | null; readonly branch: string | null; readonly head: string | null }> {
    return this.#in(member, async (git) => {
      const [spec, tree] = [crew.spec.crew?.git, treeOf(member)]
      return spec && tree ? { dir: tree.dir, branch: tree.branch, head: await viewOf(git, tree, viewRef(spec, task)) } : { dir: null, branch: null, head: null }
    })
  }

  /** Whether the task is committed; with `force` reeve commits what there is. What was committed has a branch of its own until it is merged. */
  commit({ crew, member, task }: CrewWork, { base, force }: { readonly base: string | null; readonly force: boolean }): Promise<CommitEnd> {
    const [spec, tree] = [crew.spec.crew?.git, treeOf(member)]
    if (!spec || !tree || base === null) return Promise.resolve({ type: 'nothing' })
    return this.#parts.lines.run(spec.repository, () => this.#in(member, async (git) => {
      const one = taskOf(crew, task)
      const end = await commitTask(git, tree, { base, crew: spec.branch, own: force, message: `${one.title}\n\n${trailers(one)}` })
      if (end.type === 'committed') await leaveBranch(git, branchOf(crew, spec, tree), { commit: end.commit, left: taskBranch(spec, task) })
      if (end.type === 'committed' || end.type === 'nothing') await dropView(git, tree, viewRef(spec, task))
      return end
    }))
  }

  /** Merges it into the crew's branch, or leaves it on its own. Errors: `GitError`. */
  merge({ crew, member, task }: Omit<CrewWork, 'member'> & { readonly member: Process | null }, commit: string): Promise<MergeEnd> {
    const spec = crew.spec.crew?.git
    if (!spec) return Promise.resolve({ type: 'merged', commit, notes: [] })
    return this.#parts.lines.run(spec.repository, () => this.#with(async (git) => {
      const one = taskOf(crew, task)
      const branch = branchOf(crew, spec, member && treeOf(member))
      await crewHead(git, branch, lastMerged(crew, spec))
      return mergeInto(git, branch, { commit, left: taskBranch(spec, task), message: `Merge ${task}: ${one.title}\n\n${trailers(one)}` })
    }))
  }

  /** The task is no longer this member's: its worktree is as it was before. The ref that has what was there; null: nothing was. */
  reset({ crew, member, task }: CrewWork): Promise<string | null> {
    return this.#in(member, async (git) => {
      const [spec, tree] = [crew.spec.crew?.git, treeOf(member)]
      if (!spec || !tree) return null
      const head = await crewHead(git, branchOf(crew, spec, tree), lastMerged(crew, spec))
      await dropView(git, tree, viewRef(spec, task))
      return bringTo(git, tree, head, salvageName(spec, member, task))
    })
  }

  /** What a member that is gone left is put on a ref too; its worktree stays as it is. Null: there is nothing, or nothing to look at. */
  salvage({ crew, member, task }: CrewWork): Promise<string | null> {
    return this.#in(member, async (git) => {
      const [spec, tree] = [crew.spec.crew?.git, treeOf(member)]
      return spec && tree ? keepFiles(git, tree, salvageName(spec, member, task)) : null
    })
  }

  /** What git has of the crew that a person may want. Null: it has no repository. Errors: `GitError` where that is gone. */
  left(crew: Process): Promise<CrewLeft | null> {
    return this.#with(async (git) => {
      const spec = crew.spec.crew?.git
      const members = (crew.crew?.members ?? []).flatMap(({ uuid }) => (uuid === null ? [] : [`${SALVAGED}${uuid}`]))
      return spec ? crewLeft(git, branchOf(crew, spec), { base: spec.base, salvages: [`${salvagesOf(spec)}/`, ...members] }) : null
    })
  }

  /** The same for a crew that is removed; null for other processes, and where nobody can say. */
  async kept(crew: Process): Promise<CrewKeptView | null> {
    const left = crew.spec.crew ? await this.left(crew).catch(() => null) : null
    if (!left || left.head === null) return null
    return { branch: crew.spec.crew?.git?.branch ?? '', commits: left.commits, unmerged: left.unmerged.map(({ name }) => name), salvaged: left.salvaged.map(({ ref }) => ref) }
  }

  /** With the member's files: whoever else works on them waits. */
  #in<T>(member: Process, work: (git: Git) => Promise<T>): Promise<T> {
    return this.#parts.lines.run(placeOf(member), () => this.#with(work))
  }

  async #with<T>(work: (git: Git) => Promise<T>): Promise<T> {
    const { container, newUuid, tmpDir } = this.#parts
    await using git = new Git(() => container.open(container.plan(newUuid(), 0, 'auto'), tmpDir))
    return await work(git)
  }
}

/** Below this name are the refs with what members of a crew left. */
function salvagesOf({ branch }: CrewGitSpec): string {
  return `${SALVAGED}${branch.slice(BRANCHES.length)}`
}

/** With a dot: git cannot have a branch below the name of another one. */
function memberBranch({ branch }: CrewGitSpec, member: MemberId): string {
  return `${branch}.${member}`
}

function taskBranch({ branch }: CrewGitSpec, task: TaskId): string {
  return `${branch}.${task}`
}

/** What was reviewed last; it goes with the commit. */
function viewRef({ branch }: CrewGitSpec, task: TaskId): string {
  return `refs/reeve/review/${branch.slice(BRANCHES.length)}/${task}`
}

/** What a successor was given belongs to the task that it took over, and to no later one. */
function isFirst({ crew }: Process, { spec: { member } }: Process, task: TaskId): boolean {
  return !crew?.tasks.some(({ id, implementers }) => id !== task && member !== undefined && implementers.includes(member.id))
}

/** What its line is called. */
function placeOf({ uuid, spec: { worktree } }: Process): string {
  return worktree?.dir ?? uuid
}

/** Its worktree, once it was made. */
function treeOf({ files, spec: { worktree, cwd, env } }: Process): MemberTree | null {
  if (!files || !worktree) return null
  const { repository, dir, branch } = worktree
  return { repository, dir, branch, env, ...(cwd.startsWith(`${dir}${sep}`) ? { cwd } : {}) }
}

function branchOf(crew: Process, { repository, branch }: CrewGitSpec, tree: MemberTree | null = null): CrewBranch {
  return { repository, branch, env: crew.spec.env, ...(tree ? { dir: tree.dir } : {}) }
}

/** Where its branch is made again if somebody deleted it. */
function lastMerged(crew: Process, { base }: CrewGitSpec): string {
  return (crew.crew?.tasks ?? []).filter(({ merged }) => merged !== null).toSorted((a, b) => (a.times.ended ?? 0) - (b.times.ended ?? 0)).at(-1)?.merged ?? base
}

/** Commits that a task goes on from and the crew's branch may not have. */
function leftBeside(crew: Process, { needs }: Task): readonly string[] {
  return (crew.crew?.tasks ?? []).flatMap(({ id, commit, merged }) => (needs.includes(id) && commit !== null && merged === null ? [commit] : []))
}

function salvageName(spec: CrewGitSpec, { spec: { member } }: Process, task: TaskId): SalvageName {
  const id = member?.id ?? 'member'
  return { name: `${salvagesOf(spec)}/${id}`, message: `reeve: what ${id} left of ${task}` }
}

function trailers({ id, implementer, reviewer }: Task): string {
  return [['Task', id], ['Worker', implementer], ['Reviewer', reviewer]].flatMap(([name, value]) => (value ? [`Reeve-${name}: ${value}\n`] : [])).join('')
}

function taskOf({ crew, pid }: Process, id: TaskId): Task {
  const task = crew?.tasks.find((one) => one.id === id)
  if (!task) throw new KernelError('INTERNAL', `crew ${pid} has no task ${id}`)
  return task
}
