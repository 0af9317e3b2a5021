// The identity file: a store that is empty, gone, older or replaced is refused before anything is written.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import { IDENTITY_FILE, readIdentity } from '../../../../src/store/files/identity.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import { CommitMaker, endFacts, specOf, uuidOf } from '../../../support/store/facts.ts'
import { SCHEMA_2, changeStoreFile, openTestStore, type TestStore } from '../../../support/store/test-store.ts'
import { tempDir } from '../../../support/tmp.ts'

/** A home after an orderly end, with a copy of its store from before the last processes. */
async function newHome(): Promise<{ readonly fixture: TestStore; readonly older: string; readonly commits: CommitMaker }> {
  const fixture = await openTestStore()
  const commits = new CommitMaker()
  const older = join(fixture.dir, '..', 'older')
  for (let number = 1; number <= 3; number++) await fixture.store.commit(commits.spawn(uuidOf(number)))
  await fixture.close()
  cpSync(fixture.dir, older, { recursive: true })
  const store = await fixture.reopen()
  for (let number = 4; number <= 6; number++) await store.commit(commits.spawn(uuidOf(number)))
  await fixture.close()
  return { fixture, older, commits }
}

const storeFile = (dir: string): string => join(dir, 'store.db')
const filesOf = (dir: string): string[] =>
  readdirSync(dir)
    .toSorted()
    .map((name) => `${name} ${readFileSync(join(dir, name)).toString('base64url')}`)

describe('a start is refused and changes nothing for', () => {
  test.each<[string, (dir: string, older: string) => void | Promise<void>, RegExp]>([
    [
      'a missing store',
      (dir) => {
        rmSync(storeFile(dir))
      },
      /^store.db is empty or gone, but this home had reached fact 12 and PID 6 at 20/,
    ],
    [
      'an empty store file',
      (dir) => {
        writeFileSync(storeFile(dir), '')
      },
      /^store.db is empty or gone/,
    ],
    [
      'an older store',
      (dir, older) => {
        cpSync(storeFile(older), storeFile(dir))
      },
      /^store.db is older than it was: it ends with fact 6 and PID 3, but this home had reached fact 12 and PID 6/,
    ],
    [
      'a store with the same facts and fewer PIDs',
      (dir) => {
        changeStoreFile(dir, (db) => db.exec("UPDATE meta SET value = 5, copy = -5 WHERE name = 'pid'"))
      },
      /and PID 5, but/,
    ],
    [
      'the store of another home',
      async (dir) => {
        await using otherFixture = await openTestStore()
        const commits = new CommitMaker()
        for (let number = 1; number <= 20; number++) await otherFixture.store.commit(commits.spawn(uuidOf(number)))
        await otherFixture.close()
        cpSync(storeFile(otherFixture.dir), storeFile(dir))
      },
      /^store.db is not the store of this home/,
    ],
    [
      'a store without an identity',
      (dir) => {
        changeStoreFile(dir, (db) => db.exec("DELETE FROM meta WHERE name = 'identity'"))
      },
      /^store.db is not the store of this home/,
    ],
    [
      'a database without tables',
      (dir) => {
        rmSync(storeFile(dir))
        changeStoreFile(dir, (db) => db.exec('CREATE TABLE x (y); DROP TABLE x'))
      },
      /^store.db is empty or gone/,
    ],
    [
      'a changed identity file',
      (dir) => {
        writeFileSync(join(dir, IDENTITY_FILE), readFileSync(join(dir, IDENTITY_FILE), 'utf8').replace('"cursor":12', '"cursor":11'))
      },
      /store-identity.json is damaged/,
    ],
    [
      'an empty identity file',
      (dir) => {
        writeFileSync(join(dir, IDENTITY_FILE), '')
      },
      /store-identity.json is damaged/,
    ],
  ])('%s', async (_, change, message) => {
    const { fixture, older } = await newHome()
    await using _disposed = fixture
    await change(fixture.dir, older)
    const before = filesOf(fixture.dir)
    await expect(fixture.reopen()).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: expect.stringMatching(message),
      hint: expect.stringContaining('--accept-store'),
    })
    expect(filesOf(fixture.dir)).toEqual(before)
  })
})

