// Runs an agent's turns: sends prompts one by one, waits until the agent is idle again, and interrupts turns. As in the next version of the
// protocol, prompts are a queue, separate from the agent's state.
// Tests: test/processes/acp/turns.test.ts, test/processes/acp/permission-requests.test.ts, test/tables/drivers/acp/turns.test.ts.
import { RequestError, methods } from '@agentclientprotocol/sdk'
import type { ClientConnection } from '@agentclientprotocol/sdk'
import type { FinishReason } from '../../kernel/model/facts.ts'
import type { Report } from '../../kernel/model/reports.ts'
import { findResetTimeMs } from '../common/rate-limit-reset.ts'
import type { FreezableTimers } from '../common/freezable-timers.ts'
import type { PermissionRequests } from './permission-requests.ts'
import type { PauseGate } from '../common/pause-gate.ts'
import type { SessionUpdates } from './session-updates.ts'
import type { ReportQueue } from './report-queue.ts'
import { toLoginError } from './session.ts'
import { readPromptResult } from './message-schemas.ts'
import type { PromptResult } from './message-schemas.ts'
import { truncate } from '../../kernel/util/truncate.ts'

const MAX_ERROR_CHARS = 2_000

export interface AcpTurnsDeps {
  readonly connection: ClientConnection
  readonly sessionId: () => string
  readonly argv: readonly string[]
  readonly updates: SessionUpdates
  readonly permissionRequests: PermissionRequests
  readonly reports: ReportQueue
  readonly gate: PauseGate
  readonly timers: FreezableTimers
  /** how long an agent may take to end an interrupted turn, in ms */
  readonly cancelMs: number
  /** returns the error of a turn that succeeded without the required tools; null if none are missing */
  readonly missingToolsError: () => string | null
  /** called before the end of a turn is reported */
  readonly onTurnEnd: () => void
  /** called when the agent is idle again, or waits while the process is paused */
  readonly onStateChange: () => void
}

interface Turn {
  readonly id: number
  readonly prompts: string[]
  readonly cancelled: PromiseWithResolvers<void>
  isCancelled: boolean
  /** whether the agent is working on a prompt */
  isRunning: boolean
  /** resolves when the time limit for the end of the turn has passed */
  readonly timedOut: PromiseWithResolvers<null>
}

interface End {
  readonly outcome: 'ok' | 'error' | 'interrupted'
  readonly finish: FinishReason
  readonly error?: string
  /** set if the turn failed because the agent is not logged in */
  readonly account?: true
  readonly note?: string
}

const END_BY_STOP_REASON: Readonly<Record<PromptResult['stopReason'], End>> = {
  end_turn: { outcome: 'ok', finish: 'stop' },
  max_tokens: { outcome: 'ok', finish: 'length', note: 'the answer was cut at the limit of output tokens' },
  max_turn_requests: { outcome: 'error', finish: 'other', error: 'the agent reached its own limit of model calls in a turn' },
  refusal: { outcome: 'error', finish: 'content-filter', error: 'the model refused to continue' },
  cancelled: { outcome: 'interrupted', finish: 'other' },
}

export class AcpTurns {
  readonly #deps: AcpTurnsDeps
  #turn: Turn | null = null
  #queue: Promise<void> = Promise.resolve()
  /** a prompt that failed before a step began, with the later prompts of its turn; to be repeated */
  #undelivered: { readonly turn: number; readonly text: string } | null = null
  /** whether the connection broke during a turn */
  isBroken = false

  constructor(deps: AcpTurnsDeps) {
    this.#deps = deps
  }

