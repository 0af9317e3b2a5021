// A model that repeats the recorded answers of another process, step by step. A replay costs nothing; its tool calls really run.
// Each difference between the model's input and the recorded input is noted once, up to 50; one more note stands for all others. The last
// note is the total.
// Tests: test/e2e/models/replay.test.ts, test/tables/drivers/native/replay/replay-diff.test.ts.
import { systemPromptOf } from '../system-prompt.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import type { FactBody } from '../../../kernel/model/facts.ts'
import type { Launch } from '../../port.ts'
import { inputDifferences, inputSinceAnswer, textDifference, toolDifference } from './replay-diff.ts'
import { CallFailed, NO_USAGE } from '../models/model.ts'
import type { ModelAnswer, Model, ModelRequest } from '../models/model.ts'
import { ModelRecording } from './recording.ts'
import { isToolAllowed } from '../../../kernel/state/tool-lists.ts'
import { Toolbox } from '../tools/toolbox.ts'
import { raceAbort } from '../../common/race-abort.ts'
import type { NativeSpec, ProcessSpec } from '../../../kernel/model/process-spec.ts'

const REPLAY = 'replay:'
/** The beginning of a note about a difference. */
const NOTE_PREFIX = `${REPLAY} `

/** The maximum number of differences that are noted one by one. */
const MAX_NOTES = 50
/** The note in place of all further differences. */
const MORE_DIFFERENCES = 'more differences'

/** The progress of the replay in earlier incarnations, as the process's own journal records it. */
export class ReplayProgress {
  /** the texts of the notes so far */
  readonly notes = new Set<string>()
  /** the number of steps with a replayed answer */
  answeredSteps = 0
  #model: string | null = null
  readonly #ref: string

  constructor(ref: string) {
    this.#ref = ref
  }

  observe(body: FactBody): void {
    if (body.type === 'model.started') this.#model = body.model
    if (body.type === 'model.finished' && this.#model === this.#ref) this.answeredSteps += 1
    if (body.type === 'process.note' && body.text.startsWith(NOTE_PREFIX)) this.notes.add(body.text.slice(NOTE_PREFIX.length))
    if (body.type === 'process.resumed' && body.spec !== undefined && !this.#isReplayedBy(body.spec)) this.#reset()
  }

  #isReplayedBy({ model, fallback = [] }: ProcessSpec): boolean {
    return [model, ...fallback].includes(this.#ref)
  }

  /** Clears the notes and the count. Called when the process no longer replays this recording. */
  #reset(): void {
    this.notes.clear()
    this.answeredSteps = 0
  }
}

export interface ReplayDeps {
  readonly ref: string
  readonly launch: Pick<Launch<NativeSpec>, 'uuid' | 'spec' | 'historyOf'>
  readonly progress: ReplayProgress
  /** Sends a note. Resolves when the note has been written to disk. */
  note(text: string): Promise<unknown>
}

/**
 * Creates the model of a recording. Errors: `INVALID` if the process would replay itself, or if the recorded process has no steps;
 * `COLLECTED` if its journal was removed.
 */
export async function replayModel(deps: ReplayDeps): Promise<Model> {
  const uuid = deps.ref.slice(REPLAY.length)
  if (uuid === deps.launch.uuid) throw new KernelError('INVALID', 'a process cannot replay itself')
  const recording = await ModelRecording.open(uuid, (afterSeq, limit) => deps.launch.historyOf(uuid, afterSeq, limit))
  return new ReplayModel(recording, deps)
}

class ReplayModel implements Model {
  readonly ref: string
  readonly window = null
  readonly #recording: ModelRecording
  readonly #spec: NativeSpec
  readonly #notedTexts: Set<string>
  readonly #note: ReplayDeps['note']
  #answeredSteps: number
  #differenceCount: number

