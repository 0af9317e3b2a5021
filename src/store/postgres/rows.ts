// The columns of the tables on PostgreSQL, and the rows of both directions. Free texts are escaped like JSON.
// Test: test/properties/store.test.ts.
import { damageError } from '../errors.ts'
import { codeOf } from '../journal/fact-codec.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import { factSum, processSum } from '../rows/checksums.ts'
import { rowBodyOf } from '../rows/process-body.ts'
import { reverseDigits } from '../rows/references.ts'
import type { FactRow, OwnedFactRow, ProcessRow, TombstoneRow } from '../rows/row-types.ts'
import type { ProcessHead, StoredRow } from '../write/head-cache.ts'

export const PROCESS_COLUMNS =
  'p.key, p.uuid, p.pid, p.name, p.live, p.exited_at, p.spec_seq, p.spec_cursor, p.seq, p.sum, p.body, p.forked_from, p.origin, p.base, p.pinned'
export const FACT_COLUMNS = 'f.cursor, f.process, f.seq, f.pid, f.at, f.type, f.sum, f.body, f.refs, f.moment'
/** The columns of the fact that has the spec of a process. */
export const SPEC_COLUMNS = `f.cursor AS f_cursor, f.process AS f_process, f.seq AS f_seq, f.pid AS f_pid, f.at AS f_at, f.type AS f_type,
  f.sum AS f_sum, f.body AS f_body, f.refs AS f_refs, f.moment AS f_moment`
export const TOMBSTONE_COLUMNS = 'uuid, pid, name, removed_at, sum, forked_from'

const STARTED_CODE = codeOf('model.started')

/** Escapes a text for PostgreSQL. An ordinary text stays as it is. */
export function escapeText(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Restores a text. Errors: `STORE_DAMAGED`. */
function unescapeText(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    throw damageError({ table: 'processes' }, 'a text is not escaped')
  }
}

export function unescapeOrNull(text: string | null): string | null {
  return text === null ? null : unescapeText(text)
}

/** A row of `process` as the database returns it. */
export type RawProcessRow = Omit<ProcessRow, 'open'>

/** Returns the row in the form of the checksums. Its block index is empty, because this engine has a real index. */
export function processRowOf(row: RawProcessRow): ProcessRow {
  const { key, uuid, pid, name, live, exited_at, spec_seq, spec_cursor, seq, sum, body, forked_from, origin, base, pinned } = row
  const texts = { uuid, name: unescapeOrNull(name), open: '', body, forked_from }
  return { key, pid, live, exited_at, spec_seq, spec_cursor, seq, sum, origin, base, pinned, ...texts }
}

type SpecColumns = { readonly [K in keyof FactRow as `f_${K}`]: FactRow[K] | null }
/** A row of `process` with the fact of its spec. */
export type RowWithSpec = RawProcessRow & SpecColumns

/** Returns the fact with the spec of a row; null if the database does not have it. */
export function specRowOf(row: RowWithSpec): OwnedFactRow | null {
  if (row.f_cursor === null) return null
  const { f_cursor, f_process, f_seq, f_pid, f_at, f_type, f_sum, f_body, f_refs, f_moment } = row
  return {
    cursor: f_cursor,
    process: f_process ?? 0,
    seq: f_seq ?? 0,
    pid: f_pid ?? 0,
    at: f_at ?? 0,
    type: f_type ?? 0,
    sum: f_sum ?? 0,
    body: f_body ?? '',
    refs: f_refs,
    moment: f_moment,
    uuid: row.uuid,
  }
}

/** A row of `process` to write, in the order of `putProcesses`, and what the head then knows of it. */
export interface NewProcessRow {
  readonly columns: readonly (string | number | null)[]
  readonly storedRow: StoredRow
}

