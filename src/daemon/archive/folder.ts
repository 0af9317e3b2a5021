// A directory that is there as a whole or not at all: its files are written beside its place, brought to disk, and it takes
// its name in one step. What a crash left beside it is cleared away by the next one of the same name.
// Must never write over what is there. Tests: test/e2e/archive.test.ts, test/tables/archive-folder.test.ts.
import { mkdir, open, realpath, rename, rm, rmdir, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeDirs } from '../../drivers/make-dirs.ts'
import { KernelError } from '../../kernel/errors.ts'

/** Bytes that are gathered before they are written. */
const CHUNK_BYTES = 262_144

/** A file that is written from its beginning to its end. */
export class Writing {
  readonly #handle: FileHandle
  #chunks: Buffer[] = []
  #waiting = 0
  bytes = 0

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  async text(text: string): Promise<void> {
    const chunk = Buffer.from(text)
    this.#chunks.push(chunk)
    this.#waiting += chunk.length
    this.bytes += chunk.length
    if (this.#waiting >= CHUNK_BYTES) await this.#flush()
  }

  async line(text: string): Promise<void> {
    await this.text(`${text}\n`)
  }

  async close(): Promise<void> {
    try {
      await this.#flush()
      await this.#handle.sync()
    } finally {
      await this.#handle.close()
    }
  }

  async #flush(): Promise<void> {
    const [chunks, length] = [this.#chunks, this.#waiting]
    this.#chunks = []
    this.#waiting = 0
    if (length > 0) await this.#handle.writeFile(chunks.length === 1 ? chunks[0] ?? '' : Buffer.concat(chunks, length))
  }
}

type Fill = (file: (name: string) => Promise<Writing>) => Promise<void>

/** What is being written now: a second writer would clear away the first one's. */
const busy = new Set<string>()

/** `dir` is made with what `fill` writes into it; gives how many bytes that was. Errors: `CONFLICT` if something is there. */
export async function makeFolder(named: string, fill: Fill): Promise<number> {
  const parent = dirname(named)
  await withWords(makeDirs(parent))
  // Two names of one place are one place.
  const dir = join(await withWords(realpath(parent)), basename(named))
  if (busy.has(dir)) throw new KernelError('CONFLICT', `${dir} is being written already`, { dir }, 'Wait until that is done.')
  busy.add(dir)
  try {
    return await make(dir, fill)
  } finally {
    busy.delete(dir)
  }
}

async function make(dir: string, fill: Fill): Promise<number> {
  const parent = dirname(dir)
  const beside = join(parent, `.${basename(dir)}.tmp`)
  if (await isThere(dir)) throw new KernelError('CONFLICT', `${dir} is there already`, { dir }, 'Choose another directory, or remove that one.')
  await withWords(rm(beside, { recursive: true, force: true }))
  await withWords(mkdir(beside, { mode: 0o700 }))
  const files: Writing[] = []
  try {
    await fill(async (name) => {
      const file = new Writing(await open(join(beside, name), 'wx', 0o600))
      files.push(file)
      return file
    })
    await syncFolder(beside)
    await place(beside, dir)
    await syncFolder(parent)
    return files.reduce((sum, { bytes }) => sum + bytes, 0)
  } catch (error) {
    await rm(beside, { recursive: true, force: true })
    throw asKernelError(error)
  }
}

/** A rename onto a directory succeeds where that is empty: who made it meanwhile would lose nothing, and the rule holds. */
async function place(beside: string, dir: string): Promise<void> {
  try {
    await rename(beside, dir)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') throw new KernelError('CONFLICT', `${dir} is there already`, { dir })
    throw error
  }
}

async function isThere(dir: string): Promise<boolean> {
  try {
    // An empty directory is as good as none.
    await rmdir(dir)
    return false
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code !== 'ENOENT'
  }
}

async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function withWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw asKernelError(error)
  }
}

/** What the operating system says of a directory of a person is told to that person. */
function asKernelError(error: unknown): unknown {
  const { code, syscall, path } = error as NodeJS.ErrnoException
  if (error instanceof KernelError || syscall === undefined) return error
  if (code === 'ENOSPC' || code === 'EDQUOT') return new KernelError('DISK_FULL', `there is no room in ${path ?? 'the directory'}`, {}, 'Free some space, or choose another directory.')
  return new KernelError('INVALID', `${path ?? 'the directory'} cannot be written (${code})`, {}, 'Choose a directory that is yours and writable.')
}
