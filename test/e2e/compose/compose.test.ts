// Runs of a compose file on a real daemon: order, passed results, retries, failures, pauses, stops, and the end of the daemon.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { bashCall, waitForFileCommand, ComposeRuns, shellNode, stateList } from '../../support/compose/compose-runs.ts'
import { testEnv } from '../../support/env.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { Repository } from '../../support/git/repository.ts'
import type { PlanView, RunsView } from '../../../src/api/views/compose.ts'

let daemon: LocalDaemon
let runs: ComposeRuns
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  runs = new ComposeRuns(daemon)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const createFile = (file: string): void => writeFileSync(join(daemon.work, file), '')
const readLog = (): string[] => readFileSync(join(daemon.work, 'log'), 'utf8').trim().split('\n')

describe('a run', () => {
  test('starts each node when its dependencies have completed, and passes results on', async () => {
    const plan = await daemon.writeScript([{ text: 'use $(rm -rf /) and {{ nodes.second.uuid }}' }])
    const first = await runs.start({
      last: { command: ['sh', '-c', 'echo "$1" > got', 'sh', '{{ nodes.think.result }}'], depends_on: ['think', 'second'] },
      think: { model: plan, intent: 'Think of: {{ nodes.second.result }}', depends_on: { second: 'completed' } },
      second: shellNode('echo from second; echo no >&2'),
    })
    expect(first).toMatchObject({
      name: 'work',
      status: expect.stringMatching(/pending|starting|ready/) as string,
      file: join(daemon.work, 'reeve.yaml'),
    })
    const end = await runs.waitForEnd(first.uuid)
    expect(end).toMatchObject({ status: 'completed', exit: { code: 0, reason: 'completed' } })
    expect(stateList(end)).toBe('last completed, think completed, second completed')
    expect(readFileSync(join(daemon.work, 'got'), 'utf8')).toBe('use $(rm -rf /) and {{ nodes.second.uuid }}\n')
    const think = await daemon.view(end.nodes[1]?.process?.uuid ?? '')
    expect(think).toMatchObject({
      name: 'work.think',
      intent: 'Think of: from second',
      parentUuid: end.uuid,
      childId: 'think',
      status: 'completed',
    })
    expect((await daemon.readFactTypes(end.uuid)).filter((fact) => fact.startsWith('compose.'))).toEqual([
      'compose.starting',
      'compose.started',
      'compose.completed',
      'compose.starting',
      'compose.started',
      'compose.completed',
      'compose.starting',
      'compose.started',
      'compose.completed',
      'compose.finished',
    ])
  })

  test('runs independent nodes side by side, and a failed one blocks only its dependents', async () => {
    const { uuid } = await runs.start({
      bad: shellNode(`${waitForFileCommand('go')}; echo broken >&2; exit 3`),
      below: shellNode('true', { depends_on: ['bad'] }),
      further: shellNode('true', { depends_on: ['below', 'good'] }),
      good: shellNode(`touch go2; ${waitForFileCommand('go')}`),
      after: shellNode('true', { depends_on: ['good'] }),
    })
    await runs.waitForRun(uuid, (view) => view.nodes.filter(({ state }) => state === 'running').length === 2)
    createFile('go')
    const end = await runs.waitForEnd(uuid)
    expect(stateList(end)).toBe('bad failed, below blocked, further blocked, good completed, after completed')
    expect(end.nodes.map(({ reason }) => reason)).toEqual(['exit code 3', 'needs bad', 'needs below', null, null])
    expect(end).toMatchObject({ status: 'failed', exit: { code: 1, reason: 'bad failed; below, further blocked' } })
    expect(end.nodes[1]?.process).toBe(null)
  })

  test('retries a failed node up to its limit; output of failed attempts is not a result', async () => {
    const { uuid } = await runs.start({
      flaky: shellNode('echo try >> log; echo "said $(wc -l < log | tr -d " ")"; test $(wc -l < log) -ge 2', { retries: 2 }),
      hopeless: shellNode('echo h >> log2; exit 1', { retries: 1 }),
      after: { command: ['sh', '-c', 'echo "$1" > got', 'sh', '{{ nodes.flaky.result }}'], depends_on: ['flaky'] },
    })
    const end = await runs.waitForEnd(uuid)
    expect(stateList(end)).toBe('flaky completed, hopeless failed, after completed')
    expect(end.nodes.map(({ attempts }) => attempts)).toEqual([1, 1, 0])
    expect(readLog()).toHaveLength(2)
    expect(readFileSync(join(daemon.work, 'log2'), 'utf8')).toBe('h\nh\n')
    expect(readFileSync(join(daemon.work, 'got'), 'utf8')).toBe('said 2\n')
  })

  test('runs no more nodes at a time than requested', async () => {
    const nodes = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, shellNode(`echo + >> log; sleep 0.05; echo - >> log`)]))
    const end = await runs.waitForEnd((await runs.start(nodes, { parallel: 1 })).uuid)
    expect(end.status).toBe('completed')
    expect(readLog().join('')).toBe('+-+-+-+-')
  })

  test('names the nodes in its first event, without their intents and their environment', async () => {
    const { uuid } = await runs.start({ a: shellNode('test -n "$PATH"'), b: shellNode('true', { depends_on: ['a'], retries: 1 }) })
    expect((await runs.waitForEnd(uuid)).status).toBe('completed')
    const spawned = await daemon.waitForEvent(uuid, ({ type }) => type === 'process.spawned')
    expect(spawned['spec']).toMatchObject({
      driver: 'compose',
      compose: {
        nodes: [
          { name: 'a', needs: [], retries: 0 },
          { name: 'b', needs: ['a'], retries: 1 },
        ],
      },
    })
    expect(JSON.stringify(spawned)).not.toContain('template')
    expect(spawned['spec']).not.toHaveProperty('env')
  })

  test('waits for an external agent that asks the user, and continues after the answer', async () => {
    const argv = [
      process.execPath,
      fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url)),
      `sessions=${daemon.work}`,
    ]
    mkdirSync(daemon.paths.agentsDir, { recursive: true })
    writeFileSync(
      join(daemon.paths.agentsDir, 'other.md'),
      `---\nname: other\ndescription: A scripted agent.\ndriver: acp\nasks: true\ncommand: ${JSON.stringify(argv)}\n---\n`,
    )
    const { uuid } = await runs.start({
      asks: { agent: 'other', intent: 'ask execute rm x\nsay thanks', permissions: 'ask' },
      after: { command: ['sh', '-c', 'echo "$1" > got', 'sh', '{{ nodes.asks.result }}'], depends_on: ['asks'] },
    })
    const waiting = await runs.waitForRun(uuid, ({ nodes }) => nodes[0]?.process?.status === 'waiting')
    expect(stateList(waiting)).toBe('asks running, after waiting')
    const askingUuid = waiting.nodes[0]?.process?.uuid ?? ''
    const [ask] = (await daemon.view(askingUuid)).asks
    await daemon.client.post(`/v1/processes/${askingUuid}/answer`, { option: ask?.options[0]?.id })
    expect(stateList(await runs.waitForEnd(uuid))).toBe('asks completed, after completed')
    expect(readFileSync(join(daemon.work, 'got'), 'utf8')).toContain('thanks')
  })

  test("passes an intent as an argument, never as a flag, also with another node's output", async () => {
    mkdirSync(daemon.paths.agentsDir, { recursive: true })
    writeFileSync(
      join(daemon.paths.agentsDir, 'printer.md'),
      `---\nname: printer\ndescription: Prints.\ndriver: command\ncommand: [sh, -c, 'printf "<%s>" "$1" > told', sh]\n---\n`,
    )
    const { uuid } = await runs.start({
      a: shellNode('echo --dangerously'),
      b: { agent: 'printer', intent: '{{ nodes.a.result }}', depends_on: ['a'] },
      c: { command: ['sh', '-c', 'printf "<%s>" "$1" > got', 'sh', '{{ nodes.a.result }}'], depends_on: ['a'] },
    })
    expect(stateList(await runs.waitForEnd(uuid))).toBe('a completed, b completed, c completed')
    expect([readFileSync(join(daemon.work, 'told'), 'utf8'), readFileSync(join(daemon.work, 'got'), 'utf8')]).toEqual([
      '< --dangerously>',
      '<--dangerously>',
    ])
  })

  test('gives a node with a worktree its own branch, which other nodes may name', async () => {
    const repository = Repository.make(daemon.work, daemon.home)
    repository.commit({ 'old.txt': 'old' })
    const { uuid } = await runs.start(
      {
        build: shellNode('echo new > new.txt && git add . && git commit -qm new', { worktree: true }),
        after: { command: ['sh', '-c', 'git show "$1:new.txt" > got', 'sh', '{{ nodes.build.branch }}'], depends_on: ['build'] },
      },
      { env: repository.env },
    )
    expect(stateList(await runs.waitForEnd(uuid))).toBe('build completed, after completed')
    expect(readFileSync(join(daemon.work, 'got'), 'utf8')).toBe('new\n')
    expect(repository.git('branch', '--list', 'reeve/*')).toMatch(/reeve\/work\.build/)
  })

  test('can run only some nodes, under a name and a budget', async () => {
    const view = await runs.start(
      { a: shellNode('true'), b: shellNode('true', { depends_on: ['a'] }), c: shellNode('true') },
      { nodes: ['b'], name: 'nightly', limits: { budgetUsd: 2 } },
    )
    const end = await runs.waitForEnd(view.uuid)
    expect(end).toMatchObject({ name: 'nightly', status: 'completed' })
    expect(end.nodes.map(({ name }) => name)).toEqual(['a', 'b'])
    expect((await daemon.view('nightly')).limits).toEqual({ budgetUsd: 2 })
  })

  test('gets a name of its own when its file already runs', async () => {
    const first = await runs.start({ a: shellNode(waitForFileCommand('go')) })
    const second = await runs.start({ a: shellNode(waitForFileCommand('go')) })
    expect([first.name, second.name]).toEqual(['work', 'work-2'])
    const { runs: listedRuns } = await daemon.client.get<RunsView>('/v1/compose')
    expect(listedRuns.map(({ uuid }) => uuid)).toEqual([second.uuid, first.uuid])
    createFile('go')
    await runs.waitForEnd(first.uuid)
    await runs.waitForEnd(second.uuid)
    expect((await daemon.client.get<RunsView>('/v1/compose', { limit: 1 })).runs).toHaveLength(1)
    expect((await daemon.client.get<RunsView>('/v1/compose')).runs).toHaveLength(2)
  })
})

