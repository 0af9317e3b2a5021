// The checkout in which the user works: its state, a merge into it, and a push from it. Runs the user's own git, gh and glab with the
// user's environment, because merge and push are commands of the user. Callers must never merge or push in the worktree of a process: an
// agent can replace its `.git` (docs/decisions/022). Tests: test/e2e/worktree/merge.test.ts, test/e2e/worktree/pr.test.ts.
import { spawn } from 'node:child_process'
import { Failure, UsageError } from '../errors.ts'
import { stripControls } from '../print/text.ts'

/** the maximum output of a program that is kept, in bytes */
const MAX_OUTPUT_BYTES = 256 * 1_048_576

interface ProgramResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The user's identity in commits. */
export interface GitIdentity {
  readonly name: string
  readonly email: string
}

export class UserCheckout {
  /** the root of the checkout */
  readonly top: string
  /** the git directory that all checkouts of the repository share */
  readonly repository: string
  /** the checked-out commit */
  readonly head: string

  private constructor(top: string, repository: string, head: string) {
    this.top = top
    this.repository = repository
    this.head = head
  }

  /** Finds the checkout that contains the current directory. Errors: exit 64 outside of a checkout. */
  static async find(): Promise<UserCheckout> {
    const { code, stdout, stderr } = await runGit(
      ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-common-dir', 'HEAD^{commit}'],
      process.cwd(),
    )
    const [top, repository, head] = stdout.split('\n')
    if (top && repository && head && code === 0) return new UserCheckout(top, repository, head)
    if (!top)
      throw new UsageError(
        `${process.cwd()} is not a git checkout: ${messageOf(stderr)}`,
        'Change to the repository of the process, and to the branch to merge into.',
      )
    throw new UsageError(`the repository ${top} has no commit yet`)
  }

  /** The name of the checked-out branch; `HEAD` without a branch. */
  async branch(): Promise<string> {
    const { stdout } = await runGit(['symbolic-ref', '-q', '--short', 'HEAD'], this.top)
    return stdout.trim() || 'HEAD'
  }

