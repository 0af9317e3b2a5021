// The contract of the store, which has the facts, processes and usage of a home. All methods but `stage` are asynchronous.
// `Store` is what any engine can keep; `LocalStore` is about the disk and the runs of one daemon. sqlite.ts implements both on one file.
// Tests: test/tables/store/store.test.ts, test/processes/daemon/store-faults.test.ts.
import type { Fact, FactMark, PageFilter, StoredFact } from '../kernel/model/facts.ts'
import type { HomeBook } from '../kernel/model/home.ts'
import type { Process } from '../kernel/model/process.ts'
import type { Pid, Uuid } from '../kernel/model/ids.ts'

/** Counters that never decrease. The store raises them in the transaction that uses them. */
export interface Counters {
  /** the last PID that was assigned */
  readonly pid: number
  /** the last cursor that was assigned */
  readonly cursor: number
}

/**
 * The content of one transaction: facts in order, the processes after these facts, and the last PID. The store gives the facts their
 * cursors.
 */
export interface Commit {
  readonly facts: readonly Fact[]
  readonly processes: readonly Process[]
  /** the last PID that was assigned; a lower one than before changes nothing */
  readonly lastPid: Pid
  /** the account of the home, if it has changed */
  readonly home?: HomeBook
}

/** A page of the processes that are not dead: live processes, suspended processes and zombies. */
export interface LoadedPage {
  readonly counters: Counters
  readonly processes: readonly Process[]
  /** the key at which the next page starts; absent on the last page */
  readonly next?: number
}

/** Which page of the dead processes, newest first. */
export interface DeadQuery {
  readonly limit: number
  /**
   * the last row of the previous page. Only processes after it are listed: those with an older `exitedAt`, or with an equal one
   * and a smaller `uuid`.
   */
  readonly before?: { readonly exitedAt: number; readonly uuid: Uuid }
}

/** Which page of the facts, in the order of the store. */
export interface FactQuery {
  readonly afterCursor: number
  readonly limit: number
  readonly uuid?: Uuid
}

/** The record of a removed process. */
export interface Tombstone {
  readonly uuid: Uuid
  readonly pid: number
  readonly name: string | null
  /** wall time of the removal in ms */
  readonly removedAt: number
  /** the process from which it was forked; null if it is not a fork */
  readonly originUuid: Uuid | null
}

/** Which page of the collectable processes, oldest first. */
export interface CollectableQuery {
  readonly limit: number
  /** lists only processes that ended before this wall time in ms or have no exit time; those without an exit time come first */
  readonly before?: number
  /** the last row of the previous page */
  readonly after?: Pick<Collectable, 'exitedAt' | 'uuid'>
}

/** A dead process that is not pinned. */
export interface Collectable {
  readonly uuid: Uuid
  readonly pid: number
  readonly name: string | null
  /** wall time of the exit in ms; null if unknown */
  readonly exitedAt: number | null
  /** the estimated size of its own facts; null if they cannot be read */
  readonly bytes: number | null
  /** why the process must not be collected: it cannot be read, or has no exit time; null if it may be */
  readonly warning: string | null
}

export interface StoreSize {
  /** size of the file, including its free pages */
  readonly bytes: number
  readonly freeBytes: number
  /** number of dead processes that are not pinned */
  readonly dead: number
}

/** The numbers of the facts at which a step and the step after it begin. */
export interface StepBounds {
  /** the first `model.started` of the step */
  readonly first: number
  /** the first `model.started` of the next step; null if there is none */
  readonly next: number | null
}

/** A journal that is being imported. No reader sees it before `publish`. If `publish` is never called, all of it is removed. */
export interface Staging extends AsyncDisposable {
  /** Adds the next facts in order, in one transaction; the facts of a fork's origins come first. Returns the counters after it. */
  add(facts: readonly Fact[]): Promise<Counters>
  /**
   * Makes the process visible. It must have ended, and all its facts must have been added. Its origins get tombstones; its own tombstone
   * is deleted. The PID counter is raised above all its PIDs. Returns the counters after it. Errors: `CONFLICT` if the process exists.
   */
  publish(process: Process): Promise<Counters>
}

/** The usage of one process in one hour by one model. */
export interface UsageRow {
  /** the key of the process in the ledger */
  readonly spender: number
  readonly uuid: Uuid
  readonly agent: string
  /** the topmost ancestor of the process */
  readonly root: Uuid
  /** hours since 1970 */
  readonly hour: number
  /** the model's name; empty if unknown */
  readonly model: string
  readonly steps: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly costUsd: number
  /** whether some usage has no known price, so that `costUsd` is too low */
  readonly unpriced: boolean
  readonly estimated: boolean
}

/** Which page of the usage ledger, in the order of its keys: spender, hour, model. */
export interface UsageRowsQuery {
  readonly limit: number
  /** the last row of the previous page */
  readonly after?: Pick<UsageRow, 'spender' | 'hour' | 'model'>
  /** lists only rows of this hour and later */
  readonly sinceHour?: number
}

