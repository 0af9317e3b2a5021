// Reading facts: by process in order, from its end, or in the order of the whole store; each page is one look at the database.
// Nothing is believed unchecked: sum, type, place and order of each row, or `STORE_DAMAGED` with the place.
// Test: test/tables/store.test.ts, test/tables/store-damage.test.ts.
import { KernelError } from '../kernel/errors.ts'
import type { FactBody, FactMark, Skim, StoredFact } from '../kernel/facts.ts'
import type { Uuid } from '../kernel/types.ts'
import { restore } from './blobs.ts'
import { codeOf, typeOf, unpackBody } from './codes.ts'
import { damaged } from './errors.ts'
import type { Place } from './errors.ts'
import type { Span } from './lines.ts'
import { entriesFrom, lastEntries, seqAfter } from './places.ts'
import type { Entry, Finder, Part } from './places.ts'
import { factSum } from './sums.ts'
import type { FactColumns, FactRow, OwnedFactRow, Statements } from './statements.ts'

/** The most facts that one page may ask for. */
export const PAGE_FACTS = 10_000

export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 0 && limit <= PAGE_FACTS) return
  throw new KernelError('INTERNAL', `A page of ${limit} rows cannot be read; the limit is ${PAGE_FACTS}.`)
}

export function readFacts(finder: Finder, own: Span, afterSeq: number, limit: number): StoredFact[] {
  checkLimit(limit)
  return entriesFrom(finder, own, afterSeq + 1, limit).flatMap((part) => readRun(finder.sql, part))
}

interface Page {
  readonly afterSeq: number
  readonly limit: number
}

/** In order; the last fact of the page is there at least as a mark. */
export function skimFacts(finder: Finder, own: Span, { afterSeq, limit }: Page, { without, marks }: Skim): (StoredFact | FactMark)[] {
  checkLimit(limit)
  const [leftOut, marked] = [codesOf(without), codesOf(marks)]
  const parts = entriesFrom(finder, own, afterSeq + 1, limit)
  const last = parts.at(-1)?.entries.at(-1)
  const found: (StoredFact | FactMark)[] = []
  for (const { link, entries } of parts) {
    const whole = entries.filter(({ code }) => !leftOut.has(code) && !marked.has(code))
    const facts = readRun(finder.sql, { link, entries: whole }, [...leftOut, ...marked])
    let next = 0
    for (const entry of entries) {
      const fact = entry === whole[next] ? facts[next++] : undefined
      if (fact) found.push(fact)
      else if (marked.has(entry.code) || entry === last) found.push(markOf(entry, link.uuid))
    }
  }
  return found
}

function markOf({ seq, code }: Entry, uuid: Uuid): FactMark {
  const type = typeOf(code)
  if (type === undefined) throw damaged({ table: 'places', uuid, seq }, `unknown fact type ${code}`)
  return { seq, type }
}

function codesOf(types: readonly string[]): ReadonlySet<number> {
  return new Set(types.map(codeOf).filter((code) => code !== undefined))
}

/** Of the types (undefined: of all), before a fact. */
interface Tail {
  readonly limit: number
  readonly types: readonly string[] | undefined
  readonly beforeSeq: number
}

export function readTail(finder: Finder, own: Span, { limit, types, beforeSeq }: Tail): StoredFact[] {
  checkLimit(limit)
  return lastEntries(finder, own, { limit, codes: types && codesOf(types), beforeSeq }).flatMap((part) => readPart(finder.sql, part))
}

/** One process's own facts after a cursor. */
export function readSince(finder: Finder, own: Span, afterCursor: number, limit: number): StoredFact[] {
  return readFacts(finder, own, seqAfter(finder, own, afterCursor) - 1, limit)
}

/** Where so many rows at most lie in the place of one that is wanted, passing over them takes less than looking each up. */
const MOST_SPREAD = 4

/** `leftOut`: the types of all facts of the process that lie between the entries. */
function readRun(sql: Statements, part: Part, leftOut: readonly number[] = []): StoredFact[] {
  const { link: { key }, entries } = part
  const [first, last] = [entries[0]?.cursor ?? 0, entries.at(-1)?.cursor ?? 0]
  if (last - first >= MOST_SPREAD * entries.length) return readPart(sql, part)
  const rows = sql.factsBetween.all(first, last, key, JSON.stringify(leftOut)) as unknown as FactColumns[]
  // What is not as it was written is looked up one by one, which says what of it is wrong.
  return rows.length === entries.length ? checkPart(sql, part, rows) : readPart(sql, part)
}

export function readPart(sql: Statements, part: Part): StoredFact[] {
  return checkPart(sql, part, sql.factsAt.all(JSON.stringify(part.entries.map((entry) => entry.cursor))) as unknown as FactColumns[])
}

function checkPart(sql: Statements, { link: { key, uuid }, entries }: Part, rows: readonly FactColumns[]): StoredFact[] {
  return entries.map((entry, index) => {
    const columns = rows[index]
    const row = columns && rowOf(columns)
    const place: Place = { table: 'journal', uuid, seq: entry.seq }
    if (row?.cursor !== entry.cursor) throw damaged(place, 'the fact is missing')
    const fact = readFact(sql, row, uuid)
    if (row.process !== key || row.seq !== entry.seq || row.type !== entry.code) throw damaged(place, 'another fact stands in its place')
    return fact
  })
}

function rowOf([cursor, process, seq, pid, at, type, sum, body, refs]: FactColumns): FactRow {
  return { cursor, process, seq, pid, at, type, sum, body, refs }
}

/** All facts after a cursor, in the order of the store. */
export function readAll(sql: Statements, afterCursor: number, limit: number): StoredFact[] {
  checkLimit(limit)
  const rows = sql.factsAfter.all(afterCursor, limit) as unknown as OwnedFactRow[]
  const last = new Map<string, number>()
  return rows.map((row) => {
    const fact = readOwnedFact(sql, row)
    const before = last.get(fact.uuid)
    if (before !== undefined && fact.seq !== before + 1) throw damaged({ table: 'journal', uuid: fact.uuid, seq: before + 1 }, 'the fact is missing')
    last.set(fact.uuid, fact.seq)
    return fact
  })
}

/** The fact of a row whose process was looked up with it. */
export function readOwnedFact(sql: Statements, row: OwnedFactRow): StoredFact {
  if (row.uuid === null) throw damaged({ table: 'journal', cursor: row.cursor, seq: row.seq }, `its process ${row.process} is missing`)
  return readFact(sql, row, row.uuid)
}

/** The fact as it stands in its row: a long text is not what it was. For who needs none. */
export function readBrief(row: OwnedFactRow): StoredFact {
  return readFact(null, row, row.uuid ?? '')
}

function readFact(sql: Statements | null, row: FactRow, uuid: Uuid): StoredFact {
  const { cursor, seq, pid, at } = row
  const place: Place = { table: 'journal', uuid, seq, cursor }
  if (factSum(row) !== row.sum) throw damaged(place, 'the row is not what was written')
  return { cursor, uuid, seq, pid, at, body: readBody(sql, row, place) }
}

function readBody(sql: Statements | null, row: FactRow, place: Place): FactBody {
  const values = parseBody(row.body, place)
  if (row.refs !== null && sql !== null) restore(sql, values, row.refs, place)
  const body = unpackBody(row.type, values)
  if (typeof body === 'string') throw damaged(place, body)
  return body
}

function parseBody(text: string, place: Place): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw damaged(place, 'the body is no JSON')
  }
}
