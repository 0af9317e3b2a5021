// The reserve: a file that takes up room so that, on a full disk, giving it up lets one more commit through.
// Test: test/processes/store-faults.test.ts.
import { randomBytes } from 'node:crypto'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** 4 MiB: room for the log of one commit of any usual size. */
export const RESERVE_BYTES = 4_194_304

const fileOf = (dir: string): string => join(dir, 'reserve.bin')

/** Gives the room up; false if there is no reserve. */
export async function releaseReserve(dir: string): Promise<boolean> {
  try {
    await rm(fileOf(dir))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Makes the reserve unless it is there; false while there is no room. Random bytes: some file systems store zeros in no room. */
export async function restoreReserve(dir: string): Promise<boolean> {
  const file = fileOf(dir)
  const found = await stat(file).catch(() => undefined)
  if (found?.size === RESERVE_BYTES) return true
  try {
    await writeFile(file, randomBytes(RESERVE_BYTES), { mode: 0o600 })
    return true
  } catch {
    await rm(file, { force: true })
    return false
  }
}
