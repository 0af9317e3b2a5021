// The check of SQLite's write-ahead log: leftovers of a crash are not damage, and damage is not mistaken for a crash.
import { cpSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkWal } from '../../../../src/store/files/wal-check.ts'
import { IDENTITY_FILE } from '../../../../src/store/files/identity.ts'
import { openSqliteStore } from '../../../../src/store/sqlite.ts'
import { CommitMaker, modelFinished, toolFinished, uuidOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

const A = uuidOf(1)
const FRAME_BYTES = 24 + 16_384
const COMMITS = 8

let folder: TempDir
let killedHome: string
/** the bytes of the write-ahead log in `killedHome` */
let walBytes: Buffer
/** the number of facts after each commit, by the number of frames in the log at that time */
const factCounts = new Map<number, number>()

// Makes a store as a killed daemon leaves it: its whole history is in the log.
beforeAll(async () => {
  folder = await tempDir()
  killedHome = join(folder.path, 'killed')
  await using fixture = await openTestStore()
  const log = join(fixture.dir, 'store.db-wal')
  const commits = new CommitMaker()
  // The tables are in the database file; everything later is in the log.
  await fixture.reopen()
  await fixture.store.commit(commits.spawn(A))
  for (let step = 1; step <= COMMITS; step++) {
    await fixture.store.commit(
      commits.write(A, ...modelFinished(step, `text ${step} `.repeat(2_500)), ...toolFinished(step, 'x'.repeat(20_000))),
    )
    factCounts.set((statSync(log).size - 32) / FRAME_BYTES, commits.get(A).seq)
  }
  cpSync(fixture.dir, killedHome, { recursive: true })
  walBytes = readFileSync(join(killedHome, 'store.db-wal'))
})
afterAll(() => folder[Symbol.asyncDispose]())

let copyCount = 0
function copyHome(change: (log: Buffer) => Buffer | void, { sameBoot = true } = {}): string {
  const dir = join(folder.path, `copy-${++copyCount}`)
  cpSync(killedHome, dir, { recursive: true })
  const log = Buffer.from(walBytes)
  writeFileSync(join(dir, 'store.db-wal'), change(log) ?? log)
  // Without the identity file the check cannot know whether the machine lost power.
  if (!sameBoot) rmSync(join(dir, IDENTITY_FILE))
  return dir
}

async function countFacts(dir: string): Promise<number> {
  await using store = await openSqliteStore({ dir })
  expect(await store.verify()).toEqual([])
  return (await store.facts(A, 0, 1_000)).length
}

function filesOf(dir: string): string[] {
  return readdirSync(dir)
    .toSorted()
    .map((name) => `${name} ${readFileSync(join(dir, name)).toString('base64url')}`)
}

const frameCount = (): number => (walBytes.length - 32) / FRAME_BYTES
const commitEnds = (): number[] => [...factCounts.keys()]
const factCount = (): number => factCounts.get(frameCount()) ?? 0
/** the number of frames before the last commit */
const lastCommitBegin = (): number => commitEnds().at(-2) ?? 0

test('a log without damage is read to its end', async () => {
  expect(checkWal(join(killedHome, 'store.db-wal'), { mayHaveGaps: false })).toEqual({ hasLeftoverWal: false })
  expect(frameCount() - lastCommitBegin()).toBeGreaterThan(2)
  expect(await countFacts(copyHome(() => {}))).toBe(factCount())
})

test('a missing log, an empty log and a header alone are accepted', () => {
  const writeLog = (bytes: Buffer): string => {
    const file = join(folder.path, `log-${++copyCount}`)
    writeFileSync(file, bytes)
    return file
  }
  expect(checkWal(join(folder.path, 'nowhere'), { mayHaveGaps: false })).toEqual({ hasLeftoverWal: false })
  expect(checkWal(writeLog(Buffer.alloc(0)), { mayHaveGaps: false })).toEqual({ hasLeftoverWal: false })
  expect(checkWal(writeLog(walBytes.subarray(0, 32)), { mayHaveGaps: false })).toEqual({ hasLeftoverWal: false })
  expect(checkWal(writeLog(walBytes.subarray(0, 20)), { mayHaveGaps: false })).toEqual({ hasLeftoverWal: true })
})

describe('damage is refused with its position, and nothing is changed', () => {
  test.each<[string, () => number, number | null]>([
    ['a bit of a page', () => 32 + FRAME_BYTES * 3 + 5_000, 3],
    ['a bit of a salt', () => 32 + FRAME_BYTES * 3 + 9, 3],
    ['a bit of the sum', () => 32 + FRAME_BYTES * 3 + 17, 3],
    ['a bit of the page number', () => 32 + FRAME_BYTES * 3 + 3, 3],
    ['a bit in the first frame', () => 32 + 24, 0],
    ['a bit in the commit before the last', () => 32 + FRAME_BYTES * ((commitEnds().at(-3) ?? 0) + 1) + 100, null],
    ['a bit in the first frame of the last commit', () => 32 + FRAME_BYTES * lastCommitBegin() + 100, null],
    ['a bit of the header', () => 17, 0],
  ])('%s', async (_, position, frame) => {
    const dir = copyHome((log) => {
      log[position()] = (log[position()] ?? 0) ^ 4
    })
    const before = filesOf(dir)
    await expect(openSqliteStore({ dir })).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: expect.stringMatching(/^log frame \d+ byte \d+: /),
      hint: expect.stringContaining('--accept-store'),
      details: { table: 'log', ...(frame === null ? {} : { frame }) },
    })
    expect(filesOf(dir)).toEqual(before)
  })

  test.each([
    ['zeros over a sector', 512],
    ['zeros over three frames', 3 * FRAME_BYTES],
  ])('%s', async (_, bytes) => {
    const dir = copyHome(
      (log) => {
        log.fill(0, 32 + FRAME_BYTES * 4, 32 + FRAME_BYTES * 4 + bytes)
      },
      { sameBoot: false },
    )
    await expect(openSqliteStore({ dir })).rejects.toMatchObject({ code: 'STORE_DAMAGED', details: { table: 'log', frame: 4 } })
  })

  test('a log whose store is gone', async () => {
    const dir = copyHome(() => {}, { sameBoot: false })
    rmSync(join(dir, 'store.db'))
    await expect(openSqliteStore({ dir })).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: expect.stringContaining('its write-ahead log exists'),
    })
    expect(readFileSync(join(dir, 'store.db-wal'))).toEqual(walBytes)
  })
})

