// Opens worktrees: finds their git directories and prepares calls for their files. There are two rules. First, the path of the git
// directory comes from the repository, never from the worktree's `.git`, which an agent can change. Second, git runs no programs for a
// process that may run none. Its files are then read through an inert git directory: one of reeve's own, without the repository's
// configuration. Tests: test/processes/git/hostile-repositories.test.ts, test/processes/crew/git.test.ts.
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { GitError, envOf, readEnv } from './git.ts'
import type { Git, GitCall, RepositoryPaths, GitUser } from './git.ts'

/** Files of git that are larger than this are not read. */
const MAX_TEXT_BYTES = 1024 * 1024
/** The beginning of the `.git` file that git writes into a worktree. */
const POINTER_PREFIX = 'gitdir: '
/** Matches settings for reading and merging files that start no program. */
const INERT_SETTINGS =
  '^(core\\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode|trustctime|checkstat|sparsecheckout|sparsecheckoutcone|sharedrepository)|merge\\.(conflictstyle|directoryrenames|renamelimit|renames))$'
/** An inert git directory must not split its index, because the second part would be removed together with the directory. */
const WHOLE_INDEX = 'core.splitIndex=false'
/** Files of a git directory that are copied into the inert one. */
const COPIED_FILES = ['info/attributes', 'shallow']
/** One more copied file, from each worktree's own git directory. */
const SPARSE_FILE = 'info/sparse-checkout'

/** A worktree to open, and the process for which git works in it. */
export interface WorktreeLocation extends GitUser {
  readonly dir: string
  /** the git directory that all worktrees share */
  readonly repository: string
  /** time limit of each call of git, in ms */
  readonly limitMs?: number
  /** maximum wait for a lock that a killed git left, in ms */
  readonly lockMs?: number
}

/** An opened worktree. */
export interface OpenWorktree {
  readonly dir: string
  /** the worktree's own git directory */
  readonly gitDir: string
  /** the base of calls for objects and refs, which start no program */
  readonly refs: GitCall
  /** the base of calls for files and the index, in which filters run if the process may run programs */
  readonly files: GitCall
  /** the path of the HEAD file of the inert git directory; null without one */
  readonly head: string | null
}

/** A worktree that cannot be opened although its repository exists. */
export class WorktreeError extends GitError {
  readonly dir: string

  constructor(dir: string, message: string) {
    super(message)
    this.dir = dir
  }
}

/**
 * Opens a worktree that git created. Errors: `WorktreeError` if it is gone or its `.git` was replaced; `GitError` if its repository is
 * gone.
 */
export async function openWorktree(git: Git, at: WorktreeLocation): Promise<OpenWorktree> {
  if ((await kindOf(at.repository)) === null) throw new GitError(`the repository ${at.repository} is gone`)
  if ((await kindOf(at.dir)) === null) throw new WorktreeError(at.dir, `the worktree ${at.dir} is gone`)
  const gitDir = await gitDirOf(at)
  await checkPointer(at, gitDir)
  return openWorktreeAt(git, at, gitDir)
}

/** Opens a worktree only to read its files, even if its `.git` is gone or was replaced. */
export async function openWorktreeToRead(git: Git, at: WorktreeLocation): Promise<OpenWorktree> {
  return openWorktreeAt(git, at, await gitDirOf(at))
}

/** Opens a work tree whose git directory is known, including the user's own checkout. */
export async function openWorktreeAt(git: Git, at: WorktreeLocation, gitDir: string): Promise<OpenWorktree> {
  const { dir, repository, network, limitMs, lockMs } = at
  const common = {
    cwd: dir,
    ...(network && { network }),
    ...(limitMs !== undefined && { limitMs }),
    ...(lockMs !== undefined && { lockMs }),
  }
  const refs: GitCall = { ...common, env: envOf(at), at: { gitDir, commonDir: repository, workTree: dir } }
  if (at.programs === true) return { dir, gitDir, refs, files: refs, head: null }
  const inert = await createInertGitDir(git, at, gitDir)
  return {
    dir,
    gitDir,
    refs,
    files: { ...refs, ...inert, at: { ...inert.at, workTree: dir, index: join(gitDir, 'index') } },
    head: join(inert.at.gitDir, 'HEAD'),
  }
}

