// A daemon that must not start reports the reason and changes nothing: a second daemon, a damaged store, a newer store.
// A start on a full disk: full-disk.test.ts.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { DaemonView } from '../../../src/api/views/daemon.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { startRefused } from '../../support/daemon/refused-start.ts'

/** A text in the spec, which each start reads. */
const MARK = 'a word that is found in the file'

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

  test('a file that is not a store is refused, and stays unchanged', async () => {
    await using home = await makeStoppedHome()
    const file = join(home.path, 'store.db')
    const notADatabase = Buffer.alloc(65_536, 'no database ')
    writeFileSync(file, notADatabase)
    const { code, stderr } = await startRefused(home)
    expect(code).toBe(125)
    expect(stderr).toContain('(STORE_DAMAGED)')
    expect(readFileSync(file).equals(notADatabase)).toBe(true)
  })

  test('the store of a newer version is refused, and stays unchanged', async () => {
    await using home = await makeStoppedHome()
    const previousSchema = setSchema(home, 9_999)
    const { code, stderr } = await startRefused(home)
    expect(code).toBe(125)
    expect(stderr).toContain('(STORE_NEWER)')
    expect(stderr).toContain('Install the newer version')
    setSchema(home, previousSchema)
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