  /** Lists the files that differ from the checked-out commit, and whether each change is staged. */
  async dirtyFiles(): Promise<readonly { readonly path: string; readonly isStaged: boolean }[]> {
    const entries = (await this.#run(['status', '-z', '--porcelain', '--untracked-files=all', '--no-renames'])).split('\0')
    return entries.flatMap((entry) => (entry === '' ? [] : [{ path: entry.slice(3), isStaged: !/[ ?!]/.test(entry[0] ?? ' ') }]))
  }

  /** Returns the user's identity. Errors: exit 1 if git has none. */
  async identity(): Promise<GitIdentity> {
    const { stdout } = await runGit(['var', 'GIT_AUTHOR_IDENT'], this.top)
    const [, name, email] = /^(.+) <(.*)> \d+ [+-]\d+\s*$/.exec(stdout) ?? []
    if (name !== undefined && email) return { name, email }
    throw new Failure(
      1,
      'git does not know who you are, so the work cannot be committed',
      '`git config --global user.name` and `user.email` set it.',
    )
  }

  /**
   * Merges a commit as `git merge` does, with the user's hooks, filters and settings. Returns the new commit, and the output of hooks.
   * Errors: exit 1 with git's message; a merge with conflicts is undone.
   */
  async merge(commit: string, message: string): Promise<{ readonly commit: string; readonly output: string }> {
    // Git keeps the directory in which it was started, so that the user's shell is not left in a removed one.
    const { code, stdout, stderr } = await runGit(['merge', '-q', '--no-edit', '-m', message, commit], process.cwd())
    if (code !== 0) {
      const hasConflicts = (await runGit(['ls-files', '-u'], this.top)).stdout !== ''
      if (hasConflicts) await runGit(['merge', '--abort'], this.top)
      const isMerging = (await runGit(['rev-parse', '-q', '--verify', 'MERGE_HEAD'], this.top)).code === 0
      throw new Failure(
        1,
        `git merge failed: ${messageOf(`${stdout}\n${stderr}`)}`,
        isMerging ? '`git merge --abort` undoes the unfinished merge; `git commit` completes it.' : 'Nothing was merged.',
      )
    }
    return { commit: (await this.#run(['rev-parse', 'HEAD'])).trim(), output: stripControls(`${stdout}${stderr}`).trim() }
  }

  /**
   * Makes one commit of all changes that a commit adds, as `git merge --squash` and `git commit` do. Returns the same as `merge`. Errors:
   * exit 1 with git's message.
   */
  async squash(commit: string, message: string): Promise<{ readonly commit: string; readonly output: string }> {
    const squashed = await runGit(['merge', '-q', '--squash', commit], process.cwd())
    if (squashed.code !== 0) {
      if ((await runGit(['ls-files', '-u'], this.top)).stdout !== '') await runGit(['reset', '-q', '--merge'], this.top)
      throw new Failure(1, `git merge --squash failed: ${messageOf(`${squashed.stdout}\n${squashed.stderr}`)}`, 'Nothing was merged.')
    }
    const { code, stdout, stderr } = await runGit(['commit', '-q', '-m', message], process.cwd())
    if (code !== 0)
      throw new Failure(
        1,
        `git commit failed: ${messageOf(`${stdout}\n${stderr}`)}`,
        'The changes are staged: `git commit` completes the merge, `git reset --merge` undoes it.',
      )
    const output = [squashed.stdout, squashed.stderr, stdout, stderr].join('')
    return { commit: (await this.#run(['rev-parse', 'HEAD'])).trim(), output: stripControls(output).trim() }
  }

  /** Returns the addresses to which a push to the remote goes. Errors: exit 64 if there is no such remote. */
  async pushAddresses(remote: string): Promise<string[]> {
    const { code, stdout } = await runGit(['remote', 'get-url', '--push', '--all', '--', remote], this.top)
    const addresses = stdout.split('\n').filter((line) => line !== '')
    if (code === 0 && addresses.length > 0) return addresses
    const known = await this.remotes()
    throw new UsageError(
      `this repository has no remote "${remote}"`,
      known.length === 0 ? '`git remote add origin ADDRESS` adds one.' : `Its remotes: ${known.map(stripControls).join(', ')}.`,
    )
  }

  /** Lists the names of the remotes. */
  async remotes(): Promise<string[]> {
    return (await this.read('remote')).split('\n').filter((name) => name !== '')
  }

  /** Pushes a commit to a branch of the remote, never by force. Returns git's messages. Errors: exit 1 with git's message. */
  async push(remote: string, commit: string, branch: string): Promise<string> {
    const { code, stdout, stderr } = await runGit(['push', '--porcelain', '--', remote, `${commit}:refs/heads/${branch}`], this.top)
    const output = stripControls(`${stderr}${stdout}`).trim()
    if (code === 0) return output
    if (/^!.*\[rejected\]/m.test(output))
      throw new Failure(
        1,
        `the branch ${branch} of ${remote} has commits that this work does not contain; nothing was pushed`,
        '`--branch NAME` pushes to another branch. No branch of a remote is ever overwritten.',
      )
    throw new Failure(1, `git push failed: ${messageOf(output)}`, 'Nothing was pushed.')
  }

  /** Runs a program of the user in the root of the checkout, without input. Errors: exit 1 if it cannot be run. */
  async runTool(program: string, args: readonly string[]): Promise<ProgramResult> {
    return runProgram(program, args, { cwd: this.top, stdin: 'ignore', env: { ...process.env, GH_PROMPT_DISABLED: '1' } }).catch(
      (error: unknown) => {
        throw new Failure(1, `${program} cannot be run: ${(error as Error).message}`)
      },
    )
  }

  /** Runs git in the root of the checkout, and returns its output. Errors: exit 1. */
  async #run(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await runGit(args, this.top)
    if (code === 0) return stdout
    throw new Failure(1, `git ${args[0]} failed: ${messageOf(stderr)}`)
  }

  /** Runs a command of git that may fail. Returns its output, or an empty text on failure. */
  async read(...args: readonly string[]): Promise<string> {
    const { code, stdout } = await runGit(args, this.top)
    return code === 0 ? stdout : ''
  }
}

function messageOf(output: string): string {
  return (
    stripControls(output)
      .trim()
      .replace(/^fatal: /, '') || 'it gave no reason'
  )
}

/** Runs git. Errors: exit 127 if it cannot be started. */
function runGit(args: readonly string[], cwd: string): Promise<ProgramResult> {
  return runProgram('git', args, { cwd, stdin: 'inherit', env: process.env }).catch((error: unknown) => {
    throw new Failure(127, `git cannot be run: ${(error as Error).message}`)
  })
}

interface ProgramPlace {
  readonly cwd: string
  readonly stdin: 'inherit' | 'ignore'
  readonly env: NodeJS.ProcessEnv
}

/** Runs a program to its end, without a shell. Errors: those of its start. */
function runProgram(program: string, args: readonly string[], { cwd, stdin, env }: ProgramPlace): Promise<ProgramResult> {
  const child = spawn(program, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe'] })
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  let bytes = 0
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_OUTPUT_BYTES) chunks[name].push(chunk)
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) =>
      resolve({ code, stdout: Buffer.concat(chunks.stdout).toString(), stderr: Buffer.concat(chunks.stderr).toString() }),
    )
  })
}
