// Native agents in a daemon with a model behind HTTP, in two wire formats: text, tools, usage, cost, cut streams, rate limits.
// The provider is a server on this machine, configured as a user would; the tests also check its requests.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer } from '../../support/models/model-server.ts'

interface Format {
  readonly kind: string
  readonly provider: string
  readonly model: string
  readonly path: string
}

// The names are those of real models, so that the price table has them.
const FORMATS: readonly Format[] = [
  { kind: 'anthropic', provider: 'anthropic', model: 'claude-sonnet-4-5', path: '/v1/messages' },
  { kind: 'openai-compatible', provider: 'openai', model: 'gpt-4o', path: '/v1/chat/completions' },
]

let resources: AsyncDisposableStack

beforeEach(() => {
  resources = new AsyncDisposableStack()
})
afterEach(() => resources.disposeAsync())

const isFact =
  (fact: string) =>
  (event: EventView): boolean =>
    event['fact'] === fact

describe.each(FORMATS)('$kind', ({ kind, provider, model, path }) => {
  let daemon: LocalDaemon
  let server: ModelServer

  async function serve(answers: readonly ServedAnswer[]): Promise<void> {
    server = resources.use(await startModelServer(answers))
    daemon = resources.use(
      await LocalDaemon.start({
        config: `providers: [{ name: ${provider}, kind: ${kind}, baseURL: "${server.url}/v1", apiKeyEnv: MODEL_API_KEY }]\n`,
      }),
    )
  }

  function run(body: Partial<SpawnBody> = {}): Promise<ProcessView> {
    return daemon.spawn({
      model: `${provider}/${model}`,
      env: testEnv(daemon.work, { MODEL_API_KEY: 'key-for-tests' }),
      intent: 'count to three',
      ...body,
    })
  }

  test('a completed process has the text, the tool calls, the usage and the cost of its model calls', async () => {
    await serve([
      {
        text: 'I write',
        tools: [{ id: 'call_a', name: 'write', input: { path: 'out.txt', content: '1 2 3' } }],
        usage: { input: 1_000, output: 50, cacheRead: 200 },
      },
      { text: 'counted', usage: { input: 1_100, output: 10 } },
    ])
    const { uuid } = await run()
    const view = await daemon.waitForEnd(uuid)
    expect(view).toMatchObject({
      status: 'completed',
      step: 2,
      lastText: 'counted',
      model: `${provider}/${model}`,
      usage: {
        steps: 2,
        toolCalls: 1,
        inputTokens: 2_100,
        outputTokens: 60,
        cacheReadTokens: 200,
        contextTokens: 1_110,
        unpriced: false,
        estimated: false,
      },
      subtreeUsage: { inputTokens: 2_100, outputTokens: 60 },
    })
    expect(view.usage.costUsd).toBeGreaterThan(0.001)
    expect(view.usage.costUsd).toBeLessThan(0.1)
    expect(await readFile(join(daemon.work, 'out.txt'), 'utf8')).toBe('1 2 3')
    expect(server.requests.map((request) => request.path)).toEqual([path, path])
    expect(JSON.stringify(server.requests[0]?.body)).toContain('count to three')
    expect(JSON.stringify(server.requests[1]?.body)).toContain('call_a')
    const { steps } = await daemon.client.get<{ steps: { costUsd: number; attempts: number; text: string }[] }>(
      `/v1/processes/${uuid}/steps`,
    )
    expect(steps.map((step) => step.text)).toEqual(['I write', 'counted'])
    expect(steps.reduce((sum, step) => sum + step.costUsd, 0)).toBeCloseTo(view.usage.costUsd ?? NaN, 10)
  })

  test('a cut stream is requested again, and no tool is repeated', async () => {
    const effect = 'effect.txt'
    await serve([
      { tools: [{ name: 'bash', input: { command: `echo once >> ${effect}` } }] },
      { text: 'this will be cut off in the middle of it', cutAfterBytes: 500 },
      { text: 'whole again' },
    ])
    const { uuid } = await run()
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'whole again', step: 2, usage: { toolCalls: 1 } })
    expect(await readFile(join(daemon.work, effect), 'utf8')).toBe('once\n')
    const failed = await daemon.waitForEvent(uuid, isFact('model.failed'))
    expect(failed).toMatchObject({ type: 'process.error', step: 2, attempt: 1, retryInMs: expect.any(Number) })
    const { steps } = await daemon.client.get<{ steps: { attempts: number }[] }>(`/v1/processes/${uuid}/steps`)
    expect(steps.map((step) => step.attempts)).toEqual([1, 2])
    expect(server.requests).toHaveLength(3)
  })

  test('429 with Retry-After is shown in the events, and delays the next attempt', async () => {
    await serve([
      { status: 429, headers: { 'retry-after': '1' }, error: { type: 'rate_limit_error', message: 'slow down' } },
      { text: 'thanks' },
    ])
    const { uuid } = await run()
    expect(await daemon.waitForEvent(uuid, isFact('model.failed'))).toMatchObject({
      httpStatus: 429,
      retryInMs: expect.any(Number),
      error: expect.stringContaining('slow down'),
    })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'thanks', step: 1 })
    const [first, second] = server.requests
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(950)
  })

  test("a refused key holds the process with the provider's message, without a second attempt", async () => {
    await serve([{ status: 401, error: { type: 'authentication_error', message: 'bad key' } }])
    const { uuid } = await run()
    expect(await daemon.waitForStatus(uuid, 'suspended')).toMatchObject({
      holds: [{ reason: 'credentials' }],
      note: expect.stringContaining('bad key'),
    })
    expect(server.requests).toHaveLength(1)
  })

  test('a kill ends a hanging call, and closes its connection', async () => {
    await serve([{ text: 'never whole', hangAfterBytes: 300 }])
    const { uuid } = await run()
    await server.waitForRequests(1)
    await daemon.signal(uuid, 'SIGTERM')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 143 } })
    await server.requests[0]?.closed
  })

  test('a process over its budget in USD is suspended before its next call', async () => {
    await serve([{ tools: [{ name: 'ls', input: {} }], usage: { input: 1_000_000, output: 1_000 } }, { text: 'too expensive' }])
    const { uuid } = await run({ limits: { budgetUsd: 0.5 } })
    const view = await daemon.waitForStatus(uuid, 'suspended')
    expect(view).toMatchObject({ holds: [{ reason: 'budget', by: 'system' }], step: 1 })
    expect(view.usage.costUsd).toBeGreaterThan(0.5)
    expect(server.requests).toHaveLength(1)
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('a soft pause lets the running call finish; after a restart and a resume the process continues, and repeats no call', async () => {
    await serve([{ tools: [{ name: 'ls', input: {} }] }, { text: 'later' }])
    const { uuid } = await run({ interactive: true })
    await server.waitForRequests(1)
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, isFact('process.drained'))
    await daemon.restart()
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', holds: [{ reason: 'user' }] })
    expect(server.requests.length).toBeLessThanOrEqual(2)
    await daemon.resume(uuid, { env: testEnv(daemon.work, { MODEL_API_KEY: 'key-for-tests' }) })
    expect(await daemon.waitForView(uuid, (view) => view.status === 'ready')).toMatchObject({
      lastText: 'later',
      usage: { toolCalls: 1 },
    })
    expect(server.requests).toHaveLength(2)
  })
})