describe('with `accept`', () => {
  test('an empty store beside its write-ahead log continues the PIDs, and a copy of the log is kept', async () => {
    await using fixture = await openTestStore()
    const killed = join(fixture.dir, '..', 'killed')
    await fixture.store.commit(new CommitMaker().spawn(uuidOf(1)))
    await fixture.waitForIdentity(2)
    cpSync(fixture.dir, killed, { recursive: true })
    writeFileSync(storeFile(killed), '')
    const log = readFileSync(join(killed, 'store.db-wal'))
    expect(log.length).toBeGreaterThan(0)
    await expect(openSqliteStore({ dir: killed })).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: 'store.db is empty or missing, but its write-ahead log exists',
    })
    await using acceptedStore = await openSqliteStore({ dir: killed, accept: true })
    expect((await acceptedStore.load()).counters).toEqual({ pid: 20_001, cursor: 20_002 })
    const [kept = ''] = readdirSync(join(killed, 'aside'))
    expect(readFileSync(join(killed, 'aside', kept)).equals(log)).toBe(true)
  })

  test.each([
    ['empty', 0],
    ['older', 3],
  ] as const)('a store that is %s continues above all assigned PIDs and cursors', async (state, liveNumber) => {
    const { fixture, older } = await newHome()
    await using _disposed = fixture
    if (state === 'empty') writeFileSync(storeFile(fixture.dir), '')
    else cpSync(storeFile(older), storeFile(fixture.dir))
    const logged: string[] = []
    {
      await using acceptedStore = await openSqliteStore({ dir: fixture.dir, accept: true, log: (message) => logged.push(message) })
      const { counters, processes } = await acceptedStore.load()
      expect([counters, processes.length]).toEqual([{ pid: 6, cursor: 12 }, liveNumber])
      const commits = new CommitMaker(counters, processes)
      await acceptedStore.commit(commits.spawn(uuidOf(7)))
      expect(commits.get(uuidOf(7)).pid).toBe(7)
      expect(await acceptedStore.verify()).toEqual([])
    }
    expect(logged).toEqual([expect.stringMatching(/^accepted: store.db is /)])
    // From now on this file is the store of this home.
    await fixture.reopen()
  })

  test('the PIDs start far above the recorded PID if the daemon was killed', async () => {
    await using fixture = await openTestStore()
    const killed = join(fixture.dir, '..', 'killed')
    await fixture.store.commit(new CommitMaker().spawn(uuidOf(1)))
    await fixture.waitForIdentity(2)
    cpSync(fixture.dir, killed, { recursive: true })
    for (const name of ['store.db', 'store.db-wal']) rmSync(join(killed, name))
    await using acceptedStore = await openSqliteStore({ dir: killed, accept: true })
    expect((await acceptedStore.load()).counters).toEqual({ pid: 20_001, cursor: 20_002 })
  })

  test('nothing is logged when everything matches', async () => {
    const { fixture } = await newHome()
    await using _disposed = fixture
    const logged: string[] = []
    await using acceptedStore = await openSqliteStore({ dir: fixture.dir, accept: true, log: (message) => logged.push(message) })
    expect([logged, (await acceptedStore.load()).counters]).toEqual([[], { pid: 6, cursor: 12 }])
  })
})

describe('a start succeeds for', () => {
  test('a fresh home', async () => {
    await using folder = await tempDir()
    mkdirSync(join(folder.path, 'state'))
    await using _store = await openSqliteStore({ dir: join(folder.path, 'state') })
    expect(readIdentity(join(folder.path, 'state'))).toMatchObject({ cursor: 0, pid: 0, orderly: false })
  })

  test('a store of an earlier version, which gets an identity', async () => {
    await using fixture = await openTestStore(SCHEMA_2)
    const { store: number } = readIdentity(fixture.dir) ?? {}
    await fixture.reopen()
    expect(readIdentity(fixture.dir)).toMatchObject({ store: number, pid: 3, orderly: false })
  })

  test('a store that was moved here without its identity file', async () => {
    const { fixture } = await newHome()
    await using _disposed = fixture
    rmSync(join(fixture.dir, IDENTITY_FILE))
    await fixture.reopen()
    expect(readIdentity(fixture.dir)).toMatchObject({ cursor: 12, pid: 6 })
  })
})

test('the identity file is written within a second, at the end and at the start', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(uuidOf(1)))
  expect(readIdentity(fixture.dir)).toMatchObject({ cursor: 0 })
  await fixture.waitForIdentity(2)
  const { store: number } = readIdentity(fixture.dir) ?? {}
  await fixture.store.commit(commits.write(uuidOf(1), ...endFacts()))
  await fixture.close()
  expect(readIdentity(fixture.dir)).toMatchObject({ store: number, cursor: 4, pid: 1, orderly: true })
  await fixture.reopen()
  expect(readIdentity(fixture.dir)).toMatchObject({ store: number, cursor: 4, pid: 1, orderly: false })
})

test('the identity file is written at once, without its timer, when it is 2,048 facts behind', async () => {
  const setTimer = vi.spyOn(globalThis, 'setTimeout')
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const notes = Array.from({ length: 2_048 }, (): FactBody => ({ type: 'process.note', text: 'x' }))
  setTimer.mockClear()
  await fixture.store.commit(commits.spawn(uuidOf(1), specOf(), ...notes))
  const delays = setTimer.mock.calls.map(([, delayMs]) => delayMs)
  setTimer.mockRestore()
  expect(delays).not.toContain(1_000)
  await fixture.waitForIdentity(commits.cursor)
})
