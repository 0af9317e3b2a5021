// `reeve run` and the verbs that control its process, with the real daemon and real programs.
import { mkdirSync, readFileSync, writeFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type ProcessView, type Reeve } from '../../../src/index.ts'
import { CLI, runCli, startCli, type CliResult } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { findOwnProcess, signalFound } from '../../support/living-processes.ts'
import { Repository } from '../../support/git/repository.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
let reeve: Reeve
beforeAll(async () => {
  dir = await tempDir()
  reeve = connect({ home: dir.path, start: false })
  await run('daemon', 'start')
})
afterAll(async () => {
  await run('daemon', 'stop', '--now')
  await dir[Symbol.asyncDispose]()
})

const run = (...args: string[]): Promise<CliResult> => runCli(dir.path, args)
const viewOf = async (name: string): Promise<ProcessView> => reeve.get(name)

/** Writes the script of a model. */
function writeScript(name: string, yaml: string): string {
  const file = join(dir.path, `${name}.yaml`)
  writeFileSync(file, yaml)
  return `script:${file}`
}

test('`run` reports on stderr an agent file that replaces a built-in agent or one of the user', async () => {
  await using place = await tempDir()
  const put = (folder: string, name: string): void => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${name}.md`), `---\nmodel: ${model}\n---\nBe kind.\n`)
  }
  const model = writeScript('kind', '- text: Hello.\n')
  put(join(place.path, '.reeve/agents'), 'default')
  put(join(place.path, '.claude/agents'), 'mine')
  put(join(place.path, '.reeve/agents'), 'only')
  put(join(dir.path, 'agents'), 'mine')
  const runInProject = (...args: string[]): Promise<CliResult> =>
    runCli(dir.path, ['run', ...args, '--model', model, 'hi'], { cwd: join(place.path) })
  const line = `using .reeve/agents/default.md of ${place.path}, in place of the built-in agent`
  const shadowed = await runInProject()
  expect(shadowed).toMatchObject({ code: 0, stdout: 'Hello.\n' })
  expect(shadowed.stderr.split('\n').slice(0, 2)).toEqual([expect.stringMatching(/^PID \d+ spawned /), line])
  const json = await runInProject('-d', '--json')
  expect(Object.keys(JSON.parse(json.stdout) as object)).toEqual(['version', 'process'])
  expect(json.stderr).toContain(`${line}\n`)
  expect((await runInProject('-d', '--agent', 'mine')).stderr).toContain(
    `using .claude/agents/mine.md of ${place.path}, in place of your own agent mine\n`,
  )
  for (const args of [['-q'], ['--agent', 'only']]) expect((await runInProject('-d', ...args)).stderr).not.toContain('using')
  expect((await runCli(dir.path, ['run', '-d', '--agent', 'mine', 'hi'])).stderr).not.toContain('using')
})

test('`run` reports that the daemon is gone, and the outcome of its process when a daemon is back', async () => {
  await using home = await tempDir()
  const orphanRun = startCli(home.path, ['run', '--name', 'orphan', '--', 'sh', '-c', 'echo begun; exec sleep 1000'])
  await orphanRun.waitForText('begun')
  const { pid } = JSON.parse((await runCli(home.path, ['daemon', 'status', '--json'])).stdout) as { pid: number }
  signalFound(findOwnProcess(pid, home.path), 'SIGKILL')
  await orphanRun.waitForText('does not answer; any')
  await runCli(home.path, ['ps'])
  const { code, stderr } = await orphanRun.result
  await runCli(home.path, ['daemon', 'stop', '--now'])
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /does not answer; any `reeve` command starts it again\n +the daemon answers again\nreeve: PID \d+ \(orphan\) interrupted/,
    ),
  ])
})

describe('a command', () => {
  test('has its own stdout, stderr and exit code', async () => {
    const result = await run('run', '--', 'sh', '-c', 'printf out; printf err >&2; exit 7')
    expect([result.code, result.stdout]).toEqual([7, 'out'])
    expect(result.stderr).toMatch(/^PID \d+ spawned \(command\)\nerr$/)
  })

  test('-q passes the output on byte for byte', async () => {
    const result = await run('run', '-q', '--', 'printf', '\\033[31mé\\t\\001\\nlast')
    expect(result).toEqual({ code: 0, stdout: '\x1b[31mé\t\x01\nlast', stderr: '' })
  })

  test('runs in the given directory, with the environment of the client', async () => {
    const result = await runCli(dir.path, ['run', '-q', '--cwd', '/', '--', 'sh', '-c', 'pwd; echo $COLOUR'], { env: { COLOUR: 'green' } })
    expect(result.stdout).toBe('/\ngreen\n')
  })

  test('prints at its end where the files of its worktree are', async () => {
    const repository = Repository.make(join(dir.path, 'repository'), dir.path)
    repository.commit({ 'a.txt': 'a' })
    const { code, stderr } = await runCli(dir.path, [
      'run',
      '--name',
      'treed',
      '--worktree',
      '--cwd',
      repository.dir,
      '--',
      'touch',
      'made',
    ])
    const { pid, worktree } = await viewOf('treed')
    expect([code, ...stderr.split('\n').slice(-3)]).toEqual([
      0,
      `1 file changed, not committed, on reeve/treed in ${worktree?.dir}`,
      `\`reeve diff ${pid}\` shows the changes, \`reeve merge ${pid}\` takes them into your branch, \`reeve pr ${pid}\` opens a pull request`,
      '',
    ])
    const committed = await runCli(dir.path, [
      'run',
      '--name',
      'committed',
      '--worktree',
      '--cwd',
      repository.dir,
      '--',
      'sh',
      '-c',
      'touch made more; git add made; git -c user.name=a -c user.email=a@b commit -qm made; touch last',
    ])
    expect(committed.stderr).toMatch(/\n1 commit and 2 files changed, not committed, on reeve\/committed in /)
    expect((await runCli(dir.path, ['run', '--worktree', '--cwd', repository.dir, '--', 'true'])).stderr).toMatch(
      /\nnothing is changed on reeve\/[^\n]*\n$/,
    )
    expect(existsSync(join(worktree?.dir ?? '', 'made'))).toBe(true)
  })

  test('ends in time although it waits for the end of another one, because `kill` signals all at once', async () => {
    await using place = await tempDir()
    const runTrapped = (name: string, line: string): Promise<CliResult> =>
      runCli(dir.path, [
        'run',
        '-d',
        '--name',
        name,
        '--cwd',
        place.path,
        '--',
        'sh',
        '-c',
        `trap '${line}' TERM; touch ${name}; while :; do sleep 0.05; done`,
      ])
    // The first command can end in time only after the signal of the second.
    await runTrapped('first', 'until [ -e second-ended ]; do sleep 0.05; done; touch first-ended; exit')
    await runTrapped('second', 'touch second-ended; exit')
    await expect
      .poll(() => ['first', 'second'].map((name) => existsSync(join(place.path, name))), { timeout: 60_000 })
      .toEqual([true, true])
    const { code, stderr } = await run('kill', '--grace', '20s', 'first', 'second')
    expect([code, stderr.replace(/\d+/g, 'N'), existsSync(join(place.path, 'first-ended'))]).toEqual([
      0,
      'PID N (first) stopped: SIGTERM from user (exit N)\nPID N (second) stopped: SIGTERM from user (exit N)\nN processes ended\n',
      true,
    ])
  })

  test('that does not exist ends the run with code 127 and a message', async () => {
    const result = await run('run', '-q', '--', 'no-such-command-here')
    expect(result).toEqual({ code: 127, stdout: '', stderr: 'reeve: no-such-command-here: command not found\n' })
  })

  test('that another client kills is reported as stopped, not as failed', async () => {
    const victimRun = startCli(dir.path, ['run', '--name', 'victim', '--', 'sh', '-c', 'echo begun; exec sleep 1000'])
    await victimRun.waitForText('begun')
    await run('kill', 'victim')
    const { code, stderr } = await victimRun.result
    expect([code, stderr]).toEqual([143, expect.stringMatching(/\nreeve: PID \d+ \(victim\) stopped: SIGTERM from user \(exit 143\)\n$/)])
  })

  test('that is not executable gives code 126', async () => {
    writeFileSync(join(dir.path, 'plain'), 'x', { mode: 0o600 })
    expect((await run('run', '--', join(dir.path, 'plain'))).code).toBe(126)
  })

  test('with --json prints its events, one per line', async () => {
    const { stdout } = await run('run', '--json', '--', 'echo', 'hello')
    const types = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { fact: string }).fact)
    expect(types[0]).toBe('process.spawned')
    expect(types.slice(-2)).toEqual(['process.exited', 'process.reaped'])
    expect(types).toContain('process.output')
  })

  test('ends when its time is over', async () => {
    const result = await run('run', '-q', '--timeout', '200ms', '--', 'sleep', '1000')
    expect([result.code, result.stderr]).toEqual([1, expect.stringMatching(/^reeve: PID \d+ failed: timed out \(exit 1\)\n$/)])
  })
})

