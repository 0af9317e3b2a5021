// Agents that wrap up. They get a notice of SIGTERM while they work, and end with their turn or after their grace. Their output
// until then is kept. The graces are far longer than the tests, or end before anything could happen.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer } from '../../support/models/model-server.ts'

const LONG_MS = 3_600_000
const PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))

let resources: AsyncDisposableStack
let daemon: LocalDaemon
let token: string

beforeEach(() => {
  resources = new AsyncDisposableStack()
  token = newToken()
})
afterEach(async () => {
  try {
    await resources[Symbol.asyncDispose]()
    expect(findProcessesWith(token)).toEqual([])
  } finally {
    killRemaining(token)
  }
})

async function start(config?: string): Promise<void> {
  daemon = resources.use(await LocalDaemon.start(config === undefined ? {} : { config }))
  resources.defer(() => expect(daemon.errors).toEqual([]))
}

async function startServed(
  answers: readonly ServedAnswer[],
  body: Partial<SpawnBody> = {},
): Promise<{ server: ModelServer; uuid: string }> {
  const server = resources.use(await startModelServer(answers))
  await start(
    `providers:\n  - { name: local, kind: openai-compatible, baseURL: "${server.url}/v1", models: { m: { contextWindow: 100000 } } }\n`,
  )
  const { uuid } = await daemon.spawn({ model: 'local/m', intent: 'the task', ...body })
  return { server, uuid }
}

function handle(uuid: string, handlers: object): Promise<unknown> {
  return daemon.client.post(`/v1/processes/${uuid}/signals`, { handlers })
}

const MESSAGE = /You received SIGTERM from user: you will be stopped in 3599\.7 s\./

/** A call of `bash` that waits for a file. */
const waitForFileCall = (file: string): ServedAnswer => ({
  tools: [{ name: 'bash', input: { command: `echo began; while [ ! -e ${file} ]; do sleep 0.05; done` } }],
})

async function waitUntilInTool(uuid: string): Promise<void> {
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'tool.started')
}

test('a native agent reads the notice within its turn before the next model call, continues, and ends with its turn', async () => {
  const { server, uuid } = await startServed([
    waitForFileCall('go'),
    { tools: [{ name: 'bash', input: { command: 'echo saved > saved' } }] },
    { text: 'All is saved.' },
    { text: 'never asked' },
  ])
  await waitUntilInTool(uuid)
  await handle(uuid, { SIGTERM: 'message' })
  const { process } = await daemon.signal(uuid, 'SIGTERM', { graceMs: LONG_MS })
  expect(process).toMatchObject({ status: 'stopping', stopping: { signal: 'SIGTERM', by: 'user', graceMs: LONG_MS, wrapsUp: true } })
  writeFileSync(join(daemon.work, 'go'), '')
  expect(await daemon.waitForEnd(uuid)).toMatchObject({
    status: 'stopped',
    exit: { code: 143, reason: 'SIGTERM from user' },
    lastText: 'All is saved.',
    queueCount: 0,
  })
  expect(server.requests).toHaveLength(3)
  expect(server.requests.map(({ body }) => MESSAGE.test(JSON.stringify(body)))).toEqual([false, true, true])
  expect(readFileSync(join(daemon.work, 'saved'), 'utf8')).toBe('saved\n')
})

test('an agent between turns begins a turn for the notice', async () => {
  const { server, uuid } = await startServed([{ text: 'Hello.' }, { text: 'Goodbye.' }], { interactive: true })
  await daemon.waitUntilReady(uuid)
  await handle(uuid, { SIGTERM: 'message' })
  await daemon.signal(uuid, 'SIGTERM', { graceMs: LONG_MS })
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143 }, turn: 2, lastText: 'Goodbye.' })
  expect(JSON.stringify(server.requests[1]?.body)).toMatch(MESSAGE)
})

