// Maps restarts and supervisors to the API view. Also makes the texts about restarts in the NOTE column.
// Tests: test/processes/daemon/supervision.test.ts, test/e2e/cli/supervisors.test.ts.
import { restartsWithin } from '../../kernel/supervise/restart-decision.ts'
import { statusOf } from '../../kernel/model/status.ts'
import { isoTime, isoOrNull } from './format-times.ts'
import type { RowLookup } from './row-lookup.ts'
import type { ProcessView, SupervisedView } from '../../api/views/process.ts'
import type { SupervisedChild } from '../../kernel/model/supervision.ts'
import type { Process } from '../../kernel/model/process.ts'

export function pendingRestart({ restart }: Process): ProcessView['pendingRestart'] {
  if (!restart) return null
  const { attempt, cause, at } = restart
  return { attempt, cause, at: isoOrNull(at) }
}

export function supervisorView({ spec, supervision }: Process, lookup: RowLookup): ProcessView['supervisor'] {
  if (!spec.supervisor) return null
  const { windowMs } = spec.supervisor
  return { ...spec.supervisor, children: (supervision?.children ?? []).map((child) => childView(child, windowMs, lookup)) }
}

function childView(
  { id, uuid, type, onComplete, restarts }: SupervisedChild,
  windowMs: number,
  { row, wall = () => 0 }: RowLookup,
): SupervisedView {
  const process = row?.(uuid)
  const times = restarts ? restartsWithin(restarts, windowMs, wall()) : []
  return {
    id,
    uuid,
    restart: type,
    onComplete: onComplete ?? null,
    restarts: times.length,
    restartedAt: times.map(isoTime),
    nextStart: isoOrNull(process?.restart?.at ?? null),
    status: process ? statusOf(process) : null,
    pid: process?.pid ?? null,
  }
}

/** The note of a process that waits for its restart, such as `restart 2 at 14:05:03: exit code 1`; else null. */
export function restartNote({ restart }: Process): string | null {
  if (!restart) return null
  const label = restart.attempt > 0 ? `restart ${restart.attempt}` : 'restart'
  if (restart.at === null) return `${label} when its supervisor decides: ${restart.cause}`
  return restart.dueMono === null ? `${label} now: ${restart.cause}` : `${label} at ${clockText(restart.at)}: ${restart.cause}`
}

/** Formats a time (wall ms) as the local time of day with seconds. */
function clockText(at: number): string {
  return isoTime(at).slice(11, 19)
}

/** The note of a process whose restart policy gave up; else null. */
export function gaveUpNote({ spec, restarts, life }: Process): string | null {
  const { restart, childId } = spec
  if (
    life.state !== 'dead' ||
    life.exit.cause !== 'agent' ||
    life.exit.code === 0 ||
    !restart ||
    childId !== undefined ||
    restart.type === 'temporary'
  )
    return null
  const count = restarts?.times.length ?? 0
  return `not restarted again, after ${count} ${count === 1 ? 'restart' : 'restarts'}`
}
