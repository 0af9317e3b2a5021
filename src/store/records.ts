// Rows of processes and of what is kept of removed ones, their sums checked: none that is not what was written gets out of here.
// Test: test/tables/store-damage.test.ts, test/tables/store-fork.test.ts.
import type { Uuid } from '../kernel/types.ts'
import { damaged } from './errors.ts'
import type { KeptRow, ProcessRow, Statements } from './statements.ts'
import { keptSum, processSum } from './sums.ts'

export function findRow(sql: Statements, uuid: Uuid): ProcessRow | undefined {
  const row = sql.process.get(uuid) as ProcessRow | undefined
  return row === undefined ? undefined : checkRow(row)
}

export function checkRow(row: ProcessRow): ProcessRow {
  if (processSum(row) !== row.sum) throw damaged({ table: 'processes', uuid: row.uuid }, 'the row is not what was written')
  return row
}

export function findKept(sql: Statements, key: number): KeptRow | undefined {
  const row = sql.kept.get(key) as KeptRow | undefined
  return row === undefined ? undefined : checkKept(row)
}

export function checkKept(row: KeptRow): KeptRow {
  if (keptSum(row) !== row.sum) throw damaged({ table: 'kept', uuid: row.uuid }, 'the row is not what was written')
  return row
}
