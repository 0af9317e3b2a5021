// The worktree of one incarnation. It is created at the first start of the process, checked at each later start, and recorded while an
// agent works in it. The worktree exists before a driver starts, and its first record before a tool can write.
// Tests: test/processes/git/records.test.ts, test/e2e/worktree/worktree.test.ts.
import { mkdir } from 'node:fs/promises'
import { isExternal, isPlainCommand } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import type { Ack, Report } from '../../kernel/model/reports.ts'
import type { WorktreeSpec } from '../../kernel/model/spec-parts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Containment } from '../contain/containment-contract.ts'
import { Git, GitError, GitTimeout, gitUser } from './git.ts'
import { FileRecorder } from './recorder.ts'
import { Records } from './records.ts'
import type { FileRecord } from './records.ts'
import { addWorktree } from './worktree.ts'
import { pathExists } from '../common/path-exists.ts'

export interface IncarnationWorktreeDeps {
  readonly process: Process
  readonly worktree: WorktreeSpec
  /** the path of the repository of records */
  readonly dir: string
  /** opens a containment for git's programs. It is not the agent's, so a pause does not freeze them */
  readonly open: (network?: 'off') => Promise<Containment>
  readonly send: (report: Report) => Promise<Ack>
}

export class IncarnationWorktree {
  readonly #deps: IncarnationWorktreeDeps
  readonly #git: Git
  readonly #recorder: FileRecorder
  readonly #cancellation = new AbortController()
  #records: Promise<Records> | null = null
  /** whether a record has exceeded its time limit, as later ones would */
  #isTooSlow = false

  constructor(deps: IncarnationWorktreeDeps) {
    const { signal } = this.#cancellation
    this.#deps = deps
    this.#git = new Git(deps.open, signal)
    this.#recorder = new FileRecorder({
      send: deps.send,
      signal,
      external: isExternal(deps.process.spec),
      record: (step) => this.#record(step),
    })
  }

  /** Prepares the worktree; resolves when the agent may start. Errors: `KernelError` with the hint in its message. */
  async prepare(): Promise<void> {
    const { process, worktree } = this.#deps
    if (process.files) await checkWorktreeExists(process).catch(withHint)
    else await this.#create(worktree)
    if (isPlainCommand(process.spec)) return
    const first = this.#recorder.record(process.progress.wholeStep)
    if (isExternal(process.spec)) await first
  }

  /** Passes a report on, at once or after the record for which it must wait. */
  send(report: Report): Promise<Ack> {
    return isPlainCommand(this.#deps.process.spec) ? this.#deps.send(report) : this.#recorder.send(report)
  }

  /** Like `send`, for a report that the caller sends in another way. */
  sendInOrder<T>(report: Report, send: () => Promise<T>): Promise<T> {
    return isPlainCommand(this.#deps.process.spec) ? send() : this.#recorder.sendInOrder(report, send)
  }

  /** Cancels a running record and records no more, because the incarnation must end. */
  abandon(): void {
    this.#cancellation.abort()
  }

  async close(): Promise<void> {
    this.abandon()
    await this.#recorder.waitUntilIdle()
    await this.#git[Symbol.asyncDispose]()
  }

  async #create({ repository, dir, branch, base, files }: WorktreeSpec): Promise<void> {
    const { process, send } = this.#deps
    try {
      await addWorktree(this.#git, { repository, dir, branch, base, ...gitUser(process.spec) })
      if (files) await (await this.#openRecords()).restore(files.commit)
      await mkdir(process.spec.cwd, { recursive: true })
    } catch (error) {
      if (error instanceof GitError) throw new KernelError('NOT_RUNNABLE', `its worktree cannot be created: ${error.message}`)
      throw error
    }
    await send({ type: 'worktree.made', dir, branch, base })
  }

  async #record(step: number): Promise<FileRecord | null> {
    if (this.#isTooSlow) return null
    try {
      return await (await this.#openRecords()).record(step)
    } catch (error) {
      if (!(error instanceof GitTimeout)) throw error
      this.#isTooSlow = true
      throw new GitTimeout(`${error.message}: no more files are recorded until the process is resumed`)
    }
  }

  #openRecords(): Promise<Records> {
    const {
      process: { pid, spec },
      worktree: { repository, dir: worktree },
      dir,
    } = this.#deps
    this.#records ??= Records.open(this.#git, { dir, repository, worktree, ...gitUser(spec), writer: pid }).catch((error: unknown) => {
      this.#records = null
      throw error
    })
    return this.#records
  }
}

/** Adds the hint to the message, because the error that ends an incarnation is a single text. */
function withHint(error: unknown): never {
  throw error instanceof KernelError ? new KernelError(error.code, `${error.message}. ${error.hint}`) : error
}

/** Checks that the worktree of a process still exists. Errors: `NOT_RESUMABLE`, whose hint has the ways to continue. */
export async function checkWorktreeExists({ pid, files, spec, retiredAt }: Process): Promise<void> {
  if (!files || !spec.worktree || (await pathExists(spec.cwd))) return
  const {
    member,
    worktree: { repository, dir },
  } = spec
  if (member && retiredAt !== null) {
    throw new KernelError(
      'NOT_RESUMABLE',
      `process ${pid} was ${member.id} of a crew and is retired: its worktree was removed`,
      { dir },
      `\`reeve resume --fork --with-files ${pid}\` continues its conversation with the recorded files; \`reeve crew up\` with the same name continues the tasks.`,
    )
  }
  const hint = `\`git --git-dir=${repository} worktree add -f ${dir} ${files.branch}\` restores the committed files; \`reeve resume --fork --with-files ${pid}\` starts in a new worktree with the recorded files.`
  throw new KernelError('NOT_RESUMABLE', `its worktree is gone: ${spec.cwd} does not exist`, { dir }, hint)
}
