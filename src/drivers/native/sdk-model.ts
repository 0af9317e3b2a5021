// A model behind one of the AI SDK's provider packages, through `doStream` alone: no hidden retries, each call is ours.
// Owns the end of a hanging stream, the estimate for a call that was cut off, and what a model turned out not to take.
// Tests: test/e2e/native-models.test.ts, test/e2e/native-wire-*.test.ts.
import type { CallAsk, CallUsage, Effort } from '../../kernel/types.ts'
import { Collector } from './collect.ts'
import { BYTES_PER_TOKEN } from './context.ts'
import { readFailure } from './failure.ts'
import type { ReadFailure } from './failure.ts'
import { judge } from './finish.ts'
import { IdleWatch } from './idle-watch.ts'
import { CallFailed } from './model.ts'
import type { Answer, FailureKind, Model, ModelRequest } from './model.ts'
import { costUsd, rates } from './prices.ts'
import type { OwnPrices, Priced } from './prices.ts'
import { toPrompt, withOrigin } from './prompt.ts'
import type { Prompt } from './prompt.ts'
import { reportedCost, toBuckets } from './usage.ts'
import type { Buckets } from './usage.ts'
import type { Optional, Wire } from './wire.ts'

export interface SdkModelOptions {
  readonly provider: string
  readonly name: string
  readonly baseURL: string
  /** the key; what a provider says of a call has it no more */
  readonly secret: string | null
  readonly wire: Wire
  readonly window: number | null
  readonly effort: Effort | null
  readonly maxOutputTokens: number
  /** a stream that sends nothing for so long is cut */
  readonly idleMs: number
  /** the user's own, where there are such */
  readonly prices?: OwnPrices | undefined
}

/** One call that is under way. */
interface Call {
  readonly request: ModelRequest
  readonly prompt: Prompt
  readonly collector: Collector
  readonly idle: IdleWatch
}

/** How a provider says that it does not take something. Looked for in this order. */
const NOT_TAKEN: readonly (readonly [what: Optional, words: RegExp])[] = [
  ['reasoning', /signature|different conversation|encrypted[ _]content|reasoning_content|reasoning item/i],
  ['images', /image|vision|multimodal|mmproj/i],
  ['thoughts', /summar|include_?thoughts/i],
  ['effort', /reasoning|thinking|effort|think value/i],
]
/** Nothing that could be left out cures these. */
const OTHER_CAUSES: ReadonlySet<FailureKind> = new Set(['too-long', 'auth', 'rate-limit', 'refused', 'cut'])
/** A window of which so much is used up is full: some servers say no more than that the answer was cut. */
const FULL_SHARE = 0.99
/** Shorter ones are placeholders of local servers, and may be any word. */
const LEAST_SECRET_CHARS = 8

export class SdkModel implements Model {
  readonly ref: string
  readonly maxOutputTokens: number
  readonly window: number | null
  readonly #options: SdkModelOptions
  readonly #without = new Set<Optional>()
  readonly #usd = new Map<number, CallAsk['usd']>()

  constructor(options: SdkModelOptions) {
    this.ref = `${options.provider}/${options.name}`
    this.window = options.window
    this.maxOutputTokens = options.maxOutputTokens
    this.#options = options
  }

  /** By the dearest that input can be: nobody knows before what the cache has. */
  usdFor(inputTokens: number): CallAsk['usd'] | Promise<CallAsk['usd']> {
    // Looked up for sizes that double, as a price depends on the size of the input.
    const size = 2 ** Math.ceil(Math.log2(Math.max(1, inputTokens)))
    const known = this.#usd.get(size)
    return known === undefined ? this.#findUsd(size) : known
  }

  async #findUsd(size: number): Promise<CallAsk['usd']> {
    const found = await rates(this.#priced, size)
    const usd = found && { perInputToken: Math.max(found.perInputToken, found.perCacheWriteToken), perOutputToken: found.perOutputToken }
    this.#usd.set(size, usd)
    return usd
  }

