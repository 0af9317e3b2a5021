// The statements of the store, prepared once and kept, with the rows that they give.
// Owns the SQL; who runs it is commit.ts, rows.ts, journal.ts, blobs.ts and verify.ts. Test: test/tables/store.test.ts.
import type { DatabaseSync, StatementSync } from 'node:sqlite'

const PROCESS = 'key, uuid, pid, name, live, exited_at, spec_seq, spec_cursor, seq, open, sum, body'
const FACT = 'j.cursor, j.process, j.seq, j.pid, j.at, j.type, j.sum, j.body, j.refs'
const TOMBSTONE = 'uuid, pid, name, removed_at, sum'
const FACTS = `SELECT ${FACT}, p.uuid FROM journal j LEFT JOIN processes p ON p.key = j.process`

/** A row of `processes` as the database gives it; its `sum` is checked before any of it is believed. */
export interface ProcessRow {
  readonly key: number
  readonly uuid: string
  readonly pid: number
  readonly name: string | null
  readonly live: number
  readonly exited_at: number | null
  readonly spec_seq: number
  readonly spec_cursor: number
  readonly seq: number
  readonly open: string
  readonly sum: number
  readonly body: string
}

/** A row of `tombstones`. */
export interface TombstoneRow {
  readonly uuid: string
  readonly pid: number
  readonly name: string | null
  readonly removed_at: number
  readonly sum: number
}

/** A row of `journal`. */
export interface FactRow {
  readonly cursor: number
  readonly process: number
  readonly seq: number
  readonly pid: number
  readonly at: number
  readonly type: number
  readonly sum: number
  readonly body: string
  readonly refs: string | null
}

