// The repository of records of one process: a bare git repository of our own in which the files of its worktree are kept, step by
// step. It borrows the objects of the user's repository and writes none there. Files are kept byte for byte: no filter, no change
// of line ends. Its index stands for the worktree as it was recorded last, so that what has not changed is not read again.
// Must never write to the user's repository. Tests: test/processes/files.test.ts.
import { access, constants, lstat, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LeftOut } from '../../kernel/facts.ts'
import { GitError, joined, names, ownEnv, userEnv } from './git.ts'
import type { Git } from './git.ts'

/** Larger files are left out. */
const MAX_FILE_BYTES = 10_000_000
/** What is left out is named in the fact, so many at most. */
const MAX_NAMED = 100
/** The first record reads every file. */
const FIRST_MS = 120_000
/** Files that are looked at in one go. */
const AT_ONCE = 64
const SLASH = 0x2f

/** Bytes as they are: attributes of ours come before those of the worktree. (`-working-tree-encoding` would be refused.) */
const ATTRIBUTES = '* -text -eol -ident -filter !working-tree-encoding\n'

/** What a fact names is to be there after a loss of power, too. */
const DURABLE = ['-c', 'core.fsync=committed', '-c', 'core.fsyncMethod=batch']

export interface RecordsPlace {
  /** the repository of records */
  readonly dir: string
  /** the git directory that the worktrees of the user's repository share */
  readonly repository: string
  readonly worktree: string
  /** of the process */
  readonly env: Readonly<Record<string, string>>
  /** names the index of one writer: what an earlier one is still about to write cannot get in its way */
  readonly writer: number
}

export interface FileRecord {
  readonly commit: string
  /** what was checked out */
  readonly head: string
  readonly left: readonly LeftOut[]
  readonly more: number
}

interface Seen {
  readonly add: readonly Buffer[]
  readonly drop: readonly Buffer[]
  readonly left: readonly LeftOut[]
}

export class Records {
  readonly #git: Git
  readonly #place: RecordsPlace
  readonly #index: string
  #last: { readonly tree: string; readonly commit: string } | null = null

  private constructor(git: Git, place: RecordsPlace) {
    this.#git = git
    this.#place = place
    this.#index = join(place.dir, `index-${place.writer}`)
  }

  /** Opens it, and makes it first where there is none. */
  static async open(git: Git, place: RecordsPlace): Promise<Records> {
    if (!(await isThere(join(place.dir, 'HEAD')))) await makeRepository(git, place)
    const records = new Records(git, place)
    await records.#takeIndex()
    await writeFile(join(place.dir, 'info', 'exclude'), await userExcludes(git, place))
    return records
  }

  /** Records the files as they are now. Errors: `GitError`, those of the file system. */
  async record(step: number): Promise<FileRecord> {
    const { tree, left, more, head } = await this.#snapshot()
    if (this.#last?.tree !== tree) this.#last = { tree, commit: await this.#own(['commit-tree', tree, '-m', `step ${step}`]) }
    const { commit } = this.#last
    await this.#own(['update-ref', `refs/records/${step}`, commit])
    return { commit, head, left, more }
  }

  /** Makes the worktree's files those of a record. What the record does not have (ignored or large files) stays as it is. */
  async restore(commit: string): Promise<void> {
    await this.#snapshot()
    await this.#own(['read-tree', '--reset', '-u', commit])
  }

  async #snapshot(): Promise<{ readonly tree: string; readonly head: string; readonly left: readonly LeftOut[]; readonly more: number }> {
    const [changed, tracked, ignored, head] = await Promise.all([
      this.#list(['ls-files', '-z', '-m', '-d', '-o', '--exclude-standard']),
      this.#user(['ls-files', '-z', '-c', '-i', '--exclude-standard']),
      this.#list(['ls-files', '-z', '-o', '-i', '--directory', '--exclude-standard']),
      this.#user(['rev-parse', '--verify', '-q', 'HEAD']),
    ])
    // What the user tracks is no less tracked where a rule would ignore it.
    const kept = names(tracked)
    const seen = await this.#look(unique([...names(changed), ...kept]))
    if (seen.drop.length > 0) await this.#own(['update-index', '-z', '--force-remove', '--stdin'], joined(seen.drop))
    if (seen.add.length > 0) await this.#own(['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], joined(seen.add))
    const isKept = new Set(kept.map((name) => name.toString('latin1')))
    const left = [...seen.left, ...names(ignored).filter((name) => !isKept.has(name.toString('latin1'))).map((name) => leftOut(name, 'ignored'))]
    const tree = await this.#own(['write-tree'])
    return { tree, head: head.toString().trim(), left: left.slice(0, MAX_NAMED), more: Math.max(0, left.length - MAX_NAMED) }
  }

