// Reads processes, references and tombstones from PostgreSQL. Each row is checked, and its spec is read from the fact that set it.
// Tests: test/tables/store/store.test.ts, test/properties/store.test.ts.
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import { damageError } from '../errors.ts'
import type { ReadBlob } from '../journal/blobs.ts'
import { readFactRow } from '../journal/fact-row.ts'
import { checkPageLimit } from '../rows/page-limit.ts'
import { createIntern, processOfRow, specOfFact } from '../rows/process-body.ts'
import type { Intern } from '../rows/process-body.ts'
import { LOAD_ROWS } from '../rows/process-row.ts'
import { MAX_FOUND, UUID_PREFIX, isPid, uuidPartRanges } from '../rows/references.ts'
import { checkRow } from '../rows/row-lookup.ts'
import type { TombstoneRow } from '../rows/row-types.ts'
import { checkTombstone } from '../rows/tombstones.ts'
import type { DeadQuery, Tombstone } from '../store.ts'
import type { Reader, Statement } from './connection.ts'
import { loadBlobs } from './facts.ts'
import { PROCESS_COLUMNS, SPEC_COLUMNS, TOMBSTONE_COLUMNS, escapeText, processRowOf, specRowOf, tombstoneRowOf } from './rows.ts'
import type { RowWithSpec } from './rows.ts'

/** Selects rows with the facts of their specs. */
export const SELECT_PROCESSES = `SELECT ${PROCESS_COLUMNS}, ${SPEC_COLUMNS} FROM reeve.process p
  LEFT JOIN reeve.fact f ON f.process = p.key AND f.seq = p.spec_seq`

/** The largest page of forks. */
const MAX_FORKS = 1_000

async function readSelected(reader: Reader, statement: Statement): Promise<Process[]> {
  return processesOf(reader, await reader.read<RowWithSpec>('The processes', statement))
}

/** Returns the processes of rows, which were read with `SELECT_PROCESSES`. */
async function processesOf(reader: Reader, rows: readonly RowWithSpec[]): Promise<Process[]> {
  const readBlob = await loadBlobs(reader, rows.map(specRowOf))
  const intern = createIntern()
  return rows.map((row) => processOf(row, readBlob, intern))
}

/** Returns the process of a row, which was read with `SELECT_PROCESSES`. */
export function processOf(raw: RowWithSpec, readBlob: ReadBlob, intern: Intern): Process {
  const row = checkRow(processRowOf(raw))
  const spec = specRowOf(raw)
  if (spec === null) throw damageError({ table: 'journal', uuid: row.uuid, seq: row.spec_seq }, 'the fact that holds the spec is missing')
  return processOfRow(row, specOfFact(row, readFactRow(readBlob, spec, row.uuid)), intern)
}

export function readProcesses(reader: Reader, uuids: readonly Uuid[]): Promise<Process[]> {
  return readSelected(reader, { name: 'processes', text: `${SELECT_PROCESSES} WHERE p.uuid = ANY($1)`, values: [uuids] })
}

/** Reads a page of the living processes, in the order of their keys. */
export async function loadLive(reader: Reader, from: number): Promise<{ readonly processes: Process[]; readonly next?: number }> {
  const statement = { text: `${SELECT_PROCESSES} WHERE p.live = 1 AND p.key >= $1 ORDER BY p.key LIMIT $2`, values: [from, LOAD_ROWS] }
  const rows = await reader.read<RowWithSpec>('The live processes', statement)
  const last = rows.at(-1)
  return { processes: await processesOf(reader, rows), ...(last && rows.length === LOAD_ROWS ? { next: last.key + 1 } : {}) }
}

export async function readDead(reader: Reader, { limit, before }: DeadQuery): Promise<Process[]> {
  checkPageLimit(limit)
  return readSelected(reader, {
    text: `${SELECT_PROCESSES} WHERE p.live = 0 ${before ? 'AND (p.exited_at, p.uuid) < ($2, $3)' : ''}
      ORDER BY p.exited_at DESC, p.uuid DESC LIMIT $1`,
    values: [limit, ...(before ? [before.exitedAt, before.uuid] : [])],
  })
}

