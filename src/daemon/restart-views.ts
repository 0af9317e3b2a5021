// Restarts and supervisors as the API shows them. Owns the mapping and the words of NOTE. Test: test/e2e/restart.test.ts, test/e2e/cli-supervisors.test.ts.
import { within } from '../supervise/verdict.ts'
import { statusOf } from '../kernel/status.ts'
import { iso, isoOrNull } from './times.ts'
import type { ProcessView, SupervisedView } from '../api/views.ts'
import type { SupervisedChild } from '../kernel/supervision.ts'
import type { Process, Uuid } from '../kernel/types.ts'

/** Of a process that is read from a file there is nothing around it. */
export interface Around {
  /** a row of the table */
  readonly row?: (uuid: Uuid) => Process | undefined
  readonly wall?: () => number
}

export function pendingRestart({ restart }: Process): ProcessView['pendingRestart'] {
  if (!restart) return null
  const { attempt, cause, at } = restart
  return { attempt, cause, at: isoOrNull(at) }
}

export function supervisorView({ spec, supervision }: Process, around: Around): ProcessView['supervisor'] {
  if (!spec.supervisor) return null
  const { windowMs } = spec.supervisor
  return { ...spec.supervisor, children: (supervision?.children ?? []).map((child) => childView(child, windowMs, around)) }
}

function childView({ id, uuid, type, onComplete, restarts }: SupervisedChild, windowMs: number, { row, wall = () => 0 }: Around): SupervisedView {
  const process = row?.(uuid)
  return {
    id, uuid, restart: type, onComplete: onComplete ?? null,
    restarts: restarts ? within(restarts, windowMs, wall()) : 0,
    nextStart: isoOrNull(process?.restart?.at ?? null),
    status: process ? statusOf(process) : null,
    pid: process?.pid ?? null,
  }
}

/** `restart 2 at 14:05:03: exit code 1`, in the daemon's own time. */
export function restartNote({ restart }: Process): string | null {
  if (!restart) return null
  const which = restart.attempt > 0 ? `restart ${restart.attempt}` : 'restart'
  if (restart.at === null) return `${which} when its supervisor says so: ${restart.cause}`
  return restart.dueMono === null ? `${which} now: ${restart.cause}` : `${which} at ${clockText(restart.at)}: ${restart.cause}`
}

function clockText(at: number): string {
  return iso(at).slice(11, 19)
}

/** Of one that was not started again: its policy gave up. */
export function gaveUpNote({ spec, restarts, life }: Process): string | null {
  const { restart, childId } = spec
  if (life.state !== 'dead' || life.exit.cause !== 'agent' || life.exit.code === 0 || !restart || childId !== undefined || restart.type === 'temporary') return null
  return `not restarted any more, after ${restarts?.times.length ?? 0} times`
}
