// Opening a store: the files and their permissions, the settings of the database, and refusals.
import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { acquireLock } from '../../../src/store/files/lock.ts'
import { RESERVE_BYTES } from '../../../src/store/files/reserve.ts'
import { SCHEMA_VERSION } from '../../../src/store/schema.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { BY_RETIRED_PID } from '../../../src/store/statements.ts'
import { CommitMaker, endFacts, modelFinished, uuidOf } from '../../support/store/facts.ts'
import { SCHEMA_2, changeStoreFile, openTestStore } from '../../support/store/test-store.ts'
import { tempDir } from '../../support/tmp.ts'

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

describe('a new store', () => {
  test('is accessible only to its owner', async () => {
    await using fixture = await openTestStore()
    await using _lock = await acquireLock(fixture.dir)
    await fixture.store.commit(new CommitMaker().spawn(uuidOf(1)))
    expect(modeOf(fixture.dir)).toBe('700')
    for (const file of ['store.db', 'store.db-wal', 'lock.db', 'reserve.bin'])
      expect([file, modeOf(join(fixture.dir, file))]).toEqual([file, '600'])
  })

  test('has the intended page size, journal mode and auto-vacuum mode', async () => {
    await using fixture = await openTestStore()
    await fixture.close()
    const readPragma = (name: string) => changeStoreFile(fixture.dir, (db) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0])
    expect({ page: readPragma('page_size'), log: readPragma('journal_mode'), vacuum: readPragma('auto_vacuum') }).toEqual({
      page: 16_384,
      log: 'wal',
      vacuum: 2,
    })
  })

  test('is not opened twice, and is free again when it is closed', async () => {
    await using fixture = await openTestStore()
    await expect(openSqliteStore({ dir: fixture.dir })).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    await fixture.close()
    await using _reopened = await openSqliteStore({ dir: fixture.dir })
  })
})

describe('the schema', () => {
  test('is recorded in meta', async () => {
    await using fixture = await openTestStore()
    await fixture.close()
    expect(changeStoreFile(fixture.dir, (db) => db.prepare("SELECT value FROM meta WHERE name = 'schema'").get()?.['value'])).toBe(
      SCHEMA_VERSION,
    )
  })

  test('of a newer version is refused and left unchanged', async () => {
    await using fixture = await openTestStore()
    await fixture.store.commit(new CommitMaker().spawn(uuidOf(1)))
    await expect(fixture.tamper("UPDATE meta SET value = value + 1, copy = copy - 1 WHERE name = 'schema'")).rejects.toMatchObject({
      code: 'STORE_NEWER',
      details: { schema: SCHEMA_VERSION + 1, known: SCHEMA_VERSION },
    })
    expect(changeStoreFile(fixture.dir, (db) => db.prepare('SELECT count(*) AS n FROM journal').get()?.['n'])).toBe(2)
  })

  test('of an older version is migrated, and its rows stay unchanged', async () => {
    await using fixture = await openTestStore(SCHEMA_2)
    const [ended, live] = [await fixture.store.process(uuidOf(1)), await fixture.store.process(uuidOf(2))]
    expect([ended, live]).toMatchObject([
      { pid: 1, seq: 5, spec: { name: 'old' }, life: { state: 'dead' } },
      { pid: 2, seq: 7, progress: { step: 2 }, life: { state: 'running' } },
    ])
    expect(await fixture.store.dead({ limit: 9 })).toEqual([ended])
    expect((await fixture.store.load()).processes).toEqual([live])
    expect((await fixture.store.facts(uuidOf(1), 0, 9)).map(({ body }) => body.type)).toEqual([
      'process.spawned',
      'process.started',
      'process.output',
      'process.exited',
      'process.reaped',
    ])
    expect(await fixture.store.tombstone('gone')).toEqual({
      uuid: uuidOf(3),
      pid: 3,
      name: 'gone',
      removedAt: 1_700_000_000_500,
      originUuid: null,
    })
    expect(await fixture.store.verify()).toEqual([])
    const { counters, processes } = await fixture.store.load()
    const commits = new CommitMaker(counters, processes)
    await fixture.store.commit(commits.write(uuidOf(2), ...modelFinished(2, 'more'), ...endFacts()))
    expect(await (await fixture.reopen()).process(uuidOf(2))).toStrictEqual(commits.get(uuidOf(2)))
    while (await fixture.store.sweep());
    expect(await fixture.store.verify()).toEqual([])
    expect(await fixture.store.facts(uuidOf(2), 0, 99)).toHaveLength(11)
  })

  test('of an older version gets the index of earlier PIDs', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(uuidOf(1)))
    await fixture.store.commit(commits.write(uuidOf(1), ...endFacts()))
    const { facts, ...commit } = commits.write(uuidOf(1), { type: 'process.resumed', pid: 7, by: 'user', fromStep: 0 })
    await fixture.store.commit({ ...commit, facts: facts.map((fact) => ({ ...fact, pid: 7 })), lastPid: 7 })
    await fixture.close()
    changeStoreFile(fixture.dir, (db) => db.exec("DROP INDEX journal_reborn; UPDATE meta SET value = 5, copy = -5 WHERE name = 'schema'"))
    const store = await fixture.reopen()
    expect(await Promise.all(['1', '7', '2'].map((ref) => store.find(ref)))).toEqual([[uuidOf(1)], [uuidOf(1)], []])
    expect(await store.verify()).toEqual([])
    await fixture.close()
    // Without its index the query would read the whole journal.
    expect(
      changeStoreFile(fixture.dir, (db) =>
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
    db.exec('CREATE TABLE blobs (x)') // This table makes the first migration fail near its end.
    db.close()
    await expect(openSqliteStore({ dir: folder.path })).rejects.toMatchObject({ code: 'INTERNAL' })
    const tables = changeStoreFile(folder.path, (file) =>
      file
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .all()
        .map((row) => row['name']),
    )
    expect(tables.toSorted()).toEqual(['blobs', 'meta'])
  })
})

