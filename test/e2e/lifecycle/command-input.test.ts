// The input of a command, as in `echo x | reeve run -- CMD`. The text reaches the command's stdin once, and is recorded nowhere. The
// command line, the daemon and the programs are real.
import { spawn } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { CLI, runCli, type CliResult } from '../../support/daemon/cli.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { testEnv } from '../../support/env.ts'

const MAX_BYTES = 1_000_000

let home: DaemonHome
beforeAll(async () => {
  home = await DaemonHome.create()
  await home.start()
})
afterAll(async () => {
  await home.stop()
  await home.waitUntilNothingIsLeft()
  await home[Symbol.asyncDispose]()
})

/** Runs a line of the shell in the working directory, in which `"$@"` is `reeve run ARGS`. */
async function runInShell(line: string, args: readonly string[], where = home): Promise<CliResult> {
  const child = spawn('sh', ['-c', line, 'sh', process.execPath, CLI, 'run', ...args], {
    cwd: where.work,
    env: testEnv(where.path),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8').on('data', (text: string) => (written[name] += text))
  return { code: await new Promise((resolve) => child.on('close', resolve)), ...written }
}

/** Writes a file into the working directory. */
function writeWorkFile(name: string, content: string | Buffer): void {
  writeFileSync(join(home.work, name), content)
}

const started = /^PID \d+ spawned \(command\)\n$/

describe('a command reads the stdin of `run`', () => {
  test.each([
    ['a pipe', 'echo hello | "$@"', 'hello\n'],
    ['a slow pipe', '{ echo one; sleep 1; echo two; } | "$@"', 'one\ntwo\n'],
    ['a file', '"$@" < full', 'hello\n'],
    ['the rest of a file', '{ read first; "$@"; } < lines', 'second\nthird\n'],
    ['a file that was read to its end', '{ cat > seen; "$@"; } < full', ''],
    ['an empty pipe', ': | "$@"', ''],
    ['an empty file', '"$@" < empty', ''],
    ['nothing', '"$@" < /dev/null', ''],
    ['a closed stdin', '"$@" <&-', ''],
  ])('from %s', async (_, line, text) => {
    writeWorkFile('full', 'hello\n')
    writeWorkFile('lines', 'first\nsecond\nthird\n')
    writeWorkFile('empty', '')
    expect(await runInShell(line, ['--', 'cat'])).toEqual({ code: 0, stdout: text, stderr: expect.stringMatching(started) })
  })

  test('from a socket, as a Node program gives its child', async () => {
    const child = spawn(process.execPath, [CLI, 'run', '-q', '--', 'cat'], { cwd: home.work, env: testEnv(home.path), stdio: 'pipe' })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stdin.end('through a socket')
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    expect(out).toBe('through a socket')
  })

  test('with -d, after `run` has returned', async () => {
    const { code, stdout } = await runInShell('echo later | "$@"', ['-d', '--', 'sh', '-c', 'cat > later; cat later'])
    expect(code).toBe(0)
    expect((await home.waitForEnd(stdout.trim())).exit?.code).toBe(0)
    expect((await runCli(home.path, ['logs', stdout.trim()])).stdout).toContain('later')
    expect(readFileSync(join(home.work, 'later'), 'utf8')).toBe('later\n')
  })

  test('byte for byte: a byte order mark, NUL, CR and characters of four bytes', async () => {
    const text = '\uFEFFa\0b\r\n😀\t\u0001'
    writeWorkFile('odd', text)
    expect((await runInShell('"$@" < odd', ['--', 'sh', '-c', 'cat > odd-copy'])).code).toBe(0)
    expect(readFileSync(join(home.work, 'odd-copy')).equals(Buffer.from(text))).toBe(true)
  })

  test('from the start, each time that it opens /dev/stdin', async () => {
    const { stdout } = await runInShell('printf text | "$@"', ['--', 'sh', '-c', 'cat /dev/stdin; sleep 0.2; cat < /proc/self/fd/0'])
    expect(stdout).toBe('texttext')
  })

  test('or leaves it unread', async () => {
    writeWorkFile('most', 'x'.repeat(MAX_BYTES))
    expect(await runInShell('"$@" < most', ['--', 'true'])).toMatchObject({ code: 0, stdout: '' })
  })

  test.each([
    ['text', 'x'],
    ['characters that JSON escapes', '\u0001'],
  ])('up to the limit, of %s', async (_, character) => {
    writeWorkFile('most', character.repeat(MAX_BYTES))
    expect(await runInShell('cat most | "$@"', ['--', 'wc', '-c'])).toMatchObject({ code: 0, stdout: `${MAX_BYTES}\n` })
  })
})

describe('`run` refuses with a hint, and starts nothing, for', () => {
  async function expectRefusal(line: string, args: readonly string[], words: RegExp, where = home): Promise<void> {
    const before = (await where.listProcesses()).length
    const { code, stdout, stderr } = await runInShell(line, args, where)
    expect({ code, stdout, stderr }).toEqual({ code: 125, stdout: '', stderr: expect.stringMatching(words) })
    expect(stderr).toContain('< ')
    expect(await where.listProcesses()).toHaveLength(before)
  }

  test('input over the limit, even from a pipe that never ends', async () => {
    writeWorkFile('more', 'x'.repeat(MAX_BYTES + 1))
    await expectRefusal('"$@" < more', ['--', 'cat'], /has more than 1,000,000 bytes/)
    await expectRefusal('yes | "$@"', ['--', 'cat'], /has more than 1,000,000 bytes/)
  })

  test('input that is not UTF-8 text', async () => {
    writeWorkFile('image', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a]))
    await expectRefusal('"$@" < image', ['--', 'cat'], /is not text in UTF-8/)
  })

  test.each([
    ['on-failure', ['--restart', 'on-failure']],
    ['always', ['--restart', 'always']],
  ])('input with --restart %s, because a restart would have no input', async (_, flags) => {
    await expectRefusal('echo x | "$@"', [...flags, '--', 'cat'], /input .* not recorded/)
  })

  test('input of a child of a supervisor, which may restart the child', async () => {
    const { uuid } = await home.spawn({ supervisor: { children: [] }, name: 'parent' })
    await expectRefusal('echo x | "$@"', ['--parent', uuid, '--child-id', 'one', '--', 'cat'], /input .* not recorded/)
    await home.signal(uuid, { signal: 'SIGKILL' })
  })

  test('but not for input with `--restart no`, or for a restart policy without input', async () => {
    expect(await runInShell('echo x | "$@"', ['-q', '--restart', 'no', '--', 'cat'])).toMatchObject({ code: 0, stdout: 'x\n' })
    expect(await runInShell('"$@" < /dev/null', ['-q', '--restart', 'on-failure', '--', 'cat'])).toMatchObject({ code: 0, stdout: '' })
  })

  test.each([
    ['of an agent', { agent: 'default', intent: 'work' }],
    ['of a supervisor', { supervisor: { children: [] } }],
    ['too long', { argv: ['cat'], input: 'é'.repeat(MAX_BYTES / 2 + 1) }],
    ['half of a character', { argv: ['cat'], input: '\uD83D' }],
  ])('input %s, by the API', async (_, body) => {
    await expect(home.spawn({ input: 'x', ...body })).rejects.toMatchObject({ code: 'INVALID' })
  })
})