export function newProcessRow(process: Process, head: ProcessHead): NewProcessRow {
  const { key, uuid, seq, specCursor: spec_cursor, specSeq: spec_seq, origin, base, forkedFrom: forked_from } = head
  const { pid, spec, clock } = process
  const [live, pinned] = [process.life.state === 'dead' ? 0 : 1, process.pinned ? 1 : 0]
  const { name } = spec
  const exited_at = clock.exitedAt
  const body = rowBodyOf(process)
  const sum = processSum({
    key,
    uuid,
    pid,
    name,
    live,
    exited_at,
    spec_seq,
    spec_cursor,
    seq,
    open: '',
    body,
    forked_from,
    origin,
    base,
    pinned,
  })
  const escapedName = name === null ? null : escapeText(name)
  return {
    columns: [
      key,
      uuid,
      reverseDigits(uuid),
      pid,
      escapedName,
      live,
      exited_at,
      spec_seq,
      spec_cursor,
      seq,
      sum,
      body,
      forked_from,
      origin,
      base,
      pinned,
    ],
    storedRow: { seq, pid, name, live, exitedAt: exited_at, specSeq: spec_seq, pinned },
  }
}

/** Returns the arrays of the columns of new facts, in the order of `insertFacts`. */
export function factArrays(rows: readonly Omit<FactRow, 'sum'>[], facts: readonly StoredFact[]): readonly unknown[] {
  const steps = rows.map((row, index) => {
    const body = facts[index]?.body
    return row.type === STARTED_CODE && body?.type === 'model.started' ? body.step : null
  })
  return [
    rows.map((row) => row.process),
    rows.map((row) => row.seq),
    rows.map((row) => row.cursor),
    rows.map((row) => row.pid),
    rows.map((row) => row.at),
    rows.map((row) => row.type),
    rows.map((row) => factSum(row)),
    steps,
    rows.map((row) => row.body),
    rows.map((row) => row.refs),
    rows.map((row) => row.moment),
  ]
}

/** Returns the statement that inserts facts from arrays, which are the parameters from `$first` on. */
export function insertFacts(first: number): string {
  const types = ['bigint', 'bigint', 'bigint', 'bigint', 'bigint', 'smallint', 'bigint', 'bigint', 'text', 'text', 'text']
  return `INSERT INTO reeve.fact (process, seq, cursor, pid, at, type, sum, step, body, refs, moment)
    SELECT u.* FROM f, ${unnest(first, types)} AS u`
}

const PROCESS_TYPES = 'bigint,text,text,bigint,text,smallint,bigint,bigint,bigint,bigint,bigint,text,text,bigint,bigint,smallint'.split(',')

/** Returns the arrays of the columns of rows, in the order of `putProcesses`. */
export function processArrays(rows: readonly NewProcessRow[]): readonly unknown[] {
  return columnArrays(
    rows.map(({ columns }) => columns),
    PROCESS_TYPES.length,
  )
}

/** Returns the statement that inserts or replaces rows of processes from arrays, which are the parameters from `$first` on. */
export function putProcesses(first: number): string {
  return `INSERT INTO reeve.process (key, uuid, reversed, pid, name, live, exited_at, spec_seq, spec_cursor, seq, sum, body, forked_from,
      origin, base, pinned)
    SELECT u.* FROM f, ${unnest(first, PROCESS_TYPES)} AS u
    ON CONFLICT (key) DO UPDATE SET pid = excluded.pid, name = excluded.name, live = excluded.live, exited_at = excluded.exited_at,
      spec_seq = excluded.spec_seq, spec_cursor = excluded.spec_cursor, seq = excluded.seq, sum = excluded.sum, body = excluded.body,
      pinned = excluded.pinned`
}

/** Returns the statement that inserts long texts, or counts more references to them. */
export function putBlobs(first: number): string {
  return `INSERT INTO reeve.blob (hash, bytes, refs) SELECT u.* FROM f, ${unnest(first, ['bytea', 'bytea', 'bigint'])} AS u
    ON CONFLICT (hash) DO UPDATE SET refs = reeve.blob.refs + excluded.refs`
}

/** Returns `unnest` over parameters of these types. */
export function unnest(first: number, types: readonly string[]): string {
  return `unnest(${types.map((type, index) => `$${first + index}::${type}[]`).join(', ')})`
}

/** Turns rows into one array for each of their `width` columns. */
export function columnArrays(rows: readonly (readonly unknown[])[], width: number): readonly unknown[][] {
  return Array.from({ length: width }, (_, index) => rows.map((row) => row[index]))
}

export function tombstoneRowOf(row: TombstoneRow): TombstoneRow {
  return { ...row, name: unescapeOrNull(row.name) }
}
