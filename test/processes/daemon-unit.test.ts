// `reeve daemon install` with a real user manager of systemd, where root can make one for a user: what is written, started, seen
// in its cgroup, restarted, killed and taken away. What it says without one is in here, too.
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLI, runCli } from '../support/cli.ts'
import { canDelegate } from '../support/delegated.ts'
import { testEnv } from '../support/env.ts'
import { eventually } from '../support/living.ts'
import { tempDir, type TempDir } from '../support/tmp.ts'
import { startUserManager, type Ran, type UserManager } from '../support/user-manager.ts'

const NOBODY = 65_534
const UNIT = '.config/systemd/user/reeve.service'
const BECOME = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups', process.execPath]
// The sources, and this very Node, may lie where nobody else may look.
const canBecome = canDelegate() && spawnSync('setpriv', [...BECOME, '--check', fileURLToPath(import.meta.url)]).status === 0

describe('without a user manager', () => {
  test('nothing is written, and it says what is missing', async () => {
    await using dir = await tempDir()
    // Nobody answers at this place, whatever runs on this machine.
    const env = { XDG_RUNTIME_DIR: dir.path, DBUS_SESSION_BUS_ADDRESS: `unix:path=${dir.path}/bus` }
    const { code, stdout, stderr } = await runCli(dir.path, ['daemon', 'install'], { env })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(process.geteuid?.() === 0 ? /^reeve: nothing was written: this is root, and root has no user manager/ : /^reeve: nothing was written: no user manager of systemd answers/)
    expect(existsSync(join(dir.path, '.config'))).toBe(false)
  }, 30_000)

  test('--print prints the unit', async () => {
    await using dir = await tempDir()
    const { code, stdout, stderr } = await runCli(dir.path, ['daemon', 'install', '--print'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`ExecStart=${process.execPath} ${CLI} daemon run\nEnvironment=REEVE_HOME=${dir.path}\n`)
    expect(existsSync(join(dir.path, '.config'))).toBe(false)
  }, 30_000)

  test('there is nothing to uninstall', async () => {
    await using dir = await tempDir()
    expect(await runCli(dir.path, ['daemon', 'uninstall'])).toEqual({ code: 0, stdout: '', stderr: `there is no ${join(dir.path, UNIT)}\n` })
  }, 30_000)
})

let dir: TempDir
let manager: UserManager | null = null
beforeAll(async () => {
  if (!canBecome) return
  dir = await tempDir()
  chownSync(dir.path, NOBODY, NOBODY)
  manager = await startUserManager(NOBODY, testEnv(dir.path))
}, 60_000)
afterAll(async () => {
  if (!canBecome) return
  await manager?.[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
}, 60_000)

function reeve(...args: string[]): Ran {
  return manager?.run([process.execPath, CLI, ...args]) ?? { code: null, stdout: '', stderr: 'no manager' }
}

function unitIs(): string {
  return manager?.run(['systemctl', '--user', 'is-active', 'reeve.service']).stdout.trim() ?? ''
}

interface Status {
  readonly pid: number
  readonly containment: string
}
const status = (): Status => JSON.parse(reeve('daemon', 'status', '--json').stdout) as Status
const mainPid = (): number => Number(manager?.run(['systemctl', '--user', 'show', '-p', 'MainPID', '--value', 'reeve.service']).stdout)
const cgroupOf = (pid: number): string => /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'latin1'))?.[1] ?? ''

describe.runIf(canBecome)('with a user manager', () => {
  test('one life of a unit', { timeout: 120_000 }, async ({ skip }) => {
    if (manager === null) return skip()
    const file = join(dir.path, UNIT)

    // Installed and started: the daemon is the manager's, in a leaf of a cgroup that it may divide.
    const installed = reeve('daemon', 'install', '--now')
    expect([installed.code, installed.stderr]).toEqual([0, expect.stringMatching(/^wrote .*\nthe daemon runs as PID \d+ of reeve\.service\n/)])
    const first = status()
    expect(first.pid).toBe(mainPid())
    expect(first.containment).toBe('cgroup')
    expect(cgroupOf(first.pid)).toMatch(/\/reeve\.service\/reeve-daemon$/)

    // An agent's process is in a cgroup beside it, in the same unit.
    const uuid = reeve('run', '-d', '--', 'sleep', '1000').stdout.trim()
    const handle = await eventually(() => /"containment": "cgroup"/.test(reeve('inspect', uuid, '--json').stdout), 'the process runs')
    expect(handle).toBe(true)

    // Again: nothing changes. A person's change is left alone, by both.
    expect(reeve('daemon', 'install', '--now').stderr).toMatch(/^unchanged: /)
    expect(status().pid).toBe(first.pid)
    const written = readFileSync(file, 'utf8')
    writeFileSync(file, written.replace('RestartSec=1', 'RestartSec=2'))
    for (const verb of ['install', 'uninstall']) {
      const refused = reeve('daemon', verb)
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('was changed by hand')])
    }
    expect(readFileSync(file, 'utf8')).toContain('RestartSec=2')
    writeFileSync(file, written)

    // Killed with kill -9 it is there again, and what it ran is gone.
    process.kill(first.pid, 'SIGKILL')
    await eventually(() => unitIs() === 'active' && mainPid() !== first.pid && reeve('daemon', 'status').code === 0, 'the next daemon')
    expect(reeve('inspect', uuid, '--json').stdout).toContain('"status": "interrupted"')

    // A restart stays in the unit, and a stop stays a stop.
    expect(reeve('daemon', 'restart').code).toBe(0)
    expect(status().pid).toBe(mainPid())
    expect(reeve('daemon', 'stop').code).toBe(0)
    await eventually(() => unitIs() === 'inactive', 'the unit has ended')

    // First use starts it there, and nowhere else.
    expect(reeve('ps').code).toBe(0)
    expect(status().pid).toBe(mainPid())

    expect(reeve('daemon', 'uninstall', '--now').stderr).toContain(`removed ${file}`)
    expect(existsSync(file)).toBe(false)
    expect(existsSync(join(dir.path, '.config/systemd/user/default.target.wants/reeve.service'))).toBe(false)
    expect(reeve('daemon', 'status').code).toBe(4)
  })

  test('a daemon that ran before is stopped first, and a unit that cannot be enabled is taken back', { timeout: 120_000 }, ({ skip }) => {
    if (manager === null) return skip()
    const outside = JSON.parse(reeve('daemon', 'start', '--json').stdout) as Status
    expect(mainPid()).toBe(0)
    expect(reeve('daemon', 'install').stderr).toContain('a daemon runs already, outside of the unit')
    expect(status().pid).toBe(outside.pid)
    expect(reeve('daemon', 'install', '--now').code).toBe(0)
    expect(status().pid).not.toBe(outside.pid)
    expect(status().pid).toBe(mainPid())
    expect(reeve('daemon', 'uninstall', '--now').code).toBe(0)

    // What stands in the way of the link makes `enable` fail.
    const wants = join(dir.path, '.config/systemd/user/default.target.wants')
    mkdirSync(join(wants, 'reeve.service'), { recursive: true })
    const refused = reeve('daemon', 'install')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('systemctl --user enable reeve.service failed')])
    expect(existsSync(join(dir.path, UNIT))).toBe(false)
  })
})
