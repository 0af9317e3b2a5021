// Finds the change of a crew's task, for the user and reviewers: under review, committed, or landed. Chooses the two commits that are
// compared, and writes the note if there is no change. Uncommitted files of a member are first stored on the task's review ref, unless they
// are stored there already. Must never move a branch, nor read files that a member's turn may be changing.
// Tests: test/tables/daemon/crew/diff.test.ts, test/e2e/crew/diff.test.ts.
import { Git, GitError, gitUser } from '../../drivers/git/git.ts'
import { diffOf } from '../../drivers/git/diff.ts'
import { inRepository } from '../../drivers/git/worktree.ts'
import { crewGitSpec } from '../../kernel/crew/state/queries.ts'
import { reviewRef } from './jobs/refs.ts'
import { requireTask } from './queries.ts'
import type { CrewDiffView } from '../../api/views/crew-diff.ts'
import type { Crew, Member, Task } from '../../kernel/model/crew/crew.ts'
import type { DiffRepository } from '../../drivers/git/diff.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { CrewGit, CrewGitDeps } from './jobs/git.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { DiffSelection, TaskId } from '../../kernel/model/crew/words.ts'
import type { CrewGitSpec } from '../../kernel/model/process-spec.ts'

/**
 * The source of a task's change. `landed`: the merge on the crew's branch. `commit`: the task's own commit.
 * `fresh`: the member's files, which are on no ref yet and are stored now. `reviewed`: the files on the review ref.
 * `denied`: the same, but a review has denied them. Null: there is no change.
 */
export type DiffSource = 'landed' | 'commit' | 'fresh' | 'reviewed' | 'denied' | null

export interface CrewDiffDeps extends Omit<CrewGitDeps, 'queue' | 'worktrees'> {
  readonly git: Pick<CrewGit, 'brief'>
  readonly find: (uuid: Uuid) => Promise<Process | undefined>
}

export interface CrewDiffQuery {
  readonly which: DiffSelection
  /** maximum number of lines of the diff; 0: only the list of its files */
  readonly maxLines: number
}

/** The two commits of a change, and their repository. */
export interface ChangeRange {
  readonly location: DiffRepository
  readonly from: string
  readonly to: string
}

/** The source of a task's change, by the task's state and the requested selection. */
export function diffSourceOf(
  task: Pick<Task, 'state' | 'verdict' | 'briefed' | 'commit' | 'merged'>,
  selection: DiffSelection,
): DiffSource {
  const { state, verdict, briefed, commit, merged } = task
  if (commit !== null && selection !== 'review') return merged !== null && selection === 'auto' ? 'landed' : 'commit'
  if (selection === 'commit') return null
  if (briefed && (state === 'in_review' || verdict === 'APPROVED')) return 'reviewed'
  if (state === 'awaiting_review' || state === 'in_review' || state === 'waiting' || state === 'approved') return 'fresh'
  return state === 'addressing_feedback' ? 'denied' : 'reviewed'
}

export class CrewDiffs {
  readonly #deps: CrewDiffDeps

  constructor(deps: CrewDiffDeps) {
    this.#deps = deps
  }

  /** The API view of a task's change. Errors: NOT_FOUND for an unknown task. */
  async view(crew: Process, id: string, { which: selection, maxLines }: CrewDiffQuery): Promise<CrewDiffView> {
    const task = requireTask(crew, id)
    const source = diffSourceOf(task, selection)
    const range = await this.findRange(crew, id, selection)
    const header = {
      crew: crew.spec.name ?? String(crew.pid),
      task: { id, title: task.title, state: task.state, implementer: task.implementer, reviewer: task.reviewer },
    }
    const diff =
      typeof range === 'string'
        ? range
        : await this.withGit((git) => diffOf(git, range.location, { from: range.from, to: range.to, maxLines })).catch(gitErrorNote)
    if (typeof range === 'string' || typeof diff === 'string')
      return {
        version: 1,
        ...header,
        of: null,
        note: String(diff),
        from: null,
        to: null,
        repository: null,
        files: [],
        insertions: 0,
        deletions: 0,
        diff: maxLines === 0 ? null : '',
        left: [],
      }
    const { location, from, to } = range
    const { files, text, left } = diff
    return {
      version: 1,
      ...header,
      of: source === 'landed' || source === 'commit' ? source : 'review',
      note: rangeNote(task, source),
      from,
      to,
      repository: location.repository,
      files: files.map((file) => ({ ...file })),
      insertions: sum(files.map(({ insertions }) => insertions)),
      deletions: sum(files.map(({ deletions }) => deletions)),
      diff: maxLines === 0 ? null : text,
      left: maxLines === 0 ? [] : [...left],
    }
  }

  /** The range of commits to compare, or the reason why there is no change. Errors: NOT_FOUND for an unknown task. */
  async findRange(crew: Process, id: string, selection: DiffSelection = 'auto'): Promise<ChangeRange | string> {
    const task = requireTask(crew, id)
    const spec = crewGitSpec(crew)
    if (!spec) return 'the crew works without worktrees, so the changes of its tasks cannot be separated'
    const source = diffSourceOf(task, selection)
    const problem = source === 'fresh' ? await this.#storeReviewFiles(crew, task) : null
    if (problem !== null) return problem
    return this.withGit(async (git) => {
      const { env, network } = gitUser(crew.spec)
      const location: DiffRepository = { repository: spec.repository, env, ...(network && { network }) }
      const to = await resolveCommit(
        git,
        location,
        source === 'landed' ? task.merged : source === 'commit' ? task.commit : source === null ? null : reviewRef(spec, task.id),
      )
      if (to === null) return noChangeReason(task, selection)
      const from = await findStartCommit(git, location, { task, spec, crew: crew.crew, to, source })
      return from === null ? `the commit that ${id} started from is gone from the repository` : { location, from, to }
    }).catch(gitErrorNote)
  }