test('`run` does not wait for a stdin that stays open and empty: a line says so, and the command has no input', async () => {
  const pipe = await runInShell('mkfifo idle; exec 3<> idle; "$@" <&3', ['--', 'wc', '-c'])
  const socket = await runCli(home.path, ['run', '--', 'wc', '-c'], { stdin: 'open' })
  for (const { code, stdout, stderr } of [pipe, socket]) {
    expect({ code, stdout }).toEqual({ code: 0, stdout: '0\n' })
    expect(stderr).toMatch(/^nothing came from stdin within 3 s[^\n]+< \/dev\/null[^\n]*\nPID \d+ spawned \(command\)\n$/)
  }
})

test('an agent does not get the stdin of `run`', async () => {
  const { code, stdout, stderr } = await runInShell('echo input | "$@"', ['-q', '--model', home.writeScript([{ text: 'done' }]), 'work'])
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'done\n', stderr: '' })
})

test('a coding agent as a command reads the input once, and a resume continues its session', async () => {
  const lines = [
    { type: 'system', subtype: 'init', session_id: 's1', model: 'm', tools: [] },
    { type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: 's1' },
  ]
  writeWorkFile('claude', `#!/bin/sh\ncat >> read-by-claude\n${lines.map((line) => `echo '${JSON.stringify(line)}'\n`).join('')}`)
  chmodSync(join(home.work, 'claude'), 0o755)
  const argv = ['./claude', '-p', 'review', '--output-format', 'stream-json', '--verbose']
  const { stdout } = await runInShell('echo diff | "$@"', ['-q', '-d', '--', ...argv])
  const { pid } = await home.waitForEnd(stdout.trim())
  await home.resume(stdout.trim(), { message: 'and now?' })
  expect(await home.waitForEnd(stdout.trim())).toMatchObject({ status: 'completed', sessionId: 's1', format: 'claude' })
  expect((await home.view(stdout.trim())).pid).toBeGreaterThan(pid)
  expect(readFileSync(join(home.work, 'read-by-claude'), 'utf8')).toBe('diff\n')
})

