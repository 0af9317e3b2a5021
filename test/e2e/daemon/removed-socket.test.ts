// A daemon whose socket was removed, as cleaners of /tmp do. Nobody can reach it, so it stops.
import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../support/clock.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const CHECK_INTERVAL_MS = 5_000

let daemon: LocalDaemon
let clock: ManualClock

beforeEach(async () => {
  clock = new ManualClock()
  daemon = await LocalDaemon.start({ clock })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

test('the daemon stops when its socket is gone, and the next one continues with its processes', async () => {
  const { uuid } = await daemon.spawnScripted([{ text: 'end' }], { interactive: true })
  await daemon.waitUntilReady(uuid)
  await rm(daemon.paths.socket)
  clock.wind(CHECK_INTERVAL_MS)
  await daemon.stopped
  expect(daemon.logMessages.join()).toContain('the socket is gone')
  await daemon.start()
  expect(await daemon.waitUntilReady(uuid)).toMatchObject({ status: 'ready' })
})

test('the daemon continues while its socket exists', async () => {
  for (let checks = 0; checks < 3; checks += 1) {
    clock.wind(CHECK_INTERVAL_MS)
    await daemon.client.get('/v1/daemon')
  }
  expect(daemon.logMessages.join()).not.toContain('socket')
})

test('the daemon leaves the socket of another daemon alone', async () => {
  const { socket, daemonJson } = daemon.paths
  await rename(socket, `${socket}.old`)
  await writeFile(socket, 'the socket of another')
  clock.wind(CHECK_INTERVAL_MS)
  await daemon.stopped
  expect([existsSync(socket), existsSync(daemonJson)]).toEqual([true, true])
  await rm(socket)
})
