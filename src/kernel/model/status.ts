// The status of a process, as users see it. While the process runs, the precedence is stopping > suspended > activity. After its end the
// cause decides. The exit code counts only if the agent ended by itself: `completed` or `failed`.
// Test: test/tables/kernel/model/status.test.ts.
import type { ExitStatus, Life, Process } from './process.ts'
import type { STATUSES } from './words.ts'

export type Status = (typeof STATUSES)[number]

export function statusOf(process: Pick<Process, 'life' | 'retiredAt'>): Status {
  const { life } = process
  switch (life.state) {
    case 'created':
      return 'pending'
    case 'running':
      return runningStatus(life)
    case 'zombie':
      return 'zombie'
    case 'dead':
      return process.retiredAt === null ? endedStatus(life.exit) : 'retired'
  }
}

function runningStatus(life: Extract<Life, { state: 'running' }>): Status {
  if (life.stopping) return 'stopping'
  return life.holds.length > 0 ? 'suspended' : life.activity
}

function endedStatus(exit: ExitStatus): Status {
  switch (exit.cause) {
    case 'person':
    case 'parent':
      return 'stopped'
    case 'daemon':
      return 'interrupted'
    case 'limit':
      return 'failed'
    case 'agent':
      return exit.code === 0 ? 'completed' : 'failed'
  }
}

export function isLiving(process: Pick<Process, 'life'>): boolean {
  return process.life.state === 'created' || process.life.state === 'running'
}

/** True when the process is being stopped and its agent may do no more work; false while the agent wraps up. */
export function isEnding({ life }: Pick<Process, 'life'>): boolean {
  return life.state === 'running' && life.stopping !== null && life.stopping.wrapUp === undefined
}

/** True for a running process with a hold. A suspended process does not count against `maxProcesses`. */
export function isSuspended(process: Pick<Process, 'life'>): boolean {
  return process.life.state === 'running' && process.life.holds.length > 0
}

/** True when the process counts against `maxProcesses`. */
export function isActive(process: Pick<Process, 'life'>): boolean {
  return isLiving(process) && !isSuspended(process)
}
