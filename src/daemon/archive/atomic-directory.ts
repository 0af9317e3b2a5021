// Creates a directory with files, completely or not at all. The files are written to a temporary directory, which is then renamed.
// A crash may leave the temporary directory; the next attempt with the same name removes it.
// Must never overwrite a file or a directory that is not empty. Tests: test/e2e/daemon/archive.test.ts,
// test/tables/daemon/archive/atomic-directory.test.ts.
import { mkdir, open, realpath, rename, rm, rmdir, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeDirs } from '../../drivers/common/make-dirs.ts'
import { KernelError } from '../../kernel/model/errors.ts'

/** The number of bytes that are buffered before they are written. */
const CHUNK_BYTES = 262_144

/** Writes a file from start to end, with a buffer. */
export class FileWriter {
  readonly #handle: FileHandle
  #chunks: Buffer[] = []
  #bufferedBytes = 0
  /** the number of bytes so far, buffered ones included */
  bytes = 0

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  async write(text: string): Promise<void> {
    const chunk = Buffer.from(text)
    this.#chunks.push(chunk)
    this.#bufferedBytes += chunk.length
    this.bytes += chunk.length
    if (this.#bufferedBytes >= CHUNK_BYTES) await this.#flush()
  }

  async writeLine(text: string): Promise<void> {
    await this.write(`${text}\n`)
  }

  /** Writes the rest, syncs the file to disk and closes it. */
  async close(): Promise<void> {
    try {
      await this.#flush()
      await this.#handle.sync()
    } finally {
      await this.#handle.close()
    }
  }

  async #flush(): Promise<void> {
    const [chunks, length] = [this.#chunks, this.#bufferedBytes]
    this.#chunks = []
    this.#bufferedBytes = 0
    if (length > 0) await this.#handle.writeFile(chunks.length === 1 ? (chunks[0] ?? '') : Buffer.concat(chunks, length))
  }
}

/** Writes the files of a directory; `createFile` creates one. */
type WriteFiles = (createFile: (name: string) => Promise<FileWriter>) => Promise<void>

/** The directories that are being written: a second writer would delete the temporary files of the first one. */
const directoriesInProgress = new Set<string>()

/**
 * Creates a directory with the files that `writeFiles` writes. Returns their size in bytes. Errors: `CONFLICT` if the path exists;
 * `DISK_FULL`; `INVALID` if it cannot be written.
 */
export async function createDirectory(path: string, writeFiles: WriteFiles): Promise<number> {
  const parent = dirname(path)
  await withKernelErrors(makeDirs(parent))
  // The real path is the key, because a directory may be reached by several paths.
  const dir = join(await withKernelErrors(realpath(parent)), basename(path))
  if (directoriesInProgress.has(dir))
    throw new KernelError('CONFLICT', `${dir} is already being written`, { dir }, 'Wait until that is done.')
  directoriesInProgress.add(dir)
  try {
    return await createAtomically(dir, writeFiles)
  } finally {
    directoriesInProgress.delete(dir)
  }
}

async function createAtomically(dir: string, writeFiles: WriteFiles): Promise<number> {
  const parent = dirname(dir)
  const temporaryDir = join(parent, `.${basename(dir)}.tmp`)
  if (!(await removeEmptyDirectory(dir)))
    throw new KernelError('CONFLICT', `${dir} already exists`, { dir }, 'Choose another directory, or remove that one.')
  await withKernelErrors(rm(temporaryDir, { recursive: true, force: true }))
  await withKernelErrors(mkdir(temporaryDir, { mode: 0o700 }))
  const files: FileWriter[] = []
  try {
    await writeFiles(async (name) => {
      const file = new FileWriter(await open(join(temporaryDir, name), 'wx', 0o600))
      files.push(file)
      return file
    })
    await syncDirectory(temporaryDir)
    await moveIntoPlace(temporaryDir, dir)
    await syncDirectory(parent)
    return files.reduce((sum, { bytes }) => sum + bytes, 0)
  } catch (error) {
    await rm(temporaryDir, { recursive: true, force: true })
    throw asKernelError(error)
  }
}

/** Renames the temporary directory. The target may be an empty directory, which is replaced. Errors: CONFLICT. */
async function moveIntoPlace(temporaryDir: string, dir: string): Promise<void> {
  try {
    await rename(temporaryDir, dir)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') throw new KernelError('CONFLICT', `${dir} already exists`, { dir })
    throw error
  }
}

/** Removes a directory if it is empty. Returns true if nothing exists at the path afterwards. */
async function removeEmptyDirectory(dir: string): Promise<boolean> {
  try {
    await rmdir(dir)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT'
  }
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function withKernelErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw asKernelError(error)
  }
}

/** Turns an error of the operating system into a KernelError with a hint for the user. Returns any other error unchanged. */
function asKernelError(error: unknown): unknown {
  const { code, syscall, path } = error as NodeJS.ErrnoException
  if (error instanceof KernelError || syscall === undefined) return error
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new KernelError(
      'DISK_FULL',
      `there is no room in ${path ?? 'the directory'}`,
      {},
      'Free some space, or choose another directory.',
    )
  return new KernelError(
    'INVALID',
    `${path ?? 'the directory'} cannot be written (${code})`,
    {},
    'Choose a directory that is yours and writable.',
  )
}
