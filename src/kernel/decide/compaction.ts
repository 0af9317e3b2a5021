// Compaction: when a native agent may summarize its context, and what happens if that fails. Adds the hold `context-full`, and warns before
// it. A compaction is requested between two steps, and at most once between them. Test: test/tables/kernel/decide/compaction.test.ts.
import { CAPABILITIES } from '../model/capabilities.ts'
import { KernelError } from '../model/errors.ts'
import { beginGrantedCall, requestCall, enforceLimitsAfterUsage } from './limits/enforce-limits.ts'
import { addHold } from './holds/add-hold.ts'
import { areValidRanges } from '../model/context.ts'
import { holdForAccount } from './limits/refused-keys.ts'
import { holdForRateLimit } from './limits/rate-limits.ts'
import { terminate } from './release.ts'
import { isEnding } from '../model/status.ts'
import type { Ack, CallGrant, ReportOf } from '../model/reports.ts'
import type { Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'

/** The context counts as nearly full above this share of its window, less the tokens that are kept free for an answer. */
export const WARN_SHARE = 0.8

/** Grants or refuses a call that summarizes the context. Errors: INVALID for an external agent, or during a step. */
export function grantCompaction(draft: DecisionDraft, process: Process, report: ReportOf<'compaction.started'>): Ack | CallGrant {
  const { uuid, life, context, spec } = process
  if (!CAPABILITIES[spec.driver].recordsContext) throw new KernelError('INVALID', 'this agent manages its context itself')
  if (life.state !== 'running' || isEnding(process)) return 'stop'
  if (life.holds.length > 0) return 'held'
  if (!isBetweenSteps(process, report.step) || context?.compacting === true) {
    throw new KernelError(
      'INVALID',
      `the context cannot be compacted after step ${report.step}: step ${process.progress.step} is open, or it is being compacted`,
    )
  }
  if (context?.compactedStep === report.step) {
    return holdForFullContext(
      draft,
      process,
      'it was compacted and is still too large. A model with a larger window can continue: stop the process, then resume it with --model',
    )
  }
  // Without room for a further step the summary would be of no use.
  const grant = requestCall(draft, process, { isNewStep: true, estimate: report.ask })
  if ('ack' in grant) return grant
  const { ask: _, ...body } = report
  draft.emit(uuid, { ...body, ...(grant.reserve ? { reserve: grant.reserve } : {}) })
  return beginGrantedCall(draft, process, grant)
}

/** Records a failed attempt, and suspends the process if no other attempt follows. */
export function recordFailedCompaction(
  draft: DecisionDraft,
  process: Process,
  { resumeAt, account, ...report }: ReportOf<'compaction.failed'>,
): Ack {
  if (process.context?.compacting !== true || process.progress.wholeStep !== report.step) return 'late'
  draft.emit(process.uuid, report)
  enforceLimitsAfterUsage(draft, process.uuid)
  if (account) return holdForAccount(draft, draft.mustGet(process.uuid), report.error)
  if (resumeAt !== undefined) return holdForRateLimit(draft, draft.mustGet(process.uuid), resumeAt)
  return report.retryInMs === null ? holdForFullContext(draft, process, `it could not be compacted: ${report.error}`) : 'ok'
}

/** Records the new context. Errors: INVALID for ranges that the journal does not have. */
export function recordCompaction(draft: DecisionDraft, process: Process, report: ReportOf<'context.compacted'>): Ack {
  const { uuid, pid, seq, context, progress } = process
  if (context?.compacting !== true || progress.wholeStep !== report.step) return 'late'
  if (!areValidRanges(report.ranges, seq))
    throw new KernelError('INVALID', `the ranges do not fit a journal of ${seq} facts: ${JSON.stringify(report.ranges)}`)
  draft.emit(uuid, report)
  enforceLimitsAfterUsage(draft, uuid)
  draft.addEffect({ type: 'checkpoint', uuid, pid })
  return 'ok'
}

/** True when no model or tool call is open, and `step` is the last complete step. */
function isBetweenSteps({ progress }: Process, step: number): boolean {
  return !progress.modelOpen && progress.openCalls.length === 0 && step === progress.wholeStep
}

/** Warns when the context has become nearly full. */
export function warnOfNearlyFullContext(draft: DecisionDraft, before: Process): void {
  const after = draft.mustGet(before.uuid)
  if (isNearlyFull(before) || !isNearlyFull(after)) return
  draft.emit(after.uuid, { type: 'limit.warned', limit: 'context', used: after.usage.contextTokens, of: contextRoom(after) })
}

/** True above the warning mark. The driver compacts at a higher mark, so that the warning comes first. */
function isNearlyFull({ usage, context }: Process): boolean {
  return usage.contextTokens >= WARN_SHARE * (context?.window ?? Infinity) - (context?.answer ?? 0)
}

/** The tokens of the window that are not kept free for an answer. */
function contextRoom({ context }: Process): number {
  return (context?.window ?? Infinity) - (context?.answer ?? 0)
}

/** Suspends a process whose context is full, or ends it if it wraps up. */
function holdForFullContext(draft: DecisionDraft, process: Process, why: string): Ack {
  const { life, uuid } = process
  if (life.state !== 'running' || isEnding(process)) return 'stop'
  if (life.stopping) {
    terminate(draft, draft.mustGet(uuid), life.stopping.exit)
    return 'stop'
  }
  addHold(draft, uuid, { reason: 'context-full', by: 'system', at: draft.now.wall }, false)
  draft.emit(uuid, { type: 'process.note', text: `the context is full: ${why}` })
  return 'held'
}