describe('an agent', () => {
  test('writes its text to stdout, and its activity to stderr', async () => {
    const model = writeScript('talk', '- text: I look.\n  tools: [{ name: ls, input: { path: . } }]\n- text: "Done \\e[2Jnow."\n')
    const result = await run('run', '--model', model, 'look')
    expect([result.code, result.stdout]).toEqual([0, 'I look.\nDone now.\n'])
    expect(result.stderr).toMatch(/^PID \d+ spawned \(script:.*\)\n {2}ls \.  ok \d+ms\nPID \d+ completed \| 2 steps \| /)
  })

  test('that is resumed with a message after its end is the same process with a new PID', async () => {
    const model = writeScript('again', '- text: one\n- text: two\n')
    await run('run', '--name', 'again', '--model', model, 'begin')
    const viewBefore = await viewOf('again')
    const result = await run('resume', '-d', '--message', 'more', 'again')
    expect(result.stderr).toBe(`PID ${viewBefore.pid + 1} spawned (${model}) | resumed from ${viewBefore.uuid.slice(-8)}\n`)
    expect((await run('wait', 'again')).code).toBe(0)
    expect((await run('logs', 'again')).stdout).toContain('two')
  })
})

describe('in the background', () => {
  test('a process is paused, resumed and stopped by its name', async () => {
    const { stdout } = await run('run', '-d', '--name', 'sleeper', '--', 'sleep', '1000')
    const { uuid } = await viewOf('sleeper')
    expect(stdout).toBe(`${uuid}\n`)
    expect((await run('pause', 'sleeper')).stderr).toMatch(/ suspended/)
    expect((await run('wait', '--for', 'suspended', 'sleeper')).code).toBe(0)
    expect((await run('ps')).stdout).toMatch(/sleeper +command +⏸ suspended/)
    expect((await run('ps', '-q', '--filter', 'status=suspended')).stdout).toBe(`${uuid}\n`)
    expect((await run('resume', '-d', 'sleeper')).code).toBe(0)
    expect((await run('wait', '--timeout', '100ms', 'sleeper')).code).toBe(124)
    const killResult = await run('kill', 'sleeper')
    expect([killResult.code, killResult.stderr]).toEqual([0, expect.stringMatching(/^PID \d+ \(sleeper\) stopped: .*\(exit 143\)\n$/)])
    expect((await run('wait', uuid)).code).toBe(143)
    expect((await run('kill', uuid)).code).toBe(3)
    expect((await run('resume', '-d', uuid)).code).toBe(1)
  })

  test('a line is in the log as soon as it is written, and -f ends with the process', async () => {
    await run('run', '-d', '--name', 'talker', '--', 'sh', '-c', 'echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended')
    const logs = startCli(dir.path, ['logs', '-f', 'talker'])
    await logs.waitForText('begun')
    writeFileSync(join(dir.path, 'go'), '')
    const { code, stdout } = await logs.result
    expect([code, stdout]).toEqual([0, 'begun\nended\nended: completed (0)\n'])
  })
})