describe('an invalid run is refused, and nothing starts', () => {
  test.each([
    [
      'a model without its key',
      { a: shellNode('true'), b: { intent: 'x', model: 'anthropic/claude-x' } },
      'CREDENTIALS_MISSING',
      'node b: anthropic/claude-x needs ANTHROPIC_API_KEY',
    ],
    ['an unknown agent', { a: { intent: 'x', agent: 'nobody' } }, 'AGENT_INVALID', /^node a: /],
    ['a missing directory', { a: shellNode('true', { cwd: 'nowhere' }) }, 'INVALID', /^node a: .*nowhere is not a directory/],
    ['a worktree without a repository', { a: shellNode('true', { worktree: true }) }, 'INVALID', /^node a: /],
    [
      'a cycle',
      { a: shellNode('true', { depends_on: ['b'] }), b: shellNode('true', { depends_on: ['a'] }) },
      'AGENT_INVALID',
      /reeve.yaml:1: agents.a.depends_on: a cycle: a needs b needs a/,
    ],
  ])('%s', async (_, nodes, code, message) => {
    runs.write(nodes)
    const { body } = await daemon.post('/v1/compose', { cwd: daemon.work, env: testEnv(daemon.work) })
    expect(body.error).toMatchObject({ code, message: typeof message === 'string' ? message : (expect.stringMatching(message) as string) })
    expect((await daemon.client.get<{ processes: object[] }>('/v1/processes', { all: true })).processes).toEqual([])
  })
})

