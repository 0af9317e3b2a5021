// How an ordinary user's daemon comes to a cgroup of its own: it goes on, with the same PID, in a delegated scope of the user's
// systemd, if there is one, and linger, without which the scope ends with the login. Tried out before, because there is no way
// back. Must be called before anything is opened; does nothing wherever it is not needed or not to be had.
// Tests: test/processes/contain-scope.test.ts (with a `systemd-run` of its own: what systemd does with it was not seen).
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { findOwnCgroup } from './probe.ts'

/** For the trial. Whose bus is slower than this starts its daemon without it. */
const TRIAL_MS = 2_000
/** Set in the environment of who is in a scope already, so that a scope that gives nothing is not entered again and again. */
const SCOPED = 'REEVE_SCOPED'
const SCOPE = ['--user', '--scope', '--quiet', '--collect', '-p', 'Delegate=yes'] as const

export interface ScopeParts {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isRoot: boolean
  /** our own cgroup may be written by us, or there is none */
  readonly hasCgroup: boolean
  readonly lingers: boolean
}

/** Replaces this program by itself within a scope; returns if it stays where it is. */
export function enterScope(parts: ScopeParts = partsHere()): void {
  if (!wantsScope(parts)) return
  const trial = spawnSync('systemd-run', [...SCOPE, '--', 'true'], { stdio: 'ignore', timeout: TRIAL_MS, env: parts.env })
  const path = trial.status === 0 ? findProgram('systemd-run', parts.env) : null
  if (path === null || process.execve === undefined) return
  process.execve(path, ['systemd-run', ...SCOPE, '--', process.execPath, ...process.execArgv, ...process.argv.slice(1)], { ...parts.env, [SCOPED]: '1' })
}

/** Whether there is a reason to try: a bus of the user's, linger, and no cgroup so far. */
export function wantsScope({ env, isRoot, hasCgroup, lingers }: ScopeParts): boolean {
  if (process.platform !== 'linux' || isRoot || hasCgroup || !lingers || env[SCOPED] !== undefined) return false
  const bus = env['DBUS_SESSION_BUS_ADDRESS']
  return (bus !== undefined && bus !== '') || existsSync(join(env['XDG_RUNTIME_DIR'] ?? '/nowhere', 'bus'))
}

function partsHere(): ScopeParts {
  const dir = findOwnCgroup()
  return { env: process.env, isRoot: process.geteuid?.() === 0, hasCgroup: dir === null || isWritable(dir), lingers: existsSync(join('/var/lib/systemd/linger', userInfo().username)) }
}

function isWritable(dir: string): boolean {
  try {
    for (const path of [dir, join(dir, 'cgroup.procs')]) accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function findProgram(name: string, env: ScopeParts['env']): string | null {
  const paths = (env['PATH'] ?? '').split(':').filter((dir) => dir.startsWith('/')).map((dir) => join(dir, name))
  return paths.find((path) => existsSync(path)) ?? null
}
