// The configuration of each known agent for the gateway. An agent's own settings can prevent the use of the gateway: another
// address, or a login. No provider's key stays in an agent's environment. With real agents: test/agents/gateway.test.ts.
import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { clientOf, prepareStart } from '../../../../src/drivers/gateway/clients.ts'
import { tempDir } from '../../../support/tmp.ts'
import type { ProgramSpec } from '../../../../src/kernel/model/process-spec.ts'

const TOKEN = 'reeve-token'
const KEYS = {
  ANTHROPIC_API_KEY: 'k1',
  OPENAI_API_KEY: 'k2',
  GEMINI_API_KEY: 'k3',
  CODEX_API_KEY: 'k4',
  GOOGLE_API_KEY: 'k5',
  CLAUDE_CODE_OAUTH_TOKEN: 'k6',
  CORP_KEY: 'k7',
}

let home: string
beforeEach(async () => {
  const tmp = await tempDir()
  onTestFinished(async () => {
    await tmp[Symbol.asyncDispose]()
  })
  home = tmp.path
})

function writeHomeFile(path: string, content: unknown): void {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

type SpecChanges = Partial<Pick<ProgramSpec, 'env' | 'credentials' | 'model'>>

function specOf(argv: readonly string[], { env = {}, credentials = Object.keys(KEYS), model = null }: SpecChanges = {}): ProgramSpec {
  return { argv, env: { HOME: home, ...env }, credentials, model, cwd: join(home, 'work') } as unknown as ProgramSpec
}

function startOf(argv: readonly string[], spec: SpecChanges = {}): ReturnType<typeof prepareStart> {
  const urlOf = (provider: string): string => `http://gate/${provider}${provider === 'anthropic' || provider === 'google' ? '' : '/v1'}`
  return prepareStart(
    {
      spec: specOf(argv, spec),
      credentials: { ...KEYS, GITHUB_TOKEN: 'gh' },
      gateway: { url: urlOf, token: TOKEN, hiddenVariables: ['CORP_KEY'] },
      tmpDir: join(home, 'tmp'),
    },
    argv,
  )
}

const jsonAt = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))

