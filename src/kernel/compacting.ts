// Compaction: when the context may be summed up, and what follows when it cannot be.
// Owns the hold `context-full`, and the warning before it. A compaction is asked for between two steps, as a model call
// is, and never twice without a step between. Test: test/tables/compacting.test.ts.
import { KernelError } from './errors.ts'
import { askForCall, spentMore } from './budgets.ts'
import { begun } from './calls.ts'
import { hold } from './holding.ts'
import { areRanges } from './ranges.ts'
import { holdByRate } from './rate-limits.ts'
import { terminate } from './release.ts'
import { isEnding } from './status.ts'
import type { Ack, Permit, Report } from './reports.ts'
import type { Process } from './types.ts'
import type { Work } from './work.ts'

type ReportOf<T extends Report['type']> = Extract<Report, { type: T }>

/** The share of the window from which on the context counts as nearly full. */
export const WARN_SHARE = 0.8

export function compactionStarted(work: Work, process: Process, report: ReportOf<'compaction.started'>): Ack | Permit {
  const { uuid, life, context, spec } = process
  if (spec.driver !== 'native') throw new KernelError('INVALID', 'the context of this agent is its own')
  if (life.state !== 'running' || isEnding(process)) return 'stop'
  if (life.holds.length > 0) return 'held'
  if (!isBetweenSteps(process, report.step) || context?.compacting === true) {
    throw new KernelError('INVALID', `the context cannot be compacted after step ${report.step}: step ${process.progress.step} is open, or it is being compacted`)
  }
  if (context?.compactedStep === report.step) {
    return full(work, process, 'it was compacted and is still too large; a model with a larger window could go on: stop it, then resume it with --model')
  }
  // A step that may not be taken needs no room: the summary would be paid for in vain.
  const permit = askForCall(work, process, { isNewStep: true, ask: report.ask })
  if ('ack' in permit) return permit
  const { ask: _, ...body } = report
  work.emit(uuid, { ...body, ...(permit.reserve ? { reserve: permit.reserve } : {}) })
  return begun(work, process, permit)
}

export function compactionFailed(work: Work, process: Process, { resumeAt, ...report }: ReportOf<'compaction.failed'>): Ack {
  if (process.context?.compacting !== true || process.progress.wholeStep !== report.step) return 'late'
  work.emit(process.uuid, report)
  spentMore(work, process.uuid)
  if (resumeAt !== undefined) return holdByRate(work, work.need(process.uuid), resumeAt)
  return report.retryInMs === null ? full(work, process, `it could not be compacted: ${report.error}`) : 'ok'
}

export function contextCompacted(work: Work, process: Process, report: ReportOf<'context.compacted'>): Ack {
  const { uuid, pid, seq, context, progress } = process
  if (context?.compacting !== true || progress.wholeStep !== report.step) return 'late'
  if (!areRanges(report.ranges, seq)) throw new KernelError('INVALID', `no parts of ${seq} facts: ${JSON.stringify(report.ranges)}`)
  work.emit(uuid, report)
  spentMore(work, uuid)
  work.effect({ type: 'checkpoint', uuid, pid })
  return 'ok'
}

/** No call to the model or to a tool is open, and `step` is the last one that is whole. */
function isBetweenSteps({ progress }: Process, step: number): boolean {
  return !progress.modelOpen && progress.openCalls.length === 0 && step === progress.wholeStep
}

/** Once each time that the context comes to fill so much of the window. */
export function warnOfContext(work: Work, before: Process): void {
  const after = work.need(before.uuid)
  if (shareOf(before) >= WARN_SHARE || shareOf(after) < WARN_SHARE) return
  work.emit(after.uuid, { type: 'limit.warned', limit: 'context', used: after.usage.contextTokens, of: after.context?.window ?? 0 })
}

function shareOf({ usage, context }: Process): number {
  return usage.contextTokens / (context?.window ?? Infinity)
}

function full(work: Work, process: Process, why: string): Ack {
  const { life, uuid } = process
  if (life.state !== 'running' || isEnding(process)) return 'stop'
  if (life.stopping) {
    terminate(work, work.need(uuid), life.stopping.exit)
    return 'stop'
  }
  hold(work, uuid, { reason: 'context-full', by: 'system', at: work.now.wall }, false)
  work.emit(uuid, { type: 'process.note', text: `the context is full: ${why}` })
  return 'held'
}
