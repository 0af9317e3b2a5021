// A model that repeats what a recorded process's model answered, step by step: it costs nothing, and the tools are really
// run. What this run is told otherwise than the recorded one was is a note, once each, and the sum is the last of them.
// Tests: test/e2e/replay.test.ts, test/tables/native-differences.test.ts.
import { KernelError } from '../../kernel/errors.ts'
import type { FactBody } from '../../kernel/facts.ts'
import type { ProcessSpec } from '../../kernel/types.ts'
import type { Launch } from '../port.ts'
import { inputDifferences, inputOf, textDifference, toolDifference } from './differences.ts'
import { CallFailed, NO_USAGE } from './model.ts'
import type { Answer, Model, ModelRequest } from './model.ts'
import { Recording } from './recording.ts'
import { isAllowed } from '../../kernel/tool-names.ts'
import { Toolbox } from './tools/toolbox.ts'
import { abortable } from './work.ts'

const REPLAY = 'replay:'
/** What a note of a difference begins with; without the blank it is the name of a model. */
const TELLS = `${REPLAY} `

/** Differences that are told one by one. */
const MAX_TOLD = 50
const MORE = 'more differences'

/** What an earlier incarnation has replayed already, read from the process's own journal. */
export class ReplayPast {
  readonly told = new Set<string>()
  answered = 0
  #model: string | null = null
  readonly #ref: string

  constructor(ref: string) {
    this.#ref = ref
  }

  see(body: FactBody): void {
    if (body.type === 'model.started') this.#model = body.model
    if (body.type === 'model.finished' && this.#model === this.#ref) this.answered += 1
    if (body.type === 'process.note' && body.text.startsWith(TELLS)) this.told.add(body.text.slice(TELLS.length))
    if (body.type === 'process.resumed' && body.spec !== undefined && !this.#isOf(body.spec)) this.#forget()
  }

  #isOf({ model, fallback = [] }: ProcessSpec): boolean {
    return [model, ...fallback].includes(this.#ref)
  }

  /** What was told then is of another recording. */
  #forget(): void {
    this.told.clear()
    this.answered = 0
  }
}

export interface ReplayParts {
  readonly ref: string
  readonly launch: Pick<Launch, 'uuid' | 'spec' | 'historyOf'>
  readonly past: ReplayPast
  /** resolves when it is on disk */
  note(text: string): Promise<unknown>
}

/** Errors: `INVALID` for itself or a process without steps, `COLLECTED` if it was removed. */
export async function replayModel(parts: ReplayParts): Promise<Model> {
  const uuid = parts.ref.slice(REPLAY.length)
  if (uuid === parts.launch.uuid) throw new KernelError('INVALID', 'a process cannot replay itself')
  const recording = await Recording.open(uuid, (afterSeq, limit) => parts.launch.historyOf(uuid, afterSeq, limit))
  return new Replay(recording, parts)
}

class Replay implements Model {
  readonly ref: string
  readonly window = null
  readonly #recording: Recording
  readonly #spec: ProcessSpec
  readonly #told: Set<string>
  readonly #note: ReplayParts['note']
  #answered: number
  #differences: number

  constructor(recording: Recording, { ref, launch, past, note }: ReplayParts) {
    this.ref = ref
    this.#recording = recording
    this.#spec = launch.spec
    this.#note = note
    this.#told = past.told
    this.#answered = past.answered
    this.#differences = [...past.told].filter((text) => !text.startsWith(SUM) && text !== MORE).length
  }

  async call(request: ModelRequest): Promise<Answer> {
    if (request.question !== undefined) throw new CallFailed(`${this.ref} answers what was recorded, and no other question`)
    try {
      return await this.#answer(request)
    } catch (error) {
      if (request.signal.aborted) throw new CallFailed('interrupted')
      throw error instanceof KernelError ? new CallFailed(error.message, { kind: 'not-found' }) : error
    }
  }

  async #answer(request: ModelRequest): Promise<Answer> {
    const recorded = await this.#recording.step(request.step)
    await this.#say(request, await this.#compare(request))
    if (recorded === null) {
      await this.#say(request, [this.#sum()])
      return { message: [], usage: NO_USAGE, finish: 'stop' }
    }
    if ('failure' in recorded) {
      await this.#say(request, [this.#sum()])
      throw new CallFailed(recorded.failure)
    }
    const { answer } = recorded
    this.#answered += 1
    for (const part of answer.message) {
      if (part.type === 'text') request.onText(part.text)
      if (part.type === 'reasoning') request.onReasoning(part.text)
    }
    const isLast = !answer.message.some((part) => part.type === 'tool-call') && (!this.#spec.interactive || request.step >= this.#recording.length)
    if (isLast) await this.#say(request, [this.#sum()])
    return { ...answer, usage: NO_USAGE }
  }

  async #compare({ step, context, offered }: ModelRequest): Promise<readonly string[]> {
    const recorded = await this.#recording.before(step)
    if (recorded === null) return []
    const system = textDifference(this.#spec.system, this.#recording.spec.system)
    const tools = toolDifference(offered().map(({ name }) => name), await this.#toolsAt(step))
    const found = [
      ...(system === null ? [] : [`the system prompt differs: ${system}`]),
      ...(tools === null ? [] : [tools]),
      ...inputDifferences(step, inputOf(context.messages), recorded),
    ]
    return this.#counted(found)
  }

  async #toolsAt(step: number): Promise<readonly string[]> {
    const { spec } = this.#recording
    const own = new Toolbox(spec).offered().map(({ name }) => name)
    return [...own, ...(await this.#recording.mcpTools(step)).filter((name) => isAllowed(name, spec))]
  }

  /** Each counts once, and so many are told. */
  #counted(found: readonly string[]): readonly string[] {
    const fresh = found.filter((text) => !this.#told.has(text))
    const room = Math.max(0, MAX_TOLD - this.#differences)
    this.#differences += fresh.length
    return fresh.length > room ? [...fresh.slice(0, room), MORE] : fresh
  }

  #sum(): string {
    const { length } = this.#recording
    return `${SUM} ${this.#answered} of ${length} ${length === 1 ? 'step' : 'steps'}, ${this.#differences} ${this.#differences === 1 ? 'difference' : 'differences'}`
  }

  async #say(request: ModelRequest, texts: readonly string[]): Promise<void> {
    const fresh = texts.filter((text) => !this.#told.has(text))
    for (const text of fresh) this.#told.add(text)
    await abortable(Promise.all(fresh.map((text) => this.#note(`${TELLS}${text}`))), request.signal)
  }
}

const SUM = 'replayed'
