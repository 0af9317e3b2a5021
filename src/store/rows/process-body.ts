// Converts a process to the JSON of its row, and back, whichever engine has it. The row does not contain the spec, which is in the fact
// that set it. Has the list of the fields of the JSON. Test: test/tables/store/store.test.ts.
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'
import type { Process } from '../../kernel/model/process.ts'
import { damageError } from '../errors.ts'
import type { DamageLocation } from '../errors.ts'
import type { ProcessRow } from './row-types.ts'

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

/** Returns the process of a checked row and its spec. */
export function processOfRow(row: ProcessRow, spec: ProcessSpec, intern: Intern): Process {
  const interned = Object.fromEntries(Object.entries(spec).map(([key, value]) => [key, intern(value)])) as unknown as ProcessSpec
  const body = parseBody(row.body, { table: 'processes', uuid: row.uuid })
  return { ...body, uuid: row.uuid, pid: row.pid, seq: row.seq, specSeq: row.spec_seq, spec: interned } as Process
}

/** Returns the spec of a process from the fact that set it. Errors: `STORE_DAMAGED` for another fact. */
export function specOfFact(row: ProcessRow, { uuid, seq, body }: StoredFact): ProcessSpec {
  const spec = 'spec' in body ? body.spec : undefined
  if (uuid !== row.uuid || seq !== row.spec_seq || spec === undefined)
    throw damageError({ table: 'journal', uuid: row.uuid, seq: row.spec_seq }, 'the fact does not hold the spec of this process')
  return spec
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
