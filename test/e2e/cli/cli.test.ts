// The command line as a program, against a fake daemon with scripted answers: text, JSON, exit codes, hostile text.
import { spawn } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, SteerView } from '../../../src/api/views/process.ts'
import { CLI, runCli, startCli } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { startFakeDaemon, refusedAnswer, type FakeAnswer, type FakeRoutes } from '../../support/daemon/fake-daemon.ts'
import { endedView, factEvent, processView } from '../../support/daemon/process-view.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
})
afterEach(async () => dir[Symbol.asyncDispose]())

/** Runs `reeve ARGS` against these routes. */
async function reeve(routes: FakeRoutes, ...args: string[]) {
  await using daemon = await startFakeDaemon(dir.path, routes)
  const result = await runCli(dir.path, args)
  return { ...result, requests: daemon.requests }
}

const steerAnswerFor = (process: ProcessView, changes: Partial<SteerView> = {}): FakeAnswer => ({
  json: { version: 1, affected: 1, process, ...changes },
})
const waitAnswer = (process: ProcessView, timedOut = false): FakeAnswer => ({ json: { version: 1, process, timedOut } })
const showAnswer = (process: ProcessView): FakeAnswer => ({ json: { version: 1, process } })
const { uuid } = processView()

describe('an invalid command line', () => {
  test.each([
    [['rnu'], 64, 'reeve: no verb "rnu"\n       Did you mean `reeve run`?\n'],
    [['list'], 64, 'reeve: no verb "list"\n       Did you mean `reeve ps`?\n'],
    [['restart', '5'], 64, 'reeve: no verb "restart"\n       Did you mean `reeve resume --rerun`?\n'],
    [
      ['config', 'get', 'x'],
      64,
      'reeve: config get: choose from show, path, set, unset, trust, untrust\n       Did you mean `reeve config show`?\n',
    ],
    [['ps', '--tre'], 64, 'reeve: unknown flag --tre\n       Did you mean --tree?\n'],
    [
      ['ps', 'x'],
      64,
      'reeve: ps does not take "x"\n       Usage: reeve ps [-a] [--tree] [--watch] [--here] [-l LABEL]... [--filter KEY=VALUE]... [FLAG]...\n',
    ],
    [['inspect'], 64, 'reeve: inspect needs more arguments\n       Usage: reeve inspect P\n'],
    [
      ['ps', '--filter', 'colour=red'],
      64,
      'reeve: --filter colour=red is not KEY=VALUE\n       Keys: status, state, name, agent, driver, parent.\n',
    ],
    [['ps', '--filter', 'state=alive'], 64, 'reeve: unknown state "alive"\n       Values: created, running, zombie, dead.\n'],
    [
      ['ps', '--filter', 'status=complete'],
      64,
      'reeve: unknown status "complete"\n       Values: pending, starting, ready, working, waiting, suspended, stopping, zombie, completed, retired, stopped, failed, interrupted.\n',
    ],
    [['kill', '-s', 'TREM', '5'], 64, 'reeve: there is no signal "TREM"\n       Did you mean SIGTERM?\n'],
    [['kill', '-s', 'KILL', '--grace', '1s', '5'], 64, 'reeve: SIGKILL takes no grace\n       See `reeve help kill`.\n'],
    [
      ['wait', '--for', 'godot', '5'],
      125,
      'reeve: --for godot: choose from exited, ready, suspended, waiting, done\n       Separate several by commas: `--for exited,suspended,waiting`.\n',
    ],
    [['run'], 125, 'reeve: the intent is missing\n       Give an intent in quotes, a command after --, or --interactive.\n'],
    [['run', 'x', '--', 'ls'], 125, 'reeve: an intent ("x") and a command exclude each other\n       See `reeve help run`.\n'],
    [['run', '--'], 125, 'reeve: the command after -- is missing\n       See `reeve help run`.\n'],
    [
      ['run', '--containment', 'jail', 'x'],
      125,
      'reeve: --containment jail: choose from auto, cgroup, pidns, group\n       See `reeve help run`.\n',
    ],
    [
      ['daemon', 'statsu'],
      64,
      'reeve: daemon statsu: choose from start, stop, restart, upgrade, status, logs, run, install, uninstall\n       Did you mean `reeve daemon status`?\n',
    ],
    [['help', 'pss'], 64, 'reeve: no verb and no topic "pss"\n       Did you mean `reeve help ps`?\n'],
  ])('%j exits %d without a request to the daemon', async (args, code, stderr) => {
    const result = await reeve({}, ...args)
    expect([result.code, result.stdout, result.stderr, result.requests]).toEqual([code, '', stderr, []])
  })

  test('in a working directory that was removed is reported', async () => {
    const removedDir = await tempDir()
    const child = spawn('sh', ['-c', 'cd "$2" && rmdir "$2" && exec "$0" "$1" agents', process.execPath, CLI, removedDir.path], {
      env: testEnv(dir.path),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let stderr = ''
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()))
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect([code, stderr]).toEqual([125, 'reeve: the working directory no longer exists\n       Change to another directory.\n'])
  })

  test('is reported as an object with --json', async () => {
    const result = await reeve({}, 'ps', '--json', '--wrong')
    expect([result.code, JSON.parse(result.stderr)]).toEqual([
      64,
      { version: 1, error: { code: 'INVALID', message: 'unknown flag --wrong', hint: 'See `reeve help ps`.' } },
    ])
  })
})

