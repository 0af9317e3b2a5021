// `reeve attach` and `run --interactive`: people who watch a process and talk to it, on a real terminal and without one.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Reeve } from '../../src/index.ts'
import { CLI, runCli, startCli, type CliResult } from '../support/cli.ts'
import { testEnv } from '../support/env.ts'
import { HAS_TERMINAL, Terminal } from '../support/terminal.ts'
import { tempDir, type TempDir } from '../support/tmp.ts'

let dir: TempDir
let reeve: Reeve
const open: Terminal[] = []
beforeAll(async () => {
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
  await run('daemon', 'start')
}, 60_000)
afterAll(async () => {
  for (const each of open) each[Symbol.dispose]()
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
}, 60_000)

const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)

function terminal(...args: string[]): Terminal {
  const made = new Terminal(dir.path, args)
  open.push(made)
  return made
}

/** A model that is played from a file; in its tools `wait FILE` waits for a file. */
function script(name: string, yaml: string): string {
  const file = join(dir.path, `${name}.yaml`)
  writeFileSync(file, yaml)
  return `script:${file}`
}

const until = (file: string): string => `while [ ! -e ${file} ]; do echo begun ${file}; sleep 0.05; done; echo over`
const go = (file: string): void => writeFileSync(join(dir.path, file), '')

const CHAT = `
- text: Hello.
- text: I work.
  tools: [{ name: bash, input: { command: "${until('chat-go')}" } }]
- text: Worked.
- text: Read.
- text: More.
`

/** An interactive agent that is ready; its first answer was "Hello." */
async function ready(name: string, yaml = CHAT): Promise<void> {
  await run('run', '-d', '--interactive', '--name', name, '--model', script(name, yaml.replaceAll('chat-go', `${name}-go`)), 'begin')
  await reeve.wait(name, { for: 'ready' })
}

describe.runIf(HAS_TERMINAL)('on a terminal', () => {
  test('a person talks to a process, leaves it, comes back and stops it', async () => {
    const model = script('talk', CHAT.replaceAll('chat-go', 'talk-go'))
    const first = terminal('run', '--interactive', '--name', 'talk', '--model', model, 'begin')
    await first.sees(/Hello\.\n● ready .*\n>$/)
    expect(first.text).not.toContain('> begin')
    first.type('do it\r')
    await first.sees(/> do it\n {2}step 2\nI work\.\n● working .*bash while.*: begun talk-go\n>/)
    first.type('then\\\rthis\r')
    await first.sees(/> then\n {2}this\n {2}queued \(1 message\)/)
    go('talk-go')
    await first.sees(/ok \d.*\n {2}step 3\nWorked\.\n {2}step 4\nRead\.\n● ready/)
    first.type('\x04')
    expect(await first.done).toBe(0)
    expect(first.text).toMatch(/Read\.\ndetached: PID \d+ \(talk\) goes on; `reeve attach \d+` comes back/)
    expect([first.isGivenBack, first.screen.modes.has('2004')]).toEqual([true, false])

    const second = terminal('attach', 'talk')
    await second.sees(/> begin\n[^]*Hello\.\n> do it\n[^]*Worked\.\n[^]*Read\.\n● ready .*\n>$/)
    second.type('/stop\r')
    expect(await second.done).toBe(143)
    expect([second.isGivenBack, second.text]).toEqual([true, expect.stringMatching(/\nPID \d+ \(talk\) stopped: SIGTERM from user \(exit 143\)/)])
    expect(second.text).not.toMatch(/● /)
  }, 60_000)

  test('Ctrl+C ends the turn, and asks when there is none', async () => {
    await ready('turn')
    const seen = terminal('attach', 'turn')
    await seen.sees('● ready')
    seen.type('do it\r')
    await seen.sees('● working')
    await seen.sees('begun turn-go')
    seen.type('\x03')
    await seen.sees(/interrupted[^]*● ready/)
    expect((await reeve.get('turn')).status).toBe('ready')
    seen.type('/help\r')
    await seen.sees('ends it, with 10s to clean up')
    seen.type('\x03')
    await seen.sees('(d)etach, (s)top? Any other key goes on.')
    seen.type('d')
    expect([await seen.done, (await reeve.get('turn')).status]).toEqual([0, 'ready'])
    await run('kill', 'turn')
  }, 60_000)

  test('Ctrl+C takes away what is typed before it asks', async () => {
    await ready('typed')
    const seen = terminal('attach', 'typed')
    await seen.sees('● ready')
    seen.type('half a li')
    await seen.sees('> half a li')
    seen.type('\x03')
    await seen.sees(/● ready.*\n>$/)
    seen.type('/detach\r')
    expect(await seen.done).toBe(0)
    await run('kill', 'typed')
  }, 60_000)

  test('what comes while a line is typed leaves the line alone', async () => {
    await ready('garble')
    const seen = terminal('attach', 'garble')
    await seen.sees('● ready')
    seen.type('do it\r')
    await seen.sees('begun garble-go')
    seen.type('half a li')
    await seen.sees('> half a li')
    go('garble-go')
    await seen.sees(/Worked\.\n● ready.*\n> half a li$/)
    seen.type('ne\r')
    await seen.sees(/> half a line\n {2}step 4\nRead\./)
    seen.type('\x04')
    await seen.done
    await run('kill', 'garble')
  }, 60_000)

  test('several see what each of them does', async () => {
    await ready('shared')
    const [one, two] = [terminal('attach', 'shared'), terminal('attach', 'shared')]
    await Promise.all([one.sees('● ready'), two.sees('● ready')])
    go('shared-go')
    one.type('from one\r')
    await Promise.all([one.sees(/> from one\n[^]*Worked\./), two.sees(/> from one\n[^]*Worked\./)])
    two.type('/pause\r')
    await Promise.all([one.sees('⏸ suspended by user'), two.sees('⏸ suspended by user')])
    const late = terminal('attach', 'shared')
    await late.sees('/resume lets it go on')
    late.type('hello\r')
    await late.sees('queued; it is suspended')
    late.type('/resume\r')
    await Promise.all([one, two, late].map((each) => each.sees(/goes on \(by user\)[^]*Read\.\n● ready/)))
    one.type('/stop\r')
    expect(await Promise.all([one.done, two.done, late.done])).toEqual([143, 143, 143])
  }, 60_000)

  test('a command is watched, and takes no messages', async () => {
    await run('run', '-d', '--name', 'cmd', '--', 'sh', '-c', `printf half; ${until('cmd-go').replaceAll('echo begun cmd-go', 'true')}; exit 3`)
    const seen = terminal('attach', 'cmd')
    await seen.sees(/half\n● working/)
    seen.type('hello\r')
    await seen.sees('takes no messages')
    seen.type('/nosuch\r')
    await seen.sees('no command /nosuch')
    go('cmd-go')
    expect(await seen.done).toBe(3)
    expect(seen.text).toMatch(/over\nPID \d+ \(cmd\) failed: exit code 3 /)
  }, 60_000)

  test('one that has ended is shown, with its code and what can be done', async () => {
    await run('run', '-q', '--name', 'ended', '--', 'sh', '-c', 'echo last words; exit 7')
    const seen = terminal('attach', 'ended')
    expect(await seen.done).toBe(7)
    expect(seen.text).toMatch(/last words\nPID \d+ \(ended\) failed: exit code 7 [^]*it has ended; `reeve resume --rerun \d+` runs it again/)
  }, 60_000)

  test('a signal leaves the process running and gives the terminal back', async () => {
    await ready('signal')
    const seen = terminal('attach', 'signal')
    await seen.sees('● ready')
    process.kill(seen.pid, 'SIGTERM')
    expect([await seen.done, seen.isGivenBack, (await reeve.get('signal')).status]).toEqual([0, true, 'ready'])
    await run('kill', 'signal')
  }, 60_000)
})

