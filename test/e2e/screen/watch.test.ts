// `reeve ps --watch`: the table that follows all changes, on a real terminal and without one.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli, startCli, type CliResult } from '../../support/daemon/cli.ts'
import { signalFound } from '../../support/living-processes.ts'
import { HAS_TERMINAL, Terminal, type TerminalOptions } from '../../support/daemon/terminal.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
const openTerminals: Terminal[] = []
beforeAll(async () => {
  dir = await tempDir()
  await run('daemon', 'start')
})
afterAll(async () => {
  for (const each of openTerminals) each[Symbol.dispose]()
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)
const startSleeper = (name: string): Promise<CliResult> => run('run', '-d', '--name', name, '--', 'sleep', '1000')

function openWatch(options: TerminalOptions = {}, ...flags: string[]): Terminal {
  const terminal = new Terminal(dir.path, ['ps', '--watch', ...flags], options)
  openTerminals.push(terminal)
  return terminal
}

describe.runIf(HAS_TERMINAL)('on a terminal', () => {
  test('the table shows starts and ends on its own screen, and the terminal is restored', async () => {
    const terminal = openWatch()
    await terminal.waitForText(/^0 processes \| q ends\nPID +ID/)
    expect([terminal.screen.modes.has('1049'), terminal.screen.modes.has('25')]).toEqual([true, false])
    await startSleeper('comes')
    await terminal.waitForText(/^1 process \| 1 working \| q ends\nPID .*\n +\d+ .* comes +command +working/)
    await run('pause', 'comes')
    await terminal.waitForText(/⏸ suspended .*paused: by user/)
    await run('kill', 'comes')
    await terminal.waitForText(/^0 processes \| q ends\nPID .*\n*$/)
    terminal.type('q')
    expect([await terminal.exitCode, terminal.isRestored, terminal.text.trim()]).toEqual([0, true, ''])
    expect([terminal.screen.modes.has('1049'), terminal.screen.modes.has('25')]).toEqual([false, true])
  })

  test('the table fits the terminal, and counts the omitted rows', async () => {
    for (const name of ['w1', 'w2', 'w3', 'w4']) await startSleeper(name)
    const terminal = openWatch({ columns: 40, rows: 4 })
    await terminal.waitForText(/^4 processes \| 4 working \| q ends\nPID .*\n.* w1 .*\n3 more rows: run without --watch to see…$/)
    expect(terminal.screen.lines.every((line) => line.length <= 40)).toBe(true)
    terminal.type('\x03')
    expect([await terminal.exitCode, terminal.isRestored]).toEqual([0, true])
    await run('kill', 'w1', 'w2', 'w3', 'w4')
  })

  test('on a small screen a line on top names who needs the user, and these rows stay', async () => {
    await writeFile(join(dir.path, 'ask.yaml'), '- tools: [{ name: bash, input: { command: touch x } }]\n')
    for (const name of ['v1', 'v2', 'v3', 'v4', 'v5', 'v6']) await startSleeper(name)
    await run('run', '-d', '--name', 'asker', '--permissions', 'ask', '--model', `script:${join(dir.path, 'ask.yaml')}`, 'go')
    for (const flags of [[], ['--tree'], ['-a']]) {
      const terminal = openWatch({ columns: 60, rows: 8 }, ...flags)
      await terminal.waitForText(/^.* q ends\n1 needs you \(`reeve needs`, `reeve web`\): asker\nPID [^]*asker +waiting/)
      expect(terminal.text).toMatch(/\d more rows: run without --watch to see all/)
      expect(terminal.screen.lines.filter((line) => line !== '').length).toBeLessThanOrEqual(8)
      terminal.type('q')
      expect([await terminal.exitCode, terminal.screen.modes.has('7')]).toEqual([0, true])
    }
    const low = openWatch({ columns: 30, rows: 3 })
    await low.waitForText(/^1 needs you \(`reeve needs`, `…\nPID .*\n7 more rows: run without --w.*…$/)
    low.type('q')
    await low.exitCode
    await run('needs', '--snooze', '1h', 'asker')
    const afterSnooze = openWatch({ columns: 60, rows: 10 })
    await afterSnooze.waitForText(/^7 processes .* q ends\nPID .*\n/)
    afterSnooze.type('q')
    await afterSnooze.exitCode
    await run('kill', 'asker', 'v*')
  })

  test('with -a the table keeps the newest ended processes', async () => {
    await run('run', '-q', '--name', 'old', '--', 'true')
    await startSleeper('new')
    const terminal = openWatch({ rows: 4 }, '-a')
    await terminal.waitForText(/\d+ more rows?: run without --watch .*\n.* new .*working/)
    signalFound(terminal.process, 'SIGTERM')
    expect([await terminal.exitCode, terminal.isRestored, terminal.screen.modes.has('1049')]).toEqual([0, true, false])
    await run('kill', 'new')
  })
})

describe('without a terminal', () => {
  test('the table is printed after each change', async () => {
    const watching = startCli(dir.path, ['ps', '-w'])
    await watching.waitForText('PID')
    await startSleeper('plain')
    await watching.waitForText('plain')
    await run('kill', 'plain')
    await watching.waitForText(`\n\nPID  ID  NAME  AGENT  STATUS  STEP  ELAPSED  COST  NOTE\n`)
    watching.child.kill('SIGTERM')
    const { code, stdout } = await watching.result
    expect(code).toBe(0)
    expect(stdout).toMatch(/^PID .*NOTE\n(\nPID .*\n.* plain +command +\w.*\n)+\nPID .*NOTE\n$/)
    expect(stdout).not.toContain('\x1b')
  })

  test('with --json each change is one line', async () => {
    const watching = startCli(dir.path, ['ps', '-w', '--json'])
    await watching.waitForText('"processes":[]')
    await startSleeper('json')
    await watching.waitForText('"status":"working"')
    watching.child.kill('SIGINT')
    const { code, stdout } = await watching.result
    const records = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { version: number; processes: { name: string; elapsedMs: number }[] })
    expect([code, records[0]?.processes, records.at(-1)?.version, records.at(-1)?.processes[0]?.name]).toEqual([0, [], 1, 'json'])
    await run('kill', 'json')
  })

  test('-q cannot be watched', async () => {
    expect((await run('ps', '-w', '-q')).code).toBe(64)
  })
})
