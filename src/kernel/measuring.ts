// What the programs of a process used, as its containment was measured: CPU time, output and memory.
// Owns what a measurement means: it counts, also that of an end, and may be the one that reaches a limit.
// Test: test/tables/measuring.test.ts.
import { spentMore } from './budgets.ts'
import { terminate } from './release.ts'
import type { Ack, Report } from './reports.ts'
import type { ExitStatus, Process } from './types.ts'
import type { Work } from './work.ts'

type MeasuredReport = Extract<Report, { type: 'measured' }>

export function measured(work: Work, process: Process, report: MeasuredReport): Ack {
  work.emit(process.uuid, { type: 'usage.measured', measured: report.measured })
  if (process.life.state !== 'running') return 'ok'
  if (report.outOfMemory) terminate(work, work.need(process.uuid), outOfMemory(process))
  else spentMore(work, process.uuid)
  return 'ok'
}

/** The system has ended it before anybody else could. */
function outOfMemory({ spec: { limits } }: Process): ExitStatus {
  const { memoryBytes } = limits
  const error = memoryBytes === undefined ? 'out of memory' : `memory limit of ${memoryBytes} bytes reached`
  return { code: 2, reason: 'budget_exceeded', error, cause: 'limit' }
}
