// Reads facts: those of a process in order or from its end, or those of all processes in the order of the store. Each page is
// read within one turn of the event loop. Checks the checksum, type, position and order of each row. Errors: `STORE_DAMAGED` with
// the location. Test: test/tables/store/store.test.ts, test/tables/store/rows/damage.test.ts.
import type { FactMark, PageFilter, StoredFact } from '../../kernel/model/facts.ts'
import type { ReadBlob } from './blobs.ts'
import { checkStorePage, readFactRow } from './fact-row.ts'
import { codeOf, otherCodes, typeOf } from './fact-codec.ts'
import { damageError } from '../errors.ts'
import type { DamageLocation } from '../errors.ts'
import type { FactSpan } from './lineage.ts'
import { readEntriesFrom, readLastEntries, findSeqAfter } from './fact-index.ts'
import type { FactEntry, IndexReadDeps, EntryRun } from './fact-index.ts'
import { checkPageLimit } from '../rows/page-limit.ts'
import type { FactRow, OwnedFactRow } from '../rows/row-types.ts'
import type { FactColumns, Statements } from '../statements.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** Reads a page of a process's facts after the fact `afterSeq`, in order. */
export function readFacts(deps: IndexReadDeps, ownFacts: FactSpan, afterSeq: number, limit: number): StoredFact[] {
  checkPageLimit(limit)
  return readEntriesFrom(deps, ownFacts, afterSeq + 1, limit).flatMap((part) => readRun(deps.sql, part))
}

interface PageQuery {
  readonly afterSeq: number
  readonly limit: number
}

/**
 * Reads a page in order. Leaves out facts of the types `without`, or of all types but `only`. Returns only marks for the types `marks`.
 * The page's last fact is always there, at least as a mark.
 */
export function skimFacts(
  deps: IndexReadDeps,
  ownFacts: FactSpan,
  { afterSeq, limit }: PageQuery,
  { without, marks, only, withoutLongTexts }: PageFilter,
): (StoredFact | FactMark)[] {
  checkPageLimit(limit)
  const [excludedCodes, markedCodes] = [only ? otherCodes(codesOf([...only, ...marks])) : codesOf(without), codesOf(marks)]
  const texts = withoutLongTexts ? null : blobReader(deps.sql)
  const parts = readEntriesFrom(deps, ownFacts, afterSeq + 1, limit)
  const last = parts.at(-1)?.entries.at(-1)
  const found: (StoredFact | FactMark)[] = []
  for (const { link, entries } of parts) {
    const wantedEntries = entries.filter(({ code }) => !excludedCodes.has(code) && !markedCodes.has(code))
    const facts = readRun(deps.sql, { link, entries: wantedEntries }, { excluded: [...excludedCodes, ...markedCodes], texts })
    let next = 0
    for (const entry of entries) {
      const fact = entry === wantedEntries[next] ? facts[next++] : undefined
      if (fact) found.push(fact)
      else if (markedCodes.has(entry.code) || entry === last) found.push(markOf(entry, link.uuid))
    }
  }
  return found
}

function markOf({ seq, code }: FactEntry, uuid: Uuid): FactMark {
  const type = typeOf(code)
  if (type === undefined) throw damageError({ table: 'places', uuid, seq }, `unknown fact type ${code}`)
  return { seq, type }
}

function codesOf(types: readonly string[]): ReadonlySet<number> {
  return new Set(types.map(codeOf).filter((code) => code !== undefined))
}

/** A page of the last facts before `beforeSeq`. */
interface TailQuery {
  readonly limit: number
  /** the fact types to read; undefined for all types */
  readonly types: readonly string[] | undefined
  readonly beforeSeq: number
}

export function readTail(deps: IndexReadDeps, ownFacts: FactSpan, { limit, types, beforeSeq }: TailQuery): StoredFact[] {
  checkPageLimit(limit)
  return readLastEntries(deps, ownFacts, { limit, codes: types && codesOf(types), beforeSeq }).flatMap((part) =>
    lookUpFacts(deps.sql, part),
  )
}