describe('help', () => {
  test('is the output of reeve alone, -h and help', async () => {
    const [withoutArgs, flag, verb] = await Promise.all([runCli(dir.path, []), runCli(dir.path, ['-h']), runCli(dir.path, ['help'])])
    expect(withoutArgs).toEqual({ code: 0, stdout: expect.stringContaining('Usage: reeve VERB') as string, stderr: '' })
    expect([flag, verb]).toEqual([withoutArgs, withoutArgs])
  })

  test('of a verb prints the help, and sends no request', async () => {
    const result = await reeve({}, 'kill', '5', '--help')
    expect([result.code, result.requests]).toEqual([0, []])
    expect(result.stdout).toContain('reeve kill -s 9 5 7')
  })

  test('and the version need no daemon', async () => {
    const [text, shortFlag, json] = await Promise.all([
      runCli(dir.path, ['--version']),
      runCli(dir.path, ['-v']),
      runCli(dir.path, ['version', '--json']),
    ])
    expect(shortFlag).toEqual(text)
    expect(text.stdout).toMatch(/^reeve \d+\.\d+\.\d+ \(Node\.js 2\d/)
    expect(JSON.parse(json.stdout)).toMatchObject({ version: 1, reeve: expect.any(String) as string })
  })
})

describe('ps', () => {
  const views = [processView(), endedView(1, { pid: 6, uuid: '01960000-0000-7000-8000-000099998888', name: null, ppid: 5 })]
  const list = { 'GET /v1/processes': (): FakeAnswer => ({ json: { version: 1, processes: views } }) }

  test('prints the table, only the UUIDs, or JSON', async () => {
    expect((await reeve(list, 'ps')).stdout).toContain('\n  5  deadbeef  docs  default  working')
    expect((await reeve(list, 'ps', '-q')).stdout).toBe(`${views[0]?.uuid}\n${views[1]?.uuid}\n`)
    expect(JSON.parse((await reeve(list, '--json', 'ps')).stdout)).toEqual({ version: 1, processes: views })
  })

  test('requests ended processes with -a, and when a filter can only match them', async () => {
    const allParameter = async (...args: string[]) => (await reeve(list, 'ps', ...args)).requests[0]?.query.get('all')
    expect([
      await allParameter(),
      await allParameter('-a'),
      await allParameter('--filter', 'status=failed'),
      await allParameter('--filter', 'status=working'),
    ]).toEqual([null, '1', '1', null])
  })

  test('combines values of one filter key by or, and different keys by and', async () => {
    const countRows = async (...filters: string[]) =>
      (await reeve(list, 'ps', '-q', ...filters.flatMap((filter) => ['--filter', filter]))).stdout.trim().split('\n').length
    expect([
      await countRows('status=working'),
      await countRows('status=working,status=failed'),
      await countRows('parent=5'),
      await countRows('status=working', 'agent=default'),
    ]).toEqual([1, 2, 1, 1])
    expect((await reeve(list, 'ps', '-q', '--filter', 'status=working', '--filter', 'name=other')).stdout).toBe('')
  })

  test('accepts any reference for a parent, and reports an unknown one', async () => {
    const parentAndChild = [
      processView(),
      endedView(1, { pid: 6, uuid: '01960000-0000-7000-8000-000099998888', name: null, ppid: 5, parentUuid: processView().uuid }),
    ]
    const daemon = {
      'GET /v1/processes': (): FakeAnswer => ({ json: { version: 1, processes: parentAndChild } }),
      'GET /v1/processes/docs': (): FakeAnswer => ({ json: { version: 1, process: parentAndChild[0] } }),
      'GET /v1/processes/nobody': (): FakeAnswer => ({
        status: 404,
        json: { version: 1, error: { code: 'NOT_FOUND', message: 'no process "nobody"', hint: '' } },
      }),
    }
    expect((await reeve(daemon, 'ps', '-q', '--filter', 'parent=docs')).stdout).toBe(`${parentAndChild[1]?.uuid}\n`)
    expect(await reeve(daemon, 'ps', '-q', '--filter', 'parent=nobody')).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('no process "nobody"') as string,
    })
    expect((await reeve(daemon, 'ps', '-q', '--filter', 'parent=deadbeef')).stdout).toBe(`${parentAndChild[1]?.uuid}\n`)
  })

  test('ends without an error when its reader has gone', async () => {
    const largeViews = Array.from({ length: 5000 }, () => processView({ note: 'x'.repeat(100) }))
    await using _daemon = await startFakeDaemon(dir.path, { 'GET /v1/processes': () => ({ json: { version: 1, processes: largeViews } }) })
    const child = spawn('sh', ['-c', '"$0" "$1" ps | head -1', process.execPath, CLI], {
      env: testEnv(dir.path),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()))
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()))
    await new Promise((resolve) => child.on('close', resolve))
    expect([stdout.split('\n').length, stderr]).toEqual([2, ''])
  })
})

