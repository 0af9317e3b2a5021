// Steps out of an agent's updates: which chunks and tool calls make one model call. A step begins with the first sign of
// the model and is finished when its calls begin, or with the turn; what comes while its calls run (of an agent below it,
// say) is the next step's, which begins when they are over: a step is whole before the next one.
// Owns the open step and its calls; sends nothing itself. Test: test/processes/acp.test.ts.
import type { AssistantPart, FinishReason, ToolOutcome } from '../../kernel/facts.ts'
import { textOf } from '../../kernel/message.ts'
import type { Report } from '../../kernel/reports.ts'
import type { Live } from '../port.ts'
import { Clip } from '../native/tools/clip.ts'
import { callInput, callText, resultText, toolName } from './content.ts'
import { NO_USAGE } from './usage.ts'
import type { SeenCall } from './wire.ts'

/** Calls that come together are one step: so long is waited for the next, or for the rest of a call's input. */
const SETTLE_MS = 300
/** The same when one of them runs already. */
const BEGUN_MS = 20
/** Most text of one step that is kept, in characters. */
const MAX_STEP_CHARS = 1024 * 1024
/** Calls of one turn that are kept apart, and news that wait for the next step. */
const MAX_CALLS = 10_000
const CUT = '\n[… the rest of this step is left out: it is too long …]'

interface Call {
  readonly callId: string
  seen: SeenCall
  /** its step is recorded, so it has begun */
  began: boolean
  sinceMs: number
  shown: string
  /** what its own terminal printed; null if it told nothing of one */
  printed: Clip | null
  denied: boolean
  over: boolean
}

/** `messageId` is the agent's own name for the message of its model, where it has one. */
interface Said {
  readonly type: 'text' | 'reasoning'
  readonly text: string
  readonly messageId: string | null
}

type Part = Said | Call

export interface StepsParts {
  /** the last step before */
  readonly step: number
  /** what the model is called now */
  readonly model: () => string
  readonly tell: (report: Report) => void
  readonly live: (event: Live) => void
  /** the rest of a message whose step is recorded */
  readonly late: (text: string) => void
  /** what a terminal has printed so far */
  readonly terminal: (id: string) => string
}

export class Steps {
  readonly #parts: StepsParts
  #step: number
  /** of the open model call; null if none is open */
  #message: Part[] | null = null
  #chars = 0
  #sinceMs = 0
  readonly #calls = new Map<string, Call>()
  readonly #running = new Set<string>()
  /** messages of the step whose calls run */
  #recorded = new Set<string>()
  /** what is the next step's */
  #later: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  /** the last text of this turn */
  lastText = ''

  constructor(parts: StepsParts) {
    this.#parts = parts
    this.#step = parts.step
  }

  /** the last step that was begun */
  get step(): number {
    return this.#step
  }

