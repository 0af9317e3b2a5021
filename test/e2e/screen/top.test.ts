// `reeve top` on a real terminal and without one. Questions are answered, and a kill shows first what would be killed. The screen
// survives the daemon and Ctrl+Z, and the terminal is restored at every end. slow-terminal.test.ts has a slow reader.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli, startCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal, type TerminalOptions } from '../../support/daemon/terminal.ts'
import { ManyRowsDaemon } from '../../support/faces/many-rows-daemon.ts'
import { rowOf } from '../../support/faces/rows.ts'
import { signalFound } from '../../support/living-processes.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import type { RowView } from '../../../src/api/views/rows.ts'

let daemon: LocalDaemon
const openTerminals: Terminal[] = []

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  for (const terminal of openTerminals.splice(0)) terminal[Symbol.dispose]()
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const cli = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })

function openTop(options: TerminalOptions = {}, ...flags: string[]): Terminal {
  const terminal = new Terminal(daemon.home, ['top', ...flags], { columns: 120, rows: 30, ...options })
  openTerminals.push(terminal)
  return terminal
}

/** Presses a key again and again until a text is shown: a new question and a new dialog take no key at first. */
async function typeUntil(terminal: Terminal, key: string, expected: RegExp): Promise<void> {
  const typing = setInterval(() => terminal.type(key), 150)
  try {
    await terminal.waitForText(expected)
  } finally {
    clearInterval(typing)
  }
}

async function startAsking(): Promise<ProcessView> {
  const call = { name: 'bash', input: { command: 'touch allowed' } }
  return daemon.spawnScripted([{ tools: [call] }, { text: 'done' }], { name: 'asks', permissions: 'ask' })
}

