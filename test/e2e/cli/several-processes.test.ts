// `kill`, `stop`, `pause` and `resume` of several processes: by patterns of names, labels and --all, with their question, summary and exit
// codes.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { startFakeDaemon, type FakeAnswer } from '../../support/daemon/fake-daemon.ts'
import { processView } from '../../support/daemon/process-view.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import { tempDir } from '../../support/tmp.ts'

describe('a selection', () => {
  let daemon: LocalDaemon
  beforeEach(async () => {
    daemon = await LocalDaemon.start()
  })
  afterEach(async () => {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  })

  const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })

  /** Starts sleeping commands with these names, and resolves when they run. */
  async function startSleeping(...names: string[]): Promise<void> {
    for (const name of names) await daemon.spawnShell('exec sleep 600', { name })
    for (const name of names) await daemon.waitForStatus(name, 'working')
  }

  const statuses = async (...refs: string[]): Promise<string[]> =>
    Promise.all(refs.map(async (ref) => (await daemon.view(ref)).status as string))

  test('by a pattern takes each living process with such a name once, and prints a summary', async () => {
    await startSleeping('a1', 'a2', 'b1')
    expect(await reeve('kill', 'a1', 'a*')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'PID 1 (a1) stopped: SIGTERM from user (exit 143)\nPID 2 (a2) stopped: SIGTERM from user (exit 143)\n2 processes ended\n',
    })
    expect(await statuses('b1')).toEqual(['working'])
    expect(await reeve('stop', 'a?')).toEqual({
      code: 3,
      stdout: '',
      stderr: 'reeve: no living process has a name like "a?"\n       `reeve ps` lists the names. A pattern selects no member of a crew.\n',
    })
  })

  test('keeps its other results when one reference is wrong, and says how many succeeded', async () => {
    await startSleeping('a1')
    const { code, stderr } = await reeve('stop', 'a1', 'none')
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/^PID 1 \(a1\) stopped.*\nreeve: no process "none"\n.*\n1 of 2 processes stopped\n$/) as string,
    ])
  })

  test('with --all pauses, resumes and stops all, and asks nothing without a terminal', async () => {
    await startSleeping('a1', 'b1')
    expect(await reeve('pause', '--all')).toMatchObject({ code: 0, stderr: expect.stringMatching(/\n2 processes paused\n$/) as string })
    expect(await statuses('a1', 'b1')).toEqual(['suspended', 'suspended'])
    expect(await reeve('resume', '-d', 'b*')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^PID 2 \(b1\) \w+\n$/) as string })
    expect((await reeve('resume', '-d', '--all', '--json')).stdout).toContain('"ref"')
    expect(await reeve('resume', '-d', '--all')).toEqual({ code: 0, stdout: '', stderr: 'no suspended processes\n' })
    expect(await reeve('stop', '--all')).toMatchObject({ code: 0, stderr: expect.stringMatching(/\n2 processes stopped\n$/) as string })
    expect(await reeve('kill', '--all')).toEqual({ code: 0, stdout: '', stderr: 'no living processes\n' })
  })

  test('with -l takes the living processes with all of the labels', async () => {
    for (const [name, labels] of Object.entries({ a1: { team: 'web', tier: '1' }, a2: { team: 'web' }, b1: { team: 'db' }, c1: {} }))
      await daemon.spawnShell('echo hello; exec sleep 600', { name, labels })
    for (const name of ['a1', 'a2', 'b1', 'c1'])
      await daemon.waitForEvent((await daemon.view(name)).uuid, ({ fact }) => fact === 'process.output')
    expect((await reeve('logs', '-l', 'team=web')).stdout.split('\n').toSorted()).toEqual(['', 'a1 | hello', 'a2 | hello'])
    expect(await reeve('pause', '-l', 'team=web', '-l', 'tier')).toMatchObject({ code: 0 })
    expect(await statuses('a1', 'a2')).toEqual(['suspended', 'working'])
    expect(await reeve('resume', '-d', '-l', 'team')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^PID 1 \(a1\)/) as string })
    expect(await reeve('stop', '-l', 'team=web')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('\n2 processes stopped\n') as string,
    })
    expect(await reeve('kill', '-l', 'team=web')).toEqual({
      code: 3,
      stdout: '',
      stderr: 'reeve: no living process has the label team=web\n       `reeve ps -l team=web` lists the processes with it.\n',
    })
    expect(await reeve('kill', '-l', 'team', 'b1')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('-l takes no process') as string,
    })
    expect(await statuses('b1', 'c1')).toEqual(['working', 'working'])
  })

  test('leaves the children of a selected supervisor to the supervisor, so that they return with it', async () => {
    mkdirSync(daemon.work, { recursive: true })
    writeFileSync(
      join(daemon.work, 'reeve.yaml'),
      'supervisors: { team: { children: [{ id: server, name: server, command: [sleep, "600"], restart: always }] } }',
    )
    await reeve('run', '-d', '--supervisor', 'team')
    await daemon.waitForStatus('server', 'working')
    await reeve('pause', '--all')
    expect(await statuses('team', 'server')).toEqual(['suspended', 'suspended'])
    await reeve('resume', '-d', '--all')
    await daemon.waitForStatus('server', 'working')
    expect((await reeve('stop', '--all')).stderr).toMatch(/^PID \d+ \(team\) stopped[^\n]*\n$/)
    await reeve('resume', '-d', 'team')
    await daemon.waitForStatus('server', 'working')
  })

  test.runIf(HAS_TERMINAL)('with --all asks once on a terminal, with the number; -y does not ask', async () => {
    await startSleeping('a1', 'b1')
    const typeAnswer = async (answer: string): Promise<readonly [number | null, string]> => {
      using terminal = new Terminal(daemon.home, ['kill', '--all'])
      await terminal.waitForText('Kill 2 processes? [y/N]')
      terminal.type(`${answer}\n`)
      return [await terminal.exitCode, terminal.text]
    }
    expect(await typeAnswer('n')).toEqual([1, expect.stringContaining('nothing was changed') as string])
    expect(await statuses('a1', 'b1')).toEqual(['working', 'working'])
    expect(await typeAnswer('y')).toEqual([0, expect.stringContaining('2 processes ended') as string])
    await startSleeping('c1')
    using terminal = new Terminal(daemon.home, ['kill', '--all', '-y'])
    expect([await terminal.exitCode, terminal.text.includes('[y/N]')]).toEqual([0, false])
  })
})

