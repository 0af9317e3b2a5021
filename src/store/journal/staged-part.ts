// The parts of a journal that is being imported, whichever engine has it. The imported process is the last part; its origins come before.
// Test: test/tables/store/journal/staging.test.ts.
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { FactRow } from '../rows/row-types.ts'
import { planError } from '../write/commit-plan.ts'
import { encodeBody } from './blobs.ts'
import type { Blob } from './blobs.ts'
import { packBody } from './fact-codec.ts'
import { packMoment } from './moment-codec.ts'

/** The facts of one process in the staged journal. */
export interface StagedPart {
  readonly key: number
  readonly uuid: Uuid
  readonly forkedFrom: Uuid | null
  readonly base: number
  readonly origin: number | null
  seq: number
  lastCursor: number
  specSeq: number
  specCursor: number
  pid: number
  name: string | null
  removedAt: number
}

/** Whether a fact belongs to the last part; otherwise it begins a new one. */
export function continuesPart<T extends StagedPart>(last: T | undefined, { uuid, body }: StoredFact): last is T {
  return last?.uuid === uuid && body.type !== 'process.forked'
}

/** Returns the part that a fact begins, which was forked from the part before. */
export function newPart(key: number, { uuid, body }: StoredFact, before: StagedPart | undefined): StagedPart {
  const base = before?.seq ?? 0
  return {
    key,
    uuid,
    base,
    origin: before?.key ?? null,
    forkedFrom: body.type === 'process.forked' ? body.origin.uuid : null,
    seq: base,
    lastCursor: 0,
    specSeq: 0,
    specCursor: 0,
    pid: 0,
    name: null,
    removedAt: 0,
  }
}

/** Adds the next fact to a part. Returns its row and its long texts. Errors: `INTERNAL` for a gap. */
export function addToPart(part: StagedPart, fact: StoredFact): { readonly row: Omit<FactRow, 'sum'>; readonly blobs: readonly Blob[] } {
  const { cursor, seq, pid, at, body } = fact
  if (seq !== part.seq + 1) throw planError(`Fact ${seq} cannot follow ${part.seq}.`, fact)
  const { code, values } = packBody(body)
  const { body: text, refs, blobs } = encodeBody(values)
  Object.assign(part, { seq, pid, removedAt: at, lastCursor: cursor })
  const spec = 'spec' in body ? body.spec : undefined
  if (spec) Object.assign(part, { specSeq: seq, specCursor: cursor, name: spec.name })
  const moment = fact.moment ? packMoment(fact.moment) : null
  return { row: { cursor, process: part.key, seq, pid, at, type: code, body: text, refs, moment }, blobs }
}

/** Checks that the last part is the journal of the process, which has ended. */
export function checkStagedEnd<T extends StagedPart>(last: T | undefined, process: Process): T {
  if (last === undefined || last.uuid !== process.uuid || last.seq !== process.seq)
    throw planError('The staged journal belongs to another process.', process)
  if (process.life.state !== 'dead') throw planError('Only an ended process can be staged.', process)
  return last
}
