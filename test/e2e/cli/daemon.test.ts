// The daemon and the command line. The daemon starts by itself, once, and the command line reports why it cannot start.
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect, type DaemonView } from '../../../src/index.ts'
import { runCli, startCli, type CliResult } from '../../support/daemon/cli.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
})
afterEach(async () => {
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)
const readDaemon = (): Promise<DaemonView> => connect({ home: dir.path, start: false }).daemon()

/** Whether the process is a daemon that was started for this home, also before it has the lock. */
function isDaemonOf(home: string, pid: string): boolean {
  try {
    return (
      /\/daemon(\.js|\/main\.ts)\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1')) &&
      readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`REEVE_HOME=${home}\0`)
    )
  } catch {
    return false
  }
}

describe('the daemon', () => {
  test('starts at first use, and only once, however many commands start at the same time', async () => {
    const results = await Promise.all(Array.from({ length: 4 }, () => run('ps')))
    expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(Array(4).fill([0, '']))
    const { pid } = await readDaemon()
    expect((await run('daemon', 'start')).stdout).toContain(`PID ${pid} `)
    const log = readFileSync(join(dir.path, 'daemon.log'), 'utf8')
    expect(log.match(/"reeve [\d.]+ at /g)).toHaveLength(1)
    // All other started daemons have ended: none can take over when the running daemon is stopped.
    expect(readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isDaemonOf(dir.path, name))).toEqual([`${pid}`])
  })

  test('uses a relative REEVE_HOME as an absolute path for the command line, the library and its programs', async () => {
    const env = { REEVE_HOME: basename(dir.path) }
    const ran = await runCli(dir.path, ['run', '--cwd', '/', '--', 'sh', '-c', 'echo "$REEVE_HOME"'], { env, cwd: dirname(dir.path) })
    expect(ran).toMatchObject({ code: 0, stdout: `${dir.path}\n` })
    expect((await readDaemon()).home).toBe(dir.path)
    expect((await connect({ home: relative(process.cwd(), dir.path) }).daemon()).home).toBe(dir.path)
  })

  test('also starts through the library, unless that is disabled', async () => {
    await expect(connect({ home: dir.path, start: false }).list()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(await connect({ home: dir.path }).list()).toEqual([])
  })

  test('`daemon status` reports whether it runs, and does not start it', async () => {
    const none = await run('daemon', 'status')
    expect([none.code, none.stdout, none.stderr.split('\n')[0]]).toEqual([4, '', 'reeve: the daemon is not running'])
    await run('daemon', 'start')
    const { code, stdout } = await run('daemon', 'status', '--json')
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ version: 1, home: dir.path })])
  })

  test('`daemon stop` returns when the daemon is gone, and succeeds without one', async () => {
    await run('daemon', 'start')
    const { pid } = await readDaemon()
    expect(await run('daemon', 'stop')).toEqual({ code: 0, stdout: '', stderr: 'the daemon has ended\n' })
    expect(existsSync(join(dir.path, 'reeve.sock'))).toBe(false)
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false)
    expect(await run('daemon', 'stop')).toEqual({ code: 0, stdout: '', stderr: 'the daemon is not running\n' })
  })

  test('`daemon stop` reports the processes that continue later, and those that cannot', async () => {
    writeFileSync(join(dir.path, 'wait.yaml'), '- text: never\n')
    await run('run', '-d', '--interactive', '--model', `script:${join(dir.path, 'wait.yaml')}`)
    await run('run', '-d', '--', 'sleep', '1000')
    await run('run', '-d', '--name', 'frozen', '--', 'sleep', '1000')
    await run('pause', 'frozen')
    expect((await run('daemon', 'stop')).stderr).toBe(
      '1 agent will be suspended, and continues at the next start: PID 1\n' +
        '2 commands will be ended, because they cannot continue later (`reeve resume --rerun` runs them again): PID 2, 3\nthe daemon has ended\n',
    )
  })

  test('`daemon stop` suggests no rerun for a command that had input, because its input is not recorded', async () => {
    await run('run', '-d', '--', 'sleep', '1000')
    await connect({ home: dir.path, start: false }).spawn({ argv: ['sleep', '1000'], input: 'x', cwd: dir.path })
    expect((await run('daemon', 'stop')).stderr).toBe(
      '1 command will be ended, because it cannot continue later (`reeve resume --rerun` runs it again): PID 1\n' +
        '1 command will be ended, because it cannot continue later, nor run again: it had input: PID 2\nthe daemon has ended\n',
    )
  })

  test('`daemon stop` counts a process without a program neither as agent nor as command, because it continues by itself', async () => {
    writeFileSync(join(dir.path, 'reeve.yaml'), 'supervisors: { team: { children: [{ id: a, command: [sleep, "600"] }] } }\n')
    expect(await runCli(dir.path, ['run', '-d', '--supervisor', 'team'], { cwd: dir.path })).toMatchObject({ code: 0 })
    expect((await run('daemon', 'stop')).stderr).toBe(
      '1 command will be ended, because it cannot continue later (`reeve resume --rerun` runs it again): PID 2\nthe daemon has ended\n',
    )
  })

  test('`daemon stop` waits for work in flight as long as --drain allows', async () => {
    writeFileSync(
      join(dir.path, 'tool.yaml'),
      JSON.stringify([{ tools: [{ name: 'bash', input: { command: 'touch begun; sleep 600' } }] }, { text: 'done' }]),
    )
    await run('run', '-d', '--model', `script:${join(dir.path, 'tool.yaml')}`, 'work')
    await expect.poll(() => existsSync(join(dir.path, 'begun')), { timeout: 60_000 }).toBe(true)
    const { pid } = await readDaemon()
    const stopping = startCli(dir.path, ['daemon', 'stop', '--drain', '1h'])
    await stopping.waitForText('1 agent will be suspended')
    await expect.poll(async () => (await readDaemon()).stopping?.waitsFor, { timeout: 60_000 }).toEqual([1])
    expect((await run('daemon', 'stop', '--now')).stderr).toContain('the daemon has ended\n')
    expect((await stopping.result).code).toBe(0)
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false)
  })

  test.each([
    ['daemon start takes no --now', 'start', '--now'],
    ['daemon status takes no --drain', 'status', '--drain', '1m'],
    ['daemon stop takes no --print', 'stop', '--print'],
    ['--now and --drain exclude each other', 'stop', '--now', '--drain', '1m'],
  ])('%s', async (description, ...args) => {
    expect(await run('daemon', ...args)).toMatchObject({ code: 64, stdout: '', stderr: expect.stringContaining(description) as string })
  })

  test('`daemon restart` keeps the old daemon when the new one cannot start', async () => {
    await run('daemon', 'start')
    const viewBefore = await readDaemon()
    writeFileSync(join(dir.path, 'config.yaml'), 'maxProcesses: many\n')
    expect(await run('daemon', 'restart')).toMatchObject({ code: 64, stderr: expect.stringContaining('config.yaml:1') as string })
    expect((await readDaemon()).pid).toBe(viewBefore.pid)
  })

  test('`daemon restart` replaces the daemon', async () => {
    await run('daemon', 'start')
    const viewBefore = await readDaemon()
    expect((await run('daemon', 'restart')).code).toBe(0)
    expect((await readDaemon()).pid).not.toBe(viewBefore.pid)
  })

  test('with --json each action prints one object', async () => {
    const runAsJson = async (action: string) => JSON.parse((await run('daemon', action, '--json')).stdout) as unknown
    expect(await runAsJson('stop')).toEqual({ version: 1, stopped: null })
    const { pid } = (await runAsJson('start')) as DaemonView
    expect(await runAsJson('restart')).toEqual(expect.objectContaining({ version: 1, stopped: pid, home: dir.path }))
    expect(await runAsJson('stop')).toEqual({ version: 1, stopped: expect.any(Number) as number })
  })

  test("logs are printed, also after the daemon's end", async () => {
    await run('daemon', 'start')
    await run('daemon', 'stop')
    const { code, stdout } = await run('daemon', 'logs')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+ info reeve [\d.]+ at /)
    expect((await run('daemon', 'logs', '--tail', '1')).stdout.trim().split('\n')).toHaveLength(1)
  })

  test('`daemon run` keeps the daemon in the foreground until a signal', async () => {
    const runningDaemon = startCli(dir.path, ['daemon', 'run'])
    await expect.poll(async () => (await run('daemon', 'status')).code, { timeout: 60_000 }).toBe(0)
    expect((await readDaemon()).pid).toBe(runningDaemon.child.pid)
    runningDaemon.child.kill('SIGTERM')
    expect((await runningDaemon.result).code).toBe(0)
  })

  test('reports why it cannot start', async () => {
    writeFileSync(join(dir.path, 'config.yaml'), 'maxProcesses: many\n')
    await run('ps')
    // Only the output of this start, not that of an earlier one.
    const { code, stderr } = await run('ps')
    expect(code).toBe(4)
    expect(stderr).toMatch(/^reeve: the daemon could not be started: it ended with code 64\n/m)
    expect(stderr.match(/config\.yaml:1/g)).toHaveLength(1)
    expect(stderr).toContain(join(dir.path, 'daemon.log'))
  })

  test('does not start in a directory that is open to others', async () => {
    const home = join(dir.path, 'open')
    mkdirSync(home)
    writeFileSync(join(home, 'mine'), '')
    chmodSync(home, 0o755)
    const { code, stderr } = await runCli(dir.path, ['ps'], { env: { REEVE_HOME: home } })
    expect([code, stderr]).toEqual([4, expect.stringContaining(`${home} is open to others`)])
  })
})
