// Where the facts of a process stand in the journal: blocks of 64 entries, full ones in `places`, the one that grows in the
// process's row. An entry is the distance to the cursor before it (the first: the cursor itself) and the fact's type.
// The blocks of a fork hold its own facts alone; a page that begins before them goes on from its origin's.
// Every entry that is read is held against its journal row, so that no wrong one is believed. Test: test/tables/store.test.ts.
import { damaged } from './errors.ts'
import { spanBefore, spansOf } from './lines.ts'
import type { Lines, Link, Span } from './lines.ts'
import type { Statements } from './statements.ts'

/** Facts per block: one page is written for the index per 64 facts of a process. */
export const BLOCK_FACTS = 64

export interface Entry {
  readonly seq: number
  readonly cursor: number
  readonly code: number
}

/** Entries of one process, in order. */
export interface Part {
  readonly link: Link
  readonly entries: readonly Entry[]
}

/** What finds facts. */
export interface Finder {
  readonly sql: Statements
  readonly lines: Lines
}

/** The text of a block with one entry more; `before` is the cursor of the entry before it. */
export function addEntry(open: string, cursor: number, before: number, code: number): string {
  return open === '' ? `${cursor},${code}` : `${open},${cursor - before},${code}`
}

/** The first cursor of a block's text, as it stands there. */
export function firstCursor(entries: string): number {
  return Number.parseInt(entries, 10)
}

/** The block that holds a fact. */
export function blockOf(seq: number, { base }: Pick<Link, 'base'>): number {
  return Math.floor((seq - base - 1) / BLOCK_FACTS)
}

/** The entries of one block of a span, as far as it goes; block 0 begins with the first fact after the base. */
export function readBlock(finder: Finder, span: Span, block: number): readonly Entry[] {
  const { uuid, base } = span.link
  const first = base + block * BLOCK_FACTS + 1
  const size = Math.min(BLOCK_FACTS, span.upto - first + 1)
  const text = blockText(finder, span, block, size)
  if (typeof text !== 'string') throw damaged({ table: 'places', uuid, seq: first }, `block ${block} is missing`)
  const entries = parseBlock(text, first)
  // What is forked goes on by itself, and what is removed is cut: only an own block is known to the last entry.
  if (entries === undefined || entries.length < size || (span.open !== null && entries.length > size)) {
    throw damaged({ table: 'places', uuid, seq: first }, `block ${block} is not what was written`)
  }
  return entries.length === size ? entries : entries.slice(0, size)
}

function blockText({ sql, lines }: Finder, { link, open }: Span, block: number, size: number): unknown {
  if (open !== null && size < BLOCK_FACTS) return open
  const text = sql.place.get(link.key, block)?.['entries']
  if (text !== undefined || open !== null) return text
  const owner = lines.owner(link.uuid)
  return owner?.key === link.key && block === blockOf(owner.seq + 1, link) ? owner.open : undefined
}

export function parseBlock(text: string, first: number): Entry[] | undefined {
  const numbers = text === '' ? [] : text.split(',').map(Number)
  if (numbers.length % 2 !== 0 || !numbers.every((number) => Number.isSafeInteger(number) && number > 0)) return undefined
  const entries: Entry[] = []
  let cursor = 0
  for (let index = 0; index < numbers.length; index += 2) {
    cursor += numbers[index] ?? 0
    entries.push({ seq: first + index / 2, cursor, code: numbers[index + 1] ?? 0 })
  }
  return entries
}

/** Entries in order from `seq` on, at most `limit`. */
export function entriesFrom(finder: Finder, own: Span, seq: number, limit: number): Part[] {
  const last = Math.min(own.upto, seq + limit - 1)
  return spansOf(own, seq, last).map((span) => ({ link: span.link, entries: entriesWithin(finder, span, seq, last) }))
}

function entriesWithin(finder: Finder, span: Span, first: number, last: number): Entry[] {
  const from = Math.max(first, span.link.base + 1)
  const to = Math.min(last, span.upto)
  const found: Entry[] = []
  for (let block = blockOf(from, span.link); block <= blockOf(to, span.link); block++) {
    for (const entry of readBlock(finder, span, block)) {
      if (entry.seq >= from && entry.seq <= to) found.push(entry)
    }
  }
  return found
}

interface Last {
  readonly limit: number
  /** undefined: of all */
  readonly codes: ReadonlySet<number> | undefined
  readonly beforeSeq: number
}

/** The last entries before a fact in order, at most `limit`, of the types `codes`. */
export function lastEntries(finder: Finder, own: Span, { limit, codes, beforeSeq }: Last): Part[] {
  const parts: Part[] = []
  let left = limit
  for (let span: Span | null = own; span !== null && left > 0; span = spanBefore(span)) {
    const entries = lastWithin(finder, span, { limit: left, codes, beforeSeq })
    left -= entries.length
    if (entries.length > 0) parts.push({ link: span.link, entries })
  }
  return parts.reverse()
}

function lastWithin(finder: Finder, span: Span, { limit, codes, beforeSeq }: Last): Entry[] {
  const found: Entry[] = []
  const last = Math.min(span.upto, beforeSeq - 1)
  for (let block = blockOf(last, span.link); block >= 0 && found.length < limit; block--) {
    for (const entry of readBlock(finder, span, block).toReversed()) {
      if (found.length < limit && entry.seq <= last && (codes?.has(entry.code) ?? true)) found.push(entry)
    }
  }
  return found.reverse()
}

/** The seq of the first of the own facts after `cursor`. */
export function seqAfter(finder: Finder, own: Span, cursor: number): number {
  const block = finder.sql.placeOf.get(own.link.key, cursor)?.['block']
  for (let at = typeof block === 'number' ? block : 0; at <= blockOf(own.upto, own.link); at++) {
    const entry = readBlock(finder, own, at).find((candidate) => candidate.cursor > cursor)
    if (entry !== undefined) return entry.seq
  }
  return own.upto + 1
}