describe('a store is not opened for', () => {
  test('a file that is not a database', async () => {
    await using folder = await tempDir()
    writeFileSync(join(folder.path, 'store.db'), 'this is not a database '.repeat(100))
    await expect(openSqliteStore({ dir: folder.path })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  })

  test('a truncated database', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    for (let number = 1; number <= 30; number++) await fixture.store.commit(commits.spawn(uuidOf(number)))
    await fixture.close()
    truncateSync(join(fixture.dir, 'store.db'), 40_000)
    await expect(fixture.reopen().then((store) => store.load())).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  })

  test.each(['store', 'lock'])('a file where the state directory should be: %s', async (kind) => {
    await using folder = await tempDir()
    const dir = join(folder.path, 'state')
    writeFileSync(dir, '')
    await expect(kind === 'lock' ? acquireLock(dir) : openSqliteStore({ dir })).rejects.toMatchObject({ code: 'READ_ONLY' })
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
    await using otherDir = await tempDir()
    {
      await using _heldLock = await acquireLock(folder.path)
      await expect(acquireLock(folder.path)).rejects.toMatchObject({ code: 'STORE_LOCKED', details: { dir: folder.path } })
      await using _otherLock = await acquireLock(otherDir.path)
    }
    await using _reopened = await acquireLock(folder.path)
  })
})

describe('the reserve', () => {
  test('occupies disk space, is released in parts, and is restored', async () => {
    await using fixture = await openTestStore()
    const file = join(fixture.dir, 'reserve.bin')
    expect(readFileSync(file).filter((byte) => byte === 0).length).toBeLessThan(RESERVE_BYTES / 100)
    const remainingBytes: number[] = []
    while (await fixture.store.releaseReserve()) remainingBytes.push(statSync(file, { throwIfNoEntry: false })?.size ?? 0)
    expect(remainingBytes).toEqual([2, 4, 8].map((divisor) => RESERVE_BYTES / divisor).concat(0))
    expect(await fixture.store.releaseReserve()).toBe(false)
    expect(await fixture.store.restoreReserve()).toBe(true)
    expect(statSync(file).size).toBe(RESERVE_BYTES)
  })

  test('that is too short is restored at the next start', async () => {
    await using fixture = await openTestStore()
    truncateSync(join(fixture.dir, 'reserve.bin'), 100)
    await fixture.reopen()
    expect(statSync(join(fixture.dir, 'reserve.bin')).size).toBe(RESERVE_BYTES)
  })
})
