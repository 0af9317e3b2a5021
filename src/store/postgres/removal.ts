// Removes dead processes on PostgreSQL, as remove.ts does on SQLite. One statement deletes the row and adds a tombstone; sweeps delete
// the facts in limited batches. Facts that forks need stay until the last of these forks is gone.
// Tests: test/tables/store/write/remove.test.ts, test/properties/store.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import { damageError } from '../errors.ts'
import { hashesOf } from '../journal/blobs.ts'
import { Parameters } from './parameters.ts'
import { keptSum, tombstoneSum } from '../rows/checksums.ts'
import { reverseDigits } from '../rows/references.ts'
import type { KeptRow, ProcessRow } from '../rows/row-types.ts'
import type { Write } from './fence.ts'
import { readKept, readRow } from './journals.ts'
import { escapeText, unnest } from './rows.ts'
import type { PostgresWriter } from './writer.ts'

/** The maximum number of facts that one statement removes. */
const SWEEP_FACTS = 256

export class PostgresRemover {
  readonly #writer: PostgresWriter
  readonly #protectedKeys = new Set<number>()

  constructor(writer: PostgresWriter) {
    this.#writer = writer
  }

  /** Removes a process. Returns false if there is no such process. Errors: `CONFLICT` if it is not dead. The caller has the turn. */
  async remove(uuid: Uuid, at: number): Promise<boolean> {
    const row = await readRow(this.#writer.reader, uuid)
    if (row === undefined) return false
    if (row.live !== 0) throw new KernelError('CONFLICT', `process ${row.pid} has not ended`)
    const parameters = new Parameters()
    const key = parameters.add(row.key)
    const statements = [
      `DELETE FROM reeve.process WHERE key = ${key}::bigint AND EXISTS (SELECT FROM f)`,
      addTombstone(parameters, tombstoneOf(row, at)),
      ...(await this.#keepForForks(parameters, row, row.seq)),
    ]
    await this.#writer.fence.write(`The removal of ${uuid}`, { statements, values: parameters.values })
    this.#writer.heads.forget(uuid)
    return true
  }

  /** Protects the key of a running import, which must not be swept yet. */
  protect(key: number): void {
    this.#protectedKeys.add(key)
  }

  /** Ends the protection of an import's keys: keys that are still marked are swept. */
  release(keys: readonly number[]): void {
    for (const key of keys) this.#protectedKeys.delete(key)
  }

  /** Does one limited step. Returns false when nothing is left to do. The caller has the turn. */
  async sweep(): Promise<boolean> {
    const [next] = await this.#writer.reader.read<{ key: number; origin: number | null; living: boolean }>('The removed processes', {
      text: `SELECT d.key, d.origin, EXISTS (SELECT FROM reeve.process p WHERE p.key = d.key) AS living FROM reeve.doomed d
        WHERE d.key <> ALL($1::bigint[]) ORDER BY d.key LIMIT 1`,
      values: [[...this.#protectedKeys]],
    })
    if (next === undefined) return false
    const { key, origin, living } = next
    if (living) throw damageError({ table: 'processes' }, `the process with the key ${key} exists, but is marked as removed`)
    const kept = await readKept(this.#writer.reader, key)
    const facts = await this.#writer.reader.read<{ seq: number; cursor: number; refs: string | null }>('The facts to sweep', {
      text: 'SELECT seq, cursor, refs FROM reeve.fact WHERE process = $1 AND seq > $2 ORDER BY seq DESC LIMIT $3',
      values: [key, kept?.upto ?? 0, SWEEP_FACTS],
    })
    const last = facts.at(-1)
    const write = last === undefined ? await this.#finish(key, kept === undefined ? origin : null) : removeFacts(key, last.seq, facts)
    await this.#writer.fence.write('The sweep of removed processes', write)
    return true
  }

  /** Ends the sweep of a process. If its origin was kept only for it, the origin's facts are marked for deletion. */
  async #finish(key: number, origin: number | null): Promise<Write> {
    const parameters = new Parameters()
    const statements = [`DELETE FROM reeve.doomed WHERE key = ${parameters.add(key)}::bigint AND EXISTS (SELECT FROM f)`]
    const kept = origin === null ? undefined : await readKept(this.#writer.reader, origin)
    if (kept !== undefined) statements.push(...(await this.#keepForForks(parameters, kept, kept.upto)))
    return { statements, values: parameters.values }
  }

  /** Returns statements that keep the facts that forks need, and mark the others, up to `last`, for deletion. */
  async #keepForForks(parameters: Parameters, process: Omit<KeptRow, 'upto' | 'sum'>, last: number): Promise<string[]> {
    const { key, uuid, base, origin } = process
    const [needed] = await this.#writer.reader.read<{ upto: number }>('The forks', {
      text: `SELECT greatest((SELECT max(base) FROM reeve.process WHERE origin = $1), (SELECT max(base) FROM reeve.kept WHERE origin = $1), 0) AS upto`,
      values: [key],
    })
    const upto = needed?.upto ?? 0
    const kept = { key, uuid, base, origin, upto }
    const drop = (): string => `DELETE FROM reeve.kept WHERE key = ${parameters.add(key)}::bigint AND EXISTS (SELECT FROM f)`
    const statements = [upto > 0 ? addKept(parameters, kept) : drop()]
    return upto === last ? statements : [...statements, addDoomed(parameters, key, upto > 0 ? null : origin)]
  }
}

