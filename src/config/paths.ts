// Where everything is: configuration, state, socket. The one place that reads REEVE_HOME and the XDG variables.
// The command line loads this at every start: it must import nothing but node:path and node:fs.
// `paths` only computes; `prepareState` makes the directories, and `checkSocketDir` guards the one that others could have made.
// Test: test/tables/config-paths.test.ts.
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import type * as Os from 'node:os'

/** The longest socket path in bytes; the system's own limit is 104 to 108. */
export const MAX_SOCKET_BYTES = 100

export interface Paths {
  /** what tells this reeve from another one of the same user: $REEVE_HOME, else the state directory */
  readonly home: string
  readonly config: string
  readonly configFile: string
  readonly credentialsFile: string
  readonly agentsDir: string
  readonly state: string
  readonly socket: string
  readonly daemonJson: string
  readonly logFile: string
  /** the directory of lock.db, which the daemon holds for life */
  readonly lockDir: string
}

/** Few commands need it, and each would load it at its start. */
const os = (): typeof Os => process.getBuiltinModule('node:os')

export type Env = Readonly<Record<string, string | undefined>>

/** Computes all paths from an environment; makes and checks nothing. */
export function paths(env: Env = process.env): Paths {
  const root = env['REEVE_HOME'] ? resolve(env['REEVE_HOME']) : null
  const config = root ?? join(xdg(env, 'XDG_CONFIG_HOME', '.config'), 'reeve')
  const state = root ?? join(xdg(env, 'XDG_STATE_HOME', '.local/state'), 'reeve')
  return {
    home: state,
    config,
    configFile: inside(config, 'config.yaml'),
    credentialsFile: inside(config, 'credentials.yaml'),
    agentsDir: inside(config, 'agents'),
    state,
    socket: socketIn(state, env),
    daemonJson: inside(state, 'daemon.json'),
    logFile: inside(state, 'daemon.log'),
    lockDir: state,
  }
}

/** This environment for others, who may be in another directory: a relative REEVE_HOME is meant from where we are. */
export function fromHere<T extends Env>(env: T): T {
  const home = env['REEVE_HOME']
  return home && !isAbsolute(home) ? { ...env, REEVE_HOME: resolve(home) } : env
}

/** Where systemd looks for the unit of a user's daemon. */
export function unitFile(env: Env = process.env): string {
  return join(xdg(env, 'XDG_CONFIG_HOME', '.config'), 'systemd', 'user', 'reeve.service')
}

/** The socket that a client should try: a short one may lie elsewhere for the daemon, which names it in daemon.json. */
export function clientSocket(where: Paths): string {
  if (dirname(where.socket) === where.state) return where.socket
  return namedSocket(where.daemonJson) ?? where.socket
}

/** Makes the state directory and the socket's, both 0700. Throws if one of them is there and not ours alone. */
export function prepareState(where: Paths): void {
  makeDir(where.state)
  closeState(where.state)
  const dir = dirname(where.socket)
  if (dir === where.state) return
  makeDir(dir)
  checkSocketDir(where.socket)
}

/** With those above it. Node's own way of that never ends where a directory is there and nothing can be made in it, as in /proc. */
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

/** Throws unless the socket's directory is a real one, ours, and closed to others: in /tmp anybody could have made it. */
export function checkSocketDir(socket: string): void {
  const dir = dirname(socket)
  const stat = lstatSync(dir)
  if (!stat.isDirectory()) throw new Error(`${dir} is not a directory; remove it, or set REEVE_HOME to a shorter path`)
  if (stat.uid !== os().userInfo().uid) throw new Error(`${dir} belongs to another user; set REEVE_HOME to a shorter path`)
  if ((stat.mode & 0o077) !== 0) throw new Error(`${dir} is open to others; run: chmod 700 ${dir}`)
}

/** Closes a directory that is new or was ours before. Another one is left as it is: REEVE_HOME=/ must not lock up a machine. */
function closeState(state: string): void {
  if ((statSync(state).mode & 0o077) === 0) return
  const files = readdirSync(state)
  if (files.length > 0 && !files.includes('lock.db')) throw new Error(`${state} is open to others; if it is for reeve alone, run: chmod 700 ${state}`)
  chmodSync(state, 0o700)
}

/** As `join` for a directory that is normal already; `join` looks at each character again, ten times at each start. */
function inside(dir: string, name: string): string {
  return dir.endsWith('/') ? dir + name : `${dir}/${name}`
}

/** A relative path in an XDG variable is to be ignored, says the specification. */
function xdg(env: Env, name: string, fallback: string): string {
  const dir = env[name]
  return dir && isAbsolute(dir) ? dir : join(env['HOME'] || os().homedir(), fallback)
}

function socketIn(state: string, env: Env): string {
  const direct = inside(state, 'reeve.sock')
  if (fits(direct)) return direct
  const name = `${hash(state)}.sock`
  const runtime = env['XDG_RUNTIME_DIR']
  const own = `reeve-${os().userInfo().uid}`
  const candidates = [...(runtime && isAbsolute(runtime) ? [join(runtime, 'reeve', name)] : []), join(os().tmpdir(), own, name)]
  return candidates.find(fits) ?? join('/tmp', own, name)
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_SOCKET_BYTES
}

/** FNV-1a, 64 bits: only tells one user's homes apart, so node:crypto need not be loaded. */
function hash(text: string): string {
  let value = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n)
  return value.toString(16).padStart(16, '0')
}

function namedSocket(daemonJson: string): string | null {
  try {
    const named: unknown = JSON.parse(readFileSync(daemonJson, 'utf8'))
    const socket = typeof named === 'object' && named !== null && 'socket' in named ? named.socket : null
    return typeof socket === 'string' && isAbsolute(socket) ? socket : null
  } catch {
    // No daemon has written it yet, or it is being written: the computed path is as good a guess as any.
    return null
  }
}