export interface Store extends AsyncDisposable {
  /**
   * Writes one transaction, which is durable when the promise resolves. Returns its facts with their cursors, which are above all earlier
   * ones. Errors: `DISK_FULL`, `READ_ONLY`, `STORE_LOCKED`, `STORE_DAMAGED`, and `COLLECTED` for a fork whose origin was removed. After
   * each of them nothing was written, and nothing will be. `FENCED`: the store is no longer this daemon's. Each later write fails alike, so
   * the caller must stop.
   */
  commit(commit: Commit): Promise<readonly StoredFact[]>
  /** Loads a page of the processes that are not dead. */
  load(from?: number): Promise<LoadedPage>
  /** Returns the account of the home as of the last commit that changed it; null if none did. */
  home(): Promise<HomeBook | null>
  /** Returns a process as of the last commit, whether it has ended or not; undefined if there is none. */
  process(uuid: Uuid): Promise<Process | undefined>
  /** Returns a page of dead processes. */
  dead(query: DeadQuery): Promise<readonly Process[]>
  /**
   * Finds the UUIDs of at most 20 processes by a reference. A reference is an exact PID, including one from before a resume, or an exact
   * name (newest first). It can also be the first or last digits of a UUID, at least 4.
   */
  find(ref: string): Promise<readonly Uuid[]>
  /**
   * Returns a page of one process's facts in order, after the fact `afterSeq`. A page shorter than its limit is the last one.
   * The journal of a fork starts with its origin's facts up to the fork; these facts carry the UUID of the origin.
   */
  facts(uuid: Uuid, afterSeq: number, limit: number): Promise<readonly StoredFact[]>
  /**
   * Like `facts`, but leaves out the facts that `filter` excludes, and does not check them. The last fact of a page is always
   * returned, at least as a mark. Only the end of the journal gives an empty page.
   */
  filteredFacts(uuid: Uuid, afterSeq: number, limit: number, filter: PageFilter): Promise<readonly (StoredFact | FactMark)[]>
  /**
   * Returns a page of the last facts of one process before the fact `beforeSeq`, in order. `types` are the fact types to return; all
   * if absent.
   */
  tail(uuid: Uuid, limit: number, types?: readonly string[], beforeSeq?: number): Promise<readonly StoredFact[]>
  /** Returns where a step of a process begins and ends. The step may be in an origin of a fork. Null if the step has no model call. */
  stepBounds(uuid: Uuid, step: number): Promise<StepBounds | null>
  /** Returns at most 1,000 forks of a process, newest first. The process may have been removed. */
  forks(uuid: Uuid): Promise<readonly Process[]>
  /** Returns at most 1,000 removed forks of a process; the last one removed comes first. The process may have been removed. */
  removedForks(uuid: Uuid): Promise<readonly Tombstone[]>
  /** Returns a page of the processes that garbage collection may remove. */
  collectable(query: CollectableQuery): Promise<readonly Collectable[]>
  size(): Promise<StoreSize>
  /** Counts one limited batch of new facts into the usage ledger. Returns false when the ledger is up to date. */
  updateUsageLedger(): Promise<boolean>
  /** Returns a page of the usage ledger: the counted usage of all processes, including removed ones. */
  usageRows(query: UsageRowsQuery): Promise<readonly UsageRow[]>
  /** Returns the number of ledger rows whose process is unknown. No page contains them. */
  countUnownedUsage(): Promise<number>
  /**
   * Returns a page of all facts in the order of the store, or only of those of `uuid`. Facts of removed processes are missing, so
   * cursors have gaps.
   */
  since(query: FactQuery): Promise<readonly StoredFact[]>
  /**
   * Removes a dead process, after its usage was counted. When the promise resolves, no reader sees the process, and its tombstone
   * is found instead. `sweep` removes its facts and long texts later. Facts that forks need stay until the last of these forks is removed.
   * Returns false if there is no such process. Errors: `CONFLICT` if it is not dead.
   */
  remove(uuid: Uuid, at: number): Promise<boolean>
  /** Starts the import of a journal. */
  stage(): Staging
  /** Does one limited batch of the work that removals have left, and shrinks the file. Returns false when nothing is left to do. */
  sweep(): Promise<boolean>
  /** Returns the tombstone for a reference, resolved in the order of `find`; the newest one of several. */
  tombstone(ref: string): Promise<Tombstone | undefined>
  /** Returns the cursor up to which a notification channel has handled all facts; null if the channel was never used. */
  notifiedUpTo(channel: string): Promise<number | null>
  setNotifiedUpTo(channel: string, cursor: number): Promise<void>
  /** Returns the wall time in ms up to which ends count as seen. `at`: the time of this start, which is not recorded yet. */
  seenUntil(at: number): Promise<number>
}

/**
 * What a daemon keeps on the disk of its own machine, whatever engine has the store. That is the reserve for a full disk, the runs of the
 * daemon, and what it knows of this machine's clock. It also checks the file for damage.
 */
export interface LocalStore {
  /** Must be called at the end of the start: gives the page cache, which is small during the start, its full size. */
  finishStart(): Promise<void>
  /** Records the start of a daemon. Returns the wall times in ms at which crashes were detected, newest first, at most three. */
  beginRun(at: number): Promise<readonly number[]>
  /** Records the orderly end of the daemon. */
  endRun(): Promise<void>
  /** Returns the last wall time in ms that `trustTime` recorded; null if there is none. */
  trustedTime(): Promise<number | null>
  /** Records a wall time at which the clock was known to be right. */
  trustTime(at: number): Promise<void>
  /** Frees a part of the reserve file, so that some more commits fit on a full disk. Returns false if nothing was left to free. */
  releaseReserve(): Promise<boolean>
  /** Restores the full reserve file. Returns false while the disk has no room for it. */
  restoreReserve(): Promise<boolean>
  /** Runs the integrity check of `reeve doctor`. Returns one line per finding, with its location; none if the store is undamaged. */
  verify(): Promise<readonly string[]>
}

/** The store of a home whose daemon is alone: one file has both parts. */
export interface HomeStore extends Store, LocalStore {}
