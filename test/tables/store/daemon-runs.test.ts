// The records of how the daemons of a store ended.
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { tempDir } from '../../support/tmp.ts'

test('a start without an orderly end before it is a crash; three are recorded, newest first', async () => {
  await using dir = await tempDir()
  const begin = async (at: number): Promise<readonly number[]> => {
    await using store = await openSqliteStore({ dir: dir.path })
    return await store.beginRun(at)
  }
  expect(await begin(10)).toEqual([])
  expect(await begin(20)).toEqual([20])
  expect(await begin(30)).toEqual([30, 20])
  expect(await begin(40)).toEqual([40, 30, 20])
  expect(await begin(50)).toEqual([50, 40, 30])
})

test('an orderly end is not a crash, and keeps the recorded crashes', async () => {
  await using dir = await tempDir()
  await using store = await openSqliteStore({ dir: dir.path })
  await store.beginRun(10)
  expect(await store.beginRun(20)).toEqual([20])
  await store.endRun()
  expect(await store.beginRun(30)).toEqual([20])
  await store.endRun()
  expect(await store.beginRun(40)).toEqual([20])
  expect(await store.verify()).toEqual([])
})
