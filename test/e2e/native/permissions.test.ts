// The permissions of native agents through the daemon: questions about tool calls, rules that answer them, and what a pause, an
// interruption, a restart of the daemon and a child do to them.
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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

/** Starts an agent that makes these calls, one after another, and then ends. */
function startCalls(calls: readonly (readonly [name: string, input: object])[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  return daemon.spawnScripted([...calls.map(([name, input]) => ({ tools: [{ name, input }] })), { text: 'done' }], body)
}

const answer = (ref: string, body: object): Promise<unknown> => daemon.client.post(`/v1/processes/${ref}/answer`, body)
const waitForQuestion = async (ref: string): Promise<ProcessView> =>
  (await daemon.client.get<{ process: ProcessView }>(`/v1/processes/${ref}/wait`, { for: 'waiting' })).process
const hasFile = (name: string): boolean => existsSync(join(daemon.work, name))

/** The results of the process's tool calls, in order. */
async function resultsOf(ref: string): Promise<readonly Pick<StepView['tools'][number], 'outcome' | 'result'>[]> {
  const { steps } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${ref}/steps`)
  return steps.flatMap(({ tools }) => tools.map(({ outcome, result }) => ({ outcome, result })))
}

describe('a call that needs an answer', () => {
  test('waits, is shown with its command, and runs once it is allowed', async () => {
    const { uuid } = await startCalls([['bash', { command: 'touch made' }]], { permissions: 'ask' })
    const waiting = await waitForQuestion(uuid)
    expect(waiting).toMatchObject({ status: 'waiting', note: 'asks: bash: touch made' })
    expect(waiting.asks).toMatchObject([{ kind: 'permission', text: 'bash: touch made', options: [{ id: 'allow' }, { id: 'deny' }] }])
    expect(hasFile('made')).toBe(false)
    await answer(uuid, { option: 'allow' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', asks: [] })
    expect(hasFile('made')).toBe(true)
  })

  test('does not run once it is denied, and the model reads why', async () => {
    const { uuid } = await startCalls([['write', { path: 'made', content: 'x' }]], { permissions: 'ask' })
    await waitForQuestion(uuid)
    await answer(uuid, { option: 'deny', text: 'use the other file' })
    await daemon.waitForEnd(uuid)
    expect(await resultsOf(uuid)).toEqual([{ outcome: 'denied', result: 'the user denied this call: use the other file' }])
    expect(hasFile('made')).toBe(false)
  })

  test('is asked for each call, in order, and reads need no answer', async () => {
    await writeFile(join(daemon.work, 'a'), 'text')
    const { uuid } = await startCalls(
      [
        ['read', { path: 'a' }],
        ['edit', { path: 'a', old_text: 'text', new_text: 'one' }],
        ['edit', { path: 'a', old_text: 'one', new_text: 'two' }],
      ],
      { permissions: 'ask' },
    )
    for (const [before, after] of [
      ['text', 'one'],
      ['one', 'two'],
    ] as const) {
      const { asks } = await waitForQuestion(uuid)
      expect(asks).toMatchObject([{ text: expect.stringContaining(`edit: a\nold_text: ${before}\nnew_text: ${after}`) }])
      expect(await readFile(join(daemon.work, 'a'), 'utf8')).toBe(before)
      await answer(uuid, { option: 'allow' })
    }
    await daemon.waitForEnd(uuid)
    expect(await readFile(join(daemon.work, 'a'), 'utf8')).toBe('two')
  })

  test('lets a pause begin at once, and runs after the pause if it was allowed during it', async () => {
    const { uuid } = await startCalls([['bash', { command: 'touch made' }]], { permissions: 'ask' })
    await waitForQuestion(uuid)
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.drained')
    await answer(uuid, { option: 'allow' })
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', asks: [] })
    expect(hasFile('made')).toBe(false)
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(hasFile('made')).toBe(true)
  })

  test('still waits after a pause and its end', async () => {
    const { uuid } = await startCalls([['bash', { command: 'touch made' }]], { permissions: 'ask' })
    await waitForQuestion(uuid)
    for (let round = 0; round < 2; round++) {
      await daemon.pause(uuid)
      await daemon.waitForStatus(uuid, 'suspended')
      await daemon.resume(uuid)
    }
    expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ text: 'bash: touch made' }] })
    await answer(uuid, { option: 'allow' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
  })

  test('is not run, and its question is withdrawn, when its turn is interrupted', async () => {
    const { uuid } = await startCalls([['bash', { command: 'touch made' }]], { permissions: 'ask', interactive: true })
    await daemon.send(uuid, 'go')
    await waitForQuestion(uuid)
    await daemon.signal(uuid, 'SIGINT')
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.unasked')
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'tool.finished')
    expect(await resultsOf(uuid)).toMatchObject([{ outcome: 'error', result: expect.stringContaining('not run') }])
    expect(await daemon.view(uuid)).toMatchObject({ asks: [] })
    expect(hasFile('made')).toBe(false)
  })

  test('is asked again after a restart of the daemon, and runs once', async () => {
    const { uuid } = await startCalls([['bash', { command: 'echo x >> made' }]], { permissions: 'ask' })
    await waitForQuestion(uuid)
    await daemon.restart()
    await daemon.resume(uuid).catch(() => undefined)
    expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ text: 'bash: echo x >> made' }] })
    await answer(uuid, { option: 'allow' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(await readFile(join(daemon.work, 'made'), 'utf8')).toBe('x\n')
  })

  test('has no duration if it is denied', async () => {
    const { uuid } = await startCalls([['bash', { command: 'touch made' }]], { permissions: 'ask' })
    await waitForQuestion(uuid)
    await answer(uuid, { option: 'deny' })
    await daemon.waitForEnd(uuid)
    const { steps } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`)
    expect(steps[0]?.tools[0]).toMatchObject({ outcome: 'denied', durationMs: 0 })
  })
})

