// The SQL statements that the store prepares once and runs often, and the fact row as SQLite's binding returns it. The other files of
// the store run them. Test: test/tables/store/store.test.ts.
import type { DatabaseSync, StatementSync } from 'node:sqlite'

const PROCESS = 'key, uuid, pid, name, live, exited_at, spec_seq, spec_cursor, seq, open, sum, body, forked_from, origin, base, pinned'
const FACT_COLUMNS = 'j.cursor, j.process, j.seq, j.pid, j.at, j.type, j.sum, j.body, j.refs, j.moment'
const TOMBSTONE = 'uuid, pid, name, removed_at, sum, forked_from'
const KEPT_COLUMNS = 'key, uuid, origin, base, upto, sum'
const SPENDER = 'id, uuid, agent, root, seq, state, sum'
const SPENT_COLUMNS = 's.spender, s.hour, s.model, s.steps, s.input, s.output, s.cache_read, s.cache_write, s.usd, s.marks, s.sum'
const FACTS = `SELECT ${FACT_COLUMNS}, p.uuid FROM journal j LEFT JOIN processes p ON p.key = j.process`

/** A row of `journal` as an array in the order of `FACT_COLUMNS`, which SQLite's binding builds in half the time of an object. */
export type FactColumns = readonly [
  cursor: number,
  process: number,
  seq: number,
  pid: number,
  at: number,
  type: number,
  sum: number,
  body: string,
  refs: string | null,
  moment: string | null,
]

/** Finds the processes that have had a PID, even before a resume. The condition must match that of the index `journal_reborn`. */
export const BY_RETIRED_PID = `SELECT DISTINCT p.uuid FROM journal j JOIN processes p ON p.key = j.process
  WHERE j.pid = ? AND (j.type = 1 OR j.type = 12 OR j.type = 13 OR j.type = 48) ORDER BY p.key DESC LIMIT ?`

