// Creates scratch git repositories, and reads their files and git directories as comparable values. All commands use real git, not
// the project's code, with a HOME of the test: the user's git configuration has no effect.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { testEnv } from '../env.ts'

export class Repository {
  readonly dir: string
  readonly env: Record<string, string>

  private constructor(dir: string, home: string) {
    this.dir = dir
    this.env = testEnv(home, {
      GIT_AUTHOR_NAME: 'T',
      GIT_AUTHOR_EMAIL: 't@example.org',
      GIT_COMMITTER_NAME: 'T',
      GIT_COMMITTER_EMAIL: 't@example.org',
    })
  }

  /** Makes an empty repository; `home` is HOME. */
  static make(dir: string, home: string): Repository {
    mkdirSync(dir, { recursive: true })
    const repository = new Repository(dir, home)
    repository.git('init', '-q', '-b', 'main')
    return repository
  }

  git(...args: readonly string[]): string {
    return this.gitIn(this.dir, ...args)
  }

  gitIn(cwd: string, ...args: readonly string[]): string {
    return execFileSync('git', args, {
      cwd,
      // Without this setting, each commit would start the maintenance of the repository.
      env: { ...this.env, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'maintenance.auto', GIT_CONFIG_VALUE_0: 'false' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 64 * 1024 * 1024,
    }).trimEnd()
  }

  /** Writes files, and creates the directories above them. */
  write(files: Readonly<Record<string, string | Buffer>>, dir = this.dir): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true })
      writeFileSync(join(dir, path), text)
    }
  }

  commit(files: Readonly<Record<string, string | Buffer>>, message = 'a commit'): string {
    this.write(files)
    this.git('add', '-A')
    this.git('commit', '-q', '-m', message)
    return this.git('rev-parse', 'HEAD')
  }
}

/** Reads the kind, executable bit and content of every file below a directory. Nested repositories are left out. */
export function filesOf(dir: string, isSkipped: (path: string) => boolean = (path) => path === '.git'): Record<string, string> {
  const found: Record<string, string> = {}
  const visit = (directory: Buffer, path: string): void => {
    for (const name of readdirSync(directory, { encoding: 'buffer' })) {
      const childPath = path === '' ? name.toString('latin1') : `${path}/${name.toString('latin1')}`
      const fullPath = Buffer.concat([directory, Buffer.from('/'), name])
      if (isSkipped(childPath)) continue
      const stat = lstatSync(fullPath)
      if (stat.isDirectory()) visit(fullPath, childPath)
      else if (stat.isSymbolicLink()) found[childPath] = `-> ${readlinkSync(fullPath)}`
      else
        found[childPath] =
          `${(stat.mode & 0o111) === 0 ? 'file' : 'run'} ${createHash('sha1').update(readFileSync(fullPath)).digest('hex')}`
    }
  }
  visit(Buffer.from(dir), '')
  return found
}

/** Reads all files of a git directory, except the registration of worktrees and reeve's branches. */
export function gitBytes(repository: Repository): Record<string, string> {
  return filesOf(
    join(repository.dir, '.git'),
    (path) => path === 'worktrees' || path.startsWith('refs/heads/reeve') || path.startsWith('logs/refs/heads/reeve'),
  )
}
