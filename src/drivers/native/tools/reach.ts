// How far files reach: the one check of a path against the places that a process may read and write. What counts is where a
// thing really is, so links are followed first; and what was opened is asked where it is, as the way may have changed in between.
// Must never judge by two looks at a path: it may be another each time. A second name of a file (a hard link) cannot be told from
// the file. Test: test/tables/native-reach.test.ts.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readlink, realpath, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Dirent, Stats } from 'node:fs'
import path from 'node:path'
import type { CapabilityName } from '../../../kernel/facts.ts'
import { isBelow } from '../../../kernel/permits.ts'
import type { Places } from '../../../kernel/permits.ts'
import { ToolError } from './tool.ts'

/** It asked for what it may not do: also told to the kernel. */
export class RefusedError extends ToolError {
  readonly what: CapabilityName

  constructor(what: CapabilityName, message: string) {
    super(message)
    this.what = what
  }
}

type Way = 'read' | 'write'

/** Throws for a place where it may not be. */
type Check = (place: string) => void

const WORDS: Readonly<Record<Way, string>> = { read: 'read', write: 'written' }

/** Where a path really leads, as far as it is there. Whatever `..` there is was resolved by name. */
export async function realPlace(file: string): Promise<string> {
  const missing: string[] = []
  for (let at = path.resolve(file); ; at = path.dirname(at)) {
    const found = await realpath(at).catch(() => null)
    if (found !== null) return path.join(found, ...missing)
    if (path.dirname(at) === at) return path.resolve(file)
    missing.unshift(path.basename(at))
  }
}

/** The real path. Errors: `RefusedError`. */
export async function checkPlace(file: string, way: Way, places: Places): Promise<string> {
  const roots = places[way]
  const real = await realPlace(file)
  if (roots === undefined || isBelow(roots, real)) return real
  throw refusal(file, way, roots)
}

function refusal(file: string, way: Way, roots: readonly string[]): RefusedError {
  return new RefusedError('paths', `${file} may not be ${WORDS[way]}: ${roots.length === 0 ? 'nothing may' : `only what is below ${roots.join(', ')}`}`)
}

/** Opens what may be read, and nothing else, wherever the way to it leads by then. */
export async function openWithin(file: string, flags: number, places: Places): Promise<FileHandle> {
  const real = await checkPlace(file, 'read', places)
  return openChecked(real, flags, (place) => {
    if (places.read && !isBelow(places.read, place)) throw refusal(file, 'read', places.read)
  })
}

/** The names in a directory that may be read. */
export async function listWithin(dir: string, places: Places): Promise<Dirent[]> {
  const handle = await openWithin(dir, constants.O_DIRECTORY, places)
  try {
    return await readdir(placeOf(handle, dir), { withFileTypes: true })
  } finally {
    await handle.close()
  }
}

/** Writes a file as a whole, with its directories, where that may be. What stood there before stays until the new text is complete. */
export async function writeWithin(file: string, text: string, places: Places): Promise<void> {
  const { write: roots = ['/'] } = places
  const real = await checkPlace(file, 'write', places)
  const dir = await openDirs(path.dirname(real), (place) => {
    if (!isBelow(roots, path.join(place, path.basename(real)))) throw refusal(file, 'write', roots)
  })
  try {
    await writeAt(path.join(placeOf(dir, path.dirname(real)), path.basename(real)), text, file)
  } finally {
    await dir.close()
  }
}

/** `target` leads into a directory that is open. */
async function writeAt(target: string, text: string, file: string): Promise<void> {
  const old = await lstat(target).catch(() => null)
  if (old === null) return writeNew(target, text)
  if (old.isSymbolicLink()) throw new RefusedError('paths', `${file} may not be written: it is a link that leads nowhere`)
  if (!old.isFile()) throw new ToolError(`${file} is not a regular file`)
  // A new file in the place of one of two names is of this name alone; the other may be anywhere.
  if (old.uid !== process.getuid?.() && old.nlink === 1) return writeInto(target, text, old)
  const temporary = path.join(path.dirname(target), `.${path.basename(target).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeNew(temporary, text, old.mode)
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    if (old.nlink > 1 || !isClosed(error)) throw error
    await writeInto(target, text, old)
  }
}

/** The directory may be closed to us although the file is not. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
}

async function writeNew(file: string, text: string, mode = 0o666): Promise<void> {
  await using handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode)
  await handle.writeFile(text)
}

async function writeInto(file: string, text: string, old: Stats): Promise<void> {
  await using handle = await open(file, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  if (!isSame(await handle.stat(), old)) throw new ToolError('it was replaced while it was written')
  await handle.truncate()
  await handle.writeFile(text)
}

/** The directory with those above it made; each is opened in the one before it, so that no link can lead out. */
async function openDirs(real: string, check: Check): Promise<FileHandle> {
  const missing: string[] = []
  let there = real
  while (await lstat(there).then(() => false, () => true)) {
    missing.unshift(path.basename(there))
    there = path.dirname(there)
  }
  let dir = await openChecked(there, constants.O_DIRECTORY, (place) => check(path.join(place, ...missing)))
  for (const name of missing) {
    const next = path.join(placeOf(dir, there), name)
    there = path.join(there, name)
    try {
      await mkdir(next).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      const inner = await open(next, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
      await dir.close()
      dir = inner
    } catch (error) {
      await dir.close()
      throw error
    }
  }
  return dir
}

/** Opens what a path without links names, and checks where that is: after it is open, and by what is open. */
async function openChecked(real: string, flags: number, check: Check): Promise<FileHandle> {
  const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | flags)
  try {
    check(await whereIs(handle, real))
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Where an open file is. Elsewhere than on Linux nobody tells: there it is where the path leads, if that is the same file. */
async function whereIs(handle: FileHandle, real: string): Promise<string> {
  if (process.platform === 'linux') return readlink(`/proc/self/fd/${handle.fd}`)
  const place = await realpath(real)
  if (!isSame(await handle.stat(), await lstat(place))) throw new ToolError('it changed while it was opened')
  return place
}

function isSame(one: Pick<Stats, 'dev' | 'ino'>, other: Pick<Stats, 'dev' | 'ino'>): boolean {
  return one.dev === other.dev && one.ino === other.ino
}

/** A path that leads into this very directory, wherever it is moved; elsewhere than on Linux there is none. */
function placeOf({ fd }: FileHandle, real: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${fd}` : real
}
