// What the programs of a process used, as its containment was measured: CPU time, output and memory.
// Owns what a measurement means: it counts, also that of an end, and may be the one that reaches a limit.
// Test: test/tables/measuring.test.ts.
import { spentMore } from './budgets.ts'
import { reachedWords } from './limits.ts'
import { terminate } from './release.ts'
import type { Ack, Report } from './reports.ts'
import type { Process, Uuid } from './types.ts'
import type { Work } from './work.ts'

type MeasuredReport = Extract<Report, { type: 'measured' }>

export function measured(work: Work, process: Process, { measured: used, outOfMemory }: MeasuredReport): Ack {
  const { uuid, life, spec: { limits: { memoryBytes } } } = process
  work.emit(uuid, { type: 'usage.measured', measured: used })
  if (life.state !== 'running') return 'ok'
  if (outOfMemory && memoryBytes !== undefined) endOutOfMemory(work, uuid, Math.max(memoryBytes, used.rssBytes), memoryBytes)
  else spentMore(work, uuid)
  return 'ok'
}

/** The system has ended its programs before anybody else could: whatever the limit's action is, there is nothing left to suspend. */
function endOutOfMemory(work: Work, uuid: Uuid, used: number, of: number): void {
  work.emit(uuid, { type: 'limit.reached', limit: 'memoryBytes', used, of, action: 'terminate', scope: uuid })
  terminate(work, work.need(uuid), { code: 2, reason: 'budget_exceeded', error: reachedWords({ limit: 'memoryBytes', used, of, whose: null }), cause: 'limit' })
}