describe('errors of the daemon', () => {
  test.each([
    ['NOT_FOUND', ['inspect', '5'], 3],
    ['AMBIGUOUS', ['inspect', '5'], 3],
    ['UNAVAILABLE', ['inspect', '5'], 4],
    ['INTERNAL', ['inspect', '5'], 125],
    ['NOT_FOUND', ['logs', '5'], 3],
    ['NOT_FOUND', ['steps', '5'], 3],
    ['NOT_FOUND', ['events', '5'], 3],
    ['NOT_FOUND', ['resume', '5'], 3],
  ] as const)('%s of %j exits %d', async (code, args, exit) => {
    const result = await reeve({ 'GET /v1/processes/5': () => refusedAnswer(code, 'the message') }, ...args)
    expect([result.code, result.stdout]).toEqual([exit, ''])
    expect(result.stderr).toMatch(/^reeve: the message\n {7}\S/)
  })

  test.each([
    ['CREDENTIALS_MISSING', 125],
    ['COMMAND_NOT_FOUND', 127],
    ['NOT_RUNNABLE', 126],
    ['UNAVAILABLE', 125],
    ['INVALID', 125],
    ['RESOURCE_EXHAUSTED', 125],
  ] as const)('%s of run exits %d', async (code, exit) => {
    expect((await reeve({ 'POST /v1/processes': () => refusedAnswer(code, 'm') }, 'run', 'x')).code).toBe(exit)
  })
})

describe('kill and stop', () => {
  const routes = (endedProcess: ProcessView, changes: Partial<SteerView> = {}): FakeRoutes => ({
    'POST /v1/processes/5/signal': () => steerAnswerFor(processView({ status: 'stopping' }), changes),
    [`GET /v1/processes/${uuid}/wait`]: () => waitAnswer(endedProcess, endedProcess.state === 'running'),
  })
  const stoppedProcess = endedView(143, { status: 'stopped', exit: { code: 143, reason: 'SIGTERM from user', signal: 'SIGTERM' } })

  test.each([
    [['kill', '5'], { signal: 'SIGTERM' }],
    [['kill', '--grace', '2s', '5'], { signal: 'SIGTERM', graceMs: 2000 }],
    [['kill', '-s', '9', '5'], { signal: 'SIGKILL' }],
    [['stop', '5'], { signal: 'SIGTERM', leastGraceMs: 10_000 }],
  ])('%j sends %j and waits for the end', async (args, body) => {
    const result = await reeve(routes(stoppedProcess, { childrenGoOn: 2 }), ...args)
    // This fake daemon has no route for stakes, as an older daemon has none.
    expect(result.requests.map(({ route }) => route)).toEqual([
      'GET /v1/processes/5/stakes',
      'POST /v1/processes/5/signal',
      `GET /v1/processes/${uuid}/wait`,
    ])
    expect(result.requests[1]?.body).toEqual(body)
    expect([result.code, result.stdout, result.stderr]).toEqual([
      0,
      '',
      'PID 5 (docs) stopped: SIGTERM from user (exit 143); 2 children keep running\n',
    ])
  })

  test('other signals are sent without waiting', async () => {
    const result = await reeve(routes(stoppedProcess), 'kill', '-s', 'INT', '5')
    expect([result.code, result.stderr, result.requests.length]).toEqual([0, 'PID 5 (docs) got SIGINT (stopping)\n', 1])
  })

  test('a process that does not end is reported, with exit 1', async () => {
    const result = await reeve(routes(processView({ status: 'stopping' })), 'kill', '--grace', '1ms', '5')
    expect([result.code, result.stderr]).toEqual([1, 'PID 5 (docs) has not ended yet (stopping)\n'])
  })

  test('an unknown process does not prevent the signals to the others', async () => {
    const list = { 'GET /v1/processes': (): FakeAnswer => ({ json: { version: 1, processes: [processView()] } }) }
    const result = await reeve({ ...list, ...routes(stoppedProcess) }, 'kill', 'nobody', '5', '--json')
    expect(result.code).toBe(3)
    expect(JSON.parse(result.stdout)).toMatchObject({
      version: 1,
      results: [
        { ref: 'nobody', error: { code: 'NOT_FOUND' } },
        { ref: '5', affected: 1, process: { pid: 5 } },
      ],
    })
  })
})

