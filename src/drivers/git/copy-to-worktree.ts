// Copies files such as `.env` from the user's checkout into a new worktree (`copy:`, `.worktreeinclude`), or lists them before that. Copies
// only files that git ignores in that worktree, so that they are never committed. Limits their number and size. No path leads out of either
// directory. Must never overwrite a file, nor change the checkout. Test: test/processes/crew/worktree-setup.test.ts.
import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, readFile, readlink, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { GitError, joinNames, splitNames, readEnv } from './git.ts'
import { openWorktree } from './open-worktree.ts'
import type { Git } from './git.ts'
import type { WorktreeLocation } from './open-worktree.ts'

/** The file with patterns as in `.gitignore`, in the root of the checkout. */
const INCLUDE_FILE = '.worktreeinclude'
const MAX_INCLUDE_BYTES = 100_000
const MAX_FILES = 1_000
const MAX_BYTES = 100 * 1024 * 1024
/** The maximum number of skipped files that are named. */
const MAX_NAMED = 20

export interface CopyRequest {
  /** a directory in the user's checkout */
  readonly from: string
  /** patterns as in `.gitignore` */
  readonly patterns: readonly string[]
}

export interface CopyResult {
  /** the number of copied files */
  readonly copied: number
  /** names of skipped files, each with the reason */
  readonly skipped: readonly string[]
}

/** Copies the matching files. Errors: `GitError`, also if a size limit is exceeded. */
export async function copyFiles(git: Git, to: WorktreeLocation, { from, patterns }: CopyRequest): Promise<CopyResult> {
  const checkout = await checkoutOf(git, to, from)
  const found = await filesToCopy(git, checkout, patterns)
  if (found.length === 0) return { copied: 0, skipped: [] }
  const tree = await openWorktree(git, to)
  const plainPaths = new Set(
    (
      await Promise.all(
        found.map(async (name) =>
          (await hasPlainPath(checkout.top, String(name))) && (await hasPlainPath(to.dir, String(name))) ? [String(name)] : [],
        ),
      )
    ).flat(),
  )
  // Paths behind a link are left out, because git would fail at the first one and not report the other paths.
  const { stdout } = await git.tryRun(['check-ignore', '-z', '--stdin'], {
    ...tree.refs,
    input: joinNames(found.filter((name) => plainPaths.has(String(name)))),
  })
  const ignored = new Set(splitNames(stdout).map(String))
  const roots = { from: await realpath(checkout.top), to: await realpath(to.dir) }
  let [copied, bytes] = [0, 0]
  const skipped: string[] = []
  for (const name of found.map(String)) {
    const skipReason = !plainPaths.has(name)
      ? 'its path contains a link'
      : ignored.has(name)
        ? await copyOne(name, roots, (size) => {
            bytes += size
            if (bytes > MAX_BYTES) throw new GitError(`\`copy\` and ${INCLUDE_FILE} match more than ${MAX_BYTES / 1024 / 1024} MiB`)
          })
        : 'git does not ignore it'
    if (skipReason === null) copied += 1
    else skipped.push(`${name}: ${skipReason}`)
  }
  return {
    copied,
    skipped: [...skipped.slice(0, MAX_NAMED), ...(skipped.length > MAX_NAMED ? [`and ${skipped.length - MAX_NAMED} more`] : [])],
  }
}

/** Lists the files that would be copied, by the ignore rules of the checkout itself. Errors: `GitError`, also for too many files. */
export async function listCopies(
  git: Git,
  env: WorktreeLocation['env'],
  { from, patterns }: CopyRequest,
): Promise<{ readonly files: readonly string[]; readonly skipped: readonly { readonly name: string; readonly why: string }[] }> {
  const checkout = await checkoutOf(git, { env }, from)
  const { top, gitDir } = checkout
  const found = await filesToCopy(git, checkout, patterns)
  const plainPaths = await Promise.all(found.map((name) => hasPlainPath(top, String(name))))
  const { stdout } =
    found.length === 0
      ? { stdout: Buffer.alloc(0) }
      : await git.tryRun(['check-ignore', '-z', '--stdin'], {
          cwd: top,
          env: checkout.env,
          at: { gitDir, workTree: top },
          input: joinNames(found.filter((_, at) => plainPaths[at])),
        })
  const ignored = new Set(splitNames(stdout).map(String))
  const skipped = found
    .map(String)
    .flatMap((name, at) =>
      plainPaths[at] ? (ignored.has(name) ? [] : [{ name, why: 'git does not ignore it' }]) : [{ name, why: 'its path contains a link' }],
    )
  return { files: [...ignored], skipped }
}

