// Reads a process's journal as a recording of its model: the answer of each step, and the input before it. Keeps an index of sequence
// numbers. The bodies of facts are read only on request, so that a long recording needs little memory. Must never change the recorded
// process. Test: test/e2e/models/replay.test.ts.
import { KernelError } from '../../../kernel/model/errors.ts'
import type { FactBody, StoredFact, ToolOutcome, BodyOf } from '../../../kernel/model/facts.ts'
import type { ModelAnswer } from '../models/model.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'
import type { NativeSpec } from '../../../kernel/model/process-spec.ts'

/** The facts per page of the journal. */
const PAGE_FACTS = 200

/** Reads at most `limit` facts of the journal after the fact `afterSeq`. */
type ReadHistory = (afterSeq: number, limit: number) => Promise<readonly StoredFact[]>

/** The result of a tool call. */
export interface RecordedResult {
  readonly callId: string
  readonly name: string
  readonly outcome: ToolOutcome
  readonly content: string
  /** the number of images */
  readonly images: number
}

/** The model's input between two answers: user messages and tool results. */
export interface RecordedInput {
  readonly messages: readonly string[]
  readonly results: readonly RecordedResult[]
}

/** The sequence numbers of a step's facts in the journal; 0 for a missing fact. */
interface StepEntry {
  /** the last `model.started`; the input of the answer is everything before it */
  started: number
  /** the `model.finished` with the answer */
  finished: number
  /** the last `model.failed`, after which the model was not called again */
  failed: number
  /** the last list of MCP servers before the model call */
  servers: number
  /** true if the answer had neither texts nor tool calls, so that the context has no message of it */
  isEmpty: boolean
}

/** The recorded outcome of a step: an answer, a failure, or null if it is unknown. */
export type RecordedStep = { readonly answer: Omit<ModelAnswer, 'usage'> } | { readonly failure: string } | null

export class ModelRecording {
  readonly uuid: Uuid
  readonly spec: NativeSpec
  readonly #readHistory: ReadHistory
  readonly #entries = new Map<number, StepEntry>()
  /** the sequence number of the fact with a message's text, by message id */
  readonly #queuedSeqs = new Map<string, number>()
  #lastServersSeq = 0
  #lastSeq = 0

  private constructor(uuid: Uuid, spec: NativeSpec, read: ReadHistory) {
    this.uuid = uuid
    this.spec = spec
    this.#readHistory = read
  }

  /** Opens the recording of a process. Errors: `COLLECTED` if its journal was removed, `INVALID` if its driver records no steps. */
  static async open(uuid: Uuid, read: ReadHistory): Promise<ModelRecording> {
    const [first] = await read(0, 1)
    if (first?.body.type !== 'process.spawned') throw new KernelError('COLLECTED', `the process ${uuid} cannot be replayed: it was removed`)
    const { spec } = first.body
    if (spec.driver !== 'native')
      throw new KernelError('INVALID', `process ${uuid} cannot be replayed: a process of the driver ${spec.driver} has no steps`)
    const recording = new ModelRecording(uuid, spec, read)
    await recording.#readNewFacts()
    return recording
  }

  /** the number of steps with an answer */
  get length(): number {
    return [...this.#entries.values()].filter(({ finished }) => finished > 0).length
  }

  /** The recorded outcome of a step. Reads new facts for an unknown step, as the recorded process may still be running. */
  async step(step: number): Promise<RecordedStep> {
    if (!this.#isKnown(step)) await this.#readNewFacts()
    const entry = this.#entries.get(step)
    if (entry === undefined) return null
    if (entry.finished > 0) {
      const { message, finish } = await this.#body(entry.finished, 'model.finished')
      return { answer: { message, finish } }
    }
    return entry.failed > 0 ? { failure: (await this.#body(entry.failed, 'model.failed')).error } : null
  }

  /** The model's input between the previous answer and this step; null if the model was never called for this step. */
  async inputBefore(step: number): Promise<RecordedInput | null> {
    const entry = this.#entries.get(step)
    if (entry === undefined) return null
    let previous = step - 1
    while (this.#entries.get(previous)?.isEmpty === true) previous -= 1
    const messages: string[] = []
    const results: RecordedResult[] = []
    for await (const { seq, body } of this.#facts(this.#entries.get(previous)?.started ?? 0)) {
      if (seq >= entry.started) break
      if (body.type === 'process.incoming') messages.push(await this.#textOf(body.id))
      if (body.type === 'tool.finished') results.push({ ...body, images: body.images?.length ?? 0 })
    }
    return { messages, results }
  }

  /** The names of the MCP tools that were available at a step. */
  async mcpTools(step: number): Promise<readonly string[]> {
    const seq = this.#entries.get(step)?.servers ?? 0
    if (seq === 0) return []
    const { servers } = await this.#body(seq, 'mcp.servers')
    return servers.flatMap((server) => (server.state === 'up' ? server.tools.map((tool) => tool.name) : []))
  }

  #isKnown(step: number): boolean {
    const entry = this.#entries.get(step)
    return entry !== undefined && (entry.finished > 0 || entry.failed > 0)
  }

  async #readNewFacts(): Promise<void> {
    for await (const { seq, body } of this.#facts(this.#lastSeq)) {
      this.#indexFact(seq, body)
      this.#lastSeq = seq
    }
  }

  #indexFact(seq: number, body: FactBody): void {
    switch (body.type) {
      case 'process.queue':
        this.#queuedSeqs.set(body.id, seq)
        return
      case 'mcp.servers':
        this.#lastServersSeq = seq
        return
      case 'model.started': {
        const entry = this.#entries.get(body.step)
        if (entry === undefined)
          this.#entries.set(body.step, { started: seq, finished: 0, failed: 0, servers: this.#lastServersSeq, isEmpty: false })
        else Object.assign(entry, { started: seq, failed: 0, servers: this.#lastServersSeq })
        return
      }
      case 'model.finished': {
        const isEmpty = body.message.every((part) => part.type !== 'tool-call' && part.text === '')
        Object.assign(this.#entries.get(body.step) ?? {}, { finished: seq, isEmpty })
        return
      }
      case 'model.failed': {
        if (body.retryInMs === null && body.error !== 'interrupted') Object.assign(this.#entries.get(body.step) ?? {}, { failed: seq })
        return
      }
      default:
        return
    }
  }

  async #textOf(id: string): Promise<string> {
    const seq = this.#queuedSeqs.get(id)
    return seq === undefined ? '' : (await this.#body(seq, 'process.queue')).text
  }

  async #body<T extends FactBody['type']>(seq: number, type: T): Promise<BodyOf<T>> {
    const [fact] = await this.#readHistory(seq - 1, 1)
    if (fact?.seq === seq && fact.body.type === type) return fact.body as BodyOf<T>
    throw new KernelError('COLLECTED', `the replayed process ${this.uuid} was removed`)
  }

  async *#facts(afterSeq: number): AsyncGenerator<StoredFact> {
    for (let lastReadSeq = afterSeq; ;) {
      const page = await this.#readHistory(lastReadSeq, PAGE_FACTS)
      yield* page
      const last = page.at(-1)
      if (last === undefined) return
      lastReadSeq = last.seq
    }
  }
}
