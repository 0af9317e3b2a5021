// The tables of the store on PostgreSQL, in the schema `reeve` of the database. Only this file has their definitions.
// Test: test/processes/postgres/store-opening.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { PostgresConnection } from './connection.ts'
import { isDuplicate } from './errors.ts'

/**
 * The tables, by migration.
 *
 * `shard` has one row. It names the writer: `inc` counts the take-overs, and `nonce` is a random name. `head` is the number of writes,
 * without a gap. Each write changes this row, and writes nothing if it does not match. `settled` is the cursor up to which no row of
 * `process` lacks a fact. `spent` is the cursor up to which the usage ledger has counted.
 *
 * `process` has one row per process. `live` is 0 for an ended process. No two living processes have the same name. Names and other free
 * texts are escaped like JSON, because PostgreSQL stores neither NUL nor half of a surrogate pair.
 * `fact` has the facts by process. `step` is the step of `model.started`. `blob` has the long texts, with the number of their references.
 * `tombstone`, `doomed` and `kept` are about removed processes: their identity, the facts to sweep, and the facts that forks need.
 * `sum` is the checksum over the other columns of a row, as in the store on SQLite.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE reeve.process (
     key bigint PRIMARY KEY, uuid text COLLATE "C" NOT NULL UNIQUE, reversed text COLLATE "C" NOT NULL, pid bigint NOT NULL,
     name text COLLATE "C", live smallint NOT NULL, exited_at bigint, spec_seq bigint NOT NULL, spec_cursor bigint NOT NULL,
     seq bigint NOT NULL, sum bigint NOT NULL, body text NOT NULL, forked_from text COLLATE "C", origin bigint,
     base bigint NOT NULL, pinned smallint NOT NULL
   ) WITH (fillfactor = 70);
   CREATE UNIQUE INDEX process_living_name ON reeve.process (name) WHERE live = 1;
   CREATE INDEX process_live ON reeve.process (key) WHERE live = 1;
   CREATE INDEX process_dead ON reeve.process (exited_at, uuid) WHERE live = 0;
   CREATE INDEX process_collectable ON reeve.process (coalesce(exited_at, -1), uuid) WHERE live = 0 AND pinned = 0;
   CREATE INDEX process_pid ON reeve.process (pid);
   CREATE INDEX process_name ON reeve.process (name, key);
   CREATE INDEX process_reversed ON reeve.process (reversed);
   CREATE INDEX process_forked ON reeve.process (forked_from, key) WHERE forked_from IS NOT NULL;
   CREATE INDEX process_origin ON reeve.process (origin, base) WHERE origin IS NOT NULL;
   CREATE TABLE reeve.fact (
     process bigint NOT NULL, seq bigint NOT NULL, cursor bigint NOT NULL, pid bigint NOT NULL, at bigint NOT NULL, type smallint NOT NULL,
     sum bigint NOT NULL, step bigint, body text NOT NULL, refs text, moment text, PRIMARY KEY (process, seq)
   ) WITH (toast_tuple_target = 8160);
   CREATE UNIQUE INDEX fact_cursor ON reeve.fact (cursor);
   CREATE INDEX fact_step ON reeve.fact (process, step, seq) WHERE step IS NOT NULL;
   CREATE INDEX fact_reborn ON reeve.fact (pid) WHERE type IN (1, 12, 13, 48);
   CREATE TABLE reeve.blob (hash bytea PRIMARY KEY, bytes bytea NOT NULL, refs bigint NOT NULL);
   CREATE TABLE reeve.tombstone (
     uuid text COLLATE "C" PRIMARY KEY, reversed text COLLATE "C" NOT NULL, pid bigint NOT NULL, name text COLLATE "C",
     removed_at bigint NOT NULL, sum bigint NOT NULL, forked_from text COLLATE "C"
   );
   CREATE INDEX tombstone_reversed ON reeve.tombstone (reversed);
   CREATE INDEX tombstone_pid ON reeve.tombstone (pid);
   CREATE INDEX tombstone_name ON reeve.tombstone (name, removed_at) WHERE name IS NOT NULL;
   CREATE INDEX tombstone_forked ON reeve.tombstone (forked_from, removed_at) WHERE forked_from IS NOT NULL;
   CREATE TABLE reeve.doomed (key bigint PRIMARY KEY, origin bigint);
   CREATE TABLE reeve.kept (
     key bigint PRIMARY KEY, uuid text COLLATE "C" NOT NULL, origin bigint, base bigint NOT NULL, upto bigint NOT NULL, sum bigint NOT NULL
   );
   CREATE INDEX kept_origin ON reeve.kept (origin, base) WHERE origin IS NOT NULL;
   CREATE TABLE reeve.spender (
     id bigint PRIMARY KEY, uuid text COLLATE "C" NOT NULL UNIQUE, agent text NOT NULL, root bigint NOT NULL, seq bigint NOT NULL,
     state text NOT NULL, sum bigint NOT NULL
   );
   CREATE TABLE reeve.spent (
     spender bigint NOT NULL, hour bigint NOT NULL, model text COLLATE "C" NOT NULL, steps bigint NOT NULL, input bigint NOT NULL,
     output bigint NOT NULL, cache_read bigint NOT NULL, cache_write bigint NOT NULL, usd double precision NOT NULL, marks smallint NOT NULL,
     sum bigint NOT NULL, PRIMARY KEY (spender, hour, model)
   );
   CREATE TABLE reeve.setting (name text COLLATE "C" PRIMARY KEY, value text NOT NULL, sum bigint NOT NULL)`,
]

/** The schema version that this code writes. */
const POSTGRES_SCHEMA_VERSION = MIGRATIONS.length

