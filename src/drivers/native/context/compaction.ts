// Compacts a context that no longer fits. The model summarizes it, and the turn continues with the summary and the newest messages. The old
// messages stay in the journal. Decides when a compaction is needed, and handles a failed summary. The kernel decides whether a compaction
// may begin. Tests: test/processes/native/compaction.test.ts, test/e2e/models/context.test.ts.
import { systemPromptOf } from '../system-prompt.ts'
import { assistantText } from '../../../kernel/state/assistant-text.ts'
import type { Report } from '../../../kernel/model/reports.ts'
import { backOff } from '../back-off.ts'
import { CLIP_LEVELS, clipContext } from './clip-context.ts'
import { BYTES_PER_TOKEN, SUMMARY_HEADING } from './context.ts'
import type { Context } from './context.ts'
import { chooseKeptPart, compactionLimits } from './kept-part.ts'
import type { KeptPart } from './kept-part.ts'
import { readNewFacts, loadContext } from './load-context.ts'
import type { LoadedContext } from './load-context.ts'
import { CallFailed } from '../models/model.ts'
import type { ModelAnswer } from '../models/model.ts'
import { rateLimitEndMs, retryDelay } from '../models/retry.ts'
import { expectedCost, overheadBytes } from '../models/cost-estimate.ts'
import { TurnRevoked, requestGrant, waitUntilUnheld, reportDurably } from '../run-context.ts'
import type { Turn, RunContext } from '../run-context.ts'

/** A context is full if it and the room for an answer take more than this share of the window. */
const FULL_SHARE = 0.85
/** The largest share of the window that is reserved for an answer. */
const ANSWER_SHARE = 0.25

const SUMMARY_REQUEST = `The context is nearly full. Write a summary of the conversation above that lets you continue the work without it. The summary will replace everything except the first message and the most recent ones. Use these headings:

Goal: what the user wants, including every requirement and preference, in the user's own words where they matter.
Decisions: what was decided, and why.
State: files that were read, created or changed (exact paths), the relevant parts of their contents, and what is still running.
Tried and failed: what did not work, with the exact error messages.
Next steps: what you were doing just now, and what remains to be done.
Names: exact names, identifiers, commands, versions and figures that will be needed later.

Be complete and precise, and omit anything that will not be needed. Do not call any tools: reply with the summary only.`

/** A prepared compaction. */
interface Plan {
  readonly loaded: LoadedContext
  /** null if nothing could be removed */
  readonly keptPart: KeptPart | null
}

/** An attempt to compact the context. */
interface Attempt {
  /** the last step before the compaction */
  readonly step: number
  readonly attempt: number
}

/**
 * Compacts the context before a model call if it is full by reeve's own estimate. The `unsent` reports are then sent first. Returns the
 * reports that are still unsent.
 */
export async function compactIfFull(run: RunContext, turn: Turn, unsent: readonly Report[]): Promise<readonly Report[]> {
  if (!isFull(run)) return unsent
  for (const report of unsent) await reportDurably(run, report)
  // If nothing can be removed, the call is made anyway: the context may still fit, and otherwise the provider refuses it.
  if ((await preparePlan(run)).keptPart !== null) await compact(run, turn, 0)
  return []
}

/** Compacts the context after the provider refused it as too long. `failedCall` is the report of the refused call. */
export async function compactRefusedContext(run: RunContext, turn: Turn, failedCall: Report): Promise<void> {
  run.context.failCall()
  await reportDurably(run, failedCall)
  turn.signal.throwIfAborted()
  await compact(run, turn, 1)
}

/** True if the context is full by reeve's own estimate. Always false for an unknown window, and directly after a compaction. */
function isFull({ model, context, ...run }: RunContext): boolean {
  if (model.window === null || context.compactedStep === context.step) return false
  return context.estimateTokens(overheadBytes(run)) > fullContextTokens(model)
}

/** The context is full with more than this number of tokens. */
function fullContextTokens({ window, maxOutputTokens }: Pick<RunContext['model'], 'window' | 'maxOutputTokens'>): number {
  return window === null ? Infinity : FULL_SHARE * window - reservedAnswerTokens({ window, maxOutputTokens })
}

/** The part of the window that is reserved for an answer, in whole tokens. */
export function reservedAnswerTokens({ window, maxOutputTokens }: Pick<RunContext['model'], 'window' | 'maxOutputTokens'>): number {
  return Math.floor(Math.min(maxOutputTokens, ANSWER_SHARE * (window ?? 0)))
}

