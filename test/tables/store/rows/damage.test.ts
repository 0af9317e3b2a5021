// Damage of every kind in the file of a closed store: it is refused with its location, never skipped, and `verify` lists it.
import { closeSync, cpSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { IDENTITY_FILE } from '../../../../src/store/files/identity.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import type { Store } from '../../../../src/store/store.ts'
import { factSum } from '../../../../src/store/rows/checksums.ts'
import { CommitMaker, specOf, toolFinished, uuidOf } from '../../../support/store/facts.ts'
import { changeStoreFile, openTestStore } from '../../../support/store/test-store.ts'

const A = uuidOf(1)
const LONG = 'a long result '.repeat(1_000)

/** Opens a store with a process of 302 facts (more than a page of a rebuild), and a second one that must stay readable. */
async function newHistory() {
  const fixture = await openTestStore()
  const commits = new CommitMaker()
  await fixture.store.commit(commits.spawn(A))
  for (let step = 1; step <= 150; step++)
    await fixture.store.commit(commits.write(A, ...toolFinished(step, step === 2 ? LONG : `result ${step}`)))
  await fixture.store.commit(commits.spawn(uuidOf(2), specOf({ name: 'other' })))
  return fixture
}

async function readAll(store: Store): Promise<void> {
  await store.load()
  await store.facts(A, 0, 1_000)
}

const FACT_5 = { table: 'journal', uuid: A, seq: 5 }

test('a text that damage has turned into a number or bytes has no checksum', () => {
  const row = { cursor: 1, process: 1, seq: 1, type: 1, at: 0, pid: 1, refs: null, moment: null }
  expect(factSum({ ...row, body: '0' })).toBeGreaterThanOrEqual(0)
  expect(factSum({ ...row, body: 0 as never })).toBeNaN()
  expect(factSum({ ...row, body: Buffer.from('0') as never })).toBeNaN()
})

describe('damage in one place is refused with its location', () => {
  test.each<[string, string, (string | number)[], object, RegExp]>([
    ['a fact of an unknown type', 'UPDATE journal SET type = ? WHERE cursor = 5', [99], FACT_5, /is damaged/],
    [
      'a changed letter in a body',
      "UPDATE journal SET body = replace(body, 'result', 'resukt') WHERE cursor = ?",
      [7],
      { table: 'journal', seq: 7 },
      /is damaged/,
    ],
    ['a body that is not JSON', 'UPDATE journal SET body = ? WHERE cursor = 5', ['[1,'], FACT_5, /is damaged/],
    ['a changed time', 'UPDATE journal SET at = at + ? WHERE cursor = 5', [1], FACT_5, /is damaged/],
    ['a changed PID', 'UPDATE journal SET pid = ? WHERE cursor = 5', [9], FACT_5, /is damaged/],
    ['a changed seq', 'UPDATE journal SET seq = ? WHERE cursor = 5', [6], { table: 'journal', uuid: A }, /is damaged/],
    ['a fact of another process', 'UPDATE journal SET process = ? WHERE cursor = 5', [2], { table: 'journal' }, /is damaged/],
    ['a fact of no process', 'UPDATE journal SET process = ? WHERE cursor = 5', [77], FACT_5, /is damaged/],
    ['a missing fact', 'DELETE FROM journal WHERE cursor = ?', [5], FACT_5, /the fact is missing/],
    ['an integer that is too large for a number', 'UPDATE journal SET at = 9223372036854775807 WHERE cursor = ?', [5], {}, /./],
    ['changed references to long texts', 'UPDATE journal SET refs = ? WHERE refs IS NOT NULL', ['[]'], FACT_5, /is damaged/],
    ['a missing long text', 'DELETE FROM blobs WHERE key > ?', [0], { ...FACT_5, table: 'journal' }, /missing from blobs/],
    ['a changed long text', 'UPDATE blobs SET bytes = CAST(? AS BLOB)', [LONG.replace('long', 'lung')], FACT_5, /is damaged/],
    ['a missing block of places', 'DELETE FROM places WHERE block = ?', [1], { table: 'places', uuid: A, seq: 65 }, /block 1 is missing/],
    ['a changed block of places', "UPDATE places SET entries = replace(entries, ',1,', ?) WHERE block = 1", [',2,'], {}, /./],
    [
      'a truncated block of places',
      'UPDATE places SET entries = substr(entries, 1, ?) WHERE block = 1',
      [20],
      { table: 'places', uuid: A, seq: 65 },
      /is damaged/,
    ],
    [
      'a changed row',
      "UPDATE processes SET body = replace(body, 'depth', ?) WHERE key = 1",
      ['width'],
      { table: 'processes', uuid: A },
      /is damaged/,
    ],
    [
      'a row whose name was changed',
      'UPDATE processes SET name = ? WHERE key = 2',
      ['x'],
      { table: 'processes', uuid: uuidOf(2) },
      /is damaged/,
    ],
    [
      'a row whose place of the spec was changed',
      'UPDATE processes SET spec_cursor = ? WHERE key = 1',
      [4],
      { table: 'processes' },
      /is damaged/,
    ],
    ['a missing spec', 'DELETE FROM journal WHERE cursor = ?', [1], { table: 'journal', uuid: A, seq: 1 }, /holds the spec is missing/],
  ])('%s', async (_, sql, values, position, message) => {
    await using fixture = await newHistory()
    const store = await fixture.tamper(sql, ...values)
    await expect(readAll(store)).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: expect.stringMatching(message),
      ...(Object.keys(position).length > 0 ? { details: position } : {}),
    })
    const lines = await store.verify()
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join('\n')).toMatch(message)
  })
})

