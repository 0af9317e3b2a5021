// Gives an ordinary user's daemon its own cgroup. The daemon re-executes itself, with the same PID, in a delegated scope of the user's
// systemd. This needs linger, because otherwise the scope ends with the login. A trial comes first, because a failed re-execution cannot be
// undone. Must be called before the daemon opens anything. Does nothing if a scope is not needed or not available. Tests:
// test/processes/contain/scope.test.ts (with a fake `systemd-run`, not with systemd itself).
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { findOwnCgroup } from './cgroup-root.ts'

/** Time limit of the trial. If the bus is slower, the daemon starts without a scope. */
const TRIAL_MS = 2_000
/** This variable is set inside of a scope, so that a useless scope is not entered again and again. */
const SCOPE_VARIABLE = 'REEVE_SCOPED'
const SCOPE_ARGS = ['--user', '--scope', '--quiet', '--collect', '-p', 'Delegate=yes'] as const

export interface ScopeDeps {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isRoot: boolean
  /** whether the daemon's own cgroup is writable; also true if the machine has no cgroup v2 */
  readonly hasWritableCgroup: boolean
  /** whether the user's services run on after the logout */
  readonly isLingering: boolean
}

/** Re-executes this program inside of a scope; returns if no scope is entered. */
export function enterScope(deps: ScopeDeps = currentDeps()): void {
  if (!wantsScope(deps)) return
  const trial = spawnSync('systemd-run', [...SCOPE_ARGS, '--', 'true'], { stdio: 'ignore', timeout: TRIAL_MS, env: deps.env })
  const path = trial.status === 0 ? findProgram('systemd-run', deps.env) : null
  if (path === null || process.execve === undefined) return
  process.execve(path, ['systemd-run', ...SCOPE_ARGS, '--', process.execPath, ...process.execArgv, ...process.argv.slice(1)], {
    ...deps.env,
    [SCOPE_VARIABLE]: '1',
  })
}

/** Whether a scope is useful: the user has a bus and linger, and no writable cgroup yet. */
export function wantsScope({ env, isRoot, hasWritableCgroup, isLingering }: ScopeDeps): boolean {
  if (process.platform !== 'linux' || isRoot || hasWritableCgroup || !isLingering || env[SCOPE_VARIABLE] !== undefined) return false
  const bus = env['DBUS_SESSION_BUS_ADDRESS']
  return (bus !== undefined && bus !== '') || existsSync(join(env['XDG_RUNTIME_DIR'] ?? '/nowhere', 'bus'))
}

function currentDeps(): ScopeDeps {
  const dir = findOwnCgroup()
  return {
    env: process.env,
    isRoot: process.geteuid?.() === 0,
    hasWritableCgroup: dir === null || isWritable(dir),
    isLingering: existsSync(join('/var/lib/systemd/linger', userInfo().username)),
  }
}

function isWritable(dir: string): boolean {
  try {
    for (const path of [dir, join(dir, 'cgroup.procs')]) accessSync(path, constants.W_OK)
    return true
  } catch {
    // The cgroup is not delegated to this user.
    return false
  }
}

function findProgram(name: string, env: ScopeDeps['env']): string | null {
  const paths = (env['PATH'] ?? '')
    .split(':')
    .filter((dir) => dir.startsWith('/'))
    .map((dir) => join(dir, name))
  return paths.find((path) => existsSync(path)) ?? null
}
