// A store with faults at hand: commits that fail, commits that wait, and a disk that is full. All else goes to the real one.
// The reserve is a word here and no file, so that a test is the same each time it runs.
import { KernelError } from '../../../src/kernel/errors.ts'
import type { CollectableQuery, Commit, DeadQuery, FactQuery, Staging, Store } from '../../../src/store/store.ts'

export class FaultyStore implements Store {
  readonly #inner: Store
  /** commits that were tried, the failed ones too */
  tried = 0
  readonly commits: Commit[] = []
  /** why this commit fails; null if it does not */
  fault: (commit: Commit, number: number) => KernelError | null = () => null
  isFull = false
  hasReserve = true
  /** commits that fit although the disk is full */
  spare = 0
  #held: PromiseWithResolvers<void> | null = null

  constructor(inner: Store) {
    this.#inner = inner
  }

  /** From now on commits wait until `letGo`. */
  hold(): void {
    this.#held ??= Promise.withResolvers()
  }

  letGo(): void {
    this.#held?.resolve()
    this.#held = null
  }

  get isHolding(): boolean {
    return this.#held !== null
  }

  async commit(commit: Commit): Promise<void> {
    this.tried += 1
    const number = this.tried
    await this.#held?.promise
    const fault = this.#outOfRoom() ?? this.fault(commit, number)
    if (fault) throw fault
    await this.#inner.commit(commit)
    this.commits.push(commit)
  }

  #outOfRoom(): KernelError | null {
    if (!this.isFull) return null
    this.spare -= 1
    return this.spare >= 0 ? null : new KernelError('DISK_FULL', 'no space left on device')
  }

  async releaseReserve(): Promise<boolean> {
    if (!this.hasReserve) return false
    this.hasReserve = false
    this.spare = 1
    return true
  }

  async restoreReserve(): Promise<boolean> {
    if (this.isFull) return false
    this.hasReserve = true
    return true
  }

  /** Reads wait with the commits, so that facts are published while a page is on its way. */
  async since(query: FactQuery): ReturnType<Store['since']> {
    const page = await this.#inner.since(query)
    await this.#held?.promise
    return page
  }

  skim(...page: Parameters<Store['skim']>): ReturnType<Store['skim']> { return this.#inner.skim(...page) }
  load(from?: number): ReturnType<Store['load']> { return this.#inner.load(from) }
  started(): ReturnType<Store['started']> { return this.#inner.started() }
  process(uuid: string): ReturnType<Store['process']> { return this.#inner.process(uuid) }
  dead(query: DeadQuery): ReturnType<Store['dead']> { return this.#inner.dead(query) }
  find(ref: string): ReturnType<Store['find']> { return this.#inner.find(ref) }
  facts(...args: Parameters<Store['facts']>): ReturnType<Store['facts']> { return this.#inner.facts(...args) }
  tail(...asked: Parameters<Store['tail']>): ReturnType<Store['tail']> { return this.#inner.tail(...asked) }
  stepBounds(uuid: string, step: number): ReturnType<Store['stepBounds']> { return this.#inner.stepBounds(uuid, step) }
  forks(uuid: string): ReturnType<Store['forks']> { return this.#inner.forks(uuid) }
  removedForks(uuid: string): ReturnType<Store['removedForks']> { return this.#inner.removedForks(uuid) }
  collectable(query: CollectableQuery): ReturnType<Store['collectable']> { return this.#inner.collectable(query) }
  size(): ReturnType<Store['size']> { return this.#inner.size() }
  account(): ReturnType<Store['account']> { return this.#inner.account() }
  spent(...page: Parameters<Store['spent']>): ReturnType<Store['spent']> { return this.#inner.spent(...page) }
  remove(uuid: string, at: number): ReturnType<Store['remove']> { return this.#inner.remove(uuid, at) }
  stage(): Staging { return this.#inner.stage() }

  beginLife(at: number): ReturnType<Store['beginLife']> { return this.#inner.beginLife(at) }
  endLife(): ReturnType<Store['endLife']> { return this.#inner.endLife() }
  sweep(): ReturnType<Store['sweep']> { return this.#inner.sweep() }
  tombstone(ref: string): ReturnType<Store['tombstone']> { return this.#inner.tombstone(ref) }
  verify(): ReturnType<Store['verify']> { return this.#inner.verify() }
  [Symbol.asyncDispose](): PromiseLike<void> { return this.#inner[Symbol.asyncDispose]() }
}
