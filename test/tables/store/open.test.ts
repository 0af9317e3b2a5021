// Opening a store: the files and their permissions, the settings of the database, and what is refused.
import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { acquireLock } from '../../../src/store/files/lock.ts'
import { RESERVE_BYTES } from '../../../src/store/files/reserve.ts'
import { SCHEMA_VERSION } from '../../../src/store/schema.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { BY_RETIRED_PID } from '../../../src/store/statements.ts'
import { Scribe, endOf, modelFinished, uuidOf } from '../../support/store/facts.ts'
import { SCHEMA_2, changeFile, testStore } from '../../support/store/open.ts'
import { tempDir } from '../../support/tmp.ts'

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

describe('a new store', () => {
  test('is accessible only to its owner', async () => {
    await using at = await testStore()
    await using _lock = await acquireLock(at.dir)
    await at.store.commit(new Scribe().spawn(uuidOf(1)))
    expect(modeOf(at.dir)).toBe('700')
    for (const file of ['store.db', 'store.db-wal', 'lock.db', 'reserve.bin'])
      expect([file, modeOf(join(at.dir, file))]).toEqual([file, '600'])
  })

  test('has the measured settings of pages, log and vacuum', async () => {
    await using at = await testStore()
    await at.close()
    const pragma = (name: string) => changeFile(at.dir, (db) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0])
    expect({ page: pragma('page_size'), log: pragma('journal_mode'), vacuum: pragma('auto_vacuum') }).toEqual({
      page: 16_384,
      log: 'wal',
      vacuum: 2,
    })
  })

  test('is not opened twice, and is free again when it is closed', async () => {
    await using at = await testStore()
    await expect(openSqliteStore({ dir: at.dir })).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    await at.close()
    await using _again = await openSqliteStore({ dir: at.dir })
  })
})

describe('the schema', () => {
  test('is recorded in meta', async () => {
    await using at = await testStore()
    await at.close()
    expect(changeFile(at.dir, (db) => db.prepare("SELECT value FROM meta WHERE name = 'schema'").get()?.['value'])).toBe(SCHEMA_VERSION)
  })

  test('of a newer version is refused and left unchanged', async () => {
    await using at = await testStore()
    await at.store.commit(new Scribe().spawn(uuidOf(1)))
    await expect(at.tamper("UPDATE meta SET value = value + 1, copy = copy - 1 WHERE name = 'schema'")).rejects.toMatchObject({
      code: 'STORE_NEWER',
      details: { schema: SCHEMA_VERSION + 1, known: SCHEMA_VERSION },
    })
    expect(changeFile(at.dir, (db) => db.prepare('SELECT count(*) AS n FROM journal').get()?.['n'])).toBe(2)
  })

  test('of an older version is migrated, and its rows stay unchanged', async () => {
    await using at = await testStore(SCHEMA_2)
    const [ended, live] = [await at.store.process(uuidOf(1)), await at.store.process(uuidOf(2))]
    expect([ended, live]).toMatchObject([
      { pid: 1, seq: 5, spec: { name: 'old' }, life: { state: 'dead' } },
      { pid: 2, seq: 7, progress: { step: 2 }, life: { state: 'running' } },
    ])
    expect(await at.store.dead({ limit: 9 })).toEqual([ended])
    expect((await at.store.load()).processes).toEqual([live])
    expect((await at.store.facts(uuidOf(1), 0, 9)).map(({ body }) => body.type)).toEqual([
      'process.spawned',
      'process.started',
      'process.output',
      'process.exited',
      'process.reaped',
    ])
    expect(await at.store.tombstone('gone')).toEqual({
      uuid: uuidOf(3),
      pid: 3,
      name: 'gone',
      removedAt: 1_700_000_000_500,
      originUuid: null,
    })
    expect(await at.store.verify()).toEqual([])
    const { counters, processes } = await at.store.load()
    const scribe = new Scribe(counters, processes)
    await at.store.commit(scribe.write(uuidOf(2), ...modelFinished(2, 'more'), ...endOf()))
    expect(await (await at.reopen()).process(uuidOf(2))).toStrictEqual(scribe.get(uuidOf(2)))
    while (await at.store.sweep());
    expect(await at.store.verify()).toEqual([])
    expect(await at.store.facts(uuidOf(2), 0, 99)).toHaveLength(11)
  })

  test('of an older version gets the index of earlier PIDs', async () => {
    await using at = await testStore()
    const scribe = new Scribe()
    await at.store.commit(scribe.spawn(uuidOf(1)))
    await at.store.commit(scribe.write(uuidOf(1), ...endOf()))
    const { facts, ...commit } = scribe.write(uuidOf(1), { type: 'process.resumed', pid: 7, by: 'user', fromStep: 0 })
    await at.store.commit({ ...commit, facts: facts.map((fact) => ({ ...fact, pid: 7 })), counters: { ...commit.counters, pid: 7 } })
    await at.close()
    changeFile(at.dir, (db) => db.exec("DROP INDEX journal_reborn; UPDATE meta SET value = 5, copy = -5 WHERE name = 'schema'"))
    const store = await at.reopen()
    expect(await Promise.all(['1', '7', '2'].map((ref) => store.find(ref)))).toEqual([[uuidOf(1)], [uuidOf(1)], []])
    expect(await store.verify()).toEqual([])
    await at.close()
    // Without its index the query would read the whole journal.
    expect(
      changeFile(at.dir, (db) =>
        db
          .prepare(`EXPLAIN QUERY PLAN ${BY_RETIRED_PID}`)
          .all(1, 9)
          .map(({ detail }) => detail),
      ),
    ).toContainEqual(expect.stringContaining('USING INDEX journal_reborn'))
  })

  test('stays unchanged if a migration fails', async () => {
    await using folder = await tempDir()
    const db = new DatabaseSync(join(folder.path, 'store.db'))
    db.exec('CREATE TABLE blobs (x)') // in the way of the first step, near its end
    db.close()
    await expect(openSqliteStore({ dir: folder.path })).rejects.toMatchObject({ code: 'INTERNAL' })
    const tables = changeFile(folder.path, (file) =>
      file
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .all()
        .map((row) => row['name']),
    )
    expect(tables.toSorted()).toEqual(['blobs', 'meta'])
  })
})

