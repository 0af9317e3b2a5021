// The models of one agent, in order. When the current model cannot answer, the next one answers for the rest of the turn. Must never start
// a model call by itself. A fallback is created only when it is needed. This way an unused fallback costs nothing, and a fallback that
// cannot be created does not stop the agent. Tests: test/processes/native/fallback.test.ts, test/e2e/models/fallback.test.ts.
import { KernelError } from '../../../kernel/model/errors.ts'
import type { FactBody } from '../../../kernel/model/facts.ts'
import type { CallEstimate } from '../../../kernel/model/process.ts'
import type { ModelAnswer, Model, ModelRequest } from './model.ts'

/** A model that takes over when the models before it cannot answer. */
export interface Fallback {
  readonly ref: string
  /** Errors: those of `resolveModel`. */
  load(): Promise<Model>
}

/** The result of a switch to the next model. */
export interface SwitchResult {
  /** the new current model; null if no usable model is left */
  readonly model: string | null
  /** messages about the models that could not be used, each with the reason */
  readonly skipped: readonly string[]
}

/** Creates the first model, at the start and again after a key was refused. */
export interface FirstModelLoader {
  /** Errors: those of `resolveModel`. */
  load(): Promise<Model>
  /** The current keys of all models as one text, only for comparison. The text must never be shown. */
  keys(): string
}

/** Acts as the current model of the agent. */
export class FallbackChain implements Model {
  #first: Model
  readonly #loader: FirstModelLoader
  /** the keys with which the first model was created */
  #keys: string
  readonly #fallbacks: readonly Fallback[]
  #current: Model
  /** the index of the next fallback */
  #nextIndex = 0
  /** the turn for which the current model was chosen */
  #turn: number | null = null

  private constructor(first: Model, fallbacks: readonly Fallback[], loader: FirstModelLoader, keys: string) {
    this.#first = first
    this.#loader = loader
    this.#keys = keys
    this.#fallbacks = fallbacks
    this.#current = first
  }

  /** Errors: those of `resolveModel`. */
  static async create(loader: FirstModelLoader, fallbacks: readonly Fallback[]): Promise<FallbackChain> {
    const keys = loader.keys() // read before the model is created, so that a later change is noticed
    return new FallbackChain(await loader.load(), fallbacks, loader, keys)
  }

  get ref(): string {
    return this.#current.ref
  }

  get window(): number | null {
    return this.#current.window
  }

  get maxOutputTokens(): number {
    return this.#current.maxOutputTokens ?? 0
  }

  /** true if there is another model to switch to in this turn */
  get hasFallbackLeft(): boolean {
    return this.#nextIndex < this.#fallbacks.length
  }

  maxPrices(inputTokens: number): CallEstimate['usd'] | undefined | Promise<CallEstimate['usd']> {
    return this.#current.maxPrices?.(inputTokens)
  }

  call(request: ModelRequest): Promise<ModelAnswer> {
    return this.#current.call(request)
  }

  /** Starts a turn with the first model. Does nothing if the turn has already started. */
  beginTurn(turn: number): void {
    if (this.#turn === turn) return
    this.#turn = turn
    this.#current = this.#first
    this.#nextIndex = 0
  }

  /** Switches to the next model that can be created and whose window is larger than `tokens`, the size of the context. */
  async switchToNext(tokens: number): Promise<SwitchResult> {
    const skipped: string[] = []
    for (let fallback = this.#fallbacks[this.#nextIndex]; fallback !== undefined; fallback = this.#fallbacks[this.#nextIndex]) {
      this.#nextIndex += 1
      const model = await this.#load(fallback, skipped)
      if (model === null) continue
      if (model.window === null || tokens < model.window) {
        this.#current = model
        return { model: model.ref, skipped }
      }
      skipped.push(`${fallback.ref} is skipped: its context window has ${model.window} tokens, and the context about ${tokens}`)
    }
    return { model: null, skipped }
  }

  /** True if the user has changed a key since the first model was created. The refusal of the old key then does not concern the new one. */
  get hasNewKey(): boolean {
    return this.#loader.keys() !== this.#keys
  }

  /** Creates the first model again with the current keys, and continues with it. Called after a key was refused. */
  async reload(): Promise<void> {
    this.#keys = this.#loader.keys()
    this.#first = (await this.#load({ ref: this.#first.ref, load: () => this.#loader.load() }, [])) ?? this.#first
    this.#current = this.#first
    this.#nextIndex = 0
  }

  /** Continues an open turn with the model that the previous incarnation called last. */
  async resumeFrom({ turn, model }: LastCalledModel): Promise<void> {
    if (turn === null || model === null) return
    const index = this.#fallbacks.findIndex((fallback) => fallback.ref === model)
    const fallback = this.#fallbacks[index]
    if (model === this.#first.ref || fallback === undefined) return
    const loaded = await this.#load(fallback, [])
    if (loaded === null) return
    this.#turn = turn
    this.#current = loaded
    this.#nextIndex = index + 1
  }

  /** Creates a model. Null if that fails; the reason is then added to `skipped`. */
  async #load(fallback: Fallback, skipped: string[]): Promise<Model | null> {
    try {
      return await fallback.load()
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      skipped.push(`${fallback.ref} is skipped: ${error.message}`)
      return null
    }
  }
}

/**
 * Finds the last turn of a journal, and the model that was called last in it. The model is null if none was called, the last one has failed
 * for good, or the spec has changed since.
 */
export class LastCalledModel {
  turn: number | null = null
  model: string | null = null

  observe(body: FactBody): void {
    switch (body.type) {
      case 'process.working':
        if (body.turn !== this.turn) this.model = null
        this.turn = body.turn
        return
      case 'model.started':
        this.model = body.model
        return
      case 'model.failed':
        if (body.retryInMs === null) this.model = null
        return
      case 'process.resumed':
        if (body.spec !== undefined) this.model = null
        return
      default:
        return
    }
  }
}
