// Where the facts of a process stand in the journal: blocks of 64 entries, full ones in `places`, the one that grows in the
// process's row. An entry is the distance to the cursor before it (the first: the cursor itself) and the fact's type.
// Every entry that is read is held against its journal row, so that no wrong one is believed. Test: test/tables/store.test.ts.
import { damaged } from './errors.ts'
import type { Statements } from './statements.ts'

/** Facts per block: one page is written for the index per 64 facts of a process. */
export const BLOCK_FACTS = 64

export interface Entry {
  readonly seq: number
  readonly cursor: number
  readonly code: number
}

/** What is needed of a process to find its facts. */
export interface Owner {
  readonly key: number
  readonly uuid: string
  readonly seq: number
  readonly open: string
}

/** The text of a block with one entry more; `before` is the cursor of the entry before it. */
export function addEntry(open: string, cursor: number, before: number, code: number): string {
  return open === '' ? `${cursor},${code}` : `${open},${cursor - before},${code}`
}

/** The first cursor of a block's text, as it stands there. */
export function firstCursor(entries: string): number {
  return Number.parseInt(entries, 10)
}

/** The entries of one block; block 0 begins with seq 1. */
export function readBlock(sql: Statements, owner: Owner, block: number): readonly Entry[] {
  const isOpen = block === Math.floor(owner.seq / BLOCK_FACTS)
  const text = isOpen ? owner.open : sql.place.get(owner.key, block)?.['entries']
  const size = isOpen ? owner.seq % BLOCK_FACTS : BLOCK_FACTS
  const first = block * BLOCK_FACTS + 1
  if (typeof text !== 'string') throw damaged({ table: 'places', uuid: owner.uuid, seq: first }, `block ${block} is missing`)
  const entries = parseBlock(text, first)
  if (entries?.length !== size) throw damaged({ table: 'places', uuid: owner.uuid, seq: first }, `block ${block} is not what was written`)
  return entries
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
export function entriesFrom(sql: Statements, owner: Owner, seq: number, limit: number): Entry[] {
  const found: Entry[] = []
  const last = Math.min(owner.seq, seq + limit - 1)
  for (let block = Math.floor((seq - 1) / BLOCK_FACTS); block * BLOCK_FACTS < last; block++) {
    for (const entry of readBlock(sql, owner, block)) {
      if (entry.seq >= seq && entry.seq <= last) found.push(entry)
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
export function lastEntries(sql: Statements, owner: Owner, { limit, codes, beforeSeq }: Last): Entry[] {
  const found: Entry[] = []
  const last = Math.min(owner.seq, beforeSeq - 1)
  for (let block = Math.ceil(last / BLOCK_FACTS) - 1; block >= 0 && found.length < limit; block--) {
    for (const entry of readBlock(sql, owner, block).toReversed()) {
      if (found.length < limit && entry.seq <= last && (codes?.has(entry.code) ?? true)) found.push(entry)
    }
  }
  return found.toReversed()
}

/** The seq of the first fact after `cursor`. */
export function seqAfter(sql: Statements, owner: Owner, cursor: number): number {
  const block = sql.placeOf.get(owner.key, cursor)?.['block']
  const from = typeof block === 'number' ? block : 0
  for (let at = from; at * BLOCK_FACTS < owner.seq; at++) {
    const entry = readBlock(sql, owner, at).find((candidate) => candidate.cursor > cursor)
    if (entry !== undefined) return entry.seq
  }
  return owner.seq + 1
}
