// Checks paths against the paths that a process may read and write, for all file tools and external agents. The real path counts, after
// all links are followed. The real path of an opened file is checked again, because the path may have changed in between. Must
// never decide by two separate lookups of a path, which may find different files. A hard link cannot be distinguished from its
// file.
// Test: test/tables/drivers/native/tools/path-guard.test.ts.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readlink, realpath, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Dirent, Stats } from 'node:fs'
import path from 'node:path'
import { isBelow, isWritable } from '../../../kernel/state/permissions.ts'
import { RefusedError, ToolError } from './tool-error.ts'
import type { PathAccess } from '../../../kernel/model/spec-parts.ts'

/** The path is below none of the allowed paths. */
export class OutsidePathsError extends RefusedError {}

type Access = 'read' | 'write'

/** Checks a real path. Throws if the process must not access it. */
type PathCheck = (realPath: string) => void

/** The words for error messages such as `may not be read`. */
const PARTICIPLES: Readonly<Record<Access, string>> = { read: 'read', write: 'written' }

/** The real path of a file. The part of the path that does not exist yet stays unchanged. `..` is resolved before links are followed. */
export async function resolveRealPath(file: string): Promise<string> {
  const missing: string[] = []
  for (let at = path.resolve(file); ; at = path.dirname(at)) {
    // If this path does not exist, the loop continues with its parent directory.
    const existing = await realpath(at).catch(() => null)
    if (existing !== null) return path.join(existing, ...missing)
    if (path.dirname(at) === at) return path.resolve(file)
    missing.unshift(path.basename(at))
  }
}

/** Returns the real path of a file that the process may access. Errors: `RefusedError`. */
export async function checkPath(file: string, access: Access, paths: PathAccess): Promise<string> {
  const roots = paths[access]
  const real = await resolveRealPath(file)
  if (roots === undefined) return real
  if (!isBelow(roots, real)) throw accessRefusal(file, access, roots)
  if (access === 'write' && (!isWritable(roots, real) || (await isInGitDir(roots, real)))) throw gitRefusal(file)
  return real
}

function gitRefusal(file: string): RefusedError {
  return new RefusedError('paths', `${file} may not be written: it belongs to git's own files, which only an explicitly named path allows`)
}

/** True if the path is in a directory below an allowed path that git would use as a repository, whatever its name. */
async function isInGitDir(roots: readonly string[], real: string): Promise<boolean> {
  const nearestRoot = roots.filter((root) => isWritable([root], real)).toSorted((a, b) => b.length - a.length)[0] ?? '/'
  for (let dir = path.dirname(real); dir.length > nearestRoot.length; dir = path.dirname(dir)) {
    const parts = await Promise.all(
      ['HEAD', 'objects', 'refs'].map((name) =>
        lstat(path.join(dir, name)).then(
          () => true,
          () => false,
        ),
      ),
    )
    if (!parts.includes(false)) return true
  }
  return false
}

function accessRefusal(file: string, access: Access, roots: readonly string[]): OutsidePathsError {
  return new OutsidePathsError(
    'paths',
    `${file} may not be ${PARTICIPLES[access]}: ${roots.length === 0 ? `no path may be ${PARTICIPLES[access]}` : `only what is below ${roots.join(', ')}`}`,
  )
}

/** Opens a file only if the process may read it, even if the path changes meanwhile. */
export async function openWithin(file: string, flags: number, paths: PathAccess): Promise<FileHandle> {
  const real = await checkPath(file, 'read', paths)
  return openChecked(real, flags, (realPath) => {
    if (paths.read && !isBelow(paths.read, realPath)) throw accessRefusal(file, 'read', paths.read)
  })
}

/** Lists a directory if the process may read it. */
export async function listWithin(dir: string, paths: PathAccess): Promise<Dirent[]> {
  const handle = await openWithin(dir, constants.O_DIRECTORY, paths)
  try {
    return await readdir(handlePath(handle, dir), { withFileTypes: true })
  } finally {
    await handle.close()
  }
}

/**
 * Writes a whole file if the process may write it, and creates missing directories. The old content stays until the new text is complete.
 * A file of another user, or in a read-only directory, is overwritten in place.
 */