test('the plan shows the nodes that would run, by rows', async () => {
  runs.write({
    c: shellNode('true', { depends_on: ['a', 'b'], retries: 2 }),
    a: shellNode('true'),
    b: { intent: 'x', model: 'anthropic/claude-x' },
  })
  const plan = await daemon.client.post<PlanView>('/v1/compose/plan', { cwd: daemon.work, env: testEnv(daemon.work) })
  expect(plan).toEqual({
    version: 1,
    file: join(daemon.work, 'reeve.yaml'),
    name: 'work',
    nodes: [
      { name: 'a', row: 0, needs: [], agent: 'command', model: null, retries: 0, worktree: false },
      { name: 'b', row: 0, needs: [], agent: 'default', model: 'anthropic/claude-x', retries: 0, worktree: false },
      { name: 'c', row: 1, needs: ['a', 'b'], agent: 'command', model: null, retries: 2, worktree: false },
    ],
  })
})

test('neither an ordinary process nor its children count as a run and its nodes', async () => {
  const other = await daemon.spawnShell('sleep 600', { name: 'other' })
  expect((await daemon.sendRaw({ path: '/v1/compose/other' })).body.error).toMatchObject({
    code: 'INVALID',
    message: `process ${other.pid} is not a run of a compose file`,
  })
  const { uuid } = await runs.start({ a: shellNode('sleep 600') })
  await runs.waitForRun(uuid, (view) => view.nodes[0]?.state === 'running')
  await expect(daemon.spawnShell('true', { parent: uuid, childId: 'x' })).rejects.toThrow('the children of a run are the nodes of its file')
  expect((await daemon.sendRaw({ method: 'DELETE', path: `/v1/processes/${uuid}/children?id=a` })).body.error).toMatchObject({
    code: 'INVALID',
    message: expect.stringContaining('is a run, which keeps its nodes') as string,
  })
  await daemon.signal(other.uuid, 'SIGKILL')
})

