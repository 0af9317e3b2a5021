// Agents that others wrote, through the daemon: asked and answered, paused, stopped and resumed by their session, by the API
// and by the command line. The agent is a real program that speaks ACP.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { steered } from '../support/asks.ts'
import { runCli } from '../support/cli.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { testEnv } from '../support/env.ts'
import { HAS_TERMINAL, Terminal } from '../support/terminal.ts'
import type { ProcessView, SpawnBody, SteerView, StepView } from '../../src/api/views.ts'

const PROGRAM = resolve(import.meta.dirname, '../support/programs/acp-agent.ts')

let daemon: LocalDaemon
let log: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  log = join(daemon.work, 'agent.log')
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await agentFile('coder', 'resume', 'close')
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** An agent file; `words` are what the program can. */
async function agentFile(name: string, ...words: string[]): Promise<void> {
  const command = [process.execPath, PROGRAM, `sessions=${daemon.work}`, `log=${log}`, ...words]
  await writeFile(join(daemon.work, '.reeve/agents', `${name}.md`), `---\ndriver: acp\ncommand: ${JSON.stringify(command)}\n---\n`)
}

const start = (intent: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> => daemon.spawn({ agent: 'coder', intent, ...body })
const answer = (ref: string, body: object): Promise<SteerView> => daemon.client.post(`/v1/processes/${ref}/answer`, body)
const waiting = async (ref: string): Promise<ProcessView> => (await daemon.client.get<{ process: ProcessView }>(`/v1/processes/${ref}/wait`, { for: 'waiting' })).process
const said = async (): Promise<string[]> => (await readFile(log, 'utf8').catch(() => '')).split('\n')

describe('an agent that asks', () => {
  test('waits, is shown with what it asks, and goes on with the answer', async () => {
    const { uuid } = await start('ask execute npm test')
    const asks = await waiting(uuid)
    expect(asks).toMatchObject({ status: 'waiting', activity: 'waiting', note: 'asks: npm test (execute)' })
    expect(asks.asks).toMatchObject([{ kind: 'permission', options: [{ id: 'yes', name: 'Allow' }, { id: 'always' }, { id: 'no' }] }])
    await expect(answer(uuid, { option: 'maybe' })).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining('one of yes, always, no, not "maybe"'), details: { options: expect.any(Array) } })
    await expect(answer(uuid, {})).rejects.toMatchObject({ code: 'INVALID' })
    steered(await answer(uuid, { option: 'yes' }))
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed', asks: [], step: 1 })
    expect(await said()).toContain('answer: yes')
    await expect(answer(uuid, { option: 'yes' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('an answer while it is paused is kept, and told when it goes on', async () => {
    const { uuid } = await start('ask execute npm test')
    await waiting(uuid)
    await daemon.pause(uuid)
    await daemon.event(uuid, ({ fact }) => fact === 'process.frozen')
    expect((await answer(uuid, { option: 'no' })).note).toContain('it is suspended')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', asks: [] })
    expect(await said()).not.toContain('answer: no')
    await daemon.resume(uuid)
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed' })
    expect(await said()).toContain('answer: no')
  })

  test('by the command line: who asks, what it asks, and the answer by its number', async () => {
    const { uuid, pid } = await start('ask-twice execute npm test')
    await waiting(uuid)
    await daemon.event(uuid, ({ fact, ask }) => fact === 'process.waiting' && JSON.stringify(ask).includes('npm test 2'))
    const cli = (...args: string[]): ReturnType<typeof runCli> => runCli(daemon.home, args, { cwd: daemon.work })
    expect((await cli('ps')).stdout).toContain('(and 1 more)')
    const listed = await cli('answer', String(pid))
    expect(listed.stdout).toMatch(/^\[1\] npm test 1 .*\n(.*\n)? {6}1 Allow\n {6}2 Always\n {6}3 Reject\n\[2\]/)
    expect(await cli('answer', String(pid), '1')).toMatchObject({ code: 64, stderr: expect.stringContaining('asks 2 things') })
    expect(await cli('answer', String(pid), '--ask', '2', 'perhaps')).toMatchObject({ code: 64, stderr: expect.stringContaining('1 Allow, 2 Always, 3 Reject') })
    expect(await cli('answer', String(pid), '--ask', '2', '--no')).toMatchObject({ code: 0 })
    expect(await cli('answer', String(pid), '1')).toMatchObject({ code: 0, stderr: `answered: PID ${pid} goes on\n` })
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed' })
    expect((await said()).filter((line) => line.startsWith('answer:')).toSorted()).toEqual(['answer: no', 'answer: yes'])
    expect((await cli('logs', String(pid))).stdout).toContain('answered: no (by user)')
  })

  test('does not ask what one word for this process, or its file, decides', async () => {
    const allowed = await start('ask execute npm test', { permissions: 'allow' })
    expect(await daemon.ended(allowed.uuid)).toMatchObject({ status: 'completed' })
    const denied = await start('ask execute npm test', { permissions: 'deny' })
    await daemon.ended(denied.uuid)
    expect((await said()).filter((line) => line.startsWith('answer:'))).toEqual(['answer: yes', 'answer: no'])
  })
})

test('what it used is shown with the step that was on, and in its usage', async () => {
  const { uuid } = await start('tool read a.ts\nusage 500 1000 0.25\nsay done\nusage 600 1000 0.5')
  const view = await daemon.ended(uuid)
  expect(view.usage).toMatchObject({ costUsd: 0.75, contextTokens: 600, contextWindow: 1_000, unpriced: false })
  const { steps } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`)
  expect(steps.map(({ costUsd }) => costUsd)).toEqual([0.25, 0.5])
  const { steps: page } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`, { after: 1, limit: 1 })
  expect(page.map(({ step, costUsd }) => [step, costUsd])).toEqual([[2, 0.5]])
})

test('a budget of money holds it at the report that passes it', async () => {
  const { uuid } = await start('say one\nusage 500 1000 2\nhang', { limits: { budgetUsd: 1 } })
  await daemon.event(uuid, ({ fact }) => fact === 'process.frozen')
  expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', holds: [{ reason: 'budget' }], usage: { costUsd: 2 } })
  await daemon.resume(uuid, { limits: { budgetUsd: 1.5 } })
  expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', limits: { budgetUsd: 1.5 } })
  await daemon.resume(uuid, { raise: { budgetUsd: 1 } })
  expect(await daemon.view(uuid)).toMatchObject({ holds: [], limits: { budgetUsd: 2.5 }, metering: 'report', limitUse: [{ limit: 'budgetUsd', used: 2, of: 2.5, action: 'suspend', scope: null }] })
})

describe.runIf(HAS_TERMINAL)('on a terminal', () => {
  test('a run shows what is asked, and takes the number', async () => {
    using terminal = new Terminal(daemon.home, ['run', '--cwd', daemon.work, '--agent', 'coder', 'ask execute npm test'])
    await terminal.sees(/asks: npm test \(execute\)\n(.*\n)? {4}1 Allow\n {4}2 Always\n {4}3 Reject\n/)
    await terminal.sees(/● waiting .*asks: npm test/)
    terminal.type('5\r')
    await terminal.sees(/that answers nothing, so it is a message/)
    terminal.type('1\r')
    await terminal.sees(/answered: yes \(by user\)/)
    await terminal.sees(/completed/)
    expect((await said()).filter((line) => line.startsWith('answer:'))).toEqual(['answer: yes'])
  })
})

describe('a pause', () => {
  test('lets the turn end, delivers nothing more, and freezes it', async () => {
    const gate = join(daemon.work, 'gate')
    const { uuid } = await start(`wait ${gate}`, { interactive: true })
    await daemon.event(uuid, ({ fact }) => fact === 'process.working')
    await daemon.pause(uuid)
    await daemon.send(uuid, 'say hello')
    await writeFile(gate, '')
    await daemon.event(uuid, ({ fact }) => fact === 'process.drained')
    await daemon.event(uuid, ({ fact }) => fact === 'process.frozen')
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', queueCount: 1, turn: 1 })
    await daemon.resume(uuid)
    await daemon.event(uuid, ({ fact, turn }) => fact === 'process.ready' && turn === 2)
    expect(await daemon.view(uuid)).toMatchObject({ status: 'ready', queueCount: 0, lastText: 'hello' })
  })

  test('at once freezes it in its turn, and a kill while it is frozen is a kill', async () => {
    const { uuid } = await start('hang')
    await daemon.event(uuid, ({ fact }) => fact === 'process.working')
    await daemon.pause(uuid, { now: true })
    await daemon.event(uuid, ({ fact }) => fact === 'process.frozen')
    await daemon.signal(uuid, 'SIGTERM')
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'stopped', exit: { code: 1, reason: 'context cancelled while paused' } })
  })
})

describe('its session', () => {
  test('is what a resume goes on with, also after a restart of the daemon', async () => {
    const { uuid } = await start('say one', { interactive: true })
    const before = await daemon.ready(uuid)
    expect(before.sessionId).toMatch(/^s\d+$/)
    await daemon.restart()
    const again = await daemon.ready(uuid)
    expect(again).toMatchObject({ sessionId: before.sessionId, turn: 1 })
    expect(again.pid).toBeGreaterThan(before.pid)
    await daemon.send(uuid, 'say two')
    await daemon.event(uuid, ({ fact, turn }) => fact === 'process.ready' && turn === 2)
    await daemon.signal(uuid, 'SIGTERM')
    await daemon.ended(uuid)
    await daemon.resume(uuid, { message: 'say three' })
    await daemon.event(uuid, ({ fact, turn }) => fact === 'process.ready' && turn === 3)
    expect((await said()).filter((line) => line.startsWith('resume '))).toHaveLength(2)
    expect(await daemon.view(uuid)).toMatchObject({ sessionId: before.sessionId, lastText: 'three' })
  })

  test('waits for the key of a model that its environment had, and for nothing else of it', async () => {
    const env = { ...testEnv(daemon.work), ANTHROPIC_API_KEY: 'key of this shell', SOME_TOKEN: 'something else' }
    const { uuid } = await start('say one', { interactive: true, env })
    await daemon.ready(uuid)
    await daemon.restart()
    await daemon.event(uuid, ({ fact, hold }) => fact === 'process.held' && JSON.stringify(hold).includes('credentials'))
    expect(await daemon.event(uuid, ({ fact }) => fact === 'process.note')).toMatchObject({ text: 'needs ANTHROPIC_API_KEY' })
    await daemon.resume(uuid, { env: { ANTHROPIC_API_KEY: 'key of this shell' } })
    expect(await daemon.ready(uuid)).toMatchObject({ status: 'ready', holds: [] })
  })

  test('is not needed before anything was asked of it', async () => {
    await agentFile('coder', 'dies')
    const { uuid } = await start('say one')
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'failed', sessionId: null })
    // Nothing was asked of it, so there is nothing to lose: it begins.
    const { process } = await daemon.resume(uuid)
    expect(await daemon.ended(uuid)).toMatchObject({ pid: process.pid, turn: 0, exit: { code: 5 } })
  })
})

test('a program that is not there is told with the command that installs it, and nothing is recorded', async () => {
  const spawned = daemon.spawn({ agent: 'claude', intent: 'hello', env: { ...testEnv(daemon.work), PATH: daemon.work } })
  await expect(spawned).rejects.toMatchObject({ code: 'COMMAND_NOT_FOUND', message: 'claude-agent-acp: command not found', hint: 'Install it with `npm install -g @agentclientprotocol/claude-agent-acp`.' })
  expect((await daemon.client.get<{ processes: unknown[] }>('/v1/processes', { all: true })).processes).toEqual([])
})

test.each([
  [{ effort: 'high' as const }, 'agent "coder" has no effort'],
  [{ fallback: ['openai/x'] }, 'agent "coder" has no fallback'],
  [{ intent: '' }, 'what is it to do?'],
  [{ deny: ['Bash'] }, 'there is no tool `Bash`'],
])('what nobody can hold it to is refused: %j', async (body, message) => {
  await expect(start('say one', body)).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining(message) })
})
