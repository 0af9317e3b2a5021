// Changed bytes in every file of the store: bits, sectors, swapped pages and earlier pages; and files that are cut, empty or missing.
// Each variant is refused, reported at a read, or has no effect; none silently changes the content of the store.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KernelError } from '../../src/kernel/model/errors.ts'
import { acquireLock } from '../../src/store/files/lock.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { deep } from '../support/deep.ts'
import { seededRandom } from '../support/random.ts'
import { CommitMaker, endFacts, forkedOf, stepOf, uuidOf } from '../support/store/facts.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { tempDir, type TempDir } from '../support/tmp.ts'
import { SEED } from '../support/seed.ts'

const VARIANTS = deep(40, 400)
const PAGE = 16_384
const FILES = ['store.db', 'store.db', 'store.db-wal', 'store.db-wal', 'store-identity.json', 'lock.db'] as const

interface Random {
  /** a whole number below `count` */
  below(count: number): number
}

function randomOf(seed: number): Random {
  const next = seededRandom(seed)
  return { below: (count) => Math.floor(next() * count) }
}

let folder: TempDir
/** the files of a daemon that was killed at rest */
let killed: string
/** the files some commits earlier */
let earlier: string
let contentsWhenKilled: unknown

beforeAll(async () => {
  folder = await tempDir()
  killed = join(folder.path, 'killed')
  earlier = join(folder.path, 'earlier')
  await using fixture = await openTestStore()
  await using _lock = await acquireLock(fixture.dir)
  const commits = new CommitMaker()
  for (let number = 1; number <= 12; number++) {
    await fixture.store.commit(commits.spawn(uuidOf(number)))
    for (let step = 1; step <= 20; step++)
      await fixture.store.commit(commits.write(uuidOf(number), ...stepOf(step, `text ${step} `.repeat(step === 9 ? 2_000 : 40))))
    if (number % 3 === 0) await fixture.store.commit(commits.write(uuidOf(number), ...endFacts()))
    if (number === 8) {
      await fixture.reopen()
      cpSync(fixture.dir, earlier, { recursive: true })
    }
  }
  await fixture.store.commit(
    commits.write(
      uuidOf(99),
      forkedOf(++commits.pid, { uuid: uuidOf(3), step: 4, seq: 12 }),
      { type: 'process.started', mono: 5, attached: true, containment: null },
      ...endFacts(),
    ),
  )
  while (await fixture.store.updateUsageLedger());
  await fixture.store.remove(uuidOf(6), 1_700_000_000_000)
  // A removal has no fact, so that store-identity.json learns of it from the position in the log.
  await fixture.waitForLog()
  cpSync(fixture.dir, killed, { recursive: true })
  contentsWhenKilled = await contents(fixture.store)
})
afterAll(() => folder[Symbol.asyncDispose]())

/** The whole content of a store. */
async function contents(store: Store): Promise<unknown> {
  const { processes, counters } = await store.load()
  const dead = await store.dead({ limit: 1_000 })
  const facts = await Promise.all([...processes, ...dead].map(({ uuid }) => store.facts(uuid, 0, 10_000)))
  return {
    processes,
    dead,
    counters,
    facts,
    stream: await store.since({ afterCursor: 0, limit: 10_000 }),
    spent: await store.usageRows({ limit: 1_000 }),
    gone: await store.tombstone(uuidOf(6)),
  }
}

interface Variant {
  readonly file: string
  readonly description: string
}

/** Changes one file of a copy of the home. */
function changeOneFile(random: Random, dir: string): Variant {
  const file = FILES[random.below(FILES.length)] ?? 'store.db'
  const path = join(dir, file)
  const bytes = readFileSync(path)
  const at = random.below(Math.max(1, bytes.length))
  const kinds: Record<string, () => Buffer | null> = {
    'a bit': () => {
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
      return bytes
    },
    'a byte': () => {
      bytes[at] = random.below(256)
      return bytes
    },
    'a sector of zeros': () => bytes.fill(0, at - (at % 512), Math.min(bytes.length, at - (at % 512) + 512)),
    'a sector of noise': () => {
      for (let i = at - (at % 512); i < Math.min(bytes.length, at - (at % 512) + 512); i++) bytes[i] = random.below(256)
      return bytes
    },
    'two swapped pages': () =>
      withSwappedPages(random, bytes, file.endsWith('-wal') ? { begin: 32, size: PAGE + 24 } : { begin: 0, size: PAGE }),
    'a page from before': () => withEarlierPage(random, bytes, file),
    'an end that is cut off': () => bytes.subarray(0, at),
    'no bytes': () => Buffer.alloc(0),
    'no file': () => null,
  }
  const names = Object.keys(kinds)
  // Small changes are the most frequent.
  const description = names[random.below(3) === 0 ? random.below(names.length) : random.below(6)] ?? 'a bit'
  const made = kinds[description]?.() ?? null
  if (made === null) rmSync(path)
  else writeFileSync(path, made)
  return { file, description: `${description} at ${at} of ${bytes.length}` }
}

function withSwappedPages(random: Random, bytes: Buffer, { begin, size }: { readonly begin: number; readonly size: number }): Buffer {
  const pages = Math.floor((bytes.length - begin) / size)
  if (pages < 2) return bytes
  const [one, two] = [random.below(pages), random.below(pages)].map((page) => begin + page * size) as [number, number]
  const held = Buffer.from(bytes.subarray(one, one + size))
  bytes.copyWithin(one, two, two + size)
  held.copy(bytes, two)
  return bytes
}

function withEarlierPage(random: Random, bytes: Buffer, file: string): Buffer {
  if (file !== 'store.db') return bytes
  const before = readFileSync(join(earlier, file))
  const page = random.below(Math.max(1, Math.floor(Math.min(before.length, bytes.length) / PAGE))) * PAGE
  before.copy(bytes, page, page, page + PAGE)
  return bytes
}

type Verdict = 'refused' | 'reported' | 'no effect' | 'silent'

async function judge(dir: string): Promise<Verdict> {
  try {
    await using _lock = await acquireLock(dir)
    await using store = await openSqliteStore({ dir })
    try {
      const found = await contents(store)
      if ((await store.verify()).length > 0) return 'reported'
      expect(found).toStrictEqual(contentsWhenKilled)
      return 'no effect'
    } catch (error) {
      if (error instanceof KernelError) return 'reported'
      return 'silent'
    }
  } catch (error) {
    if (error instanceof KernelError && error.code !== 'INTERNAL') return 'refused'
    throw error
  }
}

test(`none of ${VARIANTS} variants changes the store's content silently (seed ${SEED})`, { timeout: 900_000 }, async () => {
  const random = randomOf(SEED)
  const count: Record<Verdict, number> = { refused: 0, reported: 0, 'no effect': 0, silent: 0 }
  const silent: Variant[] = []
  for (let round = 0; round < VARIANTS; round++) {
    const dir = join(folder.path, `variant-${round}`)
    mkdirSync(dir)
    cpSync(killed, dir, { recursive: true })
    rmSync(join(dir, 'reserve.bin'))
    const variant = changeOneFile(random, dir)
    const verdict = await judge(dir)
    count[verdict] += 1
    if (verdict === 'silent') silent.push(variant)
    rmSync(dir, { recursive: true })
  }
  expect(silent, JSON.stringify(count)).toEqual([])
  expect(count.refused).toBeGreaterThan(0)
})
