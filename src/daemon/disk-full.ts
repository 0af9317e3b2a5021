// A full disk: what cannot be written is kept and comes again, its process is held with the reason, nothing new starts.
// Owns the kept inputs and the reserve: 4 MB are given up so that the hold itself fits, and are taken back first when
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
  readonly submit: (input: InputBody) => void
  readonly log: (message: string, error: unknown) => void
}

export class DiskFull {
  readonly #parts: DiskFullParts
  #kept: InputBody[] = []
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

  /** Keeps what a driver reported, or the kernel itself wanted; a request of a person is refused instead. */
  keep(input: InputBody, error: KernelError): boolean {
    if (error.code !== 'DISK_FULL' || ('reply' in input && input.type !== 'report')) return false
    if (input.type === 'hold' || input.type === 'tick') return true
    this.#kept.push(input)
    this.#begin()
    if ('uuid' in input && input.uuid !== null) this.#hold(input.uuid)
    return true
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

  #hold(uuid: Uuid): void {
    if (this.#held.has(uuid)) return
    this.#held.add(uuid)
    this.#parts.store.releaseReserve().then(
      () => this.#parts.submit({ type: 'hold', uuid, reason: 'disk-full' }),
      (error: unknown) => this.#parts.log('the reserve cannot be given up', error),
    )
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
    this.#isFull = false
    this.#held.clear()
    this.#parts.log('there is room on the disk again', null)
    for (const input of kept) this.#parts.submit(input)
    this.#parts.submit({ type: 'release', uuid: null, reason: 'disk-full' })
  }
}
