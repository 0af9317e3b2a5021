// External agents that call their models through the gateway of a real daemon. Tests cover their environment, their usage, holds at the
// next call for pauses and budgets, and recordings. The agent speaks ACP, the provider is the model server.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { ManualClock } from '../../support/clock.ts'
import { testEnv } from '../../support/env.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon, type LocalDaemonOptions } from '../../support/daemon/local-daemon.ts'
import { bodyOf, startModelServer, type ModelServer, type ServedAnswer } from '../../support/models/model-server.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

const PROGRAM = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')
const SECRET = 'sk-ant-a-key-that-nobody-may-see'
const ANSWER: ServedAnswer = { text: 'hello', usage: { input: 100, output: 20, cacheRead: 30 } }
const LENGTH = bodyOf(ANSWER, '/v1/messages').toString().length

let daemon: LocalDaemon
let server: ModelServer
let log: string

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

async function open(answers: Parameters<typeof startModelServer>[0], options: LocalDaemonOptions = {}, gateway = 'on'): Promise<void> {
  server = await startModelServer(answers)
  daemon = await LocalDaemon.start(options)
  log = join(daemon.work, 'agent.log')
  const dir = join(daemon.work, '.reeve/agents')
  await mkdir(dir, { recursive: true })
  const command = [process.execPath, PROGRAM, `sessions=${daemon.work}`, `log=${log}`, 'resume']
  await writeFile(join(dir, 'coder.md'), `---\ndriver: acp\ncommand: ${JSON.stringify(command)}\ngateway: ${gateway}\n---\n`)
}

/** The environment of the client has the key and the provider's address. */
const ownEnv = (): Record<string, string> =>
  testEnv(daemon.work, { ANTHROPIC_API_KEY: SECRET, ANTHROPIC_BASE_URL: server.url, DEEPSEEK_API_KEY: 'sk-another-key-of-a-provider' })

function start(intent: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  return daemon.spawn({ agent: 'coder', intent, env: ownEnv(), ...body })
}

const readLog = async (): Promise<string> => readFile(log, 'utf8').catch(() => '')

