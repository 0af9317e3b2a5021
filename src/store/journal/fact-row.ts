// Reads a fact from its row, whichever engine has it: checks the checksum, and restores the body, its long texts and the moment.
// Test: test/tables/store/store.test.ts, test/tables/store/rows/damage.test.ts.
import type { FactBody, StoredFact } from '../../kernel/model/facts.ts'
import { restoreTexts } from './blobs.ts'
import type { ReadBlob } from './blobs.ts'
import { unpackBody } from './fact-codec.ts'
import { damageError } from '../errors.ts'
import type { DamageLocation } from '../errors.ts'
import { unpackMoment } from './moment-codec.ts'
import { factSum } from '../rows/checksums.ts'
import { checkAscending } from '../rows/page-order.ts'
import type { FactRow } from '../rows/row-types.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** Returns the fact of a row. `readBlob` returns the long texts; null: they stay empty. Errors: `STORE_DAMAGED`. */
export function readFactRow(readBlob: ReadBlob | null, row: FactRow, uuid: Uuid): StoredFact {
  const { cursor, seq, pid, at } = row
  const location: DamageLocation = { table: 'journal', uuid, seq, cursor }
  if (factSum(row) !== row.sum) throw damageError(location, 'the row is damaged')
  const fact = { cursor, uuid, seq, pid, at, body: readBody(readBlob, row, location) }
  if (row.moment === null) return fact
  const moment = unpackMoment(row.moment)
  if (moment === undefined) throw damageError(location, 'the moment of the process cannot be read')
  return { ...fact, moment }
}

function readBody(readBlob: ReadBlob | null, row: FactRow, location: DamageLocation): FactBody {
  const values = parseBody(row.body, location)
  if (row.refs !== null && readBlob !== null) restoreTexts(readBlob, values, row.refs, location)
  const body = unpackBody(row.type, values)
  if (typeof body === 'string') throw damageError(location, body)
  return body
}

function parseBody(text: string, location: DamageLocation): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw damageError(location, 'the body is not JSON')
  }
}

/** Checks a page of all facts after a cursor: the cursors ascend, and the facts of each process follow without a gap. */
export function checkStorePage(afterCursor: number, facts: readonly StoredFact[]): void {
  const last = new Map<Uuid, number>()
  for (const { uuid, seq } of facts) {
    const before = last.get(uuid)
    if (before !== undefined && seq !== before + 1) throw damageError({ table: 'journal', uuid, seq: before + 1 }, 'the fact is missing')
    last.set(uuid, seq)
  }
  checkAscending(
    'journal',
    [afterCursor],
    facts.map(({ cursor }) => [cursor]),
  )
}
