// From what an agent's lines say to what the kernel is told: answers become steps, calls and results find each other,
// usage becomes deltas. Owns the number of the step and which calls are open.
// Hostile input: an answer, a call's input and a result have a longest length. Test: test/tables/command-narrator.test.ts.
import { NOTHING, type Meter } from './meter.ts'
import { textOf } from '../../kernel/message.ts'
import type { AssistantPart } from '../../kernel/facts.ts'
import type { CallUsage } from '../../kernel/types.ts'
import type { Report } from '../../kernel/reports.ts'
import type { Observed } from './formats/format.ts'

type Seen<T extends Observed['type']> = Extract<Observed, { type: T }>

/** How the agent itself said that its work ended; null: it did not. */
export type Ending = Omit<Seen<'ended'>, 'type'> | null

const MAX_PARTS = 1_000
const MAX_ANSWER_CHARS = 8 * 1024 * 1024
const MAX_CONTENT_CHARS = 1024 * 1024
const MAX_NAME_CHARS = 200
const MAX_ASIDES = 10_000
const SESSION_ID = /^\w[\w.:-]{0,199}$/

interface Answer {
  readonly id: string | null
  readonly model: string
  readonly parts: AssistantPart[]
  chars: number
  usage: CallUsage
  /** of OpenCode, which tells of results before it tells that the answer is whole */
  readonly results: Seen<'tool'>[]
}

export interface NarratorOptions {
  /** the last step of the process so far */
  readonly step: number
  readonly sessionId: string | null
  readonly meter: Meter
  readonly marksSteps: boolean
  /** what is said of a step whose model the agent does not name */
  readonly model: string
  /** the agent keeps no session, so it has none to go on with */
  readonly forgets: boolean
  /** monotonic ms */
  readonly now: () => number
}

export class Narrator {
  readonly #options: NarratorOptions
  #step: number
  #sessionId: string | null
  #answer: Answer | null = null
  /** the answer that was told last: what comes of it later is not charged again */
  #told: string | null = null
  /** calls without a result, and since when */
  readonly #open = new Map<string, number>()
  /** answers of subagents that were charged */
  readonly #asides = new Set<string>()
  #since: number
  #model: string
  #lastText = ''
  #lastNote = ''
  #limitedUntil: number | null = null
  #ending: Ending = null
  #reports: Report[] = []

  constructor(options: NarratorOptions) {
    this.#options = options
    this.#step = options.step
    this.#sessionId = options.sessionId
    this.#model = options.model
    this.#since = options.now()
    options.meter.begin(options.sessionId ?? '')
  }

  get ending(): Ending {
    return this.#ending === null ? null : { ...this.#ending, result: this.#ending.result ?? this.#lastText }
  }

  /** the last step that was told */
  get step(): number {
    return this.#step
  }

  get sessionId(): string | null {
    return this.#sessionId
  }

  /** wall ms at which the limit that it met last is over; null: it met none, or has gone on since */
  get limitedUntil(): number | null {
    return this.#limitedUntil
  }

  get lastNote(): string {
    return this.#lastNote
  }

  async see(all: readonly Observed[]): Promise<Report[]> {
    for (const one of all) await this.#see(one)
    return this.#take()
  }

  /** Nothing has come for a while: what the agent does now is what it asked for last. */
  quiet(): Report[] {
    if (this.#open.size === 0 && this.#answer?.parts.some(isCall)) this.#tell()
    return this.#take()
  }

  /** Nothing will come any more. */
  end(): Report[] {
    this.#tell()
    return this.#take()
  }

  #take(): Report[] {
    const reports = this.#reports
    this.#reports = []
    return reports
  }

  async #see(one: Observed): Promise<void> {
    switch (one.type) {
      case 'session': return this.#session(one)
      case 'part': return this.#part(one)
      case 'tool': return this.#tool(one)
      case 'used': return this.#used(one)
      case 'step': return this.#tell()
      case 'note':
        this.#lastNote = one.text
        if (one.text !== '') this.#reports.push({ type: 'note', text: shortened(one.text) })
        return
      case 'limited':
        this.#limitedUntil = one.until
        return
      case 'ended':
        if (!this.#options.marksSteps) this.#tell()
        this.#ending = one
    }
  }

  /** It becomes an argument of a command line, so it looks like a name. */
  #session({ id, model }: Seen<'session'>): void {
    this.#model = shortened(model ?? '') || this.#model
    if (id === this.#sessionId || this.#options.forgets || !SESSION_ID.test(id)) return
    this.#sessionId = id
    this.#options.meter.begin(id)
    this.#reports.push({ type: 'session', sessionId: id })
  }

