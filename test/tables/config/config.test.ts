// The configuration: its keys and defaults, the files that may set them, and the precedence of the sources; the messages for invalid files.
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { userInfo } from 'node:os'
import { describe, expect, test } from 'vitest'
import { DEFAULTS, loadConfig, type Config, type ConfigSources } from '../../../src/config/config.ts'
import { pathsFrom } from '../../../src/config/paths.ts'
import { tempDir } from '../../support/tmp.ts'

interface Workspace extends AsyncDisposable {
  readonly root: string
  readonly cwd: string
  readonly userFile: string
  user(...lines: string[]): void
  project(...lines: string[]): void
  load(changes?: Partial<ConfigSources>): Promise<Config>
  reason(): Promise<string>
}

async function newWorkspace(): Promise<Workspace> {
  const dir = await tempDir()
  const cwd = join(dir.path, 'repo', 'pkg')
  mkdirSync(cwd, { recursive: true })
  const paths = pathsFrom({ REEVE_HOME: join(dir.path, 'home') })
  const writeLines = (file: string, lines: string[]): void => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, lines.join('\n'))
  }
  const load: Workspace['load'] = (changes = {}) => loadConfig({ paths, cwd, ...changes })
  return {
    root: dir.path,
    cwd,
    userFile: paths.configFile,
    user: (...lines) => writeLines(paths.configFile, lines),
    project: (...lines) => writeLines(join(dir.path, 'repo', 'reeve.yaml'), lines),
    load,
    reason: () =>
      load().then(
        () => 'it was accepted',
        (error: Error) => error.message.replaceAll(`${dir.path}/`, ''),
      ),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}

