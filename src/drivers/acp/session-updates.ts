// Maps an agent's updates to reports for the kernel. Chooses the updates that are reported. The replayed history of a loaded session is
// left out, because it is already recorded. Updates between two turns belong to no step.
// Tests: test/processes/acp/turns.test.ts, test/processes/acp/session.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { LiveOutput } from '../port.ts'
import { blockText } from './tool-content.ts'
import type { SessionHistory } from '../common/session-history.ts'
import type { ReportQueue } from './report-queue.ts'
import { Steps } from './steps.ts'
import { modeOption, modelOption } from './session.ts'
import type { Session } from './session.ts'
import type { Quirks } from './quirks.ts'
import { CostDeltas, NO_USAGE } from './usage.ts'
import { readUpdate } from './message-schemas.ts'
import type { PromptResult, Update, UpdateOf } from './message-schemas.ts'

/** The interval in which text between two turns is reported, in one batch. */
const BETWEEN_TURNS_BATCH_MS = 300
/** The maximum length of all text between the turns of an incarnation, in characters. Later text is dropped. */
const MAX_CHARS_BETWEEN_TURNS = 256 * 1024
const USD = 'USD'
/**
 * Matches the message by which Gemini CLI reports its mode. A model gains nothing by forging it, because the agent is then switched
 * back to the asking mode.
 */
const MODE_MESSAGE = /^\[MODE_UPDATE\] (\w+)$/
/** The replay of a loaded session is over after this time without an update. */
const QUIET_MS = 250
/** The replay counts as over after this time, even if updates still arrive. */
const REPLAY_MS = 5_000
/**
 * A change of the context size by this share of the window is reported at once. A smaller change is reported with the next cost or
 * at the end of the turn.
 */
const REPORT_SHARE = 0.05

export interface SessionUpdatesDeps {
  readonly history: SessionHistory
  readonly reports: ReportQueue
  /** shows output live, without recording it */
  readonly showLive: (event: LiveOutput) => void
  /** returns the output of a terminal so far */
  readonly terminalText: (id: string) => string
  /** called with the mode that the agent has entered */
  readonly onMode: (mode: string) => void
}

interface Context {
  readonly contextTokens: number
  /** the context window in tokens */
  readonly window?: number
}

export class SessionUpdates {
  readonly steps: Steps
  readonly #deps: SessionUpdatesDeps
  readonly #costs: CostDeltas
  #sessionId: string | null = null
  #model = ''
  #quirks: Quirks = {}
  /** the last step whose tokens were reported */
  #countedStep = 0
  #lastUpdateMs = 0
  #isInTurn = false
  #isReplaying = false
  #lastPlan = ''
  #textBetweenTurns = ''
  #charsBetweenTurns = 0
  #betweenTurnsTimer: NodeJS.Timeout | undefined
  #hasNotedCurrency = false
  #context: Context | null = null
  #reportedTokens = 0

  constructor(deps: SessionUpdatesDeps) {
    this.#deps = deps
    this.#costs = new CostDeltas(deps.history.chargedUsd, deps.history.wasMetered)
    this.steps = new Steps({
      step: deps.history.step,
      model: () => this.#model,
      report: (report) => deps.reports.post(report),
      showLive: deps.showLive,
      onLateText: (text) => this.#collectTextBetweenTurns(text),
      terminalText: deps.terminalText,
    })
  }

  /** Starts to report updates once the session is open. Updates of a loaded session are reported from the next turn on. */
  startSession({ id, model, isLoaded, quirks }: Pick<Session, 'id' | 'model' | 'isLoaded' | 'quirks'>): void {
    this.#sessionId = id
    this.#quirks = quirks
    this.#model = model
    this.#isReplaying = isLoaded
  }

