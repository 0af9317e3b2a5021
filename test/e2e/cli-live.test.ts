// `reeve run` on a real terminal: the rows at the bottom while it runs, and nothing of them where they do not belong.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Reeve } from '../../src/index.ts'
import { runCli, type CliResult } from '../support/cli.ts'
import { HAS_TERMINAL, Terminal, type TerminalOptions } from '../support/terminal.ts'
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
const go = (name: string): void => writeFileSync(join(dir.path, `${name}-go`), '')

function terminal(args: readonly string[], options: TerminalOptions = {}): Terminal {
  const made = new Terminal(dir.path, args, options)
  open.push(made)
  return made
}

/** `run` of an agent whose tool prints lines until there is NAME-go: who looks late sees them, too. */
function waiting(name: string, flags: readonly string[] = [], options: TerminalOptions = {}): Terminal {
  const command = `while [ ! -e ${name}-go ]; do printf 'one\\ntwo \\033[31mred\\n'; sleep 0.05; done`
  const file = join(dir.path, `${name}.yaml`)
  writeFileSync(file, `- text: I look.\n  tools: [{ name: bash, input: { command: ${JSON.stringify(command)} } }]\n  usage: { input: 12000, output: 300 }\n- text: Done.\n`)
  return terminal(['run', '--name', name, ...flags, '--model', `script:${file}`, 'look'], options)
}

describe.runIf(HAS_TERMINAL)('the rows of a run', () => {
  test('say what it does, stay below what it says, and are gone at the end', async () => {
    const seen = waiting('rows')
    await seen.sees(/I look\.\n● working {2}\d+s {2}step 1 {2}12\.0k in {2}300 out .*bash while.* \d+s.*: two red$/)
    go('rows')
    expect(await seen.done).toBe(0)
    expect(seen.text).toMatch(/I look\.\n {2}bash while.* {2}ok \d.*\n {2}step 2\nDone\.\nPID \d+ \(rows\) completed \| 2 steps \| tokens 12\.0k in, 300 out \|[^]*$/)
    expect(seen.text).not.toContain('●')
    // Nothing raw of the tool's, and nothing that hides the cursor or takes the screen.
    expect(seen.raw).not.toMatch(/\x1b\[\?|\x1b\[31mred/)
  }, 60_000)

  test('have one for each living child', async () => {
    const seen = waiting('family')
    await seen.sees('● working')
    await run('run', '-d', '--name', 'kid', '--parent', 'family', '--', 'sleep', '1000')
    await seen.sees(/● working.*\n {2}PID \d+ kid {2}working {2}\d+s$/)
    await run('kill', 'kid')
    await seen.sees(/child PID \d+ ended[^]*● working[^\n]*$/)
    go('family')
    expect(await seen.done).toBe(0)
  }, 60_000)

  test('leave room for the question of Ctrl+C, and come back', async () => {
    const seen = waiting('asked')
    await seen.sees(': two red')
    seen.type('\x03')
    await seen.sees(/● working.*\n\(d\)etach, \(i\)nterrupt the turn, \(s\)top\? Any other key goes on\.$/)
    seen.type('x')
    await seen.sees(/● working.*$/)
    seen.type('\x03')
    await seen.sees(/\(d\)etach[^\n]*$/)
    seen.type('d')
    expect([await seen.done, seen.isGivenBack]).toEqual([0, true])
    expect(seen.text).toMatch(/detached: PID \d+ \(asked\) goes on; `reeve attach \d+` comes back\n*$/)
    go('asked')
    await reeve.wait('asked')
  }, 60_000)

  test('are cut to a narrow terminal, and are of ASCII where it has nothing else', async () => {
    const seen = waiting('narrow', [], { columns: 30, env: { REEVE_ASCII: '1' } })
    await seen.sees(/\n\* working {2}\d+s {2}.*$/)
    expect(seen.screen.lines.every((line) => line.length <= 30)).toBe(true)
    go('narrow')
    expect([await seen.done, seen.raw]).toEqual([0, expect.not.stringMatching(/[^\x00-\x7f]/)])
  }, 60_000)

  test.each<[string, string[], TerminalOptions]>([
    ['with -q', ['-q'], {}],
    ['with --json', ['--json'], {}],
    ['on a terminal that cannot', [], { env: { TERM: 'dumb' } }],
    ['when stderr is none', [], { behind: '2>/dev/null' }],
  ])('are not there %s', async (how, flags, options) => {
    const name = `no${how.replace(/\W/g, '')}`
    const seen = waiting(name, flags, options)
    await seen.sees('I look.')
    go(name)
    expect([await seen.done, seen.raw]).toEqual([0, expect.not.stringMatching(/●|\x1b\[\d*[A-Z]/)])
  }, 60_000)
})
