// Defects of an orchestrator of coordinators and workers, one by one: `orchestrator defect N` names a defect that must not happen here.
// The defects here concern processes, their turns, messages, streams and ends, and are tested on daemons. orchestrator-defects-crew.test.ts
// has those of crews; some defects are tested on single state machines elsewhere. The last test here checks that each defect has a test.
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../src/api/views/daemon.ts'
import { MAX_LINE_BYTES } from '../../src/drivers/command/output-splitters.ts'
import * as lines from '../support/agents/agent-lines.ts'
import { writeScriptedProgram } from '../support/programs/scripted-program.ts'
import { DaemonHome } from '../support/daemon/daemon-home.ts'
import { testEnv } from '../support/env.ts'
import { killRemaining, findProcessesWith, newToken } from '../support/living-processes.ts'
import { waitUntil } from '../support/wait-until.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer } from '../support/models/model-server.ts'
import { Repository } from '../support/git/repository.ts'
import { readSources } from '../support/source.ts'
import type { ScriptedAct } from '../support/programs/json-agent.ts'

/** The limit of tests that start several programs, on a busy machine. */
const LONG_TEST = { timeout: 300_000 }

let open: AsyncDisposableStack
beforeEach(() => {
  open = new AsyncDisposableStack()
})
afterEach(() => open.disposeAsync())

const start = async (config?: string): Promise<LocalDaemon> => open.use(await LocalDaemon.start(config === undefined ? {} : { config }))
const MODEL = 'anthropic/claude-sonnet-4-5'

interface Served {
  readonly server: ModelServer
  readonly daemon: LocalDaemon
  readonly env: Record<string, string>
}

/** Starts a daemon with a model provider on this machine. */
async function withModel(answer: () => ServedAnswer): Promise<Served> {
  const server = open.use(await startModelServer(answer))
  const daemon = await start(`providers: [{ name: anthropic, kind: anthropic, baseURL: "${server.url}/v1", apiKeyEnv: MODEL_API_KEY }]\n`)
  return { server, daemon, env: testEnv(daemon.work, { MODEL_API_KEY: 'key-for-tests' }) }
}

const eventsOf = (events: readonly EventView[], ...facts: string[]): EventView[] =>
  events.filter((event) => facts.includes(String(event['fact'])))

function scriptOf(dir: string, script: object): string {
  writeFileSync(join(dir, 'rules.yaml'), JSON.stringify(script))
  return `script:${join(dir, 'rules.yaml')}`
}

/** The messages that the process received, in the order of their turns. */
async function messagesOf(daemon: LocalDaemon, uuid: string): Promise<unknown[]> {
  const events = await daemon.readHistory(uuid)
  const texts = new Map(eventsOf(events, 'process.queue').map((event) => [event['id'], event['text']]))
  return eventsOf(events, 'process.incoming').map((event) => texts.get(event['id']))
}

