// Calls a model through one of the AI SDK's provider packages. Uses only `doStream`, which never retries, so the loop decides about each
// call. Ends a silent stream, estimates the usage of an interrupted call, and remembers the features that the model refuses.
// Tests: test/processes/native/model-calls.test.ts, test/processes/native/wire-answers.test.ts,
// test/processes/native/wire-requests.test.ts.
import type { Effort } from '../../../kernel/model/spec-parts.ts'
import type { CallEstimate } from '../../../kernel/model/process.ts'
import { StreamCollector } from './stream-collector.ts'
import { BYTES_PER_TOKEN } from '../context/context.ts'
import { parseFailure } from './failure.ts'
import type { ParsedFailure } from './failure.ts'
import { interpretFinish } from './finish-reason.ts'
import { IdleTimeout, durationText } from './idle-timeout.ts'
import { CallFailed } from './model.ts'
import type { ModelAnswer, FailureKind, Model, ModelRequest } from './model.ts'
import { costUsd, ratesFor } from './prices.ts'
import type { UserPrices, PricedModel } from './prices.ts'
import { toPrompt, withOrigin } from './prompt.ts'
import type { Prompt } from './prompt.ts'
import { reportedCost, toTokenCounts } from './usage.ts'
import type { TokenCounts } from './usage.ts'
import type { ModelFeature, Wire } from './wire.ts'
import type { CallUsage } from '../../../kernel/model/usage.ts'

export interface SdkModelOptions {
  readonly provider: string
  readonly name: string
  readonly baseURL: string
  /** the key, which must be removed from the provider's error messages */
  readonly secret: string | null
  readonly wire: Wire
  /** the context window in tokens; null if unknown */
  readonly window: number | null
  readonly effort: Effort | null
  readonly maxOutputTokens: number
  /** a stream without data for this time is cut, in ms */
  readonly idleMs: number
  /** the user's own prices; absent if the user has set none */
  readonly prices?: UserPrices | undefined
}

/** A model call in progress. */
interface Call {
  readonly request: ModelRequest
  readonly prompt: Prompt
  readonly collector: StreamCollector
  readonly idle: IdleTimeout
}

/** Matches the error messages with which providers refuse a feature. The first match decides. */
const REFUSALS: readonly (readonly [feature: ModelFeature, pattern: RegExp])[] = [
  ['reasoning', /signature|different conversation|encrypted[ _]content|reasoning_content|reasoning item/i],
  ['images', /image|vision|multimodal|mmproj/i],
  ['thoughts', /summar|include_?thoughts/i],
  ['effort', /reasoning|thinking|effort|think value/i],
]
/** The kinds of failure whose cause is never a refused feature. */
const OTHER_CAUSES: ReadonlySet<FailureKind> = new Set(['too-long', 'auth', 'rate-limit', 'refused', 'cut'])
/** A window counts as full from this share on, because some servers only report that the answer was cut. */
const FULL_SHARE = 0.99
/** A shorter key is not hidden: it is a placeholder for a local server, and may be an ordinary word. */
const MIN_SECRET_CHARS = 8

export class SdkModel implements Model {
  readonly ref: string
  readonly maxOutputTokens: number
  readonly window: number | null
  readonly #options: SdkModelOptions
  readonly #refusedFeatures = new Set<ModelFeature>()
  readonly #pricesBySize = new Map<number, CallEstimate['usd']>()

  constructor(options: SdkModelOptions) {
    this.ref = `${options.provider}/${options.name}`
    this.window = options.window
    this.maxOutputTokens = options.maxOutputTokens
    this.#options = options
  }

  /** Uses the highest input price, because it is unknown in advance which tokens are cached. */
  maxPrices(inputTokens: number): CallEstimate['usd'] | Promise<CallEstimate['usd']> {
    // Prices depend on the size of the input. The prices are looked up and cached for each power of two.
    const size = 2 ** Math.ceil(Math.log2(Math.max(1, inputTokens)))
    const cached = this.#pricesBySize.get(size)
    return cached === undefined ? this.#loadPrices(size) : cached
  }