describe('an agent at the gateway', () => {
  test("calls its model with a token, is counted by the provider's usage, and sees no key", async () => {
    await open([ANSWER, ANSWER])
    const { uuid } = await start(
      'model claude-sonnet-4-5\nmodel claude-sonnet-4-5\nenv ANTHROPIC_BASE_URL\nenv ANTHROPIC_API_KEY\nenv DEEPSEEK_API_KEY\nusage 500 1000 9',
    )
    const view = await daemon.waitForEnd(uuid)
    expect(view).toMatchObject({
      status: 'completed',
      gateway: { on: true, why: null },
      usage: { inputTokens: 200, outputTokens: 40, cacheReadTokens: 60, cacheWriteTokens: 0, estimated: false },
    })
    // At the provider's price: the agent's own report of its cost is not added.
    expect(view.usage.costUsd).toBeGreaterThan(0)
    expect(view.usage.costUsd).toBeLessThan(0.1)
    expect(view.lastText).toContain(`200 ${LENGTH}`)
    expect(view.lastText).toMatch(
      /ANTHROPIC_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/anthropic;ANTHROPIC_API_KEY=reeve-[\w-]{43};DEEPSEEK_API_KEY=none;/,
    )
    expect(server.requests.map(({ path, headers }) => [path, headers['x-api-key']])).toEqual([
      ['/v1/messages', SECRET],
      ['/v1/messages', SECRET],
    ])
    expect(JSON.stringify(await daemon.view(uuid))).not.toContain(SECRET)
    expect((await runCli(daemon.home, ['steps', uuid])).stdout).toMatch(/^step 1 \| .* \| 200 in, 40 out, 60 cache read.* \| \$0\.\d+ \| /m)
    expect((await runCli(daemon.home, ['inspect', uuid])).stdout).toMatch(/^gateway +on$/m)
  })

  test.each([
    [401, 'invalid x-api-key'],
    [402, 'There is an issue with your billing'],
    [403, 'Your API key does not have permission'],
    [400, 'Your credit balance is too low to access the Anthropic API.'],
  ])('with an answer %d %s is held with its turn open, and continues with another key', async (status, message) => {
    await open(({ headers }) => (headers['x-api-key'] === SECRET ? { status, error: { type: 'invalid_request_error', message } } : ANSWER))
    const { uuid } = await start('model claude-sonnet-4-5\nerror')
    const heldView = await daemon.waitForStatus(uuid, 'suspended')
    expect(heldView).toMatchObject({
      turn: 1,
      holds: [{ reason: 'credentials', by: 'system' }],
      note: expect.stringMatching(/ANTHROPIC_API_KEY.* was refused: /),
    })
    await daemon.resume(uuid, { env: { ...ownEnv(), ANTHROPIC_API_KEY: 'sk-right' } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', turn: 1 })
  })

  test('without calls at the gateway gets a note, and its own reports are counted', async () => {
    await open([])
    const { uuid } = await start('say one\nusage 10 100 0.5', { limits: { budgetUsd: 5 } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', metering: 'report', usage: { costUsd: 0.5 } })
    const notes = (await daemon.readHistory(uuid)).flatMap((event) => (event.fact === 'process.note' ? [event['text']] : []))
    expect(notes).toContain('the agent does not call its models through the gateway, so its own usage reports are counted')
  })

  test('paused in the middle of a turn is held at its next call, frozen, and continues', async () => {
    const first = Promise.withResolvers<void>()
    await open([{ ...ANSWER, hangAfterBytes: 10, restAfter: first.promise }, ANSWER])
    const { uuid } = await start('model one\nmodel two')
    await server.waitForRequests(1)
    await daemon.pause(uuid)
    // The paid call ends regularly.
    first.resolve()
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    expect(await readLog()).toContain(`model 200 ${LENGTH}`)
    expect(server.requests).toHaveLength(1)
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', usage: { inputTokens: 100 } })
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', usage: { inputTokens: 200 } })
  })

  test("paused for longer than its client's timeout gets its answer", async () => {
    const clock = new ManualClock()
    const first = Promise.withResolvers<void>()
    await open([{ ...ANSWER, hangAfterBytes: 10, restAfter: first.promise }, ANSWER], { clock })
    const { uuid } = await start('model one\nmodel two')
    await server.waitForRequests(1)
    await daemon.pause(uuid)
    first.resolve()
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    clock.wind(240_000)
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', usage: { inputTokens: 200 } })
    expect(await readLog()).toMatch(/429 .*rate_limit_error.*reeve holds process \d+: /)
    expect(server.requests).toHaveLength(2)
  })

  test('with a used-up budget is held before the call, and continues with more', async () => {
    await open([{ ...ANSWER, usage: { input: 5_000, output: 900 } }, ANSWER])
    const { uuid } = await start('model one\nmodel two', { limits: { budgetTokens: 6_000 } })
    const heldView = await daemon.waitForView(
      uuid,
      ({ status, holds }) => status === 'suspended' && holds.some(({ reason }) => reason === 'budget'),
    )
    expect([server.requests.length, heldView.usage.inputTokens + heldView.usage.outputTokens]).toEqual([1, 5_900])
    await daemon.resume(uuid, { limits: { budgetTokens: 60_000 } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', usage: { inputTokens: 5_100 } })
    // An answer is limited to the rest of the first budget: the first call asked for 4,000 of 6,000 and got them.
    expect(server.requests.map(({ body }) => body['max_tokens'])).toEqual([4_000, 4_000])
  })

  test('killed while it waits leaves nothing at the gateway', async () => {
    await open([{ hangAfterBytes: 0 }])
    const { uuid } = await start('model one')
    await server.waitForRequests(1)
    await daemon.signal(uuid, 'SIGKILL')
    const view = await daemon.waitForEnd(uuid)
    expect(view).toMatchObject({ status: 'stopped', usage: { estimated: true, outputTokens: 0 } })
    expect(view.usage.inputTokens).toBeGreaterThan(0)
    await server.requests[0]?.closed
  })
})

describe('the use of the gateway', () => {
  test('an unknown agent uses it only on request', async () => {
    await open([], {}, 'auto')
    const { uuid } = await start('env ANTHROPIC_API_KEY')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', gateway: null, lastText: `ANTHROPIC_API_KEY=${SECRET};` })
  })

  test('`gateway: off` turns it off for any agent', async () => {
    await open([])
    const { uuid } = await start('env ANTHROPIC_API_KEY', { gateway: 'off' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      gateway: { on: false, why: 'as requested' },
      lastText: `ANTHROPIC_API_KEY=${SECRET};`,
    })
  })

  test('a resume can turn it on or off, and a native agent cannot use it', async () => {
    await open([])
    const { uuid } = await start('env ANTHROPIC_API_KEY')
    expect((await daemon.waitForEnd(uuid)).lastText).toMatch(/^ANTHROPIC_API_KEY=reeve-/)
    await daemon.resume(uuid, { gateway: 'off', message: 'env ANTHROPIC_API_KEY', env: ownEnv() })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      gateway: { on: false, why: 'as requested' },
      lastText: `ANTHROPIC_API_KEY=${SECRET};`,
    })
    expect((await runCli(daemon.home, ['inspect', uuid])).stdout).toMatch(/^gateway +off \(as requested\)$/m)
    expect(await runCli(daemon.home, ['resume', '-d', '--gateway', 'maybe', uuid])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--gateway maybe: choose from auto, on, off'),
    })
    await expect(daemon.spawnScripted([], { gateway: 'on' })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('has no gateway'),
    })
  })

  test('a requested gateway without a key prevents the start, with the reason', async () => {
    await open([])
    const { uuid } = await start('say hello', { env: testEnv(daemon.work) })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'failed',
      exit: { error: expect.stringContaining('this process cannot use the gateway: no key of anthropic') },
    })
  })

  test('a plain command can use it, and then a budget holds it', async () => {
    await open([{ ...ANSWER, usage: { input: 5_000, output: 900 } }, ANSWER])
    const script = join(daemon.work, 'call.mjs')
    await writeFile(
      script,
      'for (const model of ["one", "two"]) { const a = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers: { "x-api-key": process.env.ANTHROPIC_API_KEY }, body: JSON.stringify({ model, max_tokens: 2000 }) }); console.log(a.status, (await a.text()).length) }',
    )
    const argv = [process.execPath, script]
    const env = testEnv(daemon.work, { ANTHROPIC_API_KEY: SECRET, ANTHROPIC_BASE_URL: server.url })
    await expect(daemon.spawn({ argv, env, limits: { budgetTokens: 6_000 } })).rejects.toMatchObject({ code: 'INVALID' })
    const { uuid } = await daemon.spawn({ argv, env, gateway: 'on', limits: { budgetTokens: 6_000 } })
    await daemon.waitForView(uuid, ({ holds }) => holds.some(({ reason }) => reason === 'budget'))
    expect(server.requests).toHaveLength(1)
    await daemon.resume(uuid, { limits: { budgetTokens: 60_000 } })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', usage: { inputTokens: 5_100 } })
  })
})

