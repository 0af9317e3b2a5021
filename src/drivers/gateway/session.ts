// The gateway session of one incarnation: its token, the providers that it may call, and its calls in flight. The session ends
// with the incarnation. A paused process is drained when no call is in flight and a request waits.
// Test: test/processes/gateway/waiting-calls.test.ts.
import { raceAbort } from '../common/race-abort.ts'
import { randomBytes } from 'node:crypto'
import type { KernelPort } from '../port.ts'
import type { CallGrant, Report } from '../../kernel/model/reports.ts'
import type { ProviderConfig } from '../native/models/resolve-model.ts'
import type { CallRecorder } from './call-recorder.ts'

/** A provider that this process may call. The key never reaches the agent. */
export interface SessionProvider {
  readonly config: ProviderConfig
  readonly key: string | null
}

export interface GatewaySessionDeps {
  readonly uuid: string
  readonly pid: number
  readonly port: Pick<KernelPort, 'requestCall' | 'report' | 'waitUntilUnpaused' | 'signal'>
  readonly providers: readonly SessionProvider[]
  /** called for each part of a model's answer, which shows that the agent is alive */
  readonly onActivity: () => void
  /** null if the calls are not recorded */
  readonly recorder: CallRecorder | null
}

const TOKEN_PREFIX = 'reeve-'
const TOKEN_BYTES = 32
/** Matches the tokens in a text. */
export const TOKEN_PATTERN = new RegExp(`${TOKEN_PREFIX}[\\w-]{43}`, 'g')

/**
 * The ratio of counted to estimated tokens is learned only from requests with at least this many tokens. The ratio of a smaller request is
 * not reliable.
 */
const MIN_LEARNED_TOKENS = 1_000
/** The highest ratio of counted to estimated tokens. */
const MAX_TOKEN_RATIO = 2

type CallStarted = Omit<Extract<Report, { type: 'call.started' }>, 'type'>
type CallFinished = Omit<Extract<Report, { type: 'call.finished' }>, 'type'>

/** The access of one incarnation to the gateway. */
export class GatewaySession {
  readonly token = `${TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`
  readonly #deps: GatewaySessionDeps
  /** the number of calls so far */
  #callCount = 0
  /** the number of calls in flight */
  #inFlight = 0
  /** the ratio of the provider's counts to the estimates by bytes */
  #tokenRatio = 1
  /** true if a note about the current wait has been sent */
  #hasNoted = false
  /** the number of requests that wait until the process has no hold */
  #waitingRequests = 0

  constructor(deps: GatewaySessionDeps) {
    this.#deps = deps
  }

  get uuid(): string {
    return this.#deps.uuid
  }

  get pid(): number {
    return this.#deps.pid
  }

  /** Records a note. Further notes are ignored until the next request for a grant. */
  note(text: string): void {
    if (this.#hasNoted) return
    this.#hasNoted = true
    // A report is rejected only if the process has ended.
    this.#deps.port.report({ type: 'note', text }).catch(() => undefined)
  }

  noteActivity(): void {
    this.#deps.onActivity()
  }

  get recorder(): CallRecorder | null {
    return this.#deps.recorder
  }

  /** aborts when the incarnation must end */
  get signal(): AbortSignal {
    return this.#deps.port.signal
  }

  get providers(): readonly SessionProvider[] {
    return this.#deps.providers
  }

  provider(name: string): SessionProvider | undefined {
    return this.#deps.providers.find(({ config }) => config.name === name)
  }

  /** Corrects an estimate with the learned ratio. Never lowers the estimate. */
  correctEstimate(tokensByBytes: number): number {
    return Math.ceil(tokensByBytes * this.#tokenRatio)
  }

  /** Learns the ratio from the provider's count of a request. */
  learnTokenRatio(tokensByBytes: number, counted: number): void {
    if (tokensByBytes >= MIN_LEARNED_TOKENS) this.#tokenRatio = Math.min(MAX_TOKEN_RATIO, Math.max(1, counted / tokensByBytes))
  }

  /** Returns a name for the next call, unique within the process. */
  nextCallName(): string {
    this.#callCount += 1
    return `${this.#deps.pid}-${this.#callCount}`
  }

  /** Asks the kernel for a grant. A granted call is in flight until `finishCall`. */
  async requestGrant(call: CallStarted): Promise<CallGrant> {
    const grant = await this.#deps.port.requestCall({ type: 'call.started', ...call })
    if (grant.ack === 'go') this.#inFlight += 1
    this.#hasNoted = false
    return grant
  }

  /** Reports the end of a call. Resolves when the report has been written to disk, or the process has ended. */
  async finishCall(call: CallFinished): Promise<void> {
    // A report is rejected only if the process has ended.
    const recorded = this.#deps.port.report({ type: 'call.finished', ...call }).catch(() => undefined)
    this.#inFlight -= 1
    // A waiting request means that the process is paused. When its last call ends, the process is drained.
    if (this.#inFlight === 0 && this.#waitingRequests > 0) this.#deps.port.report({ type: 'drained' }).catch(() => undefined)
    await recorded
  }

  /** Waits until the process has no hold. Rejects when the signal aborts. */
  async waitUntilUnheld(signal: AbortSignal): Promise<void> {
    this.#waitingRequests += 1
    try {
      signal.throwIfAborted()
      await raceAbort(
        this.#deps.port.waitUntilUnpaused(() => this.#inFlight === 0),
        signal,
      )
    } finally {
      this.#waitingRequests -= 1
    }
  }
}
