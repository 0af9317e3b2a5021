// Makes the model call of one step. Each attempt needs the kernel's grant, and is recorded as a fact. After a failed attempt, the call
// is repeated, another model takes over, the process is suspended, or the turn fails. A repeated model call never repeats a tool call.
// Tests: test/processes/native/model-calls.test.ts, test/processes/native/fallback.test.ts.
import { systemPromptOf } from './system-prompt.ts'
import type { Report } from '../../kernel/model/reports.ts'
import { backOff } from './back-off.ts'
import { compactRefusedContext } from './context/compaction.ts'
import { CallFailed } from './models/model.ts'
import type { ModelAnswer, ModelRequest } from './models/model.ts'
import { rateLimitEndMs, retryDelay } from './models/retry.ts'
import { expectedCost } from './models/cost-estimate.ts'
import { TurnFailed, TurnRevoked, requestGrant, waitUntilUnheld, reportDurably } from './run-context.ts'
import type { Turn, RunContext } from './run-context.ts'
import { truncate } from '../../kernel/util/truncate.ts'

/** The longest part of a provider's message that a note quotes, in characters. */
const MAX_QUOTED_CHARS = 200
/** The longest wait for a model, in ms, while a fallback is left. Instead of a longer wait, the fallback takes over. */
const MAX_WAIT_BEFORE_FALLBACK_MS = 60_000

export interface StepAnswer extends ModelAnswer {
  readonly step: number
  readonly durationMs: number
}

/** Calls the model for the next step. `unsent` are reports of the previous step, which share a commit with the first attempt. */
export async function callModel(run: RunContext, turn: Turn, unsent: readonly Report[]): Promise<StepAnswer> {
  const step = run.context.step + 1
  const attempts: AttemptHistory = { ofCurrentModel: 0, failures: [] }
  for (let attempt = 1; ; attempt += 1) {
    const maxOutputTokens = await waitForGrant(run, turn, { step, attempt, unsent: attempt === 1 ? unsent : [] })
    const startedAt = performance.now()
    try {
      const answer = await callOnce(run, turn, { step, attempt, maxOutputTokens })
      return { ...answer, step, durationMs: Math.round(performance.now() - startedAt) }
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error
      if (error.kind === 'too-long' && !turn.signal.aborted) {
        await compactRefusedContext(run, turn, failedReport({ step, attempt, failure: error }, 0))
        continue
      }
      attempts.ofCurrentModel += 1
      await retryOrSwitch(run, turn, { step, attempt, failure: error }, attempts)
    }
  }
}

/** An attempt of a model call. */
interface Attempt {
  readonly step: number
  readonly attempt: number
}

interface FailedAttempt extends Attempt {
  readonly failure: CallFailed
}

/** The history of one step's attempts. */
interface AttemptHistory {
  /** the number of attempts with the current model */
  ofCurrentModel: number
  /** messages about the earlier models: why each one failed or was skipped */
  readonly failures: string[]
}

/**
 * Asks the kernel until it grants the attempt. Returns the granted output tokens. The unsent reports share a commit with the request,
 * unless a hold delays the request.
 */
async function waitForGrant(
  run: RunContext,
  turn: Turn,
  options: Attempt & { readonly unsent: readonly Report[] },
): Promise<number | null> {
  const { step, attempt } = options
  let { unsent } = options
  for (;;) {
    if (unsent.length === 0 || run.isPaused()) {
      for (const report of unsent) await reportDurably(run, report)
      unsent = []
      await waitUntilUnheld(run, turn)
    }
    const cost = await expectedCost(run)
    const reports = unsent.map((report) => reportDurably(run, report))
    const [grant] = await Promise.all([
      requestGrant(run, { type: 'model.started', step, attempt, model: run.model.ref, ...cost }),
      ...reports,
    ])
    unsent = []
    if (grant.ack === 'go') {
      run.context.beginCall()
      return grant.maxOutputTokens
    }
    if (grant.ack !== 'held') throw new TurnRevoked()
  }
}

async function callOnce(
  run: RunContext,
  turn: Turn,
  { step, attempt, maxOutputTokens }: Attempt & { readonly maxOutputTokens: number | null },
): Promise<ModelAnswer> {
  const request: ModelRequest = {
    step,
    attempt,
    system: systemPromptOf(run.launch.spec),
    context: run.context,
    signal: turn.signal,
    maxOutputTokens,
    offeredTools: () => run.toolbox.offeredTools(),
    onText: (text) => run.kernel.showLive({ type: 'text', step, text }),
    onReasoning: (text) => run.kernel.showLive({ type: 'reasoning', step, text }),
  }
  run.inFlight.set('model', `the model call of step ${step}`)
  try {
    return await run.model.call(request)
  } finally {
    run.inFlight.delete('model')
  }
}

