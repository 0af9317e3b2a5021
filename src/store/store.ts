// The store's contract: one store holds everything, and its functions are asynchronous from the first line.
// Owns what a commit is; sqlite.ts keeps it. Nothing else writes. Tests: test/tables/store.test.ts, test/processes/store-faults.test.ts.
import type { FactMark, Skim, StoredFact } from '../kernel/facts.ts'
import type { Process, Uuid } from '../kernel/types.ts'

/** Counters that are raised in the transaction that uses them and never lowered. */
export interface Counters {
  /** the last PID that was given out */
  readonly pid: number
  /** the last cursor that was given out */
  readonly cursor: number
}

/** All that one transaction writes: facts in order, the processes as they are after them, the counters. */
export interface Commit {
  readonly facts: readonly StoredFact[]
  readonly processes: readonly Process[]
  readonly counters: Counters
}

/** A page of those that are not dead. */
export interface Loaded {
  readonly counters: Counters
  /** live and suspended processes and zombies; never the dead */
  readonly processes: readonly Process[]
  /** where the next page begins; absent: this is the last */
  readonly next?: number
}

/** What to list of the dead; newest first. */
export interface DeadQuery {
  readonly limit: number
  /** list those with a smaller (older) `exitedAt`, then `uuid`; from the last row of the page before */
  readonly before?: { readonly exitedAt: number; readonly uuid: Uuid }
}

export interface FactQuery {
  readonly afterCursor: number
  readonly limit: number
  readonly uuid?: Uuid
}

/** What is remembered of a process that was removed. */
export interface Tombstone {
  readonly uuid: Uuid
  readonly pid: number
  readonly name: string | null
  /** wall time in ms */
  readonly removedAt: number
  /** of a fork: what it was forked from */
  readonly originUuid: Uuid | null
}

/** What to list of the dead that may be collected; oldest first. */
export interface CollectableQuery {
  readonly limit: number
  /** list those that ended before this wall time in ms; and those that have none, which come first */
  readonly before?: number
  /** from the last row of the page before */
  readonly after?: Pick<Collectable, 'exitedAt' | 'uuid'>
}

/** A dead process that nobody pinned. */
export interface Collectable {
  readonly uuid: Uuid
  readonly pid: number
  readonly name: string | null
  /** wall time in ms */
  readonly exitedAt: number | null
  /** what its own facts take, from its last ones; null where they cannot be read */
  readonly bytes: number | null
  /** why it must not be collected: it cannot be read, or has no time of death */
  readonly warning: string | null
}

export interface StoreSize {
  /** of the file, with what is free in it */
  readonly bytes: number
  readonly freeBytes: number
  /** ended processes that nobody pinned */
  readonly dead: number
}

/** Where a step begins: the first `model.started` of it, and of the step after it (null: there is none). */
export interface StepBounds {
  readonly first: number
  readonly next: number | null
}

/** A journal from outside on its way in. No reader sees anything of it before `publish`; without that nothing of it stays. */
export interface Staging extends AsyncDisposable {
  /** The next facts in order, what a fork goes on from first: one transaction. Their cursors are above all that were given out. */
  add(facts: readonly StoredFact[]): Promise<void>
  /**
   * The process is there with all of its facts, which had all been added; it has ended. Tombstones remember what it goes on from, its
   * own is gone. Raises the PID counter above all of its PIDs. Errors: `CONFLICT` if it is there already.
   */
  publish(process: Process, counters: Counters): Promise<void>
}

/** What one process used in one hour (counted from 1970) of one model; `costUsd` is less than all if it is `unpriced`. */
export interface SpentRow {
  /** its place in the table */
  readonly spender: number
  readonly uuid: Uuid
  readonly agent: string
  /** the first of its line of spawns */
  readonly root: Uuid
  readonly hour: number
  /** '' where nobody said it */
  readonly model: string
  readonly steps: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly costUsd: number
  readonly unpriced: boolean
  readonly estimated: boolean
}

export interface SpentPage {
  readonly limit: number
  /** the last row of the page before */
  readonly after?: Pick<SpentRow, 'spender' | 'hour' | 'model'>
  /** rows of this hour and later */
  readonly sinceHour?: number
}

