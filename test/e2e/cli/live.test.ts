// `reeve run` on a real terminal shows rows with the activity below the output. Other outputs get no such rows. A command that needs a
// terminal is reported.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Reeve } from '../../../src/index.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { HAS_TERMINAL, Terminal, type TerminalOptions } from '../../support/daemon/terminal.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

const ACP_PROGRAM = join(import.meta.dirname, '../../support/programs/acp-agent.ts')

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
const createGoFile = (name: string): void => writeFileSync(join(dir.path, `${name}-go`), '')

function openTerminal(args: readonly string[], options: TerminalOptions = {}): Terminal {
  const terminal = new Terminal(dir.path, args, options)
  openTerminals.push(terminal)
  return terminal
}

/** Runs an agent whose tool prints lines until the file NAME-go exists, so that a late check sees them, too. */
function openWaitingRun(name: string, flags: readonly string[] = [], options: TerminalOptions = {}): Terminal {
  const command = `while [ ! -e ${name}-go ]; do printf 'one\\ntwo \\033[31mred\\n'; sleep 0.05; done`
  const file = join(dir.path, `${name}.yaml`)
  writeFileSync(
    file,
    `- text: I look.\n  tools: [{ name: bash, input: { command: ${JSON.stringify(command)} } }]\n  usage: { input: 12000, output: 300 }\n- text: Done.\n`,
  )
  return openTerminal(['run', '--name', name, ...flags, '--model', `script:${file}`, 'look'], options)
}

