// Compaction: when the context may be summed up, and what follows when it cannot be.
// Owns the hold `context-full`, and the warning before it. A compaction is asked for between two steps, as a model call
// is, and never twice without a step between. Test: test/tables/compacting.test.ts.
import { KernelError } from './errors.ts'
import { heldByBudget } from './limits.ts'
import { hold } from './pausing.ts'
import type { Ack, Report } from './reports.ts'
import type { Process } from './types.ts'
import type { Work } from './work.ts'

type ReportOf<T extends Report['type']> = Extract<Report, { type: T }>

/** The share of the window from which on the context counts as nearly full. */
export const WARN_SHARE = 0.8

export function compactionStarted(work: Work, process: Process, report: ReportOf<'compaction.started'>): Ack {
  const { uuid, life, progress, context } = process
  if (life.state !== 'running' || life.stopping) return 'stop'
  if (life.holds.length > 0) return 'held'
  if (progress.modelOpen || progress.openCalls.length > 0 || report.step !== progress.wholeStep) {
    throw new KernelError('INVALID', `the context cannot be compacted after step ${report.step}: step ${progress.step} is open`)
  }
  if (context?.compactedStep === report.step) {
    return full(work, process, 'it was compacted and is still too large; a model with a larger window could go on: stop it, then resume it with --model')
  }
  if (heldByBudget(work, process)) return 'held'
  work.emit(uuid, report)
  return 'go'
}

export function compactionFailed(work: Work, process: Process, report: ReportOf<'compaction.failed'>): Ack {
  work.emit(process.uuid, report)
  return report.retryInMs === null ? full(work, process, `it could not be compacted: ${report.error}`) : 'ok'
}

export function contextCompacted(work: Work, process: Process, report: ReportOf<'context.compacted'>): Ack {
  const { uuid, pid, progress } = process
  if (progress.modelOpen || progress.openCalls.length > 0 || report.step !== progress.wholeStep) return 'late'
  work.emit(uuid, report)
  work.effect({ type: 'checkpoint', uuid, pid })
  return 'ok'
}

/** Once each time that the context grows past the mark. */
export function warnOfContext(work: Work, before: Process): void {
  const { uuid, usage, context } = work.need(before.uuid)
  const window = context?.window ?? null
  if (window === null) return
  const mark = window * WARN_SHARE
  if (before.usage.contextTokens < mark && usage.contextTokens >= mark) {
    work.emit(uuid, { type: 'limit.warned', limit: 'context', used: usage.contextTokens, of: window })
  }
}

function full(work: Work, process: Process, why: string): Ack {
  const { life, uuid } = process
  if (life.state !== 'running' || life.stopping) return 'stop'
  hold(work, uuid, { reason: 'context-full', by: 'system', at: work.now.wall }, false)
  work.emit(uuid, { type: 'process.note', text: `the context is full: ${why}` })
  return 'held'
}