/** A row of `journal` with its process; `uuid` is null when that is not there. */
export interface OwnedFactRow extends FactRow {
  readonly uuid: string | null
}

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
    // A doomed process's facts still have its key: nobody else may get it.
    lastKey: sql('SELECT max((SELECT coalesce(max(key), 0) FROM processes), (SELECT coalesce(max(key), 0) FROM doomed)) AS key'),

    addFact: sql('INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    addPlaces: sql('INSERT INTO places VALUES (?, ?, ?, ?)'),
    addBlob: sql('INSERT INTO blobs (hash, bytes) VALUES (?, ?)'),
    addProcess: sql(`INSERT INTO processes (${PROCESS}, reversed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    // `seq = ?` is the fence: a row that somebody else moved is not written. The first form touches no index.
    setProcess: sql('UPDATE processes SET seq = ?, open = ?, sum = ?, body = ? WHERE key = ? AND seq = ?'),
    resetProcess: sql(`UPDATE processes SET seq = ?, open = ?, sum = ?, body = ?,
      pid = ?, name = ?, live = ?, exited_at = ?, spec_seq = ?, spec_cursor = ? WHERE key = ? AND seq = ?`),

    process: sql(`SELECT ${PROCESS} FROM processes WHERE uuid = ?`),
    live: sql(`SELECT ${PROCESS} FROM processes WHERE live = 1 AND key > ? ORDER BY key LIMIT ?`),
    each: sql(`SELECT ${PROCESS} FROM processes WHERE key > ? ORDER BY key LIMIT ?`),
    dead: sql(`SELECT ${PROCESS} FROM processes WHERE live = 0 ORDER BY exited_at DESC, uuid DESC LIMIT ?`),
    deadBefore: sql(`SELECT ${PROCESS} FROM processes WHERE live = 0 AND (exited_at, uuid) < (?, ?) ORDER BY exited_at DESC, uuid DESC LIMIT ?`),

    byPid: sql('SELECT uuid FROM processes WHERE pid = ? ORDER BY key DESC LIMIT ?'),
    byName: sql('SELECT uuid FROM processes WHERE name = ? ORDER BY key DESC LIMIT ?'),
    byPrefix: sql('SELECT uuid FROM processes WHERE uuid >= ? AND uuid < ? ORDER BY uuid LIMIT ?'),
    bySuffix: sql('SELECT uuid FROM processes WHERE reversed >= ? AND reversed < ? ORDER BY reversed LIMIT ?'),

    factAt: sql(`${FACTS} WHERE j.cursor = ?`),
    factsAt: sql(`SELECT ${FACT} FROM json_each(?) e CROSS JOIN journal j ON j.cursor = e.value`),
    factsAfter: sql(`${FACTS} WHERE j.cursor > ? AND j.process NOT IN (SELECT key FROM doomed) ORDER BY j.cursor LIMIT ?`),
    place: sql('SELECT entries FROM places WHERE process = ? AND block = ?'),
    placeOf: sql('SELECT block FROM places WHERE process = ? AND first <= ? ORDER BY block DESC LIMIT 1'),

    blob: sql('SELECT bytes FROM blobs WHERE hash = ?'),
    blobThere: sql('SELECT key FROM blobs WHERE hash = ?'),
    blobAfter: sql('SELECT key, hash, bytes FROM blobs WHERE key > ? ORDER BY key LIMIT 1'),

    addShared: sql('INSERT INTO shared VALUES (?, ?) ON CONFLICT DO UPDATE SET more = more + excluded.more'),
    lessShared: sql('UPDATE shared SET more = more - 1 WHERE blob = ? AND more > 0'),

    miscounted: sql(`SELECT lower(hex(b.hash)) AS hash, coalesce(u.n, 0) AS named, 1 + coalesce(s.more, 0) AS counted
      FROM blobs b LEFT JOIN shared s ON s.blob = b.key LEFT JOIN (
        SELECT json_extract(r.value, '$[1]') AS hash, count(*) AS n FROM journal j, json_each(j.refs) r WHERE j.refs IS NOT NULL GROUP BY 1
      ) u ON u.hash = lower(hex(b.hash)) WHERE named <> counted LIMIT ?`),
    journalCount: sql('SELECT count(*) AS n FROM journal'),
    seqSum: sql('SELECT coalesce(sum(seq), 0) AS n FROM processes'),
    doomedFacts: sql('SELECT count(*) AS n FROM journal WHERE process IN (SELECT key FROM doomed)'),
    integrity: sql('PRAGMA integrity_check(100)'),
    ...prepareRemoval(sql),
  }
}

/** Removing processes, and what is remembered of them. */
function prepareRemoval(sql: (text: string) => StatementSync) {
  return {
    dropProcess: sql('DELETE FROM processes WHERE key = ?'),
    addTombstone: sql(`INSERT INTO tombstones (${TOMBSTONE}, reversed) VALUES (?, ?, ?, ?, ?, ?)`),
    addDoomed: sql('INSERT INTO doomed VALUES (?)'),
    doomed: sql('SELECT key FROM doomed ORDER BY key LIMIT 1'),
    dropDoomed: sql('DELETE FROM doomed WHERE key = ?'),
    lastPlace: sql('SELECT block, entries FROM places WHERE process = ? ORDER BY block DESC LIMIT 1'),
    setPlace: sql('UPDATE places SET entries = ? WHERE process = ? AND block = ?'),
    dropPlace: sql('DELETE FROM places WHERE process = ? AND block = ?'),
    dropFact: sql('DELETE FROM journal WHERE cursor = ? AND process = ? RETURNING refs, length(body) AS size'),
    dropBlob: sql('DELETE FROM blobs WHERE key = ? RETURNING length(bytes) AS size'),
    dropShared: sql('DELETE FROM shared WHERE blob = ?'),
    freePages: sql('PRAGMA freelist_count'),

    tombstonesByPid: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE pid = ? LIMIT 1`),
    tombstonesByName: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE name = ? ORDER BY removed_at DESC LIMIT 1`),
    tombstonesByPrefix: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE uuid >= ? AND uuid < ? LIMIT 1`),
    tombstonesBySuffix: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE reversed >= ? AND reversed < ? LIMIT 1`),
    tombstonesAfter: sql(`SELECT ${TOMBSTONE} FROM tombstones WHERE uuid > ? ORDER BY uuid LIMIT ?`),
  }
}

export type Statements = ReturnType<typeof prepareAll>
