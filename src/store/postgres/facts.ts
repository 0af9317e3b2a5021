// Reads facts from PostgreSQL, with the checks of the store on SQLite: the checksum, type, position and order of each row. Errors:
// `STORE_DAMAGED` with the location. Tests: test/tables/store/store.test.ts, test/properties/store.test.ts.
import type { FactMark, PageFilter, StoredFact } from '../../kernel/model/facts.ts'
import { damageError } from '../errors.ts'
import { hashesOf } from '../journal/blobs.ts'
import type { ReadBlob } from '../journal/blobs.ts'
import { codeOf, otherCodes, typeOf } from '../journal/fact-codec.ts'
import { checkStorePage, readFactRow } from '../journal/fact-row.ts'
import { spanBefore, spansOf } from '../journal/lineage.ts'
import type { FactSpan } from '../journal/lineage.ts'
import { checkPageLimit } from '../rows/page-limit.ts'
import type { FactRow, OwnedFactRow } from '../rows/row-types.ts'
import type { StepBounds } from '../store.ts'
import type { Reader } from './connection.ts'
import { FACT_COLUMNS } from './rows.ts'

interface FactRange {
  readonly afterSeq: number
  readonly limit: number
}

/** Reads a page of a process's facts after the fact `afterSeq`, in order. */
export async function readFacts(reader: Reader, ownFacts: FactSpan, { afterSeq, limit }: FactRange): Promise<StoredFact[]> {
  checkPageLimit(limit)
  const facts: StoredFact[] = []
  const last = Math.min(ownFacts.upto, afterSeq + limit)
  for (const span of spansOf(ownFacts, afterSeq + 1, last)) {
    const first = Math.max(afterSeq, span.link.base) + 1
    const upto = Math.min(last, span.upto)
    const rows = await reader.read<FactRow>('The facts', {
      name: 'facts',
      text: `SELECT ${FACT_COLUMNS} FROM reeve.fact f WHERE f.process = $1 AND f.seq BETWEEN $2 AND $3 ORDER BY f.seq`,
      values: [span.link.key, first, upto],
    })
    checkSequence(span, rows, first, upto)
    facts.push(...(await factsOfRows(reader, rows, span)))
  }
  return facts
}

/** Checks that the rows are the facts from `first` to `last` of a span. */
function checkSequence({ link: { uuid } }: FactSpan, rows: readonly { readonly seq: number }[], first: number, last: number): void {
  for (let index = 0; index <= last - first; index++)
    if (rows[index]?.seq !== first + index) throw damageError({ table: 'journal', uuid, seq: first + index }, 'the fact is missing')
}

async function factsOfRows(reader: Reader, rows: readonly FactRow[], { link: { uuid } }: FactSpan): Promise<StoredFact[]> {
  const readBlob = await loadBlobs(reader, rows)
  return rows.map((row) => readFactRow(readBlob, row, uuid))
}

/** Loads the long texts to which rows refer. */
export async function loadBlobs(reader: Reader, rows: readonly (Pick<FactRow, 'refs' | 'cursor'> | null)[]): Promise<ReadBlob> {
  const hashes = new Set(rows.flatMap((row) => (row?.refs ? hashesOf(row.refs, { table: 'journal', cursor: row.cursor }) : [])))
  if (hashes.size === 0) return () => undefined
  const blobs = await reader.read<{ sha: string; bytes: Uint8Array }>('The long texts', {
    name: 'blobs',
    text: "SELECT encode(hash, 'hex') AS sha, bytes FROM reeve.blob WHERE hash = ANY($1)",
    values: [[...hashes].map((sha) => Buffer.from(sha, 'hex'))],
  })
  const bySha = new Map(blobs.map(({ sha, bytes }) => [sha, bytes]))
  return (sha) => bySha.get(sha)
}

/** A row whose body was not read, because the filter excludes its type. */
type SkimmedRow = FactRow & { readonly isWanted: boolean }

/**
 * Reads a page in order. Leaves out facts of the types `without`, or of all types but `only`. Returns only marks for the types `marks`.
 * The page's last fact is always there, at least as a mark.
 */
export async function skimFacts(
  reader: Reader,
  ownFacts: FactSpan,
  { afterSeq, limit }: FactRange,
  { without, marks, only, withoutLongTexts }: PageFilter,
): Promise<(StoredFact | FactMark)[]> {
  checkPageLimit(limit)
  const [excludedCodes, markedCodes] = [only ? otherCodes(codesOf([...only, ...marks])) : codesOf(without), codesOf(marks)]
  const found: (StoredFact | FactMark)[] = []
  const last = Math.min(ownFacts.upto, afterSeq + limit)
  for (const span of spansOf(ownFacts, afterSeq + 1, last)) {
    const first = Math.max(afterSeq, span.link.base) + 1
    const upto = Math.min(last, span.upto)
    const rows = await reader.read<SkimmedRow>('The facts', {
      name: 'skim',
      text: `SELECT f.cursor, f.process, f.seq, f.pid, f.at, f.type, f.sum, w.wanted AS "isWanted", CASE WHEN w.wanted THEN f.body END AS body,
          CASE WHEN w.wanted THEN f.refs END AS refs, CASE WHEN w.wanted THEN f.moment END AS moment
        FROM reeve.fact f, LATERAL (SELECT f.type <> ALL($4::smallint[]) AS wanted) w
        WHERE f.process = $1 AND f.seq BETWEEN $2 AND $3 ORDER BY f.seq`,
      values: [span.link.key, first, upto, [...excludedCodes, ...markedCodes]],
    })
    checkSequence(span, rows, first, upto)
    const wanted = rows.filter(({ isWanted }) => isWanted)
    const readBlob = withoutLongTexts ? null : await loadBlobs(reader, wanted)
    for (const row of rows) {
      if (row.isWanted) found.push(readFactRow(readBlob, row, span.link.uuid))
      else if (markedCodes.has(row.type) || row.seq === last) found.push(markOf(row, span))
    }
  }
  return found
}