  /** ids of the calls that have begun and have no result */
  get running(): readonly string[] {
    return [...this.#running]
  }

  /** something of the model itself is on its way, or calls that are not recorded yet */
  get isOpen(): boolean {
    return this.#message !== null
  }

  begin(): void {
    this.#calls.clear()
    this.lastText = ''
  }

  text(said: Said): void {
    const { type, text, messageId } = said
    if (text === '') return
    const isLate = this.#running.size > 0 && messageId !== null && this.#recorded.has(messageId)
    this.#parts.live({ type, step: isLate || this.#message !== null ? this.#step : this.#step + 1, text })
    if (isLate) this.#parts.late(text)
    else if (this.#running.size > 0) this.#postpone(() => this.#add(said))
    else this.#add(said)
  }

  /** To what it goes on with: the last part, or that of the same message before the calls. */
  #add(said: Said): void {
    if (this.#isNext(said)) this.#close(this.#message?.some((part) => 'callId' in part) === true ? 'tool-calls' : 'stop')
    if (this.#running.size > 0) return this.#postpone(() => this.#add(said))
    const { type, text, messageId } = said
    const message = this.#open()
    const kept = this.#fit(text)
    const isSame = (part: Part): part is Said => 'type' in part && part.type === type
    const at = messageId === null ? -1 : message.findLastIndex((part) => isSame(part) && part.messageId === messageId)
    const index = at >= 0 ? at : message.length - 1
    const part = message[index]
    if (part && isSame(part)) message[index] = { ...part, text: part.text + kept, messageId }
    else if (kept !== '') message.push({ type, text: kept, messageId })
  }

  /** Another message of the model than the one that is open: an agent that is told something meanwhile answers twice in a turn. */
  #isNext({ type, messageId }: Said): boolean {
    if (type !== 'text' || messageId === null || this.#message === null) return false
    const texts = this.#message.flatMap((part) => ('type' in part && part.type === 'text' && part.messageId !== null ? [part.messageId] : []))
    return texts.length > 0 && !texts.includes(messageId)
  }

  /** A call, or news of one. `isNew`: one that is over and has the same id is another. */
  call(seen: SeenCall, isNew = false): void {
    if (isNew && this.#calls.get(seen.toolCallId)?.over === true) this.#calls.delete(seen.toolCallId)
    if (this.#running.size > 0 && !this.#calls.has(seen.toolCallId)) return this.#postpone(() => this.call(seen, isNew))
    const call = this.#known(seen)
    if (call === null || call.over) return
    this.#print(call, seen)
    if (seen.status === 'completed' || seen.status === 'failed') return this.#finish(call, seen.status)
    if (call.began) this.#show(call)
    else this.#flushIn(seen.status === 'in_progress' ? BEGUN_MS : SETTLE_MS)
  }

  /** The call waits for a permission, or uses the client: what came so far is recorded now. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#message?.some((part) => 'callId' in part) === true) this.#close('tool-calls')
  }

  denied(callId: string): void {
    const call = this.#calls.get(callId)
    if (call) call.denied = true
  }

  /** The turn is over: nothing stays open, also of what was postponed until then. */
  end(finish: FinishReason): void {
    do {
      this.flush()
      if (this.#message !== null) this.#close(finish)
      for (const callId of this.running) this.#say(this.#calls.get(callId), 'interrupted')
    } while (this.#message !== null || this.#running.size > 0)
  }

  #postpone(news: () => void): void {
    if (this.#later.length < MAX_CALLS) this.#later.push(news)
  }

  /** The step is whole: what came meanwhile is the next one's. */
  #goOn(): void {
    if (this.#running.size > 0 || this.#later.length === 0) return
    const later = this.#later
    this.#later = []
    for (const news of later) news()
  }

  #open(): Part[] {
    if (this.#message !== null) return this.#message
    this.#step += 1
    this.#sinceMs = performance.now()
    this.#chars = 0
    this.#parts.tell({ type: 'model.started', step: this.#step, attempt: 1, model: this.#parts.model() })
    return (this.#message = [])
  }

  #fit(text: string): string {
    const left = MAX_STEP_CHARS - this.#chars
    if (left <= 0) return ''
    this.#chars += text.length
    return text.length <= left ? text : `${text.slice(0, left)}${CUT}`
  }

  #known(seen: SeenCall): Call | null {
    const known = this.#calls.get(seen.toolCallId)
    if (known) {
      known.seen = merged(known.seen, seen)
      return known
    }
    if (this.#calls.size >= MAX_CALLS) return null
    const call: Call = { callId: seen.toolCallId, seen, began: false, sinceMs: 0, shown: '', printed: null, denied: false, over: false }
    this.#calls.set(call.callId, call)
    this.#open().push(call)
    return call
  }

  #flushIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.flush(), ms)
  }

  #close(finish: FinishReason): void {
    const parts = this.#message ?? []
    this.#message = null
    const calls = parts.filter((part) => 'callId' in part)
    const message = parts.map((part): AssistantPart => ('callId' in part ? { type: 'tool-call', callId: part.callId, name: toolName(part.seen), input: callInput(part.seen) } : { type: part.type, text: part.text }))
    this.#recorded = new Set(parts.flatMap((part) => ('callId' in part || part.messageId === null ? [] : [part.messageId])))
    const text = textOf(message)
    if (text.trim() !== '') this.lastText = text
    for (const call of calls) {
      call.began = true
      this.#running.add(call.callId)
      call.sinceMs = performance.now()
    }
    this.#parts.tell({
      type: 'model.finished', step: this.#step, message, usage: NO_USAGE, finish, durationMs: Math.round(performance.now() - this.#sinceMs),
      // Its agent alone can run it again.
      calls: calls.map(({ callId, seen }) => ({ callId, name: toolName(seen), effect: 'once' })),
    })
    for (const call of calls) this.#show(call)
  }

  /** What is new of what it shows; an agent sends all of it each time. */
  #show(call: Call): void {
    const all = callText(call.seen.content ?? [], this.#parts.terminal)
    if (all === call.shown) return
    const text = all.startsWith(call.shown) ? all.slice(call.shown.length) : all
    call.shown = all
    this.#parts.live({ type: 'tool-output', callId: call.callId, text })
  }

  #print(call: Call, { _meta: meta }: SeenCall): void {
    const text = `${meta?.terminal_output?.data ?? ''}${meta?.terminal_output_delta?.data ?? ''}`
    if (text === '') return
    call.printed ??= new Clip()
    call.printed.push(text)
    this.#parts.live({ type: 'tool-output', callId: call.callId, text })
  }

  #finish(call: Call, status: 'completed' | 'failed'): void {
    if (!call.began) this.flush()
    this.#say(call, status === 'completed' ? 'ok' : call.denied ? 'denied' : 'error')
  }

  #say(call: Call | undefined, outcome: ToolOutcome): void {
    if (call === undefined) return
    call.over = true
    this.#running.delete(call.callId)
    const content = [resultText(call.seen, this.#parts.terminal), call.printed?.text() ?? ''].filter((text) => text !== '').join('\n')
    this.#parts.tell({ type: 'tool.finished', callId: call.callId, outcome, content, durationMs: Math.round(performance.now() - call.sinceMs) })
    // What it showed is recorded, and a long turn has many.
    call.seen = { ...call.seen, content: null, rawInput: undefined, rawOutput: undefined }
    call.shown = ''
    call.printed = null
    this.#goOn()
  }
}

/** News say only what has changed. */
function merged(old: SeenCall, news: SeenCall): SeenCall {
  return {
    toolCallId: old.toolCallId,
    title: news.title ?? old.title,
    name: news.name ?? old.name,
    kind: news.kind ?? old.kind,
    status: news.status ?? old.status,
    content: news.content ?? old.content,
    rawInput: news.rawInput ?? old.rawInput,
    rawOutput: news.rawOutput ?? old.rawOutput,
    _meta: news._meta ?? old._meta,
  }
}
