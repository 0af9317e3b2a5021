// `reeve models` lists the models of each provider by name, with their windows and prices. The lists have the shapes of the real providers,
// and come from servers on this machine.
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer, type ServedRequest } from '../../support/models/model-server.ts'
import type { ProviderModelsView } from '../../../src/api/views/daemon.ts'

const jsonAnswer = (body: object): ServedAnswer => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** Lists by the first part of the path. */
const LISTS: Readonly<Record<string, ServedAnswer>> = {
  anthropic: jsonAnswer({
    data: [
      { type: 'model', id: 'claude-sonnet-5', display_name: 'Claude Sonnet 5', created_at: '2026-01-01T00:00:00Z' },
      { type: 'model', id: 'claude-haiku-4-5', display_name: 'Claude Haiku 4.5', created_at: '2025-10-01T00:00:00Z' },
    ],
    has_more: false,
  }),
  google: jsonAnswer({
    models: [
      { name: 'models/gemini-2.5-pro', inputTokenLimit: 1_048_576, supportedGenerationMethods: ['generateContent', 'countTokens'] },
      { name: 'models/gemini-embedding-001', inputTokenLimit: 2_048, supportedGenerationMethods: ['embedContent'] },
    ],
  }),
  router: jsonAnswer({ data: [{ id: 'z-ai/glm', context_length: 200_000 }, { id: 7 }, 'text', { object: 'model' }] }),
  own: jsonAnswer({ object: 'list', data: [{ id: 'qwen3', object: 'model', max_model_len: 32_768 }, { id: 'gpt-oss' }] }),
  refused: { status: 401 },
  unlisted: { status: 404 },
}

let resources: AsyncDisposableStack
let server: ModelServer
let closedUrl: string

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  server = resources.use(await startModelServer(({ path }: ServedRequest) => LISTS[path.split('/')[1] ?? ''] ?? { status: 500 }))
  const other = await startModelServer([])
  closedUrl = other.url
  await other[Symbol.asyncDispose]()
})
afterEach(() => resources.disposeAsync())

/** Starts a daemon that can use only these providers, because the built-in ones do not listen or have no key. */
async function startDaemonWith(providers: readonly string[], config = ''): Promise<LocalDaemon> {
  const localServers = ['ollama', 'lmstudio', 'vllm'].map(
    (name) => `  - { name: ${name}, kind: openai-compatible, baseURL: "${closedUrl}/v1" }`,
  )
  return resources.use(await LocalDaemon.start({ config: `${config}providers:\n${[...providers, ...localServers].join('\n')}\n` }))
}

const providerConfig = (name: string, kind: string, settings = ''): string =>
  `  - { name: ${name}, kind: ${kind}, baseURL: "${server.url}/${name}/v1"${settings} }`

