// Completion in real shells: always bash, and zsh and fish where they are installed. The daemon has a paused process and an ended
// one. Without a daemon, completion starts nothing and prints nothing.
import { execFile, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLI, runCli } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL } from '../../support/daemon/terminal.ts'

let daemon: LocalDaemon
let env: Record<string, string>

beforeAll(async () => {
  daemon = await LocalDaemon.start({
    config: 'defaultModel: local/big\nproviders: [{ name: local, kind: openai-compatible, baseURL: "http://h/" }]\n',
  })
  const bin = join(daemon.work, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'reeve'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`)
  chmodSync(join(bin, 'reeve'), 0o755)
  const usual = testEnv(daemon.home)
  env = { ...usual, PATH: [bin, usual['PATH'], process.env['PATH']].join(delimiter) }
  for (const name of ['plays', 'with space']) mkdirSync(join(daemon.work, name))
  writeFileSync(join(daemon.work, 'plays/one.yaml'), '')
  writeFileSync(join(daemon.work, 'plays/two words.yaml'), '')
  await daemon.spawnScripted([], { interactive: true, name: 'docs' })
  await daemon.waitUntilReady('docs')
  await daemon.pause('docs')
  const { uuid } = await daemon.spawnShell('true', { name: 'build' })
  await daemon.waitForEnd(uuid)
})
afterAll(() => daemon[Symbol.asyncDispose]())

interface Output {
  readonly stdout: string
  readonly stderr: string
}

function run(program: string, args: readonly string[]): Promise<Output> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: daemon.work, env }, (_error, stdout, stderr) => resolve({ stdout, stderr }))
  })
}

const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0

/** Splits words as bash does: at blanks, at `=` and at `:`. */
function splitAsBash(line: string): string[] {
  return line.split(' ').flatMap((word) => (word === '' ? [''] : word.split(/([=:]+)/).filter((part) => part !== '')))
}

/** Returns the completions that bash offers for this line. */
async function completeInBash(line: string): Promise<string[]> {
  const words = splitAsBash(line)
  const quoted = words.map((word) => `'${word}'`).join(' ')
  const script = `source <(reeve completion bash); COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _reeve reeve; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = await run('bash', ['--norc', '-c', script])
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

describe('bash', () => {
  test.each<[string, string[]]>([
    ['reeve lo', ['logs']],
    ['reeve kill --sub', ['--subtree']],
    ['reeve kill ', ['docs', '1']],
    ['reeve rm ', ['build', '2']],
    ['reeve resume d', ['docs']],
    ['reeve ps --filter status=susp', ['suspended']],
    ['reeve ps --filter name=', ['build', 'docs']],
    ['reeve run --model loc', ['local/big', 'local/']],
    ['reeve run --model=local/b', ['local/big']],
    ['reeve run --model script:plays/', ['plays/one.yaml', 'plays/two\\ words.yaml']],
    ['reeve run --model=script:pl', ['plays/']],
    ['reeve run --cwd pl', ['plays']],
    ['reeve run --cwd=wi', ['with space']],
    ['reeve run -- command -', []],
    ['reeve nosuch ', []],
  ])('%s', async (line, offered) => {
    expect(await completeInBash(line)).toEqual(offered)
  })

  test('bash completes a command after --', async () => {
    expect(await completeInBash('reeve run -- ree')).toEqual(['reeve'])
    expect(await completeInBash('reeve run -- ls pla')).toEqual(['plays'])
  })

  test('bash-completion itself completes the command after --', async () => {
    const script =
      'source <(reeve completion bash); _command_offset() { COMPREPLY=("at $1"); }; COMP_WORDS=(reeve run -d -- git comm); COMP_CWORD=5; _reeve reeve; echo "${COMPREPLY[@]}"'
    expect(await run('bash', ['--norc', '-c', script])).toEqual({ stdout: 'at 4\n', stderr: '' })
  })

  test('the script works with set -u and an old IFS, and is bound to the command', async () => {
    const script =
      'set -u; IFS=:; source <(reeve completion bash); COMP_WORDS=(reeve hel); COMP_CWORD=1; _reeve reeve; echo "${COMPREPLY[@]}"; complete -p reeve'
    expect(await run('bash', ['--norc', '-c', script])).toEqual({ stdout: 'help\ncomplete -F _reeve reeve\n', stderr: '' })
  })
})

describe.runIf(isInstalled('fish'))('fish', () => {
  test.each<[string, string[]]>([
    ['reeve lo', ['logs\tShow the text and output of a process']],
    ['reeve kill ', ['docs\tPID 1, suspended', '1\tdocs, suspended']],
    ['reeve run --model=local/b', ['--model=local/big\tdefault']],
    ['reeve run --model script:plays/o', ['script:plays/one.yaml']],
    ['reeve run --cwd pl', ['plays/\tDirectory']],
    ['reeve run -- ls pla', ['plays/']],
  ])('%s', async (line, offered) => {
    const { stdout } = await run('fish', ['-c', `reeve completion fish | source; complete -C '${line}'`])
    expect(stdout.trimEnd().split('\n').toSorted()).toEqual([...offered].toSorted())
  })
})

/** the time in ms that a shell may take to show something */
const SHOW_MS = 25_000

describe.runIf(isInstalled('zsh') && HAS_TERMINAL)('zsh', () => {
  /** Types into a zsh on a terminal until all texts were seen in order. Ctrl+L makes it print the whole line. */
  async function completeInZsh(steps: readonly (readonly [keys: string, seen: string])[]): Promise<void> {
    const child = spawn('script', ['-qfec', 'stty rows 24 cols 100; exec zsh -f -i', '/dev/null'], {
      cwd: daemon.work,
      env: { ...env, TERM: 'xterm' },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    let written = ''
    let readLength = 0
    const checks: (() => void)[] = []
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      written += text
      for (const check of checks) check()
    })
    const waitForText = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const index = written.indexOf(text, readLength)
          if (index < 0) return
          readLength = index + text.length
          resolve()
        }
        checks.push(check)
        const rejectWith = (reason: string) => (): void =>
          reject(new Error(`zsh ${reason} ${JSON.stringify(text)}: ${JSON.stringify(written)}`))
        child.on('close', rejectWith('ended without'))
        setTimeout(rejectWith('never showed'), SHOW_MS).unref()
        check()
      })
    const closed = new Promise((resolve) => child.on('close', resolve))
    try {
      // Ctrl+U clears the line; at Ctrl+C the terminal would drop the keys typed after it.
      for (const [keys, text] of steps) {
        child.stdin.write(`\x15${keys}`)
        await waitForText(text)
      }
      child.stdin.write('\x15exit\n')
      await closed
    } finally {
      child.kill('SIGKILL')
    }
  }

  const LOAD = [
    'PROMPT="READY> "; autoload -Uz compinit; compinit -u -D; source <(reeve completion zsh); echo LO""ADED\n',
    'LOADED',
  ] as const

  test('completes a verb, a name, a value and a path on the line', async () => {
    await completeInZsh([
      LOAD,
      ['reeve conf\tpath\n', `socket          ${join(daemon.home, 'reeve.sock')}`],
      ['reeve kill d\t\x0c', 'reeve kill docs'],
      ['reeve run --model=local/b\t\x0c', '--model=local/big'],
      ['reeve run --cwd pl\t\x0c', '--cwd plays'],
      ['reeve run -- ls pla\t\x0c', '-- ls plays'],
    ])
  })

  test('lists several matches with their descriptions', async () => {
    await completeInZsh([LOAD, ['reeve st\t\t', 'Stop processes gracefully']])
  })
})

test('without a daemon, completion starts nothing and reports no error', async () => {
  const home = join(daemon.work, 'other')
  mkdirSync(home, { mode: 0o700 })
  writeFileSync(join(home, 'config.yaml'), 'colour: [\n')
  for (const line of [['kill', ''], ['run', '--model', ''], ['config', 'show', ''], []]) {
    const { code, stderr } = await runCli(home, ['completion', '--', ...line])
    expect([code, stderr]).toEqual([0, ''])
  }
  expect(existsSync(join(home, 'reeve.sock'))).toBe(false)
})

test('an unknown or missing shell is a usage error', async () => {
  expect(await runCli(daemon.home, ['completion', 'fich'])).toEqual({
    code: 64,
    stdout: '',
    stderr: 'reeve: there is no completion for fich\n       Did you mean fish?\n',
  })
  expect(await runCli(daemon.home, ['completion'])).toEqual({
    code: 64,
    stdout: '',
    stderr: 'reeve: the shell is missing\n       Shells: bash, zsh, fish.\n',
  })
})