describe('leftovers of a crash are not damage', () => {
  test('such as a commit that is cut off at any byte', async () => {
    const begin = 32 + FRAME_BYTES * lastCommitBegin()
    for (const bytes of [
      begin,
      begin + 10,
      begin + 24,
      begin + 4_096,
      begin + FRAME_BYTES,
      begin + FRAME_BYTES + 30,
      walBytes.length - 1,
    ]) {
      expect(await countFacts(copyHome((log) => log.subarray(0, bytes)))).toBe(factCounts.get(lastCommitBegin()))
    }
  })

  test('such as a commit with missing sectors after the machine lost power', async () => {
    const firstSector = Math.floor((32 + FRAME_BYTES * lastCommitBegin()) / 512) + 1
    const sectors = Math.floor(walBytes.length / 512) - firstSector
    for (let round = 0; round < 12; round++) {
      const dir = copyHome(
        (log) => {
          for (let sector = 0; sector < sectors; sector++) {
            const position = (firstSector + sector) * 512
            if ((sector * 7 + round * 13) % 5 === 0) log.fill(0, position, position + 512)
          }
        },
        { sameBoot: false },
      )
      expect(await countFacts(dir), `round ${round}`).toBe(factCounts.get(lastCommitBegin()))
    }
  })

  test('and a WAL checkpoint removes them at once, so that they are not mistaken for damage later', async () => {
    const dir = copyHome(
      (log) => {
        log.fill(0, 32 + FRAME_BYTES * lastCommitBegin(), 32 + FRAME_BYTES * lastCommitBegin() + 512)
      },
      { sameBoot: false },
    )
    await using store = await openSqliteStore({ dir })
    expect(statSync(join(dir, 'store.db-wal')).size).toBeLessThan(walBytes.length)
    expect(await store.verify()).toEqual([])
  })

  test('such as frames of an earlier round of the log behind the last commit', async () => {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    await fixture.store.commit(commits.spawn(A))
    for (let step = 1; step <= 60; step++) await fixture.store.commit(commits.write(A, ...toolFinished(step, 'y'.repeat(7_000))))
    const dir = join(folder.path, `copy-${++copyCount}`)
    cpSync(fixture.dir, dir, { recursive: true })
    expect(checkWal(join(dir, 'store.db-wal'), { mayHaveGaps: false })).toEqual({ hasLeftoverWal: true })
    expect(await countFacts(dir)).toBe(commits.get(A).seq)
  })
})

test('a store with accepted damage has the commits before it, and a copy of the write-ahead log is kept', async () => {
  const damagedFrame = commitEnds()[4] ?? 0
  const dir = copyHome((log) => {
    log.fill(0, 32 + FRAME_BYTES * damagedFrame, 32 + FRAME_BYTES * damagedFrame + 600)
  })
  const logged: string[] = []
  {
    await using store = await openSqliteStore({ dir, accept: true, log: (message) => logged.push(message) })
    expect((await store.facts(A, 0, 1_000)).length).toBe(factCounts.get(damagedFrame))
    expect(await store.verify()).toEqual([])
  }
  expect(logged).toEqual([
    expect.stringMatching(/^accepted: log frame \d+/),
    expect.stringMatching(/^kept a copy of the write-ahead log as /),
  ])
  const copiedLog = String(logged[1]).split(' as ').at(-1) ?? ''
  expect(readFileSync(copiedLog).length).toBe(walBytes.length)
  await using _again = await openSqliteStore({ dir })
})

test('a log that was cut between two runs is detected by the recorded counters', async () => {
  const dir = join(folder.path, `copy-${++copyCount}`)
  {
    await using fixture = await openTestStore()
    const commits = new CommitMaker()
    for (let number = 1; number <= 5; number++) await fixture.store.commit(commits.spawn(uuidOf(number)))
    await fixture.waitForIdentity(commits.cursor)
    cpSync(fixture.dir, dir, { recursive: true })
  }
  truncateSync(join(dir, 'store.db-wal'), statSync(join(dir, 'store.db-wal')).size - 1)
  await expect(openSqliteStore({ dir })).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
    message: expect.stringMatching(/^log frame \d+ byte \d+: the frame is damaged/),
  })
})
