// One step's question to the model: each attempt is asked for at the gate and is a fact; a failed one says so and waits,
// or another model goes on. A repeated question repeats no tool.
// Tests: test/e2e/native-models.test.ts, test/e2e/native-fallback.test.ts.
import type { Report } from '../../kernel/reports.ts'
import { backOff } from './back-off.ts'
import { shorten } from './compact.ts'
import { CallFailed } from './model.ts'
import type { Answer, ModelRequest } from './model.ts'
import { limitEnd, retryDelay } from './retry.ts'
import { expectedCost } from './cost.ts'
import { TurnFailed, TurnOver, askToBegin, gate, say } from './work.ts'
import type { Turn, Work } from './work.ts'

/** How much of a provider's words a note repeats, in characters. */
const MAX_QUOTED_CHARS = 200
/** A model that asks for a longer wait is left, if there is another one; in ms. */
const MAX_WAIT_MS = 60_000

export interface Asked extends Answer {
  readonly step: number
  readonly durationMs: number
}

/** `before` is what is still to be said of the step before: it shares a commit with the first question. */
export async function ask(work: Work, turn: Turn, before: readonly Report[]): Promise<Asked> {
  const step = work.context.step + 1
  const tries: Tries = { ofModel: 0, failures: [] }
  for (let attempt = 1; ; attempt += 1) {
    const maxOutputTokens = await begin(work, turn, { step, attempt, before: attempt === 1 ? before : [] })
    const since = performance.now()
    try {
      const answer = await call(work, turn, { step, attempt, maxOutputTokens })
      return { ...answer, step, durationMs: Math.round(performance.now() - since) }
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error
      if (error.kind === 'too-long' && !turn.signal.aborted) {
        await shorten(work, turn, failedReport({ step, attempt, failure: error }, 0))
        continue
      }
      tries.ofModel += 1
      await retryOrGoOver(work, turn, { step, attempt, failure: error }, tries)
    }
  }
}

interface Attempt {
  readonly step: number
  readonly attempt: number
}

interface Failed extends Attempt {
  readonly failure: CallFailed
}

/** Of one step. */
interface Tries {
  /** of the model that is asked now */
  ofModel: number
  /** why the models before it, and those that were passed by, could not answer */
  readonly failures: string[]
}

/** Asks the kernel until it says `go`, and how long the answer may be; what came before is said in the same go, if nothing holds us back. */
async function begin(work: Work, turn: Turn, asked: Attempt & { readonly before: readonly Report[] }): Promise<number | null> {
  const { step, attempt } = asked
  let before = asked.before
  for (;;) {
    if (before.length === 0 || work.isPaused()) {
      for (const report of before) await say(work, report)
      before = []
      await gate(work, turn)
    }
    const cost = await expectedCost(work)
    const said = before.map((report) => say(work, report))
    const [permit] = await Promise.all([askToBegin(work, { type: 'model.started', step, attempt, model: work.model.ref, ...cost }), ...said])
    before = []
    if (permit.ack === 'go') {
      work.context.asking()
      return permit.maxOutputTokens
    }
    if (permit.ack !== 'held') throw new TurnOver()
  }
}

async function call(work: Work, turn: Turn, { step, attempt, maxOutputTokens }: Attempt & { readonly maxOutputTokens: number | null }): Promise<Answer> {
  const request: ModelRequest = {
    step, attempt, system: work.launch.spec.system, context: work.context, signal: turn.signal, maxOutputTokens,
    offered: () => work.toolbox.offered(),
    onText: (text) => work.kernel.live({ type: 'text', step, text }),
    onReasoning: (text) => work.kernel.live({ type: 'reasoning', step, text }),
  }
  work.inFlight.set('model', `the model call of step ${step}`)
  try {
    return await work.model.call(request)
  } finally {
    work.inFlight.delete('model')
  }
}

/** Says what failed. Then waits for the next attempt, or hands over to another model, or gives up. */
async function retryOrGoOver(work: Work, turn: Turn, failed: Failed, tries: Tries): Promise<void> {
  work.context.unanswered()
  const delayMs = turn.signal.aborted ? null : delayOf(work, failed.failure, tries.ofModel)
  if (delayMs === null) return goOver(work, turn, failed, tries)
  await say(work, failedReport(failed, delayMs))
  turn.signal.throwIfAborted()
  await backOff(work, turn, delayMs)
}

function delayOf(work: Work, failure: CallFailed, triesOfModel: number): number | null {
  const delayMs = retryDelay(work.retry, triesOfModel, failure, Math.random)
  return delayMs !== null && delayMs > MAX_WAIT_MS && work.model.hasNext ? null : delayMs
}

/** The next model, or the end of the turn. A context that is too long is not its business: another model would not make it shorter. */
async function goOver(work: Work, turn: Turn, failed: Failed, tries: Tries): Promise<void> {
  const { failure } = failed
  const from = work.model.ref
  const { model, passed } = turn.signal.aborted ? { model: null, passed: [] } : await work.model.succeed(work.context.estimateTokens(0))
  const words = [...passed, ...(model === null ? [] : [`${model} goes on`])].join('; ')
  const note: Report = { type: 'note', text: `${from} failed (${brief(failure.message)}): ${words}` }
  const resumeAt = model === null && !turn.signal.aborted ? limitEnd(failure, Date.now()) : null
  if (resumeAt !== null) return waitForLimit(work, turn, { failed, resumeAt }, tries)
  // Said in one go, so that both are there or neither.
  await Promise.all([failedReport(failed, model === null ? null : 0), ...(words === '' ? [] : [note])].map((report) => say(work, report)))
  turn.signal.throwIfAborted()
  if (model === null) throw new TurnFailed(allFailures(tries.failures, from, failure.message, passed))
  tries.failures.push(`${from} (${brief(failure.message)})`, ...passed)
  tries.ofModel = 0
}

/** Longer than anybody keeps trying: the process is suspended, and asks again when it goes on. */
async function waitForLimit(work: Work, turn: Turn, { failed, resumeAt }: { readonly failed: Failed; readonly resumeAt: number }, tries: Tries): Promise<void> {
  const ack = await say(work, { ...failedReport(failed, null), resumeAt })
  if (ack !== 'held') throw new TurnOver()
  await gate(work, turn)
  tries.ofModel = 0
}

function failedReport({ step, attempt, failure }: Failed, retryInMs: number | null): Extract<Report, { type: 'model.failed' }> {
  const { message, partial, usage, status } = failure
  return {
    type: 'model.failed', step, attempt, error: message, status, retryInMs,
    ...(partial === '' ? {} : { partial }), ...(usage === undefined ? {} : { usage }),
  }
}

function allFailures(before: readonly string[], model: string, message: string, passed: readonly string[]): string {
  if (before.length === 0 && passed.length === 0) return message
  return `no model could answer: ${[...before, `${model} (${message})`, ...passed].join('; ')}`
}

function brief(message: string): string {
  return message.length > MAX_QUOTED_CHARS ? `${message.slice(0, MAX_QUOTED_CHARS - 1)}…` : message
}
