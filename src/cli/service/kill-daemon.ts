// Ends a hanging daemon with SIGKILL. The guardians of the daemon then end its agents. Kills only a program with the OS pid and start time
// that the daemon recorded with its lock. Checks both directly before the signal. Test: test/e2e/daemon/unresponsive-daemon.test.ts.
import { setTimeout as delay } from 'node:timers/promises'
import { readHolder, type LockHolder } from '../../api/client/daemon-holder.ts'
import { Failure } from '../errors.ts'

/** the time limit for the end of a killed program: it takes some ms, but a wait for the disk can delay it */
const KILL_LIMIT_MS = 30_000
const POLL_MS = 20

/** Kills the holder of the lock, and resolves when it has ended. Errors: exit 4 if the signal is refused, or the program does not end. */
export async function killHolder(holder: LockHolder, file: string): Promise<void> {
  const deadline = performance.now() + KILL_LIMIT_MS
  if (isSameProgram(holder, file)) killProgram(holder.pid)
  while (isSameProgram(holder, file)) {
    if (performance.now() > deadline)
      throw new Failure(
        4,
        `the daemon (PID ${holder.pid}) still exists after SIGKILL`,
        'It waits in the kernel, for a disk for example, and ends when the disk answers.',
      )
    await delay(POLL_MS)
  }
}

function isSameProgram({ pid, startTime }: LockHolder, file: string): boolean {
  const current = readHolder(file)
  return current?.pid === pid && current.startTime === startTime
}

function killProgram(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // After any other error the program has ended already.
    if ((error as NodeJS.ErrnoException).code === 'EPERM')
      throw new Failure(
        4,
        `the daemon (PID ${pid}) belongs to another user and cannot be signalled`,
        'That user can run `reeve daemon stop --now`.',
      )
  }
}