describe('damage in the counters prevents the start', () => {
  test.each<[string, string]>([
    ['a PID counter below an assigned PID', "UPDATE meta SET value = 1, copy = -1 WHERE name = 'pid'"],
    ['a counter with a changed bit', "UPDATE meta SET value = value + 64 WHERE name = 'pid'"],
    ['a mark of written rows beyond the last fact', "UPDATE meta SET value = 9999, copy = -9999 WHERE name = 'settled'"],
    ['a missing PID counter', "DELETE FROM meta WHERE name = 'pid'"],
    ['a missing cursor', "DELETE FROM meta WHERE name = 'cursor'"],
  ])('%s', async (_, sql) => {
    await using fixture = await newHistory()
    await fixture.close()
    changeStoreFile(fixture.dir, (db) => db.exec(sql))
    rmSync(join(fixture.dir, IDENTITY_FILE))
    await expect(fixture.reopen()).rejects.toMatchObject({ code: 'STORE_DAMAGED', details: { table: 'meta' } })
  })
})

test('a damaged fact that the row lacks prevents the start, because the row cannot be rebuilt', async () => {
  await using fixture = await newHistory()
  const crashed = join(fixture.dir, '..', 'crashed')
  cpSync(fixture.dir, crashed, { recursive: true })
  changeStoreFile(crashed, (db) => db.exec("UPDATE journal SET body = '[]' WHERE seq = 302"))
  await expect(openSqliteStore({ dir: crashed })).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
    details: { table: 'journal', uuid: A, seq: 302 },
  })
})

test('facts without their process are refused when all facts are read', async () => {
  await using fixture = await newHistory()
  const store = await fixture.tamper('DELETE FROM processes WHERE key = ?', 2)
  await expect(store.since({ afterCursor: 0, limit: 1_000 })).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
    details: { cursor: 303 },
    message: expect.stringContaining('its process 2 is missing'),
  })
  expect(await store.verify()).toEqual(['journal: 2 facts belong to no process'])
})

test('verify lists every damaged fact, and no undamaged fact', async () => {
  await using fixture = await newHistory()
  expect(await fixture.store.verify()).toEqual([])
  const store = await fixture.tamper("UPDATE journal SET body = '[]' WHERE cursor IN (5, 6, 20)")
  expect(await store.verify()).toEqual([5, 6, 20].map((seq) => `journal process ${A} seq ${seq} cursor ${seq}: the row is damaged`))
})

test('verify lists facts that belong to no process', async () => {
  await using fixture = await newHistory()
  await fixture.tamper("UPDATE meta SET value = ?1, copy = -?1 WHERE name IN ('cursor', 'settled')", 900)
  const store = await fixture.tamper(
    'INSERT INTO journal SELECT cursor + ?, process, seq, pid, at, type, sum, body, refs, moment FROM journal WHERE cursor <= 3',
    500,
  )
  expect(await store.verify()).toEqual(['journal: 3 facts belong to no process'])
})

test('any flipped bit is detected or has no effect', async () => {
  await using fixture = await newHistory()
  await fixture.close()
  const originalBytes = readFileSync(join(fixture.dir, 'store.db'))
  const contentsBefore = await contentsOf(fixture.dir)
  const copy = join(fixture.dir, '..', 'copy')
  let detected = 0
  for (let round = 0; round < 120; round++) {
    cpSync(fixture.dir, copy, { recursive: true })
    const position = Math.floor((originalBytes.length * round) / 120) + ((round * 37) % 97)
    writeByte(join(copy, 'store.db'), position, (originalBytes[position] ?? 0) ^ (1 << (round % 8)))
    const contentsAfter = await contentsOf(copy).catch((error: unknown) => error)
    if (contentsAfter instanceof KernelError) {
      detected += 1
      expect(['STORE_DAMAGED', 'STORE_NEWER'], contentsAfter.message).toContain(contentsAfter.code)
    } else {
      expect(contentsAfter, `the bit at ${position}`).toStrictEqual(contentsBefore)
    }
  }
  // Most pages of a small store are empty.
  expect(detected).toBeGreaterThan(5)
})

function writeByte(file: string, position: number, byte: number): void {
  const fd = openSync(file, 'r+')
  writeSync(fd, Buffer.of(byte), 0, 1, position)
  closeSync(fd)
}

/** Reads everything in a store; throws the first error. */
async function contentsOf(dir: string): Promise<unknown> {
  await using store = await openSqliteStore({ dir })
  const { processes, counters } = await store.load()
  const facts = await Promise.all(processes.map(({ uuid }) => store.facts(uuid, 0, 1_000)))
  return {
    processes,
    counters,
    facts,
    stream: await store.since({ afterCursor: 0, limit: 1_000 }),
    uuids: processes.map(({ uuid }) => uuid),
  }
}
