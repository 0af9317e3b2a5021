// The commit pipeline, and the one queue of the daemon: takes all inputs that wait, decides each on the applied state and
// the changes so far, commits them as one, applies, performs. One commit is in flight; what arrives meanwhile is the next batch.
// Owns the order durable → applied → visible. A batch that fails is not applied: its inputs are tried one by one,
// and only the offender gets the error. Tests: test/simulation/pipeline.test.ts, test/tables/pipeline.test.ts.
import { KernelError } from '../kernel/errors.ts'
import { step } from '../kernel/step.ts'
import { Overlay } from '../kernel/view.ts'
import type { Effect, ReplyValue } from '../kernel/effects.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Input, InputBody, ReplyTo } from '../kernel/inputs.ts'
import type { Now } from '../kernel/types.ts'
import type { Decision } from '../kernel/work.ts'
import type { Counters, Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { Table } from './table.ts'

/** inputs per commit */
const MAX_BATCH = 1_000

type WithoutReply<T> = T extends { readonly reply: ReplyTo } ? Omit<T, 'reply'> : never
/** An input that is answered, without its number. */
export type RequestBody = WithoutReply<InputBody>

export interface PipelineParts {
  readonly table: Table
  readonly store: Store
  readonly clock: Clock
  /** the cursor that was given out last */
  readonly cursor: number
  /** after a commit: facts in order, already applied */
  readonly publish: (facts: readonly StoredFact[]) => void
  readonly perform: (effect: Effect) => void
  /**
   * A commit of this input alone failed; or, with null, it has not been decided yet: shall it wait behind what is kept?
   * True: it is kept and comes back later, so that its sender goes on waiting.
   */
  readonly keep: (input: InputBody, error: KernelError | null) => boolean
  readonly log: (message: string, error: unknown) => void
}

interface Pending {
  readonly resolve: (value: ReplyValue) => void
  readonly reject: (error: KernelError) => void
}

export class Pipeline {
  readonly #parts: PipelineParts
  readonly #pending = new Map<ReplyTo, Pending>()
  #queue: InputBody[] = []
  #joining: InputBody[] = []
  #pieces: (() => Promise<void>)[] = []
  #replies = 0
  #cursor: number
  #running: Promise<void> | null = null
  #closed = false

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#cursor = parts.cursor
  }

  get cursor(): number {
    return this.#cursor
  }

  /** Puts an input at the end of the queue; it is decided with the next batch. */
  submit(input: InputBody): void {
    if (this.#closed) return
    this.#queue.push(input)
    this.#running ??= this.#run()
  }

  /** Puts in an input that is not worth a commit of its own: it goes with the next batch that something else makes. */
  join(input: InputBody): void {
    if (this.#joining.length < MAX_BATCH) this.#joining.push(input)
  }

  /**
   * Lets the store write something else between two commits: what has no decision, such as a piece of an import. `work` gets the
   * counters as they are, and gives them as they are then. Errors: those of `work`; then the counters stay.
   */
  between(work: (counters: Counters) => Promise<Counters>): Promise<void> {
    if (this.#closed) return Promise.reject(new KernelError('UNAVAILABLE', 'the daemon is stopping'))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#pieces.push(() => this.#piece(work).then(resolve, reject))
    this.#running ??= this.#run()
    return promise
  }

  async #piece(work: (counters: Counters) => Promise<Counters>): Promise<void> {
    const { table } = this.#parts
    const { cursor, pid } = await work({ cursor: this.#cursor, pid: table.lastPid })
    this.#cursor = Math.max(this.#cursor, cursor)
    table.apply([], Math.max(table.lastPid, pid))
  }

  /** Submits a request and resolves with its answer, once that is durable. Errors: those of the kernel and the store. */
  request(body: RequestBody): Promise<ReplyValue> {
    if (this.#closed) return Promise.reject(new KernelError('UNAVAILABLE', 'the daemon is stopping'))
    this.#replies += 1
    const reply = this.#replies
    return new Promise((resolve, reject) => {
      this.#pending.set(reply, { resolve, reject })
      this.submit({ ...body, reply } as InputBody)
    })
  }

  /** Answers a request; the effects `reply` and `refuse` end here. */
  answer(effect: Extract<Effect, { type: 'reply' | 'refuse' }>): void {
    const pending = this.#pending.get(effect.to)
    this.#pending.delete(effect.to)
    if (effect.type === 'reply') pending?.resolve(effect.value)
    else pending?.reject(new KernelError(effect.code, effect.message, effect.details, effect.hint))
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  /** Takes nothing more, finishes what waits, and refuses the requests that are left. */
  async close(): Promise<void> {
    this.#closed = true
    await this.idle()
    for (const { reject } of this.#pending.values()) reject(new KernelError('UNAVAILABLE', 'the daemon is stopping'))
    this.#pending.clear()
  }

  async #run(): Promise<void> {
    // What is said in the same turn of the loop belongs to the same commit.
    await Promise.resolve()
    while (this.#queue.length > 0 || this.#pieces.length > 0) {
      const piece = this.#pieces.shift()
      if (piece) await piece()
      if (this.#queue.length === 0) continue
      const inputs = this.#take().filter((input) => !this.#parts.keep(input, null))
      const error = await this.#attempt(inputs)
      if (error) await this.#apart(inputs, error)
    }
    this.#running = null
  }

  /** The next batch. */
  #take(): readonly InputBody[] {
    const inputs = this.#queue.length <= MAX_BATCH ? this.#queue : this.#queue.slice(0, MAX_BATCH)
    this.#queue = inputs === this.#queue ? [] : this.#queue.slice(MAX_BATCH)
    const joining = this.#joining
    if (joining.length === 0) return inputs
    this.#joining = []
    return [...joining, ...inputs]
  }

  /** Each input of a batch that failed on its own. */
  async #apart(inputs: readonly InputBody[], error: KernelError): Promise<void> {
    if (inputs.length === 1) return this.#failed(inputs[0] as InputBody, error)
    for (const input of inputs) {
      if (this.#parts.keep(input, null)) continue
      const own = await this.#attempt([input])
      if (own) this.#failed(input, own)
    }
  }

  /** Decides, commits, applies, performs. Null, or why the commit failed: then nothing has changed. */
  async #attempt(inputs: readonly InputBody[]): Promise<KernelError | null> {
    const { table, store, clock } = this.#parts
    const overlay = new Overlay(table)
    const now = clock.now()
    const decisions = inputs.map((input) => this.#decide(overlay, input, now))
    const facts = this.#number(decisions)
    if (facts.length > 0) {
      const cursor = this.#cursor + facts.length
      const processes = [...overlay.processes.values()]
      try {
        await store.commit({ facts, processes, counters: { pid: overlay.lastPid, cursor } })
      } catch (error) {
        return error instanceof KernelError ? error : new KernelError('INTERNAL', String(error))
      }
      this.#cursor = cursor
      table.apply(processes, overlay.lastPid)
      this.#publish(facts)
    }
    for (const { effects } of decisions) for (const effect of effects) this.#perform(effect)
    table.pack()
    return null
  }

  /** What is durable is done: whatever fails out there concerns its viewers, and not the queue of all. */
  #publish(facts: readonly StoredFact[]): void {
    try {
      this.#parts.publish(facts)
    } catch (error) {
      this.#parts.log('publishing failed', error)
    }
  }

  /** As with publishing: an effect that fails concerns itself alone. */
  #perform(effect: Effect): void {
    try {
      this.#parts.perform(effect)
    } catch (error) {
      this.#parts.log(`performing ${effect.type} failed`, error)
    }
  }

  #decide(overlay: Overlay, body: InputBody, now: Now): Decision {
    const input = { ...body, now } as Input
    const decision = this.#step(overlay, input)
    for (const process of decision.changes.processes.values()) overlay.put(process)
    overlay.lastPid = decision.changes.lastPid
    return decision
  }

  /** A broken invariant ends the input that met it, with its place in the log, and not the daemon with all that runs. */
  #step(overlay: Overlay, input: Input): Decision {
    try {
      const decision = step(overlay, input)
      const [first] = decision.effects
      if (first?.type === 'refuse' && first.code === 'INTERNAL') this.#parts.log(`refused ${input.type}: ${first.message}`, null)
      return decision
    } catch (error) {
      this.#parts.log(`input ${input.type} met a broken invariant`, error)
      const changes = { facts: [], processes: new Map(), lastPid: overlay.lastPid }
      const message = error instanceof Error ? error.message : String(error)
      return { changes, effects: 'reply' in input ? [{ type: 'refuse', to: input.reply, code: 'INTERNAL', message }] : [] }
    }
  }

  #number(decisions: readonly Decision[]): StoredFact[] {
    const facts: StoredFact[] = []
    for (const { changes } of decisions) {
      for (const { uuid, seq, pid, at, body } of changes.facts) facts.push({ uuid, seq, pid, at, body, cursor: this.#cursor + facts.length + 1 })
    }
    return facts
  }

  #failed(input: InputBody, error: KernelError): void {
    if (this.#parts.keep(input, error)) return
    this.#parts.log(`the commit of ${input.type} failed`, error)
    if ('reply' in input) this.answer({ type: 'refuse', to: input.reply, code: error.code, message: error.message, hint: error.hint })
  }
}
