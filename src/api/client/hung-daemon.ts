// Distinguishes a hanging daemon from a slow answer: while a request waits, a second request is sent, which any healthy daemon answers at
// once. Must never report a daemon that still answers, or that has ended. Test: test/e2e/daemon/unresponsive-daemon.test.ts.
import { sendRequest, FIRST_CHECK_MS } from './http.ts'
import { isStopped, type LockHolder } from './daemon-holder.ts'

/** the time limit for the second request: a daemon answers it in some ms, and on a loaded machine still within this time */
const PROBE_MS = 3_000

/** Describes why a running daemon does not answer, for the user. */
export interface Hang {
  readonly message: string
  readonly hint: string
  /** null if unknown */
  readonly pid: number | null
}

/** Returns null if the daemon answers, has ended, or no longer listens. */
export async function findHang(socketPath: string, holder: () => LockHolder | null): Promise<Hang | null> {
  const before = holder()
  if (before && isStopped(before)) return describeHang(before)
  if (!(await isSilent(socketPath))) return null
  return before ? holder() && describeHang(before) : describeHang(null)
}

/** Whether the daemon listens, but does not answer. EAGAIN: it does not even accept connections, so that their queue is full. */
async function isSilent(socketPath: string): Promise<boolean> {
  try {
    const { body } = await sendRequest({ socketPath, method: 'GET', path: '/v1/daemon', idleMs: PROBE_MS })
    await body.return()
    return false
  } catch (error) {
    // The waiting request reports a failed connection itself.
    const { syscall, code } = error as NodeJS.ErrnoException
    return syscall !== 'connect' || code === 'EAGAIN'
  }
}

/** Describes a hang. `holder`: the daemon that has the lock; null: unknown. */
export function describeHang(holder: LockHolder | null): Hang {
  const pid = holder?.pid ?? null
  const subject = pid === null ? 'the daemon' : `the daemon (PID ${pid})`
  const since = holder?.idleSince
    ? `since ${new Date(holder.idleSince).toTimeString().slice(0, 8)}`
    : `for more than ${(FIRST_CHECK_MS + PROBE_MS) / 1000} s`
  const reason = !holder
    ? 'it accepts connections but does not answer'
    : isStopped(holder)
      ? 'a signal has stopped it'
      : holder.state === 'R'
        ? 'it is busy and does not answer'
        : holder.state === 'D'
          ? 'it is waiting for the disk'
          : 'it does not answer'
  const continueHint = holder && isStopped(holder) ? `\`kill -CONT ${pid}\` continues it; ` : ''
  return {
    pid,
    message: `${subject} has been hanging ${since}: ${reason}`,
    hint: `${continueHint}\`reeve daemon restart --now\` kills it and starts a new one; its processes are interrupted, and can be resumed.`,
  }
}
