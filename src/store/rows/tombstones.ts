// A tombstone records the identity of a removed process, and the time of its removal. It distinguishes a removed process from an unknown
// one. A tombstone is checked when it is read, like every row. Test: test/tables/store/write/remove.test.ts.
import { damageError } from '../errors.ts'
import { uuidPartRanges } from './references.ts'
import type { TombstoneRow } from './row-types.ts'
import type { Statements } from '../statements.ts'
import type { Tombstone } from '../store.ts'
import { tombstoneSum } from './checksums.ts'

/** Resolves a reference by PID, then by name, then by a part of the UUID, as for existing processes. */
export function findTombstone(sql: Statements, ref: string): Tombstone | undefined {
  const row = byPid(sql, ref) ?? sql.tombstonesByName.get(ref) ?? byPart(sql, ref)
  return row === undefined ? undefined : checkTombstone(row as unknown as TombstoneRow)
}

/** Returns the removed forks of a process; the last one removed comes first. */
export function removedForks(sql: Statements, uuid: string, limit: number): Tombstone[] {
  return (sql.tombstonesOfForks.all(uuid, limit) as unknown as TombstoneRow[]).map(checkTombstone)
}

export function checkTombstone(row: TombstoneRow): Tombstone {
  const { uuid, pid, name, removed_at: removedAt, forked_from: originUuid } = row
  if (tombstoneSum(row) !== row.sum) throw damageError({ table: 'tombstones', uuid }, 'the row is damaged')
  return { uuid, pid, name, removedAt, originUuid }
}

type Row = Readonly<Record<string, unknown>> | undefined

function byPid(sql: Statements, ref: string): Row {
  return /^\d{1,15}$/.test(ref) ? sql.tombstonesByPid.get(Number(ref)) : undefined
}

function byPart(sql: Statements, ref: string): Row {
  const part = uuidPartRanges(ref)
  return part === null ? undefined : (sql.tombstonesByPrefix.get(...part.prefix) ?? sql.tombstonesBySuffix.get(...part.suffix))
}
