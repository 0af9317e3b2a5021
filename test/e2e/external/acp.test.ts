// Agents that speak ACP, through the daemon: from an agent file to the exit status, with questions, pauses, stops,
// resumes and limits in between. After each end nothing of them is left.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, SpawnBody, SteerView } from '../../../src/api/views/process.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))

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

function answer(uuid: string, body: object): Promise<SteerView> {
  return daemon.client.post(`/v1/processes/${uuid}/answer`, body)
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
    ['crash 3', { status: 'failed', exit: { code: 3, reason: 'the agent ended in its turn: exit code 3: it broke: no more ink' } }],
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

describe('a question', () => {
  test('makes it wait; after the answer it continues', async () => {
    const { uuid } = await run('ask execute rm x\nsay thanks')
    const waiting = await daemon.waitForStatus(uuid, 'waiting')
    expect(waiting.asks).toMatchObject([
      { kind: 'permission', text: 'rm x (execute)\n{"command":"rm x"}', options: [{ id: 'yes' }, { id: 'always' }, { id: 'no' }] },
    ])
    await expect(answer(uuid, { option: 'perhaps' })).rejects.toMatchObject({ code: 'INVALID' })
    await answer(uuid, { option: 'yes' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', asks: [] })
    expect(readLogLines()).toContain('answer: yes')
  })

  test('does not appear where a rule answers it', async () => {
    const { uuid } = await run('ask execute rm x', { more: ['permissions: { default: deny, tools: { execute: allow } }'] })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(await daemon.readFactTypes(uuid)).not.toContain('process.waiting')
    expect(readLogLines()).toContain('answer: yes')
  })

  test('answered during a pause is delivered after it, and the process is frozen meanwhile', async () => {
    const { uuid } = await run('ask execute rm x\nsay thanks')
    await daemon.waitForStatus(uuid, 'waiting')
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, (event) => event['fact'] === 'process.frozen')
    await answer(uuid, { option: 'no' })
    expect(readLogLines().filter((line) => line.startsWith('answer'))).toEqual([])
    await daemon.resume(uuid)
    await daemon.waitForEnd(uuid)
    expect(readLogLines()).toContain('answer: no')
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
      'it gets the prompt to go on',
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

  test('ends with an interruption of its turn, and reads the next message', async () => {
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
})

test('an agent that cannot be used reports the reason', async () => {
  const { uuid } = await run('say x', { as: ['old'] })
  expect(await daemon.waitForEnd(uuid)).toMatchObject({
    status: 'failed',
    exit: { code: 1, reason: expect.stringContaining('it speaks version 0 of the protocol') as string },
  })
})
