// The worktree of one incarnation: made at the first start of its process, looked for at each later one, and recorded while it runs.
// Owns the order: the worktree is there before a driver starts, and its first record before a tool can write.
// Tests: test/processes/files.test.ts, test/e2e/worktree.test.ts.
import { access, mkdir } from 'node:fs/promises'
import { isExternal, isPlainCommand } from '../../kernel/capabilities.ts'
import { KernelError } from '../../kernel/errors.ts'
import type { Ack, Report } from '../../kernel/reports.ts'
import type { WorktreeSpec } from '../../kernel/spec.ts'
import type { Process } from '../../kernel/types.ts'
import type { Containment } from '../contain/contain.ts'
import { Git, GitError, GitLate } from './git.ts'
import { Recorder } from './recorder.ts'
import { Records } from './records.ts'
import type { FileRecord } from './records.ts'
import { addWorktree } from './worktree.ts'

export interface RunFilesParts {
  readonly process: Process
  readonly worktree: WorktreeSpec
  /** the repository of records */
  readonly dir: string
  /** owns the programs of git, apart from those of the agent: a pause freezes none of them */
  readonly open: () => Promise<Containment>
  readonly say: (report: Report) => Promise<Ack>
}

export class RunFiles {
  readonly #parts: RunFilesParts
  readonly #git: Git
  readonly #recorder: Recorder
  readonly #abandoned = new AbortController()
  #records: Promise<Records> | null = null
  /** a record took too long: the next ones would, too */
  #late = false

  constructor(parts: RunFilesParts) {
    const { signal } = this.#abandoned
    this.#parts = parts
    this.#git = new Git(parts.open, signal)
    this.#recorder = new Recorder({
      say: parts.say, signal, external: isExternal(parts.process.spec),
      record: (step) => this.#record(step),
    })
  }

  /** Resolves when an agent may begin. Errors: with the way out. */
  async begin(): Promise<void> {
    const { process, worktree } = this.#parts
    if (process.files) await checkThere(process).catch(withHint)
    else await this.#make(worktree)
    if (isPlainCommand(process.spec)) return
    const first = this.#recorder.begin(process.progress.wholeStep)
    if (isExternal(process.spec)) await first
  }

  pass(report: Report): Promise<Ack> {
    return isPlainCommand(this.#parts.process.spec) ? this.#parts.say(report) : this.#recorder.pass(report)
  }

  inOrder<T>(report: Report, say: () => Promise<T>): Promise<T> {
    return isPlainCommand(this.#parts.process.spec) ? say() : this.#recorder.inOrder(report, say)
  }

  /** It is to end: nothing more is recorded, and nobody waits for what is. */
  abandon(): void {
    this.#abandoned.abort()
  }

  async close(): Promise<void> {
    this.abandon()
    await this.#recorder.settled()
    await this.#git[Symbol.asyncDispose]()
  }

  async #make({ repository, dir, branch, base, files }: WorktreeSpec): Promise<void> {
    const { process, say } = this.#parts
    try {
      await addWorktree(this.#git, { repository, dir, branch, base, env: process.spec.env })
      if (files) await (await this.#open()).restore(files.commit)
      await mkdir(process.spec.cwd, { recursive: true })
    } catch (error) {
      if (error instanceof GitError) throw new KernelError('NOT_RUNNABLE', `its worktree cannot be made: ${error.message}`)
      throw error
    }
    await say({ type: 'worktree.made', dir, branch, base })
  }

  async #record(step: number): Promise<FileRecord | null> {
    if (this.#late) return null
    try {
      return await (await this.#open()).record(step)
    } catch (error) {
      if (!(error instanceof GitLate)) throw error
      this.#late = true
      throw new GitLate(`${error.message}: nothing more is recorded until it is resumed`)
    }
  }

  #open(): Promise<Records> {
    const { process: { pid, spec: { env } }, worktree: { repository, dir: worktree }, dir } = this.#parts
    this.#records ??= Records.open(this.#git, { dir, repository, worktree, env, writer: pid }).catch((error: unknown) => {
      this.#records = null
      throw error
    })
    return this.#records
  }
}

/** What ends an incarnation is one text. */
function withHint(error: unknown): never {
  throw error instanceof KernelError ? new KernelError(error.code, `${error.message}. ${error.hint}`) : error
}

/** Errors: `NOT_RESUMABLE` with the way out as its hint. */
export async function checkThere({ pid, files, spec }: Process): Promise<void> {
  if (!files || !spec.worktree || (await access(spec.cwd).then(() => true, () => false))) return
  const { repository, dir } = spec.worktree
  const hint = `\`git --git-dir=${repository} worktree add -f ${dir} ${files.branch}\` brings back what was committed; \`reeve resume --fork --with-files ${pid}\` begins in a new one with the files that were recorded.`
  throw new KernelError('NOT_RESUMABLE', `its worktree is gone: there is no ${spec.cwd}`, { dir }, hint)
}
