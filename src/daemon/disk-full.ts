// A full disk: what cannot be written is kept and comes again, all that run are held with the reason, nothing new starts.
// Owns the kept inputs and the reserve: 4 MB are given up so that the holds themselves fit, and are taken back first when
// there is room again. Test: test/tables/disk-full.test.ts, test/simulation.
import type { KernelError } from '../kernel/errors.ts'
import type { InputBody } from '../kernel/inputs.ts'
import type { Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'

const RETRY_MS = 1_000

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
  #isFull = false
  #cancelRetry = (): void => {}

  constructor(parts: DiskFullParts) {
    this.#parts = parts
  }

  /** While it is, nothing new may start. */
  get isFull(): boolean {
    return this.#isFull
  }

  /**
   * Keeps what a driver reported or the kernel itself wanted, and (before it is decided, with null) all that came later from
   * the same process: nothing overtakes. A request of a person is refused instead.
   */
  keep(input: InputBody, error: KernelError | null): boolean {
    if ('reply' in input && input.type !== 'report') return false
    if (input.type === 'hold') return error?.code === 'DISK_FULL' && this.#cannotHold(input)
    if (error === null ? !this.#waitsBehind(input.uuid) : error.code !== 'DISK_FULL') return false
    this.#kept.push(input)
    this.#behind.add(input.uuid)
    this.#begin()
    if (input.type !== 'boot') this.#holdAll()
    return true
  }

  /** At a start: what an earlier daemon held for want of room goes on as soon as there is some. */
  async lookForRoom(): Promise<void> {
    if (await this.#parts.store.restoreReserve()) this.#parts.submit({ type: 'release', uuid: null, reason: 'disk-full' })
    else this.#begin()
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

  #begin(): void {
    if (this.#isFull) return
    this.#isFull = true
    this.#parts.log('the disk is full: what runs is held until there is room', null)
    this.#retryLater()
  }

  /** All that run, with one commit: what the reserve gives is for their holds, and not for the work of those that go on. */
  #holdAll(): void {
    this.#parts.store.releaseReserve().then(
      () => {
        if (!this.#isFull) return
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
      this.#parts.store.restoreReserve().then(
        (restored) => (restored ? this.#end() : this.#retryLater()),
        () => this.#retryLater(),
      )
    })
  }

  #end(): void {
    const kept = this.#kept
    this.#kept = []
    this.#behind.clear()
    this.#isFull = false
    this.#held.clear()
    this.#parts.log('there is room on the disk again', null)
    for (const input of kept) this.#parts.submit(input)
    this.#parts.submit({ type: 'release', uuid: null, reason: 'disk-full' })
  }
}