  async call(request: ModelRequest): Promise<Answer> {
    if (request.signal.aborted) throw new CallFailed('interrupted', { kind: 'cut' })
    const call = { request, prompt: this.#prompt(request), collector: new Collector(request), idle: new IdleWatch(request.signal, this.#options.idleMs) }
    try {
      await this.#stream(call)
      return await this.#answer(call)
    } catch (error) {
      throw await this.#failure(error, call)
    } finally {
      call.idle.end()
    }
  }

  #prompt({ context, system, question, offered }: ModelRequest): Prompt {
    return toPrompt(context.messages, { ref: this.ref, style: this.#options.wire.style, system, tools: offered(), question, without: this.#without })
  }

  async #stream({ request, prompt, collector, idle }: Call): Promise<void> {
    const { wire } = this.#options
    const maxOutputTokens = Math.min(this.maxOutputTokens, request.maxOutputTokens ?? Infinity)
    const effort = this.#without.has('effort') ? null : this.#options.effort
    const { stream } = await wire.model.doStream({
      prompt: prompt.messages,
      tools: prompt.tools,
      ...(request.question === undefined ? {} : { toolChoice: { type: 'none' } }),
      ...(effort === null ? {} : { reasoning: effort }),
      maxOutputTokens,
      abortSignal: idle.signal,
      includeRawChunks: true, // pings arrive as raw parts only, and show that the stream lives
      providerOptions: wire.options(this.#without),
    })
    for await (const part of stream) {
      idle.touch()
      collector.take(part)
    }
  }

  async #answer({ request, prompt, collector }: Call): Promise<Answer> {
    const { message, finish } = judge(collector.ending, collector.parts())
    const usage = await this.#exact(collector) ?? await this.#estimate(request, collector)
    if (finish === 'length' && message.every((part) => part.type === 'reasoning') && this.#isFull(usage)) throw new CallFailed('the context window is full', { kind: 'too-long' })
    return { message: message.map((part) => withOrigin(part, prompt.origin)), usage, finish }
  }

  async #failure(error: unknown, call: Call): Promise<CallFailed> {
    const { request, collector, idle } = call
    const { provider, idleMs } = this.#options
    const partial = collector.partialText
    const isCut = request.signal.aborted || idle.expired
    const usage = collector.begun || isCut ? await this.#exact(collector) ?? await this.#estimate(request, collector) : undefined
    if (request.signal.aborted) return new CallFailed('interrupted', { kind: 'cut', partial, usage })
    if (idle.expired) return new CallFailed(`${provider}: nothing came in for ${idleMs} ms`, { kind: 'cut', partial, usage, retryable: true })
    const ours = ourRefusal(error)
    if (ours !== null) return new CallFailed(`${provider}: ${ours.message}`, { kind: ours.kind, retryable: ours.retryable, partial, usage })
    const failure = readFailure(error, Date.now())
    const { message: said, ...read } = failure
    const message = this.#hide(said)
    const left = OTHER_CAUSES.has(read.kind) ? null : this.#leaveOut(call, failure)
    if (left === null) return new CallFailed(`${provider}: ${message}`, { ...read, partial, usage })
    return new CallFailed(`${provider}: ${message}; asked again without ${left}`, { ...read, kind: 'other', partial, usage, retryable: true, retryAfterMs: 0 })
  }

  /** Some servers repeat the key that they refuse, and what failed is journaled, shown and told to other models. */
  #hide(text: string): string {
    const { secret } = this.#options
    return secret === null || secret.length < LEAST_SECRET_CHARS ? text : text.replaceAll(secret, '[secret]')
  }

  /** What the provider refused is left out of all later calls; nothing is charged for a refusal. */
  #leaveOut({ prompt }: Call, { message, status, kind }: ReadFailure): Optional | null {
    if (status === null) return null
    const { effort, wire } = this.#options
    const isSent: Readonly<Record<Optional, boolean>> = { reasoning: prompt.hasReasoning, images: prompt.hasImages, thoughts: wire.showsThoughts, effort: effort !== null }
    // Servers that cannot see say so with any status; all else is refused as a bad request.
    const isBad = status < 500 && kind === 'other'
    const found = NOT_TAKEN.find(([what, words]) => isSent[what] && !this.#without.has(what) && (isBad || what === 'images') && words.test(message))
    if (found === undefined) return null
    this.#without.add(found[0])
    return found[0]
  }

  #isFull({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: CallUsage): boolean {
    return this.window !== null && inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens >= this.window * FULL_SHARE
  }

  async #exact({ usage }: Collector): Promise<CallUsage | null> {
    const buckets = toBuckets(usage)
    if (buckets === null) return null
    const priced = await this.#price(buckets)
    return priced.costUsd === null ? { ...priced, costUsd: reportedCost(usage) } : priced
  }

  async #estimate(request: ModelRequest, collector: Collector): Promise<CallUsage> {
    const outputTokens = Math.ceil(collector.bytes / BYTES_PER_TOKEN)
    const overhead = Buffer.byteLength(request.system ?? '') + Buffer.byteLength(JSON.stringify(request.offered()))
    const unknown: Buckets = { inputTokens: request.context.estimateTokens(overhead), outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const buckets = collector.early === null ? unknown : { ...collector.early, outputTokens }
    return { ...(await this.#price(buckets)), estimated: true }
  }

  get #priced(): Priced {
    const { provider, name, baseURL, prices } = this.#options
    return { provider, model: name, baseURL, own: prices }
  }

  async #price(buckets: Buckets): Promise<CallUsage> {
    return { ...buckets, costUsd: await costUsd(this.#priced, buckets) }
  }
}

/** A limit of ours that was passed: the packages put their own error around what they met at the beginning of a stream. */
function ourRefusal(error: unknown): CallFailed | null {
  if (error instanceof CallFailed) return error
  return error instanceof Error && error.cause instanceof CallFailed ? error.cause : null
}