test('a child of an agent at the gateway has its own token, with its parent\u2019s key, which no program sees', async () => {
  await open([ANSWER, ANSWER, ANSWER])
  const [parentEndFile, childGoFile] = [join(daemon.work, 'parent-ends'), join(daemon.work, 'child-goes-on')]
  const parent = await start(`env ANTHROPIC_API_KEY\nenv ANTHROPIC_BASE_URL\nwait ${parentEndFile}`)
  const readNoted = (name: string, count: number): Promise<string> =>
    waitUntil(() => {
      const matches = existsSync(log) ? [...readFileSync(log, 'utf8').matchAll(new RegExp(`^${name}=(.*);$`, 'gm'))] : []
      return matches[count - 1]?.[1] ?? null
    }, `${name} is noted`)
  const [token, base] = [await readNoted('ANTHROPIC_API_KEY', 1), await readNoted('ANTHROPIC_BASE_URL', 1)]
  // The environment that the agent's shell would give to `reeve run`.
  const env = testEnv(daemon.work, { ANTHROPIC_API_KEY: token, ANTHROPIC_BASE_URL: base })
  const child = await start(`model one\nenv ANTHROPIC_API_KEY\nwait ${childGoFile}\nmodel two`, { env })
  const parentKey = await readNoted('ANTHROPIC_API_KEY', 2)
  expect([parentKey.startsWith('reeve-'), parentKey === token]).toEqual([true, false])
  const { uuid: plain } = await daemon.spawn({ argv: ['sh', '-c', 'echo "$ANTHROPIC_API_KEY $ANTHROPIC_BASE_URL"'], env })
  await daemon.waitForEnd(plain)
  expect(await daemon.readOutput(plain)).toBe(`${token} ${base}\n`)
  // A process that it resumes has its own token, too.
  const oldProcess = await start('say hello')
  await daemon.waitForEnd(oldProcess.uuid)
  await daemon.resume(oldProcess.uuid, { message: 'model one\nenv ANTHROPIC_API_KEY', env: { ...env, DEEPSEEK_API_KEY: 'sk-other' } })
  expect(await daemon.waitForEnd(oldProcess.uuid)).toMatchObject({
    status: 'completed',
    usage: { inputTokens: 100 },
    lastText: expect.not.stringContaining(token),
  })
  await writeFile(parentEndFile, '')
  expect(await daemon.waitForEnd(parent.uuid)).toMatchObject({ usage: { inputTokens: 0 } })
  await writeFile(childGoFile, '')
  expect(await daemon.waitForEnd(child.uuid)).toMatchObject({ status: 'completed', usage: { inputTokens: 200 } })
  expect(server.requests.map(({ headers }) => headers['x-api-key'])).toEqual([SECRET, SECRET, SECRET])
})

test('a recording is removed with the process', async () => {
  await open([ANSWER], { config: 'gateway: { record: true }\n' })
  const { uuid } = await start('model one')
  await daemon.waitForEnd(uuid)
  const dir = join(daemon.paths.state, 'gateway', uuid)
  await waitUntil(() => readdirSync(dir).length === 2, 'the call is recorded')
  await daemon.client.delete(`/v1/processes/${uuid}`)
  expect(existsSync(dir)).toBe(false)
})
