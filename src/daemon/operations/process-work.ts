// Reads what a process did in its worktree, or a crew on its branch. Plans merges, and commits the files. Of a removed worktree, what
// is left counts. Owns which files stand for the process. Only `commit` changes anything.
// Tests: test/e2e/worktree/diff.test.ts, test/e2e/worktree/merge.test.ts, test/e2e/crew/merge.test.ts.
import { realpath } from 'node:fs/promises'
import { isPlainCommand } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { truncate } from '../../kernel/util/truncate.ts'
import { diffOf, type Diff } from '../../drivers/files/diff.ts'
import { GitError, gitUser, ownGitEnv, type Git } from '../../drivers/files/git.ts'
import {
  commitWork,
  planMerge,
  type CommittedWork,
  type WorkCommitRequest,
  type WorkPlanRequest,
  type WorkPlace,
  type WorkPlan,
} from '../../drivers/files/merge-work.ts'
import { findChanges, type UnsavedChanges } from '../../drivers/files/unsaved-changes.ts'
import { diffWorktree, findLeftWork } from '../../drivers/files/worktree-diff.ts'
import { pathExists } from '../../drivers/common/path-exists.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { CrewGitSpec, CrewSpec } from '../../kernel/model/process-spec.ts'
import type { WorktreeSpec } from '../../kernel/model/spec-parts.ts'
import type { RecordFact, Worktrees } from './worktrees.ts'

/** The place of the files: the worktree, a record of a step, the ref of salvaged files, the branch, or the crew's branch. */
export type FilesSource =
  | { readonly type: 'worktree' | 'salvage' | 'branch' | 'crew' }
  | { readonly type: 'step'; readonly step: number; readonly omitted: number }

export interface ProcessDiff extends Diff {
  readonly source: FilesSource
  /** the commit from which the worktree, or the branch of the crew, began */
  readonly base: string
}

export interface ProcessDiffRequest {
  /** the files of the newest record at or before this step; absent: the current files */
  readonly step?: number | undefined
  /** the maximum number of lines of the diff; 0: only the list of its files */
  readonly maxLines: number
}

export interface MergePlanRequest extends WorkPlanRequest {
  /** the git directory of the repository into which the user wants to merge */
  readonly repository: string
}

/** The start of a diff, and its size. */
type DiffFrom = Pick<ProcessDiffRequest, 'maxLines'> & { readonly base: string }

/** The maximum length of the first line of a commit message, in characters. */
const MAX_SUBJECT_CHARS = 72

export class ProcessWork {
  readonly #worktrees: Pick<Worktrees, 'useExclusively' | 'findRecord' | 'recordsOf' | 'otherUserOf'>

  constructor(worktrees: Pick<Worktrees, 'useExclusively' | 'findRecord' | 'recordsOf' | 'otherUserOf'>) {
    this.#worktrees = worktrees
  }