/** Prepares all statements. */
export function prepareAll(db: DatabaseSync) {
  const sql = (text: string) => db.prepare(text)
  return {
    begin: sql('BEGIN IMMEDIATE'),
    commit: sql('COMMIT'),
    rollback: sql('ROLLBACK'),

    counter: sql('SELECT value, copy FROM meta WHERE name = ?'),
    raise: sql('UPDATE meta SET value = ?, copy = ? WHERE name = ? AND value < ?'),
    newest: sql('SELECT cursor FROM journal ORDER BY cursor DESC LIMIT 1'),
    highestPid: sql('SELECT pid FROM processes ORDER BY pid DESC LIMIT 1'),
    // No key is assigned twice, because facts of a removed process keep its key. A kept process always has a fork with a higher key.
    lastKey: sql('SELECT max(key) AS key FROM (SELECT max(key) AS key FROM processes UNION ALL SELECT max(key) FROM doomed)'),

    addFact: sql('INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    addPlaces: sql('INSERT INTO places VALUES (?, ?, ?, ?)'),
    putPlaces: sql('INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)'),
    addBlob: sql('INSERT INTO blobs (hash, bytes) VALUES (?, ?)'),
    addProcess: sql(`INSERT INTO processes (${PROCESS}, reversed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    // `seq = ?` guards the update: a row that has changed since is not written. `setProcess` touches no index.
    setProcess: sql('UPDATE processes SET seq = ?, open = ?, sum = ?, body = ? WHERE key = ? AND seq = ?'),
    resetProcess: sql(`UPDATE processes SET seq = ?, open = ?, sum = ?, body = ?,
      pid = ?, name = ?, live = ?, exited_at = ?, spec_seq = ?, spec_cursor = ?, pinned = ? WHERE key = ? AND seq = ?`),

    process: sql(`SELECT ${PROCESS} FROM processes WHERE uuid = ?`),
    processOf: sql(`SELECT ${PROCESS} FROM processes WHERE key = ?`),
    live: sql(`SELECT ${PROCESS} FROM processes WHERE live = 1 AND key >= ? ORDER BY key LIMIT ?`),
    processAfter: sql(`SELECT ${PROCESS} FROM processes WHERE key > ? ORDER BY key LIMIT ?`),
    dead: sql(`SELECT ${PROCESS} FROM processes WHERE live = 0 ORDER BY exited_at DESC, uuid DESC LIMIT ?`),
    deadBefore: sql(
      `SELECT ${PROCESS} FROM processes WHERE live = 0 AND (exited_at, uuid) < (?, ?) ORDER BY exited_at DESC, uuid DESC LIMIT ?`,
    ),

    byPid: sql('SELECT uuid FROM processes WHERE pid = ? ORDER BY key DESC LIMIT ?'),
    byRetiredPid: sql(BY_RETIRED_PID),
    byName: sql('SELECT uuid FROM processes WHERE name = ? ORDER BY key DESC LIMIT ?'),
    byPrefix: sql('SELECT uuid FROM processes WHERE uuid >= ? AND uuid < ? ORDER BY uuid LIMIT ?'),
    bySuffix: sql('SELECT uuid FROM processes WHERE reversed >= ? AND reversed < ? ORDER BY reversed LIMIT ?'),

    factAt: sql(`${FACTS} WHERE j.cursor = ?`),
    // `factsBetween` and `factsAt` return rows as `FactColumns`.
    factsBetween: returningArrays(
      sql(
        `SELECT ${FACT_COLUMNS} FROM journal j WHERE j.cursor BETWEEN ? AND ? AND j.process = ? AND j.type NOT IN (SELECT value FROM json_each(?)) ORDER BY j.cursor`,
      ),
    ),
    factsAt: returningArrays(sql(`SELECT ${FACT_COLUMNS} FROM json_each(?) e CROSS JOIN journal j ON j.cursor = e.value`)),
    factsAfter: sql(`${FACTS} WHERE j.cursor > ? AND (p.key IS NOT NULL OR NOT (EXISTS (SELECT 1 FROM doomed d WHERE d.key = j.process)
      OR EXISTS (SELECT 1 FROM kept k WHERE k.key = j.process))) ORDER BY j.cursor LIMIT ?`),
    indexBlock: sql('SELECT entries FROM places WHERE process = ? AND block = ?'),
    indexBlockBefore: sql('SELECT block FROM places WHERE process = ? AND first <= ? ORDER BY block DESC LIMIT 1'),

    blob: sql('SELECT bytes FROM blobs WHERE hash = ?'),
    findBlob: sql('SELECT key FROM blobs WHERE hash = ?'),
    blobAfter: sql('SELECT key, hash, bytes FROM blobs WHERE key > ? ORDER BY key LIMIT 1'),

    addShared: sql('INSERT INTO shared VALUES (?, ?) ON CONFLICT DO UPDATE SET more = more + excluded.more'),
    decrementRefCount: sql('UPDATE shared SET more = more - 1 WHERE blob = ? AND more > 0'),

    wrongRefCounts: sql(`SELECT lower(hex(b.hash)) AS hash, coalesce(u.n, 0) AS named, 1 + coalesce(s.more, 0) AS counted
      FROM blobs b LEFT JOIN shared s ON s.blob = b.key LEFT JOIN (
        SELECT json_extract(r.value, '$[1]') AS hash, count(*) AS n FROM journal j, json_each(j.refs) r WHERE j.refs IS NOT NULL GROUP BY 1
      ) u ON u.hash = lower(hex(b.hash)) WHERE named <> counted LIMIT ?`),
    journalCount: sql('SELECT count(*) AS n FROM journal'),
    ownedCount: sql('SELECT (SELECT coalesce(sum(seq - base), 0) FROM processes) + (SELECT coalesce(sum(upto - base), 0) FROM kept) AS n'),
    pendingDeletionFacts: sql(
      'SELECT count(*) AS n FROM journal j JOIN doomed d ON d.key = j.process LEFT JOIN kept k ON k.key = j.process WHERE j.seq > coalesce(k.upto, 0)',
    ),
    integrity: sql('PRAGMA integrity_check(100)'),
    ...prepareRemoval(sql),
    ...prepareForks(sql),
    ...prepareUsageLedger(sql),
  }
}

/** Prepares the statements of the usage ledger and of the account of the home. */
function prepareUsageLedger(sql: (text: string) => StatementSync) {
  return {
    setMeta: sql('INSERT INTO meta VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value, copy = excluded.copy'),
    spending: sql(`SELECT ${FACT_COLUMNS}, p.uuid FROM journal j JOIN processes p ON p.key = j.process WHERE j.cursor > ? AND j.cursor <= ?
      AND j.type IN (SELECT value FROM json_each(?)) ORDER BY j.cursor`),
    spender: sql(`SELECT ${SPENDER} FROM spenders WHERE uuid = ?`),
    spendersAfter: sql(`SELECT id AS key, ${SPENDER} FROM spenders WHERE id > ? ORDER BY id LIMIT ?`),
    lastSpender: sql('SELECT max(id) AS id FROM spenders'),
    setSpender: sql(`INSERT OR REPLACE INTO spenders (${SPENDER}) VALUES (?, ?, ?, ?, ?, ?, ?)`),
    spentAt: sql(`SELECT ${SPENT_COLUMNS} FROM spent s WHERE s.spender = ? AND s.hour = ? AND s.model = ?`),
    spentAfter:
      sql(`SELECT ${SPENT_COLUMNS}, o.uuid, o.agent, r.uuid AS root_uuid FROM spent s JOIN spenders o ON o.id = s.spender JOIN spenders r ON r.id = o.root
      WHERE (s.spender, s.hour, s.model) > (?, ?, ?) AND s.hour >= ? ORDER BY s.spender, s.hour, s.model LIMIT ?`),
    setSpent: sql('INSERT OR REPLACE INTO spent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    unownedUsage: sql(
      'SELECT count(*) AS n FROM spent s WHERE NOT EXISTS (SELECT 1 FROM spenders o JOIN spenders r ON r.id = o.root WHERE o.id = s.spender)',
    ),
  }
}

/** Prepares the statements for forks, their kept origins, and collectable processes. */
function prepareForks(sql: (text: string) => StatementSync) {
  return {
    forks: sql(`SELECT ${PROCESS} FROM processes WHERE forked_from = ? ORDER BY key DESC LIMIT ?`),
    kept: sql(`SELECT ${KEPT_COLUMNS} FROM kept WHERE key = ?`),
    keptAfter: sql(`SELECT ${KEPT_COLUMNS} FROM kept WHERE key > ? ORDER BY key LIMIT ?`),
    // Returns the number of the last fact of a process that a fork needs; 0 without forks.
    neededUpTo: sql(`SELECT max(coalesce((SELECT max(base) FROM processes WHERE origin = ?1), 0),
      coalesce((SELECT max(base) FROM kept WHERE origin = ?1), 0)) AS upto`),
    setKept: sql(`INSERT OR REPLACE INTO kept (${KEPT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`),
    dropKept: sql('DELETE FROM kept WHERE key = ?'),

    collectable: sql(`SELECT ${PROCESS} FROM processes WHERE live = 0 AND pinned = 0 AND coalesce(exited_at, -1) < ?1
      AND coalesce(exited_at, -1) >= ?2 AND (coalesce(exited_at, -1), uuid) > (?2, ?3) ORDER BY coalesce(exited_at, -1), uuid LIMIT ?4`),
    // Finds kept processes that no fork needs. The result is meaningful only while `doomed` is empty.
    unneededKept:
      sql(`SELECT k.uuid FROM kept k WHERE NOT EXISTS (SELECT 1 FROM doomed) AND NOT EXISTS (SELECT 1 FROM processes p WHERE p.origin = k.key)
      AND NOT EXISTS (SELECT 1 FROM kept f WHERE f.origin = k.key) LIMIT ?`),
    collectableCount: sql('SELECT count(*) AS n FROM processes WHERE live = 0 AND pinned = 0'),
    bytesAt:
      sql(`SELECT coalesce(sum(octet_length(j.body) + coalesce((SELECT sum(json_extract(r.value, '$[2]')) FROM json_each(j.refs) r), 0)), 0) AS bytes
      FROM json_each(?) e CROSS JOIN journal j ON j.cursor = e.value`),
    pages: sql('PRAGMA page_count'),
  }
}

/** Prepares the statements for removals and tombstones. */
function prepareRemoval(sql: (text: string) => StatementSync) {
  return {
    dropProcess: sql('DELETE FROM processes WHERE key = ?'),
    addTombstone: sql(`INSERT INTO tombstones (${TOMBSTONE}, reversed) VALUES (?, ?, ?, ?, ?, ?, ?)`),
    addPendingDeletion: sql('INSERT INTO doomed VALUES (?, ?) ON CONFLICT DO UPDATE SET origin = excluded.origin'),
    pendingDeletions: sql('SELECT key, origin FROM doomed ORDER BY key LIMIT ?'),
    dropPendingDeletion: sql('DELETE FROM doomed WHERE key = ?'),
    lastPlace: sql('SELECT block, entries FROM places WHERE process = ? ORDER BY block DESC LIMIT 1'),
    setPlace: sql('UPDATE places SET entries = ? WHERE process = ? AND block = ?'),
    dropPlace: sql('DELETE FROM places WHERE process = ? AND block = ?'),
    dropFact: sql('DELETE FROM journal WHERE cursor = ? AND process = ? RETURNING refs, length(body) AS size'),
    dropBlob: sql('DELETE FROM blobs WHERE key = ? RETURNING length(bytes) AS size'),
    dropShared: sql('DELETE FROM shared WHERE blob = ?'),
    freePages: sql('PRAGMA freelist_count'),

    tombstoneOf: sql('SELECT 1 AS there FROM tombstones WHERE uuid = ?'),
    dropTombstone: sql('DELETE FROM tombstones WHERE uuid = ?'),
    tombstonesByPid: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE pid = ? LIMIT 1`),
    tombstonesByName: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE name = ? ORDER BY removed_at DESC LIMIT 1`),
    tombstonesByPrefix: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE uuid >= ? AND uuid < ? LIMIT 1`),
    tombstonesBySuffix: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE reversed >= ? AND reversed < ? LIMIT 1`),
    tombstonesOfForks: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE forked_from = ? ORDER BY removed_at DESC, uuid DESC LIMIT ?`),
    tombstonesAfter: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE uuid > ? ORDER BY uuid LIMIT ?`),
  }
}

export type Statements = ReturnType<typeof prepareAll>

function returningArrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true)
  return statement
}
