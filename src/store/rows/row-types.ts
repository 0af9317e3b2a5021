// The rows of the store's tables, as both engines read and write them. Their checksums must be checked before a row is used.
// Test: test/tables/store/store.test.ts.

/** A row of `processes` as it was read. Its `sum` must be checked before the row is used. */
export interface ProcessRow {
  readonly key: number
  readonly uuid: string
  readonly pid: number
  readonly name: string | null
  readonly live: number
  readonly exited_at: number | null
  readonly spec_seq: number
  readonly spec_cursor: number
  readonly seq: number
  readonly open: string
  readonly sum: number
  readonly body: string
  readonly forked_from: string | null
  readonly origin: number | null
  readonly base: number
  readonly pinned: number
}

/** A row of `kept`. */
export interface KeptRow {
  readonly key: number
  readonly uuid: string
  readonly origin: number | null
  readonly base: number
  readonly upto: number
  readonly sum: number
}

/** A row of `tombstones`. */
export interface TombstoneRow {
  readonly uuid: string
  readonly pid: number
  readonly name: string | null
  readonly removed_at: number
  readonly sum: number
  readonly forked_from: string | null
}

/** A row of `spenders`. */
export interface SpenderRow {
  readonly id: number
  readonly uuid: string
  readonly agent: string
  readonly root: number
  readonly seq: number
  readonly state: string
  readonly sum: number
}

/** A row of `spent`. */
export interface SpentColumns {
  readonly spender: number
  readonly hour: number
  readonly model: string
  readonly steps: number
  readonly input: number
  readonly output: number
  readonly cache_read: number
  readonly cache_write: number
  readonly usd: number
  readonly marks: number
  readonly sum: number
}

/** A row of `journal`. */
export interface FactRow {
  readonly cursor: number
  readonly process: number
  readonly seq: number
  readonly pid: number
  readonly at: number
  readonly type: number
  readonly sum: number
  readonly body: string
  readonly refs: string | null
  readonly moment: string | null
}

/** A row of `journal` with the UUID of its process; null if there is no such process. */
export interface OwnedFactRow extends FactRow {
  readonly uuid: string | null
}
