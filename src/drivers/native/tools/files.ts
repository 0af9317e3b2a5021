// What the file tools share: paths, text files, and a write that never leaves half a file behind.
// Test: test/tables/native-tools.test.ts.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Stats } from 'node:fs'
import path from 'node:path'
import type { Places } from '../../../kernel/permits.ts'
import { makeDirs } from '../../make-dirs.ts'
import { openWithin, writeWithin } from './reach.ts'
import { ToolError } from './tool.ts'

/** Bytes at the beginning of a file that are looked at to tell text from binary. */
const SNIFF_BYTES = 8 * 1024

/** Opens a regular file. Never waits: for the writer of a FIFO, or in one of /proc that has nothing to say just now. */
export async function openText(file: string, places?: Places): Promise<{ handle: FileHandle; size: number }> {
  const handle = places ? await openWithin(file, 0, places) : await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const stats = await handle.stat()
  if (stats.isFile()) return { handle, size: stats.size }
  await handle.close()
  throw new ToolError(`${file} is ${stats.isDirectory() ? 'a directory' : 'not a regular file'}`)
}

export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFF_BYTES).includes(0)
}

/** Reads a whole text file of at most `limitBytes`. */
export async function readText(file: string, limitBytes: number, places?: Places): Promise<string> {
  const { handle, size } = await openText(file, places)
  try {
    if (size > limitBytes) throw new ToolError(`${file} has ${size} bytes, more than ${limitBytes}`)
    const bytes = await handle.readFile()
    if (isBinary(bytes)) throw new ToolError(`${file} is a binary file of ${size} bytes`)
    return bytes.toString('utf8')
  } finally {
    await handle.close()
  }
}

/** Writes a file as a whole, with its directories. What stood there before stays until the new text is complete. */
export async function writeText(file: string, text: string, places?: Places): Promise<void> {
  if (places?.write) return writeWithin(file, text, places)
  await makeDirs(path.dirname(file))
  const target = await realpath(file).catch(() => file)
  const old = await stat(target).catch(() => null)
  if (old !== null && !old.isFile()) throw new ToolError(`${file} is not a regular file`)
  if (old === null || !isOurs(old)) return writeFile(target, text)
  const temporary = path.join(path.dirname(target), `.${path.basename(target).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeFile(temporary, text, { mode: old.mode, flag: 'wx' })
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    if (!isRefused(error)) throw error
    await writeFile(target, text)
  }
}

/** A new file in its place would change the owner, or break a hard link. */
function isOurs(stats: Stats): boolean {
  return stats.uid === process.getuid?.() && stats.nlink === 1
}

/** The directory may be closed to us although the file is not. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
}
