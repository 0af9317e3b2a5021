// What is remembered of removed processes: who they were and when they went, so that they are told apart from what never was.
// A tombstone is checked when it is read, as every record is. Test: test/tables/store-remove.test.ts.
import { damaged } from './errors.ts'
import { partOf } from './rows.ts'
import type { Statements, TombstoneRow } from './statements.ts'
import type { Tombstone } from './store.ts'
import { tombstoneSum } from './sums.ts'

/** By PID, else by name, else by a part of the UUID, as for processes that are there. */
export function findTombstone(sql: Statements, ref: string): Tombstone | undefined {
  const row = byPid(sql, ref) ?? sql.tombstonesByName.get(ref) ?? byPart(sql, ref)
  return row === undefined ? undefined : checkTombstone(row as unknown as TombstoneRow)
}

/** The removed forks of a process, those that went last first. */
export function removedForks(sql: Statements, uuid: string, limit: number): Tombstone[] {
  return (sql.tombstonesOfForks.all(uuid, limit) as unknown as TombstoneRow[]).map(checkTombstone)
}

export function checkTombstone(row: TombstoneRow): Tombstone {
  const { uuid, pid, name, removed_at: removedAt, forked_from: originUuid } = row
  if (tombstoneSum(row) !== row.sum) throw damaged({ table: 'tombstones', uuid }, 'the row is not what was written')
  return { uuid, pid, name, removedAt, originUuid }
}

type Row = Readonly<Record<string, unknown>> | undefined

function byPid(sql: Statements, ref: string): Row {
  return /^\d{1,15}$/.test(ref) ? sql.tombstonesByPid.get(Number(ref)) : undefined
}

function byPart(sql: Statements, ref: string): Row {
  const part = partOf(ref)
  return part === null ? undefined : (sql.tombstonesByPrefix.get(...part.prefix) ?? sql.tombstonesBySuffix.get(...part.suffix))
}
