// Maps an agent's observations to reports: answers become steps, results are matched with their calls, and usage becomes deltas. The input
// is untrusted: the lengths of an answer, of a call's input and of a result are limited.
// Test: test/tables/drivers/command/observation-mapper.test.ts.
import { NO_CHARGE, type UsageDeltas } from './usage-deltas.ts'
import { assistantText } from '../../kernel/state/assistant-text.ts'
import type { AssistantPart } from '../../kernel/model/facts.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { Observation } from './formats/format.ts'
import type { CallUsage } from '../../kernel/model/usage.ts'
import { truncate } from '../../kernel/util/truncate.ts'

type ObservationOf<T extends Observation['type']> = Extract<Observation, { type: T }>

/** The end of the task as the agent reported it; null if the agent has not reported any. */
export type ReportedEnd = Omit<ObservationOf<'ended'>, 'type'> | null

const MAX_PARTS = 1_000
const MAX_ANSWER_CHARS = 8 * 1024 * 1024
const MAX_CONTENT_CHARS = 1024 * 1024
/** the greatest length of a name, an id or a note */
const MAX_SHORT_CHARS = 200
const MAX_SUBAGENT_ANSWERS = 10_000
const SESSION_ID = /^\w[\w.:-]{0,199}$/

interface Answer {
  readonly id: string | null
  readonly model: string
  readonly parts: AssistantPart[]
  /** the characters of all its texts */
  chars: number
  usage: CallUsage
  /** results that arrived before the answer was complete, as OpenCode sends them */
  readonly results: ObservationOf<'tool'>[]
}

export interface ObservationMapperOptions {
  /** the number of the process's last step so far */
  readonly step: number
  readonly sessionId: string | null
  readonly meter: UsageDeltas
  /** whether the agent marks the end of its steps */
  readonly marksSteps: boolean
  /** the model name of steps for which the agent names none */
  readonly model: string
  /** whether the agent keeps no session, so that none can be resumed */
  readonly keepsNoSession: boolean
  /** returns monotonic time in ms */
  readonly now: () => number
}

export class ObservationMapper {
  readonly #options: ObservationMapperOptions
  #step: number
  #sessionId: string | null
  #answer: Answer | null = null
  /** the id of the answer reported last, whose later parts are not charged again */
  #reportedAnswerId: string | null = null
  /** start times of calls without a result, by call id */
  readonly #openCalls = new Map<string, number>()
  /** ids of subagents' answers that were charged */
  readonly #chargedSubagentAnswers = new Set<string>()
  /** the time of the last answer or result, from which the next duration is measured */
  #lastActivityMs: number
  #model: string
  #lastText = ''
  #lastNote = ''
  #limitedUntil: number | null = null
  #reportedEnd: ReportedEnd = null
  #reports: Report[] = []

  constructor(options: ObservationMapperOptions) {
    this.#options = options
    this.#step = options.step
    this.#sessionId = options.sessionId
    this.#model = options.model
    this.#lastActivityMs = options.now()
    options.meter.beginSession(options.sessionId ?? '')
  }

  get reportedEnd(): ReportedEnd {
    return this.#reportedEnd === null ? null : { ...this.#reportedEnd, result: this.#reportedEnd.result ?? this.#lastText }
  }

  /** the number of the last reported step */
  get step(): number {
    return this.#step
  }

  get sessionId(): string | null {
    return this.#sessionId
  }

  /** the wall time in ms at which the last rate limit ends; null: no limit, or the agent has continued since */
  get limitedUntil(): number | null {
    return this.#limitedUntil
  }

  /** the text of the last note, which may explain a failure; empty without one */
  get lastNote(): string {
    return this.#lastNote
  }

  async observe(observations: readonly Observation[]): Promise<Report[]> {
    for (const observation of observations) await this.#observe(observation)
    return this.#takeReports()
  }

