// Handles an agent's permission requests and its questions. A rule may answer a permission request at once. Other requests are
// reported and wait for the user. An interruption, or a cancellation by the agent, ends the wait. No rule answers while the process is
// paused, and the kernel then keeps the user's answers. Tests: test/processes/acp/permission-requests.test.ts.
import { resolve } from 'node:path'
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk'
import { truncateMiddle } from '../common/truncate-middle.ts'
import { checkPath } from '../native/tools/path-guard.ts'
import { callInput, callText, diffsOf, toolName } from './tool-content.ts'
import { formAnswer, parseForm } from './elicitation.ts'
import { isOwnTool, isUnlisted, decideAction, fileAccessOf } from './policy.ts'
import type { RequestedAction, PolicyDecision } from './policy.ts'
import type { ReportRefusal } from './refusals.ts'
import type { ReportQueue } from './report-queue.ts'
import { readCall } from './message-schemas.ts'
import type { ReportedCall } from './message-schemas.ts'
import type { Ask, AskEvidence, AskToolKind } from '../../kernel/model/asks.ts'
import type { AcpSpec } from '../../kernel/model/process-spec.ts'
import { lookUp } from '../../kernel/util/lookup.ts'
import { truncate } from '../../kernel/util/truncate.ts'

/** The user's answer to a request: the id of an option, a text, or both. */
export interface PermissionAnswer {
  readonly id: string
  readonly option: string | null
  readonly text: string | null
}

/** Limit of open requests; further ones are refused. */
const MAX_OPEN = 100
/** Limit of the options of one request; further ones are not shown. */
const MAX_OPTIONS = 100
const MAX_TEXT_BYTES = 4 * 1024
const MAX_NAME_CHARS = 200

export interface PermissionRequestsDeps {
  readonly spec: AcpSpec
  /** names of the tools of reeve itself that the agent has */
  readonly ownTools: readonly string[]
  /** prefix of request ids, which makes them unique within the process */
  readonly prefix: string
  readonly reports: ReportQueue
  /** resolves when the process is not paused */
  readonly waitUntilUnpaused: () => Promise<void>
  /**
   * Called when permission for a call is requested, before it is decided, so that the call is recorded first. Returns all that the agent
   * has reported about the call
   */
  readonly onRequest: (call: ReportedCall) => ReportedCall
  /** called when a call was denied */
  readonly onDenied: (callId: string) => void
  /** reports that the agent was refused something */
  readonly reportRefusal: ReportRefusal
  /** called when the set of open requests has changed */
  readonly onChange: () => void
}

interface OpenRequest {
  readonly ask: Ask
  readonly answer: (answer: PermissionAnswer | null) => void
}

export class PermissionRequests {
  readonly #deps: PermissionRequestsDeps
  readonly #open = new Map<string, OpenRequest>()
  readonly #callsAtGate = new Set<string>()
  #cancelled = Promise.withResolvers<null>()
  #isCancelled = false
  #lastId = 0

  constructor(deps: PermissionRequestsDeps) {
    this.#deps = deps
  }

