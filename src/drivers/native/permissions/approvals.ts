// Lets a tool call run only if the process's permissions allow it, or the user does. The kernel records each question and its
// answer. A pause goes on beside an open question. Test: test/e2e/native/permissions.test.ts.
import { raceAbort } from '../../common/race-abort.ts'
import type { ToolCall } from '../context/context.ts'
import { reportDurably, waitUntilUnheld } from '../run-context.ts'
import type { RunContext, Turn } from '../run-context.ts'
import type { ToolCallResult } from '../tools/toolbox.ts'
import { subjectOf } from './questions.ts'
import type { Reply } from './questions.ts'

/**
 * Returns null if the call may run, and otherwise the result that the model reads. Waits for the user's answer where the permissions
 * ask. Rejects when the turn is interrupted.
 */
export async function findDenial(run: RunContext, turn: Turn, call: ToolCall): Promise<ToolCallResult | null> {
  if (!run.toolbox.needsPermission(call.name)) return null
  const decision = await run.policy.decide(call)
  if (decision === 'deny') return denied(`a rule of this process denies ${subjectOf(call)}`)
  return decision === 'allow' ? null : askUser(run, turn, call)
}

async function askUser(run: RunContext, turn: Turn, call: ToolCall): Promise<ToolCallResult | null> {
  const { ask, reply, close } = run.questions.open(call)
  let isAnswered = false
  try {
    if ((await reportDurably(run, { type: 'waiting', ask })) !== 'ok') return denied('the user could not be asked')
    const { option, text } = await waitForReply(run, turn, reply)
    isAnswered = true
    // The answer may have come together with a pause.
    await waitUntilUnheld(run, turn)
    return option === 'allow' ? null : denied(`the user denied this call${text === null ? '' : `: ${text}`}`)
  } finally {
    close()
    if (!isAnswered && !run.endSignal.aborted) {
      const withdrawn = reportDurably(run, { type: 'unasked', id: ask.id })
      // It fails only if the incarnation ends, and then its questions end with it.
      await withdrawn.catch(() => undefined)
    }
  }
}

/** Waits for the answer. During a pause, the agent has nothing in flight, which `waitUntilUnheld` reports. */
async function waitForReply(run: RunContext, turn: Turn, reply: Promise<Reply>): Promise<Reply> {
  for (;;) {
    // Only the beginning of a pause rejects.
    const untilPause = raceAbort(reply, run.pauseSignal()).catch(() => null)
    const found = await raceAbort(untilPause, turn.signal)
    if (found !== null) return found
    await waitUntilUnheld(run, turn)
    await raceAbort(run.pauseGate.waitUntilOpen(), turn.signal)
  }
}

function denied(content: string): ToolCallResult {
  return { outcome: 'denied', content }
}
