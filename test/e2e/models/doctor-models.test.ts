// `doctor --models` checks the providers. Covers keys from each of their sources, and endpoints of every kind and in
// every state. An unchecked endpoint gets no request. The endpoints are on this machine.
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProviderCheckView } from '../../../src/api/views/daemon.ts'
import { listModels } from '../../../src/drivers/native/models/list-models.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer, type ServedAnswer, type ServedRequest } from '../../support/models/model-server.ts'

const list = (name: string, count: number): ServedAnswer => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ [name]: Array.from({ length: count }, (_, index) => ({ id: `m${index}` })) }),
})

/** Answers by the first part of the path. */
const ANSWERS: Readonly<Record<string, ServedAnswer>> = {
  anthropic: list('data', 3),
  responses: list('data', 1),
  google: list('models', 2),
  chat: list('data', 0),
  moved: list('data', 4),
  refused: { status: 401 },
  unlisted: { status: 404 },
  page: { headers: { 'content-type': 'text/html' }, body: '<html>hello</html>' },
  broken: { status: 500 },
  away: { status: 302, headers: { location: 'http://127.0.0.1:1/elsewhere' } },
  silent: { hangAfterBytes: 0 },
}

let resources: AsyncDisposableStack
let server: ModelServer
let closed: string

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  server = resources.use(await startModelServer(({ path }: ServedRequest) => ANSWERS[path.split('/')[1] ?? ''] ?? { status: 500 }))
  const other = await startModelServer([])
  closed = other.url
  await other[Symbol.asyncDispose]()
})
afterEach(() => resources.disposeAsync())

/** Disables the default providers that would be requested on this machine. */
const disabledDefaults = (): string =>
  ['ollama', 'lmstudio', 'vllm'].map((name) => `  - { name: ${name}, kind: openai-compatible, baseURL: "${closed}/v1" }\n`).join('')
const providerConfig = (name: string, kind: string, settings = ''): string =>
  `  - { name: ${name}, kind: ${kind}, baseURL: "${server.url}/${name}/v1"${settings} }\n`

