// Loss of power. A store under load is copied after each commit. The test builds the disks that a power cut in the next commit could
// leave. In these, each unsynced sector of 512 bytes is present or absent. All of them must have every acknowledged commit.
// The model takes the order of SQLite's syncs from its documentation (log, then database; the header of a new log first). Directory
// entries are not modelled. docs/trust/guarantees.md lists its limits.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KernelError } from '../../src/kernel/model/errors.ts'
import { IDENTITY_FILE, identityText, readIdentity } from '../../src/store/files/identity.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import { deep } from '../support/deep.ts'
import { seededRandom } from '../support/random.ts'
import { CommitMaker, endFacts, stepOf, uuidOf } from '../support/store/facts.ts'
import { openTestStore, type TestStore } from '../support/store/test-store.ts'
import { SEED } from '../support/seed.ts'

const COMMITS = deep(60, 300)
const CUTS = deep(20, 400)
const SECTOR = 512

interface Random {
  /** a whole number below `count` */
  below(count: number): number
}

function randomOf(seed: number): Random {
  const nextRandom = seededRandom(seed)
  return { below: (count) => Math.floor(nextRandom() * count) }
}

interface Disk {
  readonly db: Buffer
  readonly log: Buffer
  readonly identity: string
}

/** A disk after a commit, and the number of facts of each process at that time. */
interface Moment extends Disk {
  readonly facts: ReadonlyMap<string, number>
}

function snapshotDisk(fixture: TestStore): Disk {
  const identity = readIdentity(fixture.dir)
  return {
    db: readFileSync(join(fixture.dir, 'store.db')),
    log: readFileSync(join(fixture.dir, 'store.db-wal')),
    identity: identity === null ? '' : identityText({ ...identity, boot: 'before the power went' }),
  }
}

/** Commits steps, long texts, spawns and ends, and copies the disk after each. Every few commits, the log is folded into the database. */
async function recordMoments(random: Random, commitCount: number): Promise<Moment[]> {
  await using fixture = await openTestStore()
  const commits = new CommitMaker()
  const moments: Moment[] = []
  const livingNumbers: number[] = []
  const spawnedNumbers: number[] = []
  for (let number = 1; number <= commitCount; number++) {
    const percent = random.below(10)
    const livingNumber = livingNumbers[random.below(Math.max(1, livingNumbers.length))]
    if (livingNumber === undefined || percent === 0) {
      livingNumbers.push(number)
      spawnedNumbers.push(number)
      await fixture.store.commit(commits.spawn(uuidOf(number)))
    } else if (percent === 1 && livingNumbers.length > 1) {
      livingNumbers.splice(livingNumbers.indexOf(livingNumber), 1)
      await fixture.store.commit(commits.write(uuidOf(livingNumber), ...endFacts()))
    } else {
      await fixture.store.commit(
        commits.write(uuidOf(livingNumber), ...stepOf(number, `${number} `.repeat(random.below(percent === 2 ? 20_000 : 900)))),
      )
    }
    const facts = new Map(spawnedNumbers.map((number) => [uuidOf(number), commits.get(uuidOf(number)).seq]))
    moments.push({ ...snapshotDisk(fixture), facts })
  }
  return moments
}

/** Mixes random sectors of both. The length is one of their lengths, or one between them. */
function mixSectors(random: Random, before: Buffer, after: Buffer): Buffer {
  const longest = Math.max(before.length, after.length)
  const sectors = Math.ceil(longest / SECTOR)
  const share = random.below(101)
  const mixed = Buffer.alloc(longest)
  for (let sector = 0; sector < sectors; sector++) {
    const [from, to] = [sector * SECTOR, (sector + 1) * SECTOR]
    ;(random.below(100) < share ? after : before).subarray(from, to).copy(mixed, from)
  }
  const lengths = [before.length, after.length, SECTOR * random.below(sectors + 1)]
  return mixed.subarray(0, Math.max(Math.min(before.length, after.length), lengths[random.below(3)] ?? 0))
}

/** A disk that a power cut between two commits could leave. */
function cutPower(random: Random, before: Disk, after: Disk): Disk {
  const { identity } = before
  const isFolded = !before.db.equals(after.db)
  if (isFolded && random.below(2) === 0) return { db: mixSectors(random, before.db, after.db), log: after.log, identity }
  const header = before.log.length > 0 && !before.log.subarray(0, 32).equals(after.log.subarray(0, 32))
  if (!header) return { db: before.db, log: mixSectors(random, before.log, after.log), identity }
  // The log begins again: its header is on the disk before anything else of it is written.
  const newLog = Buffer.concat([after.log.subarray(0, SECTOR), before.log.subarray(SECTOR)])
  return { db: before.db, log: random.below(3) === 0 ? newLog : mixSectors(random, newLog, after.log), identity }
}

async function bootAndCompare(dir: string, disk: Disk, facts: ReadonlyMap<string, number>): Promise<string[]> {
  mkdirSync(dir)
  writeFileSync(join(dir, 'store.db'), disk.db)
  writeFileSync(join(dir, 'store.db-wal'), disk.log)
  if (disk.identity !== '') writeFileSync(join(dir, IDENTITY_FILE), disk.identity)
  await using store = await openSqliteStore({ dir })
  const losses: string[] = []
  for (const [uuid, count] of facts) {
    const found = (await store.facts(uuid, 0, 10_000)).length
    if (found < count) losses.push(`${uuid}: ${found} of ${count} facts`)
  }
  return [...losses, ...(await store.verify())]
}

describe(`with the seed ${SEED}`, () => {
  test(`${CUTS} power cuts lose no acknowledged commit, and leave nothing that counts as damage`, { timeout: 900_000 }, async () => {
    const random = randomOf(SEED)
    const moments = await recordMoments(random, COMMITS)
    await using folder = await openTestStore()
    const firstFold = moments.findIndex(({ db }, index) => !db.equals(moments[index + 1]?.db ?? db))
    expect(firstFold, 'the log was folded into the database').toBeGreaterThanOrEqual(0)
    for (let round = 0; round < CUTS; round++) {
      // The first round cuts a fold of the log into the database.
      const number = round === 0 ? firstFold : random.below(moments.length - 1)
      const [before, after] = [moments[number], moments[number + 1]]
      if (!before || !after) throw new Error('no such moment')
      expect(
        await bootAndCompare(join(folder.dir, `cut-${round}`), cutPower(random, before, after), before.facts),
        `round ${round}, commit ${number + 2}`,
      ).toEqual([])
    }
  })

  test('the test finds the data loss of a disk that ignores syncs', { timeout: 300_000 }, async () => {
    const random = randomOf(SEED + 1)
    const moments = await recordMoments(random, 30)
    await using folder = await openTestStore()
    let failedBoots = 0
    for (let round = 0; round < 12; round++) {
      const number = 8 + random.below(20)
      const [before, after] = [moments[number - 8], moments[number]]
      if (!before || !after) throw new Error('no such moment')
      const disk = { ...after, log: mixSectors(random, before.log, after.log), db: before.db, identity: '' }
      const bootLosses = await bootAndCompare(join(folder.dir, `cut-${round}`), disk, after.facts).catch((error: unknown) => [
        error instanceof KernelError ? error.code : String(error),
      ])
      if (bootLosses.length > 0) failedBoots += 1
    }
    expect(failedBoots).toBeGreaterThan(0)
  })
})