test('an agent that works beyond its grace is ended with its programs', async () => {
  const { server, uuid } = await startServed([{ tools: [{ name: 'bash', input: { command: `exec sleep 600 ${token}` } }] }])
  await waitUntilInTool(uuid)
  await handle(uuid, { SIGTERM: 'message' })
  await daemon.signal(uuid, 'SIGTERM', { graceMs: 200 })
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143 } })
  expect(server.requests).toHaveLength(1)
  expect((await daemon.readFactTypes(uuid)).filter((fact) => fact === 'process.stopping')).toHaveLength(2)
})

test('a stopped agent is resumed without a notice of its signals', async () => {
  const { server, uuid } = await startServed([waitForFileCall('never'), { text: 'I went on.' }])
  await waitUntilInTool(uuid)
  await handle(uuid, { SIGTERM: 'message', SIGINT: 'message' })
  await daemon.signal(uuid, 'SIGINT')
  await daemon.signal(uuid, 'SIGTERM', { graceMs: LONG_MS })
  await daemon.signal(uuid, 'SIGKILL')
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143 }, queueCount: 0 })
  await daemon.resume(uuid)
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'I went on.' })
  expect(JSON.stringify(server.requests[1]?.body)).not.toContain('You received')
})

test('the partial text of a killed model call is in the journal and in the log', async () => {
  const { uuid } = await startServed([{ text: 'this much and no more'.repeat(20), hangAfterBytes: 900 }])
  await daemon.waitForEvent(uuid, ({ type, text }) => type === 'live.text' && String(text) !== '', { live: true })
  await daemon.signal(uuid, 'SIGKILL')
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 137 } })
  const failed = (await daemon.readHistory(uuid)).find(({ fact }) => fact === 'model.failed')
  expect(failed).toMatchObject({ partial: expect.stringMatching(/^this much/) as string })
  const { lines } = await daemon.client.get<{ lines: { stream: string; text: string }[] }>(`/v1/processes/${uuid}/logs`)
  expect(lines).toContainEqual(expect.objectContaining({ stream: 'assistant', text: failed?.['partial'] }))
})

async function startScripted(intent: string): Promise<ProcessView> {
  await start()
  mkdirSync(daemon.paths.agentsDir, { recursive: true })
  const argv = [process.execPath, PROGRAM, token, `log=${join(daemon.work, 'agent.log')}`, `sessions=${daemon.work}`]
  writeFileSync(
    join(daemon.paths.agentsDir, 'fake.md'),
    `---\nname: fake\ndescription: A scripted agent.\ndriver: acp\ncommand: ${JSON.stringify(argv)}\n---\n`,
  )
  return daemon.spawn({ agent: 'fake', intent })
}

test('an ACP agent gets a request to end its turn, and reads the notice in the next one', async () => {
  const { uuid } = await startScripted('say let me work\nslow')
  await daemon.waitForEvent(uuid, ({ type, text }) => type === 'live.text' && String(text).includes('let me work'), { live: true })
  await handle(uuid, { SIGTERM: 'message' })
  await daemon.signal(uuid, 'SIGTERM', { graceMs: LONG_MS })
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143, reason: 'SIGTERM from user' }, turn: 2 })
  expect(existsSync(join(daemon.work, 'agent.log')) && readFileSync(join(daemon.work, 'agent.log'), 'utf8')).toMatch(
    /prompt "You received SIGTERM/,
  )
})

test('a stop of the daemon ends an agent that wraps up, and its exit still names the signal of the user', async () => {
  const { uuid } = await startServed([waitForFileCall('never')])
  await waitUntilInTool(uuid)
  await handle(uuid, { SIGTERM: 'message' })
  await daemon.signal(uuid, 'SIGTERM', { graceMs: LONG_MS })
  await daemon.client.post('/v1/daemon/stop', { drainMs: 0 })
  await daemon.stopped
  await daemon.start()
  expect(await daemon.view(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143, reason: 'SIGTERM from user' }, queueCount: 0 })
})
