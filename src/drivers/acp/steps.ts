// Groups an agent's updates into steps: the chunks and tool calls of one model call. A step begins with the model's first chunk or call. It
// ends when its calls begin, another message of the model begins, or the turn ends. Updates that arrive while the calls run, such as a
// subagent's, belong to the next step, which begins afterwards. Each step is complete before the next one begins. Test:
// test/processes/acp/turns.test.ts.
import type { AssistantPart, FinishReason, ToolOutcome } from '../../kernel/model/facts.ts'
import { assistantText } from '../../kernel/state/assistant-text.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { LiveOutput } from '../port.ts'
import { TruncatingBuffer } from '../common/truncate-middle.ts'
import { callInput, callText, resultText, toolName } from './tool-content.ts'
import { NO_USAGE } from './usage.ts'
import type { ReportedCall } from './message-schemas.ts'

/** Calls in quick succession form one step. This is the time to wait for another call, or for the remaining input of a call. */
const NEXT_CALL_MS = 300
/** The time to wait for another call once one of the calls is running. */
const NEXT_CALL_WHILE_RUNNING_MS = 20
/** Limit of text per step, in characters. */
const MAX_STEP_CHARS = 1024 * 1024
/** Limit of tracked calls per turn, and of updates that wait for the next step. */
const MAX_CALLS = 10_000
/** Names of tools that run a subagent. Claude Code and OpenCode report only the main agent's tokens. */
const SUBAGENT_TOOLS = /^(task|agent)$/i
const CUT_NOTICE = '\n[… the rest of this step is left out: it is too long …]'

interface Call {
  readonly callId: string
  details: ReportedCall
  /** whether the call has begun, because its step is recorded */
  hasBegun: boolean
  startedMs: number
  /** the part of its output that was shown live */
  shownText: string
  /** the output of the agent's own terminal for this call; null without one */
  terminalOutput: TruncatingBuffer | null
  isDenied: boolean
  hasEnded: boolean
}

/** A chunk of text or reasoning. */
interface TextChunk {
  readonly type: 'text' | 'reasoning'
  readonly text: string
  /** the agent's id of the model's message; null if the agent sends none */
  readonly messageId: string | null
}

type Part = TextChunk | Call

export interface StepsDeps {
  /** the number of the last step before this incarnation */
  readonly step: number
  /** the current name of the model */
  readonly model: () => string
  readonly report: (report: Report) => void
  /** shows output live, without recording it */
  readonly showLive: (event: LiveOutput) => void
  /** called with text of a message whose step is already recorded */
  readonly onLateText: (text: string) => void
  /** returns the output of a terminal so far */
  readonly terminalText: (id: string) => string
}

export class Steps {
  readonly #deps: StepsDeps
  #step: number
  /** the parts of the open step; null if no step is open */
  #parts: Part[] | null = null
  #chars = 0
  #startedMs = 0
  readonly #calls = new Map<string, Call>()
  readonly #runningCalls = new Set<string>()
  /** message ids of the step whose calls are running */
  #recordedMessages = new Set<string>()
  /** updates that wait for the next step */
  #postponed: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  /** the last text of this turn */
  lastText = ''
  /** whether a subagent was called in this turn, so that the usage of the turn may be incomplete */
  hasDelegated = false

  constructor(deps: StepsDeps) {
    this.#deps = deps
    this.#step = deps.step
  }

  /** the number of the last step that was begun */
  get step(): number {
    return this.#step
  }