function markOf({ seq, type: code }: FactRow, { link: { uuid } }: FactSpan): FactMark {
  const type = typeOf(code)
  if (type === undefined) throw damageError({ table: 'journal', uuid, seq }, `unknown fact type ${code}`)
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

export async function readTail(reader: Reader, ownFacts: FactSpan, { limit, types, beforeSeq }: TailQuery): Promise<StoredFact[]> {
  checkPageLimit(limit)
  const codes = types === undefined ? null : [...codesOf(types)]
  const pages: StoredFact[][] = []
  let remaining = limit
  for (let span: FactSpan | null = ownFacts; span !== null && remaining > 0; span = spanBefore(span)) {
    const rows: readonly FactRow[] = await reader.read<FactRow>('The last facts', {
      text: `SELECT ${FACT_COLUMNS} FROM reeve.fact f WHERE f.process = $1 AND f.seq > $2 AND f.seq <= $3
        ${codes === null ? '' : 'AND f.type = ANY($5::smallint[])'} ORDER BY f.seq DESC LIMIT $4`,
      values: [span.link.key, span.link.base, Math.min(span.upto, beforeSeq - 1), remaining, ...(codes === null ? [] : [codes])],
    })
    if (codes === null && rows.length > 0) checkSequence(span, rows.toReversed(), rows.at(-1)?.seq ?? 0, rows[0]?.seq ?? 0)
    pages.push(await factsOfRows(reader, rows.toReversed(), span))
    remaining -= rows.length
  }
  return pages.reverse().flat()
}

/** Reads a process's own facts after a cursor. */
export async function readSince(reader: Reader, ownFacts: FactSpan, afterCursor: number, limit: number): Promise<StoredFact[]> {
  checkPageLimit(limit)
  const rows = await reader.read<FactRow>('The facts', {
    text: `SELECT ${FACT_COLUMNS} FROM reeve.fact f WHERE f.process = $1 AND f.cursor > $2 AND f.seq <= $3 ORDER BY f.seq LIMIT $4`,
    values: [ownFacts.link.key, afterCursor, ownFacts.upto, limit],
  })
  const first = rows[0]?.seq ?? 0
  checkSequence(ownFacts, rows, first, first + rows.length - 1)
  return factsOfRows(reader, rows, ownFacts)
}

interface AllFactsQuery {
  readonly afterCursor: number
  /** the last cursor of the last commit: facts of a commit that is in flight are not visible yet */
  readonly upTo: number
  readonly limit: number
}

/** Reads a page of all facts after a cursor, in the order of the store. */
export async function readAllFacts(reader: Reader, { afterCursor, upTo, limit }: AllFactsQuery): Promise<StoredFact[]> {
  checkPageLimit(limit)
  const rows = await reader.read<OwnedFactRow>('The facts', {
    name: 'all facts',
    text: `SELECT ${FACT_COLUMNS}, p.uuid FROM reeve.fact f LEFT JOIN reeve.process p ON p.key = f.process
      WHERE f.cursor > $1 AND f.cursor <= $2 AND (p.key IS NOT NULL OR NOT (EXISTS (SELECT 1 FROM reeve.doomed d WHERE d.key = f.process)
        OR EXISTS (SELECT 1 FROM reeve.kept k WHERE k.key = f.process))) ORDER BY f.cursor LIMIT $3`,
    values: [afterCursor, upTo, limit],
  })
  const readBlob = await loadBlobs(reader, rows)
  const facts = rows.map((row) => {
    const { uuid, cursor, seq, process } = row
    if (uuid === null) throw damageError({ table: 'journal', cursor, seq }, `its process ${process} is missing`)
    return readFactRow(readBlob, row, uuid)
  })
  checkStorePage(afterCursor, facts)
  return facts
}

/** Finds where a step begins and where the next one does. Step numbers never decrease along a journal. */
export async function findStep(reader: Reader, ownFacts: FactSpan, step: number): Promise<StepBounds | null> {
  let first: number | null = null
  let next: number | null = null
  for (const span of spansOf(ownFacts, 1, ownFacts.upto)) {
    const starts = `SELECT seq FROM reeve.fact WHERE process = $1 AND seq <= $3`
    const [row] = await reader.read<{ first: number | null; next: number | null }>('The step', {
      name: 'step',
      text: `SELECT (${starts} AND step = $2 ORDER BY seq LIMIT 1) AS first, (${starts} AND step > $2 ORDER BY step, seq LIMIT 1) AS next`,
      values: [span.link.key, step, span.upto],
    })
    first ??= row?.first ?? null
    next ??= row?.next ?? null
  }
  return first === null ? null : { first, next }
}