/**
 * Compacts the context. Returns when it is compacted, or when the user resumes the process without a compaction. `minClipLevel` is the
 * first level of `CLIP_LEVELS` to try.
 */
async function compact(run: RunContext, turn: Turn, minClipLevel: number): Promise<void> {
  const plan = await preparePlan(run)
  const { step } = run.context
  let level = minClipLevel
  for (let attempt = 1, attemptsOfModel = 1; ; attempt += 1) {
    const grant = await waitForGrant(run, turn, { step, attempt })
    if (grant === null) return
    try {
      return await summarizeAndReplace(run, turn, plan, { step, attempt, level, ...grant })
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error
      const mustClipMore = error.kind === 'too-long' && level < CLIP_LEVELS.length - 1
      const { delayMs, notes } =
        mustClipMore || turn.signal.aborted ? { delayMs: 0, notes: [] } : await planNextAttempt(run, error, attemptsOfModel)
      const [ack] = await Promise.all(
        [failedReport({ step, attempt, failure: error }, delayMs), ...notes].map((report) => reportDurably(run, report)),
      )
      turn.signal.throwIfAborted()
      if (ack === 'held' && isAccountRefused(error, delayMs)) {
        await waitUntilUnheld(run, turn)
        await run.model.reload()
        return compact(run, turn, minClipLevel)
      }
      // If nothing can be removed and the user resumes the process, the model is called with the unchanged context.
      if (delayMs === null)
        return ack === 'held'
          ? plan.keptPart === null
            ? waitUntilUnheld(run, turn)
            : compact(run, turn, minClipLevel)
          : Promise.reject(new TurnRevoked())
      if (mustClipMore) level += 1
      else attemptsOfModel += 1
      await backOff(run, turn, delayMs)
    }
  }
}

interface Grant {
  readonly maxOutputTokens: number | null
}

/** Asks the kernel until it grants the attempt. Null if the context has been compacted meanwhile: then the user has resumed the process. */
async function waitForGrant(run: RunContext, turn: Turn, { step, attempt }: Attempt): Promise<Grant | null> {
  for (;;) {
    await waitUntilUnheld(run, turn)
    const grant = await requestGrant(run, {
      type: 'compaction.started',
      step,
      attempt,
      model: run.model.ref,
      ...(await expectedCost(run, SUMMARY_REQUEST)),
    })
    if (grant.ack === 'go') return { maxOutputTokens: grant.maxOutputTokens }
    if (grant.ack !== 'held') throw new TurnRevoked()
    if (run.context.compactedStep !== step) continue
    await waitUntilUnheld(run, turn)
    return null
  }
}

/** Reads the context from the journal, checks that it equals the live context, and chooses the messages to keep. */
async function preparePlan(run: RunContext): Promise<Plan> {
  const { context, launch, model } = run
  const loaded = await loadContext(launch.filteredHistory, context.ranges)
  const difference = findDifference(context, loaded.context)
  if (difference !== null) throw new Error(`the context differs from the journal: ${difference}`)
  const limits = compactionLimits(context, { window: model.window, overheadBytes: overheadBytes(run), seq: loaded.seq })
  return { loaded, keptPart: chooseKeptPart(loaded.context, limits) }
}

/** Describes the first difference between two contexts; null if they are equal. */
function findDifference(live: Context, recorded: Context): string | null {
  if (live.step !== recorded.step) return `step ${live.step}, not ${recorded.step}`
  if (live.messages.length !== recorded.messages.length) return `${live.messages.length} messages, not ${recorded.messages.length}`
  const index = live.messages.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(recorded.messages[at]))
  return index === -1 ? null : `message ${index}`
}

/**
 * Replaces the context by its summary. Errors: `CallFailed`, including for an empty summary, and for a context that would stay too large.
 */
async function summarizeAndReplace(
  run: RunContext,
  turn: Turn,
  { loaded, keptPart }: Plan,
  options: Attempt & Grant & { readonly level: number },
): Promise<void> {
  const { context, launch } = run
  if (keptPart === null) throw new CallFailed('there is nothing in the context to summarize')
  const startedAt = performance.now()
  const answer = await requestSummary(run, turn, options)
  const summary = assistantText(answer.message).trim()
  if (summary === '' || answer.finish === 'content-filter') throw new CallFailed('the model gave no summary', { usage: answer.usage })
  const overhead = overheadBytes(run)
  const tokensBefore = context.estimateTokens(overhead)
  const bytes = keptPart.bytes + Buffer.byteLength(`${SUMMARY_HEADING}\n\n${summary}`)
  const tokensAfter = estimateTokensAfter(context, overhead, bytes)
  if (tokensAfter > fullContextTokens(run.model) || bytes >= context.bytes)
    throw new CallFailed(`with the summary the context would still take ${tokensAfter} tokens (${tokensBefore} before)`, {
      usage: answer.usage,
    })
  const ack = await reportDurably(run, {
    type: 'context.compacted',
    step: options.step,
    summary,
    ranges: keptPart.ranges,
    before: tokensBefore,
    after: tokensAfter,
    usage: answer.usage,
    durationMs: Math.round(performance.now() - startedAt),
  })
  if (ack !== 'ok') throw new TurnRevoked()
  await readNewFacts(loaded, launch.filteredHistory)
  context.adopt(loaded.context)
}

