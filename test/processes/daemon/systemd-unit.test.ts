// `reeve daemon install` with a real user manager of systemd, where root can start one for a user. A unit is written, started, shown in
// its cgroup, restarted, killed and removed. Without a user manager the commands report the reason.
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLI, runCli } from '../../support/daemon/cli.ts'
import { canDelegate } from '../../support/agents/delegated-cgroup.ts'
import { testEnv } from '../../support/env.ts'
import { findOwnProcess, signalFound } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'
import { startUserManager, type RunResult, type UserManager } from '../../support/agents/user-manager.ts'

const NOBODY = 65_534
const UNIT = '.config/systemd/user/reeve.service'
const AS_NOBODY = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups', process.execPath]
// The sources and this Node may be in directories that other users cannot read.
const canBecomeNobody = canDelegate() && spawnSync('setpriv', [...AS_NOBODY, '--check', fileURLToPath(import.meta.url)]).status === 0

describe('without a user manager', () => {
  test('nothing is written, and the message names the missing part', async () => {
    await using dir = await tempDir()
    // No manager answers at this path, whatever runs on this machine.
    const env = { XDG_RUNTIME_DIR: dir.path, DBUS_SESSION_BUS_ADDRESS: `unix:path=${dir.path}/bus` }
    const { code, stdout, stderr } = await runCli(dir.path, ['daemon', 'install'], { env })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(
      process.geteuid?.() === 0
        ? /^reeve: nothing was written: root has no systemd user manager/
        : /^reeve: nothing was written: no systemd user manager answers/,
    )
    expect(existsSync(join(dir.path, '.config'))).toBe(false)
  })

  test('--print prints the unit', async () => {
    await using dir = await tempDir()
    const { code, stdout, stderr } = await runCli(dir.path, ['daemon', 'install', '--print'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`ExecStart=${process.execPath} ${CLI} daemon run\nEnvironment=REEVE_HOME=${dir.path}\n`)
    expect(existsSync(join(dir.path, '.config'))).toBe(false)
  })

  test('an uninstall reports that there is no unit', async () => {
    await using dir = await tempDir()
    expect(await runCli(dir.path, ['daemon', 'uninstall'])).toEqual({
      code: 0,
      stdout: '',
      stderr: `${join(dir.path, UNIT)} does not exist\n`,
    })
  })
})

let dir: TempDir
let manager: UserManager | null = null
beforeAll(async () => {
  if (!canBecomeNobody) return
  dir = await tempDir()
  chownSync(dir.path, NOBODY, NOBODY)
  manager = await startUserManager(NOBODY, testEnv(dir.path))
})
afterAll(async () => {
  if (!canBecomeNobody) return
  await manager?.[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

function reeve(...args: string[]): RunResult {
  return manager?.run([process.execPath, CLI, ...args]) ?? { code: null, stdout: '', stderr: 'no manager' }
}

function readUnitState(): string {
  return manager?.run(['systemctl', '--user', 'is-active', 'reeve.service']).stdout.trim() ?? ''
}

interface Status {
  readonly pid: number
  readonly containment: string
}
const readStatus = (): Status => JSON.parse(reeve('daemon', 'status', '--json').stdout) as Status
const readMainPid = (): number => Number(manager?.run(['systemctl', '--user', 'show', '-p', 'MainPID', '--value', 'reeve.service']).stdout)
const cgroupOf = (pid: number): string => /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'latin1'))?.[1] ?? ''

describe.runIf(canBecomeNobody)('with a user manager', () => {
  test('a unit is installed, restarted, killed and removed', { timeout: 300_000 }, async ({ skip }) => {
    if (manager === null) return skip()
    const file = join(dir.path, UNIT)

    // Installed and started: the daemon belongs to the manager, in a leaf of a delegated cgroup.
    const installed = reeve('daemon', 'install', '--now')
    expect([installed.code, installed.stderr]).toEqual([
      0,
      expect.stringMatching(/^wrote .*\nthe daemon runs as PID \d+ of reeve\.service\n/),
    ])
    const first = readStatus()
    expect(first.pid).toBe(readMainPid())
    expect(first.containment).toBe('cgroup')
    expect(cgroupOf(first.pid)).toMatch(/\/reeve\.service\/reeve-daemon$/)

    // An agent's process is in a cgroup beside it, in the same unit.
    const uuid = reeve('run', '-d', '--', 'sleep', '1000').stdout.trim()
    const handle = await waitUntil(() => /"containment": "cgroup"/.test(reeve('inspect', uuid, '--json').stdout), 'the process runs')
    expect(handle).toBe(true)

    // A second install changes nothing. Both commands keep the user's changes.
    expect(reeve('daemon', 'install', '--now').stderr).toMatch(/^unchanged: /)
    expect(readStatus().pid).toBe(first.pid)
    const written = readFileSync(file, 'utf8')
    writeFileSync(file, written.replace('RestartSec=1', 'RestartSec=2'))
    for (const verb of ['install', 'uninstall']) {
      const refusal = reeve('daemon', verb)
      expect([refusal.code, refusal.stderr]).toEqual([1, expect.stringContaining('was changed by hand')])
    }
    expect(readFileSync(file, 'utf8')).toContain('RestartSec=2')
    writeFileSync(file, written)

    // The watchdog of the unit waits for a minute, which is too long for a test.
    const dropIn = join(dir.path, '.config/systemd/user/reeve.service.d')
    mkdirSync(dropIn)
    writeFileSync(join(dropIn, 'watchdog.conf'), '[Service]\nWatchdogSec=10\n')
    manager.run(['systemctl', '--user', 'daemon-reload'])

    // After kill -9 the daemon is back, and its programs are gone.
    signalFound(findOwnProcess(first.pid, dir.path), 'SIGKILL')
    await waitUntil(
      () => readUnitState() === 'active' && readMainPid() !== first.pid && reeve('daemon', 'status').code === 0,
      'the next daemon',
    )
    expect(reeve('inspect', uuid, '--json').stdout).toContain('"status": "interrupted"')

    // The watchdog ends a daemon whose event loop stands still, and another starts.
    const hungPid = readMainPid()
    expect(manager.run(['systemctl', '--user', 'show', '-p', 'WatchdogUSec', '--value', 'reeve.service']).stdout.trim()).toBe('10s')
    signalFound(findOwnProcess(hungPid, dir.path), 'SIGSTOP')
    await waitUntil(() => readMainPid() !== hungPid && reeve('daemon', 'status').code === 0, 'the watchdog has ended it')
    rmSync(dropIn, { recursive: true })
    manager.run(['systemctl', '--user', 'daemon-reload'])

    // A restart stays in the unit, and a stop is final.
    expect(reeve('daemon', 'restart').code).toBe(0)
    expect(readStatus().pid).toBe(readMainPid())
    expect(reeve('daemon', 'stop').code).toBe(0)
    await waitUntil(() => readUnitState() === 'inactive', 'the unit has ended')

    // The first use starts the daemon in the unit, and nowhere else.
    expect(reeve('ps').code).toBe(0)
    expect(readStatus().pid).toBe(readMainPid())

    expect(reeve('daemon', 'uninstall', '--now').stderr).toContain(`removed ${file}`)
    expect(existsSync(file)).toBe(false)
    expect(existsSync(join(dir.path, '.config/systemd/user/default.target.wants/reeve.service'))).toBe(false)
    expect(reeve('daemon', 'status').code).toBe(4)
  })

  test(
    'an install stops a daemon outside of the unit first; a unit that cannot be enabled is removed',
    { timeout: 300_000 },
    ({ skip }) => {
      if (manager === null) return skip()
      const outsideStatus = JSON.parse(reeve('daemon', 'start', '--json').stdout) as Status
      expect(readMainPid()).toBe(0)
      expect(reeve('daemon', 'install').stderr).toContain('a daemon already runs outside of the unit')
      expect(readStatus().pid).toBe(outsideStatus.pid)
      expect(reeve('daemon', 'install', '--now').code).toBe(0)
      expect(readStatus().pid).not.toBe(outsideStatus.pid)
      expect(readStatus().pid).toBe(readMainPid())
      expect(reeve('daemon', 'uninstall', '--now').code).toBe(0)

      // A file in place of the link makes `enable` fail.
      const wants = join(dir.path, '.config/systemd/user/default.target.wants')
      mkdirSync(join(wants, 'reeve.service'), { recursive: true })
      const refusal = reeve('daemon', 'install')
      expect([refusal.code, refusal.stderr]).toEqual([1, expect.stringContaining('systemctl --user enable reeve.service failed')])
      expect(existsSync(join(dir.path, UNIT))).toBe(false)
    },
  )
})
