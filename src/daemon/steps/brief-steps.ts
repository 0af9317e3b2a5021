// Folds the facts of a history into one short row for each step: times, tokens, cost, flags, tools and the beginning of its text. Pure, and
// incremental: later facts continue it. A moment counts once at most: for a hold, for the user, or for the tools. The driver reports the
// time of a finished model call. Tests: test/tables/daemon/steps/brief-steps.test.ts, test/properties/brief-steps.test.ts.
import { STEP_FLAGS } from '../../api/step-flags.ts'
import { oneLine } from '../../api/text/safe-text.ts'
import { assistantText } from '../../kernel/state/assistant-text.ts'
import { truncate } from '../../kernel/util/truncate.ts'
import { GATEWAY_FACTS, GatewayCalls } from './gateway-calls.ts'
import type { BriefStepsView } from '../../api/views/steps.ts'
import type { BodyOf, FactBody, FactType } from '../../kernel/model/facts.ts'
import type { Hold } from '../../kernel/model/process.ts'
import type { CallUsage } from '../../kernel/model/usage.ts'

/** The longest text of a row, in characters. */
const MAX_TEXT_CHARS = 80

/** A row: the values of the columns for one step. Times in ms. */
export type BriefStep = { [K in keyof BriefStepsView['columns']]: BriefStepsView['columns'][K][number] }

/** The facts that change a row, or the time that is counted. All others may be left out. */
export const BRIEF_FACTS: readonly FactType[] = [
  'process.started',
  'process.rehydrated',
  'process.forked',
  'process.exited',
  'process.held',
  'process.released',
  'process.drained',
  'process.frozen',
  'process.waiting',
  'process.answered',
  'process.unanswered',
  'process.unasked',
  'model.started',
  'model.finished',
  'model.failed',
  'tool.started',
  'tool.finished',
  'usage.reported',
  ...GATEWAY_FACTS,
  'context.compacted',
  'files.recorded',
  'checkpoint.written',
]

const RELEVANT: ReadonlySet<FactType> = new Set(BRIEF_FACTS)

export class BriefSteps {
  readonly #rows: BriefStep[] = []
  readonly #holds = new Set<string>()
  readonly #asks = new Set<string>()
  readonly #openCalls = new Set<string>()
  readonly #gatewayCalls = new GatewayCalls()
  #isModelOpen = false
  #modelSince = 0
  /** true: the process is held, and none of its work still runs */
  #isStill = false
  #isRunning = false
  /** wall ms up to which time has been counted */
  #countedTo = 0
  #lastRecord: string | null = null
  /** the call ids of open steps, in the order of their tools */
  readonly #toolIds = new Map<number, readonly string[]>()

  /** The rows, by step. */
  get rows(): readonly BriefStep[] {
    return this.#rows
  }

  /** Applies the next fact of the history. */
  apply(body: FactBody, at: number): void {
    if (!RELEVANT.has(body.type)) return
    this.#countTime(at)
    this.#applyFact(body, at)
    for (const { step, usage, contextTokens } of this.#gatewayCalls.apply(body)) this.#addUsage(this.#rowOf(step), usage, contextTokens)
  }

  #applyFact(body: FactBody, at: number): void {
    switch (body.type) {
      case 'process.started':
      case 'process.rehydrated':
        this.#isRunning = true
        return
      // A fork inherits neither holds nor questions.
      case 'process.forked':
      case 'process.exited':
        return this.#endIncarnation()
      case 'process.held':
        this.#holds.add(keyOf(body.hold))
        return this.#mark('held')
      case 'process.released':
        return this.#release(body)
      case 'process.drained':
      case 'process.frozen':
        this.#isStill = true
        return
      case 'process.waiting':
        this.#asks.add(body.ask?.id ?? '')
        return this.#mark('asked')
      case 'process.unanswered':
        this.#asks.add(body.id)
        return
      case 'process.answered':
      case 'process.unasked':
        this.#asks.delete(body.id)
        return
      default:
        this.#applyToStep(body, at)
    }
  }

  #applyToStep(body: FactBody, at: number): void {
    switch (body.type) {
      case 'model.started':
        return this.#startModel(body, at)
      case 'model.finished':
        return this.#finishModel(body, at)
      case 'model.failed':
        return this.#failModel(body, at)
      case 'tool.started':
        this.#openCalls.add(body.callId)
        return body.effect === 'read' ? undefined : this.#mark('writes')
      case 'tool.finished':
        return this.#finishTool(body)
      case 'usage.reported':
        // Usage that an external agent reports late counts for the last step, too.
        return this.#addUsage(this.#rows.at(-1), body.usage, body.contextTokens)
      case 'context.compacted':
        return this.#mark('compacted', body.step)
      case 'checkpoint.written':
        return this.#mark('checkpoint', body.step)
      case 'files.recorded':
        if (this.#lastRecord !== null && this.#lastRecord !== body.commit) this.#mark('files', body.step)
        this.#lastRecord = body.commit
        return
      default:
    }
  }