describe('the configuration for', () => {
  test.each([
    ['claude', ['claude', '-p', 'go'], { ANTHROPIC_BASE_URL: 'http://gate/anthropic', ANTHROPIC_AUTH_TOKEN: TOKEN }],
    [
      'claude, started by its package',
      ['npx', '-y', '@agentclientprotocol/claude-agent-acp@0.100.0'],
      { ANTHROPIC_BASE_URL: 'http://gate/anthropic', ANTHROPIC_AUTH_TOKEN: TOKEN },
    ],
    ['gemini', ['gemini', '--acp'], { GOOGLE_GEMINI_BASE_URL: 'http://gate/google', GEMINI_API_KEY: TOKEN }],
    [
      'an unknown program',
      ['my-agent', 'claude'],
      {
        ANTHROPIC_BASE_URL: 'http://gate/anthropic',
        ANTHROPIC_API_KEY: TOKEN,
        OPENAI_BASE_URL: 'http://gate/openai/v1',
        OPENAI_API_KEY: TOKEN,
        GOOGLE_GEMINI_BASE_URL: 'http://gate/google',
        GEMINI_API_KEY: TOKEN,
      },
    ],
  ])('%s', async (_, argv, env) => {
    const { argv: sameArgv, env: toldEnv } = await startOf(argv)
    expect(sameArgv).toEqual(argv)
    expect(toldEnv).toEqual({ HOME: home, GITHUB_TOKEN: 'gh', ...env })
  })

  test('codex has a provider of its own, before the verb', async () => {
    const { argv, env } = await startOf(['npx', 'codex', 'exec', '--json', 'go'])
    expect(argv.slice(0, 2)).toEqual(['npx', 'codex'])
    expect(argv.slice(-3)).toEqual(['exec', '--json', 'go'])
    expect(argv.slice(2, -3)).toEqual([
      '-c',
      'model_provider="reeve"',
      '-c',
      'model_providers.reeve.name="reeve"',
      '-c',
      'model_providers.reeve.base_url="http://gate/openai/v1"',
      '-c',
      'model_providers.reeve.env_key="OPENAI_API_KEY"',
      '-c',
      'model_providers.reeve.wire_api="responses"',
    ])
    expect(env).toEqual({ HOME: home, GITHUB_TOKEN: 'gh', OPENAI_API_KEY: TOKEN, OPENAI_BASE_URL: 'http://gate/openai/v1' })
  })

  test('codex by ACP is merged with its existing settings', async () => {
    const { env } = await startOf(['codex-acp'], {
      env: { CODEX_CONFIG: '{"model":"m","model_providers":{"x":{"experimental_bearer_token":"k2"}}}' },
    })
    expect(JSON.parse(env['CODEX_CONFIG'] ?? '')).toEqual({
      model: 'm',
      model_provider: 'reeve',
      model_providers: { reeve: { name: 'reeve', base_url: 'http://gate/openai/v1', env_key: 'OPENAI_API_KEY', wire_api: 'responses' } },
    })
    expect(env).toMatchObject({ OPENAI_API_KEY: TOKEN, MODEL_PROVIDER: 'reeve' })
  })

  test('opencode adds only the used provider to its existing settings', async () => {
    const ownSettings = {
      autoupdate: false,
      provider: {
        other: { options: { apiKey: 'k1' } },
        local: { npm: '@ai-sdk/openai-compatible', options: { baseURL: 'http://mine/v1', apiKey: 'k2', timeout: 5 }, models: { m: {} } },
      },
    }
    const { env } = await startOf(['opencode', 'acp'], { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(ownSettings) }, model: 'local/m' })
    expect(JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '')).toEqual({
      autoupdate: false,
      enabled_providers: ['local'],
      provider: {
        local: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: 'http://gate/local/v1', apiKey: TOKEN, timeout: 5 },
          models: { m: {} },
        },
      },
    })
    expect(env['OPENCODE_AUTH_CONTENT']).toBe('{}')
    expect(JSON.stringify(env)).not.toMatch(/"k\d"/)
  })

  test.each([
    ['anthropic', 'http://gate/anthropic/v1'],
    ['google', 'http://gate/google/v1beta'],
    ['openai', 'http://gate/openai/v1'],
  ])('opencode has a version in the base URL of %s', async (name, baseURL) => {
    const { env } = await startOf(['opencode', 'run', '-m', `${name}/m`, 'go'])
    expect(JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '')).toMatchObject({ provider: { [name]: { options: { baseURL } } } })
  })

  test("pi is a folder with the user's sessions and settings", async () => {
    writeHomeFile('.pi/agent/models.json', { providers: { ollama: { baseUrl: 'http://o', api: 'openai-completions' } } })
    writeHomeFile('.pi/agent/auth.json', { anthropic: { type: 'api_key', key: 'k1' } })
    writeHomeFile('.pi/agent/settings.json', {})
    await startOf(['pi', '-p', '--provider', 'google', 'go'])
    const { env } = await startOf(['pi', '-p', '--provider', 'google', 'go'])
    const dir = env['PI_CODING_AGENT_DIR'] ?? ''
    expect(jsonAt(join(dir, 'models.json'))).toEqual({
      providers: {
        ollama: { baseUrl: 'http://o', api: 'openai-completions' },
        google: { baseUrl: 'http://gate/google/v1beta', apiKey: TOKEN },
      },
    })
    expect(['sessions', 'settings.json'].map((name) => lstatSync(join(dir, name)).isSymbolicLink())).toEqual([true, true])
    expect(lstatSync(join(home, '.pi/agent/sessions')).isDirectory()).toBe(true)
    expect(() => lstatSync(join(dir, 'auth.json'))).toThrow('ENOENT')
  })

  test('an agent without the gateway keeps its arguments, and has its keys in its environment', async () => {
    const argv = ['codex', 'exec', 'go']
    expect(await prepareStart({ spec: specOf(argv), credentials: KEYS, tmpDir: join(home, 'tmp') }, argv)).toEqual({
      argv,
      env: { HOME: home, ...KEYS },
    })
  })
})

