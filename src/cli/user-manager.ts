// The user manager of systemd, by its own commands: whether there is one, and what it is told about the daemon's unit.
// Starts `systemctl` and nothing else. Must never be loaded by what starts at each key press.
// Test: test/processes/daemon-unit.test.ts (with a real one where one can be had).
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { Failure } from './errors.ts'
import { UNIT } from './unit.ts'

/** The manager answers in some ms; a stop may take as long as the unit allows. */
const ANSWER_MS = 180_000

interface Answer {
  readonly ok: boolean
  readonly said: string
  readonly complaint: string
}

function systemctl(args: readonly string[]): Answer {
  const { status, stdout, stderr, error } = spawnSync('systemctl', ['--user', ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: ANSWER_MS })
  return { ok: status === 0, said: (stdout ?? '').trim(), complaint: (stderr ?? '').trim() || (error?.message ?? `it ended with ${status}`) }
}

/** Null if a user manager answers; else what it says instead. */
export function complaintOfManager(): string | null {
  const { ok, complaint } = systemctl(['show', '--property', 'Version'])
  return ok ? null : complaint
}

/** Does what must not fail. Errors: a failure with the words of `systemctl`. */
export function order(...args: readonly string[]): void {
  const { ok, complaint } = systemctl(args)
  if (!ok) throw new Failure(1, `systemctl --user ${args.join(' ')} failed: ${complaint}`)
}

/** Starts the daemon's unit; false if that cannot be done. */
export function startUnit(): boolean {
  return systemctl(['start', UNIT]).ok
}

/** The PID of the daemon that the manager runs; 0 without one. */
export function unitPid(): number {
  return Number(systemctl(['show', '--property', 'MainPID', '--value', UNIT]).said) || 0
}

/** Whether the manager lives without a login, from the start of the machine on. */
export function lingers(): boolean {
  return existsSync(`/var/lib/systemd/linger/${userInfo().username}`)
}
