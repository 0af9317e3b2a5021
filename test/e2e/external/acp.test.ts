// The life of an agent that speaks ACP, through the daemon: its run, usage, pauses and limits, and its session after stops and restarts.
// After each end, none of its programs is left. questions.test.ts has its questions.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testEnv } from '../../support/env.ts'
import type { ProcessView, SpawnBody, StepView } from '../../../src/api/views/process.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))
/** The agent keeps its sessions and can end one. */
const SESSION = ['resume', 'close']

let daemon: LocalDaemon
let token: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  token = newToken()
})
afterEach(async () => {
  try {
    await daemon[Symbol.asyncDispose]()
    expect(findProcessesWith(token)).toEqual([])
    expect(daemon.errors).toEqual([])
  } finally {
    killRemaining(token)
  }
})

/** Starts the scripted agent by an agent file of the user. `options` are its arguments. */
async function run(
  intent: string,
  { as = [], more = [], ...body }: Partial<SpawnBody> & { as?: readonly string[]; more?: readonly string[] } = {},
): Promise<ProcessView> {
  const argv = [process.execPath, PROGRAM, token, `log=${logFile()}`, `sessions=${daemon.work}`, ...as]
  mkdirSync(daemon.paths.agentsDir, { recursive: true })
  writeFileSync(
    join(daemon.paths.agentsDir, 'fake.md'),
    `---\nname: fake\ndescription: A scripted agent.\ndriver: acp\nasks: true\ncommand: ${JSON.stringify(argv)}\n${more.map((line) => `${line}\n`).join('')}---\n`,
  )
  return daemon.spawn({ agent: 'fake', intent, ...body })
}

function logFile(): string {
  return join(daemon.work, 'agent.log')
}

function readLogLines(): readonly string[] {
  return existsSync(logFile()) ? readFileSync(logFile(), 'utf8').split('\n').filter(Boolean) : []
}

describe('a run', () => {
  test('ends with its result; steps, calls and costs are recorded, and no program is left', async () => {
    const { uuid } = await run(`say let me look\ntool execute ls\nstart-child ${token}\nusage 900 1000 0.25\nsay done`, {
      as: ['tokens', 'close'],
    })
    const endedView = await daemon.waitForEnd(uuid)
    expect(endedView).toMatchObject({
      status: 'completed',
      driver: 'acp',
      agent: 'fake',
      step: 2,
      exit: { code: 0 },
      sessionId: expect.stringMatching(/^s\d+$/) as string,
    })
    expect(endedView.usage).toMatchObject({
      steps: 2,
      toolCalls: 1,
      costUsd: 0.25,
      inputTokens: 100,
      outputTokens: 10,
      cacheReadTokens: 50,
      contextTokens: 900,
      contextWindow: 1000,
    })
    expect(readLogLines().slice(-2)).toEqual(['close', 'end of input'])
    expect((await daemon.readFactTypes(uuid)).filter((fact) => /^(model|tool)\./.test(fact))).toEqual([
      'model.started',
      'model.finished',
      'tool.started',
      'tool.finished',
      'model.started',
      'model.finished',
    ])
    expect(findProcessesWith(token)).toEqual([])
  })

  test.each([
    ['crash 3', { status: 'failed', exit: { code: 3, reason: 'the agent ended during its turn: exit code 3: it broke: no more ink' } }],
    ['error', { status: 'failed', exit: { code: 1, reason: 'Internal error: the provider is down' } }],
    ['stop refusal', { status: 'failed', exit: { code: 1, reason: 'the model refused to continue' } }],
  ])('that ends by `%s` has failed', async (act, expected) => {
    const { uuid } = await run(`say so\n${act}`)
    expect(await daemon.waitForEnd(uuid)).toMatchObject(expected)
  })

  test('is ended by its step limit', async () => {
    const { uuid } = await run('tool read a\ntool read b\ntool read c\nhang', { limits: { maxSteps: 2 } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ exit: { code: 1, reason: 'max steps exceeded' }, step: 2 })
    expect(findProcessesWith(token)).toEqual([])
  })

  test('over its budget is suspended and frozen', async () => {
    const { uuid } = await run('usage 1 1000 2\nsay x\nhang', { limits: { budgetUsd: 1 } })
    expect(await daemon.waitForStatus(uuid, 'suspended')).toMatchObject({ holds: [{ reason: 'budget' }], usage: { costUsd: 2 } })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.frozen')
    await daemon.signal(uuid, 'SIGKILL')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ exit: { reason: 'context cancelled while paused' } })
    expect(findProcessesWith(token)).toEqual([])
  })
})

