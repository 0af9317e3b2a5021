// Gateway calls of an external agent: each is requested before it begins, and charged when it has ended. Must never count metered usage
// again when the agent reports it. Test: test/tables/kernel/decide/limits/gateway-calls.test.ts.
import { beginGrantedCall, requestCall, enforceLimitsAfterUsage } from './enforce-limits.ts'
import { KernelError } from '../../model/errors.ts'
import { mayBypassGateway } from '../../state/limits.ts'
import { configuredBudgets } from '../../state/home.ts'
import { isEnding } from '../../model/status.ts'
import type { Ack, CallGrant, ReportOf } from '../../model/reports.ts'
import type { Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'
import type { CallUsage } from '../../model/usage.ts'

/** maximum number of open calls per process */
const MAX_OPEN_CALLS = 1_000

const BYPASS_NOTE = 'the agent does not call its models through the gateway, so its own usage reports are counted'
const ZERO_USAGE: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

/** Grants or refuses a gateway call. Errors: INVALID, RESOURCE_EXHAUSTED. */
export function grantGatewayCall(
  draft: DecisionDraft,
  process: Process,
  { call, model, provider, ask }: ReportOf<'call.started'>,
): Ack | CallGrant {
  const { uuid, life, calls = [] } = process
  if (life.state !== 'running' || isEnding(process)) return { ack: 'stop', reason: 'the process is being stopped' }
  if (life.holds.length > 0) return { ack: 'held', reason: holdReasonText(process) }
  if (calls.some((open) => open.call === call)) throw new KernelError('INVALID', `call ${call} is already open`)
  if (calls.length >= MAX_OPEN_CALLS) throw new KernelError('RESOURCE_EXHAUSTED', `${MAX_OPEN_CALLS} calls are already open`)
  const grant = requestCall(draft, process, { isNewStep: false, estimate: ask })
  if ('ack' in grant) return grant
  draft.emit(uuid, { type: 'call.started', call, model, provider, reserve: grant.reserve ?? ask })
  return beginGrantedCall(draft, process, grant)
}

function holdReasonText({ life, note }: Process): string {
  const reasons = life.state === 'running' ? life.holds.map(({ reason }) => reason) : []
  return reasons.includes('budget') && note !== null ? note : `the process is paused: ${reasons.join(', ')}`
}

/** Records the end of a gateway call, and charges it. */
export function chargeGatewayCall(draft: DecisionDraft, process: Process, report: ReportOf<'call.finished'>): Ack {
  if (!process.calls?.some(({ call }) => call === report.call)) return 'late'
  draft.emit(process.uuid, report)
  recordMeteringGaps(draft, process, report.usage)
  enforceLimitsAfterUsage(draft, process.uuid)
  return 'ok'
}

/** The usage that an agent reports itself, or zero if the gateway already counts it. */
export function uncountedUsage(process: Process, usage: CallUsage): CallUsage {
  return mayBypassGateway(process) || !process.metered ? usage : ZERO_USAGE
}

/** Records the size of the context from a metered agent's report, because the gateway does not know it. */
export function recordContextSize(
  draft: DecisionDraft,
  process: Process,
  { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: CallUsage,
): void {
  const { uuid, metered, usage: before } = process
  const contextTokens = inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
  if (metered && !mayBypassGateway(process) && contextTokens > 0 && contextTokens !== before.contextTokens)
    draft.emit(uuid, { type: 'usage.reported', usage: ZERO_USAGE, contextTokens })
}

/** Notes why usage of an agent is not fully counted: a call had no known price, or calls bypass the gateway. */
export function recordMeteringGaps(draft: DecisionDraft, process: Process, call: CallUsage): void {
  const { uuid, usage, spec, note } = process
  if (mayBypassGateway(process) && (call.inputTokens + call.outputTokens > 0 || process.progress.step > 0) && note !== BYPASS_NOTE)
    draft.emit(uuid, { type: 'process.note', text: BYPASS_NOTE })
  const hasBudget = spec.limits.budgetUsd !== undefined || configuredBudgets(draft.home).length > 0
  if (call.costUsd !== null || usage.unpriced || !hasBudget) return
  draft.emit(uuid, {
    type: 'process.note',
    text: 'budget: the price of this model is not known, so its calls do not count; a budget of tokens would work',
  })
}
