// Runs git: one short-lived program after another, owned by a containment, each with a time limit and a clean environment.
// Owns what every call has in common: no hook, no daemon of git's own, no prompt, no pager, no signature. What git is asked to do
// stands in worktree.ts, records.ts and crew-*.ts. Must never run git with a variable of the caller's own GIT_*, but who they are.
// Tests: test/processes/files.test.ts, test/processes/worktree.test.ts, test/processes/crew-git.test.ts.
import { setTimeout } from 'node:timers/promises'
import { ownLockIn, unlock } from './locks.ts'
import type { Containment } from '../contain/contain.ts'

/** What one call of git may say, in bytes. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024
/** How much of its complaints is kept, in characters. */
const MAX_COMPLAINT_CHARS = 2_000
const CALL_MS = 30_000
/** While one git makes a worktree, every other one that looks at worktrees dies of what it reads there, before it has done anything. */
const HALF_MADE = /failed to read .*\/commondir/
const [MAX_TRIES, AGAIN_MS] = [50, 20]

type Env = Readonly<Record<string, string>>

export interface GitCall {
  readonly cwd: string
  readonly env: Env
  /** written to its stdin */
  readonly input?: Buffer
  readonly limitMs?: number
  /** how long a lock on one of our own refs is waited for, before it counts as left by a git that was killed */
  readonly lockMs?: number
  /** the repository's hooks run, as for a person */
  readonly hooks?: true
}

/** What a call came to, whatever its code. */
export interface GitAnswer {
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: Buffer
}

/** Git said no, or did not come to an end; the message is its own first line. */
export class GitError extends Error {}

/** It did not come to an end in its time. */
export class GitLate extends GitError {}

/** What holds for every repository: nothing that the user configured to run beside git runs. */
const QUIET = [
  'core.fsmonitor=false', 'gc.auto=0', 'maintenance.auto=false', 'submodule.recurse=false',
  'commit.gpgSign=false', 'core.quotePath=false', 'advice.addEmbeddedRepo=false',
].flatMap((setting) => ['-c', setting])
const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null']

export const IDENTITY: Env = { GIT_AUTHOR_NAME: 'reeve', GIT_AUTHOR_EMAIL: 'reeve@localhost', GIT_COMMITTER_NAME: 'reeve', GIT_COMMITTER_EMAIL: 'reeve@localhost' }
const UNASKED: Env = { GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' }
const ALWAYS: Env = { ...IDENTITY, ...UNASKED, LC_ALL: 'C' }
const OF_A_PERSON = /^GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL)$/

/** For what is done in a person's name: who they are as they have told git, in their own language. */
export function personEnv(env: Env): Env {
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || OF_A_PERSON.test(name))), ...UNASKED, GIT_EDITOR: 'true' }
}

/** For the user's repository: as the user has configured it, whatever a caller of git told git alone. */
export function userEnv(env: Env): Env {
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_'))), ...ALWAYS }
}

/** For repositories of our own: nobody's configuration. Without a home there is none of the user. */
export function ownEnv(env: Env): Env {
  const { PATH } = env
  return { ...(PATH === undefined ? {} : { PATH }), ...ALWAYS, GIT_CONFIG_NOSYSTEM: '1', GIT_ATTR_NOSYSTEM: '1', GIT_NO_LAZY_FETCH: '1' }
}

export class Git implements AsyncDisposable {
  readonly #open: () => Promise<Containment>
  readonly #signal: AbortSignal
  #containment: Promise<Containment> | null = null

  /** Programs run in a containment that is opened with the first of them; `signal` ends them all. */
  constructor(open: () => Promise<Containment>, signal: AbortSignal = new AbortController().signal) {
    this.#open = open
    this.#signal = signal
  }

  /** What it wrote. Errors: `GitError`, and those of a containment. */
  async run(args: readonly string[], call: GitCall): Promise<Buffer> {
    const { code, stdout, stderr } = await this.ask(args, call)
    if (code !== 0) throw new GitError(complaint(stderr.toString()) || `git ${args.find(isVerb) ?? ''} failed (${code ?? 'killed'})`)
    return stdout
  }

  /** What it answered, where a no is an answer, too. Errors: `GitError` if it did not come to an end, and those of a containment. */
  async ask(args: readonly string[], call: GitCall): Promise<GitAnswer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#once(args, call)
      if (answer.code === 0 || tries === MAX_TRIES) return answer
      const complaint = answer.stderr.toString()
      const lock = ownLockIn(complaint)
      if (lock !== null) await unlock([lock], call.lockMs)
      else if (HALF_MADE.test(complaint)) await setTimeout(AGAIN_MS)
      else return answer
    }
  }

  async #once(args: readonly string[], call: GitCall): Promise<GitAnswer> {
    this.#signal.throwIfAborted()
    const { cwd, env, input, hooks, limitMs = CALL_MS } = call
    const containment = await (this.#containment ??= this.#open())
    const program = await containment.spawn({ argv: ['git', ...QUIET, ...(hooks ? [] : NO_HOOKS), ...args], cwd, env, stdin: input === undefined ? 'null' : 'pipe' })
    const limit = AbortSignal.any([AbortSignal.timeout(limitMs), this.#signal])
    const kill = (): void => { program.signal('SIGKILL') }
    limit.addEventListener('abort', kill)
    if (limit.aborted) kill()
    try {
      program.stdin?.end(input)
      const [stdout, stderr] = await Promise.all([taken(program.stdout, MAX_OUTPUT_BYTES, kill), taken(program.stderr, MAX_OUTPUT_BYTES, kill)])
      const { code } = await program.exited
      if (this.#signal.aborted) throw new GitError('it was broken off')
      if (limit.aborted) throw new GitLate(`git ${args.find(isVerb) ?? ''} took more than ${limitMs / 1_000} s`)
      return { code, stdout, stderr }
    } finally {
      limit.removeEventListener('abort', kill)
    }
  }

  /** The same as a text of one line. */
  async line(args: readonly string[], call: GitCall): Promise<string> {
    return (await this.run(args, call)).toString().trimEnd()
  }

  /** The same; null where git says no. */
  async maybe(args: readonly string[], call: GitCall): Promise<string | null> {
    return this.line(args, call).catch((error: unknown) => {
      if (error instanceof GitError && !this.#signal.aborted) return null
      throw error
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#containment?.catch(() => null))?.dispose()
  }
}

/** Names of git's lists end with NUL; they are bytes, and need not be text. */
export function names(list: Buffer): Buffer[] {
  const found: Buffer[] = []
  for (let start = 0; start < list.length;) {
    const end = list.indexOf(0, start)
    found.push(list.subarray(start, end < 0 ? list.length : end))
    start = end < 0 ? list.length : end + 1
  }
  return found
}

export function joined(all: readonly Buffer[]): Buffer {
  const nul = Buffer.from([0])
  return Buffer.concat(all.flatMap((name) => [name, nul]))
}

async function taken(stream: AsyncIterable<unknown>, most: number, tooMuch: () => void): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length
    if (bytes > most) tooMuch()
    else chunks.push(chunk as Buffer)
  }
  if (bytes > most) throw new GitError(`git said more than ${most} bytes`)
  return Buffer.concat(chunks)
}

/** Its last words: warnings come before them. */
function complaint(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim()).filter((line) => line !== '')
  const fatal = lines.findLast((line) => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? ''
  return fatal.replace(/^(fatal|error): /, '').slice(0, MAX_COMPLAINT_CHARS)
}

function isVerb(word: string): boolean {
  return /^[a-z]+(-[a-z]+)*$/.test(word)
}
