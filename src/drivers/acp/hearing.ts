// What an agent tells by itself: its updates, each turned into what the kernel is told. Owns what of them counts when: a
// session that is loaded replays its past, which is recorded already, and between two turns there is no step.
// Tests: test/processes/acp.test.ts, test/processes/acp-session.test.ts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Live } from '../port.ts'
import { blockText } from './content.ts'
import type { Past } from './past.ts'
import type { Saying } from './saying.ts'
import { Steps } from './steps.ts'
import { modelOption } from './session.ts'
import type { Session } from './session.ts'
import type { Quirks } from './quirks.ts'
import { Costs, NO_USAGE } from './usage.ts'
import { readUpdate } from './wire.ts'
import type { Prompted, Update, UpdateOf } from './wire.ts'

/** What it says between two turns is told in pieces of so long, and up to so much. */
const ASIDE_MS = 300
const MAX_ASIDE_CHARS = 256 * 1024
const USD = 'USD'
/** A session that was loaded is all there when nothing came for so long, or at the latest after that. */
const QUIET_MS = 250
const REPLAY_MS = 5_000
/** How full the context is, is told at once when it has changed by so much of it; else with the next cost, or the turn's end. */
const TOLD_SHARE = 0.05

export interface HearingParts {
  readonly past: Past
  readonly saying: Saying
  readonly live: (event: Live) => void
  readonly terminal: (id: string) => string
}

interface Context {
  readonly contextTokens: number
  readonly window?: number
}

export class Hearing {
  readonly steps: Steps
  readonly #parts: HearingParts
  readonly #costs: Costs
  #sessionId: string | null = null
  #model = ''
  #quirks: Quirks = {}
  /** the last step whose tokens are told */
  #countedStep = 0
  #heardMs = 0
  #inTurn = false
  #isReplaying = false
  #plan = ''
  #aside = ''
  #asideChars = 0
  #asideTimer: NodeJS.Timeout | undefined
  #isForeignTold = false
  #context: Context | null = null
  #toldTokens = 0

