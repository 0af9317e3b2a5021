// Pages of rows in a wrong order, which a damaged table can return: they are damage, and no reader of pages loops.
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { checkAscending } from '../../../../src/store/rows/page-order.ts'
import type { SortKey } from '../../../../src/store/rows/page-order.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import { CommitMaker, toolFinished, uuidOf } from '../../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../../support/store/test-store.ts'

describe('the keys of a page', () => {
  test.each<[string, SortKey, SortKey[]]>([
    ['no rows', [5], []],
    ['numbers', [5], [[6], [9]]],
    [
      'columns from left to right',
      [1, 7, 'b'],
      [
        [1, 8, 'a'],
        [2, 0, ''],
        [2, 0, 'a'],
      ],
    ],
    ['texts by their bytes', ['\uffff'], [['\u{1f600}']]],
  ])('ascend: %s', (_, after, keys) => {
    expect(() => checkAscending('spent', after, keys)).not.toThrow()
  })

  test.each<[string, SortKey, SortKey[]]>([
    ['a repetition of the start position', [5], [[5]]],
    ['a row before the start position', [5], [[4]]],
    ['a repeated row', [5], [[6], [6]]],
    ['a smaller row after a larger one', [5], [[6], [8], [7]]],
    ['a smaller last column', [1, 7, 'b'], [[1, 7, 'a']]],
    ['texts by their bytes', ['\u{1f600}'], [['\uffff']]],
  ])('do not ascend: %s', (_, after, keys) => {
    expect(() => checkAscending('spent', after, keys)).toThrow(expect.objectContaining({ code: 'STORE_DAMAGED' }))
  })
})

interface TablePages {
  readonly pageBytes: number
  readonly root: number
  readonly leaves: readonly number[]
}

/** Finds the pages of a table that has exactly one level of inner pages. */
function pagesOf(db: DatabaseSync, file: string, table: string): TablePages {
  const pageBytes = Number(db.prepare('PRAGMA page_size').get()?.['page_size'])
  const root = Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table)?.['rootpage'])
  const page = readPage(file, pageBytes, root)
  const INNER_PAGE = 5
  expect(page[0]).toBe(INNER_PAGE)
  const cells = Array.from({ length: page.readUInt16BE(3) }, (_, index) => page.readUInt16BE(12 + 2 * index))
  return { pageBytes, root, leaves: [...cells.map((cell) => page.readUInt32BE(cell)), page.readUInt32BE(8)] }
}

function readPage(file: string, pageBytes: number, number: number): Buffer {
  const page = Buffer.alloc(pageBytes)
  const descriptor = openSync(file, 'r')
  readSync(descriptor, page, 0, pageBytes, (number - 1) * pageBytes)
  closeSync(descriptor)
  return page
}

function writePage(file: string, number: number, page: Buffer): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, page, 0, page.length, (number - 1) * page.length)
  closeSync(descriptor)
}

test('a journal with its root page in the place of another page is refused at a start that reads all of it', async () => {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  for (let number = 1; number <= 12; number++) {
    await fixture.store.commit(commits.spawn(uuidOf(number)))
    for (let step = 1; step <= 25; step++)
      await fixture.store.commit(commits.write(uuidOf(number), ...toolFinished(step, 'result '.repeat(60))))
  }
  await fixture.close()
  const file = join(fixture.dir, 'store.db')
  const { pageBytes, root, leaves } = changeStoreFile(fixture.dir, (db) => pagesOf(db, file, 'journal'))
  expect(leaves.length).toBeGreaterThan(4)
  // As after a crash: the start reads all facts since the rows were last written, page after page.
  const markRowsUnwritten = () =>
    changeStoreFile(fixture.dir, (db) => db.exec("UPDATE meta SET value = 0, copy = 0 WHERE name = 'settled'"))
  markRowsUnwritten()
  const reopened = await openSqliteStore({ dir: fixture.dir })
  expect(await reopened.since({ afterCursor: 0, limit: 1_000 })).toHaveLength(624)
  await reopened[Symbol.asyncDispose]()
  markRowsUnwritten()
  // The last leaf is left out: its end is the end of the journal, which is checked before the facts are read.
  for (const leaf of leaves.slice(0, -1)) {
    const page = readPage(file, pageBytes, leaf)
    writePage(file, leaf, readPage(file, pageBytes, root))
    await expect(openSqliteStore({ dir: fixture.dir })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    writePage(file, leaf, page)
  }
})