describe('turns and messages', () => {
  test('orchestrator defect 3: one failed turn does not make later turns fail', async () => {
    const daemon = await start()
    const { uuid } = await daemon.spawnScripted([], {
      interactive: true,
      model: scriptOf(daemon.work, {
        rules: [
          { when: 'bad', steps: [{ error: { message: 'no', status: 400 } }] },
          { when: 'good', steps: [{ text: '{{ message }}' }] },
        ],
      }),
    })
    for (const [turn, words] of [
      [1, 'bad'],
      [2, 'good one'],
      [3, 'good two'],
    ] as const) {
      await daemon.send(uuid, words)
      await daemon.waitForView(uuid, (view) => view.turn === turn && view.status === 'ready')
    }
    const turnEnds = eventsOf(await daemon.readHistory(uuid), 'process.ready').slice(1)
    expect(turnEnds.map(({ outcome, error, result }) => [outcome, error ?? null, result ?? null])).toEqual([
      ['error', 'no', null],
      ['ok', null, 'good one'],
      ['ok', null, 'good two'],
    ])
  })

  test('orchestrator defect 4: a message does not wake a paused or stopped process', async () => {
    const daemon = await start()
    const pausedProcess = await daemon.spawnScripted([{ text: 'one' }], { interactive: true })
    await daemon.waitUntilReady(pausedProcess.uuid)
    await daemon.pause(pausedProcess.uuid)
    expect(await daemon.send(pausedProcess.uuid, 'wake up')).toMatchObject({ queueCount: 1 })
    const stoppedProcess = await daemon.spawnScripted([{ text: 'one' }], { interactive: true })
    await daemon.signal(stoppedProcess.uuid, 'SIGTERM')
    await daemon.waitForEnd(stoppedProcess.uuid)
    await expect(daemon.send(stoppedProcess.uuid, 'wake up')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    // A third process works from start to end meanwhile: the first had every occasion to begin.
    const third = await daemon.spawnScripted([{ text: 'done' }])
    await daemon.waitForEnd(third.uuid)
    expect(await daemon.view(pausedProcess.uuid)).toMatchObject({ status: 'suspended', turn: 0, queueCount: 1 })
    expect(await daemon.view(stoppedProcess.uuid)).toMatchObject({ status: 'stopped' })
    expect(eventsOf(await daemon.readHistory(pausedProcess.uuid), 'model.started')).toEqual([])
    await daemon.resume(pausedProcess.uuid)
    await daemon.waitForView(pausedProcess.uuid, (view) => view.turn === 1 && view.status === 'ready')
    expect(await messagesOf(daemon, pausedProcess.uuid)).toEqual(['wake up'])
  })

  test('orchestrator defect 4: a turn that ends late makes neither a paused nor a stopped process ready', async () => {
    const release = Promise.withResolvers<void>()
    const { daemon, env } = await withModel(() => ({ text: 'late', hangAfterBytes: 10, restAfter: release.promise }))
    const [pausedProcess, stoppedProcess] = await Promise.all(
      [1, 2].map(() => daemon.spawn({ model: MODEL, intent: 'go', interactive: true, env })),
    )
    if (!pausedProcess || !stoppedProcess) throw new Error('they were not started')
    for (const { uuid } of [pausedProcess, stoppedProcess]) await daemon.waitForEvent(uuid, (event) => event['fact'] === 'model.started')
    await daemon.pause(pausedProcess.uuid)
    await daemon.signal(stoppedProcess.uuid, 'SIGTERM')
    release.resolve()
    await daemon.waitForEvent(pausedProcess.uuid, (event) => event['fact'] === 'process.ready' && event['turn'] === 1)
    expect(await daemon.view(pausedProcess.uuid)).toMatchObject({ status: 'suspended', lastText: 'late' })
    expect((await daemon.waitForEnd(stoppedProcess.uuid)).status).toBe('stopped')
    expect(eventsOf(await daemon.readHistory(stoppedProcess.uuid), 'process.ready').map(({ turn }) => turn)).toEqual([0])
  })

  test('orchestrator defect 5: a process works at one turn at a time, whatever arrives during it', async () => {
    const daemon = await start()
    const { uuid } = await daemon.spawnScripted(
      Array.from({ length: 6 }, (_, index) => ({ text: `answer ${index}`, delay_ms: 60 })),
      { interactive: true },
    )
    await daemon.waitUntilReady(uuid)
    await daemon.send(uuid, 'first')
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'model.started')
    await Promise.all(['b', 'c', 'd'].map((text) => daemon.send(uuid, text)))
    await daemon.waitForView(uuid, (view) => view.status === 'ready' && view.queueCount === 0)
    const turnEvents = eventsOf(await daemon.readHistory(uuid), 'process.working', 'process.ready').map(
      (event) => `${event['fact']} ${event['turn']}`,
    )
    const turns = turnEvents.filter((each) => each.startsWith('process.working')).length
    expect(turnEvents.slice(1)).toEqual(
      Array.from({ length: turns }, (_, index) => [`process.working ${index + 1}`, `process.ready ${index + 1}`]).flat(),
    )
    expect((await messagesOf(daemon, uuid)).toSorted()).toEqual(['b', 'c', 'd', 'first'])
  })

  test('orchestrator defect 6: queued messages keep their order when the daemon dies before their delivery', LONG_TEST, async () => {
    const home = open.use(await DaemonHome.create())
    await home.start()
    const { uuid } = await home.spawn({
      model: home.writeScript([
        { tools: [{ name: 'bash', input: { command: 'exec sleep 600' } }] },
        ...Array.from({ length: 9 }, () => ({ text: 'y' })),
      ]),
      interactive: true,
      intent: 'first',
    })
    const send = (text: string): Promise<unknown> => home.client.post(`/v1/processes/${uuid}/send`, { text })
    await home.waitForView(uuid, ({ step }) => step === 1)
    for (const text of ['a', 'b', 'c']) await send(text)
    await home.kill()
    await home.start()
    await home.resume(uuid)
    for (const text of ['d', 'e']) await send(text)
    await home.waitForView(uuid, ({ status, queueCount }) => status === 'ready' && queueCount === 0)
    const events = await home.readEvents()
    const texts = new Map(eventsOf(events, 'process.queue').map((event) => [event['id'], event['text']]))
    expect(eventsOf(events, 'process.incoming').map((event) => texts.get(event['id']))).toEqual(['first', 'a', 'b', 'c', 'd', 'e'])
  })

  test('orchestrator defect 8: the role prompt is in every turn, also after a resume', async () => {
    const { server, daemon, env } = await withModel(() => ({ text: 'yes' }))
    mkdirSync(join(daemon.work, '.reeve/agents'), { recursive: true })
    writeFileSync(join(daemon.work, '.reeve/agents/worker.md'), `---\nmodel: ${MODEL}\n---\nYou are worker 7.\n`)
    const { uuid } = await daemon.spawn({ agent: 'worker', intent: 'one', env })
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { message: 'two', env })
    await daemon.waitForEnd(uuid)
    await daemon.restart()
    await daemon.resume(uuid, { message: 'three', env })
    await daemon.waitForEnd(uuid)
    const systemPrompts = server.requests.filter(({ body }) => 'messages' in body).map(({ body }) => JSON.stringify(body['system']))
    expect(systemPrompts.length).toBe(3)
    expect(systemPrompts.every((system) => system.includes('You are worker 7.'))).toBe(true)
    expect(new Set(systemPrompts).size).toBe(1)
  })
})