/** Reads a process's own facts after a cursor. */
export function readSince(deps: IndexReadDeps, ownFacts: FactSpan, afterCursor: number, limit: number): StoredFact[] {
  return readFacts(deps, ownFacts, findSeqAfter(deps, ownFacts, afterCursor) - 1, limit)
}

/** A range scan is cheaper than a lookup of each row if it passes at most this many rows per wanted row. */
const MAX_SCAN_RATIO = 4

interface RunOptions {
  /** the types of all other facts of the process between the entries */
  readonly excluded?: readonly number[]
  /** where long texts are read; null: they stay empty */
  readonly texts?: ReadBlob | null
}

/** Reads the facts of the entries. */
function readRun(sql: Statements, part: EntryRun, { excluded = [], texts = blobReader(sql) }: RunOptions = {}): StoredFact[] {
  const {
    link: { key },
    entries,
  } = part
  const [first, last] = [entries[0]?.cursor ?? 0, entries.at(-1)?.cursor ?? 0]
  if (last - first >= MAX_SCAN_RATIO * entries.length) return lookUpFacts(sql, part, texts)
  const rows = sql.factsBetween.all(first, last, key, JSON.stringify(excluded)) as unknown as FactColumns[]
  // A wrong number of rows means damage. Single lookups then find out which fact is wrong.
  return rows.length === entries.length ? checkFacts(texts, part, rows) : lookUpFacts(sql, part, texts)
}

/** Reads the facts of the entries, one lookup for each. `texts`: where long texts are read; null: they stay empty. */
export function lookUpFacts(sql: Statements, part: EntryRun, texts: ReadBlob | null = blobReader(sql)): StoredFact[] {
  return checkFacts(texts, part, sql.factsAt.all(JSON.stringify(part.entries.map((entry) => entry.cursor))) as unknown as FactColumns[])
}

function checkFacts(texts: ReadBlob | null, { link: { key, uuid }, entries }: EntryRun, rows: readonly FactColumns[]): StoredFact[] {
  return entries.map((entry, index) => {
    const columns = rows[index]
    const row = columns && rowOf(columns)
    const location: DamageLocation = { table: 'journal', uuid, seq: entry.seq }
    if (row?.cursor !== entry.cursor) throw damageError(location, 'the fact is missing')
    const fact = readFactRow(texts, row, uuid)
    if (row.process !== key || row.seq !== entry.seq || row.type !== entry.code)
      throw damageError(location, 'another fact is stored at its cursor')
    return fact
  })
}

function rowOf([cursor, process, seq, pid, at, type, sum, body, refs, moment]: FactColumns): FactRow {
  return { cursor, process, seq, pid, at, type, sum, body, refs, moment }
}

/** Reads a page of all facts after a cursor, in the order of the store. */
export function readAll(sql: Statements, afterCursor: number, limit: number): StoredFact[] {
  checkPageLimit(limit)
  const rows = sql.factsAfter.all(afterCursor, limit) as unknown as OwnedFactRow[]
  const facts = rows.map((row) => readOwnedFact(sql, row))
  checkStorePage(afterCursor, facts)
  return facts
}

/** Returns the fact of a row that was read together with the UUID of its process. */
export function readOwnedFact(sql: Statements, row: OwnedFactRow): StoredFact {
  if (row.uuid === null) throw damageError({ table: 'journal', cursor: row.cursor, seq: row.seq }, `its process ${row.process} is missing`)
  return readFactRow(blobReader(sql), row, row.uuid)
}

/** Returns the fact without its long texts, for callers that need none of them. */
export function readBrief(row: OwnedFactRow): StoredFact {
  return readFactRow(null, row, row.uuid ?? '')
}

/** Reads long texts from the table `blobs`. */
function blobReader(sql: Statements): ReadBlob {
  return (sha) => {
    const bytes = sql.blob.get(Buffer.from(sha, 'hex'))?.['bytes']
    return bytes instanceof Uint8Array ? bytes : undefined
  }
}