test('a pattern selects neither members of crews nor ended processes, and a process that ends meanwhile is no error', async () => {
  await using dir = await tempDir()
  const views = [
    processView({ pid: 1, uuid: '01960000-0000-7000-8000-000000000001', name: 'w1', role: 'worker' }),
    processView({ pid: 2, uuid: '01960000-0000-7000-8000-000000000002', name: 'w2', status: 'zombie', state: 'zombie' }),
    processView({ pid: 3, uuid: '01960000-0000-7000-8000-000000000003', name: 'w3' }),
  ]
  await using daemon = await startFakeDaemon(dir.path, {
    'GET /v1/processes': (): FakeAnswer => ({ json: { version: 1, processes: views } }),
  })
  expect(await runCli(dir.path, ['kill', 'w*'])).toEqual({ code: 0, stdout: '', stderr: 'PID 3 (w3) has already ended\n' })
  expect(daemon.requests.map(({ route }) => route)).toEqual([
    'GET /v1/processes',
    'GET /v1/processes/01960000-0000-7000-8000-000000000003/stakes',
    'POST /v1/processes/01960000-0000-7000-8000-000000000003/signal',
  ])
})

test.each([
  [['kill'], 'a process is missing'],
  [['stop', '--all', '5'], '--all takes no process'],
  [['pause', '-y', '5'], '--yes needs --all'],
  [['resume', '--fork', '5', '6'], '--fork is for one process'],
  [['resume', '--name', 'x', 'a*'], '--name is for one process'],
])('%j is a usage error', async (args, message) => {
  await using dir = await tempDir()
  const { code, stderr } = await runCli(dir.path, args)
  expect([code, stderr]).toEqual([64, expect.stringContaining(message) as string])
})
