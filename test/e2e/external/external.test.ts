// External agents through the daemon: questions and answers, pauses, stops, and resumes of their session, by the API
// and by the command line. The agent is a real program that speaks ACP.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectSteerResponse } from '../../support/daemon/steer-response.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { testEnv } from '../../support/env.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import type { ProcessView, SpawnBody, SteerView, StepView } from '../../../src/api/views/process.ts'

const PROGRAM = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')

let daemon: LocalDaemon
let log: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  log = join(daemon.work, 'agent.log')
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeAgentFile('coder', 'resume', 'close')
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Writes an agent file; `options` are the arguments of its program. */
async function writeAgentFile(name: string, ...options: string[]): Promise<void> {
  const command = [process.execPath, PROGRAM, `sessions=${daemon.work}`, `log=${log}`, ...options]
  await writeFile(
    join(daemon.work, '.reeve/agents', `${name}.md`),
    `---\ndriver: acp\nasks: true\ncommand: ${JSON.stringify(command)}\n---\n`,
  )
}

const start = (intent: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> => daemon.spawn({ agent: 'coder', intent, ...body })
const answer = (ref: string, body: object): Promise<SteerView> => daemon.client.post(`/v1/processes/${ref}/answer`, body)
const waitForQuestion = async (ref: string): Promise<ProcessView> =>
  (await daemon.client.get<{ process: ProcessView }>(`/v1/processes/${ref}/wait`, { for: 'waiting' })).process
const readLogLines = async (): Promise<string[]> => (await readFile(log, 'utf8').catch(() => '')).split('\n')

describe('an agent that asks', () => {
  test('waits, is shown with its question, and continues after the answer', async () => {
    const { uuid } = await start('ask execute npm test')
    const asks = await waitForQuestion(uuid)
    expect(asks).toMatchObject({ status: 'waiting', activity: 'waiting', note: 'asks: npm test (execute)' })
    expect(asks.asks).toMatchObject([{ kind: 'permission', options: [{ id: 'yes', name: 'Allow' }, { id: 'always' }, { id: 'no' }] }])
    await expect(answer(uuid, { option: 'maybe' })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('one of yes, always, no, not "maybe"'),
      details: { options: expect.any(Array) },
    })
    await expect(answer(uuid, {})).rejects.toMatchObject({ code: 'INVALID' })
    expectSteerResponse(await answer(uuid, { option: 'yes' }))
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', asks: [], step: 1 })
    expect(await readLogLines()).toContain('answer: yes')
    await expect(answer(uuid, { option: 'yes' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('is shown with the change of a file, as the agent described it', async () => {
    const { uuid } = await start('ask-edit src/a.ts old new')
    const { asks } = await waitForQuestion(uuid)
    expect(asks).toMatchObject([
      {
        kind: 'permission',
        step: 1,
        message: 'I change src/a.ts.',
        source: 'said',
        tool: { name: 'edit', kind: 'edit', input: { file: 'src/a.ts' }, locations: ['src/a.ts'] },
        diff: [{ path: 'src/a.ts', old: 'old', new: 'new', oldKnown: true }],
      },
    ])
    await answer(uuid, { option: 'yes', seen: asks[0]?.hash })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
  })

  test('gets an answer that came during a pause after the resume', async () => {
    const { uuid } = await start('ask execute npm test')
    await waitForQuestion(uuid)
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    expect((await answer(uuid, { option: 'no' })).note).toContain('the process is suspended')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', asks: [] })
    expect(await readLogLines()).not.toContain('answer: no')
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(await readLogLines()).toContain('answer: no')
  })

  test('on the command line: the process, its question, and the answer by its number', async () => {
    const { uuid, pid } = await start('ask-twice execute npm test')
    await waitForQuestion(uuid)
    await daemon.waitForEvent(uuid, ({ fact, ask }) => fact === 'process.waiting' && JSON.stringify(ask).includes('npm test 2'))
    const cli = (...args: string[]): ReturnType<typeof runCli> => runCli(daemon.home, args, { cwd: daemon.work })
    expect((await cli('ps')).stdout).toContain('(and 1 more)')
    const listResult = await cli('answer', String(pid))
    expect(listResult.stdout).toMatch(
      /^\[1\] npm test 1 .*\n(.*\n)? {6}1 Allow\n {6}2 Always\n {6}3 Reject\n\n {6}`reeve answer --ask 1 \d+ NUMBER`\n\[2\]/,
    )
    expect(await cli('answer', String(pid), '1')).toMatchObject({ code: 64, stderr: expect.stringContaining('has 2 open questions') })
    expect(await cli('answer', String(pid), '--ask', '2', 'perhaps')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('1 Allow, 2 Always, 3 Reject'),
    })
    expect(await cli('answer', String(pid), '--ask', '2', '--no')).toMatchObject({ code: 0 })
    expect(await cli('answer', String(pid), '1')).toMatchObject({ code: 0, stderr: `answered: PID ${pid} goes on\n` })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect((await readLogLines()).filter((line) => line.startsWith('answer:')).toSorted()).toEqual(['answer: no', 'answer: yes'])
    expect((await cli('logs', String(pid))).stdout).toContain('answered: no (by user)')
  })

  test('does not ask when an answer for this process, or its agent file, decides', async () => {
    const allowed = await start('ask execute npm test', { permissions: 'allow' })
    expect(await daemon.waitForEnd(allowed.uuid)).toMatchObject({ status: 'completed' })
    const deniedView = await start('ask execute npm test', { permissions: 'deny' })
    await daemon.waitForEnd(deniedView.uuid)
    expect((await readLogLines()).filter((line) => line.startsWith('answer:'))).toEqual(['answer: yes', 'answer: no'])
  })

  test('has native children that ask, unless it is allowed all', async () => {
    const childOf = async (body: Partial<SpawnBody>): Promise<ProcessView> => {
      const parent = await start('say hello', { interactive: true, ...body })
      return daemon.spawnScripted([{ tools: [{ name: 'bash', input: { command: 'true' } }] }, { text: 'done' }], { parent: parent.uuid })
    }
    const { uuid } = await childOf({})
    expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ text: 'bash: true' }] })
    await answer(uuid, { option: 'allow' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', capabilities: { calls: { default: 'ask' } } })
    expect(await daemon.waitForEnd((await childOf({ permissions: 'allow' })).uuid)).toMatchObject({ capabilities: { calls: null } })
  })

  test('asks what it likes where its own settings decide, and cannot be limited then', async () => {
    const { uuid } = await start('ask execute npm test', { permissions: 'agent' })
    const { capabilities } = await waitForQuestion(uuid)
    expect(capabilities.calls).toMatchObject({ default: 'agent' })
    expect(capabilities.notes).toContain('permissions: its own settings decide what it asks about')
    await answer(uuid, { option: 'yes' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    await expect(start('say hello', { permissions: 'agent', deny: ['bash'] })).rejects.toMatchObject({ code: 'PERMISSION' })
  })
})

test('its usage is shown with the current step, and in its totals', async () => {
  const { uuid } = await start('tool read a.ts\nusage 500 1000 0.25\nsay done\nusage 600 1000 0.5')
  const view = await daemon.waitForEnd(uuid)
  expect(view.usage).toMatchObject({ costUsd: 0.75, contextTokens: 600, contextWindow: 1_000, unpriced: false })
  const { steps } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`)
  expect(steps.map(({ costUsd }) => costUsd)).toEqual([0.25, 0.5])
  const { steps: page } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`, { after: 1, limit: 1 })
  expect(page.map(({ step, costUsd }) => [step, costUsd])).toEqual([[2, 0.5]])
})

test('a budget in USD holds it at the report that exceeds it', async () => {
  const { uuid } = await start('say one\nusage 500 1000 2\nhang', { limits: { budgetUsd: 1 } })
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

describe.runIf(HAS_TERMINAL)('on a terminal', () => {
  test('a run shows the question, and takes the number', async () => {
    using terminal = new Terminal(daemon.home, ['run', '--cwd', daemon.work, '--agent', 'coder', 'ask execute npm test'])
    await terminal.waitForText(/asks: npm test \(execute\)\n(.*\n)? {4}1 Allow\n {4}2 Always\n {4}3 Reject\n/)
    await terminal.waitForText(/● waiting .*asks: npm test/)
    terminal.type('5\r')
    await terminal.waitForText(/sent as a message, not an answer/)
    terminal.type('1\r')
    await terminal.waitForText(/answered: yes \(by user\)/)
    await terminal.waitForText(/completed/)
    expect((await readLogLines()).filter((line) => line.startsWith('answer:'))).toEqual(['answer: yes'])
  })
})

describe('a pause', () => {
  test('lets the turn end, delivers nothing more, and freezes the process', async () => {
    const gateFile = join(daemon.work, 'gate')
    const { uuid } = await start(`wait ${gateFile}`, { interactive: true })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.working')
    await daemon.pause(uuid)
    await daemon.send(uuid, 'say hello')
    await writeFile(gateFile, '')
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.drained')
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', queueCount: 1, turn: 1 })
    await daemon.resume(uuid)
    await daemon.waitForEvent(uuid, ({ fact, turn }) => fact === 'process.ready' && turn === 2)
    expect(await daemon.view(uuid)).toMatchObject({ status: 'ready', queueCount: 0, lastText: 'hello' })
  })

  test('at once freezes the process in its turn, and a kill ends a frozen process', async () => {
    const { uuid } = await start('hang')
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.working')
    await daemon.pause(uuid, { now: true })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    await daemon.signal(uuid, 'SIGTERM')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 1, reason: 'context cancelled while paused' } })
  })
})

describe('its session', () => {
  test('continues after a resume, also after a restart of the daemon', async () => {
    const { uuid } = await start('say one', { interactive: true })
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
    expect((await readLogLines()).filter((line) => line.startsWith('resume '))).toHaveLength(2)
    expect(await daemon.view(uuid)).toMatchObject({ sessionId: viewBefore.sessionId, lastText: 'three' })
  })

  test("waits for the model's key that its environment had, and for no other variable", async () => {
    const env = { ...testEnv(daemon.work), ANTHROPIC_API_KEY: 'key of this shell', SOME_TOKEN: 'something else' }
    const { uuid } = await start('say one', { interactive: true, env })
    await daemon.waitUntilReady(uuid)
    await daemon.restart()
    await daemon.waitForEvent(uuid, ({ fact, hold }) => fact === 'process.held' && JSON.stringify(hold).includes('credentials'))
    expect(await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.note')).toMatchObject({ text: 'needs ANTHROPIC_API_KEY' })
    await daemon.resume(uuid, { env: { ANTHROPIC_API_KEY: 'key of this shell' } })
    expect(await daemon.waitUntilReady(uuid)).toMatchObject({ status: 'ready', holds: [] })
  })

  test('is not needed before its first message', async () => {
    await writeAgentFile('coder', 'dies')
    const { uuid } = await start('say one')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'failed', sessionId: null })
    // There was no message yet, so there is nothing to lose: the agent begins.
    const { process } = await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ pid: process.pid, turn: 0, exit: { code: 5 } })
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
  [{ effort: 'high' as const }, 'agent "coder" has no effort'],
  [{ fallback: ['openai/x'] }, 'agent "coder" has no fallback'],
  [{ intent: '' }, 'no task: give an intent'],
  [{ deny: ['Bash'] }, 'there is no tool `Bash`'],
])('an option that the agent lacks, or an invalid one, is refused: %j', async (body, message) => {
  await expect(start('say one', body)).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining(message) })
})
