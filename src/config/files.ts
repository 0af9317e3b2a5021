// Reads small text files that somebody else may have written: bounded, regular, UTF-8, and of an owner who may be trusted.
// A file above the working directory is used only if it belongs to the user, to root, or to the owner of that directory:
// in /tmp, anybody could have put one there. Never follows what is not a regular file, so that a FIFO cannot hang it.
// Tests: test/tables/config.test.ts, test/tables/config-agents.test.ts.
import { constants, type Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { KernelError } from '../kernel/errors.ts'

/** The longest configuration, credentials or agent file. */
export const MAX_FILE_BYTES = 256 * 1024
/** How many directories are searched upwards. */
const MAX_LEVELS = 64

/** What is wrong with a file, and where; line 0 is the file as a whole. */
export interface Problem {
  readonly file: string
  readonly line: number
  readonly message: string
}

export function problemError(problem: Problem): KernelError {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}` : problem.file
  return new KernelError('AGENT_INVALID', `${place}: ${problem.message}`, { ...problem })
}

/** The problem that was thrown with `problemError`; what else was thrown goes on. */
export function problemIn(error: unknown): Problem {
  const { file, line, message } = (error instanceof KernelError ? error.details : undefined) ?? {}
  if (typeof file !== 'string' || typeof line !== 'number' || typeof message !== 'string') throw error
  return { file, line, message }
}

/** `dir` and the directories above it, nearest first. */
export function ancestors(dir: string): string[] {
  const all = [resolve(dir)]
  for (let next = dirname(all[0] ?? '/'); next !== all.at(-1) && all.length < MAX_LEVELS; next = dirname(next)) all.push(next)
  return all
}

export interface TextFile {
  readonly text: string
  readonly mode: number
}

/** The file's text, or null if there is none. `trusted` are the user IDs that may own it; absent is anybody. Throws AGENT_INVALID. */
export async function readText(file: string, trusted?: ReadonlySet<number>): Promise<TextFile | null> {
  const fail = (message: string): KernelError => problemError({ file, line: 0, message })
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw fail(`it cannot be read (${error.code ?? error.message})`)
  })
  if (handle === null) return null
  try {
    const stats = await handle.stat()
    const reason = refusal(stats, trusted)
    if (reason !== null) throw fail(reason)
    return { text: decode(await handle.readFile()), mode: stats.mode & 0o777 }
  } catch (error) {
    throw error instanceof TypeError ? fail('it is not UTF-8 text') : error
  } finally {
    await handle.close()
  }
}

/** Who may own a file that is found above `cwd`. */
export async function trustedOwners(cwd: string): Promise<ReadonlySet<number>> {
  const owner = await stat(cwd).catch(() => null)
  return new Set([0, userInfo().uid, ...(owner ? [owner.uid] : [])])
}

/** The first of `dir/name` upwards from `cwd` that is there. */
export async function nearest(cwd: string, name: string): Promise<string | null> {
  for (const dir of ancestors(cwd)) {
    const file = join(dir, name)
    if (await stat(file).catch(() => null)) return file
  }
  return null
}

function refusal(stats: Stats, trusted: ReadonlySet<number> | undefined): string | null {
  if (!stats.isFile()) return 'it is not a regular file'
  if (stats.size > MAX_FILE_BYTES) return `it is longer than ${MAX_FILE_BYTES / 1024} KiB`
  if (trusted && !trusted.has(stats.uid)) return 'it belongs to another user, so it is not used'
  return null
}

function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
