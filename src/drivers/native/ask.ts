// One step's question to the model: each attempt is asked for at the gate and is a fact; a failed one says so and waits.
// A repeated question repeats no tool. Test: test/e2e/native-models.test.ts, test/e2e/native-script.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from '../../kernel/reports.ts'
import { CallFailed } from './model.ts'
import type { Answer, ModelRequest } from './model.ts'
import { retryDelay } from './retry.ts'
import { TurnFailed, TurnOver, gate, say } from './work.ts'
import type { Turn, Work } from './work.ts'

export interface Asked extends Answer {
  readonly step: number
  readonly durationMs: number
}

/** `before` is what is still to be said of the step before: it shares a commit with the first question. */
export async function ask(work: Work, turn: Turn, before: readonly Report[]): Promise<Asked> {
  const step = work.context.step + 1
  for (let attempt = 1; ; attempt += 1) {
    await begin(work, turn, { step, attempt, before: attempt === 1 ? before : [] })
    const since = performance.now()
    try {
      const answer = await call(work, turn, { step, attempt })
      return { ...answer, step, durationMs: Math.round(performance.now() - since) }
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error
      await waitForRetry(work, turn, { step, attempt, failure: error })
    }
  }
}

interface Attempt {
  readonly step: number
  readonly attempt: number
}

/** Asks the kernel until it says `go`; what came before is said in the same go, if nothing holds us back. */
async function begin(work: Work, turn: Turn, asked: Attempt & { readonly before: readonly Report[] }): Promise<void> {
  const { step, attempt } = asked
  const started: Report = { type: 'model.started', step, attempt, model: work.model.ref }
  let before = asked.before
  for (;;) {
    if (before.length === 0 || work.isPaused()) {
      for (const report of before) await say(work, report)
      before = []
      await gate(work, turn)
    }
    const acks = await Promise.all([...before, started].map((report) => say(work, report)))
    before = []
    const ack = acks.at(-1)
    if (ack === 'go') return work.context.asking()
    if (ack !== 'held') throw new TurnOver()
  }
}

async function call(work: Work, turn: Turn, { step, attempt }: Attempt): Promise<Answer> {
  const request: ModelRequest = {
    step, attempt, system: work.launch.spec.system, context: work.context, signal: turn.signal,
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

/** Says what failed, and waits for the next attempt if there shall be one. The partial text is kept in any case. */
async function waitForRetry(work: Work, turn: Turn, failed: Attempt & { readonly failure: CallFailed }): Promise<void> {
  const { step, attempt, failure } = failed
  const retryInMs = turn.signal.aborted ? null : retryDelay(work.retry, attempt, failure, Math.random)
  const { partial, usage, status } = failure
  work.context.unanswered()
  const report: Report = {
    type: 'model.failed', step, attempt, error: failure.message, status, retryInMs,
    ...(partial === '' ? {} : { partial }), ...(usage === undefined ? {} : { usage }),
  }
  await say(work, report)
  turn.signal.throwIfAborted()
  if (retryInMs === null) throw new TurnFailed(failure.message)
  await sleep(retryInMs, undefined, { signal: turn.signal })
}
