// Runs git: one short-lived program after another, in a containment, each with a time limit and a clean environment. Every call names the
// git directory, except those that find a repository or need none. No background process, prompt, pager or signing program runs. Hooks run
// only if a call asks for them. The other files of this directory have the commands. Must never search for a repository from a directory
// that an agent can write to. Must never pass on the caller's GIT_* variables, except those of the user's identity and configuration.
// Tests: test/processes/git/hostile-repositories.test.ts, test/processes/git/records.test.ts, test/processes/git/worktree.test.ts.
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { mayRunPrograms } from '../../kernel/state/permissions.ts'
import { isDiskFullError } from '../../kernel/util/disk-full-error.ts'
import { ownLockIn, clearStaleLocks } from './stale-locks.ts'
import type { Containment } from '../contain/containment-contract.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'
import { truncate } from '../../kernel/util/truncate.ts'

/** The maximum size of the output of one call. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024
/** Matches git's message about a file that it could not write completely. The message states no reason. */
const WRITE_ERROR = /unable to write (new )?[\w ]*file [^:\n]*$/m
/** If less than this is free, a full disk counts as the reason. */
const DISK_FULL_BYTES = 64 * 1_048_576
/** The maximum length of an error message of git. */
const MAX_MESSAGE_CHARS = 2_000
const CALL_MS = 30_000
/**
 * Matches git's message about an unfinished worktree. While one git creates a worktree, other calls that list worktrees fail with
 * it, before they have any effect.
 */
const INCOMPLETE_WORKTREE = /failed to read .*\/commondir/
const [MAX_TRIES, RETRY_MS] = [50, 20]

type Env = Readonly<Record<string, string>>

/** The process for which git works: its environment, and its permissions, which apply to the programs that git starts. */
export interface GitUser {
  readonly env: Env
  /** whether the process may run programs; only then the repository's filters, hooks and merge drivers run */
  readonly programs?: boolean
  /** the network of the process, and of all programs that git starts for it */
  readonly network?: 'off'
}

/** Returns the environment and permissions of a process. Programs that git starts for it get no more permissions than it has. */
export function gitUser(spec: ProcessSpec): GitUser {
  const { env, capabilities: { network } = {} } = spec
  return { env, programs: mayRunPrograms(spec), ...(network === undefined ? {} : { network }) }
}

/** All paths of a repository, so that git searches for none of them. */
export interface RepositoryPaths {
  /** the git directory; for a worktree, the worktree's own */
  readonly gitDir: string
  /** the git directory that all worktrees share, if it differs from `gitDir` */
  readonly commonDir?: string
  readonly workTree?: string
  readonly index?: string
  readonly objects?: string
}

export interface GitCall {
  readonly cwd: string
  readonly env: Env
  /** the repository; null lets git search for the repository that contains `cwd` */
  readonly at: RepositoryPaths | null
  readonly network?: 'off'
  /** configuration settings, each as `name=value` */
  readonly settings?: readonly string[]
  /** data for git's stdin */
  readonly input?: Buffer
  /** time limit of the call, in ms; default 30 s */
  readonly limitMs?: number
  /** how long to wait for a lock on one of reeve's refs, in ms. After that time the lock counts as left behind by a killed git. */
  readonly lockMs?: number
  /** runs the repository's hooks, as git does for the user */
  readonly hooks?: true
}

/** The result of a call, whatever its exit code is. */
export interface GitAnswer {
  /** the exit code; null if a signal ended git */
  readonly code: number | null
  readonly stdout: Buffer
  readonly stderr: Buffer
}

/** Git has failed or was stopped. The message is git's own error line. */
export class GitError extends Error {}

/** Git has exceeded its time limit. */
export class GitTimeout extends GitError {}

/** Settings for every call: they turn off the programs that git would run in the background. */
const WITHOUT_PROGRAMS = [
  'core.fsmonitor=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
  'commit.gpgSign=false',
  'core.quotePath=false',
  'advice.addEmbeddedRepo=false',
].flatMap((setting) => ['-c', setting])
const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null']
/** Makes git ignore files that look like a bare repository, when git searches for a repository. */
const SEARCH_SETTINGS = ['-c', 'safe.bareRepository=explicit']

