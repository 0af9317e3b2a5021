// Finds and runs system tools, mostly of util-linux, with which programs enter namespaces. Never uses the PATH of a contained program.
// Tests: test/processes/contain/pidns.test.ts, test/processes/contain/offline.test.ts.
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { truncate } from '../../../kernel/util/truncate.ts'

/** The time limit of a tool, in ms. */
const TOOL_MS = 5_000
const MAX_STDERR_CHARS = 500
/** Directories of system programs that may be missing from the daemon's PATH. */
const SYSTEM_DIRS = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin']

/** Whether a new user namespace is needed. Root needs none, and without one `sudo` and the like still work inside. */
export const NEEDS_USER_NAMESPACE = process.geteuid?.() !== 0

/** Returns a tool's absolute path. Errors: an `Error` that names the missing tool. */
export function findTool(name: string): string {
  const dirs = [...(process.env['PATH'] ?? '').split(':').filter((dir) => dir.startsWith('/')), ...SYSTEM_DIRS]
  const found = dirs.map((dir) => join(dir, name)).find(isRunnable)
  if (found === undefined) throw new Error(`there is no ${name}: util-linux 2.38 or newer is needed`)
  return found
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // The search continues in the next directory.
    return false
  }
}

/** Runs a tool to its end. Errors: an `Error` with the tool's stderr. */
export async function runTool([program, ...args]: readonly [string, ...string[]]): Promise<void> {
  const child = spawn(program, args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: TOOL_MS,
    killSignal: 'SIGKILL',
  })
  const stderr: string[] = []
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk.toString())
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(truncate(stderr.join('').trim(), MAX_STDERR_CHARS) || `${program} failed without a message`)
}