  /**
   * `idle`: there is no turn. `held`: a prompt waits for the end of a pause. `running`: the agent works on a prompt. `requires_action`: the
   * agent waits for the user.
   */
  get state(): 'idle' | 'held' | 'running' | 'requires_action' {
    if (this.#turn === null) return 'idle'
    if (!this.#turn.isRunning) return 'held'
    return this.#deps.permissionRequests.waitingCalls.length > 0 ? 'requires_action' : 'running'
  }

  /** Begins a turn, or adds a prompt to the current one. */
  prompt(id: number, text: string): void {
    if (this.#turn?.id === id) {
      this.#turn.prompts.push(text)
      return
    }
    const turn: Turn = {
      id,
      prompts: [text],
      cancelled: Promise.withResolvers(),
      timedOut: Promise.withResolvers(),
      isCancelled: false,
      isRunning: false,
    }
    this.#queue = this.#queue
      .then(() => this.#run(turn))
      .catch((defect: unknown) => this.#deps.reports.note(`a turn failed unexpectedly: ${describeAgentError(defect)}`))
  }

  /** Returns the text to repeat in this turn, and forgets it; null if there is none, as after a step. */
  takeUndelivered(turn: number): string | null {
    const undelivered = this.#undelivered
    this.#undelivered = null
    return undelivered?.turn === turn ? undelivered.text : null
  }

  /** Asks the agent to end its turn. If the agent does not do so in time, the turn counts as ended anyway. */
  async interrupt(): Promise<void> {
    const turn = this.#turn
    if (turn === null || turn.isCancelled) return
    turn.isCancelled = true
    turn.cancelled.resolve()
    this.#deps.permissionRequests.cancel()
    if (!turn.isRunning) return
    const { timers, cancelMs, connection, sessionId } = this.#deps
    const stopTimer = timers.start(cancelMs, () => turn.timedOut.resolve(null))
    turn.timedOut.promise.then(stopTimer, stopTimer)
    // A failed notification is ignored: if the connection is broken, the turn has ended.
    await connection.agent.notify(methods.agent.session.cancel, { sessionId: sessionId() }).catch(() => undefined)
  }

  /** Resolves when no turn is running. */
  waitUntilIdle(): Promise<void> {
    return this.#queue
  }

  async #run(turn: Turn): Promise<void> {
    const { updates, permissionRequests, onStateChange } = this.#deps
    this.#turn = turn
    updates.beginTurn()
    permissionRequests.acceptRequests()
    const end = this.#failWithoutTools(await this.#promptAll(turn))
    permissionRequests.cancel()
    updates.steps.endTurn(end?.finish ?? 'other')
    updates.endTurn()
    this.#turn = null
    turn.timedOut.resolve(null)
    this.#deps.onTurnEnd()
    if (end === null) this.isBroken = true
    else await this.#reportEnd(turn, end)
    onStateChange()
  }

  /** Turns a success into an error if a required tool was missing: the agent worked without it. */
  #failWithoutTools(end: End | null): End | null {
    const error = end?.outcome === 'ok' ? this.#deps.missingToolsError() : null
    return error === null ? end : { outcome: 'error', finish: 'other', error }
  }

  /** Sends all prompts of a turn. Null if the connection broke, which the exit of the program explains. */
  async #promptAll(turn: Turn): Promise<End | null> {
    let end: End = END_BY_STOP_REASON.cancelled
    for (let text = turn.prompts.shift(); text !== undefined; text = turn.prompts.shift()) {
      if (this.#deps.gate.isClosed) this.#deps.onStateChange()
      await Promise.race([this.#deps.gate.waitUntilOpen(), turn.cancelled.promise])
      if (turn.isCancelled) return END_BY_STOP_REASON.cancelled
      const { step } = this.#deps.updates.steps
      const result = await this.#prompt(turn, text)
      if (result?.outcome === 'error' && this.#deps.updates.steps.step === step)
        this.#undelivered = { turn: turn.id, text: [text, ...turn.prompts].join('\n\n') }
      if (result === null || result.outcome !== 'ok') return result
      end = result
    }
    return end
  }

  async #prompt(turn: Turn, text: string): Promise<End | null> {
    const { connection, sessionId, updates } = this.#deps
    turn.isRunning = true
    try {
      const answer = await Promise.race([
        connection.agent.request(methods.agent.session.prompt, { sessionId: sessionId(), prompt: [{ type: 'text', text }] }),
        turn.timedOut.promise,
      ])
      if (answer === null)
        return { ...END_BY_STOP_REASON.cancelled, note: 'the agent did not end its turn in time: it may still work on it' }
      const { stopReason, usage } = readPromptResult(answer)
      const end = turn.isCancelled ? END_BY_STOP_REASON.cancelled : END_BY_STOP_REASON[stopReason]
      updates.steps.endTurn(end.finish)
      updates.reportTurnTokens(usage)
      return end
    } catch (error) {
      if (connection.signal.aborted) return null
      const login = toLoginError(error, this.#deps.argv)
      return turn.isCancelled
        ? END_BY_STOP_REASON.cancelled
        : { outcome: 'error', finish: 'error', error: describeAgentError(login ?? error), ...(login ? { account: true } : {}) }
    } finally {
      turn.isRunning = false
    }
  }

  async #reportEnd(turn: Turn, { outcome, error, account, note }: End): Promise<void> {
    const { reports, updates } = this.#deps
    if (note !== undefined) reports.note(note)
    const ended: Report = {
      type: 'turn.ended',
      turn: turn.id,
      outcome,
      ...(outcome === 'ok' ? { result: updates.steps.lastText } : {}),
      ...(error === undefined ? {} : { error, ...resumeAtOf(error) }),
      ...(account ? { account } : {}),
    }
    await reports.send(ended)
  }
}

/** Returns the field `resumeAt` if the error contains the time at which a rate limit is reset. */
function resumeAtOf(error: string): { readonly resumeAt?: number } {
  const resumeAt = findResetTimeMs(error, Date.now())
  return resumeAt === null ? {} : { resumeAt }
}

/** Formats an agent's error: its message, and its details unless the message contains them. */
export function describeAgentError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const data = error instanceof RequestError ? error.data : undefined
  const details = typeof data === 'object' && data !== null && 'details' in data ? data.details : data
  const detailsText = details === undefined || details === null ? '' : typeof details === 'string' ? details : JSON.stringify(details)
  // Details without a letter or a digit explain nothing.
  const more = /[\p{L}\p{N}]/u.test(detailsText) ? detailsText : ''
  const text = more === '' || error.message.includes(more) ? error.message : `${error.message}: ${more}`
  return truncate(text, MAX_ERROR_CHARS)
}
