// Lines: what a process's journal is made of. Its own facts come after `base`; those up to it belong to what it was forked from,
// and so on up. A line never changes, whoever of it is removed, so that a bounded number of them is remembered.
// Owns who has which fact; must never read a fact. Tests: test/tables/store-fork.test.ts, test/properties/store.test.ts.
import type { Uuid } from '../kernel/types.ts'
import { damaged } from './errors.ts'
import { checkRow, findKept, findRow } from './records.ts'
import type { KeptRow, ProcessRow, Statements } from './statements.ts'

/** Origins that are remembered. */
const LINKS = 1_024

/** Who has the facts after `base`, and what goes before them. */
export interface Link {
  readonly key: number
  readonly uuid: Uuid
  readonly base: number
  readonly origin: Link | null
}

/** The facts of a link from its `base` to `upto`. `open`: the block of places that is not full, of a process that ends here. */
export interface Span {
  readonly link: Link
  readonly upto: number
  readonly open: string | null
}

/** Where a process stands in the journal. */
export interface Owner {
  readonly key: number
  readonly uuid: Uuid
  readonly origin: number | null
  readonly base: number
  readonly seq: number
  readonly open: string
}

/** What knows of processes whose row is behind. */
interface Latecomers {
  late(uuid: Uuid): Owner | undefined
}

type Row = ProcessRow | KeptRow

export class Lines {
  readonly #sql: Statements
  readonly #heads: Latecomers
  readonly #known = new Map<number, Link>()

  constructor(sql: Statements, heads: Latecomers) {
    this.#sql = sql
    this.#heads = heads
  }

  /** The last part of the journal of a process that is there. */
  find(uuid: Uuid): Span | undefined {
    const owner = this.owner(uuid)
    return owner && this.of(owner)
  }

  /** Where a process stands: its head while its row is behind, else its row. */
  owner(uuid: Uuid): Owner | undefined {
    return this.#heads.late(uuid) ?? findRow(this.#sql, uuid)
  }

  of({ key, uuid, origin, base, seq, open }: Owner): Span {
    return { link: { key, uuid, base, origin: origin === null ? null : this.link(origin, { uuid, base }) }, upto: seq, open }
  }

  /** A process or a removed one, by its key, for somebody that was forked from it after the fact `base`. */
  link(key: number, fork: Pick<Row, 'uuid' | 'base'>): Link {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const first = this.#row(key, fork)
    const between: Row[] = []
    let top = first.origin
    for (let last = first; top !== null && !this.#known.has(top); top = last.origin) {
      last = this.#row(top, last)
      between.push(last)
    }
    let origin = top === null ? null : (this.#known.get(top) ?? null)
    for (const row of between.toReversed()) origin = this.#remember(row, origin)
    return this.#remember(first, origin)
  }

  /** A base falls on the way up, so that the way ends. */
  #row(key: number, fork: Pick<Row, 'uuid' | 'base'>): Row {
    const row = this.#sql.processOf.get(key) as ProcessRow | undefined
    const found = row === undefined ? findKept(this.#sql, key) : checkRow(row)
    const what = found === undefined ? 'is missing' : 'begins after it'
    if (found === undefined || found.base >= fork.base) throw damaged({ table: 'processes', uuid: fork.uuid }, `its origin ${key} ${what}`)
    return found
  }

  #remember({ key, uuid, base }: Row, origin: Link | null): Link {
    const link: Link = { key, uuid, base, origin }
    this.#known.set(key, link)
    const oldest = this.#known.size > LINKS ? this.#known.keys().next().value : undefined
    if (oldest !== undefined) this.#known.delete(oldest)
    return link
  }
}

/** The parts of a journal that hold the facts from `first` to `last`, in order. */
export function spansOf(own: Span, first: number, last: number): Span[] {
  const found: Span[] = []
  for (let span: Span | null = own; span !== null && span.upto >= first; span = spanBefore(span)) {
    if (span.link.base < last) found.push(span)
  }
  return found.reverse()
}

/** What goes before the facts of a span. */
export function spanBefore({ link: { origin, base } }: Span): Span | null {
  return origin === null ? null : { link: origin, upto: base, open: null }
}