describe('through a daemon', () => {
  let daemon: LocalDaemon
  let secret: string

  async function check(
    providers: string,
    env: Readonly<Record<string, string>> = {},
    more = '',
  ): Promise<ReadonlyMap<string, ProviderCheckView>> {
    daemon = resources.use(await LocalDaemon.start({ config: `${more}providers:\n${providers}${disabledDefaults()}` }))
    const answer = await daemon.client.post<{ providers: ProviderCheckView[] }>('/v1/doctor/models', { env: testEnv(daemon.work, env) })
    expect(JSON.stringify(answer)).not.toContain(secret)
    expect(daemon.errors).toEqual([])
    return new Map(answer.providers.map((one) => [one.name, one]))
  }

  beforeEach(() => {
    secret = `value-${randomBytes(12).toString('hex')}`
  })

  test("a key from the environment is sent in the provider's header", async () => {
    const checks = await check(
      providerConfig('anthropic', 'anthropic', ', apiKeyEnv: ONE_API_KEY') +
        providerConfig('responses', 'openai', ', apiKeyEnv: ONE_API_KEY') +
        providerConfig('google', 'google', ', apiKeyEnv: ONE_API_KEY') +
        providerConfig('chat', 'openai-compatible'),
      { ONE_API_KEY: secret },
    )
    const key = { name: 'ONE_API_KEY', from: 'environment' }
    expect(checks.get('anthropic')).toEqual({
      name: 'anthropic',
      kind: 'anthropic',
      baseURL: `${server.url}/anthropic/v1`,
      key,
      ok: true,
      detail: '3 models',
      models: 3,
    })
    expect(checks.get('responses')).toMatchObject({ key, ok: true, detail: '1 model', models: 1 })
    expect(checks.get('google')).toMatchObject({ key, ok: true, detail: '2 models', models: 2 })
    expect(checks.get('chat')).toMatchObject({ key: null, ok: true, models: 0 })
    const sentRequests = new Map(
      server.requests.map(({ path, headers }) => [path, [headers['x-api-key'], headers['x-goog-api-key'], headers.authorization]]),
    )
    expect(sentRequests).toEqual(
      new Map([
        ['/anthropic/v1/models?limit=1000', [secret, undefined, undefined]],
        ['/responses/v1/models', [undefined, undefined, `Bearer ${secret}`]],
        ['/google/v1/models?pageSize=1000', [undefined, secret, undefined]],
        ['/chat/v1/models', [undefined, undefined, undefined]],
      ]),
    )
  })

  test("keys come from the user's file and the user's command, and a provider with a missing key gets no request", async () => {
    const providers =
      providerConfig('anthropic', 'anthropic', ', apiKeyEnv: KEPT_KEY') +
      providerConfig('responses', 'openai', ', apiKeyEnv: TOLD_KEY') +
      providerConfig('chat', 'openai-compatible', ', apiKeyEnv: NO_KEY')
    daemon = resources.use(await LocalDaemon.start())
    await writeFile(
      daemon.paths.configFile,
      `keyCommand: [sh, -c, 'test "$0" = TOLD_KEY && echo ${secret}', '{name}']\nproviders:\n${providers}${disabledDefaults()}`,
    )
    await writeFile(daemon.paths.credentialsFile, `KEPT_KEY: ${secret}\n`, { mode: 0o600 })
    await daemon.restart()
    const answer = await daemon.client.post<{ providers: ProviderCheckView[] }>('/v1/doctor/models', { env: {} })
    expect(answer.providers.map(({ name, key, ok, optional }) => [name, key?.from, ok, optional]).slice(0, 3)).toEqual([
      ['anthropic', 'credentials.yaml', true, undefined],
      ['responses', 'keyCommand', true, undefined],
      ['chat', 'missing', false, true],
    ])
    expect(answer.providers[2]).toMatchObject({ detail: 'NO_KEY is not set', models: null })
    expect(server.requests.map(({ path }) => path.split('/')[1]).toSorted()).toEqual(['anthropic', 'responses'])
    expect(JSON.stringify(answer)).not.toContain(secret)
  })

  test('a server that is down is a problem only if it has a key, and an address from the environment is used', async () => {
    const checks = await check(
      `  - { name: remote, kind: openai, baseURL: "${closed}/v1", apiKeyEnv: ONE_API_KEY }\n  - { name: secretive, kind: openai, baseURL: "http://me:${secret}@127.0.0.1:1/v1" }\n`,
      { ONE_API_KEY: secret, ANTHROPIC_API_KEY: secret, ANTHROPIC_BASE_URL: `${server.url}/moved` },
    )
    expect(checks.get('ollama')).toEqual({
      name: 'ollama',
      kind: 'openai-compatible',
      baseURL: `${closed}/v1`,
      key: null,
      ok: false,
      detail: `nothing listens at ${closed}/v1`,
      models: null,
      optional: true,
    })
    expect(checks.get('remote')).toMatchObject({ ok: false, detail: `nothing listens at ${closed}/v1` })
    expect(checks.get('remote')).not.toHaveProperty('optional')
    expect(checks.get('anthropic')).toMatchObject({ baseURL: `${server.url}/moved`, ok: true, models: 4 })
    expect(checks.get('secretive')).toMatchObject({
      baseURL: 'http://127.0.0.1:1/v1',
      ok: false,
      detail: 'the base URL contains a user name or a password, which a request cannot have: remove it',
    })
  })

  test('a doctor without --models makes no request', async () => {
    await check(providerConfig('chat', 'openai-compatible'))
    const requestsBefore = server.requests.length
    await daemon.client.get('/v1/doctor')
    expect(server.requests.length).toBe(requestsBefore)
  })
})

test.each([
  ['refused', { ok: false, detail: 'the key is refused (401)' }],
  ['unlisted', { ok: true, detail: 'the server answers, but has no list of models (404)' }],
  ['page', { ok: false, detail: expect.stringContaining('check the base URL') }],
  ['broken', { ok: false, detail: 'the server answers with the status 500' }],
  ['away', { ok: false, detail: 'the server answers with the status 302' }],
])('the models of the endpoint /%s are not listed, with the reason', async (name, expected) => {
  expect(await listModels({ kind: 'openai', baseURL: `${server.url}/${name}` }, 'k')).toEqual({ models: null, ...expected })
})

test('an endpoint that does not answer is reported after the time limit', async () => {
  expect(await listModels({ kind: 'openai', baseURL: `${server.url}/silent` }, 'k', 50)).toEqual({
    ok: false,
    detail: 'no answer within 0.05 s',
    models: null,
  })
  await server.requests[0]?.closed
})

test('a port to which fetch sends no request is reported', async () => {
  expect(await listModels({ kind: 'openai', baseURL: 'http://127.0.0.1:9/v1' }, null)).toEqual({
    ok: false,
    detail: 'http://127.0.0.1:9/v1 cannot be reached: bad port',
    models: null,
  })
})
