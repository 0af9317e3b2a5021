// The store's contract: one store holds everything, and its functions are asynchronous from the first line.
// Owns what a commit is; sqlite.ts keeps it. Nothing else writes. Tests: test/tables/store.test.ts, test/processes/store-faults.test.ts.
import type { StoredFact } from '../kernel/facts.ts'
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

export interface Loaded {
  readonly counters: Counters
  /** live and suspended processes and zombies; never the dead */
  readonly processes: readonly Process[]
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
}

export interface Store extends AsyncDisposable {
  /** One transaction, durable when it resolves. Errors: `DISK_FULL`, `READ_ONLY`, `STORE_LOCKED`, `STORE_DAMAGED`; then nothing was written. */
  commit(commit: Commit): Promise<void>
  load(): Promise<Loaded>
  /** a process, dead or alive, as the last commit left it */
  process(uuid: Uuid): Promise<Process | undefined>
  dead(query: DeadQuery): Promise<readonly Process[]>
  /** UUIDs of processes, dead or alive, for a reference: exact PID, exact name (newest first), UUID prefix or suffix of at least 4 digits. At most 20. */
  find(ref: string): Promise<readonly Uuid[]>
  /** a page of one process's facts in order, after `afterSeq`; here as in `tail` and `since` a page shorter than its limit is the last */
  facts(uuid: Uuid, afterSeq: number, limit: number): Promise<readonly StoredFact[]>
  /** a page of the last facts of one process (before the fact `beforeSeq`), in order; `types` narrows it */
  tail(uuid: Uuid, limit: number, types?: readonly string[], beforeSeq?: number): Promise<readonly StoredFact[]>
  /** a page of all facts in the order of the store; those of removed processes are passed over, so that cursors have gaps */
  since(query: FactQuery): Promise<readonly StoredFact[]>
  /**
   * Removes a dead process: when it resolves the process is gone for every reader, for good, and its tombstone answers.
   * Its facts and long texts go later, by `sweep`. False if there is no such process. Errors: `CONFLICT` if it is not dead.
   */
  remove(uuid: Uuid, at: number): Promise<boolean>
  /** Does one bounded piece of what removals have left to do, and gives back room; false when nothing is left. */
  sweep(): Promise<boolean>
  /** the removed process that a reference means, in the order of `find`; the newest of several */
  tombstone(ref: string): Promise<Tombstone | undefined>
  /** Gives up the reserve file so that one more commit fits on a full disk; false if there is none left. */
  releaseReserve(): Promise<boolean>
  /** Makes the reserve file again; false while there is no room for it. */
  restoreReserve(): Promise<boolean>
  /** Integrity check for `doctor`: a line per damage with its place; empty when sound. */
  verify(): Promise<readonly string[]>
}
