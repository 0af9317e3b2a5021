// `reeve attach` and `reeve run --interactive`: the user watches a process and sends messages to it, with and without a terminal.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Reeve } from '../../../src/index.ts'
import { CLI, runCli, startCli, type CliResult } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { signalFound } from '../../support/living-processes.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
let reeve: Reeve
const openTerminals: Terminal[] = []
beforeAll(async () => {
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
  await run('daemon', 'start')
})
afterAll(async () => {
  for (const each of openTerminals) each[Symbol.dispose]()
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)

function openTerminal(...args: string[]): Terminal {
  const terminal = new Terminal(dir.path, args)
  openTerminals.push(terminal)
  return terminal
}

/** Writes a model's script, and returns its model name. */
function writeScript(name: string, yaml: string): string {
  const file = join(dir.path, `${name}.yaml`)
  writeFileSync(file, yaml)
  return `script:${file}`
}

const loopUntilFile = (file: string): string => `while [ ! -e ${file} ]; do echo begun ${file}; sleep 0.05; done; echo over`
const createFile = (file: string): void => writeFileSync(join(dir.path, file), '')

const CHAT = `
- text: Hello.
- text: I work.
  tools: [{ name: bash, input: { command: "${loopUntilFile('chat-go')}" } }]
- text: Worked.
- text: Read.
- text: More.
`

/** Starts an interactive agent and waits until it is ready; its first answer was "Hello." */
async function startReadyAgent(name: string, yaml = CHAT): Promise<void> {
  await run('run', '-d', '--interactive', '--name', name, '--model', writeScript(name, yaml.replaceAll('chat-go', `${name}-go`)), 'begin')
  await reeve.wait(name, { for: 'ready' })
}

describe.runIf(HAS_TERMINAL)('on a terminal', () => {
  test('the user sends messages to a process, detaches, returns and stops it', async () => {
    const model = writeScript('talk', CHAT.replaceAll('chat-go', 'talk-go'))
    const first = openTerminal('run', '--interactive', '--name', 'talk', '--model', model, 'begin')
    await first.waitForText(/Hello\.\n● ready .*\n>$/)
    expect(first.text).not.toContain('> begin')
    first.type('do it\r')
    await first.waitForText(/> do it\n {2}step 2\nI work\.\n● working .*bash while.*: begun talk-go\n>/)
    first.type('then\\\rthis\r')
    await first.waitForText(/> then\n {2}this\n {2}queued \(1 message\)/)
    createFile('talk-go')
    await first.waitForText(/ok \d.*\n(?: {4}.*\n)+ {2}step 3\nWorked\.\n {2}step 4\nRead\.\n● ready/)
    first.type('\x04')
    expect(await first.exitCode).toBe(0)
    expect(first.text).toMatch(/Read\.\ndetached: PID \d+ \(talk\) goes on; `reeve attach \d+` follows it again/)
    expect([first.isRestored, first.screen.modes.has('2004')]).toEqual([true, false])

    const second = openTerminal('attach', 'talk')
    await second.waitForText(/> begin\n[^]*Hello\.\n> do it\n[^]*Worked\.\n[^]*Read\.\n● ready .*\n>$/)
    second.type('/stop\r')
    expect(await second.exitCode).toBe(143)
    expect([second.isRestored, second.text]).toEqual([
      true,
      expect.stringMatching(/\nPID \d+ \(talk\) stopped: SIGTERM from user \(exit 143\)/),
    ])
    expect(second.text).not.toMatch(/● /)
  })

  test('Ctrl+C interrupts a turn, and asks what to do when no turn runs', async () => {
    await startReadyAgent('turn')
    const terminal = openTerminal('attach', 'turn')
    await terminal.waitForText('● ready')
    terminal.type('do it\r')
    await terminal.waitForText('● working')
    await terminal.waitForText('begun turn-go')
    terminal.type('\x03')
    await terminal.waitForText(/interrupted[^]*● ready/)
    expect((await reeve.get('turn')).status).toBe('ready')
    terminal.type('/help\r')
    await terminal.waitForText('stops it, with 10s to clean up')
    terminal.type('\x03')
    await terminal.waitForText('(d)etach, (s)top? Any other key continues.')
    terminal.type('d')
    expect([await terminal.exitCode, (await reeve.get('turn')).status]).toEqual([0, 'ready'])
    await run('kill', 'turn')
  })

  test('Ctrl+C clears the typed line first', async () => {
    await startReadyAgent('typed')
    const terminal = openTerminal('attach', 'typed')
    await terminal.waitForText('● ready')
    terminal.type('half a li')
    await terminal.waitForText('> half a li')
    terminal.type('\x03')
    await terminal.waitForText(/● ready.*\n>$/)
    terminal.type('/detach\r')
    expect(await terminal.exitCode).toBe(0)
    await run('kill', 'typed')
  })

  test('a number without an open question is sent only after a second Enter', async () => {
    await startReadyAgent('number')
    const terminal = openTerminal('attach', 'number')
    await terminal.waitForText('● ready')
    terminal.type('do it\r')
    await terminal.waitForText('begun number-go')
    terminal.type('1\r')
    await terminal.waitForText(/no question is open: Enter sends "1" as a message\n● working.*\n> 1$/)
    expect((await reeve.get('number')).queueCount).toBe(0)
    terminal.type('\r')
    await terminal.waitForText(/> 1\n {2}queued \(1 message\)/)
    terminal.type('\x04')
    await terminal.exitCode
    await run('kill', 'number')
  })

  test('output does not change a half-typed line', async () => {
    await startReadyAgent('garble')
    const terminal = openTerminal('attach', 'garble')
    await terminal.waitForText('● ready')
    terminal.type('do it\r')
    await terminal.waitForText('begun garble-go')
    terminal.type('half a li')
    await terminal.waitForText('> half a li')
    createFile('garble-go')
    await terminal.waitForText(/Worked\.\n● ready.*\n> half a li$/)
    terminal.type('ne\r')
    await terminal.waitForText(/> half a line\n {2}step 4\nRead\./)
    terminal.type('\x04')
    await terminal.exitCode
    await run('kill', 'garble')
  })

  test('each of several terminals shows the input of all', async () => {
    await startReadyAgent('shared')
    const [one, second] = [openTerminal('attach', 'shared'), openTerminal('attach', 'shared')]
    await Promise.all([one.waitForText('● ready'), second.waitForText('● ready')])
    createFile('shared-go')
    one.type('from one\r')
    await Promise.all([one.waitForText(/> from one\n[^]*Worked\./), second.waitForText(/> from one\n[^]*Worked\./)])
    second.type('/pause\r')
    await Promise.all([one.waitForText('is suspended by user\n  /resume continues it'), second.waitForText('is suspended by user')])
    const lateTerminal = openTerminal('attach', 'shared')
    await lateTerminal.waitForText('/resume continues it')
    lateTerminal.type('hello\r')
    await lateTerminal.waitForText('queued; it is suspended')
    lateTerminal.type('/resume\r')
    await Promise.all([one, second, lateTerminal].map((each) => each.waitForText(/goes on\n[^]*Read\.\n● ready/)))
    one.type('/stop\r')
    expect(await Promise.all([one.exitCode, second.exitCode, lateTerminal.exitCode])).toEqual([143, 143, 143])
  })

  test('a command can be watched, but takes no messages', async () => {
    await run(
      'run',
      '-d',
      '--name',
      'cmd',
      '--',
      'sh',
      '-c',
      `printf half; ${loopUntilFile('cmd-go').replaceAll('echo begun cmd-go', 'true')}; exit 3`,
    )
    const terminal = openTerminal('attach', 'cmd')
    await terminal.waitForText(/half\n● working/)
    terminal.type('hello\r')
    await terminal.waitForText('takes no messages')
    terminal.type('/nosuch\r')
    await terminal.waitForText('no command /nosuch')
    createFile('cmd-go')
    expect(await terminal.exitCode).toBe(3)
    expect(terminal.text).toMatch(/over\nPID \d+ \(cmd\) failed: exit code 3 /)
  })

  test('an ended process is shown, with its exit code and the possible next steps', async () => {
    await run('run', '-q', '--name', 'ended', '--', 'sh', '-c', 'echo last words; exit 7')
    const terminal = openTerminal('attach', 'ended')
    expect(await terminal.exitCode).toBe(7)
    expect(terminal.text).toMatch(
      /last words\nPID \d+ \(ended\) failed: exit code 7 [^]*it has ended; `reeve resume --rerun \d+` runs it again/,
    )
  })

  test('a signal ends attach, restores the terminal, and does not end the process', async () => {
    await startReadyAgent('signal')
    const terminal = openTerminal('attach', 'signal')
    await terminal.waitForText('● ready')
    signalFound(terminal.process, 'SIGTERM')
    expect([await terminal.exitCode, terminal.isRestored, (await reeve.get('signal')).status]).toEqual([0, true, 'ready'])
    await run('kill', 'signal')
  })
})

describe('without a terminal', () => {
  /** Runs `reeve attach ARGS` with this stdin. When the output contains the cue, `then` is called; its default ends stdin. */
  function runPiped(
    args: readonly string[],
    stdin: string,
    cue: string,
    then = (input: Writable): void => void input.end(),
  ): Promise<CliResult> {
    const child = spawn(process.execPath, [CLI, 'attach', ...args], { cwd: dir.path, env: testEnv(dir.path), stdio: 'pipe' })
    const written = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        written[name] += text
        if (written[name].includes(cue)) then(child.stdin)
      })
    }
    child.stdin.write(stdin)
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...written })))
  }

  test('lines of stdin are messages, the output is on stdout, and the end of stdin detaches', async () => {
    await startReadyAgent('lines')
    createFile('lines-go')
    const { code, stdout, stderr } = await runPiped(['lines'], 'one\n\ntwo\n', 'Read.')
    expect([code, stdout]).toEqual([0, 'I work.\nWorked.\nRead.\n'])
    expect(stderr).toMatch(/^> one\n[^]*> two\n[^]*detached: PID \d+ \(lines\) goes on/)
    expect(stderr).not.toContain('\x1b')
    expect((await reeve.get('lines')).status).toBe('ready')
    await run('kill', 'lines')
  })

  test('--json prints the events that come after the attach', async () => {
    await startReadyAgent('json', '- text: one\n- text: two\n')
    const { code, stdout } = await runPiped(['--json', 'json'], 'hello\n', 'process.ready')
    const facts = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { fact: string }).fact)
    expect([code, facts[0], facts.at(-1)]).toEqual([0, 'process.queue', 'process.ready'])
    await run('kill', 'json')
  })

  test("attach ends with the process, and returns the process's exit code", async () => {
    await run('run', '-d', '--name', 'watched', '--', 'sh', '-c', 'while [ ! -e watched-go ]; do echo tick; sleep 0.05; done; exit 5')
    const { code, stderr } = await runPiped(['watched'], '', 'tick', () => createFile('watched-go'))
    expect([code, stderr]).toEqual([5, ''])
  })

  test('attach without input detaches at once', async () => {
    await run('run', '-d', '--name', 'silent', '--', 'sleep', '1000')
    expect((await startCli(dir.path, ['attach', 'silent']).result).code).toBe(0)
    await run('kill', 'silent')
  })

  test('an unknown process gives exit code 125, as with run', async () => {
    expect((await run('attach', 'nosuch')).code).toBe(125)
  })
})