  async #loadPrices(size: number): Promise<CallEstimate['usd']> {
    const rates = await ratesFor(this.#pricedModel, size)
    const prices = rates && { perInputToken: Math.max(rates.perInputToken, rates.perCacheWriteToken), perOutputToken: rates.perOutputToken }
    this.#pricesBySize.set(size, prices)
    return prices
  }

  async call(request: ModelRequest): Promise<ModelAnswer> {
    if (request.signal.aborted) throw new CallFailed('interrupted', { kind: 'cut' })
    const call = {
      request,
      prompt: this.#buildPrompt(request),
      collector: new StreamCollector(request),
      idle: new IdleTimeout(request.signal, this.#options.idleMs),
    }
    try {
      const firstTokenMs = await this.#streamAnswer(call)
      const answer = await this.#readAnswer(call)
      return firstTokenMs === null ? answer : { ...answer, firstTokenMs }
    } catch (error) {
      throw await this.#toCallFailed(error, call)
    } finally {
      call.idle.dispose()
    }
  }

  #buildPrompt({ context, system, question, offeredTools }: ModelRequest): Prompt {
    return toPrompt(context.messages, {
      ref: this.ref,
      style: this.#options.wire.style,
      system,
      tools: offeredTools(),
      question,
      without: this.#refusedFeatures,
    })
  }

  /** Returns the time from sending the request to the first piece of the answer; null for an empty answer. */
  async #streamAnswer({ request, prompt, collector, idle }: Call): Promise<number | null> {
    const { wire } = this.#options
    const maxOutputTokens = Math.min(this.maxOutputTokens, request.maxOutputTokens ?? Infinity)
    const effort = this.#refusedFeatures.has('effort') ? null : this.#options.effort
    const sentAt = performance.now()
    let firstTokenMs: number | null = null
    const { stream } = await wire.model.doStream({
      prompt: prompt.messages,
      tools: prompt.tools,
      ...(request.question === undefined ? {} : { toolChoice: { type: 'none' } }),
      ...(effort === null ? {} : { reasoning: effort }),
      maxOutputTokens,
      abortSignal: idle.signal,
      includeRawChunks: true, // pings, which show that the stream is alive, arrive only as raw chunks
      providerOptions: wire.options(this.#refusedFeatures),
    })
    for await (const part of stream) {
      idle.restart()
      collector.add(part)
      if (collector.hasContent) firstTokenMs ??= Math.round(performance.now() - sentAt)
    }
    return firstTokenMs
  }

