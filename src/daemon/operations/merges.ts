// Plans merges of what a process did in its worktree, or a crew on its branch, and commits the files. For a removed worktree it uses what
// is left: its salvaged files, or its branch. Also finds unsaved changes. Only `commit` changes anything.
// Tests: test/tables/daemon/operations/merges.test.ts, test/e2e/worktree/merge.test.ts, test/e2e/crew/merge.test.ts.
import { realpath } from 'node:fs/promises'
import { KernelError } from '../../kernel/model/errors.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { truncate } from '../../kernel/util/truncate.ts'
import { gitUser, ownGitEnv, type Git } from '../../drivers/git/git.ts'
import {
  commitWork,
  planMerge,
  type CommittedWork,
  type WorkCommitRequest,
  type WorkPlanRequest,
  type WorkPlace,
  type WorkPlan,
} from '../../drivers/git/merge-work.ts'
import { findUnsavedChanges, type UnsavedChanges } from '../../drivers/git/unsaved-changes.ts'
import type { Process } from '../../kernel/model/process.ts'
import { findNewestRecord, nothingLeftError, workPlaceOf, useGitExclusively } from './work-place.ts'
import type { Worktrees } from './worktrees.ts'

export interface MergePlanRequest extends WorkPlanRequest {
  /** the git directory of the repository into which the user wants to merge */
  readonly repository: string
}

/** The maximum length of the first line of a commit message, in characters. */
const MAX_SUBJECT_CHARS = 72

export class Merges {
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
        .useExclusively(dir, (git) => findUnsavedChanges(git, { dir, repository, branch, base: files.base, ...gitUser(spec) }))
        // The changes are then unknown, and the view leaves them out.
        .catch(() => null)
    )
  }

  /**
   * Plans a merge of the work into a commit, without any effect. Errors: `INVALID` without a worktree, for another repository, or if git
   * cannot read the work; `NOT_FOUND` if nothing is left of the worktree.
   */
  async planMerge(process: Process, { onto, top, repository }: MergePlanRequest): Promise<WorkPlan> {
    const place = workPlaceOf(process)
    await checkRepository(process, place, repository)
    return useGitExclusively(this.#worktrees, place.dir ?? place.repository, async (git) => {
      const plan = await planMerge(git, place, { onto, top })
      if (plan === null) throw nothingLeftError(process)
      if (plan.of === 'branch') await this.#checkBranchHasRecord(git, process, plan.head)
      return plan
    })
  }

  /**
   * Commits the uncommitted files of a process on its branch, in the name of the user. Errors: `CONFLICT` while a process works in the
   * worktree, unless `unfinished` is true; those of `planMerge`.
   */
  async commit(process: Process, author: WorkCommitRequest['author'], unfinished: boolean): Promise<CommittedWork> {
    const place = workPlaceOf(process)
    const user = isLiving(process) ? process : this.#worktrees.otherUserOf(process)
    if (!unfinished && user !== undefined)
      throw new KernelError(
        'CONFLICT',
        `process ${user.pid} has not ended, and may still change ${user === process ? 'its files' : `the files of process ${process.pid}`}`,
        undefined,
        `\`reeve wait ${user.pid}\` waits for its end. \`reeve merge --unfinished ${process.pid}\` merges the files as they are now.`,
      )
    return useGitExclusively(this.#worktrees, place.dir ?? place.repository, async (git) => {
      const committed = await commitWork(git, place, { author, message: messageFor(process) })
      if (committed === null) throw nothingLeftError(process)
      return committed
    })
  }

  /** Whether this process, or another one in its worktree, has not ended. */
  #isInUse(process: Process): boolean {
    return isLiving(process) || this.#worktrees.otherUserOf(process) !== undefined
  }

  /** Checks that the branch of a removed worktree has the newest recorded files. Errors: `INVALID` with the way to take them over. */
  async #checkBranchHasRecord(git: Git, process: Process, head: string): Promise<void> {
    const record = await findNewestRecord(this.#worktrees, process)
    if (record === null) return
    const call = { cwd: '/', env: ownGitEnv(process.spec.env), at: { gitDir: this.#worktrees.recordsOf(record.uuid) } }
    if ((await git.line(['rev-parse', `${record.body.commit}^{tree}`], call)) === (await git.line(['rev-parse', `${head}^{tree}`], call)))
      return
    throw new KernelError(
      'INVALID',
      `the worktree of process ${process.pid} is gone, and its branch lacks files that were recorded after step ${record.body.step}`,
      undefined,
      `\`reeve diff ${process.pid} | git apply --3way\` takes them over. \`git merge ${workPlaceOf(process).branch}\` merges only its commits.`,
    )
  }
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
  return `${subject === '' ? `Work of ${title}` : subject}\n\nMade by reeve, ${title}.\n\nReeve-Process: ${uuid}\n`
}