  constructor(parts: HearingParts) {
    this.#parts = parts
    this.#costs = new Costs(parts.past.chargedUsd, parts.past.wasMetered)
    this.steps = new Steps({ step: parts.past.step, model: () => this.#model, tell: (report) => parts.saying.tell(report), live: parts.live, late: (text) => this.#besides(text), terminal: parts.terminal })
  }

  /** The session is open: from now on what it says is news; of one that was loaded after its next turn begins. */
  opened({ id, model, isLoaded, quirks }: Pick<Session, 'id' | 'model' | 'isLoaded' | 'quirks'>): void {
    this.#sessionId = id
    this.#quirks = quirks
    this.#model = model
    this.#isReplaying = isLoaded
  }

  /** Some agents replay a session after they have said that it is loaded. */
  async replayed(): Promise<void> {
    const since = performance.now()
    this.#heardMs = since
    for (let left = QUIET_MS; left > 0; left = Math.min(this.#heardMs + QUIET_MS, since + REPLAY_MS) - performance.now()) await sleep(left)
  }

  beginTurn(): void {
    this.#isReplaying = false
    this.#sayAside()
    this.#inTurn = true
    this.#countedStep = this.steps.step
    this.steps.begin()
  }

  endTurn(): void {
    this.#inTurn = false
    this.#tellUsage(0)
  }

  /** Nothing more comes. */
  close(): void {
    this.#sayAside()
  }

  tokens(usage: Prompted['usage']): void {
    const calls = this.steps.step - this.#countedStep
    this.#countedStep = this.steps.step
    if (usage) this.#parts.saying.tell({ type: 'usage', usage: this.#costs.tokens(usage, this.#quirks.tellsLastCallOnly ? Math.max(1, calls) : 1) })
  }

  readonly hear = (params: unknown): void => {
    this.#heardMs = performance.now()
    const told = readUpdate(params)
    if (told === null || (this.#sessionId !== null && told.sessionId !== this.#sessionId)) return
    if (this.#sessionId === null || this.#isReplaying) this.#opening(told.update)
    else this.#news(told.update)
  }

  /** Of what was before, only the session's cost so far is wanted. */
  #opening(update: Update): void {
    if (update.sessionUpdate === 'usage_update' && update.cost?.currency === USD) this.#costs.opened(update.cost.amount)
  }

  #news(update: Update): void {
    const { saying } = this.#parts
    switch (update.sessionUpdate) {
      case 'agent_message_chunk': return this.#said(blockText(update.content), update.messageId)
      case 'agent_thought_chunk': return this.#inTurn ? this.steps.text({ type: 'reasoning', text: blockText(update.content), messageId: update.messageId }) : undefined
      case 'tool_call':
      case 'tool_call_update': return this.#called(update)
      case 'plan': return this.#planned(update)
      case 'usage_update': return this.#used(update)
      case 'current_mode_update': return saying.note(`mode: ${update.currentModeId}`)
      case 'config_option_update': return this.#configured(update)
      case 'notice': return saying.note(`${update.severity}: ${update.title}${update.description ? `: ${update.description}` : ''}`)
      case 'compaction_update': return saying.note(`compaction: ${update.status}${update.error ? `: ${update.error}` : ''}`)
    }
  }

  #said(text: string, messageId: string | null): void {
    if (this.#inTurn) this.steps.text({ type: 'text', text, messageId })
    else this.#besides(text)
  }

  /** What belongs to no step. */
  #besides(text: string): void {
    if (text === '' || this.#asideChars >= MAX_ASIDE_CHARS) return
    this.#asideChars += text.length
    this.#aside += text
    this.#asideTimer ??= setTimeout(() => this.#sayAside(), ASIDE_MS)
  }

  #sayAside(): void {
    clearTimeout(this.#asideTimer)
    this.#asideTimer = undefined
    if (this.#aside === '') return
    this.#parts.saying.tell({ type: 'output', stream: 'stdout', text: `${this.#aside}\n` })
    this.#aside = ''
  }

  #called(update: UpdateOf<'tool_call' | 'tool_call_update'>): void {
    if (this.#inTurn) this.steps.call(update, update.sessionUpdate === 'tool_call' && update.status !== 'completed' && update.status !== 'failed')
    else if (update.sessionUpdate === 'tool_call') this.#besides(`[between turns: ${update.title ?? update.kind ?? 'a tool'}]`)
  }

  #planned({ entries }: UpdateOf<'plan'>): void {
    const marks: Readonly<Record<string, string>> = { completed: '[x]', in_progress: '[>]' }
    const plan = entries.map(({ content, status }) => `${marks[status] ?? '[ ]'} ${content}`).join('; ')
    if (plan !== this.#plan && plan !== '') this.#parts.saying.note(`plan: ${plan}`)
    this.#plan = plan
  }

  #used({ used, size, cost }: UpdateOf<'usage_update'>): void {
    const { saying } = this.#parts
    const isForeign = cost ? cost.currency !== USD : false
    if (isForeign && !this.#isForeignTold) saying.note(`its cost is told in ${cost?.currency}, and is not counted`)
    this.#isForeignTold ||= isForeign
    const costUsd = cost && !isForeign ? this.#costs.delta(cost.amount) : 0
    this.#context = { contextTokens: used, ...(size > 0 ? { window: size } : {}) }
    if (costUsd > 0 || Math.abs(used - this.#toldTokens) > size * TOLD_SHARE) this.#tellUsage(costUsd)
  }

  #tellUsage(costUsd: number): void {
    if (this.#context === null && costUsd === 0) return
    this.#toldTokens = this.#context?.contextTokens ?? this.#toldTokens
    this.#parts.saying.tell({ type: 'usage', usage: { ...NO_USAGE, costUsd }, ...this.#context })
    this.#context = null
  }

  #configured({ configOptions }: UpdateOf<'config_option_update'>): void {
    const model = modelOption({ configOptions })?.currentValue
    if (model === undefined || model === this.#model) return
    this.#model = model
    this.#parts.saying.note(`model: ${model}`)
  }
}
