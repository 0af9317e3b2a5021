// The kinds of containment, as the user sees them. A process requests a kind, its view names the kind, an unusable kind is refused with the
// reason, and doctor explains all kinds.
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Check } from '../../../src/daemon/views/doctor.ts'
import { findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { tempDir } from '../../support/tmp.ts'

const kinds = await findWorkingKinds()
afterEach(() => {
  vi.unstubAllEnvs()
})

async function checksOf(daemon: LocalDaemon): Promise<Check[]> {
  return (await daemon.client.get<{ checks: Check[] }>('/v1/doctor')).checks.filter(({ name }) => name.startsWith('containment '))
}

/** Puts a folder first in PATH whose `unshare` runs this script. */
async function withUnshare(script: string): Promise<AsyncDisposable> {
  const dir = await tempDir()
  await writeFile(join(dir.path, 'unshare'), `#!/bin/sh\n${script}\n`)
  await chmod(join(dir.path, 'unshare'), 0o755)
  vi.stubEnv('PATH', `${dir.path}:${process.env['PATH'] ?? ''}`)
  return dir
}

describe.each(kinds)('%s', (kind) => {
  test('contains a process that requests it, and the view names it', async () => {
    await using daemon = await LocalDaemon.start()
    const { uuid } = await daemon.spawnShell('exit 3', { containment: kind })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ containment: kind, exit: { code: 3 } })
  })

  // The program may or may not have begun when it is frozen; the answer must be the same.
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'a frozen process that gets %s exits with 1, and its record names the signal',
    async (signal) => {
      await using daemon = await LocalDaemon.start()
      const killedProcesses = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const { uuid } = await daemon.spawnShell('exec sleep 3600', { containment: kind })
          await daemon.client.post(`/v1/processes/${uuid}/pause`, { now: true })
          await daemon.client.post(`/v1/processes/${uuid}/signal`, { signal })
          return daemon.waitForEnd(uuid)
        }),
      )
      for (const view of killedProcesses)
        expect(view).toMatchObject({ status: 'stopped', exit: { code: 1, reason: 'context cancelled while paused', signal } })
    },
  )
})

test('doctor has a row for each kind, the strongest first, and names the kind in use', async () => {
  await using daemon = await LocalDaemon.start()
  const checks = await checksOf(daemon)
  expect(checks.map(({ name }) => name)).toEqual(['containment cgroup', 'containment pidns', 'containment group', 'containment in use'])
  expect(checks.filter(({ ok }) => ok).map(({ name }) => name.split(' ')[1])).toEqual([...kinds, 'in'])
  for (const { ok, hint } of checks) expect(hint === undefined).toBe(ok)
  expect(checks.at(-1)?.detail).toMatch(new RegExp(`^${kinds[0]}: `))
})

test('a kind that does not work here is refused with the reason, leaves no row, and doctor reports the next step', async () => {
  await using _ = await withUnshare('echo "unshare: mount /proc failed: Operation not permitted" >&2; exit 1')
  await using daemon = await LocalDaemon.start()
  await expect(daemon.spawnShell('true', { containment: 'pidns' })).rejects.toMatchObject({
    code: 'INVALID',
    message: expect.stringMatching(/pidns does not work here: unshare: mount \/proc failed/),
  })
  expect((await daemon.client.get<{ processes: object[] }>('/v1/processes', { all: true })).processes).toEqual([])
  const [, pidns] = await checksOf(daemon)
  expect(pidns).toMatchObject({
    ok: false,
    optional: true,
    detail: 'unshare: mount /proc failed: Operation not permitted',
    hint: expect.stringContaining('systempaths=unconfined'),
  })
})

test('a kind whose probe hangs delays the start for 5 s at most, and does not work here', async () => {
  await using _ = await withUnshare('exec sleep 3600')
  await using daemon = await LocalDaemon.start()
  const [, pidns] = await checksOf(daemon)
  expect(pidns).toMatchObject({ ok: false, detail: 'no namespace was ready after 5 s' })
})
