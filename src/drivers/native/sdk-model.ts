// A model behind one of the AI SDK's provider packages, through `doStream` alone: no hidden retries, each call is ours.
// Owns the end of a hanging stream and the estimate for a call that was cut off.
// Test: test/e2e/native-models.test.ts.
import type { LanguageModelV4, LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import type { FinishReason } from '../../kernel/facts.ts'
import type { CallUsage } from '../../kernel/types.ts'
import { Collector } from './collect.ts'
import { BYTES_PER_TOKEN } from './context.ts'
import { readFailure } from './failure.ts'
import { CallFailed } from './model.ts'
import type { Answer, Model, ModelRequest } from './model.ts'
import { costUsd } from './prices.ts'
import { toPrompt } from './prompt.ts'
import { toBuckets } from './usage.ts'
import type { Buckets } from './usage.ts'

export interface SdkModelOptions {
  readonly provider: string
  readonly name: string
  readonly model: LanguageModelV4
  /** mark the ends of cached prefixes */
  readonly cache: boolean
  readonly maxOutputTokens: number
  /** a stream that sends nothing for so long is cut */
  readonly idleMs: number
}

export class SdkModel implements Model {
  readonly ref: string
  readonly window: number | null = null
  readonly #options: SdkModelOptions

  constructor(options: SdkModelOptions) {
    this.ref = `${options.provider}/${options.name}`
    this.#options = options
  }

  async call(request: ModelRequest): Promise<Answer> {
    if (request.signal.aborted) throw new CallFailed('interrupted', { kind: 'cut' })
    const collector = new Collector(request)
    const idle = new IdleWatch(request.signal, this.#options.idleMs)
    try {
      await this.#stream(request, collector, idle)
      return await this.#answer(request, collector)
    } catch (error) {
      throw await this.#failure(error, request, collector, idle)
    } finally {
      idle.end()
    }
  }

  async #stream(request: ModelRequest, collector: Collector, idle: IdleWatch): Promise<void> {
    const { stream } = await this.#options.model.doStream({
      prompt: toPrompt(request.context.messages, { system: request.system, cache: this.#options.cache }),
      tools: request.offered().map(({ name, description, schema }): LanguageModelV4FunctionTool => ({ type: 'function', name, description, inputSchema: schema })),
      maxOutputTokens: this.#options.maxOutputTokens,
      abortSignal: idle.signal,
      includeRawChunks: true, // pings arrive as raw parts only, and show that the stream lives
    })
    for await (const part of stream) {
      idle.touch()
      collector.take(part)
    }
  }

  async #answer(request: ModelRequest, collector: Collector): Promise<Answer> {
    const { finish } = collector
    if (finish === null || finish === 'interrupted') throw new Error('the stream ended before the answer did')
    if (finish === 'error') throw new Error('the provider ended the answer with an error')
    const message = collector.parts()
    const buckets = toBuckets(collector.usage)
    const usage = buckets === null ? await this.#estimate(request, collector) : await this.#price(buckets)
    return { message, usage, finish: asked(finish, message.some((part) => part.type === 'tool-call')) }
  }

  async #failure(error: unknown, request: ModelRequest, collector: Collector, idle: IdleWatch): Promise<CallFailed> {
    const partial = collector.partialText
    const cut = request.signal.aborted || idle.expired
    const charged = collector.begun || cut ? await this.#estimate(request, collector) : undefined
    if (request.signal.aborted) return new CallFailed('interrupted', { kind: 'cut', partial, usage: charged })
    const refusal = ourRefusal(error)
    if (refusal !== null) return new CallFailed(refusal.message, { partial, usage: charged })
    if (idle.expired) return new CallFailed(`${this.#options.provider}: nothing came in for ${this.#options.idleMs} ms`, { kind: 'cut', partial, usage: charged, retryable: true })
    const { message, ...read } = readFailure(error, Date.now())
    return new CallFailed(`${this.#options.provider}: ${message}`, { ...read, partial, usage: charged })
  }

  async #estimate(request: ModelRequest, collector: Collector): Promise<CallUsage> {
    const outputTokens = Math.ceil(collector.bytes / BYTES_PER_TOKEN)
    const overhead = Buffer.byteLength(request.system ?? '') + Buffer.byteLength(JSON.stringify(request.offered()))
    const unknown: Buckets = { inputTokens: request.context.estimateTokens(overhead), outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 }
    const buckets = collector.early === null ? unknown : { ...collector.early, outputTokens }
    return { ...(await this.#price(buckets)), estimated: true }
  }

  async #price(buckets: Buckets): Promise<CallUsage> {
    return { ...buckets, costUsd: await costUsd({ provider: this.#options.provider, model: this.#options.name }, buckets) }
  }
}

/** A limit of ours that was passed: the packages put their own error around what they met at the beginning of a stream. */
function ourRefusal(error: unknown): CallFailed | null {
  if (error instanceof CallFailed) return error
  return error instanceof Error && error.cause instanceof CallFailed ? error.cause : null
}

/** Some servers say "stop" although they asked for tools. A cut by length stays what it is. */
function asked(finish: FinishReason, hasCalls: boolean): FinishReason {
  return hasCalls && (finish === 'stop' || finish === 'other') ? 'tool-calls' : finish
}

/** Aborts with the request, or when nothing came in for a while. */
class IdleWatch {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #timer: NodeJS.Timeout
  expired = false

  constructor(outer: AbortSignal, idleMs: number) {
    this.#outer = outer
    this.#timer = setTimeout(() => {
      this.expired = true
      this.#controller.abort()
    }, idleMs)
    outer.addEventListener('abort', this.#abort)
    if (outer.aborted) this.#abort()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  touch(): void {
    this.#timer.refresh()
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#abort)
  }

  readonly #abort = (): void => this.#controller.abort()
}
