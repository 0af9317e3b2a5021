// Runs the tool calls of one answer: reads in parallel, other calls one after another. Each call begins only while the process
// has no hold. Every call gets an outcome, and each outcome is reported. The reports of the last call are returned, because
// they share a commit with the next model call.
// Tests: test/processes/native/tool-loop.test.ts, test/processes/native/stop.test.ts.
import type { Report } from '../../kernel/model/reports.ts'
import type { ToolCall } from './context/context.ts'
import type { ToolCallResult } from './tools/toolbox.ts'
import { raceAbort } from '../common/race-abort.ts'
import { findDenial } from './permissions/approvals.ts'
import { waitUntilUnheld, reportDurably } from './run-context.ts'
import type { Turn, RunContext } from './run-context.ts'
import { truncate } from '../../kernel/util/truncate.ts'

/** The maximum number of reads that run at the same time. */
const MAX_PARALLEL_READS = 8
/** The longest part of a call's input that is shown while it is in flight, in characters. */
const MAX_SHOWN_CHARS = 80

const NOT_RUN: ToolCallResult = { outcome: 'error', content: 'not run: the turn was interrupted before this call began' }

/**
 * Runs the calls. Returns the unsent reports of the last call. Rejects when the turn is interrupted, after each call has got an outcome.
 * Rejects when the incarnation ends; open calls then stay open.
 */
export async function runCalls(run: RunContext, turn: Turn, calls: readonly ToolCall[]): Promise<readonly Report[]> {
  let callsLeft = calls.length
  let lastReports: readonly Report[] = []
  const runAndReport = async (call: ToolCall): Promise<void> => {
    const reports = await runCall(run, turn, call)
    callsLeft -= 1
    if (callsLeft === 0) lastReports = reports
    else await Promise.all(reports.map((report) => reportDurably(run, report)))
  }
  for (const group of groupCalls(run, calls)) await Promise.all(group.map(runAndReport))
  if (!turn.signal.aborted) return lastReports
  for (const report of lastReports) await reportDurably(run, report)
  throw turn.signal.reason
}

async function runCall(run: RunContext, turn: Turn, call: ToolCall): Promise<readonly Report[]> {
  const { refused, ranMs, ...result } = await runUnlessInterrupted(run, turn, call)
  const { callId } = call
  run.context.addResult({ callId, name: call.name, ...result })
  const finished: Report = { type: 'tool.finished', callId, ...result, durationMs: Math.round(ranMs) }
  return refused ? [{ type: 'refused', ...refused, callId }, finished] : [finished]
}

/**
 * Runs a call when the process has no hold, and its permissions allow it. An interruption before that gives the result `NOT_RUN`.
 * `ranMs`: the time of the call itself, without the wait for the end of a hold or for an answer.
 */
async function runUnlessInterrupted(run: RunContext, turn: Turn, call: ToolCall): Promise<ToolCallResult & { readonly ranMs: number }> {
  try {
    await waitUntilUnheld(run, turn)
    const denial = await findDenial(run, turn, call)
    if (denial) return { ...denial, ranMs: 0 }
  } catch (error) {
    if (run.endSignal.aborted || !turn.signal.aborted) throw error
    return { ...NOT_RUN, ranMs: 0 }
  }
  const startedAt = performance.now()
  run.inFlight.set(call.callId, truncate(`${call.name} ${JSON.stringify(call.input)}`, MAX_SHOWN_CHARS))
  const runningCall = run.toolbox.run(call, toolContext(run, turn, call)).finally(() => run.runningCalls.delete(runningCall))
  run.runningCalls.add(runningCall)
  try {
    return { ...(await raceAbort(runningCall, run.endSignal)), ranMs: performance.now() - startedAt }
  } finally {
    run.inFlight.delete(call.callId)
  }
}

function toolContext(run: RunContext, turn: Turn, call: ToolCall): Parameters<RunContext['toolbox']['run']>[1] {
  const { spec, containment } = run.launch
  const paths = spec.capabilities?.paths
  return {
    callId: call.callId,
    cwd: spec.cwd,
    ...(paths && { paths }),
    env: spec.env,
    containment,
    timers: run.timers,
    signal: turn.signal,
    endSignal: run.endSignal,
    output: (text) => run.kernel.showLive({ type: 'tool-output', callId: call.callId, text }),
  }
}

/** Groups adjacent reads. Each other call is a group by itself, so that the order of effects is kept. */
function groupCalls(run: RunContext, calls: readonly ToolCall[]): readonly (readonly ToolCall[])[] {
  const groups: ToolCall[][] = []
  let reads: ToolCall[] | null = null
  for (const call of calls) {
    const isRead = run.toolbox.effect(call.name) === 'read'
    if (isRead && reads !== null && reads.length < MAX_PARALLEL_READS) reads.push(call)
    else groups.push([call])
    reads = isRead ? (groups.at(-1) ?? null) : null
  }
  return groups
}