describe('the providers that an agent calls', () => {
  const claude = ['claude', '-p', 'go']
  const exec = ['codex', 'exec', 'go']

  test.each([
    [claude, 'Claude Code', ['anthropic']],
    [['claude-agent-acp'], 'Claude Code', ['anthropic']],
    [exec, 'Codex', ['openai']],
    [['codex-acp'], 'Codex', ['openai']],
    [['gemini', '--acp'], 'Gemini CLI', ['google']],
    [['opencode', 'run', '-m', 'openai/gpt', 'go'], 'OpenCode', ['openai']],
    [['pi', '--provider', 'anthropic', '-p', 'go'], 'pi', ['anthropic']],
    [['pi', '--model', 'openai/gpt', '-p', 'go'], 'pi', ['openai']],
  ])('as %j are known', (argv, title, providers) => {
    expect(clientOf(specOf(argv))).toEqual({ title, providers })
  })

  test.each([['ls', 'claude'], ['sh', '-c', 'claude -p go'], ['claudette']])('the program in %j is unknown', (...argv) => {
    expect(clientOf(specOf(argv))).toBeNull()
  })

  test.each([
    ['a cloud as the provider of Claude Code', claude, { CLAUDE_CODE_USE_BEDROCK: '1' }, 'CLAUDE_CODE_USE_BEDROCK is set'],
    ['a missing setting for keys of Gemini CLI', ['gemini', '-p', 'go'], {}, 'it accepts another address only if'],
    [
      'Vertex AI as the provider of Gemini CLI',
      ['gemini', '-p', 'go'],
      { GOOGLE_GENAI_USE_VERTEXAI: 'true' },
      'GOOGLE_GENAI_USE_VERTEXAI is set',
    ],
    ['a local model of Codex', [...exec, '--oss'], {}, 'the option --oss selects'],
    ['a profile of Codex', ['codex', '-p', 'work', 'exec', 'go'], {}, 'the option -p selects'],
    [
      'a provider in the arguments of Codex',
      ['codex', '-c', 'model_provider=azure', 'exec', 'go'],
      {},
      'the option -c model_provider=azure selects',
    ],
    ['a provider in the environment of codex-acp', ['codex-acp'], { MODEL_PROVIDER: 'azure' }, 'MODEL_PROVIDER names a provider'],
    [
      'a provider in the settings that codex-acp merges',
      ['codex-acp'],
      { CODEX_CONFIG: '{"model_provider":"azure"}' },
      'CODEX_CONFIG names a provider',
    ],
    ['an unknown model of OpenCode', ['opencode', 'acp'], {}, 'its model is not known'],
    ['an unknown provider of pi', ['pi', '-p', 'go'], {}, 'its provider is not known'],
    ['a key in the arguments of pi', ['pi', '--provider', 'openai', '--api-key', 'k', '-p', 'go'], {}, 'its command line contains a key'],
  ] as const)('the gateway is not used because of %s', (_, argv, env, message) => {
    expect(clientOf(specOf(argv, { env }))?.bypass).toContain(message)
  })

  test('the gateway is not used if settings of Claude Code set its variables', () => {
    writeHomeFile('work/.claude/settings.local.json', { env: { ANTHROPIC_BASE_URL: 'http://corp' } })
    expect(clientOf(specOf(claude))?.bypass).toMatch(/settings\.local\.json sets ANTHROPIC_BASE_URL/)
  })

  test('the gateway is not used for a provider in a file of Codex', () => {
    writeHomeFile('.codex/config.toml', 'model = "m"\nmodel_provider = "azure"\n')
    expect(clientOf(specOf(exec))?.bypass).toMatch(/config\.toml names the provider azure/)
  })

  test('the address in a file of Codex is its base URL', () => {
    writeHomeFile('codex/config.toml', 'openai_base_url = "http://corp/v1"\n')
    expect(clientOf(specOf(exec, { env: { CODEX_HOME: join(home, 'codex') } }))).toEqual({
      title: 'Codex',
      providers: ['openai'],
      bases: { openai: 'http://corp/v1' },
    })
  })

  test("settings of OpenCode apply in OpenCode's own order; no key is sent to an address in a project's settings", () => {
    writeHomeFile('.config/opencode/opencode.json', { model: 'google/g', provider: { openai: { options: { baseURL: 'http://corp/v1' } } } })
    expect(clientOf(specOf(['opencode', 'acp']))?.providers).toEqual(['google'])
    writeHomeFile('work/opencode.json', { model: 'openai/m', provider: { openai: { options: { baseURL: 'http://thief/v1' } } } })
    expect(clientOf(specOf(['opencode', 'acp']))).toMatchObject({ providers: ['openai'], bases: { openai: 'http://corp/v1' } })
    expect(clientOf(specOf(['opencode', 'acp'], { model: 'anthropic/m' }))?.providers).toEqual(['anthropic'])
  })

  test('an agent with its own login does not use the gateway, unless it prefers a key in its environment', () => {
    writeHomeFile('.claude/.credentials.json', {})
    writeHomeFile('.codex/auth.json', { tokens: { access_token: 'x' } })
    writeHomeFile('.gemini/settings.json', { security: { auth: { selectedType: 'oauth-personal' } } })
    writeHomeFile('work/.gemini/settings.json', {})
    expect(clientOf(specOf(claude, { credentials: [] }))?.login).toContain('its own login')
    expect(clientOf(specOf(claude))?.login).toBeUndefined()
    expect(clientOf(specOf(exec))?.login).toBe('it uses its own login')
    expect(clientOf(specOf(['gemini', '--acp']))?.login).toBe('its settings select the login method oauth-personal')
    writeHomeFile('.gemini/settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } })
    expect(clientOf(specOf(['gemini', '-p', 'go']))).toEqual({ title: 'Gemini CLI', providers: ['google'] })
  })
})
