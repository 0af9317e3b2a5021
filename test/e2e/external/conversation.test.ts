// Conversations with agents whose program answers once and exits, through the daemon. The agents are ready between their turns, and take
// messages, signals, pauses and budgets as ACP agents do. Their session continues after a restart, after a kill and in a fork.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as lines from '../../support/agents/agent-lines.ts'
import { writeProgramOfTurns } from '../../support/programs/scripted-program.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { ScriptedAct } from '../../support/programs/json-agent.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

let daemon: LocalDaemon
beforeAll(async () => {
  daemon = await LocalDaemon.start()
})
afterAll(async () => {
  expect(daemon.errors).toEqual([])
  await daemon[Symbol.asyncDispose]()
})

const asLines = (items: readonly object[]): ScriptedAct[] => items.map((line) => ({ line }))
const HANGING_TURN: ScriptedAct[] = [...asLines(lines.CLAUDE_TOOLS.slice(0, 4)), { hang: true }]
const RESUMED_LINES = asLines(lines.CLAUDE_RESUMED)
const FLAGS = ['-p', '--output-format', 'stream-json', '--verbose']
const RESUMED_ARGS = [...FLAGS, '--resume', '6528ff20-b72b-4b73-ac46-b42cd138b7d7', '--']

/** Writes an agent file whose program plays these turns; returns its name and a reader of its arguments. */
async function writePlayedAgent(
  work: string,
  turns: readonly (readonly ScriptedAct[])[],
  more: readonly string[] = [],
  system = '',
): Promise<{ readonly agent: string; calls(): Promise<string[][]> }> {
  const dir = await mkdtemp(join(work, 'talker-'))
  const { program, readCalls } = await writeProgramOfTurns(dir, 'claude', turns)
  const agents = join(work, '.reeve/agents')
  await mkdir(agents, { recursive: true })
  await writeFile(
    join(agents, `${basename(dir)}.md`),
    `---\ndriver: command\ncommand: ${JSON.stringify([program, ...FLAGS, ...more])}\n---\n${system}`,
  )
  return { agent: basename(dir), calls: readCalls }
}

async function startConversation(
  turns: readonly (readonly ScriptedAct[])[],
  body: Partial<SpawnBody> = {},
): Promise<{ readonly view: ProcessView; readonly uuid: string; calls(): Promise<string[][]> }> {
  const { agent, calls } = await writePlayedAgent(daemon.work, turns)
  const view = await daemon.spawn({ agent, interactive: true, ...body })
  return { view, uuid: view.uuid, calls }
}

const waitForModelAnswer = (uuid: string): Promise<unknown> => daemon.waitForEvent(uuid, ({ fact }) => fact === 'model.finished')
const waitForTurns = (uuid: string, count: number): Promise<ProcessView> =>
  daemon.waitForView(uuid, ({ turn, status }) => turn === count && status === 'ready')

describe('a conversation', () => {
  test('is ready for a message at its start and after each answer, and ends by a signal', async () => {
    const { uuid, calls } = await startConversation([asLines(lines.CLAUDE_TOOLS), RESUMED_LINES], { intent: 'begin' })
    expect(await waitForTurns(uuid, 1)).toMatchObject({ step: 2, sessionId: '6528ff20-b72b-4b73-ac46-b42cd138b7d7', activity: 'ready' })
    await daemon.send(uuid, 'go on')
    const view = await waitForTurns(uuid, 2)
    expect(view.usage).toMatchObject({
      steps: 3,
      turns: 2,
      toolCalls: 2,
      inputTokens: 3000,
      outputTokens: 150,
      cacheReadTokens: 900,
      cacheWriteTokens: 60,
    })
    expect(view.usage.costUsd).toBeCloseTo(0.01548, 10)
    expect(await calls()).toEqual([
      [...FLAGS, '--', 'begin'],
      [...RESUMED_ARGS, 'go on'],
    ])
    await daemon.signal(uuid, 'SIGTERM')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143 } })
  })

  test('begins with the prompt of its agent file, once', async () => {
    const { agent, calls } = await writePlayedAgent(daemon.work, [asLines(lines.CLAUDE_TOOLS), RESUMED_LINES], [], 'You are brief.\n')
    const { uuid } = await daemon.spawn({ agent, interactive: true, intent: 'begin' })
    await waitForTurns(uuid, 1)
    await daemon.send(uuid, 'go on')
    await waitForTurns(uuid, 2)
    expect((await calls()).map((args) => args.at(-1))).toEqual(['You are brief.\n\nbegin', 'go on'])
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('queues messages during a turn, and SIGINT ends the turn', async () => {
    const { uuid, calls } = await startConversation([HANGING_TURN, RESUMED_LINES])
    await daemon.waitUntilReady(uuid)
    await daemon.send(uuid, 'one')
    await waitForModelAnswer(uuid)
    await daemon.send(uuid, 'two')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'working', queueCount: 1 })
    await daemon.signal(uuid, 'SIGINT')
    expect(await waitForTurns(uuid, 2)).toMatchObject({ queueCount: 0 })
    const endedTurns = (await daemon.readHistory(uuid))
      .filter(({ fact, turn }) => fact === 'process.ready' && turn !== 0)
      .map(({ turn, outcome }) => [turn, outcome])
    expect(endedTurns).toEqual([
      [1, 'interrupted'],
      [2, 'ok'],
    ])
    expect((await calls()).map((args) => args.at(-1))).toEqual(['one', 'two'])
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('reports a failed turn, and continues', async () => {
    const { uuid } = await startConversation([[...asLines(lines.CLAUDE_REFUSED), { exit: 1 }], RESUMED_LINES], { intent: 'begin' })
    await daemon.waitForEvent(
      uuid,
      ({ fact, turn, outcome, error }) =>
        fact === 'process.ready' && turn === 1 && outcome === 'error' && error === 'API Error: 400 bad thing',
    )
    await daemon.send(uuid, 'again')
    expect(await waitForTurns(uuid, 2)).toMatchObject({ status: 'ready' })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })
})

