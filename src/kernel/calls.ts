// Calls of an agent of others that go through the gateway: each is asked for before it begins, and charged when it has ended.
// Owns which of them are open; what they may cost is the business of limits.ts. Several may be open at once.
// Test: test/tables/calls.test.ts.
import { KernelError } from './errors.ts'
import { heldByBudget } from './limits.ts'
import { isEnding } from './status.ts'
import type { Ack, Permit, Report } from './reports.ts'
import type { CallUsage, OpenModelCall, Process, Uuid } from './types.ts'
import type { Work } from './work.ts'

type ReportOf<T extends Report['type']> = Extract<Report, { type: T }>

/** calls of one process that are open at the same time */
const MAX_OPEN_CALLS = 1_000

export function callStarted(work: Work, process: Process, { call, model, provider, ask }: ReportOf<'call.started'>): Ack | Permit {
  const { uuid, life, calls = [] } = process
  if (life.state !== 'running' || isEnding(process)) return { ack: 'stop', reason: 'the process is being stopped' }
  if (life.holds.length > 0) return { ack: 'held', reason: process.note }
  if (calls.some((open) => open.call === call)) throw new KernelError('INVALID', `call ${call} is open already`)
  if (calls.length >= MAX_OPEN_CALLS) throw new KernelError('RESOURCE_EXHAUSTED', `${MAX_OPEN_CALLS} calls are open already`)
  const held = heldByBudget(work, process)
  if (held !== null) return { ack: held, reason: work.need(uuid).note }
  work.emit(uuid, { type: 'call.started', call, model, provider, reserve: ask })
  return { ack: 'go', maxOutputTokens: ask.maxOutputTokens }
}

export function callFinished(work: Work, process: Process, report: ReportOf<'call.finished'>): Ack {
  if (!process.calls?.some(({ call }) => call === report.call)) return 'late'
  work.emit(process.uuid, report)
  return 'ok'
}

/** Nobody has seen how they ended, or will: each is charged by its estimate, once. */
export function closeGatewayCalls(work: Work, uuid: Uuid): void {
  for (const open of work.need(uuid).calls ?? []) {
    work.emit(uuid, { type: 'call.finished', call: open.call, usage: estimateOf(open), status: null, error: 'interrupted' })
  }
}

function estimateOf({ reserve: { inputTokens, usd } }: OpenModelCall): CallUsage {
  return { inputTokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: usd === null ? null : inputTokens * usd.perInputToken, estimated: true }
}
