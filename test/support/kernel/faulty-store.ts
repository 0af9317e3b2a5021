// A store with injected faults: commits that fail, commits that wait, and a full disk. Everything else goes to the real store. The
// disk reserve is simulated, so that each run of a test is the same.
import { KernelError } from '../../../src/kernel/model/errors.ts'
import type { CollectableQuery, Commit, DeadQuery, FactQuery, Staging, Store } from '../../../src/store/store.ts'

export class FaultyStore implements Store {
  readonly #inner: Store
  /** the number of attempted commits, including failed ones */
  attempts = 0
  readonly commits: Commit[] = []
  /** decides the error of a commit; null lets it succeed */
  fault: (commit: Commit, number: number) => KernelError | null = () => null
  isFull = false
  hasReserve = true
  /** the number of parts in which the reserve is released */
  reserveParts = 1
  /** the number of further commits that fit on the full disk */
  remainingCommits = 0
  #heldCommits: PromiseWithResolvers<void> | null = null

  constructor(inner: Store) {
    this.#inner = inner
  }

  /** Makes commits wait until `releaseCommits` is called. */
  holdCommits(): void {
    this.#heldCommits ??= Promise.withResolvers()
  }

  releaseCommits(): void {
    this.#heldCommits?.resolve()
    this.#heldCommits = null
  }

  get isHolding(): boolean {
    return this.#heldCommits !== null
  }

  home(): ReturnType<Store['home']> {
    return this.#inner.home()
  }

  async commit(commit: Commit): Promise<void> {
    this.attempts += 1
    const number = this.attempts
    await this.#heldCommits?.promise
    const fault = this.#fullDiskError() ?? this.fault(commit, number)
    if (fault) throw fault
    await this.#inner.commit(commit)
    this.commits.push(commit)
  }

  #fullDiskError(): KernelError | null {
    if (!this.isFull) return null
    this.remainingCommits -= 1
    return this.remainingCommits >= 0 ? null : new KernelError('DISK_FULL', 'no space left on device')
  }

  async releaseReserve(): Promise<boolean> {
    if (!this.hasReserve) return false
    this.reserveParts -= 1
    this.hasReserve = this.reserveParts > 0
    this.remainingCommits = 1
    return true
  }

  async restoreReserve(): Promise<boolean> {
    if (this.isFull) return false
    this.hasReserve = true
    return true
  }

  /** Reads wait like commits, so that facts can be published while a page is being read. */
  async since(query: FactQuery): ReturnType<Store['since']> {
    const page = await this.#inner.since(query)
    await this.#heldCommits?.promise
    return page
  }

  filteredFacts(...page: Parameters<Store['filteredFacts']>): ReturnType<Store['filteredFacts']> {
    return this.#inner.filteredFacts(...page)
  }
  load(from?: number): ReturnType<Store['load']> {
    return this.#inner.load(from)
  }
  finishStart(): ReturnType<Store['finishStart']> {
    return this.#inner.finishStart()
  }
  process(uuid: string): ReturnType<Store['process']> {
    return this.#inner.process(uuid)
  }
  dead(query: DeadQuery): ReturnType<Store['dead']> {
    return this.#inner.dead(query)
  }
  find(ref: string): ReturnType<Store['find']> {
    return this.#inner.find(ref)
  }
  facts(...args: Parameters<Store['facts']>): ReturnType<Store['facts']> {
    return this.#inner.facts(...args)
  }
  tail(...args: Parameters<Store['tail']>): ReturnType<Store['tail']> {
    return this.#inner.tail(...args)
  }
  stepBounds(uuid: string, step: number): ReturnType<Store['stepBounds']> {
    return this.#inner.stepBounds(uuid, step)
  }
  forks(uuid: string): ReturnType<Store['forks']> {
    return this.#inner.forks(uuid)
  }
  removedForks(uuid: string): ReturnType<Store['removedForks']> {
    return this.#inner.removedForks(uuid)
  }
  collectable(query: CollectableQuery): ReturnType<Store['collectable']> {
    return this.#inner.collectable(query)
  }
  size(): ReturnType<Store['size']> {
    return this.#inner.size()
  }
  updateUsageLedger(): ReturnType<Store['updateUsageLedger']> {
    return this.#inner.updateUsageLedger()
  }
  usageRows(...page: Parameters<Store['usageRows']>): ReturnType<Store['usageRows']> {
    return this.#inner.usageRows(...page)
  }
  countUnownedUsage(): ReturnType<Store['countUnownedUsage']> {
    return this.#inner.countUnownedUsage()
  }
  remove(uuid: string, at: number): ReturnType<Store['remove']> {
    return this.#inner.remove(uuid, at)
  }
  stage(): Staging {
    return this.#inner.stage()
  }

  beginRun(at: number): ReturnType<Store['beginRun']> {
    return this.#inner.beginRun(at)
  }
  endRun(): ReturnType<Store['endRun']> {
    return this.#inner.endRun()
  }
  trustedTime(): ReturnType<Store['trustedTime']> {
    return this.#inner.trustedTime()
  }
  trustTime(at: number): ReturnType<Store['trustTime']> {
    return this.#inner.trustTime(at)
  }
  seenUntil(at: number): ReturnType<Store['seenUntil']> {
    return this.#inner.seenUntil(at)
  }
  notifiedUpTo(channel: string): ReturnType<Store['notifiedUpTo']> {
    return this.#inner.notifiedUpTo(channel)
  }
  setNotifiedUpTo(channel: string, cursor: number): ReturnType<Store['setNotifiedUpTo']> {
    return this.#inner.setNotifiedUpTo(channel, cursor)
  }
  sweep(): ReturnType<Store['sweep']> {
    return this.#inner.sweep()
  }
  tombstone(ref: string): ReturnType<Store['tombstone']> {
    return this.#inner.tombstone(ref)
  }
  verify(): ReturnType<Store['verify']> {
    return this.#inner.verify()
  }
  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]()
  }
}
