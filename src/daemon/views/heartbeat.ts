// Maps the observations of the liveness monitor to the API view. Decides nothing about liveness.
// Tests: test/tables/daemon/views/process-queries.test.ts, test/e2e/lifecycle/liveness.test.ts.
import { thresholdsOf } from '../../kernel/decide/liveness/liveness.ts'
import { isLiving, statusOf } from '../../kernel/model/status.ts'
import { isoTime } from './format-times.ts'
import type { HeartbeatRowView, HeartbeatView } from '../../api/views/heartbeat.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { LivenessMonitor } from '../incarnation/liveness-monitor.ts'
import type { Table } from '../loop/table.ts'

/** Returns the liveness of all living processes. `mono` is the monotonic time of the request. */
export async function heartbeatView(
  table: Pick<Table, 'uuidsByPid' | 'get'>,
  monitor: Pick<LivenessMonitor, 'lastActivity'>,
  { mono, slices }: { readonly mono: number; readonly slices: SliceQueue },
): Promise<HeartbeatView> {
  const rows = await slices.map(table.uuidsByPid(), (uuid) => {
    const process = table.get(uuid)
    return process && isLiving(process) ? [rowOf(process, monitor, mono)] : []
  })
  return { version: 1, processes: rows.flat() }
}

function rowOf(process: Process, monitor: Pick<LivenessMonitor, 'lastActivity'>, mono: number): HeartbeatRowView {
  const { uuid, pid, spec, liveness } = process
  const activity = monitor.lastActivity(uuid)
  const msSince = (at: number | undefined): number | null => (at === undefined ? null : Math.max(0, Math.round(mono - at)))
  return {
    uuid,
    pid,
    name: spec.name,
    agent: spec.agent,
    status: statusOf(process),
    word: activity === null ? null : (liveness?.word ?? 'alive'),
    since: liveness ? isoTime(liveness.since) : null,
    evidence: liveness?.evidence ?? null,
    quietMs: msSince(activity?.outputAt),
    idleMs: msSince(activity?.progressAt),
    thresholds: thresholdsOf(spec),
  }
}
