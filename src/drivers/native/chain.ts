// The models of one agent in their order. The first is asked; when it cannot answer, the next one goes on for the rest of
// the turn. Owns which one is asked now; must never ask one by itself. A fallback is made when it is needed, so that one
// that nobody needs costs nothing, and one that cannot be made keeps nobody from working.
// Tests: test/e2e/native-fallback.test.ts, test/e2e/fallback.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { FactBody } from '../../kernel/facts.ts'
import type { CallAsk } from '../../kernel/types.ts'
import type { Answer, Model, ModelRequest } from './model.ts'

/** A model that is asked when those before it cannot answer. */
export interface Fallback {
  readonly ref: string
  /** Errors: those of `resolveModel`. */
  load(): Promise<Model>
}

/** Where a search for another model ended: `model` is asked from now on, null if there is none left. */
export interface Succession {
  readonly model: string | null
  /** those that could not be used, each with the reason */
  readonly passed: readonly string[]
}

export class Chain implements Model {
  readonly #first: Model
  readonly #fallbacks: readonly Fallback[]
  #now: Model
  /** the fallback that would be next */
  #next = 0
  #turn: number | null = null

  constructor(first: Model, fallbacks: readonly Fallback[]) {
    this.#first = first
    this.#fallbacks = fallbacks
    this.#now = first
  }

  get ref(): string {
    return this.#now.ref
  }

  get window(): number | null {
    return this.#now.window
  }

  get maxOutputTokens(): number {
    return this.#now.maxOutputTokens ?? 0
  }

  /** there is one left that may be asked */
  get hasNext(): boolean {
    return this.#next < this.#fallbacks.length
  }

  usdFor(inputTokens: number): CallAsk['usd'] | undefined | Promise<CallAsk['usd']> {
    return this.#now.usdFor?.(inputTokens)
  }

  call(request: ModelRequest): Promise<Answer> {
    return this.#now.call(request)
  }

  /** A turn begins with the first model, unless it is the one that was open before. */
  begin(turn: number): void {
    if (this.#turn === turn) return
    this.#turn = turn
    this.#now = this.#first
    this.#next = 0
  }

  /** Goes over to the next model that can be used; `tokens` are what its context must hold. */
  async succeed(tokens: number): Promise<Succession> {
    const passed: string[] = []
    for (let fallback = this.#fallbacks[this.#next]; fallback !== undefined; fallback = this.#fallbacks[this.#next]) {
      this.#next += 1
      const model = await this.#load(fallback, passed)
      if (model === null) continue
      if (model.window === null || tokens < model.window) {
        this.#now = model
        return { model: model.ref, passed }
      }
      passed.push(`${fallback.ref} is passed by: its context holds ${model.window} tokens, and there are about ${tokens}`)
    }
    return { model: null, passed }
  }

  /** An incarnation goes on with the model that the last one had come to in its open turn. */
  async goOn({ turn, model }: LastAsked): Promise<void> {
    if (turn === null || model === null) return
    const index = this.#fallbacks.findIndex((fallback) => fallback.ref === model)
    const fallback = this.#fallbacks[index]
    if (model === this.#first.ref || fallback === undefined) return
    const loaded = await this.#load(fallback, [])
    if (loaded === null) return
    this.#turn = turn
    this.#now = loaded
    this.#next = index + 1
  }

  async #load(fallback: Fallback, passed: string[]): Promise<Model | null> {
    try {
      return await fallback.load()
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      passed.push(`${fallback.ref} is passed by: ${error.message}`)
      return null
    }
  }
}

/** Which model was asked last in the turn that is open at the end of a history. When all had failed there is none. */
export class LastAsked {
  turn: number | null = null
  model: string | null = null

  see(body: FactBody): void {
    switch (body.type) {
      case 'process.working':
        if (body.turn !== this.turn) this.model = null
        this.turn = body.turn
        return
      case 'model.started': this.model = body.model; return
      case 'model.failed':
        if (body.retryInMs === null) this.model = null
        return
      case 'process.resumed':
        if (body.spec !== undefined) this.model = null
        return
      default: return
    }
  }
}