describe('pause, resume and send', () => {
  test('pause reports the new state', async () => {
    const pausedProcess = processView({ status: 'suspended' })
    const result = await reeve(
      { 'POST /v1/processes/5/pause': () => steerAnswerFor(pausedProcess, { affected: 3, note: 'draining' }) },
      'pause',
      '--subtree',
      '--now',
      '5',
    )
    expect([result.code, result.stderr]).toEqual([0, 'PID 5 (docs) ⏸ suspended; 3 processes in all; draining\n'])
    expect(result.requests[0]?.body).toEqual({ subtree: true, now: true })
  })

  test('resume of an ended process prints the new PID and its origin', async () => {
    const routes: FakeRoutes = {
      'GET /v1/processes/docs': () => showAnswer(endedView(1)),
      [`POST /v1/processes/${uuid}/resume`]: () => steerAnswerFor(processView({ pid: 9 })),
    }
    const result = await reeve(routes, 'resume', '-d', '--message', 'go on', '--model', 'a/b', 'docs')
    expect([result.code, result.stdout, result.stderr]).toEqual([0, '', 'PID 9 spawned (anthropic/claude) | resumed from deadbeef\n'])
    expect(result.requests[1]?.body).toMatchObject({
      message: 'go on',
      model: 'a/b',
      subtree: false,
      only: false,
      rerun: false,
      env: { REEVE_HOME: dir.path },
    })
  })

  test('resume after another resume spawns nothing, and reports the earlier one', async () => {
    const routes: FakeRoutes = {
      'GET /v1/processes/docs': () => showAnswer(endedView(1)),
      [`POST /v1/processes/${uuid}/resume`]: () =>
        steerAnswerFor(processView({ pid: 9, status: 'working' }), { affected: 0, note: 'it was not suspended' }),
    }
    const result = await reeve(routes, 'resume', '-d', 'docs')
    expect([result.code, result.stderr]).toEqual([0, 'PID 9 (docs) working; it was not suspended\n'])
  })

  test('resume takes larger limits, and sends only the given ones', async () => {
    const routes: FakeRoutes = {
      'GET /v1/processes/docs': () => showAnswer(endedView(1)),
      [`POST /v1/processes/${uuid}/resume`]: () => steerAnswerFor(processView()),
    }
    const sentLimits = async (...args: string[]) => (await reeve(routes, 'resume', '-d', ...args, 'docs')).requests[1]?.body['limits']
    expect(await sentLimits('--budget-usd', '5', '--budget-tokens', '9000', '--max-steps', '40', '--timeout', '1h')).toEqual({
      maxSteps: 40,
      timeoutMs: 3_600_000,
      budgetUsd: 5,
      budgetTokens: 9000,
    })
    expect([await sentLimits('--budget-usd', '5'), await sentLimits()]).toEqual([{ budgetUsd: 5 }, undefined])
  })

  test.each([
    ['its own', { limit: 'budgetUsd', scope: uuid }, '`reeve resume --budget-usd +X 5` continues it'],
    [
      'one of another process',
      { limit: 'budgetTokens', scope: '01960000-0000-7000-8000-00000000beef' },
      '`reeve resume --budget-tokens +N 0000beef` continues it',
    ],
    ['one whose room is taken by other calls', {}, 'it continues when there is room again; `reeve inspect 5` shows its limits'],
  ] as const)('resume of a process held by a limit, %s, names the command that raises it', async (_, unit, hint) => {
    const heldProcess = processView({
      status: 'suspended',
      holds: [{ reason: 'budget', by: 'system', at: '2026-01-02T03:04:05.000+00:00', ...unit }],
    })
    const routes: FakeRoutes = {
      'GET /v1/processes/5': () => showAnswer(heldProcess),
      [`POST /v1/processes/${uuid}/resume`]: () => steerAnswerFor(heldProcess, { note: 'still suspended: budget' }),
    }
    expect((await reeve(routes, 'resume', '-d', '5')).stderr).toBe(`PID 5 (docs) suspended; still suspended: budget\n${hint}\n`)
  })

  test('resume of a suspended process reports that it continues', async () => {
    const routes: FakeRoutes = {
      'GET /v1/processes/5': () => showAnswer(processView({ status: 'suspended' })),
      [`POST /v1/processes/${uuid}/resume`]: () => steerAnswerFor(processView()),
    }
    expect((await reeve(routes, 'resume', '-d', '5')).stderr).toBe('PID 5 (docs) working\n')
  })

  test('send queues a text', async () => {
    const result = await reeve(
      {
        'POST /v1/processes/5/send': () => ({ json: { version: 1, id: 'm', queueCount: 2 } }),
        'GET /v1/processes/5': () => showAnswer(processView()),
      },
      'send',
      '5',
      'more',
    )
    expect([result.code, result.stderr, result.requests[0]?.body]).toEqual([0, 'queued; 2 messages in its queue\n', { text: 'more' }])
  })
})