export interface Store extends AsyncDisposable {
  /**
   * One transaction, durable when it resolves. Errors: `DISK_FULL`, `READ_ONLY`, `STORE_LOCKED`, `STORE_DAMAGED`, and `COLLECTED`
   * for a fork whose origin was removed; then nothing was written.
   */
  commit(commit: Commit): Promise<void>
  load(from?: number): Promise<Loaded>
  /** The start is over. What it reads and writes it does once: until now little of that was remembered. */
  started(): Promise<void>
  /** a process, dead or alive, as the last commit left it */
  process(uuid: Uuid): Promise<Process | undefined>
  dead(query: DeadQuery): Promise<readonly Process[]>
  /** UUIDs of processes, dead or alive, for a reference: exact PID, exact name (newest first), UUID prefix or suffix of at least 4 digits. At most 20. */
  find(ref: string): Promise<readonly Uuid[]>
  /**
   * A page of one process's facts in order, after `afterSeq`; here as in `tail` and `since` a page shorter than its limit is the last.
   * The journal of a fork begins with its origin's facts up to the fork: those come with the UUID of the process that has them.
   */
  facts(uuid: Uuid, afterSeq: number, limit: number): Promise<readonly StoredFact[]>
  /**
   * The same page for who needs less of it. The last fact of a page is there at least as a mark, so that only the end gives an
   * empty one. What is not read is not held against its sum.
   */
  skim(uuid: Uuid, afterSeq: number, limit: number, skim: Skim): Promise<readonly (StoredFact | FactMark)[]>
  /** a page of the last facts of one process (before the fact `beforeSeq`), in order; `types` narrows it */
  tail(uuid: Uuid, limit: number, types?: readonly string[], beforeSeq?: number): Promise<readonly StoredFact[]>
  /** where a step of a process begins, also in what a fork goes on from; null if no model call of it was started */
  stepBounds(uuid: Uuid, step: number): Promise<StepBounds | null>
  /** the forks of a process or of a removed one, newest first; at most 1,000 */
  forks(uuid: Uuid): Promise<readonly Process[]>
  /** the forks of a process or of a removed one that were removed too, those that went last first; at most 1,000 */
  removedForks(uuid: Uuid): Promise<readonly Tombstone[]>
  /** a page of what may be collected */
  collectable(query: CollectableQuery): Promise<readonly Collectable[]>
  size(): Promise<StoreSize>
  /** Takes one bounded piece of what was used since the last time into the table of it; false when all is in there. */
  account(): Promise<boolean>
  /** a page of what all processes have used, the removed ones too, as far as it was taken in */
  spent(page: SpentPage): Promise<readonly SpentRow[]>
  /** a page of all facts in the order of the store, with `uuid` of the process's own ones; those of removed processes are passed over, so that cursors have gaps */
  since(query: FactQuery): Promise<readonly StoredFact[]>
  /**
   * Removes a dead process, whose use is accounted first: when it resolves the process is gone for every reader, for good, and its tombstone answers.
   * Its facts and long texts go later, by `sweep`; those that forks go on from are kept for them until the last fork goes. False if there is no such process. Errors: `CONFLICT` if it is not dead.
   */
  remove(uuid: Uuid, at: number): Promise<boolean>
  /** Begins to take in a journal from outside. */
  stage(): Staging
  /** Does one bounded piece of what removals have left to do, and gives back room; false when nothing is left. */
  sweep(): Promise<boolean>
  /** the removed process that a reference means, in the order of `find`; the newest of several */
  tombstone(ref: string): Promise<Tombstone | undefined>
  /** A daemon begins: gives the wall times in ms at which one was found to have died, newest first, three at most. */
  beginLife(at: number): Promise<readonly number[]>
  /** The daemon ends in good order. */
  endLife(): Promise<void>
  /** Gives up the reserve file so that one more commit fits on a full disk; false if there is none left. */
  releaseReserve(): Promise<boolean>
  /** Makes the reserve file again; false while there is no room for it. */
  restoreReserve(): Promise<boolean>
  /** Integrity check for `doctor`: a line per damage with its place; empty when sound. */
  verify(): Promise<readonly string[]>
}
