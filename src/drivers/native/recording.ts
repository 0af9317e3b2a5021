// A process's journal as a recording of its model: which answer each step had, and what the model had been told before it.
// Owns an index of numbers; bodies are read when they are asked for, so that the length of a recording costs no memory.
// Must never change anything of it. Test: test/e2e/replay.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { FactBody, StoredFact, ToolOutcome } from '../../kernel/facts.ts'
import type { ProcessSpec, Uuid } from '../../kernel/types.ts'
import type { Answer } from './model.ts'

/** Facts per page. */
const PAGE_FACTS = 200

type Read = (afterSeq: number, limit: number) => Promise<readonly StoredFact[]>
type BodyOf<T extends FactBody['type']> = Extract<FactBody, { type: T }>

export interface Result {
  readonly callId: string
  readonly name: string
  readonly outcome: ToolOutcome
  readonly content: string
  readonly images: number
}

/** What came in between two answers. */
export interface Input {
  readonly messages: readonly string[]
  readonly results: readonly Result[]
}

/** Where a step stands in the journal; a `seq` of 0 is none. */
interface Entry {
  /** the last `model.started`: what came before it was seen by the answer */
  started: number
  finished: number
  /** the failure after which it was not asked again */
  failed: number
  /** the list of MCP servers that held then */
  servers: number
  /** the answer had neither texts nor calls, so no message came of it */
  bare: boolean
}

/** What a step of the recording was: an answer, a failure, or nothing that is known. */
export type Recorded = { readonly answer: Omit<Answer, 'usage'> } | { readonly failure: string } | null

export class Recording {
  readonly uuid: Uuid
  readonly spec: ProcessSpec
  readonly #read: Read
  readonly #entries = new Map<number, Entry>()
  /** where the text of each message stands, by its id */
  readonly #queued = new Map<string, number>()
  #servers = 0
  #seq = 0

  private constructor(uuid: Uuid, spec: ProcessSpec, read: Read) {
    this.uuid = uuid
    this.spec = spec
    this.#read = read
  }

  /** Errors: `COLLECTED` if there is no such history any more, `INVALID` if it has no steps by its nature. */
  static async open(uuid: Uuid, read: Read): Promise<Recording> {
    const [first] = await read(0, 1)
    if (first?.body.type !== 'process.spawned') throw new KernelError('COLLECTED', `process ${uuid}, which is to be replayed, was removed`)
    const { spec } = first.body
    if (spec.driver !== 'native') throw new KernelError('INVALID', `process ${uuid} cannot be replayed: a process of the driver ${spec.driver} has no steps`)
    const recording = new Recording(uuid, spec, read)
    await recording.#readOn()
    return recording
  }

  /** how many steps have an answer */
  get length(): number {
    return [...this.#entries.values()].filter(({ finished }) => finished > 0).length
  }

  /** A recording may still go on: what is not there yet is looked for once more. */
  async step(step: number): Promise<Recorded> {
    if (!this.#isKnown(step)) await this.#readOn()
    const entry = this.#entries.get(step)
    if (entry === undefined) return null
    if (entry.finished > 0) {
      const { message, finish } = await this.#body(entry.finished, 'model.finished')
      return { answer: { message, finish } }
    }
    return entry.failed > 0 ? { failure: (await this.#body(entry.failed, 'model.failed')).error } : null
  }

  /** What the model was told between the last answer before a step and that step; null if the step was never asked. */
  async before(step: number): Promise<Input | null> {
    const entry = this.#entries.get(step)
    if (entry === undefined) return null
    let from = step - 1
    while (this.#entries.get(from)?.bare === true) from -= 1
    const messages: string[] = []
    const results: Result[] = []
    for await (const { seq, body } of this.#facts(this.#entries.get(from)?.started ?? 0)) {
      if (seq >= entry.started) break
      if (body.type === 'process.incoming') messages.push(await this.#textOf(body.id))
      if (body.type === 'tool.finished') results.push({ ...body, images: body.images?.length ?? 0 })
    }
    return { messages, results }
  }

  /** The names of the MCP tools that there were at a step. */
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

  async #readOn(): Promise<void> {
    for await (const { seq, body } of this.#facts(this.#seq)) {
      this.#index(seq, body)
      this.#seq = seq
    }
  }

  #index(seq: number, body: FactBody): void {
    switch (body.type) {
      case 'process.queue': this.#queued.set(body.id, seq); return
      case 'mcp.servers': this.#servers = seq; return
      case 'model.started': {
        const entry = this.#entries.get(body.step)
        if (entry === undefined) this.#entries.set(body.step, { started: seq, finished: 0, failed: 0, servers: this.#servers, bare: false })
        else Object.assign(entry, { started: seq, failed: 0, servers: this.#servers })
        return
      }
      case 'model.finished': {
        const bare = body.message.every((part) => part.type !== 'tool-call' && part.text === '')
        Object.assign(this.#entries.get(body.step) ?? {}, { finished: seq, bare })
        return
      }
      case 'model.failed': {
        if (body.retryInMs === null && body.error !== 'interrupted') Object.assign(this.#entries.get(body.step) ?? {}, { failed: seq })
        return
      }
      default: return
    }
  }

  async #textOf(id: string): Promise<string> {
    const seq = this.#queued.get(id)
    return seq === undefined ? '' : (await this.#body(seq, 'process.queue')).text
  }

  async #body<T extends FactBody['type']>(seq: number, type: T): Promise<BodyOf<T>> {
    const [fact] = await this.#read(seq - 1, 1)
    if (fact?.seq === seq && fact.body.type === type) return fact.body as BodyOf<T>
    throw new KernelError('COLLECTED', `process ${this.uuid}, which is replayed, was removed`)
  }

  async *#facts(afterSeq: number): AsyncGenerator<StoredFact> {
    for (let after = afterSeq; ;) {
      const page = await this.#read(after, PAGE_FACTS)
      yield* page
      const last = page.at(-1)
      if (last === undefined) return
      after = last.seq
    }
  }
}