export async function writeWithin(file: string, text: string, paths: PathAccess): Promise<void> {
  const { write: roots = ['/'] } = paths
  const real = await checkPath(file, 'write', paths)
  const dir = await openDirs(path.dirname(real), (realPath) => {
    const target = path.join(realPath, path.basename(real))
    if (!isBelow(roots, target)) throw accessRefusal(file, 'write', roots)
    if (!isWritable(roots, target)) throw gitRefusal(file)
  })
  try {
    await writeAt(path.join(handlePath(dir, path.dirname(real)), path.basename(real)), text, file)
  } finally {
    await dir.close()
  }
}

/** Writes the file `target`, a path through the handle of its open directory. `file` is the path for error messages. */
async function writeAt(target: string, text: string, file: string): Promise<void> {
  // If `lstat` fails, the write creates the file, or reports the error.
  const old = await lstat(target).catch(() => null)
  if (old === null) return writeNew(target, text)
  if (old.isSymbolicLink()) throw new RefusedError('paths', `${file} may not be written: it is a link that leads nowhere`)
  if (!old.isFile()) throw new ToolError(`${file} is not a regular file`)
  // A file with hard links is replaced only under this name: another link may be outside of the allowed paths.
  if (old.uid !== process.getuid?.() && old.nlink === 1) return writeInto(target, text, old)
  const temporary = path.join(path.dirname(target), `.${path.basename(target).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeNew(temporary, text, old.mode)
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    if (old.nlink > 1 || !isAccessError(error)) throw error
    await writeInto(target, text, old)
  }
}

/** True for a missing permission. The directory may be read-only although the file is writable. */
export function isAccessError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
}

async function writeNew(file: string, text: string, mode = 0o666): Promise<void> {
  await using handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode)
  await handle.writeFile(text)
}

/** Replaces the content of an existing file. Errors: `ToolError` if the path has become another file. */
async function writeInto(file: string, text: string, old: Stats): Promise<void> {
  await using handle = await open(file, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  if (!isSame(await handle.stat(), old)) throw new ToolError('the file was replaced while it was written')
  await handle.truncate()
  await handle.writeFile(text)
}

/**
 * Opens a directory, and creates it and its parents if they are missing. Each is opened through its parent's handle, so that no link can
 * lead out of the allowed paths.
 */
async function openDirs(real: string, check: PathCheck): Promise<FileHandle> {
  const missing: string[] = []
  let existing = real
  while (
    await lstat(existing).then(
      () => false,
      () => true,
    )
  ) {
    missing.unshift(path.basename(existing))
    existing = path.dirname(existing)
  }
  let dir = await openChecked(existing, constants.O_DIRECTORY, (realPath) => check(path.join(realPath, ...missing)))
  for (const name of missing) {
    const next = path.join(handlePath(dir, existing), name)
    existing = path.join(existing, name)
    try {
      await mkdir(next).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      const nextDir = await open(next, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
      await dir.close()
      dir = nextDir
    } catch (error) {
      await dir.close()
      throw error
    }
  }
  return dir
}

/** Opens a path without following links, and checks the real path of the opened file. */
async function openChecked(real: string, flags: number, check: PathCheck): Promise<FileHandle> {
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | flags)
  try {
    check(await realPathOf(handle, real))
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The real path of an open file. Only Linux reports it. Elsewhere this is the real path of `real`, if that is still the same file. */
async function realPathOf(handle: FileHandle, real: string): Promise<string> {
  if (process.platform === 'linux') return readlink(`/proc/self/fd/${handle.fd}`)
  const current = await realpath(real)
  if (!isSame(await handle.stat(), await lstat(current))) throw new ToolError('the file changed while it was opened')
  return current
}

function isSame(a: Pick<Stats, 'dev' | 'ino'>, b: Pick<Stats, 'dev' | 'ino'>): boolean {
  return a.dev === b.dev && a.ino === b.ino
}

/** On Linux, a path to this open directory that stays valid when the directory is moved. Elsewhere, the directory's path. */
function handlePath({ fd }: FileHandle, real: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${fd}` : real
}
