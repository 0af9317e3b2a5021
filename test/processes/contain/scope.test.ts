// The delegated scope of an ordinary user's daemon, with a `systemd-run` of a few lines of sh. The behaviour of systemd itself is not
// tested, because tests have no user manager.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { wantsScope } from '../../../src/drivers/contain/backends/systemd-scope.ts'
import type { ScopeDeps } from '../../../src/drivers/contain/backends/systemd-scope.ts'
import { testEnv } from '../../support/env.ts'
import { tempDir } from '../../support/tmp.ts'

const SCOPED = fileURLToPath(new URL('../../support/programs/enter-scope.ts', import.meta.url))
const LINUX = process.platform === 'linux'
/** The script of a `systemd-run` that works: it runs the command after `--`. */
const ENTERS_SCOPE = 'while [ "$1" != -- ]; do shift; done; shift; VIA=scope exec "$@"'

interface ScopedRun {
  /** the OS pid that the program was started with */
  readonly started: number | undefined
  readonly printed: { readonly pid: number; readonly args: readonly string[]; readonly via: string | null }
  readonly stderr: string
  /** each call of `systemd-run` */
  readonly calls: readonly string[]
}

async function runInScope(systemdRun: string | null): Promise<ScopedRun> {
  await using dir = await tempDir()
  const calls = join(dir.path, 'calls')
  await writeFile(calls, '')
  const fake = join(dir.path, 'systemd-run')
  await writeFile(fake, `#!/bin/sh\necho "$*" >> ${calls}\n${systemdRun ?? ''}\n`)
  if (systemdRun !== null) await chmod(fake, 0o755)
  // Only this program is in the PATH, so that the system's own `systemd-run` is not found.
  const env = {
    ...testEnv(dir.path),
    PATH: systemdRun === null ? '/nowhere' : `${dir.path}:/usr/bin:/bin`,
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere',
  }
  const child = spawn(process.execPath, [SCOPED, 'a b', '--foreground'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [printed, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return {
    started: child.pid,
    printed: JSON.parse(printed) as ScopedRun['printed'],
    stderr,
    calls: (await readFile(calls, 'utf8')).trim().split('\n').filter(Boolean),
  }
}

describe.runIf(LINUX)('the scope', () => {
  test('after a trial the program continues in the scope, with its OS pid and its arguments', async () => {
    const { started, printed, stderr, calls } = await runInScope(ENTERS_SCOPE)
    expect(printed).toEqual({ pid: started, args: ['a b', '--foreground'], via: 'scope' })
    expect(stderr).toBe('')
    expect(calls).toHaveLength(2)
    for (const call of calls) expect(call).toMatch(/^--user --scope --quiet --collect -p Delegate=yes -- /)
    expect(calls[0]).toMatch(/-- true$/)
  })

  test('after a failed trial the program stays outside of a scope', async () => {
    const { printed, calls } = await runInScope('exit 1')
    expect(printed.via).toBe(null)
    expect(calls).toHaveLength(1)
  })

  test('without systemd-run the program stays outside of a scope', async () => {
    expect((await runInScope(null)).printed.via).toBe(null)
  })
})

const BUS = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/user/1000/bus' }
const FITTING_SYSTEM: ScopeDeps = { env: BUS, isRoot: false, hasWritableCgroup: false, isLingering: true }

test.each<[string, Partial<ScopeDeps>, boolean]>([
  ['a user with a bus, with linger and without a cgroup', {}, LINUX],
  ['root', { isRoot: true }, false],
  ['a daemon with a delegated cgroup', { hasWritableCgroup: true }, false],
  ['a user without linger, whose scope would end with the login', { isLingering: false }, false],
  ['a daemon inside a scope', { env: { ...BUS, REEVE_SCOPED: '1' } }, false],
  ['no bus', { env: {} }, false],
  ['a missing bus at its usual path', { env: { XDG_RUNTIME_DIR: '/nowhere' } }, false],
])('the daemon asks for a scope only where it needs one: %s', (_, parts, wanted) => {
  expect(wantsScope({ ...FITTING_SYSTEM, ...parts })).toBe(wanted)
})
