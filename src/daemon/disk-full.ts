// A store that cannot be written for now: what cannot is kept and comes again, and nothing new starts.
// On a full disk all that run are held with the reason. Owns the kept inputs and the reserve: 4 MB are given up so that the
// holds themselves fit, and are taken back first when there is room again. Test: test/tables/disk-full.test.ts, test/simulation.
import { KernelError, type ErrorCode } from '../kernel/errors.ts'
import type { InputBody } from '../kernel/inputs.ts'
import type { Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'

const RETRY_MS = 1_000

/** What passes, or may: a person frees space, mounts again. Any other failure of a commit is told to who asked for it. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['DISK_FULL', 'READ_ONLY', 'STORE_LOCKED', 'UNAVAILABLE'])

export interface DiskFullParts {
  readonly store: Store
  readonly clock: Clock
  /** those that are not suspended */
  readonly running: () => readonly Uuid[]
  readonly submit: (input: InputBody) => void
  readonly log: (message: string, error: unknown) => void
}

export class DiskFull {
  readonly #parts: DiskFullParts
  #kept: InputBody[] = []
  /** whose inputs are kept: what they say later waits behind them */
  readonly #behind = new Set<Uuid | null>()
  readonly #held = new Set<Uuid>()
  #trouble: KernelError | null = null
  #told: ErrorCode | null = null
  #cancelRetry = (): void => {}

  constructor(parts: DiskFullParts) {
    this.#parts = parts
  }

  /** Why nothing can be written; while there is a reason nothing new may start. */
  get trouble(): KernelError | null {
    return this.#trouble
  }

  /**
   * Keeps what a driver reported or the kernel itself wanted, and (before it is decided, with null) all that came later from
   * the same process: nothing overtakes. A request of a person is refused instead.
   */
  keep(input: InputBody, error: KernelError | null): boolean {
    if ('reply' in input && input.type !== 'report') return false
    if (input.type === 'checkpoint') return error !== null && this.#warn(input, error)
    if (input.type === 'hold') return error?.code === 'DISK_FULL' && this.#cannotHold(input)
    if (error === null ? !this.#waitsBehind(input.uuid) : !this.#mayPass(input, error)) return false
    this.#kept.push(input)
    this.#behind.add(input.uuid)
    if (error) this.#begin(error)
    if (input.type !== 'boot' && this.#trouble?.code === 'DISK_FULL') this.#holdAll()
    return true
  }

  /** At a start: what an earlier daemon held for want of room goes on as soon as there is some. */
  async lookForRoom(): Promise<void> {
    if (await this.#parts.store.restoreReserve()) this.#parts.submit({ type: 'release', uuid: null, reason: 'disk-full' })
    else this.#begin(new KernelError('DISK_FULL', 'there is no room for the reserve'))
  }

  /** A start that cannot say what has become of a row is refused as a whole. */
  #mayPass(input: InputBody, { code }: KernelError): boolean {
    return code === 'DISK_FULL' || (PASSING.has(code) && input.type !== 'boot')
  }

  /** A checkpoint is best effort: that it failed is a fact, if that can be written. */
  #warn(input: Extract<InputBody, { type: 'checkpoint' }>, { message }: KernelError): true {
    if (input.error === null) this.#parts.submit({ ...input, error: message })
    return true
  }

  /** What concerns all waits for all. */
  #waitsBehind(uuid: Uuid | null): boolean {
    return uuid === null ? this.#kept.length > 0 : this.#behind.has(uuid)
  }

  /** Our own hold found no room: it is wished again with the next input that is kept. */
  #cannotHold({ uuid, reason }: Extract<InputBody, { type: 'hold' }>): boolean {
    if (uuid !== null) this.#held.delete(uuid)
    return reason === 'disk-full'
  }

  /** What is kept is lost to this daemon: its senders are refused, and what was acknowledged is in the store. */
  stop(): void {
    this.#cancelRetry()
  }

  #begin(error: KernelError): void {
    const before = this.#trouble
    if (before && (before.code === error.code || before.code === 'DISK_FULL')) return
    this.#trouble = error
    if (this.#told !== error.code) this.#parts.log(`the store cannot be written (${error.code}): what runs waits until it can`, null)
    this.#told = error.code
    if (!before) this.#retryLater()
  }

  /** All that run, with one commit: what the reserve gives is for their holds, and not for the work of those that go on. */
  #holdAll(): void {
    this.#parts.store.releaseReserve().then(
      () => {
        if (!this.#trouble) return
        for (const uuid of this.#parts.running()) this.#hold(uuid)
      },
      (error: unknown) => this.#parts.log('the reserve cannot be given up', error),
    )
  }

  #hold(uuid: Uuid): void {
    if (this.#held.has(uuid)) return
    this.#held.add(uuid)
    this.#parts.submit({ type: 'hold', uuid, reason: 'disk-full' })
  }

  #retryLater(): void {
    this.#cancelRetry = this.#parts.clock.after(RETRY_MS, () => {
      this.#mayGoOn().then(
        (may) => (may ? this.#end() : this.#retryLater()),
        () => this.#retryLater(),
      )
    })
  }

  /** Room is seen by the reserve. Whether another trouble has passed, only the next try can tell. */
  async #mayGoOn(): Promise<boolean> {
    return this.#trouble?.code !== 'DISK_FULL' || (await this.#parts.store.restoreReserve())
  }

  #end(): void {
    const kept = this.#kept
    const wasFull = this.#trouble?.code === 'DISK_FULL'
    this.#kept = []
    this.#behind.clear()
    this.#trouble = null
    this.#held.clear()
    for (const input of kept) this.#parts.submit(input)
    if (!wasFull) return
    this.#told = null
    this.#parts.log('there is room on the disk again', null)
    this.#parts.submit({ type: 'release', uuid: null, reason: 'disk-full' })
  }
}