/** Sets HEAD of the inert git directory to the commit that is checked out now. */
export async function followHead(git: Git, { refs, head }: OpenWorktree): Promise<void> {
  if (head !== null) await writeFile(head, `${await git.line(['rev-parse', 'HEAD'], refs)}\n`)
}

/**
 * Returns the git directory of a worktree, from the repository's own list. Errors: `GitError` if the repository does not list the
 * worktree.
 */
export async function gitDirOf({ dir, repository }: Pick<WorktreeLocation, 'dir' | 'repository'>): Promise<string> {
  const link = join(await realpath(dir), '.git')
  // If the path cannot be resolved, `readdir` fails below.
  const all = join(await realpath(repository).catch(() => repository), 'worktrees')
  // An unreadable list counts as empty; the error below then names the worktree.
  const names = (await readdir(all).catch(() => [])).toSorted((a, b) => Number(b === basename(dir)) - Number(a === basename(dir)))
  for (const name of names) {
    const text = await textOf(join(all, name, 'gitdir'))
    if (text !== null && resolve(all, name, text.trimEnd()) === link) return join(all, name)
  }
  throw new WorktreeError(dir, `${dir} is not a worktree of ${repository} any more`)
}

/**
 * Returns the repository of a worktree by its `.git`, if that repository lists the worktree too. For worktrees without any other
 * record. Errors: `GitError`.
 */
export async function repositoryOf(dir: string): Promise<string> {
  const gitDir = await pointerOf(dir)
  if (gitDir === null) throw new GitError(`${dir} is not a worktree any more: it has no .git file that git wrote`)
  const repository = dirname(dirname(gitDir))
  if (`${repository}${sep}`.startsWith(`${await realpath(dir)}${sep}`) || (await gitDirOf({ dir, repository })) !== gitDir) {
    throw new GitError(`${dir}/.git is not the file that git wrote there, so its files stay where they are`)
  }
  return repository
}

/** Checks that `.git` is the file that git wrote. Errors: `WorktreeError` with a command to inspect the files. */
async function checkPointer({ dir }: WorktreeLocation, gitDir: string): Promise<void> {
  if ((await pointerOf(dir)) === gitDir) return
  const kind = await kindOf(join(dir, '.git'))
  const problem = kind === null ? `${dir} has no .git any more` : `${dir}/.git is not the file that git wrote there`
  throw new WorktreeError(
    dir,
    `${problem}, so its files stay where they are: \`git --git-dir=${gitDir} --work-tree=${dir} status\` compares them with its branch`,
  )
}

/** Returns the git directory that the worktree's `.git` names; null if `.git` is not such a file. */
async function pointerOf(dir: string): Promise<string | null> {
  const file = join(dir, '.git')
  const text = (await kindOf(file)) === 'file' ? await textOf(file) : null
  if (!text?.startsWith(POINTER_PREFIX)) return null
  return resolve(dir, text.slice(POINTER_PREFIX.length).trimEnd())
}

/**
 * Creates a git directory with the objects of a repository, and without any configuration that starts a program. It has no index, so
 * it also serves merges of commits.
 */