describe('the models of a provider', () => {
  let secret: string
  beforeEach(() => {
    secret = `value-${randomBytes(12).toString('hex')}`
  })

  async function modelsOf(name: string, kind: string, settings = ''): Promise<ProviderModelsView> {
    const daemon = await startDaemonWith([providerConfig(name, kind, ', apiKeyEnv: ONE_API_KEY')], settings)
    const answer = await daemon.client.post<{ providers: ProviderModelsView[] }>('/v1/models', {
      env: { ONE_API_KEY: secret },
      provider: name,
    })
    expect(JSON.stringify(answer)).not.toContain(secret)
    const [firstProvider, ...others] = answer.providers
    expect(others).toEqual([])
    if (!firstProvider) throw new Error('no provider came')
    return firstProvider
  }

  test('have the prices and windows of the table', async () => {
    const { models, detail } = await modelsOf('anthropic', 'anthropic')
    expect(detail).toBe('2 models')
    expect(models).toEqual([
      {
        model: 'anthropic/claude-haiku-4-5',
        window: 200_000,
        usdPerMillion: { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
      },
      {
        model: 'anthropic/claude-sonnet-5',
        window: expect.any(Number),
        usdPerMillion: expect.objectContaining({ input: expect.any(Number) }),
      },
    ])
  })

  test('of Google are those that generate text, with the window of the list', async () => {
    const { models } = await modelsOf('google', 'google')
    expect(models).toMatchObject([{ model: 'google/gemini-2.5-pro', window: 1_048_576, usdPerMillion: { input: 1.25, output: 10 } }])
  })

  test('without a price have none; entries without a name are left out', async () => {
    const { models } = await modelsOf('router', 'openai-compatible')
    expect(models).toEqual([{ model: 'router/z-ai/glm', window: 200_000, usdPerMillion: null }])
  })

  test("have the user's prices and windows first", async () => {
    const { models } = await modelsOf(
      'own',
      'openai-compatible',
      'prices: { "own/gpt-oss": { input: 2, output: 4, window: 9000 }, "own/*": { input: 0, output: 0 } }\n',
    )
    expect(models).toEqual([
      { model: 'own/gpt-oss', window: 9_000, usdPerMillion: { input: 2, output: 4, cacheRead: 2, cacheWrite: 2 } },
      { model: 'own/qwen3', window: 32_768, usdPerMillion: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
    ])
  })
})

test('the verb prints a table, and names the providers that were not asked', async () => {
  const daemon = await startDaemonWith(
    [providerConfig('own', 'openai-compatible'), providerConfig('router', 'openai-compatible', ', apiKeyEnv: NO_KEY')],
    'prices: { "own/gpt-oss": { input: 2, output: 0.05 }, "own/qwen3": { input: 0, output: 0 } }\n',
  )
  const { code, stdout, stderr } = await runCli(daemon.home, ['models'])
  expect(stdout).toBe(
    [
      'MODEL        WINDOW    IN  CACHED    OUT',
      'own/gpt-oss       ?  2.00    2.00  0.050',
      'own/qwen3     32.8k  free    free   free',
      '',
    ].join('\n'),
  )
  expect(stderr).toMatch(
    /^prices in USD per million tokens; \? is unknown\nnot asked, because the key is not set: router \(NO_KEY\), anthropic \(/,
  )
  expect(stderr).not.toContain('ollama')
  expect(code).toBe(0)
  expect(await runCli(daemon.home, ['models', '-q', 'own'])).toMatchObject({ code: 0, stdout: 'own/gpt-oss\nown/qwen3\n' })
})

test('the verb ends with 1 if a provider refuses the key or is not there, but not if it has no list', async () => {
  const daemon = await startDaemonWith([
    providerConfig('refused', 'openai-compatible', ', apiKeyEnv: ONE_API_KEY'),
    providerConfig('unlisted', 'openai-compatible'),
  ])
  const allModels = await runCli(daemon.home, ['models'], { env: { ONE_API_KEY: 'k' } })
  expect(allModels).toMatchObject({ code: 1, stdout: '' })
  expect(allModels.stderr).toContain('refused: the key is refused (401)\nunlisted: the server answers, but has no list of models (404)\n')
  expect(await runCli(daemon.home, ['models', 'unlisted'])).toMatchObject({ code: 0 })
  const missingServer = await runCli(daemon.home, ['models', 'ollama'])
  expect(missingServer).toMatchObject({ code: 1, stderr: `ollama: nothing listens at ${closedUrl}/v1\n` })
  const unknown = await runCli(daemon.home, ['models', 'nobody'])
  expect(unknown.code).not.toBe(0)
  expect(unknown.stderr).toContain('there is no provider nobody; there are refused, unlisted, ollama')
})

test('without any usable provider the verb says how to set a key', async () => {
  const daemon = await startDaemonWith([])
  const { code, stdout, stderr } = await runCli(daemon.home, ['models'])
  expect([code, stdout]).toEqual([0, ''])
  expect(stderr).toMatch(/^not asked, [^\n]+\nno provider can be used; `reeve help keys` explains how to set a key\n$/)
})
