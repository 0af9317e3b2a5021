// Work that was cut off is closed: a call to the model is void and charged by what is known, a tool that may not run twice gets
// its honest answer. Owns the facts of that; said before a driver goes on, and at an end.
// Tests: test/tables/spawning.test.ts, test/tables/cut-off.test.ts.
import { isExternal } from './capabilities.ts'
import { cutOffUsage, expected } from './cut-off.ts'
import type { CallUsage, Process, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** What the model reads for a call whose outcome nobody knows. */
export const INTERRUPTED_CALL = 'interrupted; it may or may not have happened'

/** What an earlier incarnation left open: a model call is void; a call that may not run twice gets its honest answer. */
export function closeOpenWork(work: Work, uuid: Uuid): void {
  closeModelCall(work, uuid)
  closeCalls(work, uuid)
}

/** The last incarnation ended while it waited for a summary. */
export function closeSummary(work: Work, before: Process): void {
  const { uuid, context, progress: { wholeStep: step } } = before
  if (context?.compacting === true) work.emit(uuid, { type: 'compaction.failed', step, attempt: 1, error: 'interrupted', status: null, retryInMs: 0, ...charged(before) })
}

/** Nobody knows whether they happened: only those that may run twice, and that we run, stay open. */
export function closeCalls(work: Work, uuid: Uuid): void {
  const { progress, spec } = work.need(uuid)
  for (const call of progress.openCalls) {
    if (call.effect === 'once' || isExternal(spec)) closeCall(work, uuid, call)
  }
}

/** Nobody waits for the answer of the open model call any more. */
export function closeModelCall(work: Work, uuid: Uuid): void {
  const process = work.need(uuid)
  const { modelOpen, step, attempt } = process.progress
  if (modelOpen) work.emit(uuid, { type: 'model.failed', step, attempt, error: 'interrupted', status: null, retryInMs: 0, ...charged(process) })
}

function charged(process: Process): { readonly usage?: CallUsage } {
  const usage = cutOffUsage(process)
  return usage === null ? {} : { usage }
}

export function closeCall(work: Work, uuid: Uuid, call: { readonly callId: string; readonly name: string }): void {
  const { step } = work.need(uuid).progress
  work.emit(uuid, { type: 'tool.finished', step, callId: call.callId, name: call.name, outcome: 'interrupted', content: INTERRUPTED_CALL, durationMs: 0 })
}

/** What limits have reserved for calls whose end nobody will see is charged instead: once, as the call is closed with it. */
export function closeReserved(work: Work, uuid: Uuid): void {
  const process = work.need(uuid)
  if (process.progress.reserve) {
    if (process.context?.compacting === true) closeSummary(work, process)
    else closeModelCall(work, uuid)
  }
  for (const { call, reserve } of process.calls ?? []) work.emit(uuid, { type: 'call.finished', call, usage: expected(reserve), status: null, error: 'interrupted' })
}