/** Creates the shard and the columns that `takeOver` needs. They never change, so that every version can read the schema's version. */
const SHARD = `CREATE SCHEMA IF NOT EXISTS reeve;
   CREATE TABLE IF NOT EXISTS reeve.shard (
     id smallint PRIMARY KEY, version integer NOT NULL, inc bigint NOT NULL, nonce text NOT NULL, head bigint NOT NULL, pid bigint NOT NULL,
     cursor bigint NOT NULL, last_key bigint NOT NULL, settled bigint NOT NULL, spent bigint NOT NULL
   ) WITH (fillfactor = 50);
   INSERT INTO reeve.shard VALUES (1, 0, 0, '', 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING`

/** The row of `shard` right after the take-over. */
export interface ShardRow {
  readonly inc: number
  readonly nonce: string
  readonly head: number
  readonly pid: number
  readonly cursor: number
  readonly last_key: number
  readonly settled: number
}

/**
 * Creates or migrates the tables, and takes the store over: from then on the writer before writes nothing. Errors: `STORE_NEWER`, which
 * takes nothing over; those of the driver.
 */
export async function takeOver(connection: PostgresConnection, nonce: string): Promise<ShardRow> {
  const [known] = await connection.query<{ shard: string | null }>({ text: "SELECT to_regclass('reeve.shard')::text AS shard" })
  if ((known?.shard ?? null) === null) await createShard(connection)
  // A daemon that stops in the middle must not block the one before for ever.
  await connection.query({ text: "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'" })
  try {
    const [found] = await connection.query<{ version: number }>({ text: 'SELECT version FROM reeve.shard WHERE id = 1 FOR UPDATE' })
    const version = found?.version ?? 0
    if (version > POSTGRES_SCHEMA_VERSION) {
      throw new KernelError('STORE_NEWER', `The database has schema ${version}; this version knows ${POSTGRES_SCHEMA_VERSION}.`, {
        schema: version,
        known: POSTGRES_SCHEMA_VERSION,
      })
    }
    for (const sql of MIGRATIONS.slice(version)) await connection.query({ text: sql })
    const [row] = await connection.query<ShardRow>({
      text: `UPDATE reeve.shard SET version = $1, inc = inc + 1, nonce = $2 WHERE id = 1
        RETURNING inc, nonce, head, pid, cursor, last_key, settled`,
      values: [POSTGRES_SCHEMA_VERSION, nonce],
    })
    await connection.query({ text: 'COMMIT' })
    if (row === undefined) throw new KernelError('STORE_DAMAGED', 'the row of reeve.shard is missing')
    return row
  } catch (error) {
    if (!connection.isLost)
      await connection.query({ text: 'ROLLBACK' }).catch(() => {
        // The server rolls back when the connection is gone.
      })
    throw error
  }
}

/** Creates the shard. Of two daemons that do it at once, the slower one gets an error of a name that exists, and finds the shard. */
async function createShard(connection: PostgresConnection): Promise<void> {
  try {
    await connection.query({ text: SHARD })
  } catch (error) {
    if (!isDuplicate(error)) throw error
    await connection.query({ text: SHARD })
  }
}