/**
 * Estimates the tokens after the compaction: the tokens of the context, minus those of the removed messages. `bytes` is the size of the
 * compacted context.
 */
function estimateTokensAfter(context: Context, overheadBytes: number, bytes: number): number {
  const remainingTokens = context.estimateTokens(overheadBytes) - (context.bytes - bytes) * context.tokensPerByte(overheadBytes)
  return Math.ceil(Math.max(remainingTokens, (overheadBytes + bytes) / (2 * BYTES_PER_TOKEN)))
}

async function requestSummary(
  run: RunContext,
  turn: Turn,
  { step, attempt, level, maxOutputTokens }: Attempt & Grant & { readonly level: number },
): Promise<ModelAnswer> {
  run.inFlight.set('model', `the summary after step ${step}`)
  try {
    return await run.model.call({
      step: step + 1,
      attempt,
      system: systemPromptOf(run.launch.spec),
      context: clipContext(run.context, findFittingLevel(run, level)),
      question: SUMMARY_REQUEST,
      signal: turn.signal,
      maxOutputTokens,
      offeredTools: () => run.toolbox.offeredTools(),
      onText: () => undefined,
      onReasoning: () => undefined,
    })
  } finally {
    run.inFlight.delete('model')
  }
}

/** The lowest clip level, from `level` on, at which the request fits by reeve's own estimate. */
function findFittingLevel(run: RunContext, level: number): number {
  const { context, model } = run
  const { window, maxOutputTokens } = model
  if (window === null) return level
  const overhead = overheadBytes(run)
  const maxTokens = window - Math.min(maxOutputTokens, ANSWER_SHARE * window) - SUMMARY_REQUEST.length / BYTES_PER_TOKEN
  const lowest = CLIP_LEVELS.findIndex((_, index) => index >= level && clipContext(context, index).estimateTokens(overhead) <= maxTokens)
  return lowest === -1 ? CLIP_LEVELS.length - 1 : lowest
}

interface NextAttempt {
  /** the wait before the next attempt; null if there is none */
  readonly delayMs: number | null
  readonly notes: readonly Report[]
}

/** Chooses the wait before the next attempt. If the model cannot answer, the next fallback takes over, as in the model call of a step. */
async function planNextAttempt(run: RunContext, failure: CallFailed, attemptsOfModel: number): Promise<NextAttempt> {
  const delayMs = retryDelay(run.retry, attemptsOfModel, failure, Math.random)
  if (delayMs !== null || failure.kind === 'too-long' || failure.kind === 'other') return { delayMs, notes: [] }
  const from = run.model.ref
  const { model, skipped } = await run.model.switchToNext(run.context.estimateTokens(0))
  const outcome = [...skipped, ...(model === null ? [] : [`${model} takes over`])].join('; ')
  const notes: Report[] = outcome === '' ? [] : [{ type: 'note', text: `${from} could not summarize the context: ${outcome}` }]
  return { delayMs: model === null ? null : 0, notes }
}

function failedReport({ step, attempt, failure }: Attempt & { readonly failure: CallFailed }, retryInMs: number | null): Report {
  const { message, usage, status } = failure
  const resumeAt = retryInMs === null ? rateLimitEndMs(failure, Date.now()) : null
  return {
    type: 'compaction.failed',
    step,
    attempt,
    error: message,
    status,
    retryInMs,
    ...(usage === undefined ? {} : { usage }),
    ...(resumeAt === null ? {} : { resumeAt }),
    ...(isAccountRefused(failure, retryInMs) ? { account: true } : {}),
  }
}

/**
 * True if the provider refused the key or the account, and no fallback is left. After the hold, the call is repeated with the current key.
 */
function isAccountRefused({ kind }: CallFailed, retryInMs: number | null): boolean {
  return kind === 'auth' && retryInMs === null
}
