// Converts a fact to a line of events.jsonl, and back. A line has the envelope of the public events, the whole body, and a checksum. `seq`
// is the number of the fact in its journal. It is not the cursor of a store, which differs from store to store. The meaning of lines that
// were written earlier must never change. Test: test/tables/daemon/archive/event-lines.test.ts.
import { crc32 } from 'node:zlib'
import { KernelError } from '../../kernel/model/errors.ts'
import { packBody, unpackBody, codeOf } from '../../store/journal/fact-codec.ts'
import { packMoment, unpackMoment } from '../../store/journal/moment-codec.ts'
import { eventTypeOf } from '../loop/events.ts'
import type { Fact, FactBody } from '../../kernel/model/facts.ts'
import type { Moment } from '../../kernel/model/moment.ts'

const VERSION = 1
/** Matches the end of a line, which has the checksum: `,"sum":"01234567"}`. */
const TAIL = /^,"sum":"([0-9a-f]{8})"\}$/
const TAIL_BYTES = 18

/** The fields of the envelope, which no body may have. A body may have `pid`, which then has the same value. */
const ENVELOPE_FIELDS: ReadonlySet<string> = new Set(['version', 'seq', 'uuid', 'at', 'type', 'fact', 'moment', 'sum'])

/** Returns the line of a fact, without its newline. Errors: INTERNAL for a body with a field of the envelope. */
export function lineOf({ uuid, seq, pid, at, body, moment }: Fact): string {
  const { type: fact, ...rest } = body
  const clash = Object.keys(rest).find((key) => ENVELOPE_FIELDS.has(key) || (key === 'pid' && (rest as { pid?: unknown }).pid !== pid))
  if (clash !== undefined) throw new KernelError('INTERNAL', `fact ${seq} of ${uuid} (${fact}) has the field ${clash} of its envelope`)
  const head = JSON.stringify({
    version: VERSION,
    seq,
    uuid,
    pid,
    at: new Date(at).toISOString(),
    type: eventTypeOf(fact),
    fact,
    ...(moment ? { moment } : {}),
    ...rest,
  }).slice(0, -1)
  return `${head},"sum":"${hex(crc32(head))}"}`
}

/** Returns the fact of a line; for an invalid line, a text about the error. */
export function factOf(line: Buffer): Fact | string {
  const [, sum] = TAIL.exec(line.subarray(-TAIL_BYTES).toString('latin1')) ?? []
  if (sum === undefined) return 'the line has no checksum at its end'
  const head = line.subarray(0, -TAIL_BYTES)
  if (hex(crc32(head)) !== sum) return 'the line was changed: its checksum does not match'
  let event: unknown
  try {
    event = JSON.parse(`${head.toString('utf8')}}`)
  } catch {
    // The caller reports this text with the number of the line.
    return 'the line is not valid JSON'
  }
  return typeof event === 'object' && event !== null ? factOfEvent(event as Readonly<Record<string, unknown>>) : 'the line is not an event'
}

/**
 * Returns the fact of a parsed line, or a text about its error. The checksum was correct, but the line may be of another version, or
 * handmade.
 */
function factOfEvent({ version, seq, uuid, pid, at, type, fact, moment, ...rest }: Readonly<Record<string, unknown>>): Fact | string {
  if (version !== VERSION) return `its version is ${String(version)}, and this version of reeve knows ${VERSION}`
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  if (!isCount(seq) || !isCount(pid) || typeof uuid !== 'string' || Number.isNaN(time))
    return 'its `seq`, `uuid`, `pid` or `at` is not valid'
  if (typeof fact !== 'string' || codeOf(fact) === undefined) return `this version of reeve knows no fact "${String(fact)}"`
  if (type !== eventTypeOf(fact as FactBody['type'])) return `the event of a fact ${fact} is not "${String(type)}"`
  const fields = { type: fact, ...rest, ...(FACTS_WITH_PID.has(fact) ? { pid } : {}) }
  const body = canonicalBody(fields as unknown as FactBody)
  if (typeof body === 'string') return body
  if (!hasSameFields(body, fields)) return `its fields are not those of a fact ${fact}`
  if (moment === undefined) return { uuid, seq, pid, at: time, body }
  const canonical = canonicalMoment(moment)
  return canonical ? { uuid, seq, pid, at: time, body, moment: canonical } : 'its `moment` is not valid'
}

/** Returns a moment in the form that the store returns; undefined if it is not valid. */
function canonicalMoment(value: unknown): Moment | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const moment = unpackMoment(packMoment(value as Moment))
  return moment && hasSameFields(moment, value) ? moment : undefined
}

/** The facts whose body has a `pid`. */
const FACTS_WITH_PID: ReadonlySet<string> = new Set(['process.spawned', 'process.forked', 'process.resumed', 'process.rehydrated'])

/** Returns a body in the form that the store returns, or a text about its error. */
function canonicalBody(body: FactBody): FactBody | string {
  const { code, values } = packBody(body)
  return unpackBody(code, values)
}

/** True if both objects have the same fields with the same values, in any order. */
function hasSameFields(a: object, b: object): boolean {
  const sorted = (value: object): string => JSON.stringify(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return sorted(a) === sorted(b)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1
}

function hex(sum: number): string {
  return sum.toString(16).padStart(8, '0')
}
