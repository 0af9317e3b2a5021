// Lists the ended processes that garbage collection may remove, and reads the size of the store, on PostgreSQL. Must never fail because of
// one row: a damaged row is listed with a warning. Test: test/tables/store/collectable.test.ts.
import { ROW_BYTES, FACT_BYTES, NO_EXIT_TIME, SAMPLE_FACTS } from '../collectable.ts'
import { checkPageLimit } from '../rows/page-limit.ts'
import { createIntern } from '../rows/process-body.ts'
import type { Collectable, CollectableQuery, StoreSize } from '../store.ts'
import { postgresError } from './errors.ts'
import { loadBlobs } from './facts.ts'
import type { Reader } from './connection.ts'
import { processOf } from './processes.ts'
import { PROCESS_COLUMNS, SPEC_COLUMNS, specRowOf, unescapeOrNull } from './rows.ts'
import type { RowWithSpec } from './rows.ts'

/** The size of the last facts of a process. */
interface SampleColumns {
  readonly sampled: number
  readonly bytes: number
}

export async function readCollectable(reader: Reader, { limit, before, after }: CollectableQuery): Promise<Collectable[]> {
  checkPageLimit(limit)
  const from = after === undefined ? [NO_EXIT_TIME - 1, ''] : [after.exitedAt ?? NO_EXIT_TIME, after.uuid]
  const rows = await reader.read<RowWithSpec & SampleColumns>('The collectable processes', {
    text: `SELECT ${PROCESS_COLUMNS}, ${SPEC_COLUMNS}, s.sampled, s.bytes FROM reeve.process p
      LEFT JOIN reeve.fact f ON f.process = p.key AND f.seq = p.spec_seq,
      LATERAL (SELECT count(*) AS sampled, coalesce(sum(octet_length(l.body) + coalesce(
          (SELECT sum((r ->> 2)::bigint) FROM json_array_elements(l.refs::json) r), 0)), 0)::bigint AS bytes
        FROM (SELECT body, refs FROM reeve.fact j WHERE j.process = p.key ORDER BY j.seq DESC LIMIT ${SAMPLE_FACTS}) l) s
      WHERE p.live = 0 AND p.pinned = 0 AND coalesce(p.exited_at, -1) < $1 AND (coalesce(p.exited_at, -1), p.uuid) > ($2, $3)
      ORDER BY coalesce(p.exited_at, -1), p.uuid LIMIT $4`,
    values: [Number.isFinite(before) ? Math.ceil(before ?? 0) : Number.MAX_SAFE_INTEGER, ...from, limit],
  })
  const readBlob = await loadBlobs(reader, rows.map(specRowOf))
  return rows.map((row) => {
    const { uuid, pid, exited_at: exitedAt } = row
    const name = unescapeOrNull(row.name)
    try {
      processOf(row, readBlob, createIntern())
      return { uuid, pid, name, exitedAt, bytes: sizeOf(row), warning: exitedAt === null ? 'it has no exit time' : null }
    } catch (error) {
      return { uuid, pid, name, exitedAt, bytes: null, warning: postgresError(error, 'it cannot be read').message }
    }
  })
}

/** Estimates the size of a process's own facts in bytes, from the average size of its last ones. */
function sizeOf({ sampled, bytes, seq, base, body }: RowWithSpec & SampleColumns): number {
  return Math.round((bytes / Math.max(1, sampled) + FACT_BYTES) * (seq - base) + body.length + ROW_BYTES)
}

export async function readSize(reader: Reader): Promise<StoreSize> {
  const [row] = await reader.read<{ bytes: number; dead: number }>('The size of the store', {
    text: `SELECT (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'reeve' AND c.relkind = 'r') AS bytes,
      (SELECT count(*) FROM reeve.process WHERE live = 0 AND pinned = 0) AS dead`,
  })
  return { bytes: row?.bytes ?? 0, freeBytes: 0, dead: row?.dead ?? 0 }
}
