// A daemon whose installation was removed ends by itself, once nothing runs. Suspended processes wait for the next daemon.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../support/clock.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

const CHECK_INTERVAL_MS = 30_000

let dir: TempDir
let program: string
let daemon: LocalDaemon
let clock: ManualClock

beforeEach(async () => {
  dir = await tempDir()
  program = join(dir.path, 'daemon.js')
  writeFileSync(program, '')
  clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock, programFile: program })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Winds the clock to the next check. The daemon still answers after it. */
async function windToCheck(): Promise<void> {
  clock.wind(CHECK_INTERVAL_MS)
  expect(await daemon.client.get('/v1/daemon')).not.toHaveProperty('stopping')
}

test('the daemon waits for running processes, and suspended ones are still suspended after the next start', async () => {
  const { uuid } = await daemon.spawnScripted([{ text: 'end' }], { interactive: true })
  await daemon.waitUntilReady(uuid)
  rmSync(program)
  for (let checks = 0; checks < 3; checks += 1) await windToCheck()
  await daemon.pause(uuid)
  clock.wind(CHECK_INTERVAL_MS)
  await daemon.stopped
  expect(daemon.logMessages.join()).toContain(`${program} was removed and nothing runs`)
  await daemon.start()
  expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended' })
})

test('the daemon continues when another version replaces its file', async () => {
  rmSync(program)
  await windToCheck()
  writeFileSync(program, 'another version')
  for (let checks = 0; checks < 3; checks += 1) await windToCheck()
})
