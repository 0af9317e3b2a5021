// Converts a process to the JSON of its row in `processes`, and reads processes from their rows. The row does not contain the spec, which
// is read from the fact that set it. Has the list of the fields of the JSON. Test: test/tables/store/store.test.ts.
import type { DeadQuery } from '../store.ts'
import type { Process } from '../../kernel/model/process.ts'
import { damageError } from '../errors.ts'
import type { DamageLocation } from '../errors.ts'
import { readOwnedFact } from '../journal/journal.ts'
import { checkPageLimit } from './page-limit.ts'
import { checkAscending } from './page-order.ts'
import type { SortKey } from './page-order.ts'
import { checkRow } from './row-lookup.ts'
import type { OwnedFactRow, ProcessRow, Statements } from '../statements.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'

/** The number of rows per page while the live processes are loaded. */
export const LOAD_ROWS = 500

/** The fields that the JSON lacks: the spec is in a fact, and the others have their own columns. */
type FieldsOutsideBody = 'uuid' | 'pid' | 'seq' | 'specSeq' | 'spec'

/** Returns the column `body` of the row, as JSON. It lists all fields, so that a missing field does not compile. A copy would cost more. */
export function rowBodyOf(process: Process): string {
  const { parent, parentUuid, depth, life, signals, progress, usage, queue, clock, containment, handle, checkpoint } = process
  const {
    context,
    sessionId,
    forkOf,
    asks,
    note,
    originUuid,
    originStep,
    originSeq,
    resumedFromStep,
    retiredAt,
    pinned,
    seenAt,
    snooze,
    files,
  } = process
  const { restart, restarts, supervision, compose, crew, keeps, refused } = process
  const { payer, below, settled, calls, metered, direct, warned, wants, liveness } = process
  return JSON.stringify({
    parent,
    parentUuid,
    depth,
    life,
    signals,
    progress,
    usage,
    queue,
    clock,
    containment,
    handle,
    checkpoint,
    context,
    sessionId,
    forkOf,
    asks,
    note,
    originUuid,
    originStep,
    originSeq,
    resumedFromStep,
    retiredAt,
    pinned,
    seenAt,
    snooze,
    files,
    restart,
    restarts,
    supervision,
    compose,
    crew,
    keeps,
    refused,
    payer,
    below,
    settled,
    calls,
    metered,
    direct,
    warned,
    wants,
    liveness,
  } satisfies Record<Exclude<keyof Process, FieldsOutsideBody>, unknown>)
}

/** Returns the same object for equal values, so that a thousand processes of one agent share one prompt. */
export type Intern = <T>(value: T) => T

export function createIntern(): Intern {
  const known = new Map<string, unknown>()
  return <T>(value: T): T => {
    const key = JSON.stringify(value)
    if (!known.has(key)) known.set(key, value)
    return known.get(key) as T
  }
}

export function readProcess(sql: Statements, row: ProcessRow, intern: Intern): Process {
  const location: DamageLocation = { table: 'processes', uuid: row.uuid }
  checkRow(row)
  const spec = readSpec(sql, row)
  const interned = Object.fromEntries(Object.entries(spec).map(([key, value]) => [key, intern(value)])) as unknown as ProcessSpec
  return { ...parseBody(row.body, location), uuid: row.uuid, pid: row.pid, seq: row.seq, specSeq: row.spec_seq, spec: interned } as Process
}

function parseBody(text: string, location: DamageLocation): object {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null) return body
  } catch {
    // Invalid JSON is reported below, like JSON of a wrong type.
  }
  throw damageError(location, 'the body is not a JSON object')
}

function readSpec(sql: Statements, row: ProcessRow): ProcessSpec {
  const location: DamageLocation = { table: 'journal', uuid: row.uuid, seq: row.spec_seq }
  const found = sql.factAt.get(row.spec_cursor) as OwnedFactRow | undefined
  if (found === undefined) throw damageError(location, 'the fact that holds the spec is missing')
  const { uuid, seq, body } = readOwnedFact(sql, found)
  const spec = 'spec' in body ? body.spec : undefined
  if (uuid !== row.uuid || seq !== row.spec_seq || spec === undefined)
    throw damageError(location, 'the fact does not hold the spec of this process')
  return spec
}

export function loadLive(sql: Statements, from: number): { readonly processes: Process[]; readonly next?: number } {
  const intern = createIntern()
  const rows = sql.live.all(from, LOAD_ROWS) as unknown as ProcessRow[]
  const processes = rows.map((row) => readProcess(sql, row, intern))
  checkAscending(
    'processes',
    [from - 1],
    rows.map(({ key }) => [key]),
  )
  const last = rows.at(-1)
  return { processes, ...(last && rows.length === LOAD_ROWS ? { next: last.key + 1 } : {}) }
}

export function readDead(sql: Statements, { limit, before }: DeadQuery): Process[] {
  checkPageLimit(limit)
  const rows = (before === undefined
    ? sql.dead.all(limit)
    : sql.deadBefore.all(before.exitedAt, before.uuid, limit)) as unknown as ProcessRow[]
  const intern = createIntern()
  const processes = rows.map((row) => readProcess(sql, row, intern))
  const keys = rows.map((row): SortKey => [row.exited_at ?? -1, row.uuid])
  // The newest come first: read from its end, the page ascends to the position before it.
  checkAscending('processes', [-Infinity, ''], [...keys.reverse(), ...(before ? [[before.exitedAt, before.uuid]] : [])])
  return processes
}

/** Reads the forks of a process. `pendingProcess` returns the current state of a fork whose row is out of date. */
export function readForks(sql: Statements, uuid: string, limit: number, pendingProcess: (uuid: string) => Process | undefined): Process[] {
  const intern = createIntern()
  return (sql.forks.all(uuid, limit) as unknown as ProcessRow[]).map((row) => pendingProcess(row.uuid) ?? readProcess(sql, row, intern))
}