/** Reports the failure. Waits until the next attempt if the retry policy allows one, and otherwise calls `switchModel`. */
async function retryOrSwitch(run: RunContext, turn: Turn, failed: FailedAttempt, attempts: AttemptHistory): Promise<void> {
  run.context.failCall()
  const delayMs = turn.signal.aborted ? null : retryDelayOf(run, failed.failure, attempts.ofCurrentModel)
  if (delayMs === null) return switchModel(run, turn, failed, attempts)
  await reportDurably(run, failedReport(failed, delayMs))
  turn.signal.throwIfAborted()
  await backOff(run, turn, delayMs)
}

function retryDelayOf(run: RunContext, failure: CallFailed, attemptsOfModel: number): number | null {
  const delayMs = retryDelay(run.retry, attemptsOfModel, failure, Math.random)
  return delayMs !== null && delayMs > MAX_WAIT_BEFORE_FALLBACK_MS && run.model.hasFallbackLeft ? null : delayMs
}

/**
 * Switches to the next model. If none is left, waits for the end of a rate limit or for another key, or fails the turn. A context that is
 * too long is compacted instead, because another model would not make it shorter.
 */
async function switchModel(run: RunContext, turn: Turn, failed: FailedAttempt, attempts: AttemptHistory): Promise<void> {
  const { failure } = failed
  const failedModel = run.model.ref
  const { model, skipped } = turn.signal.aborted
    ? { model: null, skipped: [] }
    : await run.model.switchToNext(run.context.estimateTokens(0))
  const outcome = [...skipped, ...(model === null ? [] : [`${model} takes over`])].join('; ')
  const note: Report = { type: 'note', text: `${failedModel} failed (${quoteBriefly(failure.message)}): ${outcome}` }
  const isLast = model === null && !turn.signal.aborted
  const notes = outcome === '' ? [] : [note]
  const resumeAt = isLast ? rateLimitEndMs(failure, Date.now()) : null
  if (resumeAt !== null) {
    attempts.failures.push(...skipped)
    return waitForLimit(run, turn, { failed, notes, resumeAt }, attempts)
  }
  const error = allFailuresText(attempts.failures, failedModel, failure.message, skipped)
  if (isLast && failure.kind === 'auth') {
    if (run.model.hasNewKey) await Promise.all([...notes, failedReport(failed, 0)].map((report) => reportDurably(run, report)))
    else await holdForKey(run, turn, { failed, notes, error })
    await run.model.reload()
    attempts.failures.length = 0
    attempts.ofCurrentModel = 0
    return
  }
  // The reports share a commit, so that either all of them are recorded or none.
  await Promise.all([failedReport(failed, model === null ? null : 0), ...notes].map((report) => reportDurably(run, report)))
  turn.signal.throwIfAborted()
  if (model === null) throw new TurnFailed(error)
  attempts.failures.push(`${failedModel} (${quoteBriefly(failure.message)})`, ...skipped)
  attempts.ofCurrentModel = 0
}

/**
 * Suspends the process until the rate limit ends, because this wait is longer than the retry policy allows. Returns when the call can be
 * repeated.
 */
async function waitForLimit(
  run: RunContext,
  turn: Turn,
  { failed, notes, resumeAt }: { readonly failed: FailedAttempt; readonly notes: readonly Report[]; readonly resumeAt: number },
  attempts: AttemptHistory,
): Promise<void> {
  // The notes are sent first, because they explain the hold that the failure causes.
  const acks = await Promise.all([...notes, { ...failedReport(failed, null), resumeAt }].map((report) => reportDurably(run, report)))
  if (acks.at(-1) !== 'held') throw new TurnRevoked()
  await waitUntilUnheld(run, turn)
  attempts.ofCurrentModel = 0
}

/**
 * Suspends the process after the provider refused the key or the account. Returns when the call can be repeated with the current key. If
 * the kernel sets no hold, the turn fails.
 */
async function holdForKey(
  run: RunContext,
  turn: Turn,
  { failed, notes, error }: { readonly failed: FailedAttempt; readonly notes: readonly Report[]; readonly error: string },
): Promise<void> {
  // The notes are sent first, because they explain the hold that the failure causes.
  const acks = await Promise.all(
    [...notes, { ...failedReport(failed, null), account: true as const }].map((report) => reportDurably(run, report)),
  )
  turn.signal.throwIfAborted()
  const ack = acks.at(-1)
  if (ack === 'stop') throw new TurnRevoked()
  if (ack !== 'held') throw new TurnFailed(error)
  await waitUntilUnheld(run, turn)
}

function failedReport({ step, attempt, failure }: FailedAttempt, retryInMs: number | null): Extract<Report, { type: 'model.failed' }> {
  const { message, partial, usage, status } = failure
  return {
    type: 'model.failed',
    step,
    attempt,
    error: message,
    status,
    retryInMs,
    ...(partial === '' ? {} : { partial }),
    ...(usage === undefined ? {} : { usage }),
  }
}

function allFailuresText(earlierFailures: readonly string[], model: string, message: string, skipped: readonly string[]): string {
  if (earlierFailures.length === 0 && skipped.length === 0) return message
  return `no model could answer: ${[...earlierFailures, `${model} (${message})`, ...skipped].join('; ')}`
}

function quoteBriefly(message: string): string {
  return truncate(message, MAX_QUOTED_CHARS, '…')
}
