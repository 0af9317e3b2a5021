// The store among real processes: killed writers, locks between processes, a disk that is really full or read-only.
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { fold } from '../../src/kernel/fold.ts'
import type { StoredFact } from '../../src/kernel/facts.ts'
import type { Process } from '../../src/kernel/types.ts'
import { acquireLock } from '../../src/store/lock.ts'
import { openSqliteStore } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { uuidOf } from '../support/store-facts.ts'
import { tempDir } from '../support/tmp.ts'

const KILLS = 50
const AGENT = uuidOf(1)
const program = (name: string): string => fileURLToPath(new URL(`../support/${name}.ts`, import.meta.url))

function start(name: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [program(name), ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Runs a writer and kills it when it has said `acks` numbers; gives the last number that it said. */
async function writeAndKill(dir: string, acks: number): Promise<number> {
  const child = start('store-writer', dir)
  const ended = once(child, 'close')
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk
    if (said.split('\n').length > acks) child.kill('SIGKILL')
  })
  const [, signal] = await ended as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
  return Number(said.split('\n').at(-2))
}

async function allFacts(store: Store): Promise<StoredFact[]> {
  const facts: StoredFact[] = []
  for (let page = await store.facts(AGENT, 0, 1_000); page.length > 0; page = await store.facts(AGENT, facts.length, 1_000)) facts.push(...page)
  return facts
}

/** The commits that are there: each with its three facts, in order, and none beyond. */
function numbersOf(facts: readonly StoredFact[]): number[] {
  return facts.map(({ body }, index) => {
    const said = body.type === 'process.output' || body.type === 'process.note' ? body.text : ''
    const [number, part] = said.split(' ', 1).join('').split('/').map(Number)
    expect([number, part], `fact ${index + 4}`).toEqual([Math.floor(index / 3) + 1, index % 3])
    return number ?? 0
  })
}

test(`after ${KILLS} kills at random moments every acknowledged commit is there, whole, and no row lies`, async () => {
  await using folder = await tempDir()
  let facts: StoredFact[] = []
  for (let round = 0; round < KILLS; round++) {
    const acks = 1 + Math.floor(Math.random() * 40)
    const last = await writeAndKill(folder.path, acks)
    await using store = await openSqliteStore({ dir: folder.path })
    facts = await allFacts(store)
    expect(facts.length % 3, `round ${round}, killed after ${acks}`).toBe(0)
    const numbers = numbersOf(facts.slice(3))
    expect(numbers.at(-1), `round ${round}, killed after ${acks}`).toBeGreaterThanOrEqual(last)
    const folded = facts.reduce<Process | undefined>((process, fact) => fold(process, fact), undefined)
    expect(await store.load()).toStrictEqual({ counters: { pid: 1, cursor: facts.length }, processes: [folded] })
  }
  expect(facts.length).toBeGreaterThan(3 * KILLS)
  await using store = await openSqliteStore({ dir: folder.path })
  expect(await store.verify()).toEqual([])
}, 180_000)

describe('between processes', () => {
  test.each([
    ['the lock', 'lock', acquireLock],
    ['the store', 'store', (dir: string) => openSqliteStore({ dir })],
  ] as const)('%s is one, and comes back when its holder is killed', async (_, what, take) => {
    await using folder = await tempDir()
    const holder = start('store-holder', what, folder.path)
    const ended = once(holder, 'close')
    try {
      await once(holder.stdout ?? holder, 'data')
      await expect(take(folder.path)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
      // a refused attempt must not have loosened it
      await expect(take(folder.path)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    } finally {
      holder.kill('SIGKILL')
      await ended
    }
    await using _taken = await take(folder.path)
  })
})

/** Runs in a mount namespace of its own, so that the file system goes with the last process in it. */
const UNSHARE = process.getuid?.() === 0 ? ['-m'] : ['-Urm']
const MOUNT = 'mount -t tmpfs -o size=9m,mode=700 tmpfs "$1" && shift && exec "$@"'

function mayMount(dir: string): boolean {
  return spawnSync('unshare', [...UNSHARE, 'sh', '-c', MOUNT, 'sh', dir, 'true'], { stdio: 'ignore' }).status === 0
}

test('a full disk refuses one commit whole and keeps the rest; the reserve lets one more through; read-only is told apart', async (context) => {
  await using folder = await tempDir()
  const mount = join(folder.path, 'small')
  mkdirSync(mount)
  if (!mayMount(mount)) return context.skip('no file system can be mounted here, not even in a user namespace')
  const child = spawn('unshare', [...UNSHARE, 'sh', '-c', MOUNT, 'sh', mount, process.execPath, program('store-disk'), mount], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  expect(errors).toBe('')
  expect(JSON.parse(out)).toEqual({
    code: 'DISK_FULL', lost: 0, again: 'DISK_FULL', row: true,
    released: true, afterRelease: 'ok', restoredWhileFull: false, restored: true, goesOn: 'ok', lostInAll: 0,
    damage: [], texts: ['held: the disk is full', 'goes on'],
    openReadOnly: 'READ_ONLY', lockReadOnly: 'READ_ONLY',
  })
})
