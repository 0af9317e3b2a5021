// A lineage is a process's journal together with the journals from which it was forked. A process's own facts come after `base`; the facts
// up to `base` belong to its origin, and so on upwards. A link never changes, even when its process is removed, so a limited number of
// links is cached. Finds which process wrote which fact; must never read a fact.
// Tests: test/tables/store/journal/lineage.test.ts, test/properties/store.test.ts.
import { damageError } from '../errors.ts'
import { checkRow, findKept, findRow } from '../rows/row-lookup.ts'
import type { KeptRow, ProcessRow } from '../rows/row-types.ts'
import type { Statements } from '../statements.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The number of links that are cached. */
const MAX_LINKS = 1_024

/** One process of a lineage: it has the facts after `base`, and its origin has those before. */
export interface LineageLink {
  readonly key: number
  readonly uuid: Uuid
  readonly base: number
  readonly origin: LineageLink | null
}

/** A range of facts of one link: from its `base` to `upto`. */
export interface FactSpan {
  readonly link: LineageLink
  /** the number of the last fact */
  readonly upto: number
  /** the open block of the process's index; null for an origin */
  readonly open: string | null
}

/** The position of a process in the journal, from its cached head or its row. */
export interface JournalPosition {
  readonly key: number
  readonly uuid: Uuid
  readonly origin: number | null
  readonly base: number
  readonly seq: number
  readonly open: string
}

/** Finds the heads of processes whose row is out of date. */
interface PendingHeads {
  pendingHead(uuid: Uuid): JournalPosition | undefined
}

type Row = ProcessRow | KeptRow

export class Lineage {
  readonly #sql: Statements
  readonly #heads: PendingHeads
  readonly #links = new Map<number, LineageLink>()

  constructor(sql: Statements, heads: PendingHeads) {
    this.#sql = sql
    this.#heads = heads
  }

  /** Returns the span of a process's own facts; undefined if there is no such process. */
  find(uuid: Uuid): FactSpan | undefined {
    const owner = this.positionOf(uuid)
    return owner && this.spanOf(owner)
  }

  /** Returns the position of a process: from its head while its row is out of date, otherwise from its row. */
  positionOf(uuid: Uuid): JournalPosition | undefined {
    return this.#heads.pendingHead(uuid) ?? findRow(this.#sql, uuid)
  }

  spanOf({ key, uuid, origin, base, seq, open }: JournalPosition): FactSpan {
    return { link: { key, uuid, base, origin: origin === null ? null : this.linkOf(origin, { uuid, base }) }, upto: seq, open }
  }

  /**
   * Returns the link of a process by its key, even if the process was removed. `fork` is the process that was forked from it, after
   * the fact `fork.base`.
   */
  linkOf(key: number, fork: Pick<Row, 'uuid' | 'base'>): LineageLink {
    const known = this.#links.get(key)
    if (known !== undefined) return known
    const first = this.#readRow(key, fork)
    const rowsBetween: Row[] = []
    let top = first.origin
    for (let last = first; top !== null && !this.#links.has(top); top = last.origin) {
      last = this.#readRow(top, last)
      rowsBetween.push(last)
    }
    let origin = top === null ? null : (this.#links.get(top) ?? null)
    for (const row of rowsBetween.toReversed()) origin = this.#remember(row, origin)
    return this.#remember(first, origin)
  }

  /** Reads the row of an origin. The origin's base must be below the fork's, so that the walk upwards ends. */
  #readRow(key: number, fork: Pick<Row, 'uuid' | 'base'>): Row {
    const row = this.#sql.processOf.get(key) as ProcessRow | undefined
    const found = row === undefined ? findKept(this.#sql, key) : checkRow(row)
    const problem = found === undefined ? 'is missing' : 'starts after it'
    if (found === undefined || found.base >= fork.base)
      throw damageError({ table: 'processes', uuid: fork.uuid }, `its origin ${key} ${problem}`)
    return found
  }

  #remember({ key, uuid, base }: Row, origin: LineageLink | null): LineageLink {
    const link: LineageLink = { key, uuid, base, origin }
    this.#links.set(key, link)
    const oldest = this.#links.size > MAX_LINKS ? this.#links.keys().next().value : undefined
    if (oldest !== undefined) this.#links.delete(oldest)
    return link
  }
}

/** Returns the spans of a journal that contain the facts from `first` to `last`, in order. */
export function spansOf(ownFacts: FactSpan, first: number, last: number): FactSpan[] {
  const found: FactSpan[] = []
  for (let span: FactSpan | null = ownFacts; span !== null && span.upto >= first; span = spanBefore(span)) {
    if (span.link.base < last) found.push(span)
  }
  return found.reverse()
}

/** Returns the span of the origin that precedes a span; null if there is none. */
export function spanBefore({ link: { origin, base } }: FactSpan): FactSpan | null {
  return origin === null ? null : { link: origin, upto: base, open: null }
}
