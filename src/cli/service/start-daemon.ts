// Starts the daemon in the background or through its systemd unit, and waits until it answers. Concurrent starts are safe: only one of
// the daemons gets the lock, and all callers wait for that daemon. The error of a failed start must contain the end of the log. Test:
// test/e2e/cli/daemon.test.ts.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '../../api/client/api-error.ts'
import { Client } from '../../api/client/client.ts'
import { readHolder, isStopped } from '../../api/client/daemon-holder.ts'
import { describeHang } from '../../api/client/hung-daemon.ts'
import { clientSocket, pathsFrom, prepareState, unitFile, type Env, type Paths } from '../../config/paths.ts'
import { ERRORS } from '../../kernel/model/errors.ts'
import { DaemonLog, readableLine } from './daemon-log.ts'
import { packageRoot } from './package-root.ts'

/** the time limit for the first answer */
const START_MS = 20_000
/** the time limit for loading the daemon's code */
const LOAD_MS = 20_000
const POLL_MS = 20
/** the delay before the next attempt while another daemon has the lock */
const RETRY_MS = 300
/** the number of log lines in an error */
const SHOWN_LINES = 5

/**
 * Starts the daemon of this environment, and resolves when it answers. `options`: options of the daemon, which prevent a start through
 * the systemd unit. Errors: `UNAVAILABLE` with the last lines of the log; `HANGS` if a hanging daemon has the lock.
 */
export async function startDaemon(env: Env = process.env, options: readonly string[] = []): Promise<void> {
  const where = pathsFrom(env)
  const deadline = performance.now() + START_MS
  if (options.length === 0 && (await tryStartUnit(where, env))) return waitForUnit(where, deadline)
  // Skips the existing lines, which are from earlier starts.
  const log = new DaemonLog(where.logFile)
  log.readNewLines()
  let child = spawnDaemon(where, env, options)
  while (!(await isAnswering(where))) {
    if (performance.now() > deadline) throw timeoutError(where, log)
    if (!hasEnded(child)) await delay(POLL_MS)
    else if (child.exitCode !== ERRORS.STORE_LOCKED.exit)
      throw startError(`it ended with ${child.signalCode ?? `code ${child.exitCode}`}`, where, log)
    else {
      // Another daemon has the lock, and will soon answer or end.
      await delay(RETRY_MS)
      if (!(await isAnswering(where))) child = spawnDaemon(where, env, options)
    }
  }
  await waitUntilSettled(child, where, deadline)
}

/**
 * Starts the daemon through its systemd unit, which delegates a cgroup. Returns false if no unit is installed for this home, or on failure.
 */
async function tryStartUnit(where: Paths, env: Env): Promise<boolean> {
  const file = unitFile(env)
  if (!existsSync(file)) return false
  const [{ homeOfUnit }, { startUnit }] = await Promise.all([import('./unit.ts'), import('./user-manager.ts')])
  return homeOfUnit(readFileSync(file, 'utf8')) === where.home && startUnit()
}

async function waitForUnit(where: Paths, deadline: number): Promise<void> {
  while (!(await isAnswering(where))) {
    if (performance.now() > deadline)
      throw startError(
        `its systemd unit did not answer after ${START_MS / 1000} s; see \`journalctl --user -u reeve\``,
        where,
        new DaemonLog(where.logFile),
      )
    await delay(POLL_MS)
  }
}

/** Waits until the started daemon answers, or ends because another one has the lock. If it stayed, it might take that lock later. */
async function waitUntilSettled(child: ChildProcess, where: Paths, deadline: number): Promise<void> {
  while (!hasEnded(child) && performance.now() < deadline) {
    if ((await runningPid(where)) === child.pid) return
    await delay(POLL_MS)
  }
}

/** Returns the path of the daemon's script: the bundle, or the source file if this program runs from its sources. */
export function daemonScript(): string {
  const root = packageRoot()
  const isSource = import.meta.dirname.startsWith(join(root, 'src'))
  return isSource ? join(root, 'src/daemon/main.ts') : join(root, 'dist/daemon.js')
}

/** Loads the daemon's code in a separate program, which then ends. Returns the version of the tables that it knows, or its error. */
export function tryDaemonCode(): { readonly schema: number } | { readonly error: string } {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [daemonScript(), '--check'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LOAD_MS,
  })
  if (error || status !== 0) return { error: error?.message ?? errorLine(stderr) }
  return JSON.parse(stdout) as { schema: number }
}

/** Finds the line of the error in the output of Node. The stack and the version of Node follow that line. */
function errorLine(text: string): string {
  const lines = text.trim().split('\n')
  return lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1) ?? ''
}

function spawnDaemon(where: Paths, env: Env, options: readonly string[]): ChildProcess {
  try {
    prepareState(where)
  } catch (error) {
    throw new ApiError('UNAVAILABLE', `the daemon cannot be started: ${(error as Error).message}`, {
      hint: 'Its state directory must be yours and writable; REEVE_HOME selects another one.',
    })
  }
  const log = openSync(where.logFile, 'a', 0o600)
  try {
    // Without the marker of a process: a daemon with the marker would be ended together with that process.
    const { REEVE_PROC: _, ...daemonEnv } = env
    const child = spawn(process.execPath, [daemonScript(), ...options], {
      cwd: '/',
      detached: true,
      env: daemonEnv,
      stdio: ['ignore', log, log],
    })
    child.on('error', () => {}) // an error also sets `exitCode`, which the caller checks
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

async function isAnswering(where: Paths): Promise<boolean> {
  return (await runningPid(where)) !== null
}

/** Returns the OS pid of the running daemon; null if no daemon answers. */
async function runningPid(where: Paths): Promise<number | null> {
  try {
    const { pid } = await new Client({ socketPath: () => clientSocket(where) }).get<{ pid: number }>('/v1/daemon')
    return pid
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAVAILABLE') return null
    throw error
  }
}

/** Returns the error after the time limit. Another daemon may have the lock without listening. */
function timeoutError(where: Paths, log: DaemonLog): ApiError {
  const holder = readHolder(where.holderFile)
  if (!holder || !isStopped(holder))
    return startError(`no answer after ${START_MS / 1000} s${holder ? ` (PID ${holder.pid} has the lock)` : ''}`, where, log)
  const { message, hint } = describeHang(holder)
  return new ApiError('HANGS', message, { hint })
}

function startError(why: string, where: Paths, log: DaemonLog): ApiError {
  const lines = log.readNewLines().slice(-SHOWN_LINES).map(readableLine)
  const shown = lines.length === 0 ? '' : `\n${lines.map((line) => `  ${line}`).join('\n')}`
  return new ApiError('UNAVAILABLE', `the daemon could not be started: ${why}${shown}`, { hint: `The whole log: ${where.logFile}` })
}
