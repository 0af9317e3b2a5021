// The status: the one word that people see, a pure function of state, holds, stopping, activity and cause.
// Inside running the order is stopping > suspended > activity; for the dead the cause decides, never the code.
// Test: test/tables/status.test.ts.
import type { ExitStatus, Life, Process } from './types.ts'

export type Status =
  | 'pending' | 'starting' | 'ready' | 'working' | 'waiting' | 'suspended' | 'stopping' | 'zombie'
  | 'completed' | 'retired' | 'stopped' | 'failed' | 'interrupted'

export function statusOf(process: Pick<Process, 'life' | 'retiredAt'>): Status {
  const { life } = process
  switch (life.state) {
    case 'created': return 'pending'
    case 'running': return runningStatus(life)
    case 'zombie': return 'zombie'
    case 'dead': return process.retiredAt === null ? endedStatus(life.exit) : 'retired'
  }
}

function runningStatus(life: Extract<Life, { state: 'running' }>): Status {
  if (life.stopping) return 'stopping'
  return life.holds.length > 0 ? 'suspended' : life.activity
}

function endedStatus(exit: ExitStatus): Status {
  switch (exit.cause) {
    case 'person':
    case 'parent': return 'stopped'
    case 'daemon': return 'interrupted'
    case 'limit': return 'failed'
    case 'agent': return exit.code === 0 ? 'completed' : 'failed'
  }
}

export function isLiving(process: Pick<Process, 'life'>): boolean {
  return process.life.state === 'created' || process.life.state === 'running'
}

/** Being ended; one that wraps up is not yet. */
export function isEnding({ life }: Pick<Process, 'life'>): boolean {
  return life.state === 'running' && life.stopping !== null && life.stopping.wrapUp === undefined
}

/** Living with a hold: costs a row and is not counted against the table's size. */
export function isSuspended(process: Pick<Process, 'life'>): boolean {
  return process.life.state === 'running' && process.life.holds.length > 0
}

/** Counts against `maxProcesses`. */
export function isActive(process: Pick<Process, 'life'>): boolean {
  return isLiving(process) && !isSuspended(process)
}