  /** Stores the files of the task's member on the review ref. Returns the reason if that is impossible; else null. */
  async #storeReviewFiles(crew: Process, task: Task): Promise<string | null> {
    const member = crew.crew?.members.find(({ id }) => id === task.implementer)
    const process = member?.uuid ? await this.#deps.find(member.uuid) : undefined
    if (!member || !process) return 'no member has the task, and it has no files'
    if (mayBeEditing(member, task.id)) return `${member.id} is in the middle of a turn: try again when it has ended`
    // The member's files belong to another task now. The ref has the reviewed files of this task.
    if (member.task !== null && member.task !== task.id && member.own !== task.id) return null
    try {
      const { head } = await this.#deps.git.brief({ crew, member: process, task: task.id })
      return head === null ? `${member.id} has no worktree` : null
    } catch (error) {
      if (error instanceof GitError) return `the files of ${member.id} cannot be read: ${error.message}`
      throw error
    }
  }

  /** Runs `work` with a git instance that is closed afterwards. */
  async withGit<T>(work: (git: Git) => Promise<T>): Promise<T> {
    const { containments, newUuid, tmpDir } = this.#deps
    await using git = new Git((network) => containments.open(containments.plan(newUuid(), 0, 'auto'), tmpDir, network))
    return await work(git)
  }
}

/** Whether the member is in a turn that may change the task's files. A turn that reviews another task does not. */
function mayBeEditing({ turn, state }: Pick<Member, 'turn' | 'state'>, task: TaskId): boolean {
  return state === 'on' && turn.open !== null && (turn.task === task || turn.phase !== 'reviewing')
}

/** Turns an error of git into the note of an empty diff. */
function gitErrorNote(error: unknown): string {
  if (error instanceof GitError) return error.message
  throw error
}

async function resolveCommit(git: Git, location: DiffRepository, name: string | null): Promise<string | null> {
  return name === null ? null : git.tryLine(['rev-parse', '--verify', '-q', '--end-of-options', `${name}^{commit}`], inRepository(location))
}

interface StartQuery {
  readonly task: Task
  readonly spec: CrewGitSpec
  readonly crew: Crew | undefined
  readonly to: string
  readonly source: DiffSource
}

/**
 * The commit with which the change is compared: the last commit of the crew's branch that the change contains.
 * So the diff leaves out the changes of other tasks.
 */
async function findStartCommit(git: Git, location: DiffRepository, { task, spec, crew, to, source }: StartQuery): Promise<string | null> {
  const call = inRepository(location)
  if (source === 'landed') {
    const [, first, second] = (await git.line(['rev-list', '--parents', '-n', '1', to], call)).split(' ')
    if (first !== undefined && second !== undefined && to !== task.commit) return first
  }
  const landed = (crew?.tasks ?? []).flatMap(({ id, merged }) => (merged !== null && id !== task.id && merged !== to ? [merged] : []))
  const heads: string[] = []
  for (const commit of new Set([task.base ?? spec.base, ...landed])) {
    if ((await git.tryRun(['merge-base', '--is-ancestor', commit, to], call)).code === 0) heads.push(commit)
  }
  if (heads.length < 2) return heads[0] ?? (await resolveCommit(git, location, task.base ?? spec.base))
  const independentHeads = (await git.line(['merge-base', '--independent', ...heads], call)).split('\n')
  return independentHeads.length === 1 ? (independentHeads[0] ?? null) : (task.base ?? spec.base)
}

function rangeNote({ implementer, reviewer, state, verdict, commit, merged }: Task, source: DiffSource): string {
  const by = implementer ?? 'a worker'
  if (source === 'landed') return `landed on the crew's branch as ${shortCommit(merged)}`
  if (source === 'commit') return `committed by ${by} as ${shortCommit(commit)}`
  if (source === 'denied') return `denied; ${by} is working on it`
  if (state === 'in_review') return `made by ${by}, under review by ${reviewer ?? 'no one'}`
  if (commit !== null) return 'the reviewed change'
  return `made by ${by}${verdict === 'APPROVED' ? ` and approved by ${reviewer ?? 'the user'}` : ''}; not committed`
}

function noChangeReason({ id, kind, role, state, implementer, salvaged, commit }: Task, selection: DiffSelection): string {
  if (selection === 'commit')
    return commit === null ? `${id} is not committed` : `the commit ${shortCommit(commit)} of ${id} is gone from the repository`
  if (commit !== null)
    return selection === 'review'
      ? `${id} is committed, so its review ref no longer exists; the commit ${shortCommit(commit)} has the change`
      : `the commit ${shortCommit(commit)} of ${id} is gone from the repository`
  if (kind === 'human') return `${id} is a question for the user: it changes nothing`
  if (role === 'researcher') return `${id} is a research task: it changes nothing`
  const salvagedText = salvaged === null ? '' : `; the files of an earlier attempt are at ${salvaged}`
  if (state === 'implementing') return `${implementer ?? 'no one'} is working on ${id} and has not reported yet${salvagedText}`
  if (state === 'done') return `${id} is done; it changed nothing`
  return `${id} is ${state.replaceAll('_', ' ')}, and it has no files${salvagedText}`
}

function shortCommit(commit: string | null): string {
  return commit?.slice(0, 10) ?? ''
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}