describe.runIf(HAS_TERMINAL)('the rows of a run', () => {
  test('show the activity below the output, and disappear at the end', async () => {
    const terminal = openWaitingRun('rows')
    await terminal.waitForText(/I look\.\n● working {2}\d+s {2}step 1 {2}12\.0k in {2}300 out .*bash while.* \d+s.*: two red$/)
    createGoFile('rows')
    expect(await terminal.exitCode).toBe(0)
    expect(terminal.text).toMatch(
      /I look\.\n {2}bash while.* {2}ok \d.*\n {4}one\n {4}two red\n(?: {4}.*\n)* {2}step 2\nDone\.\nPID \d+ \(rows\) completed \| 2 steps \| tokens 12\.0k in, 300 out \|[^]*$/,
    )
    expect(terminal.text).not.toContain('●')
    // No raw tool output, and no code that hides the cursor or takes the screen.
    expect(terminal.raw).not.toMatch(/\x1b\[\?(?!2026)|\x1b\[31mred/)
  })

  test('stay below text whose lines end between words, with the width that the terminal gets later', async () => {
    const text = 'The quick brown fox jumps over the lazy dog, and then it goes home to sleep.'
    const file = join(dir.path, 'wide.yaml')
    const command = 'while [ ! -e wide-go ]; do sleep 0.05; done'
    writeFileSync(file, `- text: ${text}\n  tools: [{ name: bash, input: { command: ${JSON.stringify(command)} } }]\n- text: ${text}\n`)
    const terminal = openTerminal(['run', '--name', 'wide', '--model', `script:${file}`, 'look'], { columns: 38 })
    await terminal.waitForText(/\nThe quick brown fox jumps over the\nlazy dog, and then it goes home to\nsleep\.\n● working/)
    terminal.resize(60)
    createGoFile('wide')
    expect(await terminal.exitCode).toBe(0)
    expect(terminal.raw).toContain('The quick brown fox jumps over the lazy dog, and then it\r\ngoes home')
    const runAndRead = async (...args: string[]): Promise<string> => {
      const one = openTerminal(args, { columns: 38 })
      expect(await one.exitCode).toBe(0)
      return one.text
    }
    expect(await runAndRead('logs', 'wide')).toMatch(/\nThe quick brown fox jumps over the\nlazy dog, and then it goes home to\nsleep\.\n/)
    expect(await runAndRead('logs', '-t', 'wide')).toMatch(/\n(\S+) The quick brown fox [^\n]{0,16}\n {9,}\S/)
    expect(await runAndRead('steps', 'wide')).toMatch(
      /\n {2}The quick brown fox jumps over the\n {2}lazy dog, and then it goes home to\n {2}sleep\.\n/,
    )
    expect((await run('logs', 'wide')).stdout).toContain(`\n${text}\n`)
  })

  test('stay below the text of an ACP agent, which is shown once, from its beginning', async () => {
    mkdirSync(join(dir.path, 'agents'), { recursive: true })
    writeFileSync(
      join(dir.path, 'agents/fake.md'),
      `---\ndriver: acp\ncommand: ${JSON.stringify([process.execPath, ACP_PROGRAM, `sessions=${dir.path}`])}\n---\n`,
    )
    const words = ['Let ', 'me see ', 'what is ', 'here, ', 'and then ', 'decide.']
    const terminal = openTerminal([
      'run',
      '--agent',
      'fake',
      [...words.map((word) => `say ${word}`), `wait ${join(dir.path, 'acp-go')}`].join('\n'),
    ])
    await terminal.waitForText(/Let me see what is here, and then decide\.[^]*●/)
    const lateTerminal = openTerminal(['attach', (await reeve.list()).find(({ agent }) => agent === 'fake')?.uuid ?? ''])
    await lateTerminal.waitForText(/Let me see what is here, and then decide\.[^]*●/)
    createGoFile('acp')
    expect([await terminal.exitCode, await lateTerminal.exitCode]).toEqual([0, 0])
    expect(terminal.text.match(/decide\./g)).toEqual(['decide.'])
    // The intent, which `attach` shows, has the word too.
    expect(lateTerminal.text.match(/then decide\./g)).toEqual(['then decide.'])
  })

  test('show each living child', async () => {
    const terminal = openWaitingRun('family')
    await terminal.waitForText('● working')
    await run('run', '-d', '--name', 'kid', '--parent', 'family', '--', 'sleep', '1000')
    await terminal.waitForText(/● working.*\n {2}PID \d+ kid {2}working {2}\d+s$/)
    await run('kill', 'kid')
    await terminal.waitForText(/child PID \d+ ended[^]*● working[^\n]*$/)
    createGoFile('family')
    expect(await terminal.exitCode).toBe(0)
  })

  test('disappear for the question of Ctrl+C, and return', async () => {
    const terminal = openWaitingRun('asked')
    await terminal.waitForText(': two red')
    terminal.type('\x03')
    await terminal.waitForText(/● working.*\n\(d\)etach, \(i\)nterrupt the turn, \(s\)top\? Any other key continues\.$/)
    terminal.type('x')
    await terminal.waitForText(/● working.*$/)
    terminal.type('\x03')
    await terminal.waitForText(/\(d\)etach[^\n]*$/)
    terminal.type('d')
    expect([await terminal.exitCode, terminal.isRestored]).toEqual([0, true])
    expect(terminal.text).toMatch(/detached: PID \d+ \(asked\) goes on; `reeve attach \d+` follows it again\n*$/)
    createGoFile('asked')
    await reeve.wait('asked')
  })

  test('are cut on a narrow terminal, and are ASCII where it has nothing else', async () => {
    const terminal = openWaitingRun('narrow', [], { columns: 30, env: { REEVE_ASCII: '1' } })
    await terminal.waitForText(/\n\* working {2}\d+s {2}.*$/)
    expect(terminal.screen.lines.every((line) => line.length <= 30)).toBe(true)
    createGoFile('narrow')
    expect([await terminal.exitCode, terminal.raw]).toEqual([0, expect.not.stringMatching(/[^\x00-\x7f]/)])
  })

  test.each<[string, string[], TerminalOptions]>([
    ['with -q', ['-q'], {}],
    ['with --json', ['--json'], {}],
    ['on a dumb terminal', [], { env: { TERM: 'dumb' } }],
    ['when stderr is not a terminal', [], { redirection: '2>/dev/null' }],
  ])('are missing %s', async (description, flags, options) => {
    const name = `no${description.replace(/\W/g, '')}`
    const terminal = openWaitingRun(name, flags, options)
    await terminal.waitForText('I look.')
    createGoFile(name)
    expect([await terminal.exitCode, terminal.raw]).toEqual([0, expect.not.stringMatching(/●|\x1b\[\d*[A-Z]/)])
  })
})

describe.runIf(HAS_TERMINAL)('a command that needs a terminal', () => {
  test('that reads its stdin is reported with advice at its end', async () => {
    const terminal = openTerminal(['run', '--', 'sh'])
    expect(await terminal.exitCode).toBe(0)
    // The terminal wraps the line where its row is full.
    const removeSpaces = (text: string): string => text.replaceAll(/\s+/g, '')
    expect(removeSpaces(terminal.text)).toContain(
      removeSpaces(
        "completed | 0s it wrote nothing: a command of reeve has no terminal, and its stdin was empty. Pass its work as arguments, as in `reeve run -- sh -c 'make test'`, or pipe it in",
      ),
    )
  })

  test.each([
    ['a shell with its work', ['sh', '-c', ':']],
    ['a command with output', ['pwd']],
    ['a command that fails', ['false']],
  ])('%s is not reported as one', async (_, argv) => {
    const terminal = openTerminal(['run', '--', ...argv])
    await terminal.exitCode
    expect(terminal.text).not.toContain('wrote nothing')
  })

  test('that uses the full screen is reported at once', async () => {
    const terminal = openTerminal([
      'run',
      '--name',
      'screen',
      '--',
      'sh',
      '-c',
      "printf '\\033[?1049h\\033[H'; while [ ! -e screen-go ]; do sleep 0.05; done; printf '\\033[?1049h'",
    ])
    await terminal.waitForText('it needs a terminal, and commands of reeve have none')
    createGoFile('screen')
    expect(await terminal.exitCode).toBe(0)
    expect(terminal.text.split('it needs a terminal')).toHaveLength(2)
  })
})
