// The commit pipeline, with the daemon's queue of inputs. The waiting inputs form batches of limited size. The pipeline decides each input
// on the applied state plus the changes of the inputs before it. Then it commits the batch, applies the changes and performs the effects.
// Only one commit is in flight at a time; inputs that arrive meanwhile form the next batch. A batch takes few ends of processes, after its
// other inputs. So the end of a large tree hardly delays working agents. The order is durable → applied → visible. Yields to the event loop
// under load. A failed batch is not applied: its inputs are tried again one by one, and only the failing input gets the error. A store that
// is fenced ends the pipeline: it refuses all requests, and drops all other inputs.
// Tests: test/simulation/pipeline.test.ts, test/tables/daemon/loop/pipeline.test.ts.
import { EventLoopTurns, type SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import { KernelError, type ErrorCode } from '../../kernel/model/errors.ts'
import { step } from '../../kernel/decide/step.ts'
import { hasSameBook } from '../../kernel/state/home.ts'
import { Overlay } from '../../kernel/state/live-table.ts'
import type { Effect, ReplyValue } from '../../kernel/model/effects.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Input, InputBody, ReplyTo } from '../../kernel/model/inputs.ts'
import type { Decision } from '../../kernel/decide/draft.ts'
import type { Counters, Store } from '../../store/store.ts'
import type { Clock } from './clock.ts'
import type { Table } from './table.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Now } from '../../kernel/model/ids.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** The largest number of inputs in one commit. */
const MAX_BATCH = 250
/** The largest number of ends of processes in one commit. Other inputs wait for such a commit, which takes some 20 ms. */
const MAX_ENDS = 60
/** The largest number of inputs that wait for another input to start a batch; further ones are dropped. */
const MAX_JOINING = 1_000

/** Errors of a store after which it accepts nothing more. */
const FINAL_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['FENCED', 'STORE_REGRESSED'])

type WithoutReply<T> = T extends { readonly reply: ReplyTo } ? Omit<T, 'reply'> : never
/** An input that gets a reply. The pipeline adds the number of the reply. */
export type RequestBody = WithoutReply<InputBody>

export interface PipelineDeps {
  readonly table: Table
  readonly store: Store
  readonly clock: Clock
  /** the daemon's shared time slices of the event loop; default: time slices for this pipeline alone */
  readonly timeSlices?: EventLoopTurns
  /** the cursor of the newest fact */
  readonly cursor: number
  /** called with the facts of a commit, in order, and the processes that it changed, after both were applied */
  readonly publish: (facts: readonly StoredFact[], processes: readonly Process[]) => void
  readonly perform: (effect: Effect) => void
  /**
   * Is called with the error of an input whose commit failed, and with null for an input that is about to be decided.
   * Returns true if it deferred the input. The input is then submitted again later, and its sender continues to wait.
   */
  readonly defer: (input: InputBody, error: KernelError | null) => boolean
  /** returns the input that may be written, perhaps with a shorter text; default: the same input */
  readonly shorten?: (input: InputBody) => InputBody
  readonly log: (message: string, error: unknown) => void
}

interface Pending {
  readonly resolve: (value: ReplyValue) => void
  readonly reject: (error: KernelError) => void
}

export class Pipeline {
  readonly #deps: PipelineDeps
  readonly #pending = new Map<ReplyTo, Pending>()
  #queue: InputBody[] = []
  /** the last inputs of ended processes. Each process sends them after all its other inputs, so their order is kept. */
  #ends: InputBody[] = []
  /** the number of inputs at the front of the queue that belong to a failed batch; each of them is tried alone */
  #retriedAloneCount = 0
  /** inputs that wait for another input to start a batch */
  #joining: InputBody[] = []
  #workBetweenCommits: (() => Promise<void>)[] = []
  #lastReply: ReplyTo = 0
  #cursor: number
  #activeRun: Promise<void> | null = null
  #isClosed = false
  /** why the store is no longer this daemon's; null while it is */
  #fence: KernelError | null = null
  readonly #fenced = Promise.withResolvers<KernelError>()
  readonly #slices: SliceQueue

  constructor(deps: PipelineDeps) {
    this.#deps = deps
    this.#cursor = deps.cursor
    this.#slices = (deps.timeSlices ?? new EventLoopTurns(() => deps.clock.now().mono)).newQueue()
  }

  /** Resolves with the error of a store that is no longer this daemon's. Nothing can be written from then on. */
  get fenced(): Promise<KernelError> {
    return this.#fenced.promise
  }

  get cursor(): number {
    return this.#cursor
  }