  /** Reports the step of the last calls. Called after a time without output, in which the agent runs these calls. */
  onQuiet(): Report[] {
    if (this.#openCalls.size === 0 && this.#answer?.parts.some(isCall)) this.#reportAnswer()
    return this.#takeReports()
  }

  /** Reports the last answer. Called at the end of the output. */
  onEnd(): Report[] {
    this.#reportAnswer()
    return this.#takeReports()
  }

  #takeReports(): Report[] {
    const reports = this.#reports
    this.#reports = []
    return reports
  }

  async #observe(observation: Observation): Promise<void> {
    switch (observation.type) {
      case 'session':
        return this.#onSession(observation)
      case 'part':
        return this.#onPart(observation)
      case 'tool':
        return this.#onToolResult(observation)
      case 'used':
        return this.#onUsage(observation)
      case 'step':
        return this.#reportAnswer()
      case 'note':
        this.#lastNote = observation.text
        if (observation.text !== '') this.#reports.push({ type: 'note', text: truncateShort(observation.text) })
        return
      case 'limited':
        this.#limitedUntil = observation.until
        return
      case 'ended':
        if (!this.#options.marksSteps) this.#reportAnswer()
        this.#reportedEnd = observation
    }
  }

  /** Takes over a new session. The session id becomes a command-line argument, so its format is restricted. */
  #onSession({ id, model }: ObservationOf<'session'>): void {
    this.#model = truncateShort(model ?? '') || this.#model
    if (id === this.#sessionId || this.#options.keepsNoSession || !SESSION_ID.test(id)) return
    this.#sessionId = id
    this.#options.meter.beginSession(id)
    this.#reports.push({ type: 'session', sessionId: id })
  }

  #onPart({ answer: id, part, model, isDelta }: ObservationOf<'part'>): void {
    const kept = limitPart(part)
    if (kept.type === 'tool-call' && this.#isKnownCall(kept.callId)) return
    if (this.#answer !== null && ((id !== null && this.#answer.id !== id) || isFull(this.#answer))) this.#reportAnswer()
    this.#reportedEnd = null
    this.#limitedUntil = null
    this.#answer ??= { id, model: model ?? '', parts: [], chars: 0, usage: NO_CHARGE, results: [] }
    this.#answer.chars += kept.type === 'tool-call' ? 0 : kept.text.length
    const last = this.#answer.parts.at(-1)
    if (isDelta === true && kept.type === 'text' && last?.type === 'text')
      this.#answer.parts.splice(-1, 1, { type: 'text', text: last.text + kept.text })
    else this.#answer.parts.push(kept)
  }

  #isKnownCall(callId: string): boolean {
    return this.#openCalls.has(callId) || this.#answer?.parts.some((part) => isCall(part) && part.callId === callId) === true
  }

  #onToolResult(result: ObservationOf<'tool'>): void {
    const callId = truncateShort(result.callId)
    if (!this.#openCalls.has(callId)) {
      if (!this.#isKnownCall(callId)) return
      if (this.#options.marksSteps) {
        this.#answer?.results.push({ ...result, callId })
        return
      }
      this.#reportAnswer()
    }
    this.#reportResult({ ...result, callId })
    if (this.#openCalls.size === 0 && this.#answer?.id === null && !this.#options.marksSteps) this.#reportAnswer()
  }

  #reportResult({ callId, outcome, content }: ObservationOf<'tool'>): void {
    const durationMs = this.#elapsedMs(this.#openCalls.get(callId) ?? this.#lastActivityMs)
    this.#openCalls.delete(callId)
    this.#lastActivityMs = this.#options.now()
    this.#reports.push({ type: 'tool.finished', callId, outcome, content: clip(content), durationMs })
  }