  /** ids of the calls that have begun and have no result */
  get running(): readonly string[] {
    return [...this.#runningCalls]
  }

  /** whether a step is open, so that some of its text or calls are not recorded yet */
  get isOpen(): boolean {
    return this.#parts !== null
  }

  /** Forgets the calls of the turn before, whose ids the agent may use again. */
  beginTurn(): void {
    this.#calls.clear()
    this.lastText = ''
    this.hasDelegated = false
  }

  addText(chunk: TextChunk): void {
    const { type, text, messageId } = chunk
    if (text === '') return
    const isLate = this.#runningCalls.size > 0 && messageId !== null && this.#recordedMessages.has(messageId)
    this.#deps.showLive({ type, step: isLate || this.#parts !== null ? this.#step : this.#step + 1, text })
    if (isLate) this.#deps.onLateText(text)
    else if (this.#runningCalls.size > 0) this.#postpone(() => this.#appendText(chunk))
    else this.#appendText(chunk)
  }

  /** Appends text to the part with the same message id, or to the last part. If the types differ, adds a part. */
  #appendText(chunk: TextChunk): void {
    if (this.#startsNewMessage(chunk)) this.#closeStep(this.#parts?.some((part) => 'callId' in part) === true ? 'tool-calls' : 'stop')
    if (this.#runningCalls.size > 0) return this.#postpone(() => this.#appendText(chunk))
    const { type, text, messageId } = chunk
    const message = this.#openStep()
    const kept = this.#clipToLimit(text)
    const isSame = (part: Part): part is TextChunk => 'type' in part && part.type === type
    const at = messageId === null ? -1 : message.findLastIndex((part) => isSame(part) && part.messageId === messageId)
    const index = at >= 0 ? at : message.length - 1
    const part = message[index]
    if (part && isSame(part)) message[index] = { ...part, text: part.text + kept, messageId }
    else if (kept !== '') message.push({ type, text: kept, messageId })
  }

  /** Whether the text belongs to a new model message. A message to a busy agent makes it answer twice in a turn. */
  #startsNewMessage({ type, messageId }: TextChunk): boolean {
    if (type !== 'text' || messageId === null || this.#parts === null) return false
    const texts = this.#parts.flatMap((part) => ('type' in part && part.type === 'text' && part.messageId !== null ? [part.messageId] : []))
    return texts.length > 0 && !texts.includes(messageId)
  }

  /** Handles a call or its update. `isNew` marks a new call, which may reuse the id of an ended one. */
  handleCall(reported: ReportedCall, isNew = false): void {
    if (isNew && this.#calls.get(reported.toolCallId)?.hasEnded === true) this.#calls.delete(reported.toolCallId)
    if (this.#runningCalls.size > 0 && !this.#calls.has(reported.toolCallId)) return this.#postpone(() => this.handleCall(reported, isNew))
    const call = this.#findOrAddCall(reported)
    if (call === null || call.hasEnded) return
    this.#addTerminalOutput(call, reported)
    if (reported.status === 'completed' || reported.status === 'failed') return this.#finishCall(call, reported.status)
    if (call.hasBegun) this.#showOutput(call)
    else this.#flushIn(reported.status === 'in_progress' ? NEXT_CALL_WHILE_RUNNING_MS : NEXT_CALL_MS)
  }

  /** Records the open step if it has calls; these then count as running. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#parts?.some((part) => 'callId' in part) === true) this.#closeStep('tool-calls')
  }

  /** Returns all that the agent has reported about a call so far; undefined for an unknown call. */
  detailsOf(callId: string): ReportedCall | undefined {
    return this.#calls.get(callId)?.details
  }

  markDenied(callId: string): void {
    const call = this.#calls.get(callId)
    if (call) call.isDenied = true
  }

  /** Ends the turn: closes the open step and all calls, including postponed updates. */
  endTurn(finish: FinishReason): void {
    do {
      this.flush()
      if (this.#parts !== null) this.#closeStep(finish)
      for (const callId of this.running) this.#reportResult(this.#calls.get(callId), 'interrupted')
    } while (this.#parts !== null || this.#runningCalls.size > 0)
  }

  #postpone(update: () => void): void {
    if (this.#postponed.length < MAX_CALLS) this.#postponed.push(update)
  }

  /** Applies the postponed updates once the step is complete. */
  #applyPostponed(): void {
    if (this.#runningCalls.size > 0 || this.#postponed.length === 0) return
    const postponed = this.#postponed
    this.#postponed = []
    for (const update of postponed) update()
  }

  #openStep(): Part[] {
    if (this.#parts !== null) return this.#parts
    this.#step += 1
    this.#startedMs = performance.now()
    this.#chars = 0
    this.#deps.report({ type: 'model.started', step: this.#step, attempt: 1, model: this.#deps.model() })
    return (this.#parts = [])
  }

  #clipToLimit(text: string): string {
    const left = MAX_STEP_CHARS - this.#chars
    if (left <= 0) return ''
    this.#chars += text.length
    return text.length <= left ? text : `${text.slice(0, left)}${CUT_NOTICE}`
  }

  #findOrAddCall(reported: ReportedCall): Call | null {
    const known = this.#calls.get(reported.toolCallId)
    if (known) {
      known.details = mergeCall(known.details, reported)
      return known
    }
    if (this.#calls.size >= MAX_CALLS) return null
    const call: Call = {
      callId: reported.toolCallId,
      details: reported,
      hasBegun: false,
      startedMs: 0,
      shownText: '',
      terminalOutput: null,
      isDenied: false,
      hasEnded: false,
    }
    this.#calls.set(call.callId, call)
    this.#openStep().push(call)
    return call
  }

  #flushIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.flush(), ms)
  }

  /** Records the open step. Its calls then count as running. */
  #closeStep(finish: FinishReason): void {
    const parts = this.#parts ?? []
    this.#parts = null
    const calls = parts.filter((part) => 'callId' in part)
    const message = parts.map((part): AssistantPart =>
      'callId' in part
        ? { type: 'tool-call', callId: part.callId, name: toolName(part.details), input: callInput(part.details) }
        : { type: part.type, text: part.text },
    )
    this.#recordedMessages = new Set(parts.flatMap((part) => ('callId' in part || part.messageId === null ? [] : [part.messageId])))
    const text = assistantText(message)
    if (text.trim() !== '') this.lastText = text
    for (const call of calls) {
      call.hasBegun = true
      this.hasDelegated ||= SUBAGENT_TOOLS.test(toolName(call.details)) || SUBAGENT_TOOLS.test(call.details.title ?? '')
      this.#runningCalls.add(call.callId)
      call.startedMs = performance.now()
    }
    this.#deps.report({
      type: 'model.finished',
      step: this.#step,
      message,
      usage: NO_USAGE,
      finish,
      durationMs: Math.round(performance.now() - this.#startedMs),
      // The effect is `once`, because reeve cannot repeat an agent's call.
      calls: calls.map(({ callId, details }) => ({ callId, name: toolName(details), effect: 'once' })),
    })
    for (const call of calls) this.#showOutput(call)
  }

  /** Shows the new part of a call's output live. Agents repeat the whole output each time. */
  #showOutput(call: Call): void {
    const output = callText(call.details.content ?? [], this.#deps.terminalText)
    if (output === call.shownText) return
    const text = output.startsWith(call.shownText) ? output.slice(call.shownText.length) : output
    call.shownText = output
    this.#deps.showLive({ type: 'tool-output', callId: call.callId, text })
  }

  #addTerminalOutput(call: Call, { _meta: meta }: ReportedCall): void {
    const text = `${meta?.terminal_output?.data ?? ''}${meta?.terminal_output_delta?.data ?? ''}`
    if (text === '') return
    call.terminalOutput ??= new TruncatingBuffer()
    call.terminalOutput.push(text)
    this.#deps.showLive({ type: 'tool-output', callId: call.callId, text })
  }

  #finishCall(call: Call, status: 'completed' | 'failed'): void {
    if (!call.hasBegun) this.flush()
    this.#reportResult(call, status === 'completed' ? 'ok' : call.isDenied ? 'denied' : 'error')
  }

  #reportResult(call: Call | undefined, outcome: ToolOutcome): void {
    if (call === undefined) return
    call.hasEnded = true
    this.#runningCalls.delete(call.callId)
    const content = [resultText(call.details, this.#deps.terminalText), call.terminalOutput?.text() ?? '']
      .filter((text) => text !== '')
      .join('\n')
    this.#deps.report({
      type: 'tool.finished',
      callId: call.callId,
      outcome,
      content,
      durationMs: Math.round(performance.now() - call.startedMs),
    })
    // The output is recorded: drop it here, to save memory in long turns.
    call.details = { ...call.details, content: null, rawInput: undefined, rawOutput: undefined }
    call.shownText = ''
    call.terminalOutput = null
    this.#applyPostponed()
  }
}

/** Merges a call with an update, which contains only the changed fields. */
function mergeCall(old: ReportedCall, update: ReportedCall): ReportedCall {
  return {
    toolCallId: old.toolCallId,
    title: update.title ?? old.title,
    name: update.name ?? old.name,
    kind: update.kind ?? old.kind,
    status: update.status ?? old.status,
    content: update.content ?? old.content,
    locations: update.locations ?? old.locations,
    rawInput: update.rawInput ?? old.rawInput,
    rawOutput: update.rawOutput ?? old.rawOutput,
    _meta: update._meta ?? old._meta,
  }
}