export function addDoomed(parameters: Pick<Parameters, 'add'>, key: number, origin: number | null): string {
  return `INSERT INTO reeve.doomed SELECT ${parameters.add(key)}::bigint, ${parameters.add(origin)}::bigint FROM f
    ON CONFLICT (key) DO UPDATE SET origin = excluded.origin`
}

export function addKept(parameters: Pick<Parameters, 'add'>, row: Omit<KeptRow, 'sum'>): string {
  const { key, uuid, origin, base, upto } = row
  const [p1, p2, p3] = [parameters.add(key), parameters.add(uuid), parameters.add(origin)]
  const [p4, p5, p6] = [parameters.add(base), parameters.add(upto), parameters.add(keptSum(row))]
  return `INSERT INTO reeve.kept (key, uuid, origin, base, upto, sum)
    SELECT ${p1}::bigint, ${p2}::text, ${p3}::bigint, ${p4}::bigint, ${p5}::bigint, ${p6}::bigint FROM f
    ON CONFLICT (key) DO UPDATE SET uuid = excluded.uuid, origin = excluded.origin, base = excluded.base, upto = excluded.upto, sum = excluded.sum`
}

/** The identity of a removed process. */
interface NewTombstone {
  readonly uuid: Uuid
  readonly pid: number
  readonly name: string | null
  readonly removedAt: number
  readonly forkedFrom: Uuid | null
}

function tombstoneOf({ uuid, pid, name, forked_from: forkedFrom }: ProcessRow, removedAt: number): NewTombstone {
  return { uuid, pid, name, removedAt, forkedFrom }
}

export function addTombstone(parameters: Pick<Parameters, 'add'>, { uuid, pid, name, removedAt, forkedFrom }: NewTombstone): string {
  const sum = tombstoneSum({ uuid, pid, name, removed_at: removedAt, forked_from: forkedFrom })
  const [p1, p2, p3] = [parameters.add(uuid), parameters.add(reverseDigits(uuid)), parameters.add(pid)]
  const [p4, p5] = [parameters.add(name === null ? null : escapeText(name)), parameters.add(removedAt)]
  const [p6, p7] = [parameters.add(sum), parameters.add(forkedFrom)]
  return `INSERT INTO reeve.tombstone (uuid, reversed, pid, name, removed_at, sum, forked_from)
    SELECT ${p1}::text, ${p2}::text, ${p3}::bigint, ${p4}::text, ${p5}::bigint, ${p6}::bigint, ${p7}::text FROM f`
}

/** Removes the facts from `firstSeq` on, and their references to long texts. A text goes with its last reference. */
function removeFacts(key: number, firstSeq: number, facts: readonly { readonly cursor: number; readonly refs: string | null }[]): Write {
  const uses = new Map<string, number>()
  for (const { refs, cursor } of facts)
    for (const sha of refs === null ? [] : hashesOf(refs, { table: 'journal', cursor })) uses.set(sha, (uses.get(sha) ?? 0) + 1)
  const counts = `${unnest(6, ['bytea', 'bigint'])} AS u(hash, uses)`
  const blobs =
    uses.size === 0
      ? []
      : [
          `DELETE FROM reeve.blob b USING f, ${counts} WHERE b.hash = u.hash AND b.refs <= u.uses`,
          `UPDATE reeve.blob b SET refs = b.refs - u.uses FROM f, ${counts} WHERE b.hash = u.hash AND b.refs > u.uses`,
        ]
  return {
    statements: ['DELETE FROM reeve.fact WHERE process = $4::bigint AND seq >= $5::bigint AND EXISTS (SELECT FROM f)', ...blobs],
    values: [key, firstSeq, ...(uses.size === 0 ? [] : [[...uses.keys()].map((sha) => Buffer.from(sha, 'hex')), [...uses.values()]])],
  }
}
