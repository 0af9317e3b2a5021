// Computes the paths of configuration, state and socket. Only this file derives them from REEVE_HOME and the XDG variables.
// Every command loads this file at its start, so it must import nothing but node:path and node:fs.
// `pathsFrom` only computes; `prepareState` creates the directories, and `checkSocketDir` refuses a directory of another user.
// Test: test/tables/config/paths.test.ts.
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import type * as Os from 'node:os'

/** the longest socket path, in bytes; operating systems allow 104 to 108 */
export const MAX_SOCKET_BYTES = 100

export interface Paths {
  /** $REEVE_HOME, else the state directory; each home of a user has its own daemon */
  readonly home: string
  readonly config: string
  readonly configFile: string
  readonly credentialsFile: string
  readonly agentsDir: string
  readonly state: string
  readonly socket: string
  readonly daemonJson: string
  /** the PID and start time of the daemon that holds the lock */
  readonly holderFile: string
  readonly logFile: string
  /** the directory of lock.db, which the daemon locks until it ends */
  readonly lockDir: string
}

/** Loads node:os on demand: few commands need it, and an import would slow every start. */
const os = (): typeof Os => process.getBuiltinModule('node:os')

export type Env = Readonly<Record<string, string | undefined>>

/** Computes all paths from an environment; creates and checks nothing. */
export function pathsFrom(env: Env = process.env): Paths {
  const root = env['REEVE_HOME'] ? resolve(env['REEVE_HOME']) : null
  const config = root ?? join(xdgDirectory(env, 'XDG_CONFIG_HOME', '.config'), 'reeve')
  const state = root ?? join(xdgDirectory(env, 'XDG_STATE_HOME', '.local/state'), 'reeve')
  return {
    home: state,
    config,
    configFile: joinPath(config, 'config.yaml'),
    credentialsFile: joinPath(config, 'credentials.yaml'),
    agentsDir: joinPath(config, 'agents'),
    state,
    socket: socketIn(state, env),
    daemonJson: joinPath(state, 'daemon.json'),
    holderFile: joinPath(state, 'daemon.pid'),
    logFile: joinPath(state, 'daemon.log'),
    lockDir: state,
  }
}

/** Makes a relative REEVE_HOME absolute, for programs that run in other directories. */
export function withAbsoluteHome<T extends Env>(env: T): T {
  const home = env['REEVE_HOME']
  return home && !isAbsolute(home) ? { ...env, REEVE_HOME: resolve(home) } : env
}

/** Returns the path of the systemd unit of the user's daemon. */
export function unitFile(env: Env = process.env): string {
  return join(xdgDirectory(env, 'XDG_CONFIG_HOME', '.config'), 'systemd', 'user', 'reeve.service')
}

/** Returns the socket path for a client. If the path had to be shortened, the daemon may use another one, which daemon.json names. */
export function clientSocket(where: Paths): string {
  if (dirname(where.socket) === where.state) return where.socket
  return socketInFile(where.daemonJson) ?? where.socket
}

/**
 * Creates the state directory and the socket's directory with mode 0700. Closes an open state directory that is empty or reeve's own.
 * Throws for any other open directory.
 */
export function prepareState(where: Paths): void {
  makeDir(where.state)
  closeState(where.state)
  const dir = dirname(where.socket)
  if (dir === where.state) return
  makeDir(dir)
  checkSocketDir(where.socket)
}

/** Creates a directory and its parents. Node's own `recursive` never returns if a parent forbids new entries, as in /proc. */
function makeDir(dir: string): void {
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(dir).isDirectory()) return
    if (code !== 'ENOENT' || existsSync(dirname(dir))) throw error
    makeDir(dirname(dir))
    mkdirSync(dir, { mode: 0o700 })
  }
}

/**
 * Throws unless the socket's directory is a real directory, belongs to the user, and is closed to other users. In /tmp another user may
 * have created it.
 */
export function checkSocketDir(socket: string): void {
  const dir = dirname(socket)
  const stat = lstatSync(dir)
  if (!stat.isDirectory()) throw new Error(`${dir} is not a directory; remove it, or set REEVE_HOME to a shorter path`)
  if (stat.uid !== os().userInfo().uid) throw new Error(`${dir} belongs to another user; set REEVE_HOME to a shorter path`)
  if ((stat.mode & 0o077) !== 0) throw new Error(`${dir} is open to others; run: chmod 700 ${dir}`)
}

/** Sets mode 0700 on a state directory that is empty or already used by reeve. Throws for any other directory, such as REEVE_HOME=/. */
function closeState(state: string): void {
  if ((statSync(state).mode & 0o077) === 0) return
  const files = readdirSync(state)
  if (files.length > 0 && !files.includes('lock.db'))
    throw new Error(`${state} is open to others; if only reeve uses it, run: chmod 700 ${state}`)
  chmodSync(state, 0o700)
}

/** Joins a normalized directory and a name. Faster than `join`, because every start calls it ten times. */
function joinPath(dir: string, name: string): string {
  return dir.endsWith('/') ? dir + name : `${dir}/${name}`
}

/** Returns the directory in an XDG variable, or its default. The XDG specification requires that a relative path is ignored. */
function xdgDirectory(env: Env, name: string, fallback: string): string {
  const dir = env[name]
  return dir && isAbsolute(dir) ? dir : join(env['HOME'] || os().homedir(), fallback)
}

function socketIn(state: string, env: Env): string {
  const direct = joinPath(state, 'reeve.sock')
  if (fitsSocketLimit(direct)) return direct
  const name = `${fnvHash(state)}.sock`
  const runtime = env['XDG_RUNTIME_DIR']
  const userDir = `reeve-${os().userInfo().uid}`
  const candidates = [...(runtime && isAbsolute(runtime) ? [join(runtime, 'reeve', name)] : []), join(os().tmpdir(), userDir, name)]
  return candidates.find(fitsSocketLimit) ?? join('/tmp', userDir, name)
}

function fitsSocketLimit(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_SOCKET_BYTES
}

/** Returns the FNV-1a hash with 64 bits. It distinguishes only the homes of one user, so that node:crypto is not needed. */
function fnvHash(text: string): string {
  let value = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n)
  return value.toString(16).padStart(16, '0')
}

/** Reads the socket path from daemon.json; null if that has none. */
function socketInFile(daemonJson: string): string | null {
  try {
    const named: unknown = JSON.parse(readFileSync(daemonJson, 'utf8'))
    const socket = typeof named === 'object' && named !== null && 'socket' in named ? named.socket : null
    return typeof socket === 'string' && isAbsolute(socket) ? socket : null
  } catch {
    // The file is missing or incomplete: the caller then uses the computed path.
    return null
  }
}
