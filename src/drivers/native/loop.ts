// The tool loop of a turn: calls the model and runs the requested tools, until the model requests no tools. Each model call and
// each tool call is recorded as a fact, so there are no hidden retries. Before each call, the kernel may hold the process or
// end the turn.
// Test: test/processes/native/tool-loop.test.ts.
import { assistantText } from '../../kernel/state/assistant-text.ts'
import type { Report } from '../../kernel/model/reports.ts'
import { callModel } from './model-call.ts'
import type { StepAnswer } from './model-call.ts'
import { runCalls } from './tool-calls.ts'
import { compactIfFull } from './context/compaction.ts'
import type { ToolCall } from './context/context.ts'
import { raceAbort } from '../common/race-abort.ts'
import { TurnFailed, TurnRevoked, reportDurably } from './run-context.ts'
import type { Turn, RunContext } from './run-context.ts'

/** Runs a turn to its end. `openCalls` are tool calls of the last answer that must first run again. Rejects only for defects of reeve. */
export async function runTurn(run: RunContext, turn: Turn, openCalls: readonly ToolCall[]): Promise<void> {
  try {
    await takeSteps(run, turn, openCalls)
  } catch (error) {
    if (run.endSignal.aborted || error instanceof TurnRevoked) return
    const end = endReportOf(error, turn)
    if (end === null) throw error
    // The report is rejected only if the incarnation is ending.
    await reportDurably(run, end).catch(() => undefined)
  }
}

async function takeSteps(run: RunContext, turn: Turn, openCalls: readonly ToolCall[]): Promise<void> {
  turn.lastText = run.context.lastText
  await raceAbort(run.toolbox.ready(), turn.signal)
  run.model.beginTurn(turn.id)
  let unsent = await runCalls(run, turn, openCalls)
  if (run.context.isAnswered) return reportAll(run, [completedReport(turn)]) // the previous incarnation ended before it could report the turn's end
  for (;;) {
    const answer = await callModel(run, turn, await compactIfFull(run, turn, unsent))
    run.context.finishCall(answer.step, answer.message, answer.usage)
    const calls = run.context.openCalls
    const finished = finishedReport(run, answer, calls)
    turn.lastText = assistantText(answer.message) || turn.lastText
    if (calls.length === 0 && !run.context.hasUnreadMessages) return endTurn(run, turn, answer, finished)
    if ((await reportDurably(run, finished)) === 'late') throw new TurnRevoked()
    unsent = await runCalls(run, turn, calls)
  }
}

function finishedReport(run: RunContext, answer: StepAnswer, calls: readonly ToolCall[]): Report {
  const { step, message, usage, finish, durationMs, firstTokenMs } = answer
  const firstToken = firstTokenMs === undefined ? {} : { firstTokenMs }
  const effects = calls.map(({ callId, name }) => ({ callId, name, effect: run.toolbox.effect(name) }))
  return { type: 'model.finished', step, message, usage, finish, durationMs, ...firstToken, calls: effects }
}

/** Reports the answer and the end of the turn in one commit. */
async function endTurn(run: RunContext, turn: Turn, answer: StepAnswer, finished: Report): Promise<void> {
  const reports: Report[] = [finished]
  if (answer.finish === 'length')
    reports.push({ type: 'note', text: `step ${answer.step}: the answer was cut at the limit of output tokens` })
  if (answer.finish === 'content-filter')
    reports.push(failedReport(turn, `${run.model.ref}: the provider withheld the answer (content filter)`))
  else reports.push(completedReport(turn))
  await reportAll(run, reports)
}

async function reportAll(run: RunContext, reports: readonly Report[]): Promise<void> {
  await Promise.all(reports.map((report) => reportDurably(run, report)))
}

function completedReport(turn: Turn): Report {
  return { type: 'turn.ended', turn: turn.id, outcome: 'ok', result: turn.lastText }
}

/** The report for an interrupted or failed turn; null for a defect of reeve. */
function endReportOf(error: unknown, turn: Turn): Report | null {
  if (turn.signal.aborted) return { type: 'turn.ended', turn: turn.id, outcome: 'interrupted', result: turn.lastText }
  return error instanceof TurnFailed ? failedReport(turn, error.message) : null
}

function failedReport(turn: Turn, error: string): Report {
  return { type: 'turn.ended', turn: turn.id, outcome: 'error', error }
}
