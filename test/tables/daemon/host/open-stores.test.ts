// Which store a home opens, and which homes are refused because their processes would be missing.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { STORE_DEFAULTS } from '../../../../src/config/keys/store.ts'
import { openStores } from '../../../../src/daemon/host/open-stores.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import { CommitMaker, uuidOf } from '../../../support/store/facts.ts'
import { tempDir } from '../../../support/tmp.ts'

const open = async (dir: string, url: string | null) => {
  await using stack = new AsyncDisposableStack()
  return (await openStores({ dir, config: { ...STORE_DEFAULTS, url }, accept: false, log: () => {} }, stack)).engine
}

test('a home without a URL has a file', async () => {
  await using folder = await tempDir()
  expect(await open(join(folder.path, 'state'), null)).toBeNull()
})

test('a home with processes in its file does not begin with an empty database', async () => {
  await using folder = await tempDir()
  const dir = join(folder.path, 'state')
  const store = await openSqliteStore({ dir })
  await store.commit(new CommitMaker().spawn(uuidOf(1)))
  await store[Symbol.asyncDispose]()
  await expect(open(dir, 'postgres://127.0.0.1:1/none')).rejects.toMatchObject({
    code: 'STORE_UNSUITABLE',
    message: expect.stringContaining('store.db'),
  })
})

test('a home with processes in a database does not begin with an empty file', async () => {
  await using folder = await tempDir()
  const dir = join(folder.path, 'state')
  await open(dir, null)
  writeFileSync(join(dir, 'database'), 'db.example:5432/reeve\n')
  await expect(open(dir, null)).rejects.toMatchObject({
    code: 'STORE_UNSUITABLE',
    message: expect.stringContaining('db.example:5432/reeve'),
    hint: expect.stringContaining('REEVE_STORE_URL'),
  })
})

test('a database that is away is an error', async () => {
  await using folder = await tempDir()
  await expect(open(join(folder.path, 'state'), 'postgres://127.0.0.1:1/none')).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
})