describe('a pause', () => {
  test('in a turn freezes the turn; between turns nothing begins until the resume', async () => {
    const goFile = join(daemon.work, 'go-on')
    const { uuid, calls } = await startConversation(
      [[...asLines(lines.CLAUDE_TOOLS.slice(0, 4)), { until: goFile }, ...asLines(lines.CLAUDE_TOOLS.slice(4))], RESUMED_LINES],
      { intent: 'begin' },
    )
    await waitForModelAnswer(uuid)
    await daemon.pause(uuid, { now: true })
    await daemon.waitForEvent(uuid, ({ fact, inFlight }) => fact === 'process.frozen' && inFlight === 'a turn of the agent')
    await writeFile(goFile, '')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', turn: 1, step: 1 })
    await daemon.resume(uuid)
    await waitForTurns(uuid, 1)
    await daemon.pause(uuid)
    await daemon.send(uuid, 'more')
    await daemon.waitForEvent(uuid, ({ fact, inFlight }) => fact === 'process.frozen' && inFlight === null)
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', turn: 1, queueCount: 1 })
    await daemon.resume(uuid)
    await waitForTurns(uuid, 2)
    expect((await calls()).length).toBe(2)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('by a budget holds the process between turns, until it has more', async () => {
    const { uuid, calls } = await startConversation([asLines(lines.CLAUDE_TOOLS), RESUMED_LINES], {
      intent: 'begin',
      limits: { budgetTokens: 1_000 },
    })
    await daemon.waitForView(uuid, ({ holds }) => holds.some(({ reason }) => reason === 'budget'))
    await daemon.send(uuid, 'more')
    await daemon.resume(uuid, { raise: { budgetTokens: 10_000 } })
    await waitForTurns(uuid, 2)
    expect((await calls()).length).toBe(2)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })
})

test('a rate limit holds the process in its turn, which continues after a resume', async () => {
  const error = 'usage limit reached: try again in 2 hours'
  const limitedLines = lines.CLAUDE_TOOLS.map((line) =>
    'subtype' in line && line.subtype === 'success' ? { ...line, is_error: true, result: error } : line,
  )
  const { uuid, calls } = await startConversation([asLines(limitedLines), RESUMED_LINES], { intent: 'begin' })
  expect(await daemon.waitForView(uuid, ({ status }) => status === 'suspended')).toMatchObject({
    turn: 1,
    holds: [{ reason: 'rate-limit' }],
    resumeAt: expect.any(String) as string,
  })
  await daemon.resume(uuid)
  await waitForTurns(uuid, 1)
  expect((await calls()).at(-1)?.at(-1)).toMatch(/^Your last turn was cut off\./)
  await daemon.signal(uuid, 'SIGKILL')
  await daemon.waitForEnd(uuid)
})

describe('its session', () => {
  test('continues after its end, with a message', async () => {
    const { uuid, calls } = await startConversation([asLines(lines.CLAUDE_TOOLS), RESUMED_LINES], { intent: 'begin' })
    await waitForTurns(uuid, 1)
    await daemon.signal(uuid, 'SIGTERM')
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { message: 'and now' })
    expect(await waitForTurns(uuid, 2)).toMatchObject({ step: 3 })
    expect((await calls()).at(-1)).toEqual([...RESUMED_ARGS, 'and now'])
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('is copied for a fork, which gets its own; the origin continues', async () => {
    const { uuid, calls } = await startConversation([asLines(lines.CLAUDE_TOOLS), asLines(lines.CLAUDE_FORKED), RESUMED_LINES], {
      intent: 'begin',
    })
    await waitForTurns(uuid, 1)
    const { process } = await daemon.resume(uuid, { fork: true, message: 'another way' })
    expect(await waitForTurns(process.uuid, 2)).toMatchObject({ step: 3, originStep: 2, sessionId: '926592e8-edd5-429a-af35-2cdc32fc6989' })
    await daemon.send(uuid, 'go on')
    await waitForTurns(uuid, 2)
    expect((await calls()).slice(1)).toEqual([
      [...RESUMED_ARGS.slice(0, -1), '--fork-session', '--', 'another way'],
      [...RESUMED_ARGS, 'go on'],
    ])
    for (const one of [uuid, process.uuid]) {
      await daemon.signal(one, 'SIGKILL')
      await daemon.waitForEnd(one)
    }
  })

  test('without an id cannot continue, and a new one begins', async () => {
    const { uuid, calls } = await startConversation([[{ raw: 'it has begun\n' }, { hang: true }], asLines(lines.CLAUDE_TOOLS)], {
      intent: 'begin',
    })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.output')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    await expect(daemon.resume(uuid)).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
    await daemon.resume(uuid, { rerun: true })
    await waitForTurns(uuid, 2)
    expect(await calls()).toEqual([
      [...FLAGS, '--', 'begin'],
      [...FLAGS, '--', 'begin'],
    ])
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })
})

describe('a conversation is refused', () => {
  test("when the program's output is unknown, or its sessions are not stored", async () => {
    const { agent } = await writePlayedAgent(daemon.work, [], ['--no-session-persistence'])
    await expect(daemon.spawn({ agent, interactive: true })).rejects.toMatchObject({
      code: 'INVALID',
      message: `agent "${agent}" takes no messages while it runs: its command line disables the sessions of Claude Code, and each message continues a session`,
    })
    await writeFile(join(daemon.work, '.reeve/agents/plain.md'), '---\ndriver: command\ncommand: ["true"]\n---\n')
    await expect(daemon.spawn({ agent: 'plain', interactive: true })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining(
        'agent "plain" takes no messages while it runs: the output of its program is not understood',
      ) as string,
    })
  })

  test('for a typed command line, because the position of its prompt is unknown', async () => {
    await expect(daemon.spawn({ argv: ['claude', ...FLAGS, 'hello'], interactive: true })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('has no interactive') as string,
    })
  })
})

test.each([
  ['in a turn', HANGING_TURN, /^Your last turn was cut off\./, 'working'],
  ['between turns', asLines(lines.CLAUDE_TOOLS), /^more$/, 'ready'],
] as const)(
  'a daemon that is killed %s leaves nothing running; the conversation continues its session',
  async (_when, first, expected, activity) => {
    await using home = await DaemonHome.create()
    const { agent, calls } = await writePlayedAgent(home.work, [first, RESUMED_LINES])
    await home.start()
    const { uuid } = await home.spawn({ agent, interactive: true, intent: 'begin' })
    await home.waitForView(uuid, (view) => view.step > 0 && view.activity === activity)
    await home.kill()
    await home.waitUntilNothingIsLeft()
    await home.start()
    expect(await home.view(uuid)).toMatchObject({ status: 'interrupted' })
    await home.resume(uuid, activity === 'ready' ? { message: 'more' } : {})
    await home.waitForView(uuid, ({ status, activity: now }) => status === 'ready' && now === 'ready')
    const lastCall = (await calls()).at(-1) ?? []
    expect(lastCall.slice(0, -1)).toEqual(RESUMED_ARGS)
    expect(lastCall.at(-1)).toMatch(expected)
    await home.stop()
    await home.waitUntilNothingIsLeft()
  },
  120_000,
)

test('a restarted daemon restores a conversation, between turns and in one', async () => {
  await using home = await DaemonHome.create()
  const { agent, calls } = await writePlayedAgent(home.work, [asLines(lines.CLAUDE_TOOLS), HANGING_TURN, RESUMED_LINES])
  await home.start()
  const { uuid } = await home.spawn({ agent, interactive: true, intent: 'begin' })
  const viewBefore = await home.waitForView(uuid, ({ turn, activity }) => turn === 1 && activity === 'ready')
  await home.stop()
  await home.start()
  await home.waitForView(uuid, ({ status }) => status === 'ready')
  await home.client.post(`/v1/processes/${uuid}/send`, { text: 'more' })
  await home.waitForView(uuid, ({ step }) => step === 3)
  expect((await calls()).at(-1)).toEqual([...RESUMED_ARGS, 'more'])
  await home.stop()
  await home.waitUntilNothingIsLeft()
  await home.start()
  expect(await home.waitForView(uuid, ({ turn, status }) => turn === 2 && status === 'ready')).toMatchObject({
    sessionId: viewBefore.sessionId,
    step: 4,
  })
  expect((await calls()).at(-1)?.at(-1)).toMatch(/^Your last turn was cut off\./)
  await home.stop()
  await home.waitUntilNothingIsLeft()
}, 300_000)