describe.runIf(HAS_TERMINAL)('on a terminal', () => {
  test('a question is answered with a key, and its command runs', async () => {
    const { uuid } = await startAsking()
    const terminal = openTop()
    await terminal.waitForText(/NEEDS YOU 1\n.*asks +bash: touch allowed/)
    terminal.type('n')
    await terminal.waitForText('a allow · d deny')
    await terminal.waitForText(/\[need\] steps diff logs limits/)
    await terminal.waitForText('PID 1 (asks): command')
    await typeUntil(terminal, 'a', /✓ asks .* completed/)
    await daemon.waitForEnd(uuid)
    expect(existsSync(join(daemon.work, 'allowed'))).toBe(true)
    terminal.type('q')
    expect([await terminal.exitCode, terminal.isRestored, terminal.text.trim()]).toEqual([0, true, ''])
  })

  test.each([
    ['is announced while another window has the focus', [], true],
    ['is not announced with -q', ['-q'], false],
  ])('a new need %s', async (_, flags, isAnnounced) => {
    const terminal = openTop({}, ...flags)
    await terminal.waitForText('Nothing runs here')
    const notification = (name: string): string => `\x1b]9;${name}: bash: touch allowed\x07`
    // The terminal reports that it has lost the focus, and later that it has it again.
    terminal.type('\x1b[O')
    const { uuid } = await startAsking()
    await terminal.waitForText(/NEEDS YOU 1\n/)
    if (isAnnounced) await terminal.waitFor(() => terminal.raw.includes(`\x07${notification('asks')}`), 'the bell and the notification')
    await daemon.signal(uuid, 'SIGKILL')
    terminal.type('\x1b[I')
    const script = [{ tools: [{ name: 'bash', input: { command: 'touch allowed' } }] }, { text: 'done' }]
    await daemon.spawnScripted(script, { name: 'later', permissions: 'ask' })
    await terminal.waitForText('later')
    expect([terminal.raw.includes(notification('asks')), terminal.raw.includes(notification('later'))]).toEqual([isAnnounced, false])
  })

  test('a key kills a process after a dialog has shown what would be killed', async () => {
    await daemon.spawnShell('sleep 1000', { name: 'long' })
    const terminal = openTop()
    await terminal.waitForText(/● long .* its program runs/)
    terminal.type('K')
    await terminal.waitForText(/─ kill long with all below\?/)
    await terminal.waitForText(/would be killed\n/)
    await terminal.waitForText('y yes')
    await typeUntil(terminal, 'y', /Nothing runs here/)
    expect(await daemon.view('long')).toMatchObject({ exit: { signal: 'SIGKILL' } })
  })

  test('the panel shows steps, the log and limits', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'All tests pass.' }], { name: 'work', limits: { budgetUsd: 3 } })
    await daemon.waitForEnd(uuid)
    const terminal = openTop({}, '-a')
    await terminal.waitForText('✓ work')
    await terminal.waitForText('NEEDS YOU 1')
    terminal.type(' ]')
    for (const text of [/\n +1 \d\d:\d\d:\d\d All tests pass\./, /\[diff\]/, /\[logs\](.*\n)+.*All tests pass/, /\[limits\]\n.*of \$3/]) {
      await terminal.waitForText(text)
      terminal.type(']')
    }
  })

  test('Ctrl+Z returns to the shell, SIGCONT returns to the screen, and SIGTERM leaves it', async () => {
    await daemon.spawnShell('sleep 1000', { name: 'long' })
    const terminal = openTop()
    await terminal.waitForText('● long')
    const { process } = terminal
    expect(terminal.screen.modes.has('1049')).toBe(true)
    terminal.type('\x1a')
    await terminal.waitFor(() => !terminal.screen.modes.has('1049'), 'it has left the screen')
    expect(terminal.text.trim()).toBe('')
    signalFound(process, 'SIGCONT')
    await terminal.waitForText('● long')
    signalFound(process, 'SIGTERM')
    expect([await terminal.exitCode, terminal.isRestored, terminal.screen.modes.has('1049')]).toEqual([0, true, false])
  })

  test('steps are shown one by one, and a need is snoozed', async () => {
    const edit = { name: 'write', input: { path: 'a.txt', content: 'one\n' } }
    const { uuid } = await daemon.spawnScripted(
      [{ text: 'I look.', tools: [{ name: 'ls', input: {} }] }, { tools: [edit] }, { text: 'Done.' }],
      {
        name: 'work',
      },
    )
    await daemon.waitForEnd(uuid)
    await startAsking()
    await daemon.client.get('/v1/processes/asks/wait', { for: 'waiting' })
    const terminal = openTop({}, '-a')
    await terminal.waitForText(/NEEDS YOU \d/)
    await terminal.waitForText(/\? asks/)
    terminal.type('/work\rz')
    await terminal.waitForText(/as of step 3 of 3.*\n.*step 3 .*\n(.*\n)*.*Done\./)
    terminal.type('[')
    await terminal.waitForText(/as of step 2 of 3/)
    await terminal.waitForText(/write: ok/)
    terminal.type('[')
    await terminal.waitForText(/as of step 1 of 3.*\n(.*\n)*.*I look\./)
    terminal.type('z')
    await terminal.waitForText(/\n +1 \d\d:\d\d:\d\d I look\./)
    terminal.type('\x1b')
    await terminal.waitFor(() => !terminal.text.includes('[steps]'), 'the panel is closed')
    terminal.type('\x1b')
    await terminal.waitFor(() => !terminal.text.includes('filter work'), 'the filter is cleared')
    terminal.type('1Z')
    await terminal.waitForText('reeve needs --snooze 1h asks')
    terminal.type('\r')
    await terminal.waitFor(() => !/NEEDS YOU.*\n.* asks /.test(terminal.text), 'the need is gone')
  })

  test('a resized screen is drawn again at once', async () => {
    await daemon.spawnShell('sleep 1000', { name: 'long' })
    const terminal = openTop()
    await terminal.waitForText(/AGENT +STEP/)
    terminal.resize(70, true)
    await terminal.waitFor(() => /PID NAME +ELAPSED +COST\n.*long.*\n.*its program runs/.test(terminal.text), 'two lines for each process')
    terminal.resize(120, true)
    await terminal.waitForText(/AGENT +STEP/)
  })

  test('an uncaught error is printed after the terminal is restored', async () => {
    const home = mkdtempSync(join(tmpdir(), 'reeve-top-'))
    const broken = { ...rowOf(), cost: null } as unknown as RowView
    await using _daemon = await ManyRowsDaemon.start(home, [broken])
    const terminal = new Terminal(home, ['top'], { columns: 120, rows: 30 })
    openTerminals.push(terminal)
    expect(await terminal.exitCode).not.toBe(0)
    expect([terminal.isRestored, terminal.screen.modes.has('1049')]).toEqual([true, false])
    expect(terminal.text).toContain('TypeError')
    rmSync(home, { recursive: true })
  })

  test('a daemon that does not answer is reported, no key acts meanwhile, and the next one is found', async () => {
    await daemon.spawnShell('sleep 1000', { name: 'long' })
    const terminal = openTop()
    await terminal.waitForText('● long')
    await daemon.stop()
    await terminal.waitForText(/no answer since \d\d:\d\d:\d\d/)
    await terminal.waitForText(/The daemon does not answer\. This is how it was at \d\d:\d\d:\d\d\./)
    terminal.type('K')
    await terminal.waitForText(/nothing was done: the daemon has not answered for/)
    await daemon.start()
    await terminal.waitForText(/live \d\d:\d\d:\d\d/)
    expect(terminal.text).not.toContain('The daemon does not answer')
  })
})

describe('without a terminal', () => {
  test('--once prints needs and rows, --json the same for a program', async () => {
    await startAsking()
    await daemon.client.get('/v1/processes/asks/wait', { for: 'waiting' })
    expect((await cli('top', '--once')).stdout).toMatch(
      /^NEEDS YOU 1\n +1 asks +bash: touch allowed +\d+s\n +PID NAME .*\n +1 +\? asks .*asks: bash/,
    )
    expect(JSON.parse((await cli('top', '--once', '--json')).stdout)).toMatchObject({
      version: 1,
      sums: { asking: 1 },
      needs: [{ name: 'asks', kind: 'command' }],
      rows: [{ name: 'asks', status: 'waiting' }],
    })
    expect((await cli('top', '--once', 'is:working')).stdout).not.toContain('? asks')
  })

  test('a pipe gets a line for each change', async () => {
    await daemon.spawnShell('sleep 1000', { name: 'long' })
    const watching = startCli(daemon.home, ['top', '--plain'])
    await watching.waitForText('long: working')
    const { uuid } = await daemon.spawnShell('exit 3', { name: 'boom' })
    await daemon.waitForEnd(uuid)
    await watching.waitForText('boom: failed')
    watching.child.kill('SIGTERM')
    const { code, stdout } = await watching.result
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\S+ 1 long: .*\n(\S+ 2 boom: .*\n)+$/)])
  })

  test('an invalid filter is refused', async () => {
    expect(await cli('top', '--once', 'cost:much')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('write a number, such as cost:>5'),
    })
  })
})
