// What the heartbeat monitor sees, as the API shows it. Owns the mapping; judges nothing.
// Test: test/processes/liveness.test.ts.
import { thresholdsOf } from '../kernel/liveness.ts'
import { isLiving, statusOf } from '../kernel/status.ts'
import { iso } from './times.ts'
import type { HeartbeatRowView, HeartbeatView } from '../api/heartbeat-views.ts'
import type { Process } from '../kernel/types.ts'
import type { Monitor } from './monitor.ts'
import type { Table } from './table.ts'

export function heartbeat(table: Table, monitor: Monitor, mono: number): HeartbeatView {
  return { version: 1, processes: [...table.rows()].filter(isLiving).toSorted((a, b) => a.pid - b.pid).map((process) => rowOf(process, monitor, mono)) }
}

function rowOf(process: Process, monitor: Monitor, mono: number): HeartbeatRowView {
  const { uuid, pid, spec, liveness } = process
  const seen = monitor.seen(uuid)
  const ago = (at: number | undefined): number | null => (at === undefined ? null : Math.max(0, Math.round(mono - at)))
  return {
    uuid, pid, name: spec.name, agent: spec.agent, status: statusOf(process),
    word: seen === null ? null : (liveness?.word ?? 'alive'),
    since: liveness ? iso(liveness.since) : null,
    evidence: liveness?.evidence ?? null,
    quietMs: ago(seen?.outputAt), idleMs: ago(seen?.progressAt),
    thresholds: thresholdsOf(spec),
  }
}