describe('the user', () => {
  test('stops a run: its nodes stop in reverse order; after a resume it continues', async () => {
    const slowModel = await daemon.writeScript([bashCall('sleep 600'), { text: 'done' }])
    const { uuid } = await runs.start({
      one: { model: slowModel, intent: 'x' },
      two: shellNode('sleep 600', { depends_on: ['early'], retries: 1 }),
      early: shellNode('true'),
      late: shellNode('true', { depends_on: ['one', 'two'] }),
    })
    await runs.waitForRun(
      uuid,
      (view) => stateList(view) === 'one running, two running, early completed, late waiting' && view.nodes[0]?.process?.step === 1,
    )
    await daemon.signal(uuid, 'SIGTERM', { graceMs: 300 })
    const stoppedRun = await runs.waitForEnd(uuid)
    expect(stateList(stoppedRun)).toBe('one cancelled, two cancelled, early completed, late cancelled')
    const endedNodes: string[] = []
    for await (const event of daemon.client.events('/v1/events', { query: { after: 0 } }))
      if (event.type === 'process.exited') endedNodes.push(event.uuid)
    expect(await Promise.all(endedNodes.map(async (each) => (await daemon.view(each)).name))).toEqual([
      'work.early',
      'work.two',
      'work.one',
      'work',
    ])
    await daemon.resume(uuid)
    // The first node's call was interrupted, and may run again at once.
    await runs.waitForRun(uuid, (view) => view.nodes[1]?.state === 'running' && view.nodes[1].process?.status === 'working')
    const secondProcess = (await runs.read(uuid)).nodes[1]?.process
    await daemon.signal(secondProcess?.uuid ?? '', 'SIGKILL')
    const end = await runs.waitForEnd(uuid)
    expect(stateList(end)).toBe('one completed, two cancelled, early completed, late blocked')
    expect(end.exit).toEqual({ code: 1, reason: 'late blocked; two cancelled' })
  })

  test('pauses a run: no node starts, and a suspended node does not end; the run completes after both are resumed', async () => {
    const { uuid } = await runs.start({
      a: shellNode(waitForFileCommand('go')),
      b: shellNode('true', { depends_on: ['a'] }),
      c: shellNode(waitForFileCommand('go')),
    })
    const { nodes } = await runs.waitForRun(
      uuid,
      (view) => stateList(view) === 'a running, b waiting, c running' && view.nodes[2]?.process?.status === 'working',
    )
    await daemon.pause(nodes[2]?.process?.uuid ?? '')
    await daemon.pause(uuid)
    createFile('go')
    await runs.waitForRun(uuid, (view) => stateList(view) === 'a completed, b waiting, c running')
    await daemon.resume(uuid)
    await runs.waitForRun(uuid, (view) => stateList(view) === 'a completed, b completed, c running')
    expect((await runs.read(uuid)).nodes[2]?.process?.status).toBe('suspended')
    await daemon.resume(nodes[2]?.process?.uuid ?? '')
    expect((await runs.waitForEnd(uuid)).status).toBe('completed')
  })

  test('kills a node: the node is cancelled, and after its resume its dependents wait for it again', async () => {
    const { uuid } = await runs.start({
      a: shellNode(waitForFileCommand('go')),
      b: shellNode('true', { depends_on: ['a'] }),
      other: shellNode(waitForFileCommand('go')),
    })
    const runningView = await runs.waitForRun(uuid, (view) => stateList(view) === 'a running, b waiting, other running')
    const node = runningView.nodes[0]?.process?.uuid ?? ''
    await daemon.signal(node, 'SIGKILL')
    await runs.waitForRun(uuid, (view) => stateList(view) === 'a cancelled, b blocked, other running')
    await daemon.resume(node, { rerun: true })
    await runs.waitForRun(uuid, (view) => stateList(view) === 'a running, b waiting, other running')
    createFile('go')
    expect(stateList(await runs.waitForEnd(uuid))).toBe('a completed, b completed, other completed')
  })
})

