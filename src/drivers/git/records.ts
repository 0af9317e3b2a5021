// The repository of records of one process: a bare git repository that keeps the files of its worktree, step by step. It borrows the
// objects of the user's repository and writes none there. Files are kept byte for byte: no filter runs and no line end changes. Its index
// matches the worktree at the last record, so unchanged files are not read again. Must never write to the user's repository. Tests:
// test/processes/git/records.test.ts.
import { access, constants, lstat, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OmittedPath } from '../../kernel/model/facts.ts'
import { GitError, joinNames, splitNames, ownGitEnv, readEnv } from './git.ts'
import { gitDirOf, userExcludes } from './open-worktree.ts'
import { pathExists } from '../common/path-exists.ts'
import type { Git, GitCall, GitUser } from './git.ts'
import { isMissing } from '../../kernel/util/missing-file.ts'

/** Larger files are not recorded. */
const MAX_FILE_BYTES = 10_000_000
/** The maximum number of omitted files that a fact names. */
const MAX_NAMED = 100
/** Time limit of the first record, which reads every file. */
const FIRST_MS = 120_000
/** The number of files that are checked at the same time. */
const CONCURRENT_CHECKS = 64
const SLASH = 0x2f

/** Attributes that keep bytes unchanged; they override those of the worktree. (Git would refuse `-working-tree-encoding`.) */
const ATTRIBUTES = '* -text -eol -ident -filter !working-tree-encoding\n'

/** Settings for durable writes: recorded commits must survive a loss of power. */
const DURABLE_OPTIONS = ['-c', 'core.fsync=committed', '-c', 'core.fsyncMethod=batch']

export interface RecordsLocation extends GitUser {
  /** the path of the repository of records */
  readonly dir: string
  /** the git directory that all worktrees of the user's repository share */
  readonly repository: string
  readonly worktree: string
  /** a number that names the index of one writer, so that a late write of an earlier writer cannot damage it */
  readonly writer: number
}

export interface FileRecord {
  readonly commit: string
  /** the commit that was checked out */
  readonly head: string
  /** files that are not recorded, up to a limit */
  readonly omitted: readonly OmittedPath[]
  /** the number of further files that are not recorded */
  readonly omittedMore: number
}

interface FileChanges {
  readonly add: readonly Buffer[]
  readonly drop: readonly Buffer[]
  readonly left: readonly OmittedPath[]
}

export class Records {
  readonly #git: Git
  readonly #location: RecordsLocation
  readonly #index: string
  /** the base of calls in the user's repository, for the worktree */
  readonly #user: GitCall
  #last: { readonly tree: string; readonly commit: string } | null = null
  /** the tree of the current index; null if it must be written again */
  #tree: string | null = null

  private constructor(git: Git, place: RecordsLocation, user: GitCall) {
    this.#git = git
    this.#location = place
    this.#user = user
    this.#index = join(place.dir, `index-${place.writer}`)
  }

  /** Opens the repository of records, and creates it if it is missing. */
  static async open(git: Git, place: RecordsLocation): Promise<Records> {
    if (!(await pathExists(join(place.dir, 'HEAD')))) await createRepository(git, place)
    const { repository, worktree, env, network } = place
    const at = { gitDir: await gitDirOf({ dir: worktree, repository }), commonDir: repository, workTree: worktree }
    const user: GitCall = { cwd: worktree, env: readEnv(env), at, ...(network && { network }) }
    const records = new Records(git, place, user)
    await records.#takeIndex()
    await writeFile(join(place.dir, 'info', 'exclude'), await userExcludes(git, repository, user))
    return records
  }

