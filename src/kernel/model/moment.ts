// The moment of a fact: the status and a few other fields of its process right after that fact, for readers of events. A moment is
// stored with its fact, because the process table keeps only the newest state. Pure. Test:
// test/tables/daemon/loop/events.test.ts, test/e2e/crew/crew.test.ts.
import { statusOf } from './status.ts'
import type { Status } from './status.ts'
import type { Process } from './process.ts'

export interface Moment {
  readonly status: Status
  /** number of queued messages */
  readonly queueCount: number
  /** of a crew member: its role */
  readonly role?: string
  /** of a crew member: its phase */
  readonly phase?: string
  /** of a crew member with a task */
  readonly taskId?: string
}

/** The moment of a fact. `process`: the state right after the fact; `crew`: the row of its crew at that time. */
export function momentOf(process: Process, crew: Process | undefined): Moment {
  const { member } = process.spec
  const now = { status: statusOf(process), queueCount: process.queue.length }
  if (!member) return now
  const row = crew?.crew?.members.find(({ id }) => id === member.id)
  return { ...now, role: member.role, phase: row?.phase ?? 'idle', ...(row?.task ? { taskId: row.task } : {}) }
}
