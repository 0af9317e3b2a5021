// The account of the home in the store: written with a commit, and kept by later commits without one and over a restart.
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import { tempDir } from '../../support/tmp.ts'
import type { HomeBook } from '../../../src/kernel/model/home.ts'

const bookOf = (nanoUsd: number): HomeBook => ({
  dailyUsd: { number: 20_000, nanoUsd, warnedNanoUsd: 0 },
  monthlyUsd: { number: 24_000, nanoUsd: 2 * nanoUsd, warnedNanoUsd: 5_000_000_000 },
})

test('the account is null before its first commit, and a restart returns the one that was committed last', async () => {
  await using dir = await tempDir()
  {
    await using store = await openSqliteStore({ dir: dir.path })
    expect(await store.home()).toBeNull()
    for (const nanoUsd of [1_000_000_001, 4_000_000_000_000_000])
      await store.commit({ facts: [], processes: [], lastPid: 0, home: bookOf(nanoUsd) })
    await store.commit({ facts: [], processes: [], lastPid: 1 })
  }
  await using store = await openSqliteStore({ dir: dir.path })
  expect(await store.home()).toEqual(bookOf(4_000_000_000_000_000))
  expect(await store.verify()).toEqual([])
})