/** The author and committer of reeve's own commits, and of a task's commit if the user has configured none. */
export const REEVE_IDENTITY: Env = {
  GIT_AUTHOR_NAME: 'reeve',
  GIT_AUTHOR_EMAIL: 'reeve@localhost',
  GIT_COMMITTER_NAME: 'reeve',
  GIT_COMMITTER_EMAIL: 'reeve@localhost',
}
const NO_PROMPT: Env = { GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' }
const COMMON_ENV: Env = { ...REEVE_IDENTITY, ...NO_PROMPT, LC_ALL: 'C' }
const IDENTITY_NAMES = /^GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL)$/
/** Variables with the path of the user's configuration, which applies to every call. */
const CONFIG_NAMES = /^GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)$/
/** Variables with directories of the user's own files. */
const HOMES: ReadonlySet<string> = new Set(['HOME', 'XDG_CONFIG_HOME'])
/** Variables that exclude the system's configuration. They forbid fetches too, because a remote's configuration can start programs. */
const ISOLATED_ENV: Env = { GIT_CONFIG_NOSYSTEM: '1', GIT_ATTR_NOSYSTEM: '1', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' }

/** Returns the environment for calls in the user's name, with the identity and language that the user has set. */
export function userGitEnv(env: Env): Env {
  return { ...dropGitVariables(env, (name) => IDENTITY_NAMES.test(name) || CONFIG_NAMES.test(name)), ...NO_PROMPT, GIT_EDITOR: 'true' }
}

/** Returns the environment for the user's repository, with the user's configuration. Other GIT_* variables of the caller are dropped. */
function userEnv(env: Env): Env {
  return { ...dropGitVariables(env, (name) => CONFIG_NAMES.test(name)), ...COMMON_ENV }
}

/** Returns the environment without the user's configuration, for calls in which no program but git may run. */
export function ownGitEnv(env: Env): Env {
  const dirs = (env['PATH'] ?? '').split(':').filter((dir) => dir.startsWith('/'))
  return { ...(dirs.length === 0 ? {} : { PATH: dirs.join(':') }), ...COMMON_ENV, ...ISOLATED_ENV }
}

/** Returns the environment to read the user's configuration and to find repositories, which runs no program. */
export function readEnv(env: Env): Env {
  const { GIT_CONFIG_NOSYSTEM: _, ...isolatedEnv } = ownGitEnv(env)
  return { ...isolatedEnv, ...Object.fromEntries(Object.entries(env).filter(([name]) => HOMES.has(name) || CONFIG_NAMES.test(name))) }
}

/** Returns the environment for a call in the user's repository. */
export function envOf({ env, programs }: GitUser): Env {
  return programs === true ? userEnv(env) : ownGitEnv(env)
}

/** Drops the variables of git, except those for which `isKept` returns true. */
function dropGitVariables(env: Env, isKept: (name: string) => boolean): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || isKept(name)))
}

export class Git implements AsyncDisposable {
  readonly #openContainment: (network?: 'off') => Promise<Containment>
  readonly #signal: AbortSignal
  /** one containment with network and one without */
  readonly #containments = new Map<'off' | undefined, Promise<Containment>>()
  readonly #scratchDirs: string[] = []

  /** `open` is called at the first program; an abort of `signal` ends all programs. */
  constructor(open: (network?: 'off') => Promise<Containment>, signal: AbortSignal = new AbortController().signal) {
    this.#openContainment = open
    this.#signal = signal
  }

  /** Creates a directory that is removed at the disposal of this object. */
  async scratch(): Promise<string> {
    const { tmpDir } = await this.#containment()
    const dir = await mkdtemp(join(tmpDir, 'git-'))
    this.#scratchDirs.push(dir)
    return dir
  }

  /** Runs git and returns its output. Errors: `GitError` for any exit code except 0, and those of a containment. */
  async run(args: readonly string[], call: GitCall): Promise<Buffer> {
    const { code, stdout, stderr } = await this.tryRun(args, call)
    if (code !== 0)
      throw new GitError(
        `${errorLine(stderr.toString()) || `git ${args.find(isCommand) ?? ''} failed (${code ?? 'killed'})`}${await diskFullNote(stderr.toString(), args, call)}`,
      )
    return stdout
  }

