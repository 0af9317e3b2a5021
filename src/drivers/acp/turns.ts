// Turns of an agent: its prompts, one after the other, each until the agent is idle again; and how a turn is interrupted.
// Shaped like the coming version of the protocol: what is asked of the agent is a queue, its state is another thing.
// Tests: test/processes/acp.test.ts, test/processes/acp-asks.test.ts.
import { RequestError, methods } from '@agentclientprotocol/sdk'
import type { ClientConnection } from '@agentclientprotocol/sdk'
import type { FinishReason } from '../../kernel/facts.ts'
import type { Report } from '../../kernel/reports.ts'
import { resetInWords } from '../limit-reset.ts'
import type { Freezer } from '../native/tools/freezer.ts'
import type { Asks } from './asks.ts'
import type { Gate } from './gate.ts'
import type { Hearing } from './hearing.ts'
import type { Saying } from './saying.ts'
import { readPrompted } from './wire.ts'
import type { Prompted } from './wire.ts'

const MAX_ERROR_CHARS = 2_000

export interface TurnsParts {
  readonly connection: ClientConnection
  readonly sessionId: () => string
  readonly hearing: Hearing
  readonly asks: Asks
  readonly saying: Saying
  readonly gate: Gate
  readonly freezer: Freezer
  /** how long an agent may take to end its turn when it is told to */
  readonly cancelMs: number
  /** the agent is idle again, or waits at the gate */
  readonly settled: () => void
}

interface Turn {
  readonly id: number
  readonly prompts: string[]
  readonly cancelled: PromiseWithResolvers<void>
  isCancelled: boolean
  /** a prompt is with the agent */
  isRunning: boolean
  /** resolved when the agent has had enough time to end it */
  readonly late: PromiseWithResolvers<null>
}

interface End {
  readonly outcome: 'ok' | 'error' | 'interrupted'
  readonly finish: FinishReason
  readonly error?: string
  readonly note?: string
}

const ENDS: Readonly<Record<Prompted['stopReason'], End>> = {
  end_turn: { outcome: 'ok', finish: 'stop' },
  max_tokens: { outcome: 'ok', finish: 'length', note: 'the answer was cut at the limit of output tokens' },
  max_turn_requests: { outcome: 'error', finish: 'other', error: 'the agent came to its own limit of model calls in a turn' },
  refusal: { outcome: 'error', finish: 'content-filter', error: 'the model refused to go on' },
  cancelled: { outcome: 'interrupted', finish: 'other' },
}

export class Turns {
  readonly #parts: TurnsParts
  #turn: Turn | null = null
  #tail: Promise<void> = Promise.resolve()
  /** the line broke while a turn was on */
  isBroken = false

  constructor(parts: TurnsParts) {
    this.#parts = parts
  }

  /** `running` while a prompt is with the agent, `requires_action` when it waits for a person. */
  get state(): 'idle' | 'held' | 'running' | 'requires_action' {
    if (this.#turn === null) return 'idle'
    if (!this.#turn.isRunning) return 'held'
    return this.#parts.asks.waiting.length > 0 ? 'requires_action' : 'running'
  }

  /** Begins a turn, or adds to the one that is on. */
  prompt(id: number, text: string): void {
    if (this.#turn?.id === id) {
      this.#turn.prompts.push(text)
      return
    }
    const turn: Turn = { id, prompts: [text], cancelled: Promise.withResolvers(), late: Promise.withResolvers(), isCancelled: false, isRunning: false }
    this.#tail = this.#tail.then(() => this.#run(turn)).catch((defect: unknown) => this.#parts.saying.note(`a turn broke: ${wordsOf(defect)}`))
  }

  /** Tells the agent to end its turn, and lets go of the turn if it does not. */
  async interrupt(): Promise<void> {
    const turn = this.#turn
    if (turn === null || turn.isCancelled) return
    turn.isCancelled = true
    turn.cancelled.resolve()
    this.#parts.asks.cancel()
    if (!turn.isRunning) return
    const { freezer, cancelMs, connection, sessionId } = this.#parts
    const disarm = freezer.deadline(cancelMs, () => turn.late.resolve(null))
    turn.late.promise.then(disarm, disarm)
    // A line that is broken ends the turn by itself.
    await connection.agent.notify(methods.agent.session.cancel, { sessionId: sessionId() }).catch(() => undefined)
  }

  /** Resolves when no turn is on. */
  idle(): Promise<void> {
    return this.#tail
  }

  async #run(turn: Turn): Promise<void> {
    const { hearing, asks, settled } = this.#parts
    this.#turn = turn
    hearing.beginTurn()
    asks.begin()
    const end = await this.#promptAll(turn)
    asks.cancel()
    hearing.steps.end(end?.finish ?? 'other')
    hearing.endTurn()
    this.#turn = null
    turn.late.resolve(null)
    if (end === null) this.isBroken = true
    else await this.#sayEnd(turn, end)
    settled()
  }

  /** Null: the line is broken, and the agent's end says why. */
  async #promptAll(turn: Turn): Promise<End | null> {
    let end: End = ENDS.cancelled
    for (let text = turn.prompts.shift(); text !== undefined; text = turn.prompts.shift()) {
      if (this.#parts.gate.isHeld) this.#parts.settled()
      await Promise.race([this.#parts.gate.clear(), turn.cancelled.promise])
      if (turn.isCancelled) return ENDS.cancelled
      const next = await this.#prompt(turn, text)
      if (next === null || next.outcome !== 'ok') return next
      end = next
    }
    return end
  }

  async #prompt(turn: Turn, text: string): Promise<End | null> {
    const { connection, sessionId, hearing } = this.#parts
    turn.isRunning = true
    try {
      const answer = await Promise.race([
        connection.agent.request(methods.agent.session.prompt, { sessionId: sessionId(), prompt: [{ type: 'text', text }] }),
        turn.late.promise,
      ])
      if (answer === null) return { ...ENDS.cancelled, note: 'the agent did not end its turn in time: it may still work on it' }
      const { stopReason, usage } = readPrompted(answer)
      const end = turn.isCancelled ? ENDS.cancelled : ENDS[stopReason]
      hearing.steps.end(end.finish)
      hearing.tokens(usage)
      return end
    } catch (error) {
      if (connection.signal.aborted) return null
      return turn.isCancelled ? ENDS.cancelled : { outcome: 'error', finish: 'error', error: wordsOf(error) }
    } finally {
      turn.isRunning = false
    }
  }

  async #sayEnd(turn: Turn, { outcome, error, note }: End): Promise<void> {
    const { saying, hearing } = this.#parts
    if (note !== undefined) saying.note(note)
    const ended: Report = {
      type: 'turn.ended', turn: turn.id, outcome,
      ...(outcome === 'ok' ? { result: hearing.steps.lastText } : {}), ...(error === undefined ? {} : { error, ...limited(error) }),
    }
    await saying.say(ended)
  }
}

/** Its limit was reached, and it says when that is over. */
function limited(error: string): { readonly resumeAt?: number } {
  const resumeAt = resetInWords(error, Date.now())
  return resumeAt === null ? {} : { resumeAt }
}

/** What an agent answers instead of an answer: its message, and what it adds. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const data = error instanceof RequestError ? error.data : undefined
  const details = typeof data === 'object' && data !== null && 'details' in data ? data.details : data
  const more = details === undefined || details === null ? '' : typeof details === 'string' ? details : JSON.stringify(details)
  const text = more === '' || error.message.includes(more) ? error.message : `${error.message}: ${more}`
  return text.slice(0, MAX_ERROR_CHARS)
}