describe('refused', () => {
  test('a file that is not a database', async () => {
    await using folder = await tempDir()
    writeFileSync(join(folder.path, 'store.db'), 'this is no database '.repeat(100))
    await expect(openSqliteStore({ dir: folder.path })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  })

  test('a truncated database', async () => {
    await using at = await testStore()
    const scribe = new Scribe()
    for (let number = 1; number <= 30; number++) await at.store.commit(scribe.spawn(uuidOf(number)))
    await at.close()
    truncateSync(join(at.dir, 'store.db'), 40_000)
    await expect(at.reopen().then((store) => store.load())).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  })

  test.each(['store', 'lock'])('a file where the state directory should be: %s', async (what) => {
    await using folder = await tempDir()
    const dir = join(folder.path, 'state')
    writeFileSync(dir, '')
    await expect(what === 'lock' ? acquireLock(dir) : openSqliteStore({ dir })).rejects.toMatchObject({ code: 'READ_ONLY' })
  })

  test('a directory where the database should be', async () => {
    await using folder = await tempDir()
    mkdirSync(join(folder.path, 'store.db'))
    await expect(openSqliteStore({ dir: folder.path })).rejects.toMatchObject({ code: 'READ_ONLY' })
  })
})

describe('the lock', () => {
  test('is exclusive per directory, also within a process, and is released', async () => {
    await using folder = await tempDir()
    await using other = await tempDir()
    {
      await using _held = await acquireLock(folder.path)
      await expect(acquireLock(folder.path)).rejects.toMatchObject({ code: 'STORE_LOCKED', details: { dir: folder.path } })
      await using _other = await acquireLock(other.path)
    }
    await using _again = await acquireLock(folder.path)
  })
})

describe('the reserve', () => {
  test('occupies disk space, is released in parts, and is restored', async () => {
    await using at = await testStore()
    const file = join(at.dir, 'reserve.bin')
    expect(readFileSync(file).filter((byte) => byte === 0).length).toBeLessThan(RESERVE_BYTES / 100)
    const left: number[] = []
    while (await at.store.releaseReserve()) left.push(statSync(file, { throwIfNoEntry: false })?.size ?? 0)
    expect(left).toEqual([2, 4, 8].map((part) => RESERVE_BYTES / part).concat(0))
    expect(await at.store.releaseReserve()).toBe(false)
    expect(await at.store.restoreReserve()).toBe(true)
    expect(statSync(file).size).toBe(RESERVE_BYTES)
  })

  test('that is too short is restored at the next start', async () => {
    await using at = await testStore()
    truncateSync(join(at.dir, 'reserve.bin'), 100)
    await at.reopen()
    expect(statSync(join(at.dir, 'reserve.bin')).size).toBe(RESERVE_BYTES)
  })
})
