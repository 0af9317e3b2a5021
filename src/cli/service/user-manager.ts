// Talks to the systemd user manager: whether it runs, and commands for the unit of the daemon. Starts no program but `systemctl`. Shell
// completion must never load this file: it would become slow. Test: test/processes/daemon/systemd-unit.test.ts, which needs a user manager.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { Failure } from '../errors.ts'
import { UNIT_NAME } from './unit.ts'

/** the time limit for an answer: it takes some ms, but a stop may take as long as the unit allows */
const ANSWER_MS = 180_000

/** The result of a `systemctl` command. */
interface CommandResult {
  readonly isOk: boolean
  readonly output: string
  /** the error message, if the command failed */
  readonly problem: string
}

function systemctl(args: readonly string[]): CommandResult {
  const { status, stdout, stderr, error } = spawnSync('systemctl', ['--user', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: ANSWER_MS,
  })
  return {
    isOk: status === 0,
    output: (stdout ?? '').trim(),
    problem: (stderr ?? '').trim() || (error?.message ?? `it ended with ${status}`),
  }
}

/** Returns null if a user manager runs, else the reason why it cannot be used. */
export function findManagerProblem(): string | null {
  const { isOk, problem } = systemctl(['show', '--property', 'Version'])
  return isOk ? null : problem
}

/** Runs `systemctl`. Errors: exit 1 with the message of `systemctl`. */
export function systemctlOrThrow(...args: readonly string[]): void {
  const { isOk, problem } = systemctl(args)
  if (!isOk) throw new Failure(1, `systemctl --user ${args.join(' ')} failed: ${problem}`)
}

/** Starts the unit of the daemon. Returns false on failure. */
export function startUnit(): boolean {
  return systemctl(['start', UNIT_NAME]).isOk
}

/** Returns the OS pid of the daemon in the unit; 0 if the unit is not running. */
export function readUnitPid(): number {
  return Number(systemctl(['show', '--property', 'MainPID', '--value', UNIT_NAME]).output) || 0
}

/** Whether the manager starts at boot, and keeps running without a login. */
export function isLingering(): boolean {
  return existsSync(`/var/lib/systemd/linger/${userInfo().username}`)
}
