// The store with real programs: killed writers, locks between OS processes, a disk that is really full or read-only.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { fold } from '../../../src/kernel/state/fold.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import { acquireLock } from '../../../src/store/files/lock.ts'
import { openSqliteStore } from '../../../src/store/sqlite.ts'
import type { Store } from '../../../src/store/store.ts'
import { deep } from '../../support/deep.ts'
import { canMount, onSmallDisk } from '../../support/daemon/small-disk.ts'
import { uuidOf } from '../../support/store/facts.ts'
import { tempDir } from '../../support/tmp.ts'
import { seededRandom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'

const KILLS = deep(12, 50)
const AGENT = uuidOf(1)
const programPath = (name: string): string => fileURLToPath(new URL(`../../support/programs/${name}.ts`, import.meta.url))

function startProgram(name: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [programPath(name), ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Runs a writer and kills it after `acks` printed numbers; returns the last printed number. */
async function writeAndKill(dir: string, acks: number): Promise<number> {
  const child = startProgram('store-writer', dir)
  const closed = once(child, 'close')
  let printed = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk
    if (printed.split('\n').length > acks) child.kill('SIGKILL')
  })
  const [, signal] = (await closed) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
  return Number(printed.split('\n').at(-2))
}

async function readAllFacts(store: Store): Promise<StoredFact[]> {
  const facts: StoredFact[] = []
  for (let page = await store.facts(AGENT, 0, 1_000); page.length > 0; page = await store.facts(AGENT, facts.length, 1_000))
    facts.push(...page)
  return facts
}

/** The commits in the store: each with its three facts, in order, and no others. */
function numbersOf(facts: readonly StoredFact[]): number[] {
  return facts.map(({ body }, index) => {
    const printed = body.type === 'process.output' || body.type === 'process.note' ? body.text : ''
    const [number, part] = printed.split(' ', 1).join('').split('/').map(Number)
    expect([number, part], `fact ${index + 4}`).toEqual([Math.floor(index / 3) + 1, index % 3])
    return number ?? 0
  })
}

test(`after ${KILLS} kills at random moments every acknowledged commit is there, whole, and all rows match (seed ${SEED})`, async () => {
  await using folder = await tempDir()
  const random = seededRandom(SEED)
  let facts: StoredFact[] = []
  for (let round = 0; round < KILLS; round++) {
    const acks = 1 + Math.floor(random() * 40)
    const lastCommit = await writeAndKill(folder.path, acks)
    await using store = await openSqliteStore({ dir: folder.path })
    facts = await readAllFacts(store)
    expect(facts.length % 3, `round ${round}, killed after ${acks}`).toBe(0)
    const numbers = numbersOf(facts.slice(3))
    expect(numbers.at(-1), `round ${round}, killed after ${acks}`).toBeGreaterThanOrEqual(lastCommit)
    const foldedRow = facts.reduce<Process | undefined>((process, fact) => fold(process, fact), undefined)
    expect(await store.load()).toStrictEqual({ counters: { pid: 1, cursor: facts.length }, processes: [foldedRow] })
  }
  expect(facts.length).toBeGreaterThan(3 * KILLS)
  await using store = await openSqliteStore({ dir: folder.path })
  expect(await store.verify()).toEqual([])
}, 180_000)

describe('between OS processes', () => {
  test.each([
    ['the lock', 'lock', acquireLock],
    ['the store', 'store', (dir: string) => openSqliteStore({ dir })],
  ] as const)('%s belongs to one OS process, and is free again when that process is killed', async (_, lock, take) => {
    await using folder = await tempDir()
    const holder = startProgram('lock-holder', lock, folder.path)
    const closed = once(holder, 'close')
    try {
      await once(holder.stdout ?? holder, 'data')
      await expect(take(folder.path)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
      // A refused attempt must not release the lock.
      await expect(take(folder.path)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    } finally {
      holder.kill('SIGKILL')
      await closed
    }
    await using _taken = await take(folder.path)
  })
})

test('a full disk refuses one whole commit and keeps the others; the reserve permits one more; a read-only disk is a different error', async (context) => {
  await using folder = await tempDir()
  const mount = join(folder.path, 'small')
  mkdirSync(mount)
  if (!canMount(mount)) return context.skip('no file system can be mounted here, not even in a user namespace')
  const [command, args] = onSmallDisk(mount, 9, process.execPath, programPath('store-on-full-disk'), mount)
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  expect(errors).toBe('')
  expect(JSON.parse(stdout)).toEqual({
    code: 'DISK_FULL',
    lost: 0,
    again: 'DISK_FULL',
    row: true,
    released: true,
    afterRelease: 'ok',
    restoredWhileFull: false,
    restored: true,
    goesOn: 'ok',
    lostInAll: 0,
    damage: [],
    texts: ['held: the disk is full', 'goes on'],
    openReadOnly: 'READ_ONLY',
    lockReadOnly: 'READ_ONLY',
  })
})

test(`writes that fail at random bytes lose nothing and damage nothing, with the seed ${SEED}`, { timeout: 300_000 }, async () => {
  await using folder = await tempDir()
  const child = startProgram('store-with-failing-writes', folder.path, String(deep(8, 80)), String(SEED))
  const [stdout] = await Promise.all([text(child.stdout ?? process.stdin), once(child, 'close')])
  expect(JSON.parse(stdout)).toEqual({ codes: ['DISK_FULL', 'ok'], lost: 0, damage: [] })
})
