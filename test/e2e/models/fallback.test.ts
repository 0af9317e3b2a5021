// Fallback models through the daemon: the keys that a start needs, the usage in a budget, and the recorded model of a step. After a
// crash in the middle of a turn, the turn keeps its model.
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, SpawnBody, StepView } from '../../../src/api/views/process.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { testEnv } from '../../support/env.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer } from '../../support/models/model-server.ts'

const REFUSED_KEY: ServedAnswer = { status: 401, error: { type: 'authentication_error', message: 'bad key' } }
const BODY: Partial<SpawnBody> = { model: 'first/big', fallback: ['second/small'] }

let resources: AsyncDisposableStack
let server: ModelServer

beforeEach(() => {
  resources = new AsyncDisposableStack()
})
afterEach(() => resources.disposeAsync())

async function writeConfigFor(answers: readonly ServedAnswer[]): Promise<string> {
  server = resources.use(await startModelServer(answers))
  return `providers:
  - { name: first, kind: anthropic, baseURL: "${server.url}/v1", apiKeyEnv: FIRST_KEY }
  - { name: second, kind: openai-compatible, baseURL: "${server.url}/v1", apiKeyEnv: SECOND_KEY }\n`
}

const readAskedModels = (): readonly unknown[] => server.requests.map(({ body }) => body['model'])

describe('in a daemon', () => {
  let daemon: LocalDaemon

  async function run(
    answers: readonly ServedAnswer[],
    keys: Readonly<Record<string, string>>,
    body: Partial<SpawnBody> = {},
  ): Promise<ProcessView> {
    daemon = resources.use(await LocalDaemon.start({ config: await writeConfigFor(answers) }))
    return daemon.spawn({ ...BODY, env: testEnv(daemon.work, keys), ...body })
  }

  test('each provider gets its own key, and the step names the model that answered', async () => {
    const { uuid } = await run([REFUSED_KEY, { text: 'from the second' }], { FIRST_KEY: 'key-one', SECOND_KEY: 'key-two' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'completed',
      lastText: 'from the second',
      model: 'first/big',
      fallback: ['second/small'],
    })
    expect(server.requests.map(({ headers }) => headers['x-api-key'] ?? headers.authorization)).toEqual(['key-one', 'Bearer key-two'])
    const { steps } = await daemon.client.get<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps`)
    expect(steps).toMatchObject([{ step: 1, attempts: 2, model: 'second/small', text: 'from the second' }])
    expect(daemon.errors).toEqual([])
  })

  test('only the key of the first model is required at the start, not that of a fallback', async () => {
    const { uuid } = await run([{ text: 'alone' }], { FIRST_KEY: 'key-one' })
    await daemon.waitForEvent(uuid, (event) =>
      String(event['text']).includes('fallback second/small cannot be used: SECOND_KEY is not set'),
    )
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'alone' })
    await expect(daemon.spawn({ ...BODY, env: testEnv(daemon.work, { SECOND_KEY: 'key-two' }) })).rejects.toMatchObject({
      code: 'CREDENTIALS_MISSING',
      details: { missing: ['FIRST_KEY'] },
    })
    await expect(
      daemon.spawn({ ...BODY, fallback: ['nobody/x'], env: testEnv(daemon.work, { FIRST_KEY: 'key-one' }) }),
    ).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining('nobody/x') })
  })

  test('a budget counts the usage of both models', async () => {
    const calledAnswer: ServedAnswer = {
      text: 'begun',
      isMidStream: true,
      usage: { input: 2_500, output: 5 },
      error: { type: 'invalid_request_error', message: 'no more' },
    }
    const answers = [calledAnswer, { tools: [{ name: 'ls', input: {} }], usage: { input: 2_500, output: 10 } }, { text: 'too expensive' }]
    const { uuid } = await run(answers, { FIRST_KEY: 'key-one', SECOND_KEY: 'key-two' }, { limits: { budgetTokens: 6_000 } })
    const view = await daemon.waitForStatus(uuid, 'suspended')
    expect(view).toMatchObject({ holds: [{ reason: 'budget' }], step: 1, usage: { inputTokens: 5_000, estimated: true } })
    expect(readAskedModels()).toEqual(['big', 'small'])
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })
})

test('after a kill -9 the turn continues with the fallback, and no tool is run twice', { timeout: 120_000 }, async () => {
  const answers: readonly ServedAnswer[] = [
    REFUSED_KEY,
    { tools: [{ id: 'id_1', name: 'bash', input: { command: 'echo once >> effects; cat effects' } }] },
    { text: 'never whole', hangAfterBytes: 300 },
    { text: 'whole' },
  ]
  const home = resources.use(await DaemonHome.create())
  mkdirSync(home.path, { mode: 0o700 })
  writeFileSync(home.paths.configFile, await writeConfigFor(answers))
  await home.start()
  const env = testEnv(home.work, { FIRST_KEY: 'key-one', SECOND_KEY: 'key-two' })
  const { uuid } = await home.spawn({ ...BODY, env })
  await waitUntil(() => server.requests.length === 3, 'the call after the tool hangs')
  await home.kill()
  await home.start()
  expect((await home.view(uuid)).status).toBe('interrupted')
  await home.resume(uuid, { env })
  expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'whole', step: 2, usage: { toolCalls: 1 } })
  expect(readAskedModels()).toEqual(['big', 'small', 'small', 'small'])
  expect(JSON.stringify(server.requests[3]?.body)).toContain('once\\n[exit code 0]')
  expect((await home.stop()).code).toBe(0)
  await home.waitUntilNothingIsLeft()
})
