// A store with injected faults: commits that fail, commits that wait, and a full disk. Everything else goes to the real store. The
// disk reserve is simulated, so that each run of a test is the same.
import { KernelError } from '../../../src/kernel/model/errors.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import type { CollectableQuery, Commit, DeadQuery, FactQuery, HomeStore, Staging } from '../../../src/store/store.ts'

interface StoredCommit extends Commit {
  readonly facts: readonly StoredFact[]
}

export class FaultyStore implements HomeStore {
  readonly #inner: HomeStore
  /** the number of attempted commits, including failed ones */
  attempts = 0
  /** the commits that succeeded, with the cursors of their facts */
  readonly commits: StoredCommit[] = []
  /** decides the error of a commit; null lets it succeed */
  fault: (commit: Commit, number: number) => KernelError | null = () => null
  isFull = false
  hasReserve = true
  /** the number of parts in which the reserve is released */
  reserveParts = 1
  /** the number of further commits that fit on the full disk */
  remainingCommits = 0
  #heldCommits: PromiseWithResolvers<void> | null = null

  constructor(inner: HomeStore) {
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

  home(): ReturnType<HomeStore['home']> {
    return this.#inner.home()
  }

  async commit(commit: Commit): ReturnType<HomeStore['commit']> {
    this.attempts += 1
    const number = this.attempts
    await this.#heldCommits?.promise
    const fault = this.#fullDiskError() ?? this.fault(commit, number)
    if (fault) throw fault
    const facts = await this.#inner.commit(commit)
    this.commits.push({ ...commit, facts })
    return facts
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
  async since(query: FactQuery): ReturnType<HomeStore['since']> {
    const page = await this.#inner.since(query)
    await this.#heldCommits?.promise
    return page
  }

  filteredFacts(...page: Parameters<HomeStore['filteredFacts']>): ReturnType<HomeStore['filteredFacts']> {
    return this.#inner.filteredFacts(...page)
  }
  load(from?: number): ReturnType<HomeStore['load']> {
    return this.#inner.load(from)
  }
  finishStart(): ReturnType<HomeStore['finishStart']> {
    return this.#inner.finishStart()
  }
  process(uuid: string): ReturnType<HomeStore['process']> {
    return this.#inner.process(uuid)
  }
  dead(query: DeadQuery): ReturnType<HomeStore['dead']> {
    return this.#inner.dead(query)
  }
  find(ref: string): ReturnType<HomeStore['find']> {
    return this.#inner.find(ref)
  }
  facts(...args: Parameters<HomeStore['facts']>): ReturnType<HomeStore['facts']> {
    return this.#inner.facts(...args)
  }
  tail(...args: Parameters<HomeStore['tail']>): ReturnType<HomeStore['tail']> {
    return this.#inner.tail(...args)
  }
  stepBounds(uuid: string, step: number): ReturnType<HomeStore['stepBounds']> {
    return this.#inner.stepBounds(uuid, step)
  }
  forks(uuid: string): ReturnType<HomeStore['forks']> {
    return this.#inner.forks(uuid)
  }
  removedForks(uuid: string): ReturnType<HomeStore['removedForks']> {
    return this.#inner.removedForks(uuid)
  }
  collectable(query: CollectableQuery): ReturnType<HomeStore['collectable']> {
    return this.#inner.collectable(query)
  }
  size(): ReturnType<HomeStore['size']> {
    return this.#inner.size()
  }
  updateUsageLedger(): ReturnType<HomeStore['updateUsageLedger']> {
    return this.#inner.updateUsageLedger()
  }
  usageRows(...page: Parameters<HomeStore['usageRows']>): ReturnType<HomeStore['usageRows']> {
    return this.#inner.usageRows(...page)
  }
  countUnownedUsage(): ReturnType<HomeStore['countUnownedUsage']> {
    return this.#inner.countUnownedUsage()
  }
  remove(uuid: string, at: number): ReturnType<HomeStore['remove']> {
    return this.#inner.remove(uuid, at)
  }
  stage(): Staging {
    return this.#inner.stage()
  }

  beginRun(at: number): ReturnType<HomeStore['beginRun']> {
    return this.#inner.beginRun(at)
  }
  endRun(): ReturnType<HomeStore['endRun']> {
    return this.#inner.endRun()
  }
  trustedTime(): ReturnType<HomeStore['trustedTime']> {
    return this.#inner.trustedTime()
  }
  trustTime(at: number): ReturnType<HomeStore['trustTime']> {
    return this.#inner.trustTime(at)
  }
  seenUntil(at: number): ReturnType<HomeStore['seenUntil']> {
    return this.#inner.seenUntil(at)
  }
  notifiedUpTo(channel: string): ReturnType<HomeStore['notifiedUpTo']> {
    return this.#inner.notifiedUpTo(channel)
  }
  setNotifiedUpTo(channel: string, cursor: number): ReturnType<HomeStore['setNotifiedUpTo']> {
    return this.#inner.setNotifiedUpTo(channel, cursor)
  }
  sweep(): ReturnType<HomeStore['sweep']> {
    return this.#inner.sweep()
  }
  tombstone(ref: string): ReturnType<HomeStore['tombstone']> {
    return this.#inner.tombstone(ref)
  }
  verify(): ReturnType<HomeStore['verify']> {
    return this.#inner.verify()
  }
  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]()
  }
}