  /**
   * Finds the uncommitted files of an ended process, and the number of commits on its branch since the base. Null if git fails, or while
   * another process works in the worktree.
   */
  async findUnsavedChanges(process: Process): Promise<UnsavedChanges | null> {
    const {
      spec,
      spec: { worktree },
      files,
    } = process
    if (!worktree || !files || this.#isInUse(process)) return null
    const { dir, repository, branch } = worktree
    return (
      this.#worktrees
        .useExclusively(dir, (git) => findChanges(git, { dir, repository, branch, base: files.base, ...gitUser(spec) }))
        // The changes are then unknown, and the view leaves them out.
        .catch(() => null)
    )
  }

  /**
   * Compares the files of a process with the commit from which its worktree began: its current files, or those of a step. If the worktree
   * is gone, the files are those that were salvaged, the newest record, or the branch. Errors: `INVALID` without a worktree or a record,
   * `NOT_FOUND` if nothing is left of the worktree.
   */
  async diff(process: Process, { step, maxLines }: ProcessDiffRequest): Promise<ProcessDiff> {
    if (process.spec.crew) return this.#diffCrew(process, process.spec.crew, { step, maxLines })
    const worktree = requireWorktree(process)
    const { dir } = worktree
    const from: DiffFrom = { base: process.files?.base ?? worktree.base, maxLines }
    const record = step === undefined ? null : await this.#recordOfStep(process, step)
    return this.#use(dir, async (git) => {
      if (record) return this.#diffRecord(git, process, record, from)
      if (!process.files || !(await pathExists(dir))) return this.#diffLeftWork(git, process, from)
      const diff = await diffWorktree(git, { ...worktree, ...gitUser(process.spec) }, { from: from.base, maxLines })
      return { source: { type: 'worktree' }, base: from.base, ...diff }
    })
  }

  /** Compares the branch of a crew with the commit from which it began. */
  async #diffCrew(process: Process, { git: branch }: CrewSpec, { step, maxLines }: ProcessDiffRequest): Promise<ProcessDiff> {
    if (step !== undefined) throw new KernelError('INVALID', `process ${process.pid} is a crew, which has no steps`)
    const place = placeOf(process)
    const base = branch?.base ?? ''
    return this.#use(place.repository, async (git) => {
      const { branch: to } = await findLeftWork(git, place)
      if (to === null) throw nothingLeft(process)
      return { source: { type: 'crew' }, base, ...(await diffOf(git, place, { from: base, to, maxLines })) }
    })
  }

  /** Compares what is left of a removed worktree. */
  async #diffLeftWork(git: Git, process: Process, from: DiffFrom): Promise<ProcessDiff> {
    const place = placeOf(process)
    const left = await findLeftWork(git, place)
    const record = left.salvage === null ? await this.#newestRecord(process) : null
    if (record) return this.#diffRecord(git, process, record, from)
    const to = left.salvage ?? left.branch
    if (to === null) throw nothingLeft(process)
    const diff = await diffOf(git, place, { from: from.base, to, maxLines: from.maxLines })
    return { source: { type: left.salvage === null ? 'branch' : 'salvage' }, base: from.base, ...diff }
  }

  async #diffRecord(
    git: Git,
    { spec }: Process,
    { uuid, body: { step, commit, left, more = 0 } }: RecordFact,
    { base, maxLines }: DiffFrom,
  ): Promise<ProcessDiff> {
    const place = { repository: this.#worktrees.recordsOf(uuid), ...gitUser(spec) }
    const omitted = left.map(({ path }) => path)
    const diff = await diffOf(git, place, { from: base, to: commit, maxLines, omitted })
    return { source: { type: 'step', step, omitted: left.filter(({ why }) => why !== 'ignored').length + more }, base, ...diff }
  }

  /** Finds the record of a step. Errors: `INVALID` for a step that the process has not reached, or without a record. */
  async #recordOfStep(process: Process, step: number): Promise<RecordFact> {
    const { pid, progress, files, spec } = process
    if (isPlainCommand(spec)) throw new KernelError('INVALID', `process ${pid} is a plain command, which has no steps`)
    const last = Math.max(progress.wholeStep, files?.recordedStep ?? 0)
    if (step > last)
      throw new KernelError('INVALID', `process ${pid} has no whole step ${step}: its last one is ${last}`, { from: 0, to: last })
    return this.#worktrees.findRecord(process, step)
  }

  /** Finds the newest record of a process; null if none exists any more. */
  async #newestRecord(process: Process): Promise<RecordFact | null> {
    return this.#worktrees.findRecord(process, Infinity).catch((error: unknown) => {
      if (error instanceof KernelError && error.code === 'INVALID') return null
      throw error
    })
  }

  /**
   * Plans a merge of the work into a commit, without any effect. Errors: `INVALID` without a worktree, for another repository, or if git
   * cannot read the work; `NOT_FOUND` if nothing is left of the worktree.
   */
  async planMerge(process: Process, { onto, top, repository }: MergePlanRequest): Promise<WorkPlan> {
    const place = placeOf(process)
    await checkRepository(process, place, repository)
    return this.#use(place.dir ?? place.repository, async (git) => {
      const plan = await planMerge(git, place, { onto, top })
      if (plan === null) throw nothingLeft(process)
      if (plan.of === 'branch') await this.#checkBranchHasRecord(git, process, plan.head)
      return plan
    })
  }

  /**
   * Commits the uncommitted files of a process on its branch, in the name of the user. Errors: `CONFLICT` while a process works in the
   * worktree, unless `unfinished` is true; those of `planMerge`.
   */
  async commit(process: Process, author: WorkCommitRequest['author'], unfinished: boolean): Promise<CommittedWork> {
    const place = placeOf(process)
    if (!unfinished && this.#isInUse(process))
      throw new KernelError(
        'CONFLICT',
        `process ${process.pid} has not ended, and may still change its files`,
        undefined,
        `\`reeve wait ${process.pid}\` waits for its end. \`reeve merge --unfinished ${process.pid}\` merges its files as they are now.`,
      )
    return this.#use(place.dir ?? place.repository, async (git) => {
      const committed = await commitWork(git, place, { author, message: messageFor(process) })
      if (committed === null) throw nothingLeft(process)
      return committed
    })
  }

  /** Whether this process, or another one in its worktree, has not ended. */
  #isInUse(process: Process): boolean {
    return isLiving(process) || this.#worktrees.otherUserOf(process) !== undefined
  }

  /** Checks that the branch of a removed worktree has the newest recorded files. Errors: `INVALID` with the way to take them over. */
  async #checkBranchHasRecord(git: Git, process: Process, head: string): Promise<void> {
    const record = await this.#newestRecord(process)
    if (record === null) return
    const call = { cwd: '/', env: ownGitEnv(process.spec.env), at: { gitDir: this.#worktrees.recordsOf(record.uuid) } }
    if ((await git.line(['rev-parse', `${record.body.commit}^{tree}`], call)) === (await git.line(['rev-parse', `${head}^{tree}`], call)))
      return
    throw new KernelError(
      'INVALID',
      `the worktree of process ${process.pid} is gone, and its branch lacks files that were recorded after step ${record.body.step}`,
      undefined,
      `\`reeve diff ${process.pid} | git apply --3way\` takes them over. \`git merge ${placeOf(process).branch}\` merges only its commits.`,
    )
  }

  /** Runs `work` while no other job uses the worktree. Errors: `INVALID` instead of those of git. */
  async #use<T>(dir: string, work: (git: Git) => Promise<T>): Promise<T> {
    return this.#worktrees.useExclusively(dir, work).catch((error: unknown) => {
      if (error instanceof GitError) throw new KernelError('INVALID', `git cannot read the work: ${error.message}`)
      throw error
    })
  }
}