  async #onUsage(used: ObservationOf<'used'>): Promise<void> {
    if (used.subagentAnswer !== undefined) return this.#chargeSubagent(used, used.subagentAnswer)
    if (used.span === 'step') {
      // Each part of an answer repeats the usage of the whole answer, so only the first part is charged.
      if (
        this.#answer === null ||
        (this.#answer.id !== null && (this.#answer.id === this.#reportedAnswerId || this.#answer.usage !== NO_CHARGE))
      )
        return
      this.#answer.usage = await this.#options.meter.charge(used)
      return
    }
    this.#reportAnswer()
    const usage = await this.#options.meter.charge(used)
    this.#reports.push({ type: 'usage', usage, ...(used.window === undefined ? {} : { window: used.window }) })
    if (usage.estimated)
      this.#reports.push({ type: 'note', text: 'it continued an earlier session: the usage of that session is included' })
  }

  /** Charges a subagent's answer once. Each block of the answer repeats the usage of the whole answer. */
  async #chargeSubagent(used: ObservationOf<'used'>, answerId: string): Promise<void> {
    const id = truncateShort(answerId)
    if (this.#chargedSubagentAnswers.has(id)) return
    if (this.#chargedSubagentAnswers.size >= MAX_SUBAGENT_ANSWERS) this.#chargedSubagentAnswers.clear()
    this.#chargedSubagentAnswers.add(id)
    this.#reports.push({ type: 'usage', usage: await this.#options.meter.charge(used) })
  }

  /** Reports a complete answer: its step begins and ends, and its calls are then open. */
  #reportAnswer(): void {
    const answer = this.#answer
    if (answer === null) return
    this.#answer = null
    this.#reportedAnswerId = answer.id
    for (const callId of [...this.#openCalls.keys()])
      this.#reportResult({ type: 'tool', callId, outcome: 'ok', content: '(it continues in the background)' })
    const calls = answer.parts.filter(isCall)
    const step = (this.#step += 1)
    this.#model = truncateShort(answer.model) || this.#model
    const durationMs = this.#elapsedMs(this.#lastActivityMs)
    this.#lastActivityMs = this.#options.now()
    // OpenCode does not report the usage of its subagents.
    const usage =
      this.#options.marksSteps && calls.some(({ name }) => name === 'task') ? { ...answer.usage, estimated: true } : answer.usage
    this.#reports.push({ type: 'model.started', step, attempt: 1, model: this.#model })
    this.#reports.push({
      type: 'model.finished',
      step,
      message: answer.parts,
      usage,
      finish: calls.length > 0 ? 'tool-calls' : 'stop',
      durationMs,
      calls: calls.map(({ callId, name }) => ({ callId, name, effect: 'once' })),
    })
    for (const { callId } of calls) this.#openCalls.set(callId, this.#lastActivityMs)
    this.#lastText = assistantText(answer.parts).trim() || this.#lastText
    for (const result of answer.results) this.#reportResult(result)
  }

  #elapsedMs(since: number): number {
    return Math.max(0, Math.round(this.#options.now() - since))
  }
}

function isFull({ parts, chars }: Answer): boolean {
  return parts.length >= MAX_PARTS || chars >= MAX_ANSWER_CHARS
}

function isCall(part: AssistantPart): part is Extract<AssistantPart, { type: 'tool-call' }> {
  return part.type === 'tool-call'
}

function limitPart(part: AssistantPart): AssistantPart {
  if (!isCall(part)) return part
  return { type: 'tool-call', callId: truncateShort(part.callId), name: truncateShort(part.name), input: limitInput(part.input) }
}

/** Replaces an input that is too long, or nested too deeply to be serialized. */
function limitInput(input: unknown): unknown {
  try {
    const json = JSON.stringify(input) ?? 'null'
    return json.length <= MAX_CONTENT_CHARS ? input : clip(json)
  } catch {
    // `JSON.stringify` has overflowed the stack.
    return 'an input that is nested too deeply'
  }
}

function truncateShort(text: string): string {
  return truncate(text, MAX_SHORT_CHARS)
}

function clip(content: string): string {
  if (content.length <= MAX_CONTENT_CHARS) return content
  return `${content.slice(0, MAX_CONTENT_CHARS).toWellFormed()}… (${content.length - MAX_CONTENT_CHARS} characters more)`
}
