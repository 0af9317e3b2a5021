// A disk that is really full: agents are held and lose nothing, kills by the user take effect, the daemon can be stopped, and the error of
// a failed worktree names the disk.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { checkStore } from '../../support/daemon/journal-check.ts'
import { startRefused } from '../../support/daemon/refused-start.ts'
import { canMount, onSmallDisk } from '../../support/daemon/small-disk.ts'
import { deep } from '../../support/deep.ts'
import { tempDir } from '../../support/tmp.ts'

test(
  'on a full disk kill, kill -s 9 and daemon stop end all processes, and the next daemon finds them ended',
  { timeout: 120_000 },
  async (context) => {
    await using folder = await tempDir()
    const mount = join(folder.path, 'small')
    mkdirSync(mount)
    if (!canMount(mount)) return context.skip('no file system can be mounted here, not even in a user namespace')
    const [command, args] = onSmallDisk(
      mount,
      24,
      process.execPath,
      fileURLToPath(new URL('../../support/programs/daemon-on-full-disk.ts', import.meta.url)),
    )
    const child = spawn(command, args, {
      env: { ...process.env, TMPDIR: mount, REEVE_TEST_ROOM: mount },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      ended: ['stopped', 'stopped'],
      held: ['disk-full'],
      stopsAtOnce: true,
      store: 'every page, fact and blob is sound',
      after: ['stopped', 'stopped'],
    })
  },
)

test('reeve names the full disk when git reports no reason for a failed worktree', { timeout: 60_000 }, async (context) => {
  await using folder = await tempDir()
  const mount = join(folder.path, 'small')
  mkdirSync(mount)
  if (!canMount(mount)) return context.skip('no file system can be mounted here, not even in a user namespace')
  const [command, args] = onSmallDisk(
    mount,
    1,
    process.execPath,
    fileURLToPath(new URL('../../support/programs/worktree-on-full-disk.ts', import.meta.url)),
    mount,
  )
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  expect([stderr, stdout]).toEqual(['', expect.stringMatching(/^Error: .* \(No space left on device\)$/)])
})

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

/** Uses up all free space, also in the last page of `daemon.log`. */
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

/** Truncates the WAL: the WAL of a killed daemon may have room for the commits of a start, which then would succeed. */
function truncateWal(dir: string): void {
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
const probedHome = await makeSmallHome()
await probedHome?.[Symbol.asyncDispose]()

// Only root may mount a small disk; other users skip these tests.
describe.skipIf(probedHome === null)('on a full disk', () => {
  test(
    'agents are held with `disk-full`, nothing new starts, and they continue by themselves when there is space',
    { timeout: 300_000 },
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
    { timeout: 300_000 },
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
      truncateWal(home.path)
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
