// The tool loop: ask the model, run what it asked for, ask again, until it asks for nothing. No hidden retries: every
// model call and every tool call is a fact, and the kernel may hold or end the work before each.
// Test: test/e2e/native.test.ts.
import { textOf } from '../../kernel/message.ts'
import type { Report } from '../../kernel/reports.ts'
import { ask } from './ask.ts'
import type { Asked } from './ask.ts'
import { runCalls } from './calls.ts'
import { makeRoom } from './compact.ts'
import type { ToolCall } from './context.ts'
import { TurnFailed, TurnOver, abortable, say } from './work.ts'
import type { Turn, Work } from './work.ts'

/** Runs a turn to its end. `open` are calls of the last answer that run again first. Rejects for defects only. */
export async function runTurn(work: Work, turn: Turn, open: readonly ToolCall[]): Promise<void> {
  try {
    await takeSteps(work, turn, open)
  } catch (error) {
    if (work.ending.aborted || error instanceof TurnOver) return
    const end = endOf(error, turn)
    if (end === null) throw error
    await say(work, end).catch(() => undefined) // it may end in this moment
  }
}

async function takeSteps(work: Work, turn: Turn, open: readonly ToolCall[]): Promise<void> {
  turn.lastText = work.context.lastText
  await abortable(work.toolbox.ready(), turn.signal)
  work.model.begin(turn.id)
  let unsaid = await runCalls(work, turn, open)
  if (work.context.answered) return sayAll(work, [done(turn)]) // all was there but the word that the turn has ended
  for (;;) {
    const asked = await ask(work, turn, await makeRoom(work, turn, unsaid))
    work.context.finished(asked.step, asked.message, asked.usage)
    const calls = work.context.openCalls
    const finished = finishedReport(work, asked, calls)
    turn.lastText = textOf(asked.message) || turn.lastText
    if (calls.length === 0 && !work.context.unread) return endTurn(work, turn, asked, finished)
    if ((await say(work, finished)) === 'late') throw new TurnOver()
    unsaid = await runCalls(work, turn, calls)
  }
}

function finishedReport(work: Work, asked: Asked, calls: readonly ToolCall[]): Report {
  const { step, message, usage, finish, durationMs } = asked
  const effects = calls.map(({ callId, name }) => ({ callId, name, effect: work.toolbox.effect(name) }))
  return { type: 'model.finished', step, message, usage, finish, durationMs, calls: effects }
}

/** The answer and the end of the turn share a commit. */
async function endTurn(work: Work, turn: Turn, asked: Asked, finished: Report): Promise<void> {
  const reports: Report[] = [finished]
  if (asked.finish === 'length') reports.push({ type: 'note', text: `step ${asked.step}: the answer was cut at the limit of output tokens` })
  if (asked.finish === 'content-filter') reports.push(failed(turn, `${work.model.ref}: the provider withheld the answer (content filter)`))
  else reports.push(done(turn))
  await sayAll(work, reports)
}

async function sayAll(work: Work, reports: readonly Report[]): Promise<void> {
  await Promise.all(reports.map((report) => say(work, report)))
}

function done(turn: Turn): Report {
  return { type: 'turn.ended', turn: turn.id, outcome: 'ok', result: turn.lastText }
}

function endOf(error: unknown, turn: Turn): Report | null {
  if (turn.signal.aborted) return { type: 'turn.ended', turn: turn.id, outcome: 'interrupted', result: turn.lastText }
  return error instanceof TurnFailed ? failed(turn, error.message) : null
}

function failed(turn: Turn, error: string): Report {
  return { type: 'turn.ended', turn: turn.id, outcome: 'error', error }
}