  /** Runs git and returns its result, whatever the exit code is. Errors: `GitError` if git did not finish, and those of a containment. */
  async tryRun(args: readonly string[], call: GitCall): Promise<GitAnswer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#runOnce(args, call)
      if (answer.code === 0 || tries === MAX_TRIES) return answer
      const message = answer.stderr.toString()
      const lock = ownLockIn(message)
      if (lock !== null) await clearStaleLocks([lock], call.lockMs)
      else if (INCOMPLETE_WORKTREE.test(message)) await setTimeout(RETRY_MS)
      else return answer
    }
  }

  async #runOnce(args: readonly string[], call: GitCall): Promise<GitAnswer> {
    this.#signal.throwIfAborted()
    const { cwd, at, input, hooks, network, settings = [], limitMs = CALL_MS } = call
    const containment = await this.#containment(network)
    const argv = [
      'git',
      ...WITHOUT_PROGRAMS,
      ...(at === null ? SEARCH_SETTINGS : []),
      ...settings.flatMap((setting) => ['-c', setting]),
      ...(hooks ? [] : NO_HOOKS),
      ...args,
    ]
    const env = { ...call.env, ...(at === null ? {} : repositoryEnv(at)) }
    const program = await containment.spawn({ argv, cwd, env, stdin: input === undefined ? 'null' : 'pipe' })
    const limit = AbortSignal.any([AbortSignal.timeout(limitMs), this.#signal])
    const kill = (): void => {
      program.signal('SIGKILL')
    }
    limit.addEventListener('abort', kill)
    if (limit.aborted) kill()
    try {
      program.stdin?.end(input)
      const [stdout, stderr] = await Promise.all([
        readAll(program.stdout, MAX_OUTPUT_BYTES, kill),
        readAll(program.stderr, MAX_OUTPUT_BYTES, kill),
      ])
      const { code } = await program.exited
      if (this.#signal.aborted) throw new GitError('git was cancelled')
      if (limit.aborted) throw new GitTimeout(`git ${args.find(isCommand) ?? ''} took more than ${limitMs / 1_000} s`)
      return { code, stdout, stderr }
    } finally {
      limit.removeEventListener('abort', kill)
    }
  }

  /** Like `run`, but returns text without the newline at its end. */
  async line(args: readonly string[], call: GitCall): Promise<string> {
    return (await this.run(args, call)).toString().trimEnd()
  }

  /** Like `line`, but returns null if git fails. */
  async tryLine(args: readonly string[], call: GitCall): Promise<string | null> {
    return this.line(args, call).catch((error: unknown) => {
      if (error instanceof GitError && !this.#signal.aborted) return null
      throw error
    })
  }

  #containment(network?: 'off'): Promise<Containment> {
    const opened = this.#containments.get(network) ?? this.#openContainment(network)
    this.#containments.set(network, opened)
    return opened
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A containment that could not be opened needs no disposal. Its caller has got the error.
    await Promise.all([...this.#containments.values()].map(async (opened) => (await opened.catch(() => null))?.dispose()))
    await Promise.all(this.#scratchDirs.map((dir) => rm(dir, { recursive: true, force: true })))
  }
}

function repositoryEnv({ gitDir, commonDir, workTree, index, objects }: RepositoryPaths): Env {
  return {
    GIT_DIR: gitDir,
    ...(commonDir === undefined ? {} : { GIT_COMMON_DIR: commonDir }),
    ...(workTree === undefined ? {} : { GIT_WORK_TREE: workTree }),
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
    ...(objects === undefined ? {} : { GIT_OBJECT_DIRECTORY: objects }),
  }
}

/** Splits a list of names that git ended with NUL. The names are bytes, and need not be valid text. */
export function splitNames(list: Buffer): Buffer[] {
  const found: Buffer[] = []
  for (let start = 0; start < list.length;) {
    const end = list.indexOf(0, start)
    found.push(list.subarray(start, end < 0 ? list.length : end))
    start = end < 0 ? list.length : end + 1
  }
  return found
}

export function joinNames(all: readonly Buffer[]): Buffer {
  const nul = Buffer.from([0])
  return Buffer.concat(all.flatMap((name) => [name, nul]))
}

async function readAll(stream: AsyncIterable<unknown>, maxBytes: number, onTooMuch: () => void): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length
    if (bytes > maxBytes) onTooMuch()
    else chunks.push(chunk as Buffer)
  }
  if (bytes > maxBytes) throw new GitError(`git wrote more than ${maxBytes} bytes`)
  return Buffer.concat(chunks)
}

/**
 * Returns git's last error line, because warnings come first. A line about a full disk takes precedence, because git reports the
 * consequences after it.
 */
function errorLine(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const fatal = lines.find(isDiskFullError) ?? lines.findLast((line) => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? ''
  return truncate(fatal.replace(/^(fatal|error): /, ''), MAX_MESSAGE_CHARS)
}

/** Returns a note about a full disk if git could not write a file and gave no reason. Otherwise returns an empty text. */
async function diskFullNote(stderr: string, args: readonly string[], { at, cwd }: GitCall): Promise<string> {
  if (isDiskFullError(stderr) || !WRITE_ERROR.test(stderr)) return ''
  // A worktree that could not be created does not exist, so its parent directory is checked.
  for (const dir of [at?.workTree, at?.gitDir, at?.commonDir, cwd, ...args.filter(isAbsolute).map(dirname)]) {
    // If a directory cannot be checked, the next one may be on the same disk.
    const disk = dir === undefined ? null : await statfs(dir).catch(() => null)
    if (disk && disk.bavail * disk.bsize < DISK_FULL_BYTES) return ' (No space left on device)'
  }
  return ''
}

/** Whether an argument is a command of git. */
function isCommand(word: string): boolean {
  return /^[a-z]+(-[a-z]+)*$/.test(word)
}