describe('the configuration', () => {
  test('has the defaults without files, and empty files change nothing', async () => {
    await using workspace = await newWorkspace()
    expect(await workspace.load()).toEqual(DEFAULTS)
    workspace.user('# nothing', '')
    workspace.project('')
    expect(await workspace.load()).toEqual(DEFAULTS)
  })

  test("takes the values of the user's file", async () => {
    await using workspace = await newWorkspace()
    workspace.user(
      'maxProcesses: 64',
      'defaultAgent: mine',
      'defaultModel: local/qwen',
      'containment: group',
      'keyCommand: [pass, show, "{name}"]',
      'trusted: [/src]',
      'mcp: { s: { command: run } }',
      'gc: { max_entries: 7 }',
      'prices: { a/b: { input: 1, output: 2 } }',
      'liveness: { silent: 2m }',
      'notifications: { desktop: true }',
      'keep_raw: last',
      'limits: { budgetUsd: 5, timeout: 2h }',
      'budgets: { dailyUsd: 20 }',
      'web: { allow: [commands] }',
      'store: { url: "postgres://reeve@db.example/reeve" }',
      'providers:',
      '  - { name: local, kind: openai-compatible, baseURL: "http://127.0.0.1:8080/v1" }',
      '  - { name: anthropic, kind: anthropic, baseURL: "https://proxy.example/v1", apiKeyEnv: PROXY_KEY }',
    )
    expect(await workspace.load()).toEqual({
      maxProcesses: 64,
      defaultAgent: 'mine',
      defaultModel: 'local/qwen',
      fallback: [],
      effort: null,
      containment: 'group',
      keyCommand: ['pass', 'show', '{name}'],
      trusted: ['/src'],
      gc: { ...DEFAULTS.gc, max_entries: 7 },
      prices: { 'a/b': { input: 1, output: 2 } },
      gateway: DEFAULTS.gateway,
      liveness: { silent: '2m' },
      notifications: { desktop: true },
      keep_raw: 'last',
      limits: { budgetUsd: 5, timeoutMs: 7_200_000 },
      budgets: { dailyUsd: 20 },
      web: { allow: ['commands'] },
      store: { url: 'postgres://reeve@db.example/reeve', durability: 'replicated' },
      providers: [
        { name: 'local', kind: 'openai-compatible', baseURL: 'http://127.0.0.1:8080/v1', apiKeyEnv: null },
        { name: 'anthropic', kind: 'anthropic', baseURL: 'https://proxy.example/v1', apiKeyEnv: 'PROXY_KEY' },
        ...DEFAULTS.providers.filter((provider) => provider.name !== 'anthropic'),
      ],
    })
  })

  test('prefers flags to the environment, then the project, the user and the defaults', async () => {
    await using workspace = await newWorkspace()
    const flags = { model: 'x/flag', agent: 'flag', containment: 'pidns' } as const
    const env = { REEVE_MODEL: 'x/env', REEVE_AGENT: 'env', REEVE_CONTAINMENT: 'cgroup', REEVE_MAX_PROCESSES: '7' }
    workspace.user('defaultModel: x/user', 'defaultAgent: user', 'containment: group', 'maxProcesses: 5')
    expect(await workspace.load()).toMatchObject({ defaultModel: 'x/user', defaultAgent: 'user', containment: 'group', maxProcesses: 5 })
    workspace.project('defaultModel: x/project')
    expect(await workspace.load()).toMatchObject({ defaultModel: 'x/project', defaultAgent: 'user' })
    expect(await workspace.load({ cwd: null })).toMatchObject({ defaultModel: 'x/user' })
    expect(await workspace.load({ env })).toMatchObject({
      defaultModel: 'x/env',
      defaultAgent: 'env',
      containment: 'cgroup',
      maxProcesses: 7,
    })
    expect(await workspace.load({ env, flags })).toMatchObject({
      defaultModel: 'x/flag',
      defaultAgent: 'flag',
      containment: 'pidns',
      maxProcesses: 7,
    })
    expect(await workspace.load({ env: { REEVE_MODEL: '' }, flags: {} })).toMatchObject({ defaultModel: 'x/project' })
  })

  test('uses the nearest reeve.yaml', async () => {
    await using workspace = await newWorkspace()
    workspace.project('defaultModel: x/outer')
    writeFileSync(join(workspace.cwd, 'reeve.yaml'), 'defaultModel: x/inner')
    expect(await workspace.load()).toMatchObject({ defaultModel: 'x/inner' })
  })
})