/** Returns the untracked files of the checkout that match the patterns. */
async function filesToCopy(git: Git, checkout: Checkout, patterns: readonly string[]): Promise<readonly Buffer[]> {
  const all = [...patterns, ...(await includePatterns(checkout.top))]
  const found = all.length === 0 ? [] : await untrackedMatches(git, checkout, all)
  if (found.length > MAX_FILES)
    throw new GitError(`\`copy\` and ${INCLUDE_FILE} match ${found.length} files; at most ${MAX_FILES} are copied`)
  return found
}

interface Checkout {
  readonly top: string
  readonly gitDir: string
  readonly env: WorktreeLocation['env']
}

async function checkoutOf(git: Git, { env: userEnv }: Pick<WorktreeLocation, 'env'>, from: string): Promise<Checkout> {
  const env = readEnv(userEnv)
  const [top = from, gitDir = ''] = (
    await git.line(['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir'], { cwd: from, env, at: null })
  ).split('\n')
  return { top, gitDir, env }
}

async function includePatterns(from: string): Promise<readonly string[]> {
  const file = join(from, INCLUDE_FILE)
  const size = await lstat(file).then(
    (stat) => (stat.isFile() ? stat.size : null),
    () => null,
  )
  if (size === null) return []
  if (size > MAX_INCLUDE_BYTES) throw new GitError(`${INCLUDE_FILE} is larger than ${MAX_INCLUDE_BYTES} bytes`)
  return (await readFile(file, 'utf8')).split(/\r?\n/)
}

/** Returns the untracked files that match these patterns. */
async function untrackedMatches(git: Git, { top, gitDir, env }: Checkout, patterns: readonly string[]): Promise<readonly Buffer[]> {
  const file = join(await git.scratch(), 'patterns')
  await writeFile(file, `${patterns.join('\n')}\n`)
  return splitNames(
    await git.run(['ls-files', '-z', '-o', '-i', `--exclude-from=${file}`], { cwd: top, env, at: { gitDir, workTree: top } }),
  )
}

/** Copies one file. Returns why it was skipped; null if it was copied or already exists. */
async function copyOne(
  name: string,
  { from, to }: { readonly from: string; readonly to: string },
  countBytes: (bytes: number) => void,
): Promise<string | null> {
  const [source, target] = [join(from, name), join(to, name)]
  // The user gets the reason.
  const stat = await lstat(source).catch(() => null)
  if (stat === null) return 'it does not exist any more'
  await mkdir(dirname(target), { recursive: true })
  // `copyFile` and `symlink` replace nothing, so an error here is no loss.
  if ((await lstat(target).catch(() => null)) !== null) return null
  if (stat.isSymbolicLink()) return copyLink(source, target, from)
  if (!stat.isFile()) return 'it is not a regular file'
  countBytes(stat.size)
  await copyFile(source, target, constants.COPYFILE_EXCL)
  return null
}

/** Whether each directory on the path that exists is a real directory, and not a symbolic link. */
async function hasPlainPath(root: string, name: string): Promise<boolean> {
  const parts = name.split('/').slice(0, -1)
  for (let depth = 1; depth <= parts.length; depth += 1) {
    // A missing directory is created later by `mkdir`.
    const stat = await lstat(join(root, ...parts.slice(0, depth))).catch(() => null)
    if (stat === null) return true
    if (!stat.isDirectory()) return false
  }
  return true
}

async function copyLink(source: string, target: string, from: string): Promise<string | null> {
  const to = await readlink(source)
  // A dangling link is refused, like a link that leads out of the checkout.
  const real = await realpath(source).catch(() => null)
  if (to.startsWith(sep) || real === null || !isWithin(from, real) || !isWithin(from, resolve(dirname(source), to)))
    return 'it is a link to a path outside of the checkout'
  await symlink(to, target)
  return null
}

function isWithin(root: string, path: string): boolean {
  const below = relative(root, path)
  return below !== '..' && !below.startsWith(`..${sep}`) && !below.startsWith(sep)
}