describe('without a terminal', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('%s stops the process, and its code is returned', async (signal) => {
    const signalledRun = startCli(dir.path, ['run', '-q', '--name', `on-${signal}`, '--', 'sh', '-c', 'echo begun; exec sleep 1000'])
    await signalledRun.waitForText('begun')
    signalledRun.child.kill(signal)
    expect((await signalledRun.result).code).toBe(143)
    expect(await viewOf(`on-${signal}`)).toMatchObject({ state: 'dead', status: 'stopped' })
  })

  test('a signal during the start is not lost', async () => {
    const earlyRun = startCli(dir.path, ['run', '--name', 'early', '--', 'sleep', '1000'])
    await earlyRun.waitForText('spawned')
    earlyRun.child.kill('SIGINT')
    expect((await earlyRun.result).code).toBe(143)
    expect((await viewOf('early')).state).toBe('dead')
  })

  test('a closed output stops the process', async () => {
    const unreadRun = startCli(dir.path, ['run', '--name', 'unread', '--', 'sh', '-c', 'echo begun; while sleep 0.05; do echo more; done'])
    await unreadRun.waitForText('begun')
    unreadRun.child.stdout?.destroy()
    expect((await unreadRun.result).code).toBe(143)
    expect((await viewOf('unread')).status).toBe('stopped')
  })

  test('a second signal kills a process that does not end', async () => {
    const deafRun = startCli(dir.path, [
      'run',
      '--name',
      'stubborn',
      '--',
      'sh',
      '-c',
      'trap "" TERM; echo ready; while :; do sleep 1; done',
    ])
    await deafRun.waitForText('ready')
    deafRun.child.kill('SIGTERM')
    await expect.poll(async () => (await viewOf('stubborn')).status, { timeout: 60_000 }).toBe('stopping')
    deafRun.child.kill('SIGTERM')
    const { code } = await deafRun.result
    // The first signal counts as the cause, also after an escalation.
    expect(code).toBe(143)
    expect((await viewOf('stubborn')).state).toBe('dead')
  })
})