describe('wait', () => {
  const routesFor = (...views: [string, ProcessView, boolean?][]): FakeRoutes =>
    Object.fromEntries(
      views.flatMap(([ref, view, timedOut]) => [
        [`GET /v1/processes/${ref}`, () => showAnswer({ ...view, uuid: `uuid-of-${ref}` })],
        [`GET /v1/processes/uuid-of-${ref}/wait`, () => waitAnswer(view, timedOut)],
      ]),
    )

  test('returns the code of the process', async () => {
    const result = await reeve(routesFor(['5', endedView(7)]), 'wait', '5')
    expect([result.code, result.stdout]).toEqual([7, 'PID 5 (docs) failed: it broke (exit 7)\n'])
  })

  test('of several processes returns the first code that is not 0', async () => {
    expect((await reeve(routesFor(['5', endedView(0)], ['6', endedView(3)], ['7', endedView(4)]), 'wait', '5', '6', '7')).code).toBe(3)
  })

  test('outlasts a restart of the daemon and a new PID', async () => {
    let waitCount = 0
    const result = await reeve(
      {
        'GET /v1/processes/5': () => showAnswer(processView()),
        [`GET /v1/processes/${uuid}/wait`]: () =>
          ++waitCount === 1 ? { events: [], then: 'break' } : waitAnswer(endedView(7, { pid: 9 })),
      },
      'wait',
      '5',
    )
    expect([result.code, result.stdout, result.stderr]).toEqual([7, 'PID 9 (docs) failed: it broke (exit 7)\n', ''])
  })

  test('exits 124 after the timeout', async () => {
    const result = await reeve(routesFor(['5', processView(), true]), 'wait', '--timeout', '1ms', '5')
    expect([result.code, result.stdout]).toEqual([124, 'PID 5 (docs) working: timed out waiting for exited\n'])
  })

  test('--for exited,suspended exits 123 for a suspended process, and with the code of an ended one', async () => {
    const heldResult = await reeve(routesFor(['5', processView({ status: 'suspended' })]), 'wait', '--for', 'exited,suspended,waiting', '5')
    expect([
      heldResult.code,
      heldResult.stdout,
      heldResult.requests.find(({ route }) => route.endsWith('/wait'))?.query.get('for'),
    ]).toEqual([123, 'PID 5 (docs) suspended\n', 'exited,suspended,waiting'])
    expect((await reeve(routesFor(['5', endedView(7)]), 'wait', '--for', 'exited,suspended', '5')).code).toBe(7)
  })

  test('--for ready exits 0 when the process is ready, 125 when it ended before', async () => {
    const readyResult = await reeve(routesFor(['5', processView({ status: 'ready' })]), 'wait', '--for', 'ready', '5')
    expect([readyResult.code, readyResult.requests.find(({ route }) => route.endsWith('/wait'))?.query.get('for')]).toEqual([0, 'ready'])
    expect((await reeve(routesFor(['5', endedView(0)]), 'wait', '--for', 'ready', '5')).code).toBe(125)
  })

  test('exits 125 for an unknown process', async () => {
    expect((await reeve(routesFor(['5', endedView(0)]), 'wait', '5', '6')).code).toBe(125)
  })
})