describe('without a terminal', () => {
  /** `reeve attach ARGS` with this as its stdin; when it has written the cue, something is done: its stdin ends. */
  function piped(args: readonly string[], stdin: string, cue: string, then = (input: Writable): void => void input.end()): Promise<CliResult> {
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

  test('lines are messages, what it writes is stdout, and the end of stdin detaches', async () => {
    await ready('lines')
    go('lines-go')
    const { code, stdout, stderr } = await piped(['lines'], 'one\n\ntwo\n', 'Read.')
    expect([code, stdout]).toEqual([0, 'I work.\nWorked.\nRead.\n'])
    expect(stderr).toMatch(/^> one\n[^]*> two\n[^]*detached: PID \d+ \(lines\) goes on/)
    expect(stderr).not.toContain('\x1b')
    expect((await reeve.get('lines')).status).toBe('ready')
    await run('kill', 'lines')
  }, 60_000)

  test('as JSON it is the events from then on', async () => {
    await ready('json', '- text: one\n- text: two\n')
    const { code, stdout } = await piped(['--json', 'json'], 'hello\n', 'process.ready')
    const facts = stdout.trim().split('\n').map((line) => (JSON.parse(line) as { fact: string }).fact)
    expect([code, facts[0], facts.at(-1)]).toEqual([0, 'process.queue', 'process.ready'])
    await run('kill', 'json')
  }, 60_000)

  test('the end of the process is its end, with its code', async () => {
    await run('run', '-d', '--name', 'watched', '--', 'sh', '-c', 'while [ ! -e watched-go ]; do echo tick; sleep 0.05; done; exit 5')
    const { code, stderr } = await piped(['watched'], '', 'tick', () => go('watched-go'))
    expect([code, stderr]).toEqual([5, ''])
  }, 60_000)

  test('without anything to say it has left at once', async () => {
    await run('run', '-d', '--name', 'silent', '--', 'sleep', '1000')
    expect((await startCli(dir.path, ['attach', 'silent']).done).code).toBe(0)
    await run('kill', 'silent')
  }, 60_000)

  test('a process that there is not is 125, as with run', async () => {
    expect((await run('attach', 'nosuch')).code).toBe(125)
  })
})
