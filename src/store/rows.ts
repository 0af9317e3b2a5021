// The projection: one row per process, as the last commit left it. The spec is not in it: it is read from the fact that holds it.
// Owns how a `Process` is written to its row and read back, and how a reference finds one. Test: test/tables/store.test.ts.
import type { DeadQuery } from './store.ts'
import type { Process, ProcessSpec, Uuid } from '../kernel/types.ts'
import { damaged } from './errors.ts'
import type { Place } from './errors.ts'
import { checkLimit, readOwnedFact } from './journal.ts'
import { checkRow } from './records.ts'
import type { OwnedFactRow, ProcessRow, Statements } from './statements.ts'

/** Rows of a page while all are loaded. */
export const LOAD_ROWS = 500

/** The most that `find` answers. */
const FOUND = 20

/** The shortest part of a UUID that counts as a reference, in digits. */
const PART_DIGITS = 4

/** The parts of a process that have columns of their own, and the spec, which has its fact. */
type Elsewhere = 'uuid' | 'pid' | 'seq' | 'specSeq' | 'spec'

/** The JSON of the row. Each part stands here by name: cheaper than to copy the rest, and a part that is missing does not compile. */
export function writeBody(process: Process): string {
  const { parent, parentUuid, depth, life, signals, progress, usage, queue, clock, containment, handle, checkpoint } = process
  const { context, sessionId, forkOf, asks, note, originUuid, originStep, originSeq, resumedFromStep, retiredAt, pinned, files } = process
  const { restart, restarts, supervision, compose, crew, keeps, refused } = process
  const { payer, below, settled, calls, metered, direct, warned, wants, liveness } = process
  return JSON.stringify({
    parent, parentUuid, depth, life, signals, progress, usage, queue, clock, containment, handle, checkpoint,
    context, sessionId, forkOf, asks, note, originUuid, originStep, originSeq, resumedFromStep, retiredAt, pinned, files,
    restart, restarts, supervision, compose, crew, keeps, refused,
    payer, below, settled, calls, metered, direct, warned, wants, liveness,
  } satisfies Record<Exclude<keyof Process, Elsewhere>, unknown>)
}

/** Gives equal values one identity, so that a thousand processes of one agent hold its prompt once. */
type Share = <T>(value: T) => T

export function sharing(): Share {
  const known = new Map<string, unknown>()
  return <T>(value: T): T => {
    const key = JSON.stringify(value)
    if (!known.has(key)) known.set(key, value)
    return known.get(key) as T
  }
}

export function readProcess(sql: Statements, row: ProcessRow, share: Share): Process {
  const place: Place = { table: 'processes', uuid: row.uuid }
  checkRow(row)
  const spec = readSpec(sql, row)
  const shared = Object.fromEntries(Object.entries(spec).map(([key, value]) => [key, share(value)])) as unknown as ProcessSpec
  return { ...parseBody(row.body, place), uuid: row.uuid, pid: row.pid, seq: row.seq, specSeq: row.spec_seq, spec: shared } as Process
}

function parseBody(text: string, place: Place): object {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null) return body
  } catch {
    // falls through: both are damage
  }
  throw damaged(place, 'the body is no JSON object')
}

function readSpec(sql: Statements, row: ProcessRow): ProcessSpec {
  const place: Place = { table: 'journal', uuid: row.uuid, seq: row.spec_seq }
  const found = sql.factAt.get(row.spec_cursor) as OwnedFactRow | undefined
  if (found === undefined) throw damaged(place, 'the fact that holds the spec is missing')
  const { uuid, seq, body } = readOwnedFact(sql, found)
  const spec = body.type === 'process.spawned' || body.type === 'process.resumed' || body.type === 'process.forked' || body.type === 'process.limited' ? body.spec : undefined
  if (uuid !== row.uuid || seq !== row.spec_seq || spec === undefined) throw damaged(place, 'the fact holds no spec of this process')
  return spec
}

export function loadLive(sql: Statements, from: number): { readonly processes: Process[]; readonly next?: number } {
  const share = sharing()
  const rows = sql.live.all(from, LOAD_ROWS) as unknown as ProcessRow[]
  const processes = rows.map((row) => readProcess(sql, row, share))
  const last = rows.at(-1)
  return { processes, ...(last && rows.length === LOAD_ROWS ? { next: last.key + 1 } : {}) }
}

export function readDead(sql: Statements, { limit, before }: DeadQuery): Process[] {
  checkLimit(limit)
  const rows = before === undefined ? sql.dead.all(limit) : sql.deadBefore.all(before.exitedAt, before.uuid, limit)
  const share = sharing()
  return (rows as unknown as ProcessRow[]).map((row) => readProcess(sql, row, share))
}

/** By PID, else by name, else by a part of the UUID: the first kind that finds something answers. */
export function findUuids(sql: Statements, ref: string): Uuid[] {
  for (const find of [findByPid, findByName, findByPart]) {
    const found = find(sql, ref)
    if (found.length > 0) return found
  }
  return []
}

type Rows = readonly Record<string, unknown>[]

const uuidsOf = (rows: Rows): Uuid[] => rows.map((row) => String(row['uuid']))

function findByPid(sql: Statements, ref: string): Uuid[] {
  const pid = Number(ref)
  return /^\d+$/.test(ref) && Number.isSafeInteger(pid) ? uuidsOf(sql.byPid.all(pid, FOUND)) : []
}

function findByName(sql: Statements, ref: string): Uuid[] {
  return uuidsOf(sql.byName.all(ref, FOUND))
}

function findByPart(sql: Statements, ref: string): Uuid[] {
  const part = partOf(ref)
  if (part === null) return []
  const byPrefix = uuidsOf(sql.byPrefix.all(...part.prefix, FOUND))
  const bySuffix = uuidsOf(sql.bySuffix.all(...part.suffix, FOUND))
  return [...new Set([...byPrefix, ...bySuffix])].slice(0, FOUND)
}

type TextRange = readonly [from: string, before: string]

/** The ranges of UUIDs that begin, and of reversed ones that end, with a reference; null if it can be no part of one. */
export function partOf(ref: string): { readonly prefix: TextRange; readonly suffix: TextRange } | null {
  const digits = ref.replaceAll('-', '').toLowerCase()
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < PART_DIGITS || digits.length > 32) return null
  const [prefix, suffix] = [dashed(digits), reverse(digits)]
  // 'g' comes after every digit and the dash, so that the range holds what begins with the part
  return { prefix: [prefix, `${prefix}g`], suffix: [suffix, `${suffix}g`] }
}

function dashed(digits: string): string {
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)]
  return parts.filter((part) => part !== '').join('-')
}

/** The digits of a UUID from its end, as `processes.reversed` holds them. */
export function reverse(uuid: string): string {
  return [...uuid.replaceAll('-', '')].toReversed().join('')
}