describe('reading verbs', () => {
  test('logs strip control codes', async () => {
    const lines = [
      { at: '', stream: 'stdout', text: '\x1b[2Jhello' },
      { at: '', stream: 'tool', text: 'read a' },
    ]
    const routes: FakeRoutes = {
      'GET /v1/processes/5': () => showAnswer(endedView(0)),
      [`GET /v1/processes/${uuid}/logs`]: () => ({ json: { version: 1, lines, cursor: 4 } }),
    }
    const result = await reeve(routes, 'logs', '-f', '--tail', '2', '5')
    expect([result.code, result.stdout, result.requests[1]?.query.get('tail')]).toEqual([0, 'hello\n  read a\n', '2'])
    expect(JSON.parse((await reeve(routes, 'logs', '--json', '5')).stdout)).toEqual({
      version: 1,
      lines: lines.map((line) => ({ uuid, pid: 5, name: 'docs', ...line })),
    })
  })

  test('logs -f continues after the printed part, until the end', async () => {
    const outputEvent = (seq: number, text: string) => factEvent(seq, { type: 'process.output', stream: 'stdout', text })
    const routes: FakeRoutes = {
      'GET /v1/processes/5': () => showAnswer(processView()),
      [`GET /v1/processes/${uuid}`]: () => showAnswer(processView()),
      [`GET /v1/processes/${uuid}/logs`]: () => ({ json: { version: 1, lines: [{ at: '', stream: 'stdout', text: 'past' }], cursor: 4 } }),
      [`GET /v1/processes/${uuid}/events`]: () => ({
        events: [outputEvent(5, 'new\nlines\n'), factEvent(6, { type: 'process.exited', exit: { code: 0, reason: 'completed' } })],
        then: 'open',
      }),
    }
    const result = await reeve(routes, 'logs', '-f', '5')
    expect([result.code, result.stdout, result.requests[3]?.query.get('after')]).toEqual([
      0,
      'past\nnew\nlines\nended: completed (0)\n',
      '4',
    ])
  })

  test('steps shows a failed command as a failure, with the end of its output', async () => {
    const tool = (callId: string, exitCode: number | null, result: string) => ({
      callId,
      name: 'bash',
      input: { command: callId },
      outcome: 'ok',
      exitCode,
      result,
      durationMs: 1200,
    })
    const step = {
      step: 1,
      startedAt: '2026-01-02T03:04:05.000Z',
      finishedAt: null,
      model: 'm',
      attempts: 1,
      text: null,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: null,
      notes: [],
      tools: [tool('good', 0, 'x'), tool('bad', 3, 'a\nb\n[exit code 3]'), tool('other', null, 'y')],
    }
    const result = await reeve(
      {
        'GET /v1/processes/5': () => showAnswer(processView()),
        [`GET /v1/processes/${uuid}/steps`]: () => ({ json: { version: 1, steps: [step] } }),
      },
      'steps',
      '5',
    )
    expect(result.stdout).toBe(
      'step 1 | m | not finished\n  bash good  ok 1.2s\n  bash bad  exit 3 1.2s\n    a\n    b\n  bash other  ok 1.2s\n',
    )
  })

  test.each([
    ['running', 'working', null],
    ['held', 'suspended', 'paused: loop (5 times the same)'],
    ['running', 'suspended', 'paused: by user (draining)'],
    ['interrupted', 'stopped', 'ended while it was suspended'],
  ] as const)('steps show %s for an open call of a process that is %s, with the note %s', async (shownAs, status, note) => {
    const step = {
      step: 1,
      startedAt: '2026-01-02T03:04:05.000Z',
      finishedAt: null,
      model: 'm',
      attempts: 1,
      text: null,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: null,
      notes: [],
      tools: [{ callId: 'c', name: 'bash', input: { command: 'ls' }, outcome: null, exitCode: null, result: null, durationMs: null }],
    }
    const result = await reeve(
      {
        'GET /v1/processes/5': () => showAnswer(processView({ status, note, ...(status === 'stopped' ? { state: 'dead' } : {}) })),
        [`GET /v1/processes/${uuid}/steps`]: () => ({ json: { version: 1, steps: [step] } }),
      },
      'steps',
      '5',
    )
    expect(result.stdout).toContain(`  bash ls  ${shownAs}\n`)
  })

  test('events prints lines, or records with --json', async () => {
    const event = factEvent(7, { type: 'process.queue', id: 'm', from: 'user', text: 'a\x1b[2J\nb' })
    const routes: FakeRoutes = { 'GET /v1/events': () => ({ events: [event], then: 'end' }) }
    expect((await reeve(routes, 'events')).stdout).toMatch(
      /^ {5}7 2026-01-0[123] \d\d:\d\d:05 PID 5 process\.queue id=m from=user text=a b\n$/,
    )
    expect(JSON.parse((await reeve(routes, 'events', '--json', '--after', '6')).stdout)).toEqual(event)
  })

  test('steps reads page by page', async () => {
    const step = (n: number) => ({
      step: n,
      startedAt: '2026-01-02T03:04:05.000+00:00',
      finishedAt: '2026-01-02T03:04:07.000+00:00',
      model: 'm',
      attempts: 1,
      text: 'I look.',
      inputTokens: 10,
      outputTokens: 5,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: 0.001,
      tools: [{ callId: 'c', name: 'read', input: { path: 'a' }, outcome: 'ok', result: 'x', durationMs: 3 }],
      notes: n === 1 ? ['the context was compacted'] : [],
    })
    const steps = Array.from({ length: 201 }, (_, i) => step(i + 1))
    const routes: FakeRoutes = {
      'GET /v1/processes/5': () => showAnswer(processView()),
      [`GET /v1/processes/${uuid}/steps`]: ({ query }) => ({
        json: { version: 1, steps: steps.slice(Number(query.get('after'))).slice(0, Number(query.get('limit'))) },
      }),
    }
    const result = await reeve(routes, 'steps', '5')
    expect(result.stdout.split('\n').slice(0, 4)).toEqual([
      'step 1 | m | 10 in, 5 out | $0.0010 | 2.0s',
      '  I look.',
      '  read a  ok 3ms',
      '  the context was compacted',
    ])
    expect(result.stdout).toContain('step 201 |')
    expect((JSON.parse((await reeve(routes, 'steps', '--json', '5')).stdout) as { steps: object[] }).steps).toEqual(steps)
  })

  test('inspect shows the fields that have a value, and all fields as JSON', async () => {
    const view = processView({
      status: 'suspended',
      holds: [{ reason: 'budget', by: 'system', at: '2026-01-02T03:04:05.000+00:00' }],
      limits: { budgetUsd: 2 },
      limitUse: [{ limit: 'budgetUsd', used: 2, of: 2, action: 'suspend', scope: null, source: 'process' }],
      lastText: 'two\nlines',
      usage: { ...processView().usage, contextTokens: 81_204, contextWindow: 200_000 },
    })
    const routes: FakeRoutes = { 'GET /v1/processes/5': () => showAnswer(view) }
    const { stdout } = await reeve(routes, 'inspect', '5')
    expect(stdout).toMatch(/status {5}⏸ suspended\nholds {6}budget by system since 2026-01-0[123] \d\d:\d\d:05, \d+ days ago\n/)
    expect(stdout).toContain('limits     $2.00 of $2, then suspend\nchecked    before each call\n')
    expect(stdout).toContain('context    81,204 of 200,000 tokens (41 %)\n')
    expect(stdout).toContain('last text  two\n           lines\n')
    expect(stdout).not.toContain('session')
    expect(JSON.parse((await reeve(routes, 'inspect', '--json', '5')).stdout)).toEqual({ version: 1, ...view })
  })

  test('doctor exits 1 if a check failed, and prints what to do', async () => {
    const checks: object[] = [
      { name: 'node', ok: true, detail: 'v24' },
      { name: 'cgroup', ok: false, optional: true, detail: 'EACCES', hint: 'run as root' },
    ]
    const goodResult = await reeve({ 'GET /v1/doctor': () => ({ json: { version: 1, checks } }) }, 'doctor')
    expect([goodResult.code, goodResult.stdout]).toEqual([0, 'ok    node: v24\nno    cgroup: EACCES\n      run as root\n'])
    checks.splice(1, 1, { name: 'store', ok: false, detail: 'damaged', hint: 'restore it' })
    const result = await reeve({ 'GET /v1/doctor': () => ({ json: { version: 1, checks } }) }, 'doctor', '--verify')
    expect([result.code, result.stdout, result.requests[0]?.query.get('verify')]).toEqual([
      1,
      'ok    node: v24\nFAIL  store: damaged\n      restore it\n',
      '1',
    ])
  })

  test('doctor --models shows each provider, and reports no problem for an optional one', async () => {
    const providerReport = (name: string, fields: object): object => ({
      name,
      kind: 'openai',
      baseURL: 'http://x/v1',
      key: { name: 'A_KEY', from: 'environment' },
      ok: true,
      detail: '3 models',
      models: 3,
      ...fields,
    })
    const providers = [
      providerReport('first', {}),
      providerReport('second', { ok: false, optional: true, key: { name: 'B_KEY', from: 'missing' }, detail: 'B_KEY is not set' }),
      providerReport('local', { key: null }),
    ]
    const routes = {
      'GET /v1/doctor': (): FakeAnswer => ({ json: { version: 1, checks: [] } }),
      'POST /v1/doctor/models': (): FakeAnswer => ({ json: { version: 1, providers } }),
    }
    const goodResult = await reeve(routes, 'doctor', '--models')
    expect([goodResult.code, goodResult.stdout.split('\n')]).toEqual([
      0,
      [
        '',
        '    PROVIDER  KEY          ANSWER',
        'ok  first     environment  3 models',
        'no  second    missing      B_KEY is not set',
        'ok  local     not needed   3 models',
        '',
      ],
    ])
    providers.push(providerReport('third', { ok: false, detail: 'the key is refused (401)' }))
    const result = await reeve(routes, 'doctor', '--models', '--json')
    expect(result.code).toBe(1)
    expect(JSON.parse(result.stdout)).toMatchObject({
      checks: [],
      providers: [{ name: 'first' }, { name: 'second' }, { name: 'local' }, { name: 'third' }],
    })
  })

  test('agents names unusable files and unsupported fields on stderr', async () => {
    const agents = [
      {
        name: 'reviewer',
        driver: 'native',
        model: null,
        usesModel: 'ollama/x',
        needs: [],
        usable: true,
        reason: null,
        forks: 'any step',
        converses: true,
        description: 'reviews',
        file: '/a.md',
        source: 'user',
        unsupported: ['mcp is not there'],
      },
    ]
    const result = await reeve(
      { 'GET /v1/agents': () => ({ json: { version: 1, agents, errors: [{ file: '/b.md', line: 3, message: 'bad' }], keys: {} } }) },
      'agents',
    )
    expect(result.stdout).toBe(
      'NAME      READY  MODEL     FORK      SOURCE  DESCRIPTION  FILE\nreviewer  yes    ollama/x  any step  user    reviews      /a.md\n',
    )
    expect(result.stderr).toBe('reviewer: mcp is not there\n/b.md:3: bad\n')
  })
})

