// A daemon that must not start reports the reason and harms nothing. On a disk that is really full the agents are held, and nothing is lost.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, statfsSync, statSync, appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { DaemonView } from '../../../src/api/views/daemon.ts'
import { DaemonHome, type DaemonExit } from '../../support/daemon/daemon.ts'
import { deep } from '../../support/deep.ts'
import { checkStore } from '../../support/daemon/journal-check.ts'
import { waitUntil, readProcess, signalFound } from '../../support/agents/living.ts'

/** A text in the spec, which each start reads. */
const MARK = 'a word that is found in the file'

/** A daemon that is not refused within this time is killed; its exit code is then null. */
const REFUSAL_MS = 15_000

async function startRefused(home: DaemonHome): Promise<DaemonExit & { readonly stderr: string }> {
  const child = home.launch()
  const tooLate = setTimeout(() => signalFound(readProcess(child.pid), 'SIGKILL'), REFUSAL_MS)
  const exit = await child.ended
  clearTimeout(tooLate)
  return { ...exit, stderr: child.stderr() }
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Changes a letter at each occurrence of the text in the file. */
function damageFile(file: string, text: string): void {
  const bytes = readFileSync(file)
  for (let index = bytes.indexOf(text); index >= 0; index = bytes.indexOf(text, index + 1)) bytes.write(capitalize(text), index)
  writeFileSync(file, bytes)
}

/** A home with a suspended process, whose daemon has stopped. */
async function makeStoppedHome(): Promise<DaemonHome> {
  const home = await DaemonHome.create()
  await home.start()
  const { uuid } = await home.spawn({ env: { MARK }, model: home.writeScript([{ delay_ms: 60_000, text: 'done' }]) })
  await home.pause(uuid, { now: true })
  await home.waitForView(uuid, ({ note }) => note?.includes('draining') !== true)
  expect(await home.stop()).toEqual({ code: 0, signal: null })
  return home
}

describe('a daemon that must not start', () => {
  test('a second one on the same home is refused and harms nothing', async () => {
    await using home = await DaemonHome.create()
    const first = await home.start()
    const { uuid } = await home.spawn({ model: home.writeScript([{ delay_ms: 60_000, text: 'done' }]) })
    await home.waitForView(uuid, ({ status }) => status === 'working')
    const daemonJson = readFileSync(home.paths.daemonJson, 'utf8')
    const { code, stderr } = await startRefused(home)
    expect(code).toBe(4)
    expect(stderr).toContain(`Another daemon owns ${home.path}. (STORE_LOCKED)`)
    expect(stderr).toContain('reeve daemon status')
    expect(readFileSync(home.paths.daemonJson, 'utf8')).toBe(daemonJson)
    expect((await home.client.get<DaemonView>('/v1/daemon')).pid).toBe(first.pid)
    expect(await home.view(uuid)).toMatchObject({ status: 'working' })
    // The lock still holds: the refused daemon has not released it by closing its file.
    expect((await startRefused(home)).code).toBe(4)
    await home.kill()
    await home.start()
  })

  test('a store with a damaged row is refused with its location, and stays unchanged', async () => {
    await using home = await makeStoppedHome()
    const file = join(home.path, 'store.db')
    copyFileSync(file, join(home.work, 'sound.db'))
    damageFile(file, MARK)
    const { code, stderr } = await startRefused(home)
    expect(code).toBe(125)
    expect(stderr).toMatch(/journal process [0-9a-f-]{36} seq 1 cursor 1: .*\(STORE_DAMAGED\)/)
    expect(readFileSync(file).includes(capitalize(MARK))).toBe(true)
    // With the sound file the daemon starts, and has all processes.
    copyFileSync(join(home.work, 'sound.db'), file)
    await home.start()
    expect((await home.listProcesses()).map(({ status, intent }) => [status, intent])).toEqual([['suspended', 'work']])
  })

  test('a file that is no store is refused, and stays unchanged', async () => {
    await using home = await makeStoppedHome()
    const file = join(home.path, 'store.db')
    const rubbish = Buffer.alloc(65_536, 'no database ')
    writeFileSync(file, rubbish)
    const { code, stderr } = await startRefused(home)
    expect(code).toBe(125)
    expect(stderr).toContain('(STORE_DAMAGED)')
    expect(readFileSync(file).equals(rubbish)).toBe(true)
  })

  test('the store of a newer version is refused, and stays unchanged', async () => {
    await using home = await makeStoppedHome()
    const setStore = setSchema(home, 9_999)
    const { code, stderr } = await startRefused(home)
    expect(code).toBe(125)
    expect(stderr).toContain('(STORE_NEWER)')
    expect(stderr).toContain('Install the newer version')
    setSchema(home, setStore)
    await home.start()
    expect(await home.listProcesses()).toHaveLength(1)
  })
})

/** Sets the version and returns the previous one. The store keeps each number with its negative. */
function setSchema(home: DaemonHome, version: number): number {
  const db = new DatabaseSync(join(home.path, 'store.db'))
  try {
    const schemaRow = db.prepare("SELECT value FROM meta WHERE name = 'schema'").get()
    db.prepare("UPDATE meta SET value = ?, copy = ? WHERE name = 'schema'").run(version, -version)
    return Number(schemaRow?.['value'])
  } finally {
    db.close()
  }
}

const SMALL_MIB = 24
const PAGE_BYTES = 4_096

/** A home on a separate file system that can really be full; null if it cannot be mounted. */
async function makeSmallHome(): Promise<({ readonly home: DaemonHome } & AsyncDisposable) | null> {
  const home = await DaemonHome.create()
  mkdirSync(home.path, { mode: 0o700 })
  const mountResult = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_MIB}m,mode=0700`, 'reeve-test', home.path])
  if (mountResult.status !== 0) {
    await home[Symbol.asyncDispose]()
    return null
  }
  return {
    home,
    async [Symbol.asyncDispose]() {
      await home.kill()
      await waitUntil(() => home.findLeftovers().length === 0, 'all programs have ended')
      await waitUntil(() => spawnSync('umount', [home.path]).status === 0, 'it is unmounted')
      await home[Symbol.asyncDispose]()
    },
  }
}

function readFreeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir)
  return bavail * bsize
}

/** Uses up all free space, also in the last page of the log. */
function fillDisk(dir: string): void {
  const log = join(dir, 'daemon.log')
  appendFileSync(log, '\n'.repeat(PAGE_BYTES - (statSync(log).size % PAGE_BYTES)))
  for (let fileNumber = 0; readFreeBytes(dir) > 0; fileNumber++) {
    try {
      writeFileSync(join(dir, `filler-${fileNumber}`), Buffer.alloc(Math.min(readFreeBytes(dir), 1_048_576)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
}

/** Removes the log: the log of a killed daemon may have room for the commits of a start, which then would succeed. */
function foldLog(dir: string): void {
  const db = new DatabaseSync(join(dir, 'store.db'))
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

function freeDisk(dir: string): void {
  spawnSync('sh', ['-c', 'rm -f "$1"/filler-*', 'sh', dir])
}

const STEPS = deep(50, 150)
const AGENTS = 3

/** Agents that write a line and much output per step, so that they soon meet a full disk. */
async function spawnWriters(home: DaemonHome): Promise<string[]> {
  const steps = Array.from({ length: STEPS }, (_, index) => ({
    delay_ms: 60,
    tools: [{ name: 'bash', input: { command: `echo ${index + 1} >> lines; head -c 4000 /dev/urandom | base64` } }],
  }))
  const model = home.writeScript([...steps, { text: 'done' }])
  const uuids: string[] = []
  for (let agent = 0; agent < AGENTS; agent++) {
    const cwd = join(home.work, String(agent))
    mkdirSync(cwd)
    uuids.push((await home.spawn({ model, cwd })).uuid)
  }
  return uuids
}

function linesOf(home: DaemonHome, agent: number): number[] {
  return readFileSync(join(home.work, String(agent), 'lines'), 'utf8')
    .trim()
    .split('\n')
    .map(Number)
}

const ALL_STEPS = Array.from({ length: STEPS }, (_, index) => index + 1)
const mounts = await makeSmallHome()
await mounts?.[Symbol.asyncDispose]()

// Only root may mount a small disk; other users skip these tests.
describe.skipIf(mounts === null)('a disk that is full', () => {
  test(
    'agents are held with `disk-full`, nothing new starts, and they continue by themselves when there is space',
    { timeout: 120_000 },
    async () => {
      await using small = await makeSmallHome()
      const home = small?.home
      if (!home) throw new Error('it could be mounted before')
      await home.start()
      const uuids = await spawnWriters(home)
      for (const uuid of uuids) await home.waitForView(uuid, ({ step }) => step >= 3)
      fillDisk(home.path)
      for (const uuid of uuids)
        await home.waitForView(uuid, ({ status, holds }) => status === 'suspended' && holds.some(({ reason }) => reason === 'disk-full'))
      await expect(home.spawn({ model: home.writeScript([{ text: 'no' }]) })).rejects.toMatchObject({ code: 'DISK_FULL' })
      const events = await home.readEvents()
      freeDisk(home.path)
      for (const uuid of uuids) {
        expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: STEPS + 1 })
      }
      for (let agent = 0; agent < AGENTS; agent++) expect(linesOf(home, agent)).toEqual(ALL_STEPS)
      expect((await home.readEvents()).slice(0, events.length)).toEqual(events)
      expect(await home.stop()).toEqual({ code: 0, signal: null })
      expect((await checkStore(home.path, join(home.work, 'copy'))).violations).toEqual([])
    },
  )

  test(
    'a daemon that is killed on a full disk has lost nothing, and its agents continue when there is space',
    { timeout: 120_000 },
    async () => {
      await using small = await makeSmallHome()
      const home = small?.home
      if (!home) throw new Error('it could be mounted before')
      await home.start()
      const uuids = await spawnWriters(home)
      for (const uuid of uuids) await home.waitForView(uuid, ({ step }) => step >= 3)
      fillDisk(home.path)
      for (const uuid of uuids) await home.waitForView(uuid, ({ holds }) => holds.some(({ reason }) => reason === 'disk-full'))
      const events = await home.readEvents()
      await home.kill()
      await home.waitUntilNothingIsLeft()
      const storeCheck = await checkStore(home.path, join(home.work, 'copy'))
      expect(storeCheck.violations).toEqual([])
      expect(storeCheck.facts.slice(0, events.length).map(({ cursor, uuid, body }) => [cursor, uuid, body.type])).toEqual(
        events.map(({ seq, uuid, fact }) => [seq, uuid, fact]),
      )
      freeDisk(home.path)
      foldLog(home.path)
      fillDisk(home.path)
      const refusal = await startRefused(home)
      expect(refusal.code).toBe(125)
      expect(refusal.stderr).toContain('(DISK_FULL)')
      expect(refusal.stderr).toContain('Free some space')
      freeDisk(home.path)
      await home.start()
      for (const uuid of uuids) {
        const { status } = await home.view(uuid)
        if (status === 'interrupted') await home.resume(uuid)
        expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: STEPS + 1 })
      }
      for (let agent = 0; agent < AGENTS; agent++) {
        const lines = linesOf(home, agent)
        expect(new Set(lines).size).toBe(lines.length)
        expect(STEPS - lines.length).toBeLessThanOrEqual(1)
      }
    },
  )
})
