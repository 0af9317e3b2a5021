// The daemon from the command line: it starts by itself, once, and says why when it cannot.
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect, type DaemonView } from '../../src/index.ts'
import { runCli, startCli, type CliResult } from '../support/cli.ts'
import { tempDir, type TempDir } from '../support/tmp.ts'

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
})
afterEach(async () => {
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
}, 30_000)

const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)
const daemon = (): Promise<DaemonView> => connect({ home: dir.path, start: false }).daemon()

/** A daemon that was started for this home, also one that has not come as far as the lock. */
function isDaemonOf(home: string, pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('daemon/main.ts') && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`REEVE_HOME=${home}\0`)
  } catch {
    return false
  }
}

describe('the daemon', () => {
  test('starts at first use, and only once, however many begin at the same time', async () => {
    const results = await Promise.all(Array.from({ length: 4 }, () => run('ps')))
    expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(Array(4).fill([0, '']))
    const { pid } = await daemon()
    expect((await run('daemon', 'start')).stdout).toContain(`PID ${pid} `)
    const log = readFileSync(join(dir.path, 'daemon.log'), 'utf8')
    expect(log.match(/"reeve [\d.]+ at /g)).toHaveLength(1)
    // Those that lost the race have ended: none is left to take over when this one is stopped.
    const others = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== pid && isDaemonOf(dir.path, name))
    expect(others).toEqual([])
  }, 30_000)

  test('is that of a relative REEVE_HOME, for the command line, for the library, and for what it starts elsewhere', async () => {
    const env = { REEVE_HOME: basename(dir.path) }
    const ran = await runCli(dir.path, ['run', '--cwd', '/', '--', 'sh', '-c', 'echo "$REEVE_HOME"'], { env, cwd: dirname(dir.path) })
    expect(ran).toMatchObject({ code: 0, stdout: `${dir.path}\n` })
    expect((await daemon()).home).toBe(dir.path)
    expect((await connect({ home: relative(process.cwd(), dir.path) }).daemon()).home).toBe(dir.path)
  }, 30_000)

  test('starts through the library too, unless it is told not to', async () => {
    await expect(connect({ home: dir.path, start: false }).list()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(await connect({ home: dir.path }).list()).toEqual([])
  }, 30_000)

  test('status says whether it runs, and does not start it', async () => {
    const none = await run('daemon', 'status')
    expect([none.code, none.stdout, none.stderr.split('\n')[0]]).toEqual([4, '', 'reeve: the daemon is not running'])
    await run('daemon', 'start')
    const { code, stdout } = await run('daemon', 'status', '--json')
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ version: 1, home: dir.path })])
  }, 30_000)

  test('stop returns when it is gone, and is no error without one', async () => {
    await run('daemon', 'start')
    const { pid } = await daemon()
    expect(await run('daemon', 'stop')).toEqual({ code: 0, stdout: '', stderr: 'the daemon has ended\n' })
    expect(existsSync(join(dir.path, 'reeve.sock'))).toBe(false)
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false)
    expect(await run('daemon', 'stop')).toEqual({ code: 0, stdout: '', stderr: 'the daemon is not running\n' })
  }, 30_000)

  test('stop says what will go on, and what cannot', async () => {
    writeFileSync(join(dir.path, 'wait.yaml'), '- text: never\n')
    await run('run', '-d', '--interactive', '--model', `script:${join(dir.path, 'wait.yaml')}`)
    await run('run', '-d', '--', 'sleep', '1000')
    await run('run', '-d', '--name', 'frozen', '--', 'sleep', '1000')
    await run('pause', 'frozen')
    expect((await run('daemon', 'stop')).stderr).toBe(
      '1 agent will be suspended, and goes on at the next start: PID 1\n' +
      '2 commands will be ended, as they cannot go on later (`reeve resume --rerun` runs them again): PID 2, 3\nthe daemon has ended\n',
    )
  }, 30_000)

  test('what has no program of its own is neither an agent nor a command: it goes on by itself', async () => {
    writeFileSync(join(dir.path, 'reeve.yaml'), 'supervisors: { team: { children: [{ id: a, command: [sleep, "600"] }] } }\n')
    expect(await runCli(dir.path, ['run', '-d', '--supervisor', 'team'], { cwd: dir.path })).toMatchObject({ code: 0 })
    expect((await run('daemon', 'stop')).stderr).toBe('1 command will be ended, as it cannot go on later (`reeve resume --rerun` runs it again): PID 2\nthe daemon has ended\n')
  }, 30_000)

  test('stop waits for what is in flight as long as it is told to', async () => {
    writeFileSync(join(dir.path, 'tool.yaml'), JSON.stringify([{ tools: [{ name: 'bash', input: { command: 'touch begun; sleep 600' } }] }, { text: 'done' }]))
    await run('run', '-d', '--model', `script:${join(dir.path, 'tool.yaml')}`, 'work')
    await expect.poll(() => existsSync(join(dir.path, 'begun')), { timeout: 20_000 }).toBe(true)
    const { pid } = await daemon()
    const stopping = startCli(dir.path, ['daemon', 'stop', '--drain', '1h'])
    await stopping.wrote('1 agent will be suspended')
    await expect.poll(async () => (await daemon()).stopping?.waitsFor, { timeout: 20_000 }).toEqual([1])
    expect((await run('daemon', 'stop', '--now')).stderr).toContain('the daemon has ended\n')
    expect((await stopping.done).code).toBe(0)
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false)
  }, 60_000)

  test.each([
    ['daemon start takes no --now', 'start', '--now'], ['daemon status takes no --drain', 'status', '--drain', '1m'], ['daemon stop takes no --print', 'stop', '--print'],
    ['--now and --drain do not go together', 'stop', '--now', '--drain', '1m'],
  ])('%s', async (words, ...args) => {
    expect(await run('daemon', ...args)).toMatchObject({ code: 64, stdout: '', stderr: expect.stringContaining(words) as string })
  })

  test('restart leaves the old one where the new one could not start', async () => {
    await run('daemon', 'start')
    const before = await daemon()
    writeFileSync(join(dir.path, 'config.yaml'), 'maxProcesses: many\n')
    expect(await run('daemon', 'restart')).toMatchObject({ code: 64, stderr: expect.stringContaining('config.yaml:1') as string })
    expect((await daemon()).pid).toBe(before.pid)
  }, 30_000)

  test('restart is a new one', async () => {
    await run('daemon', 'start')
    const before = await daemon()
    expect((await run('daemon', 'restart')).code).toBe(0)
    expect((await daemon()).pid).not.toBe(before.pid)
  }, 30_000)

  test('with --json each action gives one object', async () => {
    const asked = async (action: string) => JSON.parse((await run('daemon', action, '--json')).stdout) as unknown
    expect(await asked('stop')).toEqual({ version: 1, stopped: null })
    const { pid } = (await asked('start')) as DaemonView
    expect(await asked('restart')).toEqual(expect.objectContaining({ version: 1, stopped: pid, home: dir.path }))
    expect(await asked('stop')).toEqual({ version: 1, stopped: expect.any(Number) as number })
  }, 30_000)

  test('logs are read, also when it is gone', async () => {
    await run('daemon', 'start')
    await run('daemon', 'stop')
    const { code, stdout } = await run('daemon', 'logs')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+ info reeve [\d.]+ at /)
    expect((await run('daemon', 'logs', '--tail', '1')).stdout.trim().split('\n')).toHaveLength(1)
  }, 30_000)

  test('run keeps it in the foreground until a signal', async () => {
    const running = startCli(dir.path, ['daemon', 'run'])
    await expect.poll(async () => (await run('daemon', 'status')).code, { timeout: 20_000 }).toBe(0)
    expect((await daemon()).pid).toBe(running.child.pid)
    running.child.kill('SIGTERM')
    expect((await running.done).code).toBe(0)
  }, 30_000)

  test('that cannot start says why', async () => {
    writeFileSync(join(dir.path, 'config.yaml'), 'maxProcesses: many\n')
    await run('ps')
    // Only what this start said, not what an earlier one did.
    const { code, stderr } = await run('ps')
    expect(code).toBe(4)
    expect(stderr).toMatch(/^reeve: the daemon could not be started: it ended with code 64\n/)
    expect(stderr.match(/config\.yaml:1/g)).toHaveLength(1)
    expect(stderr).toContain(join(dir.path, 'daemon.log'))
  }, 30_000)

  test('does not start in a directory that is open to others', async () => {
    const home = join(dir.path, 'open')
    mkdirSync(home)
    writeFileSync(join(home, 'mine'), '')
    chmodSync(home, 0o755)
    const { code, stderr } = await runCli(dir.path, ['ps'], { env: { REEVE_HOME: home } })
    expect([code, stderr]).toEqual([4, expect.stringContaining(`${home} is open to others`)])
  })
})
