// The policy `plan` of native agents through the daemon: what runs before the approval, each answer to a plan, children, and what a pause,
// an interruption, a restart of the daemon and a resume do to a plan.
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import type { ProcessView, SpawnBody, StepView } from '../../../src/api/views/process.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

type Call = readonly [name: string, input: object]
const touch = (name: string): Call => ['bash', { command: `touch ${name}` }]
const PLAN: Call = ['present_plan', { plan: '1. Make the file.' }]

/** Starts an agent that plans, makes these calls, one after another, and then ends. */
function startCalls(calls: readonly Call[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  const steps = [...calls.map(([name, input]) => ({ tools: [{ name, input }] })), { text: 'done' }]
  return daemon.spawnScripted(steps, { permissions: 'plan', ...body })
}

const answer = (ref: string, body: object): Promise<unknown> => daemon.client.post(`/v1/processes/${ref}/answer`, body)
const waitForQuestion = async (ref: string): Promise<ProcessView> =>
  (await daemon.client.get<{ process: ProcessView }>(`/v1/processes/${ref}/wait`, { for: 'waiting' })).process
const hasFile = (name: string): boolean => existsSync(join(daemon.work, name))

async function resultsOf(ref: string): Promise<readonly Pick<StepView['tools'][number], 'outcome' | 'result'>[]> {
  const { steps } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${ref}/steps`)
  return steps.flatMap(({ tools }) => tools.map(({ outcome, result }) => ({ outcome, result })))
}

test('before the approval reads run, and all else is denied without a question, also what a rule allows', async () => {
  await writeFile(join(daemon.work, 'a'), 'text')
  const { uuid } = await startCalls(
    [
      ['read', { path: 'a' }],
      ['bash', { command: 'touch made' }],
      ['write', { path: 'made', content: '' }],
      ['edit', { path: 'a', old_text: 'text', new_text: 'x' }],
    ],
    { allow: ['read', 'write', 'edit', 'bash(touch made)'] },
  )
  await daemon.waitForEnd(uuid)
  const denied = { outcome: 'denied', result: expect.stringContaining('not before the user approves a plan') }
  expect(await resultsOf(uuid)).toEqual([{ outcome: 'ok', result: 'text' }, denied, denied, denied])
  expect(hasFile('made')).toBe(false)
})

test('an approval with `allow` lets all calls run', async () => {
  const { uuid } = await startCalls([PLAN, touch('made')])
  const waiting = await waitForQuestion(uuid)
  expect(waiting).toMatchObject({ status: 'waiting', note: 'asks: approve this plan?' })
  expect(waiting.asks).toMatchObject([
    { kind: 'plan', text: 'approve this plan?\n\n1. Make the file.', options: [{ id: 'ask' }, { id: 'allow' }, { id: 'deny' }] },
  ])
  expect(waiting.capabilities.calls).toMatchObject({ default: 'plan' })
  await answer(uuid, { option: 'allow' })
  expect((await daemon.waitForEnd(uuid)).capabilities.calls).toMatchObject({ default: 'allow' })
  expect(hasFile('made')).toBe(true)
  expect((await resultsOf(uuid))[0]).toMatchObject({ outcome: 'ok', result: expect.stringContaining('approved the plan') })
})

test('an approval with `ask` asks before each change', async () => {
  const { uuid } = await startCalls([PLAN, touch('made')])
  await waitForQuestion(uuid)
  await answer(uuid, { option: 'ask' })
  expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ kind: 'permission', text: 'bash: touch made' }] })
  await answer(uuid, { option: 'allow' })
  expect((await daemon.waitForEnd(uuid)).capabilities.calls).toMatchObject({ default: 'ask' })
  expect(hasFile('made')).toBe(true)
})

test('a denial with a message reaches the model, which continues to plan', async () => {
  const { uuid } = await startCalls([PLAN, touch('made'), ['present_plan', { plan: 'Another one.' }]])
  await waitForQuestion(uuid)
  await answer(uuid, { option: 'deny', text: 'use the other file' })
  expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ text: 'approve this plan?\n\nAnother one.' }] })
  expect(await resultsOf(uuid)).toMatchObject([
    { outcome: 'denied', result: 'the user did not approve the plan: use the other file\nGo on planning, and present a new plan.' },
    { outcome: 'denied' },
    {},
  ])
  expect(hasFile('made')).toBe(false)
  await daemon.signal(uuid, 'SIGTERM')
  await daemon.waitForEnd(uuid)
})

test('a plan that is too long is an error for the model, and asks nothing', async () => {
  const { uuid } = await startCalls([['present_plan', { plan: 'x'.repeat(4_000) }], touch('made')])
  await daemon.waitForEnd(uuid)
  expect(await resultsOf(uuid)).toMatchObject([
    { outcome: 'error', result: expect.stringContaining('invalid input') },
    { outcome: 'denied' },
  ])
})

test('`allow` is not offered where a shell could bypass a rule', async () => {
  const { uuid } = await startCalls([PLAN], { deny: ['bash(rm:*)'] })
  expect((await waitForQuestion(uuid)).asks[0]?.options.map(({ id }) => id)).toEqual(['ask', 'deny'])
  await answer(uuid, { option: 'ask' })
  expect((await daemon.waitForEnd(uuid)).capabilities.calls).toMatchObject({ default: 'ask', deny: ['bash(rm:*)'] })
})

test('an answer that comes during a pause takes effect after it', async () => {
  const { uuid } = await startCalls([PLAN, touch('made')])
  await waitForQuestion(uuid)
  await daemon.pause(uuid)
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.drained')
  await answer(uuid, { option: 'allow' })
  expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended' })
  expect(hasFile('made')).toBe(false)
  await daemon.resume(uuid)
  await daemon.waitForEnd(uuid)
  expect(hasFile('made')).toBe(true)
})

test('an interruption withdraws the question, and the process still plans', async () => {
  const { uuid } = await startCalls([PLAN, touch('made')], { interactive: true })
  await daemon.send(uuid, 'go')
  await waitForQuestion(uuid)
  await daemon.signal(uuid, 'SIGINT')
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.unasked')
  await daemon.waitForStatus(uuid, 'ready')
  await daemon.send(uuid, 'again')
  await expect.poll(async () => (await resultsOf(uuid)).map(({ outcome }) => outcome)).toEqual(['error', 'denied'])
  expect(hasFile('made')).toBe(false)
})

test('a plan is asked again after a restart of the daemon', async () => {
  const { uuid } = await startCalls([PLAN, touch('made')])
  await waitForQuestion(uuid)
  await daemon.restart()
  await daemon.resume(uuid).catch(() => undefined)
  expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ kind: 'plan' }] })
  await answer(uuid, { option: 'allow' })
  await daemon.waitForEnd(uuid)
  expect(hasFile('made')).toBe(true)
})

test('an approval during a pause survives a restart of the daemon, and a resume keeps it', async () => {
  const { uuid } = await startCalls([PLAN, touch('one'), touch('two')])
  await waitForQuestion(uuid)
  await daemon.pause(uuid)
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.drained')
  await answer(uuid, { option: 'allow' })
  await daemon.restart()
  await daemon.resume(uuid)
  await daemon.waitForEnd(uuid)
  expect([hasFile('one'), hasFile('two')]).toEqual([true, true])
  expect((await resultsOf(uuid))[0]).toMatchObject({ outcome: 'ok' })
})

test('a child of a planning process plans as well, and its plan cannot be approved before that of its parent', async () => {
  const parent = await startCalls([PLAN], { interactive: true })
  await daemon.send(parent.uuid, 'go')
  await waitForQuestion(parent.uuid)
  const child = await startCalls([touch('early'), PLAN, touch('made')], { parent: parent.uuid, permissions: 'allow' })
  expect(await waitForQuestion(child.uuid)).toMatchObject({ asks: [{ kind: 'plan' }] })
  expect(hasFile('early')).toBe(false)
  await expect(answer(child.uuid, { option: 'allow' })).rejects.toMatchObject({ code: 'PERMISSION' })
  await expect(daemon.spawnShell('touch made', { parent: parent.uuid })).rejects.toMatchObject({ code: 'PERMISSION' })
  await answer(parent.uuid, { option: 'ask' })
  await answer(child.uuid, { option: 'allow' })
  expect(await waitForQuestion(child.uuid)).toMatchObject({ asks: [{ text: 'bash: touch made' }] })
  await answer(child.uuid, { option: 'allow' })
  expect((await daemon.waitForEnd(child.uuid)).capabilities.calls).toMatchObject({ default: 'ask' })
  expect(hasFile('made')).toBe(true)
})

test('an agent file can set `plan`, which external agents and commands refuse', async () => {
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
  await writeFile(join(daemon.work, '.reeve/agents/planner.md'), '---\npermissions: plan\n---\nPlan.\n')
  const { uuid } = await daemon.spawnScripted([{ tools: [{ name: 'bash', input: { command: 'touch made' } }] }, { text: 'done' }], {
    agent: 'planner',
  })
  await daemon.waitForEnd(uuid)
  expect(await resultsOf(uuid)).toMatchObject([{ outcome: 'denied' }])
  await expect(daemon.spawn({ agent: 'claude', intent: 'x', permissions: 'plan' })).rejects.toMatchObject({
    code: 'INVALID',
    message: expect.stringContaining('cannot be held to `plan`'),
  })
  await expect(daemon.spawn({ model: 'script:x', intent: 'x', permissions: 'agent' })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(daemon.spawn({ argv: ['true'], permissions: 'plan' })).rejects.toMatchObject({ code: 'INVALID' })
})

test('on the command line the plan is shown, denied with a reason, and approved', async () => {
  const steps = [PLAN, PLAN, touch('made')].map(([name, input]) => ({ tools: [{ name, input }] }))
  const model = await daemon.writeScript([...steps, { text: 'done' }])
  const cli = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })
  expect(await cli('run', '-d', '--name', 'careful', '--model', model, '--permissions', 'plan', 'work')).toMatchObject({ code: 0 })
  await waitForQuestion('careful')
  expect((await cli('answer', 'careful')).stdout).toContain('1. Make the file.\n  1 Approve: ask before each change\n')
  expect(await cli('answer', 'careful', 'deny', 'shorter')).toMatchObject({ code: 0 })
  await waitForQuestion('careful')
  expect(await cli('answer', 'careful', 'allow')).toMatchObject({ code: 0 })
  expect(await cli('wait', 'careful')).toMatchObject({ code: 0 })
  expect(hasFile('made')).toBe(true)
})
