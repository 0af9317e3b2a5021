// Reads the user's settings files of external agents. Reads synchronously, and only regular files of
// limited size. Must never write. Test: test/tables/drivers/gateway/clients.test.ts.
import { closeSync, constants, fstatSync, openSync, readFileSync, readdirSync } from 'node:fs'

/** The largest file that is read, in bytes. Settings files are smaller. */
const MAX_FILE_BYTES = 4 * 1024 * 1024
/** The maximum number of names of one folder that are listed. */
const MAX_NAMES = 1_000

/** Reads a text file. Null if it is missing, unreadable or too large. */
export function readUserFile(path: string): string | null {
  try {
    // Without O_NONBLOCK, opening a pipe would block the daemon.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = fstatSync(fd)
      return stats.isFile() && stats.size <= MAX_FILE_BYTES ? readFileSync(fd, 'utf8') : null
    } finally {
      closeSync(fd)
    }
  } catch {
    // The agent itself reports an unreadable file.
    return null
  }
}

/** The names in a folder; empty if it is missing or unreadable. */
export function listUserDir(path: string): readonly string[] {
  try {
    return readdirSync(path).slice(0, MAX_NAMES)
  } catch {
    // The agent itself reports an unreadable folder.
    return []
  }
}
