// What an agent asks: permissions, which the process's rules may answer at once, and questions. What only a person can
// answer is reported and waits; an interruption, or an agent that no longer wants to know, ends the waiting. While the
// process is paused nothing is answered. Tests: test/processes/acp-asks.test.ts.
import { resolve } from 'node:path'
import type { CreateElicitationRequest, CreateElicitationResponse, PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { Ask } from '../../kernel/asking.ts'
import type { ProcessSpec } from '../../kernel/types.ts'
import { clip } from '../native/tools/clip.ts'
import { checkPlace } from '../native/tools/reach.ts'
import { callInput, callText } from './content.ts'
import { formAnswer, formOf } from './forms.ts'
import { isOwnTool, isUnlisted, verdictOn, wayOf } from './policy.ts'
import type { Asked, Verdict } from './policy.ts'
import type { Refused } from './refusals.ts'
import type { Saying } from './saying.ts'
import { readCall } from './wire.ts'
import type { SeenCall } from './wire.ts'

export interface Answer {
  readonly id: string
  readonly option: string | null
  readonly text: string | null
}

/** Questions that may be open at once: what is asked beyond is refused. */
const MAX_OPEN = 100
const MAX_TEXT_BYTES = 4 * 1024
const MAX_NAME_CHARS = 200

export interface AsksParts {
  readonly spec: ProcessSpec
  /** names of reeve's own tools that it has */
  readonly own: readonly string[]
  /** makes ids of one process unique */
  readonly prefix: string
  readonly saying: Saying
  /** resolves when the process has no hold */
  readonly gate: () => Promise<void>
  /** a call is asked about: what came of it so far is to be recorded before */
  readonly asked: (call: SeenCall) => void
  readonly denied: (callId: string) => void
  /** it may not do what it asks for */
  readonly refused: Refused
  /** what is open has changed */
  readonly changed: () => void
}

interface Open {
  readonly ask: Ask
  readonly answer: (answer: Answer | null) => void
}

export class Asks {
  readonly #parts: AsksParts
  readonly #open = new Map<string, Open>()
  readonly #atGate = new Set<string>()
  #cancelled = Promise.withResolvers<null>()
  #isCancelled = false
  #last = 0

  constructor(parts: AsksParts) {
    this.#parts = parts
  }

  /** calls that wait for an answer, also for one that a rule gives after a pause; null for questions about none */
  get waiting(): readonly (string | null)[] {
    return [...this.#atGate, ...[...this.#open.values()].map(({ ask }) => ask.callId)]
  }

  /** A turn begins: what it asks is heard. */
  begin(): void {
    this.#isCancelled = false
    this.#cancelled = Promise.withResolvers()
  }

  /** Nobody answers any more what is asked in this turn. */
  cancel(): void {
    this.#isCancelled = true
    this.#cancelled.resolve(null)
    for (const { answer } of [...this.#open.values()]) answer(null)
  }

  /** False if nothing of that name is asked. */
  answer(answer: Answer): boolean {
    const open = this.#open.get(answer.id)
    open?.answer(answer)
    return open !== undefined
  }

  async permission({ toolCall, options }: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const call = readCall(toolCall)
    if (call === null) return CANCELLED
    this.#parts.asked(call)
    const { title = null, name = null, kind = null } = call
    const asked = { title, name: name ?? call._meta?.claudeCode?.toolName ?? null, kind }
    const verdict = await this.#verdict(call, asked)
    const byRule = verdict === 'ask' ? undefined : optionFor(verdict, options)
    if (verdict === 'deny' || byRule) return this.#byRule(call, verdict === 'allow' ? 'allowed' : 'denied', byRule)
    const answer = await this.#ask({ kind: 'permission', text: describe(call), options: options.slice(0, MAX_OPEN).map(optionOf), callId: call.toolCallId }, signal)
    const chosen = options.find((option) => option.optionId === answer?.option)
    if (!chosen) return CANCELLED
    if (chosen.kind.startsWith('reject')) this.#parts.denied(call.toolCallId)
    return { outcome: { outcome: 'selected', optionId: chosen.optionId } }
  }

  /** What it may not do by its lists and places is refused, and told as that, whatever a rule or a person would say. */
  async #verdict(call: SeenCall, asked: Asked): Promise<Verdict> {
    const { spec, refused, own } = this.#parts
    if (isOwnTool(asked, own, call.rawInput)) return 'allow'
    const verdict = verdictOn(asked, spec)
    if (isUnlisted(asked, spec)) {
      refused('tools', titleOf(call), call.toolCallId)
      return 'deny'
    }
    const way = wayOf(asked.kind)
    const { paths } = spec.capabilities ?? {}
    if (way === null || paths?.[way] === undefined || verdict === 'deny') return verdict
    const locations = call.locations ?? []
    const why = await Promise.all(locations.map(({ path }) => checkPlace(resolve(spec.cwd, path), way, paths).then(() => null, (error: Error) => error.message)))
    const outside = why.find((one) => one !== null)
    if (outside === undefined) return locations.length === 0 && verdict === 'allow' ? 'ask' : verdict
    refused('paths', outside, call.toolCallId)
    return 'deny'
  }

  async elicit(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const form = formOf(request)
    if (form === null) return { action: 'decline' }
    for (let text = form.text; ;) {
      const answer = await this.#ask({ kind: 'question', text, options: form.options, callId: null }, signal)
      if (answer === null) return { action: 'cancel' }
      const content = formAnswer(form, answer)
      if (content !== null) return { action: 'accept', content }
      text = `${form.text}\n(the last answer did not fit)`
    }
  }

  async #byRule(call: SeenCall, word: 'allowed' | 'denied', option: PermissionOption | undefined): Promise<RequestPermissionResponse> {
    this.#atGate.add(call.toolCallId)
    this.#parts.changed()
    await Promise.race([this.#parts.gate(), this.#cancelled.promise])
    this.#atGate.delete(call.toolCallId)
    if (this.#isCancelled) return CANCELLED
    if (word === 'denied') this.#parts.denied(call.toolCallId)
    this.#parts.saying.note(`${word} by rule: ${titleOf(call)}`)
    return option ? { outcome: { outcome: 'selected', optionId: option.optionId } } : CANCELLED
  }

  /** Null: nobody answers it, or nobody wants the answer any more. */
  async #ask(what: Omit<Ask, 'id' | 'at'>, signal: AbortSignal): Promise<Answer | null> {
    const { prefix, saying, changed } = this.#parts
    if (this.#isCancelled || signal.aborted || this.#open.size >= MAX_OPEN) return null
    const { promise, resolve } = Promise.withResolvers<Answer | null>()
    const ask: Ask = { ...what, id: `${prefix}${(this.#last += 1)}`, at: Date.now() }
    const withdraw = (): void => resolve(null)
    signal.addEventListener('abort', withdraw, { once: true })
    this.#open.set(ask.id, { ask, answer: resolve })
    // Where nobody hears of it nobody answers.
    saying.say({ type: 'waiting', ask }).then((ack) => ack === 'ok' || resolve(null), withdraw)
    changed()
    const answer = await promise
    signal.removeEventListener('abort', withdraw)
    this.#open.delete(ask.id)
    if (answer === null) saying.tell({ type: 'unasked', id: ask.id })
    return answer
  }
}

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

/** The narrowest option: what a rule allows is asked for again each time, as rules may change. */
function optionFor(verdict: 'allow' | 'deny', options: readonly PermissionOption[]): PermissionOption | undefined {
  const kinds = verdict === 'allow' ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  return kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option !== undefined)
}

function optionOf({ optionId, name, kind }: PermissionOption): Ask['options'][number] {
  return { id: optionId, name: name.slice(0, MAX_NAME_CHARS), kind }
}

function titleOf(call: SeenCall): string {
  return call.title || call.name || call.kind || 'a tool'
}

/** Enough to decide by: its title, what it is given, what it would change. */
function describe(call: SeenCall): string {
  const shown = callText(call.content ?? [], () => '')
  const input = call.rawInput === undefined ? '' : JSON.stringify(callInput(call))
  return clip([`${titleOf(call)}${call.kind ? ` (${call.kind})` : ''}`, input, shown].filter((text) => text !== '').join('\n'), MAX_TEXT_BYTES)
}
