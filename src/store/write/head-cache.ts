// Caches the heads of processes. A head holds what a commit must know of a process: the end of its journal, and its row as stored.
// The cache is limited. It keeps each head whose row is out of date, with the process that the row lacks (`pendingProcess`).
// Test: test/properties/store.test.ts.
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The limit of the cache; other heads are read again. Heads of rows that are out of date are kept beyond this limit. */
const MAX_HEADS = 1_024

/** The indexed columns of the stored row, and its `seq`, which guards an update against another writer. */
export interface StoredRow {
  readonly seq: number
  readonly pid: number
  readonly name: string | null
  readonly live: number
  readonly exitedAt: number | null
  readonly specSeq: number
  readonly pinned: number
}

/** The end of a process's journal, and its row as stored. Everything but the row is as of the last commit. */
export interface ProcessHead {
  /** the primary key in `processes` */
  readonly key: number
  readonly uuid: Uuid
  /** for a fork: the process that it was forked from */
  readonly forkedFrom: Uuid | null
  /** for a fork: the key of the process that wrote the fact `base` */
  readonly origin: number | null
  /** for a fork: the last fact that it shares with its origin; otherwise 0 */
  readonly base: number
  /** the last fact */
  readonly seq: number
  /** SQLite: the entries of the index block that is not full yet; other engines: empty */
  readonly open: string
  /** the cursor of the last fact */
  readonly lastCursor: number
  /** the fact that set the spec, and its cursor */
  readonly specSeq: number
  readonly specCursor: number
  /** null for a process that has no row yet */
  readonly storedRow: StoredRow | null
  /** the process as of the last commit, while its row is out of date; null otherwise */
  readonly pendingProcess: Process | null
}

export class HeadCache {
  readonly #read: (uuid: Uuid) => ProcessHead | undefined
  readonly #heads = new Map<Uuid, ProcessHead>()

  /** `read` reads a head that is not cached. */
  constructor(read: (uuid: Uuid) => ProcessHead | undefined) {
    this.#read = read
  }

  get(uuid: Uuid): ProcessHead | undefined {
    return this.#heads.get(uuid) ?? this.#read(uuid)
  }

  /** Returns the head of a process whose row is out of date; undefined if the row is up to date. */
  pendingHead(uuid: Uuid): (ProcessHead & { readonly pendingProcess: Process }) | undefined {
    const head = this.#heads.get(uuid)
    return head !== undefined && hasPendingProcess(head) ? head : undefined
  }

  /** Returns the heads of all processes whose rows are out of date. */
  pendingHeads(): (ProcessHead & { readonly pendingProcess: Process })[] {
    return [...this.#heads.values()].filter(hasPendingProcess)
  }

  /** Removes the head of a removed process from the cache. */
  forget(uuid: Uuid): void {
    this.#heads.delete(uuid)
  }

  /**
   * Caches the heads as the most recently used ones. The order decides which heads are dropped first; it is not maintained while the
   * cache is half empty.
   */
  put(heads: readonly ProcessHead[]): void {
    for (const head of heads) {
      if (this.#heads.size > MAX_HEADS / 2) this.#heads.delete(head.uuid)
      this.#heads.set(head.uuid, head)
    }
    if (this.#heads.size <= MAX_HEADS) return
    for (const [uuid, head] of this.#heads) {
      if (this.#heads.size <= MAX_HEADS) return
      if (head.pendingProcess === null) this.#heads.delete(uuid)
    }
  }
}

function hasPendingProcess(head: ProcessHead): head is ProcessHead & { readonly pendingProcess: Process } {
  return head.pendingProcess !== null
}
