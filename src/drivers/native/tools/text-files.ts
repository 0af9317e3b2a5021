// The functions that the file tools share: reading text files, and replacing them in one step where that is possible.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Stats } from 'node:fs'
import path from 'node:path'
import { makeDirs } from '../../common/make-dirs.ts'
import { isAccessError, openWithin, writeWithin } from './path-guard.ts'
import { ToolError } from './tool-error.ts'
import type { PathAccess } from '../../../kernel/model/spec-parts.ts'

/** The number of first bytes that decide whether a file is text or binary. */
const SNIFF_BYTES = 8 * 1024

/**
 * Opens a regular file. Never blocks, even on a FIFO without a writer, or a file in /proc without data. Errors: `ToolError` if it is not
 * a regular file.
 */
export async function openRegularFile(file: string, paths?: PathAccess): Promise<{ handle: FileHandle; size: number }> {
  const handle = paths ? await openWithin(file, 0, paths) : await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const stats = await handle.stat()
  if (stats.isFile()) return { handle, size: stats.size }
  await handle.close()
  throw new ToolError(`${file} is ${stats.isDirectory() ? 'a directory' : 'not a regular file'}`)
}

/** True if the first bytes of a file contain a null byte, so that the file counts as binary. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFF_BYTES).includes(0)
}

/** Reads a whole text file. Errors: `ToolError` for a file over `limitBytes`, and for a binary file. */
export async function readText(file: string, limitBytes: number, paths?: PathAccess): Promise<string> {
  const { handle, size } = await openRegularFile(file, paths)
  try {
    if (size > limitBytes) throw new ToolError(`${file} has ${size} bytes, more than ${limitBytes}`)
    const bytes = await handle.readFile()
    if (isBinary(bytes)) throw new ToolError(`${file} is a binary file of ${size} bytes`)
    return bytes.toString('utf8')
  } finally {
    await handle.close()
  }
}

/**
 * Writes a whole file, and creates missing directories. The old content stays until the new text is complete. A file of another user, with
 * hard links, or in a read-only directory is overwritten in place. With a write permission in `paths`, path-guard.ts writes the file.
 */
export async function writeText(file: string, text: string, paths?: PathAccess): Promise<void> {
  if (paths?.write) return writeWithin(file, text, paths)
  await makeDirs(path.dirname(file))
  // A missing file has no real path yet.
  const target = await realpath(file).catch(() => file)
  // A missing file is created; the write reports any other error.
  const old = await stat(target).catch(() => null)
  if (old !== null && !old.isFile()) throw new ToolError(`${file} is not a regular file`)
  if (old === null || !isReplaceable(old)) return writeFile(target, text)
  const temporary = path.join(path.dirname(target), `.${path.basename(target).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeFile(temporary, text, { mode: old.mode, flag: 'wx' })
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    if (!isAccessError(error)) throw error
    await writeFile(target, text)
  }
}

/** True if a new file may replace this one. For a file of another user or with hard links, that would change the owner or break a link. */
function isReplaceable(stats: Stats): boolean {
  return stats.uid === process.getuid?.() && stats.nlink === 1
}