  /** Records the current files. Errors: `GitError`, and those of the file system. */
  async record(step: number): Promise<FileRecord> {
    const { tree, left, more, head } = await this.#snapshot()
    if (this.#last?.tree !== tree) this.#last = { tree, commit: await this.#runLine(['commit-tree', tree, '-m', `step ${step}`]) }
    const { commit } = this.#last
    await this.#runLine(['update-ref', `refs/records/${step}`, commit])
    return { commit, head, omitted: left, omittedMore: more }
  }

  /** Restores the worktree's files from a record. Files that records omit, such as ignored or large ones, stay unchanged. */
  async restore(commit: string): Promise<void> {
    await this.#snapshot()
    this.#tree = null
    await this.#runLine(['read-tree', '--reset', '-u', commit])
  }

  async #snapshot(): Promise<{
    readonly tree: string
    readonly head: string
    readonly left: readonly OmittedPath[]
    readonly more: number
  }> {
    const [changed, tracked, ignored, head] = await Promise.all([
      this.#run(['ls-files', '-z', '-m', '-d', '-o', '--exclude-standard']),
      this.#git.run(['ls-files', '-z', '-c', '-i', '--exclude-standard'], this.#user),
      this.#run(['ls-files', '-z', '-o', '-i', '--directory', '--exclude-standard']),
      this.#git.run(['rev-parse', '--verify', '-q', 'HEAD'], this.#user),
    ])
    // Files that the user tracks are recorded even if a rule would ignore them.
    const kept = splitNames(tracked)
    const changes = await this.#classify(uniquePaths([...splitNames(changed), ...kept]))
    // The tree is reset before the updates, because an update may fail after a part of the files.
    if (changes.drop.length + changes.add.length > 0) this.#tree = null
    if (changes.drop.length > 0) await this.#runLine(['update-index', '-z', '--force-remove', '--stdin'], joinNames(changes.drop))
    if (changes.add.length > 0)
      await this.#runLine(['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], joinNames(changes.add))
    const isTracked = new Set(kept.map((name) => name.toString('latin1')))
    const left = [
      ...changes.left,
      ...splitNames(ignored)
        .filter((name) => !isTracked.has(name.toString('latin1')))
        .map((name) => omittedPath(name, 'ignored')),
    ]
    this.#tree ??= await this.#runLine(['write-tree'])
    return { tree: this.#tree, head: head.toString().trim(), left: left.slice(0, MAX_NAMED), more: Math.max(0, left.length - MAX_NAMED) }
  }

  /** Compares each name with the disk: returns the files to add, the files to drop, and the omitted files. */
  async #classify(all: readonly Buffer[]): Promise<FileChanges> {
    const found: { readonly name: Buffer; readonly kind: FileKind }[] = []
    for (let i = 0; i < all.length; i += CONCURRENT_CHECKS) {
      found.push(
        ...(await Promise.all(all.slice(i, i + CONCURRENT_CHECKS).map(async (name) => ({ name, kind: await this.#kindOf(name) })))),
      )
    }
    // Files behind a symbolic link are not in the worktree, so they count as gone.
    const links = new Set(found.filter(({ kind }) => kind === 'link').map(({ name }) => name.toString('latin1')))
    const isBehindLink = (name: Buffer): boolean =>
      links.size > 0 && parentPaths(name.toString('latin1')).some((parent) => links.has(parent))
    const namesOf = (...kinds: readonly FileKind[]): Buffer[] =>
      found.filter(({ name, kind }) => kinds.includes(isBehindLink(name) ? 'gone' : kind)).map(({ name }) => name)
    return {
      add: namesOf('file', 'link'),
      drop: namesOf('gone', 'large', 'unreadable').filter((name) => name.at(-1) !== SLASH),
      left: [
        ...namesOf('large').map((name) => omittedPath(name, 'large')),
        ...namesOf('unreadable').map((name) => omittedPath(name, 'unreadable')),
        ...namesOf('repository').map((name) => omittedPath(name, 'repository')),
      ],
    }
  }

  async #kindOf(name: Buffer): Promise<FileKind> {
    // Git lists a directory only if that is another repository.
    if (name.at(-1) === SLASH) return 'repository'
    const path = Buffer.concat([Buffer.from(`${this.#location.worktree}/`), name])
    const stat = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (isMissing(error)) return null
      if (error.code === 'EACCES') return 'unreadable' as const
      throw error
    })
    if (stat === 'unreadable') return stat
    if (stat?.isSymbolicLink() === true) return 'link'
    if (stat?.isFile() !== true) return 'gone'
    if (stat.size > MAX_FILE_BYTES) return 'large'
    return access(path, constants.R_OK).then(
      () => 'file' as const,
      () => 'unreadable' as const,
    )
  }

  /** Takes over the index of the previous writer. */
  async #takeIndex(): Promise<void> {
    const { dir, writer } = this.#location
    const found = (await readdir(dir)).filter((name) => /^index-\d+(\.lock)?$/.test(name))
    const writers = found.flatMap((name) => (name.endsWith('.lock') ? [] : [Number(name.slice('index-'.length))]))
    const newest = Math.max(-1, ...writers)
    if (newest >= 0 && newest !== writer) await rename(join(dir, `index-${newest}`), this.#index)
    const old = found.filter((name) => name !== `index-${newest}` && name !== `index-${writer}`)
    await Promise.all(old.map((name) => rm(join(dir, name), { force: true })))
  }

  async #runLine(args: readonly string[], input?: Buffer): Promise<string> {
    return (await this.#run(args, input)).toString().trimEnd()
  }

  #run(args: readonly string[], input?: Buffer): Promise<Buffer> {
    const limit = this.#last === null ? { limitMs: FIRST_MS } : {}
    const { dir, worktree } = this.#location
    const call = inRecords(this.#location, dir)
    return this.#git.run([...DURABLE_OPTIONS, ...args], {
      ...call,
      cwd: worktree,
      at: { gitDir: dir, workTree: worktree, index: this.#index },
      ...limit,
      ...(input ? { input } : {}),
    })
  }
}

type FileKind = 'file' | 'link' | 'gone' | 'large' | 'unreadable' | 'repository'

/** Creates a repository of records with one record of another process. It does not depend on that process afterwards. */
export async function copyRecord(
  git: Git,
  from: string,
  place: Omit<RecordsLocation, 'worktree' | 'writer'>,
  commit: string,
): Promise<void> {
  const { dir } = place
  await createRepository(git, place)
  const origin = inRecords(place, from)
  if ((await git.tryLine(['cat-file', '-e', `${commit}^{tree}`], origin)) === null) throw new GitError('the record is damaged or gone')
  // Only objects of the records are packed, because both repositories borrow those of the user's repository.
  await git.run(['pack-objects', '--revs', '--local', '-q', join(dir, 'objects', 'pack', 'pack')], {
    ...origin,
    input: Buffer.from(`${commit}\n`),
  })
  await git.run(['update-ref', 'refs/records/origin', commit], inRecords(place, dir))
}

/**
 * Returns a call in a repository of records. It runs without the user's configuration. It has the network permission of the process,
 * which might write to that repository.
 */
function inRecords({ env, network }: GitUser, gitDir: string): GitCall {
  return { cwd: '/', env: ownGitEnv(env), at: { gitDir }, ...(network && { network }) }
}

/** Returns the path at which a repository of records is created. */
export function draftPath(dir: string): string {
  return `${dir}.new`
}

/** Creates a repository of records under another name and then renames it, so that it is never incomplete. */
async function createRepository(git: Git, place: Omit<RecordsLocation, 'worktree' | 'writer'>): Promise<void> {
  const { dir, repository, env } = place
  const draft = draftPath(dir)
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o700 })
  const call = inRecords(place, draft)
  const format =
    (await git.tryLine(['rev-parse', '--show-object-format'], { ...call, env: readEnv(env), at: { gitDir: repository } })) ?? 'sha1'
  await git.run(['-c', 'init.defaultBranch=records', 'init', '-q', '--bare', '--template=', `--object-format=${format}`, draft], call)
  await mkdir(join(draft, 'info'), { recursive: true })
  await writeFile(join(draft, 'info', 'attributes'), ATTRIBUTES)
  await writeFile(join(draft, 'objects', 'info', 'alternates'), `${join(repository, 'objects')}\n`)
  await rm(dir, { recursive: true, force: true })
  await rename(draft, dir)
}

function omittedPath(name: Buffer, why: OmittedPath['why']): OmittedPath {
  return { path: name.toString(), why }
}

function uniquePaths(all: readonly Buffer[]): Buffer[] {
  return [...new Map(all.map((name) => [name.toString('latin1'), name])).values()]
}

function parentPaths(name: string): string[] {
  const parts = name.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}
