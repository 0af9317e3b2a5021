// What the writer knows of processes: where each stands in the journal and what its row says. A bounded memory over the rows.
// A head can be ahead of its row (`late`): the row is a cache of the fold, and is written with every fact but those of a step.
// Test: test/properties/store.test.ts.
import type { Process, Uuid } from '../kernel/types.ts'
import { damaged } from './errors.ts'
import { parseBlock } from './places.ts'
import { findRow } from './records.ts'
import type { Statements } from './statements.ts'

/** Processes whose heads are remembered; the head of another is read again. Late ones are kept above this number. */
const HEADS = 1_024

/** What the row says now in the columns that have an index, and its `seq`, which is the fence. */
export interface Stored {
  readonly seq: number
  readonly pid: number
  readonly name: string | null
  readonly live: number
  readonly exitedAt: number | null
  readonly specSeq: number
  readonly pinned: number
}

export interface Head {
  readonly key: number
  readonly uuid: Uuid
  readonly forkedFrom: Uuid | null
  /** who has the facts up to `base`: its own come after that */
  readonly origin: number | null
  readonly base: number
  readonly seq: number
  /** the block of places that is not full yet */
  readonly open: string
  readonly lastCursor: number
  readonly specSeq: number
  readonly specCursor: number
  /** null for a process that has no row yet */
  readonly stored: Stored | null
  /** the process as the last commit left it, while its row is behind */
  readonly late: Process | null
}

export class Heads {
  readonly #sql: Statements
  readonly #known = new Map<Uuid, Head>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  get(uuid: Uuid): Head | undefined {
    return this.#known.get(uuid) ?? readHead(this.#sql, uuid)
  }

  /** The head of a process whose row is behind. */
  late(uuid: Uuid): (Head & { readonly late: Process }) | undefined {
    const head = this.#known.get(uuid)
    return head !== undefined && isLate(head) ? head : undefined
  }

  allLate(): (Head & { readonly late: Process })[] {
    return [...this.#known.values()].filter(isLate)
  }

  /** For a process that was removed. */
  forget(uuid: Uuid): void {
    this.#known.delete(uuid)
  }

  /** Remembers them as the last ones used. The order says who is forgotten first: while there is much room it is not kept. */
  put(heads: readonly Head[]): void {
    for (const head of heads) {
      if (this.#known.size > HEADS / 2) this.#known.delete(head.uuid)
      this.#known.set(head.uuid, head)
    }
    if (this.#known.size <= HEADS) return
    for (const [uuid, head] of this.#known) {
      if (this.#known.size <= HEADS) return
      if (head.late === null) this.#known.delete(uuid)
    }
  }
}

function isLate(head: Head): head is Head & { readonly late: Process } {
  return head.late !== null
}

function readHead(sql: Statements, uuid: Uuid): Head | undefined {
  const row = findRow(sql, uuid)
  if (row === undefined) return undefined
  const { key, seq, base, origin, pid, name, live, open, pinned, exited_at: exitedAt, spec_seq: specSeq, spec_cursor: specCursor, forked_from: forkedFrom } = row
  const entries = parseBlock(open, 1)
  if (entries === undefined) throw damaged({ table: 'processes', uuid }, 'its block of places is not what was written')
  const lastCursor = entries.at(-1)?.cursor ?? 0
  const stored: Stored = { seq, pid, name, live, exitedAt, specSeq, pinned }
  return { key, uuid, forkedFrom, origin, base, seq, open, lastCursor, specSeq, specCursor, stored, late: null }
}
