// A fact as a line of events.jsonl, and back: the envelope of the public events with all of the body, and a checksum at its end.
// `seq` is the fact's number in its journal, and not the cursor of a store, so that a line is the same in every store.
// Owns that format: nothing of a line that was ever written may change its meaning. Test: test/tables/archive-lines.test.ts.
import { crc32 } from 'node:zlib'
import { KernelError } from '../../kernel/errors.ts'
import { packBody, unpackBody, codeOf } from '../../store/codes.ts'
import { eventTypeOf } from '../events.ts'
import type { Fact, FactBody } from '../../kernel/facts.ts'

const VERSION = 1
/** `,"sum":"01234567"}` */
const TAIL = /^,"sum":"([0-9a-f]{8})"\}$/
const TAIL_BYTES = 18

/** No body may have a field with such a name, but `pid`, which is the same there. */
const ENVELOPE: ReadonlySet<string> = new Set(['version', 'seq', 'uuid', 'at', 'type', 'fact', 'sum'])

/** The line without its newline. */
export function lineOf({ uuid, seq, pid, at, body }: Fact): string {
  const { type: fact, ...rest } = body
  const clash = Object.keys(rest).find((key) => ENVELOPE.has(key) || (key === 'pid' && (rest as { pid?: unknown }).pid !== pid))
  if (clash !== undefined) throw new KernelError('INTERNAL', `fact ${seq} of ${uuid} (${fact}) has a ${clash} that its envelope has, too`)
  const head = JSON.stringify({ version: VERSION, seq, uuid, pid, at: new Date(at).toISOString(), type: eventTypeOf(fact), fact, ...rest }).slice(0, -1)
  return `${head},"sum":"${hex(crc32(head))}"}`
}

/** The fact of a line, or what is wrong with it, as text. */
export function factOf(line: Buffer): Fact | string {
  const [, sum] = TAIL.exec(line.subarray(-TAIL_BYTES).toString('latin1')) ?? []
  if (sum === undefined) return 'it has no checksum at its end'
  const head = line.subarray(0, -TAIL_BYTES)
  if (hex(crc32(head)) !== sum) return 'it is not what was written: its checksum is another'
  let event: unknown
  try {
    event = JSON.parse(`${head.toString('utf8')}}`)
  } catch {
    return 'it is no JSON'
  }
  return typeof event === 'object' && event !== null ? checked(event as Readonly<Record<string, unknown>>) : 'it is no event'
}

/** A checksum says that nothing was changed by chance; what follows, that it is a fact that this version knows. */
function checked({ version, seq, uuid, pid, at, type, fact, ...rest }: Readonly<Record<string, unknown>>): Fact | string {
  if (version !== VERSION) return `its version is ${String(version)}, and this version of reeve knows ${VERSION}`
  const time = typeof at === 'string' ? Date.parse(at) : Number.NaN
  if (!isCount(seq) || !isCount(pid) || typeof uuid !== 'string' || Number.isNaN(time)) return 'it has no seq, uuid, pid and at as they should be'
  if (typeof fact !== 'string' || codeOf(fact) === undefined) return `this version of reeve knows no fact "${String(fact)}"`
  if (type !== eventTypeOf(fact as FactBody['type'])) return `the event of a fact ${fact} is not "${String(type)}"`
  const given = { type: fact, ...rest, ...(HAS_PID.has(fact) ? { pid } : {}) }
  const body = canonical(given as unknown as FactBody)
  if (typeof body === 'string') return body
  if (!same(body, given)) return `its fields are not those of a fact ${fact}`
  return { uuid, seq, pid, at: time, body }
}

const HAS_PID: ReadonlySet<string> = new Set(['process.spawned', 'process.forked', 'process.resumed', 'process.rehydrated'])

/** The body as the store would give it back. */
function canonical(body: FactBody): FactBody | string {
  const { code, values } = packBody(body)
  return unpackBody(code, values)
}

/** The same fields with the same values, in whatever order. */
function same(a: object, b: object): boolean {
  const sorted = (value: object): string => JSON.stringify(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return sorted(a) === sorted(b)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1
}

function hex(sum: number): string {
  return sum.toString(16).padStart(8, '0')
}
