// The index of a process's facts: blocks of 64 entries. Full blocks are in the table `places`; the last block, still open, is in
// the process's row. An entry is the fact's type and the distance to the previous cursor; the first entry of a block has the
// cursor itself. The blocks of a fork contain only its own facts; a page that starts before them reads the blocks of its origin.
// When a fact is read, its entry is compared with its journal row, so a wrong entry gives no wrong fact.
// Test: test/tables/store/store.test.ts.
import { damageError } from '../errors.ts'
import { spanBefore, spansOf } from './lineage.ts'
import type { Lineage, LineageLink, FactSpan } from './lineage.ts'
import type { Statements } from '../statements.ts'

/** The number of facts per block. The index costs one page of the file per 64 facts of a process. */
export const BLOCK_FACTS = 64

export interface FactEntry {
  readonly seq: number
  readonly cursor: number
  readonly code: number
}

/** Consecutive entries of one link of a lineage. */
export interface EntryRun {
  readonly link: LineageLink
  readonly entries: readonly FactEntry[]
}

/** What is needed to read facts: the statements and the lineages. */
export interface IndexReadDeps {
  readonly sql: Statements
  readonly lineage: Lineage
}

/** Returns the text of a block with one more entry; `before` is the cursor of the previous entry. */
export function addEntry(open: string, cursor: number, before: number, code: number): string {
  return open === '' ? `${cursor},${code}` : `${open},${cursor - before},${code}`
}

/** Returns the first cursor in the text of a block. */
export function firstCursor(entries: string): number {
  return Number.parseInt(entries, 10)
}

/** Returns the number of the block that contains a fact. */
export function blockOf(seq: number, { base }: Pick<LineageLink, 'base'>): number {
  return Math.floor((seq - base - 1) / BLOCK_FACTS)
}

/** Reads the entries of one block, up to the end of the span. Block 0 begins with the first fact after the base. */
export function readBlock(deps: IndexReadDeps, span: FactSpan, block: number): readonly FactEntry[] {
  const { uuid, base } = span.link
  const first = base + block * BLOCK_FACTS + 1
  const size = Math.min(BLOCK_FACTS, span.upto - first + 1)
  const text = readBlockText(deps, span, block, size)
  if (typeof text !== 'string') throw damageError({ table: 'places', uuid, seq: first }, `block ${block} is missing`)
  const entries = parseBlock(text, first)
  // A block of an origin may have entries after the span, because the origin may have grown after the fork. The open block of the
  // span's own process must end with the span.
  if (entries === undefined || entries.length < size || (span.open !== null && entries.length > size)) {
    throw damageError({ table: 'places', uuid, seq: first }, `block ${block} is damaged`)
  }
  return entries.length === size ? entries : entries.slice(0, size)
}

function readBlockText({ sql, lineage }: IndexReadDeps, { link, open }: FactSpan, block: number, size: number): unknown {
  if (open !== null && size < BLOCK_FACTS) return open
  const text = sql.indexBlock.get(link.key, block)?.['entries']
  if (text !== undefined || open !== null) return text
  const owner = lineage.positionOf(link.uuid)
  return owner?.key === link.key && block === blockOf(owner.seq + 1, link) ? owner.open : undefined
}

/** Parses the text of a block; undefined if it is damaged. */
export function parseBlock(text: string, first: number): FactEntry[] | undefined {
  const numbers = text === '' ? [] : text.split(',').map(Number)
  if (numbers.length % 2 !== 0 || !numbers.every((number) => Number.isSafeInteger(number) && number > 0)) return undefined
  const entries: FactEntry[] = []
  let cursor = 0
  for (let index = 0; index < numbers.length; index += 2) {
    cursor += numbers[index] ?? 0
    entries.push({ seq: first + index / 2, cursor, code: numbers[index + 1] ?? 0 })
  }
  return entries
}

/** Reads at most `limit` entries in order, beginning with the fact `seq`. */
export function readEntriesFrom(deps: IndexReadDeps, ownFacts: FactSpan, seq: number, limit: number): EntryRun[] {
  const last = Math.min(ownFacts.upto, seq + limit - 1)
  return spansOf(ownFacts, seq, last).map((span) => ({ link: span.link, entries: readEntriesWithin(deps, span, seq, last) }))
}

function readEntriesWithin(deps: IndexReadDeps, span: FactSpan, first: number, last: number): FactEntry[] {
  const from = Math.max(first, span.link.base + 1)
  const to = Math.min(last, span.upto)
  const found: FactEntry[] = []
  for (let block = blockOf(from, span.link); block <= blockOf(to, span.link); block++) {
    for (const entry of readBlock(deps, span, block)) {
      if (entry.seq >= from && entry.seq <= to) found.push(entry)
    }
  }
  return found
}

interface LastEntriesQuery {
  readonly limit: number
  /** codes of fact types; undefined for all types */
  readonly codes: ReadonlySet<number> | undefined
  readonly beforeSeq: number
}

/** Reads at most `limit` of the last entries before `beforeSeq`, in order. */
export function readLastEntries(deps: IndexReadDeps, ownFacts: FactSpan, { limit, codes, beforeSeq }: LastEntriesQuery): EntryRun[] {
  const runs: EntryRun[] = []
  let remaining = limit
  for (let span: FactSpan | null = ownFacts; span !== null && remaining > 0; span = spanBefore(span)) {
    const entries = readLastWithin(deps, span, { limit: remaining, codes, beforeSeq })
    remaining -= entries.length
    if (entries.length > 0) runs.push({ link: span.link, entries })
  }
  return runs.reverse()
}

function readLastWithin(deps: IndexReadDeps, span: FactSpan, { limit, codes, beforeSeq }: LastEntriesQuery): FactEntry[] {
  const found: FactEntry[] = []
  const last = Math.min(span.upto, beforeSeq - 1)
  for (let block = blockOf(last, span.link); block >= 0 && found.length < limit; block--) {
    for (const entry of readBlock(deps, span, block).toReversed()) {
      if (found.length < limit && entry.seq <= last && (codes?.has(entry.code) ?? true)) found.push(entry)
    }
  }
  return found.reverse()
}

/** Returns the number of the first own fact after `cursor`. */
export function findSeqAfter(deps: IndexReadDeps, ownFacts: FactSpan, cursor: number): number {
  const block = deps.sql.indexBlockBefore.get(ownFacts.link.key, cursor)?.['block']
  for (let at = typeof block === 'number' ? block : 0; at <= blockOf(ownFacts.upto, ownFacts.link); at++) {
    const entry = readBlock(deps, ownFacts, at).find((candidate) => candidate.cursor > cursor)
    if (entry !== undefined) return entry.seq
  }
  return ownFacts.upto + 1
}