  constructor(recording: ModelRecording, { ref, launch, progress, note }: ReplayDeps) {
    this.ref = ref
    this.#recording = recording
    this.#spec = launch.spec
    this.#note = note
    this.#notedTexts = progress.notes
    this.#answeredSteps = progress.answeredSteps
    this.#differenceCount = [...progress.notes].filter((text) => !text.startsWith(TOTAL_PREFIX) && text !== MORE_DIFFERENCES).length
  }

  async call(request: ModelRequest): Promise<ModelAnswer> {
    // A question about the conversation, such as for a summary, is not part of the recording.
    if (request.question !== undefined) throw new CallFailed(`${this.ref} can only repeat recorded answers`)
    try {
      return await this.#answer(request)
    } catch (error) {
      if (request.signal.aborted) throw new CallFailed('interrupted')
      throw error instanceof KernelError ? new CallFailed(error.message, { kind: 'not-found' }) : error
    }
  }

  async #answer(request: ModelRequest): Promise<ModelAnswer> {
    const recorded = await this.#recording.step(request.step)
    await this.#noteNew(request, await this.#compare(request))
    if (recorded === null) {
      await this.#noteNew(request, [this.#totalText()])
      return { message: [], usage: NO_USAGE, finish: 'stop' }
    }
    if ('failure' in recorded) {
      await this.#noteNew(request, [this.#totalText()])
      throw new CallFailed(recorded.failure)
    }
    const { answer } = recorded
    this.#answeredSteps += 1
    for (const part of answer.message) {
      if (part.type === 'text') request.onText(part.text)
      if (part.type === 'reasoning') request.onReasoning(part.text)
    }
    const isLast =
      !answer.message.some((part) => part.type === 'tool-call') && (!this.#spec.interactive || request.step >= this.#recording.length)
    if (isLast) await this.#noteNew(request, [this.#totalText()])
    return { ...answer, usage: NO_USAGE }
  }

  async #compare({ step, context, offeredTools }: ModelRequest): Promise<readonly string[]> {
    const recorded = await this.#recording.inputBefore(step)
    if (recorded === null) return []
    const system = textDifference(systemPromptOf(this.#spec), systemPromptOf(this.#recording.spec))
    const tools = toolDifference(
      offeredTools().map(({ name }) => name),
      await this.#toolsAt(step),
    )
    const differences = [
      ...(system === null ? [] : [`the system prompt differs: ${system}`]),
      ...(tools === null ? [] : [tools]),
      ...inputDifferences(step, inputSinceAnswer(context.messages), recorded),
    ]
    return this.#countNew(differences)
  }

  async #toolsAt(step: number): Promise<readonly string[]> {
    const { spec } = this.#recording
    const builtIn = new Toolbox(spec).offeredTools().map(({ name }) => name)
    return [...builtIn, ...(await this.#recording.mcpTools(step)).filter((name) => isToolAllowed(name, spec))]
  }

  /** Counts the new differences. Returns the texts to note, within the limit. */
  #countNew(differences: readonly string[]): readonly string[] {
    const newTexts = differences.filter((text) => !this.#notedTexts.has(text))
    const notesLeft = Math.max(0, MAX_NOTES - this.#differenceCount)
    this.#differenceCount += newTexts.length
    return newTexts.length > notesLeft ? [...newTexts.slice(0, notesLeft), MORE_DIFFERENCES] : newTexts
  }

  #totalText(): string {
    const { length } = this.#recording
    return `${TOTAL_PREFIX} ${this.#answeredSteps} of ${length} ${length === 1 ? 'step' : 'steps'}, ${this.#differenceCount} ${this.#differenceCount === 1 ? 'difference' : 'differences'}`
  }

  async #noteNew(request: ModelRequest, texts: readonly string[]): Promise<void> {
    const newTexts = texts.filter((text) => !this.#notedTexts.has(text))
    for (const text of newTexts) this.#notedTexts.add(text)
    await raceAbort(Promise.all(newTexts.map((text) => this.#note(`${NOTE_PREFIX}${text}`))), request.signal)
  }
}

/** The beginning of the note with the total. */
const TOTAL_PREFIX = 'replayed'