describe('a session', () => {
  test('continues after a stop', async () => {
    const { uuid } = await run('say one', { as: ['resume'], interactive: true })
    await daemon.waitUntilReady(uuid)
    await daemon.signal(uuid, 'SIGTERM', { graceMs: 10_000 })
    const stoppedView = await daemon.waitForEnd(uuid)
    expect(stoppedView).toMatchObject({ status: 'stopped' })
    await daemon.resume(uuid, { message: 'say two' })
    const readyView = await daemon.waitForView(uuid, ({ status, turn }) => status === 'ready' && turn === 2)
    expect(readyView).toMatchObject({ sessionId: stoppedView.sessionId, step: 2 })
    expect(readLogLines().filter((line) => line.startsWith('prompt') || line.startsWith('resume'))).toEqual([
      'prompt "say one"',
      expect.stringMatching(/^resume /) as string,
      'prompt "say two"',
    ])
  })

  test('is restored after a restart of the daemon with its interrupted turn', async () => {
    const { uuid } = await run('say one\nhang', { as: ['load'], interactive: true })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'model.started')
    await daemon.pause(uuid, { now: true })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.frozen')
    await daemon.restart()
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended' })
    await daemon.resume(uuid)
    await waitUntil(
      () => readLogLines().some((line) => line.startsWith('prompt "Your last turn was cut off.')),
      'it gets the prompt to continue',
    )
    expect(readLogLines().filter((line) => line.startsWith('load '))).toHaveLength(1)
    expect(await daemon.waitUntilReady(uuid)).toMatchObject({ turn: 1 })
    // The interrupted step is repeated.
    await daemon.send(uuid, 'say two')
    expect(await daemon.waitForView(uuid, ({ status, turn }) => status === 'ready' && turn === 2)).toMatchObject({
      step: 1,
      lastText: 'two',
    })
    expect((await daemon.readHistory(uuid)).filter((event) => event['fact'] === 'process.note')).toEqual([])
  })

  test('survives an interruption of its turn, and reads the next message', async () => {
    const { uuid } = await run('say one\nslow', { interactive: true })
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'model.started')
    await daemon.signal(uuid, 'SIGINT')
    await daemon.waitUntilReady(uuid)
    await daemon.send(uuid, 'say two')
    expect(await daemon.waitForView(uuid, ({ status, turn }) => status === 'ready' && turn === 2)).toMatchObject({
      step: 2,
      lastText: 'two',
    })
    expect(readLogLines()).toContain('cancel')
  })

  test('continues after a resume, and after a restart of the daemon', async () => {
    const { uuid } = await run('say one', { as: SESSION, interactive: true })
    const viewBefore = await daemon.waitUntilReady(uuid)
    expect(viewBefore.sessionId).toMatch(/^s\d+$/)
    await daemon.restart()
    const viewAfter = await daemon.waitUntilReady(uuid)
    expect(viewAfter).toMatchObject({ sessionId: viewBefore.sessionId, turn: 1 })
    expect(viewAfter.pid).toBeGreaterThan(viewBefore.pid)
    await daemon.send(uuid, 'say two')
    await daemon.waitForEvent(uuid, ({ fact, turn }) => fact === 'process.ready' && turn === 2)
    await daemon.signal(uuid, 'SIGTERM')
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid, { message: 'say three' })
    await daemon.waitForEvent(uuid, ({ fact, turn }) => fact === 'process.ready' && turn === 3)
    expect(readLogLines().filter((line) => line.startsWith('resume '))).toHaveLength(2)
    expect(await daemon.view(uuid)).toMatchObject({ sessionId: viewBefore.sessionId, lastText: 'three' })
  })

  test("waits for the model's key that its environment had, and for no other variable", async () => {
    const env = { ...testEnv(daemon.work), ANTHROPIC_API_KEY: 'key of this shell', SOME_TOKEN: 'something else' }
    const { uuid } = await run('say one', { as: SESSION, interactive: true, env })
    await daemon.waitUntilReady(uuid)
    await daemon.restart()
    await daemon.waitForEvent(uuid, ({ fact, hold }) => fact === 'process.held' && JSON.stringify(hold).includes('credentials'))
    expect(await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.note')).toMatchObject({ text: 'needs ANTHROPIC_API_KEY' })
    await daemon.resume(uuid, { env: { ANTHROPIC_API_KEY: 'key of this shell' } })
    expect(await daemon.waitUntilReady(uuid)).toMatchObject({ status: 'ready', holds: [] })
  })

  test('that never began is not needed for a resume', async () => {
    const { uuid } = await run('say one', { as: ['dies'] })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'failed', sessionId: null })
    // There was no message yet, so there is nothing to lose: the agent begins.
    const { process } = await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ pid: process.pid, turn: 0, exit: { code: 5 } })
  })
})

