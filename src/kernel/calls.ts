// Calls of an agent of others that go through the gateway: each is asked for before it begins, and charged when it has ended.
// Owns which of them are open, and that what is metered there is not counted a second time when the agent tells of it.
// Test: test/tables/calls.test.ts.
import { askForCall, spentMore, wakeWaiting } from './budgets.ts'
import { KernelError } from './errors.ts'
import { accountsOver, goesRound } from './limits.ts'
import { isEnding } from './status.ts'
import type { Granted } from './limits.ts'
import type { Ack, Permit, Report } from './reports.ts'
import type { CallUsage, Process } from './types.ts'
import type { Work } from './work.ts'

type ReportOf<T extends Report['type']> = Extract<Report, { type: T }>

/** calls of one process that are open at the same time */
const MAX_OPEN_CALLS = 1_000

const ROUND = 'it calls its models round the gateway: what it says itself is counted'
const NOTHING: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

export function callStarted(work: Work, process: Process, { call, model, provider, ask }: ReportOf<'call.started'>): Ack | Permit {
  const { uuid, life, calls = [] } = process
  if (life.state !== 'running' || isEnding(process)) return { ack: 'stop', reason: 'the process is being stopped' }
  if (life.holds.length > 0) return { ack: 'held', reason: whyHeld(process) }
  if (calls.some((open) => open.call === call)) throw new KernelError('INVALID', `call ${call} is open already`)
  if (calls.length >= MAX_OPEN_CALLS) throw new KernelError('RESOURCE_EXHAUSTED', `${MAX_OPEN_CALLS} calls are open already`)
  const permit = askForCall(work, process, { isNewStep: false, ask })
  if ('ack' in permit) return permit
  const { maxOutputTokens } = permit
  work.emit(uuid, { type: 'call.started', call, model, provider, reserve: permit.reserve ?? ask })
  return begun(work, process, { ...permit, maxOutputTokens })
}

function whyHeld({ life, note }: Process): string {
  const reasons = life.state === 'running' ? life.holds.map(({ reason }) => reason) : []
  return reasons.includes('budget') && note !== null ? note : `the process is paused: ${reasons.join(', ')}`
}

/** Who waited for what this call did not take goes on. */
export function begun(work: Work, process: Process, { maxOutputTokens, reserve }: Granted): Permit | 'go' {
  if (reserve) wakeWaiting(work, accountsOver(work, process))
  return maxOutputTokens === null ? 'go' : { ack: 'go', maxOutputTokens }
}

export function callFinished(work: Work, process: Process, report: ReportOf<'call.finished'>): Ack {
  if (!process.calls?.some(({ call }) => call === report.call)) return 'late'
  work.emit(process.uuid, report)
  warnOfCount(work, process, report.usage)
  spentMore(work, process.uuid)
  return 'ok'
}

/** What an agent says itself that it used, as far as nobody else counts it. */
export function counted(process: Process, usage: CallUsage): CallUsage {
  return goesRound(process) || !process.metered ? usage : NOTHING
}

/** How full its context is only the agent knows. */
export function noteContext(work: Work, process: Process, { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: CallUsage): void {
  const { uuid, metered, usage: before } = process
  const contextTokens = inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens
  if (metered && !goesRound(process) && contextTokens > 0 && contextTokens !== before.contextTokens) work.emit(uuid, { type: 'usage.reported', usage: NOTHING, contextTokens })
}

/** What has just been counted of an agent of others: a price that nobody knows, or calls that nobody saw. */
export function warnOfCount(work: Work, process: Process, call: CallUsage): void {
  const { uuid, usage, spec, note } = process
  if (goesRound(process) && call.inputTokens + call.outputTokens > 0 && note !== ROUND) work.emit(uuid, { type: 'process.note', text: ROUND })
  if (call.costUsd !== null || usage.unpriced || spec.limits.budgetUsd === undefined) return
  work.emit(uuid, { type: 'process.note', text: 'budget: the price of this model is not known, so that its calls do not count; a budget of tokens would hold' })
}
