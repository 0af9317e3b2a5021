// Compaction: when the context no longer fits, the model sums it up, and the work goes on with the summary and the newest
// messages. The old messages stay in the journal. Owns when that is, and what becomes of a summary that cannot be had;
// the kernel says whether it may begin. Tests: test/e2e/native-compact.test.ts, test/e2e/context.test.ts.
import { textOf } from '../../kernel/message.ts'
import type { Report } from '../../kernel/reports.ts'
import { backOff } from './back-off.ts'
import { CLIP_LEVELS, clipContext } from './clip-context.ts'
import { BYTES_PER_TOKEN, SUMMARY_HEADING } from './context.ts'
import type { Context } from './context.ts'
import { chooseKept } from './keep.ts'
import type { Kept } from './keep.ts'
import { catchUp, loadContext } from './load-context.ts'
import type { Loaded } from './load-context.ts'
import { CallFailed } from './model.ts'
import type { Answer } from './model.ts'
import { limitEnd, retryDelay } from './retry.ts'
import { expectedCost, overheadBytes } from './cost.ts'
import { TurnOver, askToBegin, gate, say } from './work.ts'
import type { Turn, Work } from './work.ts'

/** The share of the window, with the room for an answer, from which on the context is full. */
const FULL_SHARE = 0.85
/** The answer is given no more than this share of the window. */
const ANSWER_SHARE = 0.25
/** What of the window the newest messages may keep, and the most that the last step may. */
const KEEP_SHARE = 0.2
const MOST_SHARE = 0.5

const QUESTION = `The context is nearly full. Write a summary of all of the above, from which you can go on with the work without it: it will replace all but the first and the newest messages. Use these headings:

Goal: what the user wants, with every requirement and wish, in the user's own words where they matter.
Decisions: what was decided, and why.
State: files that were read, written or changed (exact paths), what is in them that matters, and what runs.
Tried and failed: what did not work, with the exact errors.
Next steps: what was being done just now, and what is left to do.
Names: exact names, identifiers, commands, versions and figures that are needed later.

Be complete and exact, and leave out what nobody needs. Call no tools: answer with the summary alone.`

/** A compaction in preparation. */
interface Plan {
  readonly loaded: Loaded
  /** null: there is nothing that could be left out */
  readonly kept: Kept | null
}

interface Attempt {
  readonly step: number
  readonly attempt: number
}

/** Before a question: makes room if the context is full by our own count. `unsaid` is said before; gives what is still to be said. */
export async function makeRoom(work: Work, turn: Turn, unsaid: readonly Report[]): Promise<readonly Report[]> {
  if (!isFull(work)) return unsaid
  for (const report of unsaid) await say(work, report)
  // What cannot be left out may still fit: the model is asked, and says so if it does not.
  if ((await prepare(work)).kept !== null) await compact(work, turn, 0)
  return []
}

/** After the provider has refused the context as too long, which `failed` says. */
export async function shorten(work: Work, turn: Turn, failed: Report): Promise<void> {
  work.context.unanswered()
  await say(work, failed)
  turn.signal.throwIfAborted()
  await compact(work, turn, 1)
}

/** Never by ourselves where the window is not known, nor twice without a step between. */
function isFull({ model, context, ...work }: Work): boolean {
  if (model.window === null || context.compactedStep === context.step) return false
  return context.estimateTokens(overheadBytes(work)) > fullAt(model)
}

function fullAt({ window, maxOutputTokens }: Pick<Work['model'], 'window' | 'maxOutputTokens'>): number {
  if (window === null) return Infinity
  return FULL_SHARE * window - Math.min(maxOutputTokens, ANSWER_SHARE * window)
}

/** Returns when there is room, or when a person wants the model to be asked as it is. */
async function compact(work: Work, turn: Turn, leastLevel: number): Promise<void> {
  const plan = await prepare(work)
  const { step } = work.context
  let level = leastLevel
  for (let attempt = 1, tries = 1; ; attempt += 1) {
    const permit = await begin(work, turn, { step, attempt })
    if (permit === null) return
    try {
      return await replace(work, turn, plan, { step, attempt, level, ...permit })
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error
      const isLong = error.kind === 'too-long' && level < CLIP_LEVELS.length - 1
      const { delayMs, notes } = isLong || turn.signal.aborted ? { delayMs: 0, notes: [] } : await nextTry(work, error, tries)
      const [ack] = await Promise.all([failedReport({ step, attempt, failure: error }, delayMs), ...notes].map((report) => say(work, report)))
      turn.signal.throwIfAborted()
      // Where nothing can be left out, a person who lets it go on wants the model to be asked as it is.
      if (delayMs === null) return ack === 'held' ? (plan.kept === null ? gate(work, turn) : compact(work, turn, leastLevel)) : Promise.reject(new TurnOver())
      if (isLong) level += 1
      else tries += 1
      await backOff(work, turn, delayMs)
    }
  }
}

interface Granted {
  readonly maxOutputTokens: number | null
}

/** Asks the kernel until it says `go`; null if this context was compacted before, and a person wants to go on with it. */
async function begin(work: Work, turn: Turn, { step, attempt }: Attempt): Promise<Granted | null> {
  for (;;) {
    await gate(work, turn)
    const permit = await askToBegin(work, { type: 'compaction.started', step, attempt, model: work.model.ref, ...await expectedCost(work, QUESTION) })
    if (permit.ack === 'go') return { maxOutputTokens: permit.maxOutputTokens }
    if (permit.ack !== 'held') throw new TurnOver()
    if (work.context.compactedStep !== step) continue
    await gate(work, turn)
    return null
  }
}