describe('a stop while a call waits for an answer', () => {
  test('runs none of the calls, and a resume asks again and runs each once', async () => {
    const calls = ['one', 'two'].map((name) => ({ name: 'bash', input: { command: `echo ${name} >> made` } }))
    const { uuid } = await daemon.spawnScripted([{ tools: calls }, { text: 'done' }], { permissions: 'ask' })
    await waitForQuestion(uuid)
    await daemon.client.post(`/v1/processes/${uuid}/signal`, { signal: 'SIGTERM' })
    await daemon.waitForEnd(uuid)
    await daemon.resume(uuid)
    for (const name of ['one', 'two']) {
      expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ text: `bash: echo ${name} >> made` }] })
      await answer(uuid, { option: 'allow' })
    }
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
    expect(await readFile(join(daemon.work, 'made'), 'utf8')).toBe('one\ntwo\n')
  })
})

describe('rules', () => {
  test('allow commands and paths, and all else asks', async () => {
    await mkdir(join(daemon.work, 'src'))
    const { uuid } = await startCalls(
      [
        ['bash', { command: 'touch one' }],
        ['write', { path: 'src/a', content: '' }],
        ['bash', { command: 'touch one; touch two' }],
      ],
      { allow: ['bash(touch one)', 'write(src/**)'] },
    )
    expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ text: 'bash: touch one; touch two' }] })
    expect([hasFile('one'), hasFile('src/a'), hasFile('two')]).toEqual([true, true, false])
    await answer(uuid, { option: 'deny' })
    await daemon.waitForEnd(uuid)
    expect(hasFile('two')).toBe(false)
  })

  test('limit the tools to those that are named, and these need no answer', async () => {
    const { uuid } = await startCalls(
      [
        ['write', { path: 'made', content: '' }],
        ['bash', { command: 'touch one' }],
        ['edit', { path: 'made', old_text: '', new_text: 'x' }],
      ],
      { permissions: 'ask', allow: ['write', 'bash(touch one)'] },
    )
    const { capabilities } = await daemon.waitForEnd(uuid)
    expect(capabilities).toMatchObject({
      tools: ['write', 'bash'],
      calls: { default: 'ask', allow: ['bash(touch one)', 'write'], deny: [] },
    })
    expect([hasFile('made'), hasFile('one')]).toEqual([true, true])
    expect((await resultsOf(uuid))[2]).toMatchObject({ outcome: 'denied', result: 'the tool "edit" is denied to this agent' })
  })

  test('deny without a question', async () => {
    const { uuid } = await startCalls(
      [
        ['bash', { command: 'rm x' }],
        ['write', { path: 'x', content: '' }],
      ],
      { permissions: 'deny', deny: ['bash(rm:*)'] },
    )
    await daemon.waitForEnd(uuid)
    expect(await resultsOf(uuid)).toEqual([
      { outcome: 'denied', result: 'a rule of this process denies bash: rm x' },
      { outcome: 'denied', result: 'a rule of this process denies write: x' },
    ])
  })

  test('come from the agent file, and a request adds to them', async () => {
    await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
    await writeFile(
      join(daemon.work, '.reeve/agents/careful.md'),
      '---\npermissions: { default: deny, allow: ["bash(touch one)"], ask: [write] }\n---\nBe careful.\n',
    )
    const { uuid } = await startCalls(
      [
        ['bash', { command: 'touch one' }],
        ['bash', { command: 'touch two' }],
        ['write', { path: 'three', content: '' }],
      ],
      { agent: 'careful', allow: ['bash(touch two)'] },
    )
    expect(await waitForQuestion(uuid)).toMatchObject({ asks: [{ text: expect.stringContaining('write: three') }] })
    expect([hasFile('one'), hasFile('two')]).toEqual([true, true])
    await answer(uuid, { option: 'allow' })
    await daemon.waitForEnd(uuid)
    expect(hasFile('three')).toBe(true)
  })

  test('hold for a child, which cannot have a looser policy', async () => {
    const parent = await daemon.spawnScripted([{ text: 'ready' }], { interactive: true, permissions: 'ask', deny: ['bash(rm:*)'] })
    const child = await startCalls(
      [
        ['bash', { command: 'rm x' }],
        ['bash', { command: 'touch made' }],
      ],
      { parent: parent.uuid, permissions: 'allow' },
    )
    expect(await waitForQuestion(child.uuid)).toMatchObject({ asks: [{ text: 'bash: touch made' }] })
    expect((await resultsOf(child.uuid))[0]).toMatchObject({ outcome: 'denied' })
    await expect(daemon.spawnShell('touch made', { parent: parent.uuid })).rejects.toMatchObject({ code: 'PERMISSION' })
  })

  test.each<[string, Partial<SpawnBody>, string]>([
    ['a denied command, while the shell does not ask', { permissions: 'allow', deny: ['bash(rm:*)'] }, 'could be bypassed'],
    ['a denied path, while the shell does not ask', { permissions: 'allow', deny: ['edit(x)'] }, 'could be bypassed'],
    ['a pattern that cannot be enforced', { allow: ['read(.env)'] }, 'read:PATH'],
    ['a pattern without a closing bracket', { allow: ['bash(npm'] }, 'closing bracket'],
    ['a pattern for a command', { argv: ['true'], allow: ['bash(npm:*)'] }, 'reeve cannot enforce that'],
  ])('are refused where they could not be enforced: %s', async (_, body, message) => {
    const model = await daemon.writeScript([{ text: 'done' }])
    await expect(daemon.spawn({ ...(body.argv ? {} : { model }), ...body })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining(message),
    })
    expect((await daemon.client.get<{ processes: unknown[] }>('/v1/processes', { all: 1 })).processes).toEqual([])
  })

  test('can be added by a resume, and then apply', async () => {
    const first = await startCalls([], { permissions: 'ask' })
    await daemon.waitForEnd(first.uuid)
    await expect(daemon.resume(first.uuid, { message: 'again', deny: ['bash(x'] })).rejects.toMatchObject({ code: 'INVALID' })
    const script = await daemon.writeScript([{ text: 'done' }, { tools: [{ name: 'bash', input: { command: 'rm x' } }] }, { text: 'end' }])
    await daemon.resume(first.uuid, { message: 'again', model: script, deny: ['bash(rm:*)'] })
    await daemon.waitForEnd(first.uuid)
    expect(await resultsOf(first.uuid)).toMatchObject([{ outcome: 'denied' }])
  })
})

test('on the command line a question is shown in the row, listed and denied', async () => {
  const model = await daemon.writeScript([{ tools: [{ name: 'bash', input: { command: 'touch made' } }] }, { text: 'done' }])
  const cli = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })
  expect(await cli('run', '-d', '--name', 'careful', '--model', model, '--permissions', 'ask', 'work')).toMatchObject({ code: 0 })
  await waitForQuestion('careful')
  expect((await cli('ps')).stdout).toContain('asks: bash: touch made')
  expect((await cli('answer', 'careful')).stdout).toContain('bash: touch made')
  expect(await cli('answer', 'careful', '--no')).toMatchObject({ code: 0 })
  expect(await cli('wait', 'careful')).toMatchObject({ code: 0 })
  expect(hasFile('made')).toBe(false)
})