describe('programs and streams', () => {
  test(
    'orchestrator defect 9: no program outlives its process, and a stopped process counts as stopped, not failed',
    LONG_TEST,
    async () => {
      const home = open.use(await DaemonHome.create())
      const token = newToken()
      try {
        await home.start()
        const tree = `setsid sh -c 'sleep 3600.${token} & exec sleep 3601.${token}' & (sleep 3602.${token} &) ; exec sleep 3603.${token}`
        const { uuid } = await home.spawn({ argv: ['sh', '-c', tree] })
        await waitUntil(() => findProcessesWith(token).filter(({ argv }) => argv[0] === 'sleep').length === 4, 'all four sleep')
        await home.signal(uuid, { signal: 'SIGTERM', graceMs: 10_000 })
        expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143 } })
        await waitUntil(() => findProcessesWith(token).length === 0, 'nothing is left')
      } finally {
        killRemaining(token)
      }
    },
  )

  /** Runs a program that prints `firstActs` and then a turn of Claude Code in its output format; returns the UUID. */
  const runClaude = async (daemon: LocalDaemon, firstActs: readonly ScriptedAct[]): Promise<string> => {
    const program = await writeScriptedProgram(await mkdtemp(join(daemon.work, 'claude-')), 'claude', [
      ...firstActs,
      ...lines.CLAUDE_TOOLS.map((line) => ({ line })),
    ])
    return (await daemon.spawn({ argv: [program, '-p', 'say hello', '--output-format', 'stream-json', '--verbose'] })).uuid
  }

  test('orchestrator defect 10: a line above the size limit does not block a turn', async () => {
    const daemon = await start()
    const uuid = await runClaude(daemon, [{ raw: 'x'.repeat(4 * MAX_LINE_BYTES) }, { raw: '\n' }])
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'It is done.' })
  })

  test('orchestrator defect 10: a result and its cost are never lost, even if the program exits right after them', LONG_TEST, async () => {
    const daemon = await start()
    const uuids = await Promise.all(Array.from({ length: 20 }, () => runClaude(daemon, [])))
    const views = await Promise.all(uuids.map((uuid) => daemon.waitForEnd(uuid)))
    expect(views.map(({ status, usage, lastText }) => [status, usage.costUsd?.toFixed(5), lastText])).toEqual(
      uuids.map(() => ['completed', '0.01032', 'It is done.']),
    )
  })

  test('orchestrator defect 16: the tokens and the cost of a message in several blocks count once, also those of the cache', async () => {
    const daemon = await start()
    const { usage } = await daemon.waitForEnd(await runClaude(daemon, []))
    // The last line has the right totals: 2,000 in, 600 and 40 of the cache, 100 out, for two messages in four blocks.
    expect(usage).toMatchObject({ inputTokens: 2_000, cacheReadTokens: 600, cacheWriteTokens: 40, outputTokens: 100, steps: 2 })
    expect(usage.costUsd).toBeCloseTo(0.01032, 8)
  })

  test('orchestrator defect 13: a slow follower loses no event, and delays no process', LONG_TEST, async () => {
    const daemon = await start()
    const slowFollower = await followSlowly(daemon)
    const { uuid } = await daemon.spawnShell(`yes ${'x'.repeat(100)} | head -c 20000000`)
    await daemon.waitForEnd(uuid)
    const storedSeqs = (await daemon.readHistory(uuid)).map(({ seq }) => seq)
    expect(storedSeqs.length).toBeGreaterThan(100)
    const followedSeqs: number[] = []
    for await (const event of slowFollower) {
      if (event.uuid === uuid) followedSeqs.push(event.seq)
      if (event.uuid === uuid && event['fact'] === 'process.reaped') break
    }
    expect(followedSeqs).toEqual(storedSeqs)
  })
})