/** The context as the journal has it, which must be the one that we work with. */
async function prepare(work: Work): Promise<Plan> {
  const { context, launch, model } = work
  const loaded = await loadContext(launch.skim, context.ranges)
  const wrong = difference(context, loaded.context)
  if (wrong !== null) throw new Error(`the context is not what the journal says: ${wrong}`)
  const overhead = overheadBytes(work)
  const windowBytes = model.window === null ? context.bytes : model.window / context.tokensPerByte(overhead)
  return { loaded, kept: chooseKept(loaded.context, { keepBytes: KEEP_SHARE * windowBytes, mostBytes: MOST_SHARE * windowBytes, seq: loaded.seq }) }
}

function difference(live: Context, told: Context): string | null {
  if (live.step !== told.step) return `step ${live.step}, not ${told.step}`
  if (live.messages.length !== told.messages.length) return `${live.messages.length} messages, not ${told.messages.length}`
  const index = live.messages.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(told.messages[at]))
  return index === -1 ? null : `message ${index}`
}

/** Errors: `CallFailed`, also for a summary that is none and for a context that stays too large. */
async function replace(work: Work, turn: Turn, { loaded, kept }: Plan, at: Attempt & Granted & { readonly level: number }): Promise<void> {
  const { context, launch } = work
  if (kept === null) throw new CallFailed('there is nothing in it that could be summed up')
  const since = performance.now()
  const answer = await call(work, turn, at)
  const summary = textOf(answer.message).trim()
  if (summary === '' || answer.finish === 'content-filter') throw new CallFailed('the model gave no summary', { usage: answer.usage })
  const overhead = overheadBytes(work)
  const before = context.estimateTokens(overhead)
  const bytes = kept.bytes + Buffer.byteLength(`${SUMMARY_HEADING}\n\n${summary}`)
  const after = tokensAfter(context, overhead, bytes)
  if (after > fullAt(work.model) || bytes >= context.bytes) throw new CallFailed(`with the summary it would still take ${after} tokens, after ${before}`, { usage: answer.usage })
  const ack = await say(work, {
    type: 'context.compacted', step: at.step, summary, ranges: kept.ranges, before, after, usage: answer.usage, durationMs: Math.round(performance.now() - since),
  })
  if (ack !== 'ok') throw new TurnOver()
  await catchUp(loaded, launch.skim)
  context.adopt(loaded.context)
}

/** By what was counted before, less what goes. */
function tokensAfter(context: Context, overheadBytes: number, bytes: number): number {
  const left = context.estimateTokens(overheadBytes) - (context.bytes - bytes) * context.tokensPerByte(overheadBytes)
  return Math.ceil(Math.max(left, (overheadBytes + bytes) / (2 * BYTES_PER_TOKEN)))
}

async function call(work: Work, turn: Turn, { step, attempt, level, maxOutputTokens }: Attempt & Granted & { readonly level: number }): Promise<Answer> {
  work.inFlight.set('model', `the summary after step ${step}`)
  try {
    return await work.model.call({
      step: step + 1, attempt, system: work.launch.spec.system, context: clipContext(work.context, fitting(work, level)), question: QUESTION, signal: turn.signal, maxOutputTokens,
      offered: () => work.toolbox.offered(),
      onText: () => undefined,
      onReasoning: () => undefined,
    })
  } finally {
    work.inFlight.delete('model')
  }
}

/** The level, or a higher one, at which the question fits by our own count. */
function fitting(work: Work, level: number): number {
  const { context, model } = work
  const { window, maxOutputTokens } = model
  if (window === null) return level
  const overhead = overheadBytes(work)
  const most = window - Math.min(maxOutputTokens, ANSWER_SHARE * window) - QUESTION.length / BYTES_PER_TOKEN
  const found = CLIP_LEVELS.findIndex((_, index) => index >= level && clipContext(context, index).estimateTokens(overhead) <= most)
  return found === -1 ? CLIP_LEVELS.length - 1 : found
}

interface NextTry {
  /** null: there is none */
  readonly delayMs: number | null
  readonly notes: readonly Report[]
}

/** A model that cannot answer is followed by the next one, as for a step. */
async function nextTry(work: Work, failure: CallFailed, tries: number): Promise<NextTry> {
  const delayMs = retryDelay(work.retry, tries, failure, Math.random)
  if (delayMs !== null || failure.kind === 'too-long' || failure.kind === 'other') return { delayMs, notes: [] }
  const from = work.model.ref
  const { model, passed } = await work.model.succeed(work.context.estimateTokens(0))
  const words = [...passed, ...(model === null ? [] : [`${model} goes on`])].join('; ')
  const notes: Report[] = words === '' ? [] : [{ type: 'note', text: `${from} could not sum the context up: ${words}` }]
  return { delayMs: model === null ? null : 0, notes }
}

function failedReport({ step, attempt, failure }: Attempt & { readonly failure: CallFailed }, retryInMs: number | null): Report {
  const { message, usage, status } = failure
  const resumeAt = retryInMs === null ? limitEnd(failure, Date.now()) : null
  return { type: 'compaction.failed', step, attempt, error: message, status, retryInMs, ...(usage === undefined ? {} : { usage }), ...(resumeAt === null ? {} : { resumeAt }) }
}