test('daemon restart stops a daemon of an older build, which refuses the field `restart`', async () => {
  const view = { version: 1, pid: process.pid, cursor: 0, startedAt: '2026-01-02T03:04:05.000Z', stopping: null }
  const { code, requests } = await reeve(
    {
      'GET /v1/daemon': () => ({ json: view }),
      'GET /v1/processes': () => ({ json: { version: 1, processes: [] } }),
      'POST /v1/daemon/stop': ({ body }) =>
        'restart' in body ? refusedAnswer('INVALID', 'has an unknown key `restart`') : refusedAnswer('PERMISSION', 'enough for this test'),
    },
    'daemon',
    'restart',
  )
  expect(code).not.toBe(0)
  expect(requests.filter(({ route }) => route === 'POST /v1/daemon/stop').map(({ body }) => 'restart' in body)).toEqual([true, false])
})

describe('run', () => {
  const spawned = { 'POST /v1/processes': (): FakeAnswer => ({ status: 201, json: { version: 1, process: processView() } }) }
  const exitedEvent = (code: number) => factEvent(8, { type: 'process.exited', exit: { code, reason: 'x' } })

  test('sends all options, and the directory', async () => {
    const { requests } = await reeve(
      spawned,
      'run',
      '-d',
      '--name',
      'docs',
      '--agent',
      'a',
      '--model',
      'p/m',
      '--max-steps',
      '3',
      '--timeout',
      '5m',
      '--budget-usd',
      '0.5',
      '--budget-tokens',
      '1000',
      '--cwd',
      '/tmp',
      '--interactive',
      '--parent',
      '4',
      '--allow',
      'read,ls',
      '--deny',
      'bash',
      '--containment',
      'group',
      'do it',
    )
    const { env, ...body } = requests[0]?.body ?? {}
    expect(body).toEqual({
      name: 'docs',
      agent: 'a',
      model: 'p/m',
      cwd: '/tmp',
      interactive: true,
      parent: '4',
      allow: ['read', 'ls'],
      deny: ['bash'],
      containment: 'group',
      intent: 'do it',
      limits: { maxSteps: 3, timeoutMs: 300_000, budgetUsd: 0.5, budgetTokens: 1000 },
    })
    expect(env).toMatchObject({ HOME: dir.path })
  })

  test('exits with the code of the process when the process has ended', async () => {
    const routes: FakeRoutes = {
      ...spawned,
      [`GET /v1/processes/${uuid}/events`]: () => ({
        events: [
          factEvent(3, { type: 'model.finished', step: 1, message: [{ type: 'text', text: 'done' }] }),
          exitedEvent(9),
          factEvent(9, { type: 'process.reaped' }),
        ],
        then: 'end',
      }),
      [`GET /v1/processes/${uuid}`]: () => showAnswer(endedView(9)),
    }
    const result = await reeve(routes, 'run', 'x')
    expect([result.code, result.stdout]).toEqual([9, 'done\n'])
    expect(result.stderr).toMatch(/^PID 5 spawned \(anthropic\/claude\)\nPID 5 \(docs\) failed: it broke \(exit 9\) \| 2 steps/)
  })

  test('continues after a broken connection, without repeating output', async () => {
    const textEvent = (seq: number, text: string) =>
      factEvent(seq, { type: 'model.finished', step: seq, message: [{ type: 'text', text }] })
    const routes: FakeRoutes = {
      ...spawned,
      [`GET /v1/processes/${uuid}/events`]: ({ query }) =>
        query.get('after') === '0'
          ? { events: [textEvent(1, 'one')], then: 'break' }
          : { events: [textEvent(2, 'two'), exitedEvent(0), factEvent(9, { type: 'process.reaped' })], then: 'end' },
      [`GET /v1/processes/${uuid}`]: () => showAnswer(endedView(0)),
    }
    const result = await reeve(routes, 'run', '-q', 'x')
    expect([result.code, result.stdout, result.stderr]).toEqual([0, 'one\ntwo\n', ''])
  })

  test('SIGTERM stops the process, and a second signal kills it', async () => {
    const signals: unknown[] = []
    const killReceived = Promise.withResolvers<void>()
    await using _daemon = await startFakeDaemon(dir.path, {
      ...spawned,
      [`GET /v1/processes/${uuid}/events`]: ({ query }) => ({
        events:
          query.get('after') === '1'
            ? [exitedEvent(143), factEvent(9, { type: 'process.reaped' })]
            : [factEvent(1, { type: 'process.note', text: 'begun' })],
        then: 'open',
      }),
      [`POST /v1/processes/${uuid}/signal`]: ({ body }) => {
        signals.push(body)
        if (signals.length === 2) killReceived.resolve()
        return steerAnswerFor(processView({ status: 'stopping' }))
      },
      [`GET /v1/processes/${uuid}`]: () => showAnswer(endedView(143)),
    })
    const run = startCli(dir.path, ['run', 'x'])
    await run.waitForText('begun')
    run.child.kill('SIGTERM')
    await expect.poll(() => signals, { timeout: 60_000 }).toHaveLength(1)
    run.child.kill('SIGINT')
    await killReceived.promise
    expect(signals).toEqual([{ signal: 'SIGTERM', leastGraceMs: 10_000 }, { signal: 'SIGKILL' }])
    run.child.kill('SIGKILL')
    await run.result
  })
})