  async #readAnswer({ request, prompt, collector }: Call): Promise<ModelAnswer> {
    const { message, finish } = interpretFinish(collector.rawFinish, collector.parts())
    const usage = (await this.#exactUsage(collector)) ?? (await this.#estimateUsage(request, collector))
    if (finish === 'length' && message.every((part) => part.type === 'reasoning') && this.#isFull(usage))
      throw new CallFailed('the context window is full', { kind: 'too-long' })
    return { message: message.map((part) => withOrigin(part, prompt.origin)), usage, finish }
  }

  async #toCallFailed(error: unknown, call: Call): Promise<CallFailed> {
    const { request, collector, idle } = call
    const { provider, idleMs } = this.#options
    const partial = collector.partialText
    const isCut = request.signal.aborted || idle.isExpired
    const usage =
      collector.hasBegun || isCut ? ((await this.#exactUsage(collector)) ?? (await this.#estimateUsage(request, collector))) : undefined
    if (request.signal.aborted) return new CallFailed('interrupted', { kind: 'cut', partial, usage })
    if (idle.isExpired)
      return new CallFailed(`${provider}: no data for ${durationText(idleMs)}`, { kind: 'cut', partial, usage, retryable: true })
    const reeveFailure = findReeveFailure(error)
    if (reeveFailure !== null)
      return new CallFailed(`${provider}: ${reeveFailure.message}`, {
        kind: reeveFailure.kind,
        retryable: reeveFailure.retryable,
        partial,
        usage,
      })
    const failure = parseFailure(error, Date.now())
    const { message: rawMessage, ...details } = failure
    const message = this.#hideSecret(rawMessage)
    const omitted = OTHER_CAUSES.has(details.kind) ? null : this.#omitRefusedFeature(call, failure)
    if (omitted === null) return new CallFailed(`${provider}: ${message}`, { ...details, partial, usage })
    return new CallFailed(`${provider}: ${message}; retrying without ${omitted}`, {
      ...details,
      kind: 'other',
      partial,
      usage,
      retryable: true,
      retryAfterMs: 0,
    })
  }

  /**
   * Hides the key in an error message. Some servers repeat a refused key, and reeve journals errors, shows them, and sends them to other
   * models.
   */
  #hideSecret(text: string): string {
    const { secret } = this.#options
    return secret === null || secret.length < MIN_SECRET_CHARS ? text : text.replaceAll(secret, '[secret]')
  }

  /** Omits a refused feature from all later calls. A refused call is not charged. Null if the failure refuses no feature that was sent. */
  #omitRefusedFeature({ prompt }: Call, { message, status, kind }: ParsedFailure): ModelFeature | null {
    if (status === null) return null
    const { effort, wire } = this.#options
    const wasSent: Readonly<Record<ModelFeature, boolean>> = {
      reasoning: prompt.hasReasoning,
      images: prompt.hasImages,
      thoughts: wire.requestsThoughts,
      effort: effort !== null,
    }
    // Servers without image support refuse images with any status. Other features are refused only as a bad request.
    const isBadRequest = status < 500 && kind === 'other'
    const refusal = REFUSALS.find(
      ([feature, pattern]) =>
        wasSent[feature] && !this.#refusedFeatures.has(feature) && (isBadRequest || feature === 'images') && pattern.test(message),
    )
    if (refusal === undefined) return null
    this.#refusedFeatures.add(refusal[0])
    return refusal[0]
  }

  #isFull({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: CallUsage): boolean {
    return this.window !== null && inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens >= this.window * FULL_SHARE
  }

  async #exactUsage({ usage }: StreamCollector): Promise<CallUsage | null> {
    const counts = toTokenCounts(usage)
    if (counts === null) return null
    const withCost = await this.#withCost(counts)
    return withCost.costUsd === null ? { ...withCost, costUsd: reportedCost(usage) } : withCost
  }

  async #estimateUsage(request: ModelRequest, collector: StreamCollector): Promise<CallUsage> {
    const outputTokens = Math.ceil(collector.bytes / BYTES_PER_TOKEN)
    const overhead = Buffer.byteLength(request.system ?? '') + Buffer.byteLength(JSON.stringify(request.offeredTools()))
    const estimatedCounts: TokenCounts = {
      inputTokens: request.context.estimateTokens(overhead),
      outputTokens,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    }
    const counts = collector.earlyCounts === null ? estimatedCounts : { ...collector.earlyCounts, outputTokens }
    return { ...(await this.#withCost(counts)), estimated: true }
  }

  get #pricedModel(): PricedModel {
    const { provider, name, baseURL, prices } = this.#options
    return { provider, model: name, baseURL, userPrices: prices }
  }

  async #withCost(counts: TokenCounts): Promise<CallUsage> {
    return { ...counts, costUsd: await costUsd(this.#pricedModel, counts) }
  }
}

/**
 * Finds a failure that reeve itself raised, such as an exceeded limit. The packages wrap an error at the beginning of a stream in their
 * own.
 */
function findReeveFailure(error: unknown): CallFailed | null {
  if (error instanceof CallFailed) return error
  return error instanceof Error && error.cause instanceof CallFailed ? error.cause : null
}
