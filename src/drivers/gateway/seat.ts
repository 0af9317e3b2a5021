// One incarnation at the gateway: its token, the providers that it may call, and what of it is on its way to one. Gone with the
// incarnation. Owns when a paused one is still: nothing of it is with a provider, and a request waits at the gate.
// Test: test/processes/gateway-hold.test.ts.
import { randomBytes } from 'node:crypto'
import type { KernelPort } from '../port.ts'
import type { Permit, Report } from '../../kernel/reports.ts'
import type { ProviderConfig } from '../native/models.ts'
import type { Recorder } from './record.ts'

/** A provider as this process has it. The key never goes to the agent. */
export interface SeatProvider {
  readonly config: ProviderConfig
  readonly key: string | null
}

export interface SeatParts {
  readonly uuid: string
  readonly pid: number
  readonly port: Pick<KernelPort, 'begin' | 'report' | 'clear' | 'signal'>
  readonly providers: readonly SeatProvider[]
  /** called whenever something of a model's answer goes by: it is alive */
  readonly heard: () => void
  /** null: nothing is recorded */
  readonly recorder: Recorder | null
}

const TOKEN_MARK = 'reeve-'
const TOKEN_BYTES = 32
/** A token, wherever it stands in a text. */
export const TOKEN = new RegExp(`${TOKEN_MARK}[\\w-]{43}`, 'g')

/** In tokens: a small request says little of how its agent's language and tools are counted. */
const LEAST_GUESS = 1_000
const MAX_TOKENS_PER_GUESS = 2

type CallStarted = Omit<Extract<Report, { type: 'call.started' }>, 'type'>
type CallFinished = Omit<Extract<Report, { type: 'call.finished' }>, 'type'>

export class Seat {
  readonly token = `${TOKEN_MARK}${randomBytes(TOKEN_BYTES).toString('base64url')}`
  readonly #parts: SeatParts
  #calls = 0
  /** with a provider now */
  #flying = 0
  /** how many tokens the provider counted where the bytes made one */
  #tokensPerGuess = 1
  /** it was told that it waits for its turn */
  #waits = false
  /** at the gate */
  #waiting = 0

  constructor(parts: SeatParts) {
    this.#parts = parts
  }

  get uuid(): string {
    return this.#parts.uuid
  }

  get pid(): number {
    return this.#parts.pid
  }

  /** Stands in the table until there is something newer; not said again for each call. */
  note(text: string): void {
    if (this.#waits) return
    this.#waits = true
    this.#parts.port.report({ type: 'note', text }).catch(() => 'late')
  }

  heard(): void {
    this.#parts.heard()
  }

  get recorder(): Recorder | null {
    return this.#parts.recorder
  }

  /** aborted when the incarnation is to end */
  get signal(): AbortSignal {
    return this.#parts.port.signal
  }

  get providers(): readonly SeatProvider[] {
    return this.#parts.providers
  }

  provider(name: string): SeatProvider | undefined {
    return this.#parts.providers.find(({ config }) => config.name === name)
  }

  /** Of a request of so many tokens by its bytes: not fewer than the last one that was counted had. */
  estimate(byBytes: number): number {
    return Math.ceil(byBytes * this.#tokensPerGuess)
  }

  learn(byBytes: number, counted: number): void {
    if (byBytes >= LEAST_GUESS) this.#tokensPerGuess = Math.min(MAX_TOKENS_PER_GUESS, Math.max(1, counted / byBytes))
  }

  /** A name for a call that no other one of this process has. */
  name(): string {
    this.#calls += 1
    return `${this.#parts.pid}-${this.#calls}`
  }

  /** What is granted is with the provider from here on, until `finished`. */
  async begin(asked: CallStarted): Promise<Permit> {
    const permit = await this.#parts.port.begin({ type: 'call.started', ...asked })
    if (permit.ack === 'go') this.#flying += 1
    this.#waits = false
    return permit
  }

  /** Resolves when it is on disk, or nobody wants to know any more. */
  async finished(call: CallFinished): Promise<void> {
    const said = this.#parts.port.report({ type: 'call.finished', ...call }).catch(() => 'late')
    this.#flying -= 1
    // One that waits at the gate keeps it from having more in flight; the last to come back says so.
    if (this.#flying === 0 && this.#waiting > 0) this.#parts.port.report({ type: 'drained' }).catch(() => 'late')
    await said
  }

  /** Waits until the process has no hold. Rejects when the signal aborts. */
  async clear(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<never>()
    const onAbort = (): void => aborted.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    this.#waiting += 1
    try {
      signal.throwIfAborted()
      await Promise.race([this.#parts.port.clear(() => this.#flying === 0), aborted.promise])
    } finally {
      this.#waiting -= 1
      signal.removeEventListener('abort', onAbort)
      aborted.promise.catch(() => undefined)
    }
  }
}