describe('the daemon', () => {
  test('restarts in the middle: the run continues, and completed nodes do not run again', async () => {
    const think = await daemon.writeScript([bashCall(waitForFileCommand('go')), { text: 'thought' }])
    const { uuid } = await runs.start({
      early: shellNode('echo early >> log'),
      think: { model: think, intent: 'x', depends_on: ['early'] },
      late: { command: ['sh', '-c', 'echo "late $1" >> log', 'sh', '{{ nodes.think.result }}'], depends_on: ['think'] },
    })
    await runs.waitForRun(uuid, ({ nodes }) => nodes[1]?.process?.step === 1)
    const stopPromise = daemon.stop()
    createFile('go')
    await stopPromise
    await daemon.start()
    const end = await runs.waitForEnd(uuid)
    expect(stateList(end)).toBe('early completed, think completed, late completed')
    expect(readLog()).toEqual(['early', 'late thought'])
  })

  test('does not run an interrupted command again without `retries`', async () => {
    const { uuid } = await runs.start({
      once: shellNode('echo once >> log; sleep 600'),
      again: shellNode(`echo again >> log; ${waitForFileCommand('go')}`, { retries: 1 }),
      after: shellNode('true', { depends_on: ['once'] }),
    })
    await runs.waitForRun(uuid, ({ nodes }) => nodes.filter(({ process }) => process?.status === 'working').length === 2)
    await waitUntil(() => existsSync(join(daemon.work, 'log')) && readLog().length === 2, 'both commands run')
    await daemon.stop()
    createFile('go')
    await daemon.start()
    const end = await runs.waitForEnd(uuid)
    expect(stateList(end)).toBe('once failed, again completed, after blocked')
    expect(end.nodes[0]?.reason).toMatch(/interrupted.*, and it cannot continue where it was/)
    expect(readLog().sort()).toEqual(['again', 'again', 'once'])
  })
})
