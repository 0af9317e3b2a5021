// Reads small text files that another user may have written. A file must be regular, not too long, and UTF-8, and it may need a trusted
// owner. A file above the working directory must belong to the user, to root, or to the owner of that directory. Otherwise any user could
// create one in /tmp. Only regular files are read, so that a FIFO cannot block the program. Tests: test/tables/config/config.test.ts,
// test/tables/config/agents/find-agents.test.ts.
import { constants, type Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { KernelError } from '../kernel/model/errors.ts'
import { problemError } from './problem.ts'
import { isMissing } from '../kernel/util/missing-file.ts'

/** maximum size of a configuration, credentials or agent file */
export const MAX_FILE_BYTES = 256 * 1024
/** maximum number of directories that are searched upwards */
const MAX_LEVELS = 64

/** Returns `dir` and the directories above it, nearest first. */
export function ancestorDirectories(dir: string): string[] {
  const all = [resolve(dir)]
  for (let next = dirname(all[0] ?? '/'); next !== all.at(-1) && all.length < MAX_LEVELS; next = dirname(next)) all.push(next)
  return all
}

export interface TextFile {
  readonly text: string
  /** the permission bits of the file */
  readonly mode: number
}

/** Reads a file; null if it does not exist. `trusted`: the user IDs that may own the file; absent: all. Errors: AGENT_INVALID. */
export async function readText(file: string, trusted?: ReadonlySet<number>): Promise<TextFile | null> {
  const fail = (message: string): KernelError => problemError({ file, line: 0, message })
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (isMissing(error)) return null
    throw fail(`it cannot be read (${error.code ?? error.message})`)
  })
  if (handle === null) return null
  try {
    const stats = await handle.stat()
    const reason = refusalReason(stats, trusted)
    if (reason !== null) throw fail(reason)
    return { text: decode(await handle.readFile()), mode: stats.mode & 0o777 }
  } catch (error) {
    throw error instanceof TypeError ? fail('it is not UTF-8 text') : error
  } finally {
    await handle.close()
  }
}

/** Returns the user IDs that may own a file above `cwd`. */
export async function trustedOwners(cwd: string): Promise<ReadonlySet<number>> {
  // A directory that no longer exists adds no owner.
  const owner = await stat(cwd).catch(() => null)
  return new Set([0, userInfo().uid, ...(owner ? [owner.uid] : [])])
}

/** Returns the nearest file of that name in `cwd` or above it; null if there is none. */
export async function nearestFile(cwd: string, name: string): Promise<string | null> {
  for (const dir of ancestorDirectories(cwd)) {
    const file = join(dir, name)
    // A directory that the user cannot search counts as one without the file.
    if (await stat(file).catch(() => null)) return file
  }
  return null
}

function refusalReason(stats: Stats, trusted: ReadonlySet<number> | undefined): string | null {
  if (!stats.isFile()) return 'it is not a regular file'
  if (stats.size > MAX_FILE_BYTES) return `it is longer than ${MAX_FILE_BYTES / 1024} KiB`
  if (trusted && !trusted.has(stats.uid)) return 'it belongs to another user, so it is not used'
  return null
}

function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