// util-linux's `script` gives the program its own terminal, and passes the typed keys on.
describe.runIf(existsSync('/usr/bin/script') && process.platform === 'linux')('on a terminal', () => {
  /** Runs `reeve run -- sh -c 'echo begun; ...'` on a terminal, and types each key when its cue appears. */
  async function typeOnTerminal(name: string, ...answers: [cue: string, key: string][]): Promise<{ code: number | null; text: string }> {
    const log = join(dir.path, `${name}.typescript`)
    const command = `exec "${process.execPath}" "${CLI}" run --name ${name} -- sh -c 'echo be$((1))gun; exec sleep 1000'`
    const child = spawn('/usr/bin/script', ['-qfec', command, log], {
      cwd: dir.path,
      env: testEnv(dir.path, { TERM: 'xterm' }),
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
    const readLog = (): string => (existsSync(log) ? readFileSync(log, 'utf8') : '')
    for (const [cue, key] of answers) {
      await expect.poll(readLog, { timeout: 60_000 }).toContain(cue)
      child.stdin.write(key)
    }
    const code = await closed
    child.stdin.end()
    return { code, text: readLog() }
  }

  test('the first Ctrl+C asks, and d leaves the process running', async () => {
    const { code, text } = await typeOnTerminal('detached', ['be1gun', '\x03'], ['(d)etach', 'd'])
    expect([code, (await viewOf('detached')).status]).toEqual([0, 'working'])
    expect(text).toMatch(/detached: PID \d+ \(detached\) goes on/)
    await run('kill', 'detached')
  })

  test('s stops the process', async () => {
    expect((await typeOnTerminal('stopped', ['be1gun', '\x03'], ['(d)etach', 's'])).code).toBe(143)
    expect((await viewOf('stopped')).status).toBe('stopped')
  })

  test('a second Ctrl+C stops the process', async () => {
    expect((await typeOnTerminal('twice', ['be1gun', '\x03'], ['(d)etach', '\x03'])).code).toBe(143)
    expect((await viewOf('twice')).status).toBe('stopped')
  })
})
