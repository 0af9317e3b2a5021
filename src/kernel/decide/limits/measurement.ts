// Records the measured usage of a process's programs: CPU time, output and memory. A measurement counts even after the
// exit, and may reach a limit. Test: test/tables/kernel/decide/limits/measurement.test.ts.
import { enforceLimitsAfterUsage } from './enforce-limits.ts'
import { reachedText } from '../../state/limits.ts'
import { terminate } from '../release.ts'
import type { Ack, Report } from '../../model/reports.ts'
import type { Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { Uuid } from '../../model/ids.ts'

type MeasuredReport = Extract<Report, { type: 'measured' }>

export function recordMeasurement(draft: DecisionDraft, process: Process, { measured: used, outOfMemory }: MeasuredReport): Ack {
  const {
    uuid,
    life,
    spec: {
      limits: { memoryBytes },
    },
  } = process
  draft.emit(uuid, { type: 'usage.measured', measured: used })
  if (life.state !== 'running') return 'ok'
  if (outOfMemory && memoryBytes !== undefined) endOutOfMemory(draft, uuid, Math.max(memoryBytes, used.rssBytes), memoryBytes)
  else enforceLimitsAfterUsage(draft, uuid)
  return 'ok'
}

/** Ends the process, whatever the action of its memory limit is, because the system has already killed its programs. */
function endOutOfMemory(draft: DecisionDraft, uuid: Uuid, used: number, of: number): void {
  draft.emit(uuid, { type: 'limit.reached', limit: 'memoryBytes', used, of, action: 'terminate', scope: uuid })
  terminate(draft, draft.mustGet(uuid), {
    code: 2,
    reason: 'budget_exceeded',
    error: reachedText({ limit: 'memoryBytes', used, of, whose: null }),
    cause: 'limit',
  })
}