  /** Counts the time since the last fact for the current step. */
  #countTime(at: number): void {
    const row = this.#rows.at(-1)
    // The wall clock may have been set back.
    const ms = Math.max(0, at - this.#countedTo)
    this.#countedTo = at
    if (!row || !this.#isRunning || ms === 0) return
    const isIdle = !this.#isModelOpen && this.#openCalls.size === 0
    if (this.#holds.size > 0 && (this.#isStill || isIdle)) row.heldMs += ms
    else if (this.#asks.size > 0) row.humanMs += ms
    else if (this.#openCalls.size > 0) row.toolMs += ms
  }

  #endIncarnation(): void {
    this.#isRunning = false
    this.#isStill = false
    this.#isModelOpen = false
    this.#holds.clear()
    this.#asks.clear()
  }

  #release({ holds }: BodyOf<'process.released'>): void {
    for (const hold of holds) this.#holds.delete(keyOf(hold))
    if (this.#holds.size === 0) this.#isStill = false
  }

  #startModel({ step, attempt }: BodyOf<'model.started'>, at: number): void {
    // A history that begins with a step has no fact of a start.
    this.#isRunning = true
    this.#isModelOpen = true
    this.#modelSince = at
    const known = this.#rowOf(step)
    if (known) known.flags |= STEP_FLAGS.retried
    else {
      this.#openCalls.clear()
      this.#rows.push({
        step,
        at,
        modelMs: 0,
        toolMs: 0,
        humanMs: 0,
        heldMs: 0,
        in: 0,
        cached: 0,
        out: 0,
        usd: null,
        ctx: null,
        flags: STEP_FLAGS.open | (attempt > 1 ? STEP_FLAGS.retried : 0),
        tools: [],
        text: '',
      })
    }
  }

  #finishModel({ step, message, usage, durationMs }: BodyOf<'model.finished'>, at: number): void {
    this.#isModelOpen = false
    const row = this.#rowOf(step)
    if (!row) return
    // An external agent reports a step at its end, so its start is computed.
    row.at = Math.min(row.at, at - durationMs)
    row.modelMs += durationMs
    row.text = briefText(assistantText(message))
    row.tools = message.flatMap((part) => (part.type === 'tool-call' ? [`${part.name}${OPEN}`] : []))
    this.#toolIds.set(
      step,
      message.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])),
    )
    this.#addUsage(this.#rows.at(-1), usage, undefined)
    row.ctx = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens || row.ctx
    if (row.tools.length === 0) row.flags &= ~STEP_FLAGS.open
  }

  #failModel({ step, usage }: BodyOf<'model.failed'>, at: number): void {
    const row = this.#rowOf(step)
    if (this.#isModelOpen && row) row.modelMs += Math.max(0, at - this.#modelSince)
    this.#isModelOpen = false
    if (usage) this.#addUsage(this.#rows.at(-1), usage, undefined)
  }

  #finishTool({ step, callId, name, outcome, exitCode }: BodyOf<'tool.finished'>): void {
    this.#openCalls.delete(callId)
    const row = this.#rowOf(step)
    const index = this.#toolIds.get(step)?.indexOf(callId) ?? -1
    if (!row || index < 0) return
    const isFailed = outcome !== 'ok' || (exitCode ?? 0) !== 0
    row.tools[index] = isFailed ? `${name}${FAILED}` : name
    if (isFailed) row.flags |= STEP_FLAGS.failed
    if (row.tools.some((tool) => tool.endsWith(OPEN))) return
    row.flags &= ~STEP_FLAGS.open
    for (const earlier of this.#toolIds.keys()) if (earlier <= step) this.#toolIds.delete(earlier)
  }

  #addUsage(row: BriefStep | undefined, usage: CallUsage, contextTokens: number | undefined): void {
    if (!row) return
    row.in += usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
    row.cached += usage.cacheReadTokens
    row.out += usage.outputTokens
    // An agent at the gateway reports empty usage, because the gateway counts its calls.
    const isEmpty = usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens === 0 && !usage.costUsd
    if (usage.costUsd !== null && !isEmpty) row.usd = (row.usd ?? 0) + usage.costUsd
    if (contextTokens !== undefined && contextTokens > 0) row.ctx = contextTokens
  }

  #mark(flag: keyof typeof STEP_FLAGS, step?: number): void {
    const row = step === undefined ? this.#rows.at(-1) : this.#rowOf(step)
    if (row) row.flags |= STEP_FLAGS[flag]
  }

  /** Finds the row of a step. Facts are about one of the last steps. */
  #rowOf(step: number): BriefStep | undefined {
    for (let index = this.#rows.length - 1; index >= 0; index -= 1) {
      const row = this.#rows[index]
      if (!row || row.step <= step) return row?.step === step ? row : undefined
    }
    return undefined
  }
}

/** The marks behind the name of a tool: its call failed, or has no outcome. */
const [FAILED, OPEN] = ['!', '?'] as const

function keyOf({ reason, root = '', by }: Hold): string {
  return `${reason} ${root} ${by}`
}

/** Returns the beginning of a text on one line, without control characters. */
function briefText(text: string): string {
  // Longer beginnings are not needed: white space shrinks by less than that in ordinary texts.
  return truncate(oneLine(text.slice(0, MAX_TEXT_CHARS * 4)), MAX_TEXT_CHARS, '…')
}
