// Closes interrupted calls. A model call is recorded as failed and charged by its estimate. A tool call that is not repeated gets the
// result `interrupted`, or an error if it had not begun. Calls are closed at the end of a turn, before a driver starts, and before a
// process ends. Tests: test/tables/kernel/decide/close-open-calls.test.ts, test/tables/kernel/state/unfinished-call.test.ts.
import { isExternal } from '../model/capabilities.ts'
import { unbegunCalls } from '../state/unbegun-calls.ts'
import { unfinishedCallUsage, expectedUsage } from '../state/unfinished-call.ts'
import type { OpenCall, Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Uuid } from '../model/ids.ts'
import type { CallUsage } from '../model/usage.ts'

/** The result that the model reads for a call with an unknown outcome. */
export const INTERRUPTED_CALL = 'interrupted; it may or may not have happened'
/** The result of a call that had not begun when its process ended. */
const UNBEGUN_CALL = 'not run: the process ended before this call began'

/** Closes the open calls of an earlier incarnation: the model call, and tool calls that may not run twice. `before`: its row. */
export function closeOpenWork(draft: DecisionDraft, before: Process): void {
  closeModelCall(draft, before.uuid)
  closeToolCalls(draft, before, 0)
}

/** Closes a summary call that the last incarnation left open. `before`: the row of that incarnation. */
export function closeCompaction(draft: DecisionDraft, before: Process): void {
  const {
    uuid,
    context,
    progress: { wholeStep: step },
  } = before
  if (context?.compacting === true)
    draft.emit(uuid, {
      type: 'compaction.failed',
      step,
      attempt: 1,
      error: 'interrupted',
      status: null,
      retryInMs: 0,
      ...interruptedUsage(before),
    })
}

/** After this many deaths of the daemon a call is not repeated, because it may be their cause. */
const MAX_DAEMON_DEATHS = 2

/**
 * Closes tool calls with an unknown outcome. Calls of a native agent that are repeatable or have not begun stay open. `before`: the row
 * before the next start, which drops the asks. `newDeaths`: number of deaths of the daemon that no fact records yet.
 */
export function closeToolCalls(draft: DecisionDraft, before: Process, newDeaths: 0 | 1): void {
  const unbegun = unbegunCalls(before)
  for (const call of before.progress.openCalls)
    if (!mayRepeatCall(before, call, newDeaths)) closeToolCall(draft, before.uuid, call, !unbegun.has(call.callId))
}

/** Whether the next incarnation makes an open call of this process again. `newDeaths`: as for `closeToolCalls`. */
export function mayRepeatCall(
  process: Pick<Process, 'spec' | 'life' | 'progress'>,
  { callId, effect, cuts = 0 }: OpenCall,
  newDeaths: 0 | 1 = 0,
): boolean {
  if (isExternal(process.spec)) return false
  return unbegunCalls(process).has(callId) || (effect !== 'once' && cuts + newDeaths < MAX_DAEMON_DEATHS)
}

/** Closes the open model call, because nothing waits for its answer. */
export function closeModelCall(draft: DecisionDraft, uuid: Uuid): void {
  const process = draft.mustGet(uuid)
  const { modelOpen, step, attempt } = process.progress
  if (modelOpen)
    draft.emit(uuid, {
      type: 'model.failed',
      step,
      attempt,
      error: 'interrupted',
      status: null,
      retryInMs: 0,
      ...interruptedUsage(process),
    })
}

function interruptedUsage(process: Process): { readonly usage?: CallUsage } {
  const usage = unfinishedCallUsage(process)
  return usage === null ? {} : { usage }
}

/** Closes one tool call as interrupted, or as not run if it has not begun. */
export function closeToolCall(
  draft: DecisionDraft,
  uuid: Uuid,
  call: { readonly callId: string; readonly name: string },
  hasBegun = true,
): void {
  const { step } = draft.mustGet(uuid).progress
  draft.emit(uuid, {
    type: 'tool.finished',
    step,
    callId: call.callId,
    name: call.name,
    outcome: hasBegun ? 'interrupted' : 'error',
    content: hasBegun ? INTERRUPTED_CALL : UNBEGUN_CALL,
    durationMs: 0,
  })
}

/** Closes all calls that have a reserve, and charges their estimates, because their ends will not be reported. */
export function closeReservedCalls(draft: DecisionDraft, uuid: Uuid): void {
  const process = draft.mustGet(uuid)
  if (process.progress.reserve) {
    if (process.context?.compacting === true) closeCompaction(draft, process)
    else closeModelCall(draft, uuid)
  }
  for (const { call, reserve } of process.calls ?? [])
    draft.emit(uuid, { type: 'call.finished', call, usage: expectedUsage(reserve), status: null, error: 'interrupted' })
}
