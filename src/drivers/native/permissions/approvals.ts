// Lets a tool call run only if the process's permissions allow it, or the user does. The kernel records each question and its
// answer. A pause does not wait for an open question. Test: test/e2e/native/permissions.test.ts.
import { raceAbort } from '../../common/race-abort.ts'
import type { ToolCall } from '../context/context.ts'
import { reportDurably, waitUntilUnheld } from '../run-context.ts'
import type { RunContext, Turn } from '../run-context.ts'
import type { ToolCallResult } from '../tools/toolbox.ts'
import { evidenceOf } from './evidence.ts'
import { planOf, planningDenial, planOptions } from './plan.ts'
import { subjectOf } from './questions.ts'
import type { OpenQuestions, Reply } from './questions.ts'

/**
 * Returns null if the call may run, and otherwise the result that the model reads. Waits for the user's answer where the permissions
 * ask. Rejects when the turn is interrupted.
 */
export async function findDenial(run: RunContext, turn: Turn, call: ToolCall): Promise<ToolCallResult | null> {
  const plan = run.policy.isPlanning ? planOf(call) : null
  if (plan !== null) return askAboutPlan(run, turn, call, plan)
  if (!run.toolbox.needsPermission(call.name)) return null
  const isRead = run.toolbox.effect(call.name) === 'read'
  const decision = await run.policy.decide(call, isRead)
  if (decision === 'deny')
    return denied(run.policy.isPlanning && !isRead ? planningDenial(subjectOf(call)) : `a rule of this process denies ${subjectOf(call)}`)
  if (decision === 'allow') return null
  const reply = await askUser(run, turn, run.questions.open(call, { evidence: await evidenceOf(run, call) }))
  if (typeof reply === 'string') return denied(reply)
  return reply.option === 'allow' ? null : denied(`the user denied this call${reply.text === null ? '' : `: ${reply.text}`}`)
}

/** Asks the user about a plan. The kernel has recorded the new permissions before the agent gets the approval. */
async function askAboutPlan(run: RunContext, turn: Turn, call: ToolCall, text: string): Promise<ToolCallResult | null> {
  const reply = await askUser(run, turn, run.questions.open(call, { plan: { text, options: planOptions(run.launch.spec) } }))
  if (typeof reply === 'string') return denied(reply)
  const { option, text: reason } = reply
  if (option !== 'allow' && option !== 'ask')
    return denied(`the user did not approve the plan${reason === null ? '' : `: ${reason}`}\nGo on planning, and present a new plan.`)
  run.policy.endPlanning(option)
  return null
}

/** Waits for the answer to a question. Returns the reason as a text if the user could not be asked. */
async function askUser(run: RunContext, turn: Turn, { ask, reply, close }: ReturnType<OpenQuestions['open']>): Promise<Reply | string> {
  let isAnswered = false
  try {
    if ((await reportDurably(run, { type: 'waiting', ask })) !== 'ok') return 'the user could not be asked'
    const answer = await waitForReply(run, turn, reply)
    isAnswered = true
    // The answer may have come together with a pause.
    await waitUntilUnheld(run, turn)
    return answer
  } finally {
    close()
    if (!isAnswered && !run.endSignal.aborted) {
      const withdrawn = reportDurably(run, { type: 'unasked', id: ask.id })
      // This report fails only if the incarnation ends, and then its questions end, too.
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