  /** Waits for the end of the replay: some agents replay a session only after they have answered the load request. */
  async waitForReplay(): Promise<void> {
    const since = performance.now()
    this.#lastUpdateMs = since
    for (
      let remainingMs = QUIET_MS;
      remainingMs > 0;
      remainingMs = Math.min(this.#lastUpdateMs + QUIET_MS, since + REPLAY_MS) - performance.now()
    )
      await sleep(remainingMs)
  }

  beginTurn(): void {
    this.#isReplaying = false
    this.#reportTextBetweenTurns()
    this.#isInTurn = true
    this.#countedStep = this.steps.step
    this.steps.beginTurn()
  }

  endTurn(): void {
    this.#isInTurn = false
    this.#reportUsage(0)
  }

  /** Reports the pending text at the end of the connection. */
  close(): void {
    this.#reportTextBetweenTurns()
  }

  /** Reports the tokens of the turn that has just ended. */
  reportTurnTokens(usage: PromptResult['usage']): void {
    // Each step of the turn was a model call. An agent that counts only its last call is taken to have used as much in each.
    const calls = this.steps.step - this.#countedStep
    this.#countedStep = this.steps.step
    if (usage)
      this.#deps.reports.post({
        type: 'usage',
        usage: {
          ...this.#costs.turnUsage(usage, this.#quirks.reportsLastCallOnly ? Math.max(1, calls) : 1),
          ...(this.steps.hasDelegated ? { estimated: true } : {}),
        },
      })
  }

  readonly handleUpdate = (params: unknown): void => {
    this.#lastUpdateMs = performance.now()
    const received = readUpdate(params)
    if (received === null || (this.#sessionId !== null && received.sessionId !== this.#sessionId)) return
    if (this.#sessionId === null || this.#isReplaying) this.#takeReplayedCost(received.update)
    else this.#reportUpdate(received.update)
  }

  /** Takes from a replayed update only the cost of the session so far. */
  #takeReplayedCost(update: Update): void {
    if (update.sessionUpdate === 'usage_update' && update.cost?.currency === USD) this.#costs.setTotal(update.cost.amount)
  }

  #reportUpdate(update: Update): void {
    const { reports } = this.#deps
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#handleText(blockText(update.content), update.messageId)
      case 'agent_thought_chunk':
        return this.#isInTurn
          ? this.steps.addText({ type: 'reasoning', text: blockText(update.content), messageId: update.messageId })
          : undefined
      case 'tool_call':
      case 'tool_call_update':
        return this.#onToolCall(update)
      case 'plan':
        return this.#onPlan(update)
      case 'usage_update':
        return this.#onUsage(update)
      case 'current_mode_update':
        return this.#deps.onMode(update.currentModeId)
      case 'config_option_update':
        return this.#onConfig(update)
      case 'notice':
        return reports.note(`${update.severity}: ${update.title}${update.description ? `: ${update.description}` : ''}`)
      case 'compaction_update':
        return reports.note(`compaction: ${update.status}${update.error ? `: ${update.error}` : ''}`)
    }
  }

  #handleText(text: string, messageId: string | null): void {
    const mode = this.#quirks.reportsModeAsText ? MODE_MESSAGE.exec(text)?.[1] : undefined
    if (mode !== undefined) return this.#deps.onMode(mode)
    if (this.#isInTurn) this.steps.addText({ type: 'text', text, messageId })
    else this.#collectTextBetweenTurns(text)
  }

  /** Collects text that belongs to no step. */
  #collectTextBetweenTurns(text: string): void {
    if (text === '' || this.#charsBetweenTurns >= MAX_CHARS_BETWEEN_TURNS) return
    this.#charsBetweenTurns += text.length
    this.#textBetweenTurns += text
    this.#betweenTurnsTimer ??= setTimeout(() => this.#reportTextBetweenTurns(), BETWEEN_TURNS_BATCH_MS)
  }

  #reportTextBetweenTurns(): void {
    clearTimeout(this.#betweenTurnsTimer)
    this.#betweenTurnsTimer = undefined
    if (this.#textBetweenTurns === '') return
    this.#deps.reports.post({ type: 'output', stream: 'stdout', text: `${this.#textBetweenTurns}\n` })
    this.#textBetweenTurns = ''
  }

  #onToolCall(update: UpdateOf<'tool_call' | 'tool_call_update'>): void {
    if (this.#isInTurn)
      this.steps.handleCall(update, update.sessionUpdate === 'tool_call' && update.status !== 'completed' && update.status !== 'failed')
    else if (update.sessionUpdate === 'tool_call')
      this.#collectTextBetweenTurns(`[between turns: ${update.title ?? update.kind ?? 'a tool'}]`)
  }

  #onPlan({ entries }: UpdateOf<'plan'>): void {
    const marks: Readonly<Record<string, string>> = { completed: '[x]', in_progress: '[>]' }
    const plan = entries.map(({ content, status }) => `${marks[status] ?? '[ ]'} ${content}`).join('; ')
    if (plan !== this.#lastPlan && plan !== '') this.#deps.reports.note(`plan: ${plan}`)
    this.#lastPlan = plan
  }

  #onUsage({ used, size, cost }: UpdateOf<'usage_update'>): void {
    const { reports } = this.#deps
    const isOtherCurrency = cost ? cost.currency !== USD : false
    if (isOtherCurrency && !this.#hasNotedCurrency) reports.note(`its cost is reported in ${cost?.currency}, and is not counted`)
    this.#hasNotedCurrency ||= isOtherCurrency
    const costUsd = cost && !isOtherCurrency ? this.#costs.increaseTo(cost.amount) : 0
    this.#context = { contextTokens: used, ...(size > 0 ? { window: size } : {}) }
    if (costUsd > 0 || Math.abs(used - this.#reportedTokens) > size * REPORT_SHARE) this.#reportUsage(costUsd)
  }

  #reportUsage(costUsd: number): void {
    if (this.#context === null && costUsd === 0) return
    this.#reportedTokens = this.#context?.contextTokens ?? this.#reportedTokens
    this.#deps.reports.post({ type: 'usage', usage: { ...NO_USAGE, costUsd }, ...this.#context })
    this.#context = null
  }

  #onConfig({ configOptions }: UpdateOf<'config_option_update'>): void {
    const mode = modeOption({ configOptions })?.currentValue
    if (mode !== undefined) this.#deps.onMode(mode)
    const model = modelOption({ configOptions })?.currentValue
    if (model === undefined || model === this.#model) return
    this.#model = model
    this.#deps.reports.note(`model: ${model}`)
  }
}
