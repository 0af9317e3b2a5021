// `reeve attach` and `run --interactive`: users who watch a process and write to it, on a real terminal and without one.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Reeve } from '../../../src/index.ts'
import { CLI, runCli, startCli, type CliResult } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { signalFound } from '../../support/agents/living.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
let reeve: Reeve
const open: Terminal[] = []
beforeAll(async () => {
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
  await run('daemon', 'start')
})
afterAll(async () => {
  for (const each of open) each[Symbol.dispose]()
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)

function openTerminal(...args: string[]): Terminal {
  const made = new Terminal(dir.path, args)
  open.push(made)
  return made
}

/** Writes a model's script; its tool command `wait FILE` waits for a file. */
function script(name: string, yaml: string): string {
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
async function ready(name: string, yaml = CHAT): Promise<void> {
  await run('run', '-d', '--interactive', '--name', name, '--model', script(name, yaml.replaceAll('chat-go', `${name}-go`)), 'begin')
  await reeve.wait(name, { for: 'ready' })
}

describe.runIf(HAS_TERMINAL)('on a terminal', () => {
  test('the user talks to a process, detaches, returns and stops it', async () => {
    const model = script('talk', CHAT.replaceAll('chat-go', 'talk-go'))
    const first = openTerminal('run', '--interactive', '--name', 'talk', '--model', model, 'begin')
    await first.waitForText(/Hello\.\n● ready .*\n>$/)
    expect(first.text).not.toContain('> begin')
    first.type('do it\r')
    await first.waitForText(/> do it\n {2}step 2\nI work\.\n● working .*bash while.*: begun talk-go\n>/)
    first.type('then\\\rthis\r')
    await first.waitForText(/> then\n {2}this\n {2}queued \(1 message\)/)
    createFile('talk-go')
    await first.waitForText(/ok \d.*\n {2}step 3\nWorked\.\n {2}step 4\nRead\.\n● ready/)
    first.type('\x04')
    expect(await first.exitCode).toBe(0)
    expect(first.text).toMatch(/Read\.\ndetached: PID \d+ \(talk\) goes on; `reeve attach \d+` comes back/)
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

  test('Ctrl+C ends the turn, and asks when there is none', async () => {
    await ready('turn')
    const seen = openTerminal('attach', 'turn')
    await seen.waitForText('● ready')
    seen.type('do it\r')
    await seen.waitForText('● working')
    await seen.waitForText('begun turn-go')
    seen.type('\x03')
    await seen.waitForText(/interrupted[^]*● ready/)
    expect((await reeve.get('turn')).status).toBe('ready')
    seen.type('/help\r')
    await seen.waitForText('stops it, with 10s to clean up')
    seen.type('\x03')
    await seen.waitForText('(d)etach, (s)top? Any other key continues.')
    seen.type('d')
    expect([await seen.exitCode, (await reeve.get('turn')).status]).toEqual([0, 'ready'])
    await run('kill', 'turn')
  })

  test('Ctrl+C first clears the typed line, then asks', async () => {
    await ready('typed')
    const seen = openTerminal('attach', 'typed')
    await seen.waitForText('● ready')
    seen.type('half a li')
    await seen.waitForText('> half a li')
    seen.type('\x03')
    await seen.waitForText(/● ready.*\n>$/)
    seen.type('/detach\r')
    expect(await seen.exitCode).toBe(0)
    await run('kill', 'typed')
  })

  test('output leaves a half-typed line alone', async () => {
    await ready('garble')
    const seen = openTerminal('attach', 'garble')
    await seen.waitForText('● ready')
    seen.type('do it\r')
    await seen.waitForText('begun garble-go')
    seen.type('half a li')
    await seen.waitForText('> half a li')
    createFile('garble-go')
    await seen.waitForText(/Worked\.\n● ready.*\n> half a li$/)
    seen.type('ne\r')
    await seen.waitForText(/> half a line\n {2}step 4\nRead\./)
    seen.type('\x04')
    await seen.exitCode
    await run('kill', 'garble')
  })

  test('several terminals see all inputs', async () => {
    await ready('shared')
    const [one, two] = [openTerminal('attach', 'shared'), openTerminal('attach', 'shared')]
    await Promise.all([one.waitForText('● ready'), two.waitForText('● ready')])
    createFile('shared-go')
    one.type('from one\r')
    await Promise.all([one.waitForText(/> from one\n[^]*Worked\./), two.waitForText(/> from one\n[^]*Worked\./)])
    two.type('/pause\r')
    await Promise.all([one.waitForText('is suspended by user\n  /resume continues it'), two.waitForText('is suspended by user')])
    const late = openTerminal('attach', 'shared')
    await late.waitForText('/resume continues it')
    late.type('hello\r')
    await late.waitForText('queued; it is suspended')
    late.type('/resume\r')
    await Promise.all([one, two, late].map((each) => each.waitForText(/goes on\n[^]*Read\.\n● ready/)))
    one.type('/stop\r')
    expect(await Promise.all([one.exitCode, two.exitCode, late.exitCode])).toEqual([143, 143, 143])
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
    const seen = openTerminal('attach', 'cmd')
    await seen.waitForText(/half\n● working/)
    seen.type('hello\r')
    await seen.waitForText('takes no messages')
    seen.type('/nosuch\r')
    await seen.waitForText('no command /nosuch')
    createFile('cmd-go')
    expect(await seen.exitCode).toBe(3)
    expect(seen.text).toMatch(/over\nPID \d+ \(cmd\) failed: exit code 3 /)
  })

  test('an ended process is shown, with its exit code and the possible next steps', async () => {
    await run('run', '-q', '--name', 'ended', '--', 'sh', '-c', 'echo last words; exit 7')
    const seen = openTerminal('attach', 'ended')
    expect(await seen.exitCode).toBe(7)
    expect(seen.text).toMatch(
      /last words\nPID \d+ \(ended\) failed: exit code 7 [^]*it has ended; `reeve resume --rerun \d+` runs it again/,
    )
  })

  test('a signal leaves the process running and gives the terminal back', async () => {
    await ready('signal')
    const seen = openTerminal('attach', 'signal')
    await seen.waitForText('● ready')
    signalFound(seen.process, 'SIGTERM')
    expect([await seen.exitCode, seen.isRestored, (await reeve.get('signal')).status]).toEqual([0, true, 'ready'])
    await run('kill', 'signal')
  })
})

describe('without a terminal', () => {
  /** Runs `reeve attach ARGS` with this stdin; after the cue it runs an action, then stdin ends. */
  function piped(
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
    await ready('lines')
    createFile('lines-go')
    const { code, stdout, stderr } = await piped(['lines'], 'one\n\ntwo\n', 'Read.')
    expect([code, stdout]).toEqual([0, 'I work.\nWorked.\nRead.\n'])
    expect(stderr).toMatch(/^> one\n[^]*> two\n[^]*detached: PID \d+ \(lines\) goes on/)
    expect(stderr).not.toContain('\x1b')
    expect((await reeve.get('lines')).status).toBe('ready')
    await run('kill', 'lines')
  })

  test('--json prints the events from then on', async () => {
    await ready('json', '- text: one\n- text: two\n')
    const { code, stdout } = await piped(['--json', 'json'], 'hello\n', 'process.ready')
    const facts = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { fact: string }).fact)
    expect([code, facts[0], facts.at(-1)]).toEqual([0, 'process.queue', 'process.ready'])
    await run('kill', 'json')
  })

  test("the end of the process ends attach, with the process's code", async () => {
    await run('run', '-d', '--name', 'watched', '--', 'sh', '-c', 'while [ ! -e watched-go ]; do echo tick; sleep 0.05; done; exit 5')
    const { code, stderr } = await piped(['watched'], '', 'tick', () => createFile('watched-go'))
    expect([code, stderr]).toEqual([5, ''])
  })

  test('without input it detaches at once', async () => {
    await run('run', '-d', '--name', 'silent', '--', 'sleep', '1000')
    expect((await startCli(dir.path, ['attach', 'silent']).result).code).toBe(0)
    await run('kill', 'silent')
  })

  test('an unknown process gives exit code 125, as with run', async () => {
    expect((await run('attach', 'nosuch')).code).toBe(125)
  })
})
