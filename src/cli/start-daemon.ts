// Starts the daemon in the background, or its systemd unit, and waits until it answers. Spawns, as user-manager.ts does.
// Two starts at once do no harm: the daemon lets only one live, and the loser's caller just waits for the winner.
// Must never leave a failure unexplained: the end of the daemon's log goes into the error. Test: test/e2e/cli-daemon.test.ts.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, Client } from '../api/client.ts'
import { clientSocket, paths, prepareState, unitFile, type Env, type Paths } from '../config/paths.ts'
import { ERRORS } from '../kernel/errors.ts'
import { LogFile, readable } from './log-file.ts'

/** How long a daemon may take until it answers. */
const START_MS = 20_000
const ASK_EVERY_MS = 20
/** Until the next try when another daemon has the lock. */
const AGAIN_MS = 300
/** How much of the log's end an error shows. */
const SHOWN_LINES = 5
/** How far above this file the package's root may be. */
const MAX_PARENTS = 6

/** Resolves when the daemon of this environment answers. Errors: `UNAVAILABLE` with the last lines of its log. */
export async function startDaemon(env: Env = process.env): Promise<void> {
  const where = paths(env)
  const deadline = performance.now() + START_MS
  if (await startedByUnit(where, env)) return answered(where, deadline)
  // What is there already tells of other starts.
  const log = new LogFile(where.logFile)
  log.next()
  let child = spawnDaemon(where, env)
  while (!(await answers(where))) {
    if (performance.now() > deadline) throw failed(`no answer after ${START_MS / 1000} s`, where, log)
    if (!hasEnded(child)) await delay(ASK_EVERY_MS)
    else if (child.exitCode !== ERRORS.STORE_LOCKED.exit) throw failed(`it ended with ${child.signalCode ?? `code ${child.exitCode}`}`, where, log)
    else {
      // Another one has the lock: it is about to answer, or about to end.
      await delay(AGAIN_MS)
      if (!(await answers(where))) child = spawnDaemon(where, env)
    }
  }
  await lost(child, where, deadline)
}

/** Whose daemon is a unit of systemd's has it started there: elsewhere it would have no delegated cgroup. False if that cannot be done. */
async function startedByUnit(where: Paths, env: Env): Promise<boolean> {
  const file = unitFile(env)
  if (!existsSync(file)) return false
  const [{ homeOf }, { startUnit }] = await Promise.all([import('./unit.ts'), import('./user-manager.ts')])
  return homeOf(readFileSync(file, 'utf8')) === where.home && startUnit()
}

async function answered(where: Paths, deadline: number): Promise<void> {
  while (!(await answers(where))) {
    if (performance.now() > deadline) throw failed(`its systemd unit gave no answer after ${START_MS / 1000} s; see \`journalctl --user -u reeve\``, where, new LogFile(where.logFile))
    await delay(ASK_EVERY_MS)
  }
}

/** Where another one answers, ours is about to find the lock taken: left alone it could take over when that one is stopped. */
async function lost(child: ChildProcess, where: Paths, deadline: number): Promise<void> {
  while (!hasEnded(child) && performance.now() < deadline) {
    if ((await runningPid(where)) === child.pid) return
    await delay(ASK_EVERY_MS)
  }
}

/** The daemon's own script: from the bundle, or from the sources when this file is one of them. */
export function daemonScript(): string {
  const root = packageRoot()
  const isSource = import.meta.dirname.startsWith(join(root, 'src'))
  return isSource ? join(root, 'src/daemon/main.ts') : join(root, 'dist/daemon.js')
}

function packageRoot(): string {
  let dir = import.meta.dirname
  for (let up = 0; up < MAX_PARENTS && !existsSync(join(dir, 'package.json')); up++) dir = dirname(dir)
  return dir
}

function spawnDaemon(where: Paths, env: Env): ChildProcess {
  try {
    prepareState(where)
  } catch (error) {
    throw new ApiError('UNAVAILABLE', `the daemon cannot be started: ${(error as Error).message}`, { hint: 'Its state directory must be yours and writable; REEVE_HOME chooses another one.' })
  }
  const log = openSync(where.logFile, 'a', 0o600)
  try {
    // The marker of an agent's process must not be inherited: the daemon would be ended together with that agent.
    const { REEVE_PROC: _, ...own } = env
    const child = spawn(process.execPath, [daemonScript()], { cwd: '/', detached: true, env: own, stdio: ['ignore', log, log] })
    child.on('error', () => {}) // seen as an end: exitCode is set
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

async function answers(where: Paths): Promise<boolean> {
  return (await runningPid(where)) !== null
}

/** The system's PID of the daemon that answers. */
async function runningPid(where: Paths): Promise<number | null> {
  try {
    const { pid } = await new Client({ socketPath: () => clientSocket(where) }).get<{ pid: number }>('/v1/daemon')
    return pid
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAVAILABLE') return null
    throw error
  }
}

function failed(why: string, where: Paths, log: LogFile): ApiError {
  const lines = log.next().slice(-SHOWN_LINES).map(readable)
  const shown = lines.length === 0 ? '' : `\n${lines.map((line) => `  ${line}`).join('\n')}`
  return new ApiError('UNAVAILABLE', `the daemon could not be started: ${why}${shown}`, { hint: `The whole log: ${where.logFile}` })
}
