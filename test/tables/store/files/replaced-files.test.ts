// A store whose files are replaced or removed while it is open writes nothing any more, and touches no file that took their place.
import { cpSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CommitMaker, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore, type TestStore } from '../../../support/store/test-store.ts'

let mono = 0
let fixture: TestStore
const commits = (): CommitMaker => new CommitMaker()

beforeEach(async () => {
  mono = 0
  vi.spyOn(performance, 'now').mockImplementation(() => mono)
  fixture = await openTestStore()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await fixture[Symbol.asyncDispose]()
})

test.each<[string, (dir: string) => void]>([
  ['store.db was removed', (dir) => rmSync(join(dir, 'store.db'))],
  ['store.db was replaced', (dir) => replaceByCopy(join(dir, 'store.db'))],
  ['store.db-wal was removed', (dir) => rmSync(join(dir, 'store.db-wal'))],
  ['store.db-wal was replaced', (dir) => replaceByCopy(join(dir, 'store.db-wal'))],
  ['store.db was removed', (dir) => renameSync(dir, `${dir}-moved`)],
])('%s: the next write is refused, and all later ones', async (what, change) => {
  const maker = commits()
  await fixture.store.commit(maker.spawn(uuidOf(1)))
  mono += 1_000
  await fixture.store.commit(maker.spawn(uuidOf(2)))
  change(fixture.dir)
  mono += 1_000
  const refusal = { code: 'FENCED', message: expect.stringContaining(`${what} while it was open`) }
  await expect(fixture.store.commit(maker.spawn(uuidOf(3)))).rejects.toMatchObject(refusal)
  await expect(fixture.store.setNotifiedUpTo('desktop', 1)).rejects.toMatchObject(refusal)
  await expect(fixture.store.stage().add([])).rejects.toMatchObject(refusal)
  // What is known stays readable until the daemon ends.
  expect(await fixture.store.facts(uuidOf(2), 0, 10)).toHaveLength(2)
})

test('the files are looked at once a second at most, and an untouched store is never fenced', async () => {
  const maker = commits()
  await fixture.store.commit(maker.spawn(uuidOf(1)))
  replaceByCopy(join(fixture.dir, 'store.db'))
  mono += 999
  await fixture.store.commit(maker.spawn(uuidOf(2)))
  mono += 1
  await expect(fixture.store.commit(maker.spawn(uuidOf(3)))).rejects.toMatchObject({ code: 'FENCED' })
})

test('the log of a fenced store does not become a part of the older file', async () => {
  const maker = commits()
  await fixture.store.commit(maker.spawn(uuidOf(1)))
  await fixture.close()
  const backup = readFileSync(join(fixture.dir, 'store.db'))
  const store = await fixture.reopen()
  for (const number of [2, 3]) {
    await store.commit(maker.spawn(uuidOf(number)))
    mono += 1_000
  }
  await fixture.reopen()
  await fixture.store.commit(maker.spawn(uuidOf(4)))
  mono += 1_000
  await fixture.store.commit(maker.spawn(uuidOf(5)))
  writeFileSync(join(fixture.dir, 'backup'), backup)
  renameSync(join(fixture.dir, 'backup'), join(fixture.dir, 'store.db'))
  mono += 1_000
  await expect(fixture.store.commit(maker.spawn(uuidOf(6)))).rejects.toMatchObject({ code: 'FENCED' })
  await fixture.close()
  const [moved = '', ...others] = readdirSync(join(fixture.dir, 'aside'))
  expect([moved, others]).toEqual([expect.stringMatching(/^store\.db-wal\.\d+$/), []])
  expect(fixture.logMessages).toEqual([`The write-ahead log of the replaced store was moved to ${join(fixture.dir, 'aside', moved)}.`])
  await expect(fixture.reopen()).rejects.toMatchObject({ code: 'STORE_DAMAGED', message: expect.stringContaining('is older than it was') })
})

test('the end of a fenced store leaves the file that took its place, and the next start refuses that file', async () => {
  const backup = join(fixture.dir, '..', 'backup')
  await fixture.close()
  cpSync(fixture.dir, backup, { recursive: true })
  const store = await fixture.reopen()
  const maker = commits()
  for (const number of [1, 2, 3]) {
    await store.commit(maker.spawn(uuidOf(number)))
    mono += 1_000
  }
  const restored = readFileSync(join(backup, 'store.db'))
  for (const name of ['store.db', 'store.db-wal']) {
    writeFileSync(join(backup, `${name}.new`), name === 'store.db' ? restored : 'a log that reeve did not write')
    renameSync(join(backup, `${name}.new`), join(fixture.dir, name))
  }
  await expect(store.commit(maker.spawn(uuidOf(4)))).rejects.toMatchObject({ code: 'FENCED' })
  await fixture.close()
  expect(readFileSync(join(fixture.dir, 'store.db')).equals(restored)).toBe(true)
  expect(readFileSync(join(fixture.dir, 'store.db-wal'), 'utf8')).toBe('a log that reeve did not write')
  rmSync(join(fixture.dir, 'store.db-wal'))
  await expect(fixture.reopen()).rejects.toMatchObject({ code: 'STORE_DAMAGED', message: expect.stringContaining('is older than it was') })
})

function replaceByCopy(file: string): void {
  cpSync(file, `${file}.copy`)
  renameSync(`${file}.copy`, file)
}