export async function createInertGitDir(
  git: Git,
  { repository, env, network }: Omit<WorktreeLocation, 'dir'>,
  gitDir = repository,
): Promise<Pick<GitCall, 'env' | 'settings'> & { readonly at: RepositoryPaths }> {
  const call: GitCall = { cwd: gitDir, env: readEnv(env), at: { gitDir, commonDir: repository }, ...(network && { network }) }
  const inertDir = await git.scratch()
  const format = await git.tryLine(['rev-parse', '--show-object-format'], call)
  await mkdir(join(inertDir, 'refs'))
  await mkdir(join(inertDir, 'info'))
  await writeFile(join(inertDir, 'HEAD'), 'ref: refs/heads/none\n')
  await writeFile(
    join(inertDir, 'config'),
    `[core]\n\trepositoryformatversion = 1\n\tbare = false\n${format === 'sha256' ? '[extensions]\n\tobjectformat = sha256\n' : ''}`,
  )
  await writeFile(join(inertDir, 'info', 'exclude'), await userExcludes(git, repository, call))
  for (const file of [...COPIED_FILES.map((name) => join(repository, name)), join(gitDir, SPARSE_FILE)]) {
    const text = await textOf(file)
    if (text !== null) await writeFile(join(inertDir, file.endsWith(SPARSE_FILE) ? SPARSE_FILE : relative(repository, file)), text)
  }
  for (const name of await readdir(gitDir)) if (name.startsWith('sharedindex.')) await symlink(join(gitDir, name), join(inertDir, name))
  const settings = [...(await inertSettings(git, call)), WHOLE_INDEX]
  return { env: envOf({ env }), settings, at: { gitDir: inertDir, objects: join(repository, 'objects') } }
}

async function inertSettings(git: Git, call: GitCall): Promise<readonly string[]> {
  const { stdout } = await git.tryRun(['config', '-z', '--get-regexp', INERT_SETTINGS], call)
  const attributes = await fileNamed(git, 'core.attributesFile', 'attributes', call)
  return [
    ...stdout
      .toString()
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => entry.replace('\n', '=')),
    ...(attributes === null ? [] : [`core.attributesFile=${attributes}`]),
  ]
}

/** Returns the user's ignore rules outside of the worktree: those of this clone, and the global ones. */
export async function userExcludes(git: Git, repository: string, call: GitCall): Promise<string> {
  const files = [await fileNamed(git, 'core.excludesFile', 'ignore', call), join(repository, 'info', 'exclude')]
  const texts = await Promise.all(files.map(async (file) => (file === null ? '' : ((await textOf(file)) ?? ''))))
  return texts.map((text) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)).join('')
}

/** Returns the path of a file that the user's configuration names, or git's default path for it. */
async function fileNamed(git: Git, key: string, name: string, call: GitCall): Promise<string | null> {
  const { env } = call
  const configured = await git.tryLine(['config', '--path', '--get', key], call)
  const config = env['XDG_CONFIG_HOME'] || (env['HOME'] === undefined ? null : join(env['HOME'], '.config'))
  return configured ?? (config === null ? null : join(config, 'git', name))
}

/** Whether a directory belongs to the worktree itself: the path to it has no symbolic link and no other repository. */
export async function isOwnDir({ dir }: Pick<OpenWorktree, 'dir'>, inside: string): Promise<boolean> {
  const top = await realpath(dir)
  // A directory that does not exist is not in the worktree.
  const resolved = await realpath(inside).catch(() => null)
  if (resolved === null || resolved !== join(top, relative(dir, inside))) return false
  for (let at = resolved; at !== top; at = dirname(at)) if ((await kindOf(join(at, '.git'))) !== null) return false
  return true
}

/** Reads a small regular file; null for any other file, or an unreadable one. Never waits for the writer of a FIFO. */
async function textOf(file: string): Promise<string | null> {
  // The caller treats null as a missing file.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null)
  if (handle === null) return null
  try {
    const stat = await handle.stat()
    return stat.isFile() && stat.size <= MAX_TEXT_BYTES ? await handle.readFile('utf8') : null
  } finally {
    await handle.close()
  }
}

async function kindOf(path: string): Promise<'file' | 'other' | null> {
  return lstat(path).then(
    (stat) => (stat.isFile() ? 'file' : 'other'),
    () => null,
  )
}
