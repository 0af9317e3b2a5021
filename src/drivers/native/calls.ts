// Runs the tool calls of one answer: those that only read side by side, others one after another, each after the gate.
// Every call gets an end, and each end is a report. The last report is handed back, to be said with the next question.
// Tests: test/e2e/native.test.ts, test/e2e/native-stop.test.ts.
import type { Report } from '../../kernel/reports.ts'
import type { ToolCall } from './context.ts'
import type { CallEnd } from './tools/toolbox.ts'
import { abortable, gate, say } from './work.ts'
import type { Turn, Work } from './work.ts'

/** Reading calls that run at the same time. */
const MAX_PARALLEL_READS = 8
/** How much of a call's input is shown when it is in flight, in characters. */
const MAX_SHOWN_CHARS = 80

const NOT_RUN: CallEnd = { outcome: 'error', content: 'not run: the turn was interrupted before this call began' }

/** Rejects when the turn is interrupted (each call then has its end) or the incarnation ends (open calls stay open). */
export async function runCalls(work: Work, turn: Turn, calls: readonly ToolCall[]): Promise<readonly Report[]> {
  let left = calls.length
  let last: readonly Report[] = []
  const run = async (call: ToolCall): Promise<void> => {
    const reports = await runCall(work, turn, call)
    left -= 1
    if (left === 0) last = reports
    else await Promise.all(reports.map((report) => say(work, report)))
  }
  for (const group of groups(work, calls)) await Promise.all(group.map(run))
  if (!turn.signal.aborted) return last
  for (const report of last) await say(work, report)
  throw turn.signal.reason
}

async function runCall(work: Work, turn: Turn, call: ToolCall): Promise<readonly Report[]> {
  const since = performance.now()
  const { refused, ...end } = await runOrRefuse(work, turn, call)
  const { callId } = call
  work.context.result({ callId, name: call.name, ...end })
  const finished: Report = { type: 'tool.finished', callId, ...end, durationMs: Math.round(performance.now() - since) }
  return refused ? [{ type: 'refused', ...refused, callId }, finished] : [finished]
}

async function runOrRefuse(work: Work, turn: Turn, call: ToolCall): Promise<CallEnd> {
  try {
    await gate(work, turn)
  } catch (error) {
    if (work.ending.aborted || !turn.signal.aborted) throw error
    return NOT_RUN
  }
  work.inFlight.set(call.callId, `${call.name} ${JSON.stringify(call.input)}`.slice(0, MAX_SHOWN_CHARS))
  const running = work.toolbox.run(call, toolContext(work, turn, call)).finally(() => work.running.delete(running))
  work.running.add(running)
  try {
    return await abortable(running, work.ending)
  } finally {
    work.inFlight.delete(call.callId)
  }
}

function toolContext(work: Work, turn: Turn, call: ToolCall): Parameters<Work['toolbox']['run']>[1] {
  const { spec, containment } = work.launch
  const places = spec.capabilities?.paths
  return {
    callId: call.callId, cwd: spec.cwd, ...(places && { places }), env: spec.env, containment, freezer: work.freezer, signal: turn.signal, ending: work.ending,
    output: (text) => work.kernel.live({ type: 'tool-output', callId: call.callId, text }),
  }
}

/** Reads that stand together form a group; any other call is one of its own, so that the order of effects is kept. */
function groups(work: Work, calls: readonly ToolCall[]): readonly (readonly ToolCall[])[] {
  const result: ToolCall[][] = []
  let reads: ToolCall[] | null = null
  for (const call of calls) {
    const isRead = work.toolbox.effect(call.name) === 'read'
    if (isRead && reads !== null && reads.length < MAX_PARALLEL_READS) reads.push(call)
    else result.push([call])
    reads = isRead ? result.at(-1) ?? null : null
  }
  return result
}
