// The store records whether each of its daemons ended in order, and until when the ends of processes count as seen.
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { tempDir } from '../../support/tmp.ts'

test('the ends of processes count as seen if they are older than the first start of a version that records what was seen', async () => {
  await using dir = await tempDir()
  const startAt = async (time: number): Promise<number> => {
    await using store = await openSqliteStore({ dir: dir.path })
    const until = await store.seenUntil(time)
    await store.beginRun(time)
    return until
  }
  await using fresh = await tempDir()
  await using store = await openSqliteStore({ dir: fresh.path })
  expect([await store.seenUntil(10), await store.seenUntil(20)], 'a new home').toEqual([0, 0])
  await (async () => {
    await using old = await openSqliteStore({ dir: dir.path })
    await old.beginRun(10)
  })()
  expect([await startAt(20), await startAt(30)], 'a home of an older version').toEqual([20, 20])
})

test('a start without an orderly end before it is a crash; three are recorded, newest first', async () => {
  await using dir = await tempDir()
  const beginRun = async (time: number): Promise<readonly number[]> => {
    await using store = await openSqliteStore({ dir: dir.path })
    return await store.beginRun(time)
  }
  expect(await beginRun(10)).toEqual([])
  expect(await beginRun(20)).toEqual([20])
  expect(await beginRun(30)).toEqual([30, 20])
  expect(await beginRun(40)).toEqual([40, 30, 20])
  expect(await beginRun(50)).toEqual([50, 40, 30])
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