describe('an invalid file is refused with its line', () => {
  test.each([
    ['an unknown key', ['maxProcesses: 1', 'defaultModle: a/b'], '2: unknown key `defaultModle`; did you mean `defaultModel`?'],
    ['a key without its first part', ['budgetUsd: 5'], '1: unknown key `budgetUsd`; did you mean `limits.budgetUsd`?'],
    [
      'an unknown key that resembles no other',
      ['zzz: 1'],
      '1: unknown key `zzz`; known keys are defaultAgent, defaultModel, fallback, effort, supervisors, crews, maxProcesses, providers, containment, keyCommand, trusted, mcp, limits, budgets, keep_raw, gc, prices, liveness, notifications, gateway, web, store',
    ],
    [
      'an unknown key of a part',
      ['providers:', '  - name: x', '    kind: anthropic', '    baseUrl: http://x'],
      '4: unknown key `providers.0.baseUrl`; did you mean `baseURL`?',
    ],
    ['a text instead of a number', ['', 'maxProcesses: many'], '2: maxProcesses: must be a number'],
    ['a number that is too small', ['maxProcesses: 0'], '1: maxProcesses: must be at least 1'],
    ['an unknown kind of containment', ['containment: docker'], '1: containment: must be one of auto, cgroup, pidns, group'],
    ['a model without a provider', ['defaultModel: gpt'], '1: defaultModel: expected provider/name, script:FILE or replay:UUID'],
    [
      'a provider without a URL',
      ['providers:', '  - { name: x, kind: anthropic }'],
      '2: providers.0.baseURL: expected a URL with http or https',
    ],
    [
      'a file as a URL',
      ['providers:', '  - { name: x, kind: anthropic, baseURL: "file:///etc" }'],
      '2: providers.0.baseURL: expected a URL with http or https',
    ],
    [
      'an API key in the place of the name of its variable',
      ['providers:', '  - { name: x, kind: anthropic, baseURL: "http://x", apiKeyEnv: sk-123 }'],
      '2: providers.0.apiKeyEnv: expected the name of a variable, never a key itself',
    ],
    ['a repeated key', ['containment: auto', 'containment: auto'], '2: not valid YAML: Map keys must be unique'],
    ['a list instead of a map', ['- a'], '1: must be an object with keys and values'],
    [
      'aliases that multiply',
      ['a: &a [x,x,x,x,x,x,x,x,x,x]', 'b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]', 'c: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]'],
      '1: not valid YAML: an alias is unknown, or there are too many',
    ],
  ])('%s', async (_, lines, message) => {
    await using workspace = await newWorkspace()
    workspace.user(...lines)
    expect(await workspace.reason()).toBe(`home/config.yaml:${message}`)
    await expect(workspace.load()).rejects.toMatchObject({ code: 'AGENT_INVALID', details: { file: workspace.userFile } })
  })

  test.each([
    [
      'keyCommand: [rm]',
      "`keyCommand` can be set only in the user's config.yaml; a project may set defaultAgent, defaultModel, fallback, effort, supervisors, crews, agents",
    ],
    [
      'providers: []',
      "`providers` can be set only in the user's config.yaml; a project may set defaultAgent, defaultModel, fallback, effort, supervisors, crews, agents",
    ],
    [
      'containment: group',
      "`containment` can be set only in the user's config.yaml; a project may set defaultAgent, defaultModel, fallback, effort, supervisors, crews, agents",
    ],
    [
      'maxProcesses: 1',
      "`maxProcesses` can be set only in the user's config.yaml; a project may set defaultAgent, defaultModel, fallback, effort, supervisors, crews, agents",
    ],
    ['defaultAgnet: x', 'unknown key `defaultAgnet`; did you mean `defaultAgent`?'],
  ])('a project may not set %j', async (line, message) => {
    await using workspace = await newWorkspace()
    workspace.project('', line)
    expect(await workspace.reason()).toBe(`repo/reeve.yaml:2: ${message}`)
  })

  test('a FIFO is refused, and does not block', async () => {
    await using workspace = await newWorkspace()
    expect(spawnSync('mkfifo', [join(workspace.root, 'repo', 'reeve.yaml')]).status).toBe(0)
    expect(await workspace.reason()).toBe('repo/reeve.yaml: it is not a regular file')
  })

  test.runIf(userInfo().uid === 0)('a file of another user is refused (needs root to change the owner)', async () => {
    await using workspace = await newWorkspace()
    workspace.project('defaultModel: x/evil')
    chownSync(join(workspace.root, 'repo', 'reeve.yaml'), 12_345, 12_345)
    expect(await workspace.reason()).toBe('repo/reeve.yaml: it belongs to another user, so it is not used')
  })
})

test.each([
  [{ REEVE_MODEL: 'gpt' }, 'REEVE_MODEL: expected provider/name, script:FILE or replay:UUID'],
  [{ REEVE_CONTAINMENT: 'x' }, 'REEVE_CONTAINMENT: must be one of auto, cgroup, pidns, group'],
  [{ REEVE_MAX_PROCESSES: 'x' }, 'REEVE_MAX_PROCESSES: must be a number'],
  [{ REEVE_AGENT: '/x' }, 'REEVE_AGENT: expected a name of letters, digits, dots, dashes and underscores'],
])('an invalid variable is named: %j', async (env, message) => {
  await using workspace = await newWorkspace()
  await expect(workspace.load({ env })).rejects.toMatchObject({ code: 'INVALID', message })
})
