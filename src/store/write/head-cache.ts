// Caches the heads of processes. A head is the position of a process in the journal and the indexed columns of its row. The cache
// is limited. A row may be out of date (`pending`), because facts of a step do not write the row at once.
// Test: test/properties/store.test.ts.
import type { Process } from '../../kernel/model/process.ts'
import { damageError } from '../errors.ts'
import { parseBlock } from '../journal/fact-index.ts'
import { findRow } from '../rows/row-lookup.ts'
import type { Statements } from '../statements.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The number of heads that are cached; other heads are read again. Heads of rows that are out of date are kept beyond this limit. */
const MAX_HEADS = 1_024

/** The indexed columns of the stored row, and its `seq`, which guards an update against another writer. */
export interface Stored {
  readonly seq: number
  readonly pid: number
  readonly name: string | null
  readonly live: number
  readonly exitedAt: number | null
  readonly specSeq: number
  readonly pinned: number
}

/** The position of a process in the journal. */
export interface Head {
  readonly key: number
  readonly uuid: Uuid
  readonly forkedFrom: Uuid | null
  /** key of the process that has the fact `base`; the process's own facts come after it */
  readonly origin: number | null
  readonly base: number
  readonly seq: number
  /** the text of the open block of the index */
  readonly open: string
  readonly lastCursor: number
  readonly specSeq: number
  readonly specCursor: number
  /** the stored row; null for a process that has no row yet */
  readonly stored: Stored | null
  /** the process as of the last commit, while its row is out of date; null otherwise */
  readonly pending: Process | null
}

export class HeadCache {
  readonly #sql: Statements
  readonly #heads = new Map<Uuid, Head>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  get(uuid: Uuid): Head | undefined {
    return this.#heads.get(uuid) ?? readHead(this.#sql, uuid)
  }

  /** Returns the head of a process whose row is out of date; undefined if the row is up to date. */
  pendingHead(uuid: Uuid): (Head & { readonly pending: Process }) | undefined {
    const head = this.#heads.get(uuid)
    return head !== undefined && isPending(head) ? head : undefined
  }

  /** Returns the heads of all processes whose rows are out of date. */
  pendingHeads(): (Head & { readonly pending: Process })[] {
    return [...this.#heads.values()].filter(isPending)
  }

  /** Removes the head of a removed process from the cache. */
  forget(uuid: Uuid): void {
    this.#heads.delete(uuid)
  }

  /**
   * Caches the heads as the most recently used ones. The order decides which heads are dropped first; it is not maintained while the
   * cache is half empty.
   */
  put(heads: readonly Head[]): void {
    for (const head of heads) {
      if (this.#heads.size > MAX_HEADS / 2) this.#heads.delete(head.uuid)
      this.#heads.set(head.uuid, head)
    }
    if (this.#heads.size <= MAX_HEADS) return
    for (const [uuid, head] of this.#heads) {
      if (this.#heads.size <= MAX_HEADS) return
      if (head.pending === null) this.#heads.delete(uuid)
    }
  }
}

function isPending(head: Head): head is Head & { readonly pending: Process } {
  return head.pending !== null
}

function readHead(sql: Statements, uuid: Uuid): Head | undefined {
  const row = findRow(sql, uuid)
  if (row === undefined) return undefined
  const {
    key,
    seq,
    base,
    origin,
    pid,
    name,
    live,
    open,
    pinned,
    exited_at: exitedAt,
    spec_seq: specSeq,
    spec_cursor: specCursor,
    forked_from: forkedFrom,
  } = row
  const entries = parseBlock(open, 1)
  if (entries === undefined) throw damageError({ table: 'processes', uuid }, 'its open block is damaged')
  const lastCursor = entries.at(-1)?.cursor ?? 0
  const stored: Stored = { seq, pid, name, live, exitedAt, specSeq, pinned }
  return { key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor, stored, pending: null }
}