test(
  "orchestrator defect 15: a hanging git of the daemon's own stops no other process, and does not outlive the daemon",
  LONG_TEST,
  async () => {
    const daemon = await start()
    const token = newToken()
    const repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
    repository.commit({ 'a.txt': 'a' })
    const tools = join(daemon.work, 'tools')
    mkdirSync(tools)
    writeFileSync(join(tools, 'git'), `#!/bin/sh\nexec sleep 3600.${token}\n`, { mode: 0o755 })
    try {
      const env = testEnv(daemon.work)
      const stuckCall = daemon
        .spawn({
          model: await daemon.writeScript([{ text: 'x' }]),
          cwd: repository.dir,
          worktree: true,
          env: { ...env, PATH: `${tools}:${env['PATH']}` },
        })
        .catch((error: unknown) => error)
      await waitUntil(() => findProcessesWith(token).length > 0, 'git hangs')
      const other = await daemon.spawnScripted([{ tools: [{ name: 'ls', input: {} }] }, { text: 'done' }], {
        cwd: repository.dir,
        worktree: true,
      })
      expect(await daemon.waitForEnd(other.uuid)).toMatchObject({ status: 'completed' })
      await daemon.stop()
      await stuckCall
      await waitUntil(() => findProcessesWith(token).length === 0, 'nothing is left')
    } finally {
      killRemaining(token)
    }
  },
)

/** A follower of all events that has read one event, and reads the rest on demand. */
async function followSlowly(daemon: LocalDaemon): Promise<AsyncGenerator<EventView>> {
  const allEvents = daemon.client.events('/v1/events', { query: { after: 0, follow: true } })
  const events = allEvents[Symbol.asyncIterator]() as AsyncGenerator<EventView>
  const first = await daemon.spawnShell('true')
  await daemon.waitForEnd(first.uuid)
  await events.next()
  return events
}

test('each of the eighteen defects has a test', () => {
  const namedDefects = readSources('test', '.ts').flatMap(({ raw }) =>
    [...raw.matchAll(/(?:test|it|describe)(?:\.each\(.*?\))?\(\s*["'`]orchestrator defect (\d+):/gs)].map(([, number]) => Number(number)),
  )
  expect(Array.from({ length: 18 }, (_, index) => index + 1).filter((number) => !namedDefects.includes(number))).toEqual([])
})