  /**
   * ids of the calls that wait for an answer; null for a question without a call. Calls that a rule has decided are included while a
   * pause delays them.
   */
  get waitingCalls(): readonly (string | null)[] {
    return [...this.#callsAtGate, ...[...this.#open.values()].map(({ ask }) => ask.callId)]
  }

  /** Accepts requests again, at the start of a turn. */
  acceptRequests(): void {
    this.#isCancelled = false
    this.#cancelled = Promise.withResolvers()
  }

  /** Cancels all requests of this turn. */
  cancel(): void {
    this.#isCancelled = true
    this.#cancelled.resolve(null)
    for (const { answer } of [...this.#open.values()]) answer(null)
  }

  /** Answers an open request. Returns false if no request has that id. */
  answer(answer: PermissionAnswer): boolean {
    const open = this.#open.get(answer.id)
    open?.answer(answer)
    return open !== undefined
  }

  /** Answers a permission request: by a rule, or with the user's answer. */
  async handlePermissionRequest({ toolCall, options }: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const call = readCall(toolCall)
    if (call === null) return CANCELLED
    const details = this.#deps.onRequest(call)
    const { title = null, name = null, kind = null } = call
    const action = { title, name: name ?? call._meta?.claudeCode?.toolName ?? null, kind }
    const decision = await this.#decide(call, action)
    const ruleOption = decision === 'ask' ? undefined : optionFor(decision, options)
    if (decision === 'deny' || ruleOption) return this.#answerByRule(call, decision === 'allow' ? 'allowed' : 'denied', ruleOption)
    const answer = await this.#ask(
      {
        kind: 'permission',
        text: describeCall(details),
        options: options.slice(0, MAX_OPTIONS).map(optionOf),
        callId: call.toolCallId,
        evidence: evidenceOf(details),
      },
      signal,
    )
    const chosen = options.find((option) => option.optionId === answer?.option)
    if (!chosen) return CANCELLED
    if (chosen.kind.startsWith('reject')) this.#deps.onDenied(call.toolCallId)
    return { outcome: { outcome: 'selected', optionId: chosen.optionId } }
  }

  /** Decides by rules. A refusal by the tool lists or the paths is reported, and no rule or user can overrule it. */
  async #decide(call: ReportedCall, action: RequestedAction): Promise<PolicyDecision> {
    const { spec, reportRefusal, ownTools } = this.#deps
    if (isOwnTool(action, ownTools, call.rawInput)) return 'allow'
    const decision = decideAction(action, spec)
    if (isUnlisted(action, spec)) {
      reportRefusal('tools', titleOf(call), call.toolCallId)
      return 'deny'
    }
    const access = fileAccessOf(action.kind)
    const { paths } = spec.capabilities ?? {}
    if (access === null || paths?.[access] === undefined || decision === 'deny') return decision
    const locations = call.locations ?? []
    const refusals = await Promise.all(
      locations.map(({ path }) =>
        checkPath(resolve(spec.cwd, path), access, paths).then(
          () => null,
          (error: Error) => error.message,
        ),
      ),
    )
    const outside = refusals.find((refusal) => refusal !== null)
    if (outside === undefined) return locations.length === 0 && decision === 'allow' ? 'ask' : decision
    reportRefusal('paths', outside, call.toolCallId)
    return 'deny'
  }

  /** Shows a form to the user until the answer fits. A form that cannot be shown is declined. */
  async handleElicitation(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const form = parseForm(request)
    if (form === null) return { action: 'decline' }
    for (let text = form.text; ;) {
      const answer = await this.#ask({ kind: 'question', text, options: form.options, callId: null }, signal)
      if (answer === null) return { action: 'cancel' }
      const content = formAnswer(form, answer)
      if (content !== null) return { action: 'accept', content }
      text = `${form.text}\n(the last answer did not fit)`
    }
  }

  async #answerByRule(
    call: ReportedCall,
    outcome: 'allowed' | 'denied',
    option: PermissionOption | undefined,
  ): Promise<RequestPermissionResponse> {
    this.#callsAtGate.add(call.toolCallId)
    this.#deps.onChange()
    await Promise.race([this.#deps.waitUntilUnpaused(), this.#cancelled.promise])
    this.#callsAtGate.delete(call.toolCallId)
    if (this.#isCancelled) return CANCELLED
    if (outcome === 'denied') this.#deps.onDenied(call.toolCallId)
    this.#deps.reports.note(`${outcome} by rule: ${titleOf(call)}`)
    return option ? { outcome: { outcome: 'selected', optionId: option.optionId } } : CANCELLED
  }

  /** Asks the user. Null if the request was cancelled, withdrawn, or cannot be recorded. */
  async #ask(question: Omit<Ask, 'id' | 'at'>, signal: AbortSignal): Promise<PermissionAnswer | null> {
    const { prefix, reports, onChange } = this.#deps
    if (this.#isCancelled || signal.aborted || this.#open.size >= MAX_OPEN) return null
    const { promise, resolve } = Promise.withResolvers<PermissionAnswer | null>()
    const ask: Ask = { ...question, id: `${prefix}${(this.#lastId += 1)}`, at: Date.now() }
    const withdraw = (): void => resolve(null)
    signal.addEventListener('abort', withdraw, { once: true })
    this.#open.set(ask.id, { ask, answer: resolve })
    // A request that is not recorded is withdrawn, because the user could not answer it.
    reports.send({ type: 'waiting', ask }).then((ack) => ack === 'ok' || resolve(null), withdraw)
    onChange()
    const answer = await promise
    signal.removeEventListener('abort', withdraw)
    this.#open.delete(ask.id)
    if (answer === null) reports.post({ type: 'unasked', id: ask.id })
    return answer
  }
}

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

/** Picks the narrowest option, so that the agent asks again each time, because rules may change. */
function optionFor(decision: 'allow' | 'deny', options: readonly PermissionOption[]): PermissionOption | undefined {
  const kinds = decision === 'allow' ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  return kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option !== undefined)
}

function optionOf({ optionId, name, kind }: PermissionOption): Ask['options'][number] {
  return { id: optionId, name: truncate(name, MAX_NAME_CHARS), kind }
}

/** The kinds of tools of the protocol; the others are `other`. */
const TOOL_KINDS: Readonly<Record<string, AskToolKind>> = {
  read: 'read',
  search: 'read',
  edit: 'edit',
  delete: 'edit',
  move: 'edit',
  execute: 'execute',
  fetch: 'fetch',
}

/** What the agent states about the call. */
function evidenceOf(call: ReportedCall): AskEvidence {
  const { kind = null, rawInput = null } = call
  const tool = {
    name: toolName(call),
    kind: (kind === null ? undefined : lookUp(TOOL_KINDS, kind)) ?? 'other',
    input: rawInput,
    locations: (call.locations ?? []).map(({ path }) => path),
  }
  return { source: 'said', tool, diff: diffsOf(call.content ?? []) }
}

function titleOf(call: ReportedCall): string {
  return call.title || call.name || call.kind || 'a tool'
}

/** Describes the call to the user who decides: its title, its input and the intended changes. */
function describeCall(call: ReportedCall): string {
  const shown = callText(call.content ?? [], () => '')
  const input = call.rawInput === undefined ? '' : JSON.stringify(callInput(call))
  return truncateMiddle(
    [`${titleOf(call)}${call.kind ? ` (${call.kind})` : ''}`, input, shown].filter((text) => text !== '').join('\n'),
    MAX_TEXT_BYTES,
  )
}