  #part({ answer: id, part, model, isDelta }: Seen<'part'>): void {
    const kept = bounded(part)
    if (kept.type === 'tool-call' && this.#isAsked(kept.callId)) return
    if (this.#answer !== null && ((id !== null && this.#answer.id !== id) || isFull(this.#answer))) this.#tell()
    this.#ending = null
    this.#limitedUntil = null
    this.#answer ??= { id, model: model ?? '', parts: [], chars: 0, usage: NOTHING, results: [] }
    this.#answer.chars += kept.type === 'tool-call' ? 0 : kept.text.length
    const last = this.#answer.parts.at(-1)
    if (isDelta === true && kept.type === 'text' && last?.type === 'text') this.#answer.parts.splice(-1, 1, { type: 'text', text: last.text + kept.text })
    else this.#answer.parts.push(kept)
  }

  #isAsked(callId: string): boolean {
    return this.#open.has(callId) || this.#answer?.parts.some((part) => isCall(part) && part.callId === callId) === true
  }

  #tool(result: Seen<'tool'>): void {
    const callId = shortened(result.callId)
    if (!this.#open.has(callId)) {
      if (!this.#isAsked(callId)) return
      if (this.#options.marksSteps) {
        this.#answer?.results.push({ ...result, callId })
        return
      }
      this.#tell()
    }
    this.#finish({ ...result, callId })
    if (this.#open.size === 0 && this.#answer?.id === null && !this.#options.marksSteps) this.#tell()
  }

  #finish({ callId, outcome, content }: Seen<'tool'>): void {
    const durationMs = this.#elapsed(this.#open.get(callId) ?? this.#since)
    this.#open.delete(callId)
    this.#since = this.#options.now()
    this.#reports.push({ type: 'tool.finished', callId, outcome, content: clip(content), durationMs })
  }

  async #used(used: Seen<'used'>): Promise<void> {
    if (used.aside !== undefined) return this.#aside(used, used.aside)
    if (used.span === 'step') {
      // Each part of an answer says the same: what was charged for it before is not charged again.
      if (this.#answer === null || (this.#answer.id !== null && (this.#answer.id === this.#told || this.#answer.usage !== NOTHING))) return
      this.#answer.usage = await this.#options.meter.charge(used)
      return
    }
    this.#tell()
    const usage = await this.#options.meter.charge(used)
    this.#reports.push({ type: 'usage', usage, ...(used.window === undefined ? {} : { window: used.window }) })
    if (usage.estimated) this.#reports.push({ type: 'note', text: 'it went on with a session of before: what that had used is counted in' })
  }

  /** Each block of a subagent's answer says what all of it used. */
  async #aside(used: Seen<'used'>, name: string): Promise<void> {
    const id = shortened(name)
    if (this.#asides.has(id)) return
    if (this.#asides.size >= MAX_ASIDES) this.#asides.clear()
    this.#asides.add(id)
    this.#reports.push({ type: 'usage', usage: await this.#options.meter.charge(used) })
  }

  /** The answer is whole: its step begins and ends, and its calls are open. */
  #tell(): void {
    const answer = this.#answer
    if (answer === null) return
    this.#answer = null
    this.#told = answer.id
    for (const callId of [...this.#open.keys()]) this.#finish({ type: 'tool', callId, outcome: 'ok', content: '(it goes on in the background)' })
    const calls = answer.parts.filter(isCall)
    const step = (this.#step += 1)
    this.#model = shortened(answer.model) || this.#model
    const durationMs = this.#elapsed(this.#since)
    this.#since = this.#options.now()
    this.#reports.push({ type: 'model.started', step, attempt: 1, model: this.#model })
    this.#reports.push({
      type: 'model.finished', step, message: answer.parts, usage: answer.usage, finish: calls.length > 0 ? 'tool-calls' : 'stop', durationMs,
      calls: calls.map(({ callId, name }) => ({ callId, name, effect: 'once' })),
    })
    for (const { callId } of calls) this.#open.set(callId, this.#since)
    this.#lastText = textOf(answer.parts).trim() || this.#lastText
    for (const result of answer.results) this.#finish(result)
  }

  #elapsed(since: number): number {
    return Math.max(0, Math.round(this.#options.now() - since))
  }
}

function isFull({ parts, chars }: Answer): boolean {
  return parts.length >= MAX_PARTS || chars >= MAX_ANSWER_CHARS
}

function isCall(part: AssistantPart): part is Extract<AssistantPart, { type: 'tool-call' }> {
  return part.type === 'tool-call'
}

function bounded(part: AssistantPart): AssistantPart {
  if (!isCall(part)) return part
  return { type: 'tool-call', callId: shortened(part.callId), name: shortened(part.name), input: boundedInput(part.input) }
}

/** What cannot be written as JSON again (it is nested too deep) cannot be kept. */
function boundedInput(input: unknown): unknown {
  try {
    const json = JSON.stringify(input) ?? 'null'
    return json.length <= MAX_CONTENT_CHARS ? input : clip(json)
  } catch {
    return 'an input that is nested too deep'
  }
}

function shortened(name: string): string {
  return name.slice(0, MAX_NAME_CHARS).toWellFormed()
}

function clip(content: string): string {
  if (content.length <= MAX_CONTENT_CHARS) return content
  return `${content.slice(0, MAX_CONTENT_CHARS).toWellFormed()}… (${content.length - MAX_CONTENT_CHARS} characters more)`
}