export function readForks(reader: Reader, uuid: Uuid): Promise<Process[]> {
  return readSelected(reader, {
    text: `${SELECT_PROCESSES} WHERE p.forked_from = $1 ORDER BY p.key DESC LIMIT $2`,
    values: [uuid, MAX_FORKS],
  })
}

/** Resolves a reference: by PID, by a PID from before a resume, by name, then by a part of the UUID. The first kind with a match counts. */
export async function findUuids(reader: Reader, ref: string): Promise<Uuid[]> {
  const byPid = `SELECT uuid FROM reeve.process WHERE pid = $1 ORDER BY key DESC LIMIT ${MAX_FOUND}`
  const byRetiredPid = `SELECT p.uuid FROM (SELECT DISTINCT process FROM reeve.fact WHERE pid = $1 AND type IN (1, 12, 13, 48)) f
    JOIN reeve.process p ON p.key = f.process ORDER BY p.key DESC LIMIT ${MAX_FOUND}`
  const byName = `SELECT uuid FROM reeve.process WHERE name = $1 ORDER BY key DESC LIMIT ${MAX_FOUND}`
  const uuidsOf = async (text: string, values: readonly unknown[]): Promise<Uuid[]> =>
    (await reader.read<{ uuid: string }>(`The reference ${ref}`, { text, values })).map(({ uuid }) => uuid)
  if (!ref.startsWith(UUID_PREFIX)) {
    const kinds: (readonly [string, unknown])[] = isPid(ref)
      ? [
          [byPid, Number(ref)],
          [byRetiredPid, Number(ref)],
        ]
      : []
    for (const [text, value] of [...kinds, [byName, escapeText(ref)] as const]) {
      const found = await uuidsOf(text, [value])
      if (found.length > 0) return found
    }
  }
  const part = uuidPartRanges(ref)
  if (part === null) return []
  const ranges = `SELECT uuid FROM reeve.process WHERE`
  const byPrefix = await uuidsOf(`${ranges} uuid >= $1 AND uuid < $2 ORDER BY uuid LIMIT ${MAX_FOUND}`, part.prefix)
  const bySuffix = await uuidsOf(`${ranges} reversed >= $1 AND reversed < $2 ORDER BY reversed LIMIT ${MAX_FOUND}`, part.suffix)
  return [...new Set([...byPrefix, ...bySuffix])].slice(0, MAX_FOUND)
}

async function readTombstones(reader: Reader, condition: string, values: readonly unknown[]): Promise<Tombstone[]> {
  const text = `SELECT ${TOMBSTONE_COLUMNS} FROM reeve.tombstone WHERE ${condition}`
  const rows = await reader.read<TombstoneRow>('The removed processes', { text, values })
  return rows.map((row) => checkTombstone(tombstoneRowOf(row)))
}

/** Resolves a reference by PID, then by name, then by a part of the UUID, as for existing processes. */
export async function findTombstone(reader: Reader, ref: string): Promise<Tombstone | undefined> {
  const part = uuidPartRanges(ref)
  const queries: (readonly [string, readonly unknown[]])[] = [
    ...(/^\d{1,15}$/.test(ref) ? [['pid = $1 LIMIT 1', [Number(ref)]] as const] : []),
    ['name = $1 ORDER BY removed_at DESC LIMIT 1', [escapeText(ref)]],
    ...(part === null
      ? []
      : [['uuid >= $1 AND uuid < $2 LIMIT 1', part.prefix] as const, ['reversed >= $1 AND reversed < $2 LIMIT 1', part.suffix] as const]),
  ]
  for (const [condition, values] of queries) {
    const [found] = await readTombstones(reader, condition, values)
    if (found) return found
  }
  return undefined
}

/** Returns the removed forks of a process; the last one removed comes first. */
export function readRemovedForks(reader: Reader, uuid: Uuid): Promise<Tombstone[]> {
  return readTombstones(reader, 'forked_from = $1 ORDER BY removed_at DESC, uuid DESC LIMIT $2', [uuid, MAX_FORKS])
}