  /** Puts an input at the end of its queue. */
  submit(input: InputBody): void {
    if (this.#isClosed) return
    const queue = isEnd(input) ? this.#ends : this.#queue
    queue.push(input)
    this.#activeRun ??= this.#run()
  }

  /**
   * Puts deferred inputs back at the front of the queue, in their order, because they are older than all waiting inputs. The next
   * commit may contain all of them.
   */
  resubmit(inputs: readonly InputBody[]): void {
    if (this.#isClosed) return
    this.#queue = [...inputs, ...this.#queue]
    this.#retriedAloneCount = 0
    this.#activeRun ??= this.#run()
  }

  /** Adds an input that is not worth a separate commit: it joins the next batch that another input starts. */
  joinNextBatch(input: InputBody): void {
    if (this.#joining.length < MAX_JOINING) this.#joining.push(input)
  }

  /**
   * Runs `work` between two commits, for data that the store writes without a decision, such as a part of an import. `work` returns the
   * counters of the store after it. Errors: those of `work`; the counters then stay the same.
   */
  runBetweenCommits(work: () => Promise<Counters>): Promise<void> {
    if (this.#isClosed) return Promise.reject(this.#fence ?? closedError())
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#workBetweenCommits.push(() => this.#applyCounters(work).then(resolve, reject))
    this.#activeRun ??= this.#run()
    return promise
  }

  async #applyCounters(work: () => Promise<Counters>): Promise<void> {
    const { cursor, pid } = await work()
    this.#cursor = cursor
    this.#deps.table.apply([], pid)
  }

  /** Submits a request. Resolves with the answer when its facts are durable. Errors: those of the kernel and the store. */
  request(body: RequestBody): Promise<ReplyValue> {
    if (this.#isClosed) return Promise.reject(this.#fence ?? closedError())
    this.#lastReply += 1
    const reply = this.#lastReply
    return new Promise((resolve, reject) => {
      this.#pending.set(reply, { resolve, reject })
      this.submit({ ...body, reply })
    })
  }

  /** Performs the effects `reply` and `refuse`: settles the promise of their request. */
  answer(effect: Extract<Effect, { type: 'reply' | 'refuse' }>): void {
    const pending = this.#pending.get(effect.to)
    this.#pending.delete(effect.to)
    if (effect.type === 'reply') pending?.resolve(effect.value)
    else pending?.reject(new KernelError(effect.code, effect.message, effect.details, effect.hint))
  }

  /** Resolves when the queue is empty. */
  async waitUntilIdle(): Promise<void> {
    while (this.#activeRun) await this.#activeRun
  }

  /** Accepts no more inputs, finishes the queue, and refuses the requests that still have no answer. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.waitUntilIdle()
    this.#refuseAll(closedError())
  }

  async #run(): Promise<void> {
    // Inputs submitted in the same turn of the event loop belong to the same commit.
    await Promise.resolve()
    while (this.#hasInput || this.#workBetweenCommits.length > 0) {
      // Without this pause, a flood of inputs would block all other work of the event loop.
      await this.#slices.next()
      const work = this.#workBetweenCommits.shift()
      if (work) await work()
      if (!this.#hasInput) continue
      const inputs: InputBody[] = []
      for (const queued of this.#takeBatch()) {
        const input = this.#deps.shorten?.(queued) ?? queued
        const isDeferred = this.#deps.defer(input, null)
        if (!isDeferred) inputs.push(input)
      }
      const error = await this.#tryBatch(inputs)
      if (error) this.#handleFailedBatch(inputs, error)
    }
    this.#activeRun = null
  }

  get #hasInput(): boolean {
    return this.#queue.length > 0 || this.#ends.length > 0
  }

  /** Removes the next batch from the queues and returns it. */
  #takeBatch(): readonly InputBody[] {
    const size = this.#retriedAloneCount > 0 ? 1 : MAX_BATCH
    const inputs = this.#queue.length <= size ? this.#queue : this.#queue.slice(0, size)
    this.#queue = inputs === this.#queue ? [] : this.#queue.slice(size)
    if (this.#retriedAloneCount > 0) {
      this.#retriedAloneCount -= 1
      return inputs
    }
    if (this.#joining.length === 0 && this.#ends.length === 0) return inputs
    const joining = this.#joining
    this.#joining = []
    return [...joining, ...inputs, ...this.#ends.splice(0, MAX_ENDS)]
  }

  /** Decides, commits, applies and performs a batch. Returns the error of a failed commit, after which nothing has changed; else null. */
  async #tryBatch(inputs: readonly InputBody[]): Promise<KernelError | null> {
    const { table, store, clock } = this.#deps
    const overlay = new Overlay(table)
    const now = clock.now()
    const decisions = inputs.map((input) => this.#decide(overlay, input, now))
    const decidedFacts = decisions.flatMap(({ changes }) => changes.facts)
    const isHomeChanged = !hasSameBook(overlay.home, table.home)
    let facts: readonly StoredFact[] = []
    if (decidedFacts.length > 0 || isHomeChanged) {
      const processes = [...overlay.processes.values()]
      try {
        facts = await store.commit({
          facts: decidedFacts,
          processes,
          lastPid: overlay.lastPid,
          ...(isHomeChanged ? { home: overlay.home.book } : {}),
        })
      } catch (error) {
        return error instanceof KernelError ? error : new KernelError('INTERNAL', String(error))
      }
      this.#cursor = facts.at(-1)?.cursor ?? this.#cursor
      table.apply(processes, overlay.lastPid)
    }
    // The budgets of the home may change without a fact. Subscribers must read the account as it is after these facts.
    table.home = overlay.home
    if (facts.length > 0) this.#publish(facts, [...overlay.processes.values()])
    for (const effect of decisions.flatMap(({ effects }) => effects)) {
      if (this.#slices.mustWait) await this.#slices.next()
      this.#perform(effect)
    }
    table.pack()
    return null
  }

  /** Publishes durable facts. An error is only logged, because it concerns the subscribers and not the queue. */
  #publish(facts: readonly StoredFact[], processes: readonly Process[]): void {
    try {
      this.#deps.publish(facts, processes)
    } catch (error) {
      this.#deps.log('publishing failed', error)
    }
  }

  /** Performs an effect. An error is only logged, because it must not stop the other effects. */
  #perform(effect: Effect): void {
    try {
      this.#deps.perform(effect)
    } catch (error) {
      this.#deps.log(`performing ${effect.type} failed`, error)
    }
  }

  #decide(overlay: Overlay, body: InputBody, now: Now): Decision {
    const input = { ...body, now } as Input
    const decision = this.#stepSafely(overlay, input)
    for (const process of decision.changes.processes.values()) overlay.put(process)
    overlay.lastPid = decision.changes.lastPid
    overlay.home = decision.changes.home
    return decision
  }

  /** Decides an input. A broken invariant is logged with its stack trace, and refuses only this input: the daemon continues. */
  #stepSafely(overlay: Overlay, input: Input): Decision {
    try {
      const decision = step(overlay, input)
      const [first] = decision.effects
      if (first?.type === 'refuse' && first.code === 'INTERNAL') this.#deps.log(`refused ${input.type}: ${first.message}`, null)
      return decision
    } catch (error) {
      this.#deps.log(`input ${input.type} met a broken invariant`, error)
      const changes = { facts: [], processes: new Map(), lastPid: overlay.lastPid, home: overlay.home }
      const message = errorText(error)
      return { changes, effects: 'reply' in input ? [{ type: 'refuse', to: input.reply, code: 'INTERNAL', message }] : [] }
    }
  }

  /** Handles a failed batch. Several inputs are tried again one by one. A single input is deferred, or refused with the error. */
  #handleFailedBatch(inputs: readonly InputBody[], error: KernelError): void {
    const [input] = inputs
    if (input === undefined) return
    if (FINAL_ERRORS.has(error.code)) this.#endFenced(error)
    else if (inputs.length > 1) {
      this.#queue = [...inputs, ...this.#queue]
      this.#retriedAloneCount = inputs.length
    } else if (!this.#deps.defer(input, error)) this.refuse(input, error)
  }

  /** Drops all inputs and refuses all requests: another writer has the store, so that no decision of this table counts. */
  #endFenced(error: KernelError): void {
    this.#isClosed = true
    this.#queue = []
    this.#ends = []
    this.#joining = []
    this.#refuseAll(error)
    this.#fence = error
    this.#fenced.resolve(error)
  }

  #refuseAll(error: KernelError): void {
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }

  /** Logs that an input could not be written, and refuses it if it is a request. */
  refuse(input: InputBody, error: KernelError): void {
    this.#deps.log(`the commit of ${input.type} failed`, error)
    if ('reply' in input) this.answer({ type: 'refuse', to: input.reply, code: error.code, message: error.message, hint: error.hint })
  }
}

function closedError(): KernelError {
  return new KernelError('UNAVAILABLE', 'the daemon is stopping')
}

function isEnd(input: InputBody): boolean {
  return input.type === 'released' || (input.type === 'report' && input.report.type === 'exited')
}
