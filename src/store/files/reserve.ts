// The reserve is a file that occupies disk space. When the disk is full, a part of the file is released, so that some more
// commits succeed. The first part serves the pauses of all running processes, the other parts serve their ends.
// Test: test/processes/daemon/store-faults.test.ts.
import { randomBytes } from 'node:crypto'
import { appendFile, rm, stat, statfs, truncate } from 'node:fs/promises'
import { join } from 'node:path'

/** 4 MiB: enough for the WAL of several commits of usual size. */
export const RESERVE_BYTES = 4_194_304
/** Each release frees half of the file. A file of at most this size is freed as a whole. */
const MIN_BYTES = 524_288

const fileOf = (dir: string): string => join(dir, 'reserve.bin')

async function sizeOf(file: string): Promise<number> {
  // If the file is missing, nothing is reserved.
  return (await stat(file).catch(() => undefined))?.size ?? 0
}

/** Frees a part of the reserve. Returns false if nothing was left to free. */
export async function releaseReserve(dir: string): Promise<boolean> {
  const file = fileOf(dir)
  const size = await sizeOf(file)
  if (size === 0) return false
  if (size > MIN_BYTES) await truncate(file, Math.floor(size / 2))
  else await rm(file, { force: true })
  return true
}

/**
 * Restores the full reserve. Returns false if the disk has no room. Writes random bytes, because some file systems need no space for
 * zeros.
 */
export async function restoreReserve(dir: string): Promise<boolean> {
  const file = fileOf(dir)
  const size = await sizeOf(file)
  if (size === RESERVE_BYTES) return true
  try {
    const missing = RESERVE_BYTES - size
    // Free space is checked first, because a failing attempt would take the last space from commits for a moment.
    const { bavail, bsize } = await statfs(dir)
    if (bavail * bsize < missing) return false
    await appendFile(file, randomBytes(missing), { mode: 0o600 })
    return true
  } catch {
    if (size === 0) await rm(file, { force: true })
    else await truncate(file, size)
    return false
  }
}