test('the text is recorded nowhere, and a later incarnation is refused', async () => {
  const secret = `secret-${Math.random().toString(36).slice(2)}-text`
  const { stdout } = await runInShell(`echo ${secret} | "$@"`, ['-d', '--', 'sh', '-c', 'wc -c; exit 3'])
  const uuid = stdout.trim()
  expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'failed', exit: { code: 3 }, input: true })
  const cli = async (...args: string[]): Promise<string> => JSON.stringify(await runCli(home.path, args))
  await cli('export', uuid, join(home.path, 'exported'))
  const shown = await Promise.all([cli('logs', uuid), cli('events', uuid), cli('inspect', uuid, '--json'), cli('daemon', 'logs')])
  for (const text of [...shown, home.readLog(), JSON.stringify(await home.readEvents())]) expect(text).not.toContain(secret)
  const files = readdirSync(home.path, { recursive: true, encoding: 'utf8' }).map((name) => join(home.path, name))
  const regular = files.filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile())
  expect(regular.length).toBeGreaterThan(2)
  for (const file of regular) expect([file, readFileSync(file).includes(secret)]).toEqual([file, false])
  for (const flags of [['--rerun'], []]) {
    const { code, stderr } = await runCli(home.path, ['resume', '-d', ...flags, uuid])
    expect([code, stderr]).toEqual([1, expect.stringMatching(/input was not recorded.*reeve run --/s)])
  }
})

describe('a command with input that has not started yet', () => {
  /** Starts a command with input below a suspended parent, so that it waits for its start. */
  async function spawnHeld(where: DaemonHome): Promise<ProcessView> {
    const parent = await where.spawn({ model: where.writeScript([{ text: 'hi' }]), interactive: true, name: 'parent' })
    await where.waitForView(parent.uuid, ({ status }) => status === 'ready')
    await where.pause(parent.uuid, { subtree: true })
    const args = ['-d', '--parent', 'parent', '--', 'sh', '-c', 'cat > got']
    const { stdout } = await runInShell('echo x | "$@"', args, where)
    return where.waitForView(stdout.trim(), ({ status }) => status === 'suspended')
  }

  test('keeps its input until it starts', async () => {
    await using own = await DaemonHome.create()
    await own.start()
    const { uuid } = await spawnHeld(own)
    await own.resume('parent', { subtree: true })
    expect(await own.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(readFileSync(join(own.work, 'got'), 'utf8')).toBe('x\n')
    await own.stop()
  })

  test.each(['kill', 'stop'] as const)('is interrupted by a %s of the daemon, and never runs without its input', async (how) => {
    await using own = await DaemonHome.create()
    await own.start()
    const { uuid } = await spawnHeld(own)
    await own[how]()
    await own.start()
    expect(await own.view(uuid)).toMatchObject({
      status: 'interrupted',
      exit: { error: 'it has not run, and its input was lost with the daemon' },
    })
    await expect(own.resume(uuid, { rerun: true })).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
    await own.resume('parent', { subtree: true })
    expect(readdirSync(own.work)).not.toContain('got')
    await own.stop()
  })
})