function placeOf(process: Process): WorkPlace {
  const { uuid, spec, files } = process
  if (spec.crew) {
    const { repository, branch } = requireBranch(process, spec.crew)
    return { uuid, dir: null, repository, branch, ...gitUser(spec) }
  }
  const { dir, repository, branch } = requireWorktree(process)
  return { uuid, dir, repository, branch: files?.branch ?? branch, ...gitUser(spec) }
}

/** Returns the branch of a crew. Errors: `INVALID` if it works without a repository. */
function requireBranch({ pid }: Process, { git }: CrewSpec): CrewGitSpec {
  if (git) return git
  throw new KernelError('INVALID', `crew ${pid} works without git, so its changes are not separate from other changes`)
}

/** Returns the worktree of a process. Errors: `INVALID` if it has none. */
function requireWorktree({ pid, spec: { worktree, driver } }: Process): WorktreeSpec {
  if (worktree) return worktree
  if (driver === 'compose' || driver === 'supervisor')
    throw new KernelError(
      'INVALID',
      `process ${pid} is a ${driver === 'compose' ? 'compose run' : 'supervisor'}, which has no files of its own`,
      undefined,
      `Name one of its processes: \`reeve inspect ${pid}\` lists them.`,
    )
  throw new KernelError(
    'INVALID',
    `process ${pid} has no worktree, so its changes are not separate from other changes`,
    undefined,
    '`reeve run --worktree` gives a process a worktree of its own. `git diff` shows the changes in a shared directory.',
  )
}

function nothingLeft({ pid, files, spec: { worktree, crew } }: Process): KernelError {
  if (crew?.git)
    return new KernelError(
      'NOT_FOUND',
      `crew ${pid} has no branch ${crew.git.branch} any more`,
      undefined,
      `\`git log --all\` lists all commits.`,
    )
  const dir = worktree?.dir ?? ''
  return files
    ? new KernelError(
        'NOT_FOUND',
        `the worktree of process ${pid} is gone (${dir}), with no commit, ref or record of its files`,
        { dir },
        'Its branch had nothing that another branch lacks: `git log --all` lists all commits.',
      )
    : new KernelError('NOT_FOUND', `the worktree of process ${pid} is not made yet`, { dir }, 'Try again when the process has started.')
}

async function checkRepository({ pid }: Process, place: WorkPlace, repository: string): Promise<void> {
  // A directory that is gone is compared by its name.
  const [own, other] = await Promise.all([place.repository, repository].map((dir) => realpath(dir).catch(() => dir)))
  if (own === other) return
  const checkout = place.repository.replace(/(?<=.)\/\.git$/, '')
  throw new KernelError(
    'INVALID',
    `process ${pid} works in the repository ${checkout}, and this is another one (${repository.replace(/(?<=.)\/\.git$/, '')})`,
    { repository: place.repository },
    'Repeat the command in a checkout of that repository.',
  )
}

/** Returns the message of a commit: the beginning of the intent, and the process. */
function messageFor({ uuid, pid, spec: { name, intent } }: Process): string {
  const title = name === null ? `process ${pid}` : `process ${pid} (${name})`
  const subject = truncate((intent.trimStart().split('\n', 1)[0] ?? '').trim(), MAX_SUBJECT_CHARS)
  return `${subject === '' ? `Work of ${title}` : subject}\n\nMade by ${title} of reeve.\n\nReeve-Process: ${uuid}\n`
}
