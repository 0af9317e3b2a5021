// Reads rows of `processes` and `kept` and checks their checksums, so that no damaged row is used.
// Test: test/tables/store/rows/damage.test.ts, test/tables/store/journal/lineage.test.ts.
import { damageError } from '../errors.ts'
import type { KeptRow, ProcessRow } from './row-types.ts'
import type { Statements } from '../statements.ts'
import { keptSum, processSum } from './checksums.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** Returns the row of a process; undefined if there is none. */
export function findRow(sql: Statements, uuid: Uuid): ProcessRow | undefined {
  const row = sql.process.get(uuid) as ProcessRow | undefined
  return row === undefined ? undefined : checkRow(row)
}

export function checkRow(row: ProcessRow): ProcessRow {
  if (processSum(row) !== row.sum) throw damageError({ table: 'processes', uuid: row.uuid }, 'the row is damaged')
  return row
}

/** Returns the row of a removed process whose facts are kept; undefined if there is none. */
export function findKept(sql: Statements, key: number): KeptRow | undefined {
  const row = sql.kept.get(key) as KeptRow | undefined
  return row === undefined ? undefined : checkKept(row)
}

export function checkKept(row: KeptRow): KeptRow {
  if (keptSum(row) !== row.sum) throw damageError({ table: 'kept', uuid: row.uuid }, 'the row is damaged')
  return row
}