  /** Each name as it is on disk now: what is to be taken in, what goes, what is left out. */
  async #look(all: readonly Buffer[]): Promise<Seen> {
    const found: { readonly name: Buffer; readonly look: Look }[] = []
    for (let i = 0; i < all.length; i += AT_ONCE) {
      found.push(...(await Promise.all(all.slice(i, i + AT_ONCE).map(async (name) => ({ name, look: await this.#lookAt(name) })))))
    }
    // What lies beyond a link belongs to the link.
    const links = new Set(found.filter(({ look }) => look === 'link').map(({ name }) => name.toString('latin1')))
    const beyond = (name: Buffer): boolean => links.size > 0 && parents(name.toString('latin1')).some((parent) => links.has(parent))
    const of = (...looks: readonly Look[]): Buffer[] => found.filter(({ name, look }) => looks.includes(beyond(name) ? 'gone' : look)).map(({ name }) => name)
    return {
      add: of('file', 'link'),
      drop: of('gone', 'large', 'unreadable').filter((name) => name.at(-1) !== SLASH),
      left: [
        ...of('large').map((name) => leftOut(name, 'large')), ...of('unreadable').map((name) => leftOut(name, 'unreadable')),
        ...of('repository').map((name) => leftOut(name, 'repository')),
      ],
    }
  }

  async #lookAt(name: Buffer): Promise<Look> {
    // git lists a directory of its own only where that is another repository.
    if (name.at(-1) === SLASH) return 'repository'
    const path = Buffer.concat([Buffer.from(`${this.#place.worktree}/`), name])
    const stat = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
      if (error.code === 'EACCES') return 'unreadable' as const
      throw error
    })
    if (stat === 'unreadable') return stat
    if (stat?.isSymbolicLink() === true) return 'link'
    if (stat?.isFile() !== true) return 'gone'
    if (stat.size > MAX_FILE_BYTES) return 'large'
    return access(path, constants.R_OK).then(() => 'file' as const, () => 'unreadable' as const)
  }

  /** The index of the last writer becomes ours. */
  async #takeIndex(): Promise<void> {
    const { dir, writer } = this.#place
    const found = (await readdir(dir)).filter((name) => /^index-\d+(\.lock)?$/.test(name))
    const writers = found.flatMap((name) => (name.endsWith('.lock') ? [] : [Number(name.slice('index-'.length))]))
    const newest = Math.max(-1, ...writers)
    if (newest >= 0 && newest !== writer) await rename(join(dir, `index-${newest}`), this.#index)
    const old = found.filter((name) => name !== `index-${newest}` && name !== `index-${writer}`)
    await Promise.all(old.map((name) => rm(join(dir, name), { force: true })))
  }

  async #own(args: readonly string[], input?: Buffer): Promise<string> {
    return (await this.#list(args, input)).toString().trimEnd()
  }

  #list(args: readonly string[], input?: Buffer): Promise<Buffer> {
    const limit = this.#last === null ? { limitMs: FIRST_MS } : {}
    const { dir, worktree, env } = this.#place
    const where = [`--git-dir=${dir}`, `--work-tree=${worktree}`]
    return this.#git.run([...DURABLE, ...where, ...args], { cwd: worktree, env: { ...ownEnv(env), GIT_INDEX_FILE: this.#index }, ...limit, ...(input ? { input } : {}) })
  }

  #user(args: readonly string[]): Promise<Buffer> {
    const { worktree, env } = this.#place
    return this.#git.run(args, { cwd: worktree, env: userEnv(env) })
  }
}

type Look = 'file' | 'link' | 'gone' | 'large' | 'unreadable' | 'repository'

/** Makes a repository of records that has one record of another process: from then on it needs nothing of that one. */
export async function copyRecord(git: Git, from: string, place: Omit<RecordsPlace, 'worktree' | 'writer'>, commit: string): Promise<void> {
  const { dir, env } = place
  await makeRepository(git, place)
  const call = { cwd: dir, env: ownEnv(env) }
  if ((await git.maybe([`--git-dir=${from}`, 'cat-file', '-e', `${commit}^{tree}`], call)) === null) throw new GitError('the record is damaged, or gone')
  // Objects of its own alone: what is the user's is the user's for both.
  await git.run([`--git-dir=${from}`, 'pack-objects', '--revs', '--local', '-q', join(dir, 'objects', 'pack', 'pack')], { ...call, input: Buffer.from(`${commit}\n`) })
  await git.run([`--git-dir=${dir}`, 'update-ref', 'refs/records/origin', commit], call)
}

/** Under this name a repository of records is made. */
export function draftOf(dir: string): string {
  return `${dir}.new`
}

/** Whole or not there: it is made under another name. */
async function makeRepository(git: Git, { dir, repository, env }: Omit<RecordsPlace, 'worktree' | 'writer'>): Promise<void> {
  const draft = draftOf(dir)
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o700 })
  const format = (await git.maybe([`--git-dir=${repository}`, 'rev-parse', '--show-object-format'], { cwd: draft, env: userEnv(env) })) ?? 'sha1'
  await git.run(['-c', 'init.defaultBranch=records', 'init', '-q', '--bare', '--template=', `--object-format=${format}`, draft], { cwd: draft, env: ownEnv(env) })
  await mkdir(join(draft, 'info'), { recursive: true })
  await writeFile(join(draft, 'info', 'attributes'), ATTRIBUTES)
  await writeFile(join(draft, 'objects', 'info', 'alternates'), `${join(repository, 'objects')}\n`)
  await rm(dir, { recursive: true, force: true })
  await rename(draft, dir)
}

/** What the user ignores besides the rules in the worktree: in this clone, and everywhere. */
async function userExcludes(git: Git, { repository, worktree, env }: RecordsPlace): Promise<string> {
  const said = await git.maybe(['config', '--path', '--get', 'core.excludesFile'], { cwd: worktree, env: userEnv(env) })
  const config = env['XDG_CONFIG_HOME'] || (env['HOME'] === undefined ? null : join(env['HOME'], '.config'))
  const file = said ?? (config === null ? null : join(config, 'git', 'ignore'))
  const texts = await Promise.all([file, join(repository, 'info', 'exclude')].map((path) => (path === null ? '' : readFile(path, 'utf8').catch(() => ''))))
  return texts.map((text) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)).join('')
}

function leftOut(name: Buffer, why: LeftOut['why']): LeftOut {
  return { path: name.toString(), why }
}

function unique(all: readonly Buffer[]): Buffer[] {
  return [...new Map(all.map((name) => [name.toString('latin1'), name])).values()]
}

function parents(name: string): string[] {
  const words = name.split('/')
  return words.slice(1).map((_, index) => words.slice(0, index + 1).join('/'))
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}
