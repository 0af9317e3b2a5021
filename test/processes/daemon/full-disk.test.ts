// A daemon whose disk is really full: kills by the user take effect, and the daemon can be stopped.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { canMount, onSmallDisk } from '../../support/daemon/small-disk.ts'
import { tempDir } from '../../support/tmp.ts'

test('kill, kill -s 9 and daemon stop end all processes, and the next start finds them ended', { timeout: 120_000 }, async (context) => {
  await using folder = await tempDir()
  const mount = join(folder.path, 'small')
  mkdirSync(mount)
  if (!canMount(mount)) return context.skip('no file system can be mounted here, not even in a user namespace')
  const [command, args] = onSmallDisk(
    mount,
    24,
    process.execPath,
    fileURLToPath(new URL('../../support/daemon/full-disk.ts', import.meta.url)),
  )
  const child = spawn(command, args, { env: { ...process.env, TMPDIR: mount, REEVE_TEST_ROOM: mount }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  expect(errors).toBe('')
  expect(JSON.parse(stdout)).toEqual({
    ended: ['stopped', 'stopped'],
    held: ['disk-full'],
    stopsAtOnce: true,
    store: 'every page, fact and blob is sound',
    after: ['stopped', 'stopped'],
  })
})

test('reeve names the full disk when git reports no reason for a failed worktree', { timeout: 60_000 }, async (context) => {
  await using folder = await tempDir()
  const mount = join(folder.path, 'small')
  mkdirSync(mount)
  if (!canMount(mount)) return context.skip('no file system can be mounted here, not even in a user namespace')
  const [command, args] = onSmallDisk(
    mount,
    1,
    process.execPath,
    fileURLToPath(new URL('../../support/no-room.ts', import.meta.url)),
    mount,
  )
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  expect([errors, stdout]).toEqual(['', expect.stringMatching(/^Error: .* \(No space left on device\)$/)])
})