describe('a pause', () => {
  test('lets the turn end, delivers nothing more, and freezes the process', async () => {
    const gateFile = join(daemon.work, 'gate')
    const { uuid } = await run(`wait ${gateFile}`, { as: SESSION, interactive: true })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.working')
    await daemon.pause(uuid)
    await daemon.send(uuid, 'say hello')
    writeFileSync(gateFile, '')
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.drained')
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', queueCount: 1, turn: 1 })
    await daemon.resume(uuid)
    await daemon.waitForEvent(uuid, ({ fact, turn }) => fact === 'process.ready' && turn === 2)
    expect(await daemon.view(uuid)).toMatchObject({ status: 'ready', queueCount: 0, lastText: 'hello' })
  })

  test('at once freezes the process in its turn, and a kill ends a frozen process', async () => {
    const { uuid } = await run('hang', { as: SESSION })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.working')
    await daemon.pause(uuid, { now: true })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    await daemon.signal(uuid, 'SIGTERM')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 1, reason: 'context cancelled while paused' } })
  })
})

test("an agent's usage is shown with the current step, and in its totals", async () => {
  const { uuid } = await run('tool read a.ts\nusage 500 1000 0.25\nsay done\nusage 600 1000 0.5', { as: SESSION })
  const view = await daemon.waitForEnd(uuid)
  expect(view.usage).toMatchObject({ costUsd: 0.75, contextTokens: 600, contextWindow: 1_000, unpriced: false })
  const { steps } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`)
  expect(steps.map(({ costUsd }) => costUsd)).toEqual([0.25, 0.5])
  const { steps: page } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`, { after: 1, limit: 1 })
  expect(page.map(({ step, costUsd }) => [step, costUsd])).toEqual([[2, 0.5]])
})

test('a budget in USD holds the agent at the report that exceeds the budget', async () => {
  const { uuid } = await run('say one\nusage 500 1000 2\nhang', { as: SESSION, limits: { budgetUsd: 1 } })
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
  expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', holds: [{ reason: 'budget' }], usage: { costUsd: 2 } })
  await daemon.resume(uuid, { limits: { budgetUsd: 1.5 } })
  expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', limits: { budgetUsd: 1.5 } })
  await daemon.resume(uuid, { raise: { budgetUsd: 1 } })
  expect(await daemon.view(uuid)).toMatchObject({
    holds: [],
    limits: { budgetUsd: 2.5 },
    metering: 'report',
    limitUse: [{ limit: 'budgetUsd', used: 2, of: 2.5, action: 'suspend', scope: null, source: 'process' }],
  })
})

test('an agent that cannot be used reports the reason', async () => {
  const { uuid } = await run('say x', { as: ['old'] })
  expect(await daemon.waitForEnd(uuid)).toMatchObject({
    status: 'failed',
    exit: { code: 1, reason: expect.stringContaining('it speaks version 0 of the protocol') as string },
  })
})

test('a missing program is reported with the command that installs it, and nothing is recorded', async () => {
  const spawned = daemon.spawn({ agent: 'claude', intent: 'hello', env: { ...testEnv(daemon.work), PATH: daemon.work } })
  await expect(spawned).rejects.toMatchObject({
    code: 'COMMAND_NOT_FOUND',
    message: 'claude-agent-acp: command not found',
    hint: 'Install it with `npm install -g @agentclientprotocol/claude-agent-acp`.',
  })
  expect((await daemon.client.get<{ processes: unknown[] }>('/v1/processes', { all: true })).processes).toEqual([])
})

test.each([
  [{ effort: 'high' as const }, 'agent "fake" has no effort'],
  [{ fallback: ['openai/x'] }, 'agent "fake" has no fallback'],
  [{ intent: '' }, 'no task: give an intent'],
  [{ deny: ['Bash'] }, 'there is no tool `Bash`'],
])('an option that the agent lacks, or an invalid one, is refused: %j', async (body, message) => {
  await expect(run('say one', body)).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining(message) })
})
