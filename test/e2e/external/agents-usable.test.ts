// Which agents could run here, and why others could not: as the daemon answers, and as the command line does with its own keys.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AgentsView } from '../../../src/api/views/agents.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const writeAgent = (name: string, front: string): Promise<void> =>
  writeFile(join(daemon.work, '.reeve/agents', `${name}.md`), `---\ndescription: ${name} does things\n${front}\n---\nDo.\n`)
const listAgents = (query: Readonly<Record<string, string>> = {}): Promise<AgentsView> =>
  daemon.client.get('/v1/agents', { cwd: daemon.work, ...query })
/** Without the built-in agents, which may be installed here or not. */
const withoutInstalled = <T extends { name: string }>(agents: readonly T[]): readonly T[] =>
  agents.filter(({ name }) => !['claude', 'codex', 'gemini', 'opencode'].includes(name))
const summaryOf = ({ agents }: AgentsView): Record<string, unknown> =>
  Object.fromEntries(
    withoutInstalled(agents).map(({ name, usable, usesModel, needs, reason }) => [name, [usable, usesModel, needs, reason]]),
  )

test('each agent is listed with its model, what the model needs, and what is missing', async () => {
  await writeAgent('keyed', 'model: anthropic/claude-x')
  await writeAgent('local', 'model: ollama/small')
  await writeAgent('played', 'model: "script:x.yaml"')
  await writeAgent('lost', 'model: nobody/x')
  await writeAgent('other', 'driver: acp\ncommand: [no-such-agent, --acp]')
  await writeAgent('there', 'driver: acp\ncommand: [/bin/sh]')
  expect(summaryOf(await listAgents())).toEqual({
    default: [false, null, [], 'no model is configured; `reeve help keys` explains models'],
    keyed: [false, 'anthropic/claude-x', ['ANTHROPIC_API_KEY'], 'ANTHROPIC_API_KEY is not set'],
    local: [true, 'ollama/small', [], null],
    played: [true, 'script:x.yaml', [], null],
    lost: [false, 'nobody/x', [], expect.stringContaining('"nobody/x" has no known provider')],
    other: [false, null, [], 'no-such-agent: command not found. Check the spelling and the PATH that was recorded (`reeve inspect`).'],
    there: [true, null, [], null],
  })
})

test("keys are looked for in the user's file, and a configured command counts without being run", async () => {
  await writeAgent('keyed', 'model: anthropic/claude-x')
  await writeFile(daemon.paths.credentialsFile, 'ANTHROPIC_API_KEY: sk-of-a-test\n', { mode: 0o600 })
  const agentsBefore = await listAgents()
  expect(agentsBefore.keys).toEqual({ ANTHROPIC_API_KEY: 'credentials.yaml' })
  expect(summaryOf(agentsBefore)['keyed']).toEqual([true, 'anthropic/claude-x', ['ANTHROPIC_API_KEY'], null])
  expect(JSON.stringify(agentsBefore)).not.toContain('sk-of-a-test')
  await writeFile(daemon.paths.credentialsFile, 'OTHER: x\n', { mode: 0o600 })
  await writeFile(daemon.paths.configFile, `defaultModel: openai/x\nkeyCommand: [sh, -c, 'touch ${join(daemon.work, 'asked')}']\n`)
  const commanded = await listAgents()
  expect(commanded.keys).toEqual({ ANTHROPIC_API_KEY: 'keyCommand', OPENAI_API_KEY: 'keyCommand' })
  expect(summaryOf(commanded)['default']).toEqual([true, 'openai/x', ['OPENAI_API_KEY'], null])
  await expect(mkdir(join(daemon.work, 'asked'))).resolves.toBeUndefined() // the command did not run
})

test('a program of the repository does not replace the default agent, unless it is trusted', async () => {
  await writeAgent('default', 'driver: command\ncommand: [sh, -c, "touch ran"]')
  const trustNotice = `${join(daemon.work, '.reeve/agents/default.md')} is not trusted to start a program (sh -c touch ran) in place of the built-in agent \`default\``
  for (const selection of [{}, { agent: 'default' }]) {
    await expect(daemon.spawn({ ...selection, intent: 'go' })).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: trustNotice,
      hint: `If you know what it starts: \`reeve config trust ${daemon.work}\`.`,
    })
  }
  expect(summaryOf(await listAgents())['default']).toEqual([false, null, [], expect.stringContaining(trustNotice)])
  expect((await daemon.client.get<{ processes: unknown[] }>('/v1/processes', { all: '1' })).processes).toEqual([])
  await writeFile(daemon.paths.configFile, `trusted: [${daemon.work}]\n`)
  expect(summaryOf(await listAgents())['default']).toEqual([true, null, [], null])
  const { uuid } = await daemon.spawn({ intent: 'go' })
  await daemon.waitForStatus(uuid, 'completed')
  await expect(mkdir(join(daemon.work, 'ran'))).rejects.toMatchObject({ code: 'EEXIST' })
})

test('the default model counts for agents that name none, and an unreadable configuration is reported', async () => {
  await writeAgent('keyed', 'model: anthropic/claude-x')
  expect(summaryOf(await listAgents({ model: 'ollama/small' }))).toMatchObject({
    default: [true, 'ollama/small', [], null],
    keyed: [false, 'anthropic/claude-x', ['ANTHROPIC_API_KEY'], 'ANTHROPIC_API_KEY is not set'],
  })
  await writeFile(daemon.paths.configFile, 'defaultMode: x\n')
  expect(summaryOf(await listAgents())['default']).toEqual([
    false,
    null,
    [],
    expect.stringContaining('config.yaml:1: unknown key `defaultMode`'),
  ])
})

test('programs are looked for in the PATH of the command line, and an unknown login is not reported as present', async () => {
  const bin = join(daemon.work, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'claude-agent-acp'), '#!/bin/sh\n', { mode: 0o755 })
  const readRows = async (env: Readonly<Record<string, string>>): Promise<string[]> => {
    const { stdout, stderr } = await runCli(daemon.home, ['agents'], { cwd: daemon.work, env: { PATH: bin, ...env } })
    const [row = ''] = stdout.split('\n').filter((line) => line.startsWith('claude '))
    return [
      /^claude +(no|not checked|yes) /.exec(row)?.[1] ?? '',
      ...stderr.split('\n').filter((line) => line.includes('the login is') || line.startsWith('not installed: claude')),
    ]
  }
  expect(await readRows({})).toEqual(['not checked', 'the login is not checked: claude (`claude /login` or ANTHROPIC_API_KEY)'])
  expect(await readRows({ ANTHROPIC_API_KEY: 'of this shell' })).toEqual(['yes'])
  expect(await readRows({ PATH: daemon.work })).toEqual(['no', expect.stringContaining('not installed: claude, ')])
})

test('the command line counts its own keys, and fits into 80 columns', async () => {
  await writeAgent('reviewer-of-many-things', 'model: anthropic/claude-sonnet-5')
  await writeAgent('second', 'model: anthropic/claude-sonnet-5')
  const run = (env: Readonly<Record<string, string>>, ...args: string[]): ReturnType<typeof runCli> =>
    runCli(daemon.home, ['agents', ...args], { cwd: daemon.work, env: { COLUMNS: '80', ...env } })
  const without = await run({})
  expect(without.code).toBe(0)
  expect(
    without.stdout
      .split('\n')
      .filter((line) => !/^(claude|codex|gemini|opencode) /.test(line))
      .slice(0, 4),
  ).toEqual([
    'NAME                     READY  MODEL         FORK            SOURCE    DESCRIP…',
    'default                  no     -             any step        built-in  Built-i…',
    'reviewer-of-many-things  no     anthropic/c…  any step        project   reviewe…',
    'second                   no     anthropic/c…  any step        project   second …',
  ])
  expect(without.stderr).toContain('not ready: default: no model is configured')
  expect(without.stderr).toContain('not ready: reviewer-of-many-things, second: ANTHROPIC_API_KEY is not set')
  // There is one line, however many are missing on this machine.
  const missing = (await listAgents()).agents.filter(({ install }) => install !== null)
  const packages = missing.map(({ install }) => install?.split(' ').at(-1))
  expect(without.stderr.split('\n').filter((line) => line.includes('install'))).toEqual(
    missing.length === 0
      ? []
      : [`not installed: ${missing.map(({ name }) => name).join(', ')}; install those you need: npm install -g ${packages.join(' ')}`],
  )
  const withKey = await run({ ANTHROPIC_API_KEY: 'of this shell', REEVE_MODEL: 'ollama/small' }, '--json')
  const json = JSON.parse(withKey.stdout) as AgentsView
  expect(json.keys).toEqual({ ANTHROPIC_API_KEY: 'environment' })
  expect(withoutInstalled(json.agents).map(({ usable }) => usable)).toEqual([true, true, true])
  expect(withKey.stdout).not.toContain('of this shell')
})

test('agents that take no messages while they run are known, and named', async () => {
  await writeAgent('plain', 'driver: command\ncommand: ["true"]')
  await writeAgent('talks', 'driver: command\ncommand: [claude, -p, --output-format, stream-json, --verbose]')
  await writeAgent('forgets', 'driver: command\ncommand: [claude, -p, --output-format, stream-json, --verbose, --no-session-persistence]')
  const { agents } = await listAgents()
  expect(Object.fromEntries(withoutInstalled(agents).map(({ name, converses }) => [name, converses]))).toEqual({
    default: true,
    forgets: false,
    plain: false,
    talks: true,
  })
  const { stderr } = await runCli(daemon.home, ['agents'], { cwd: daemon.work })
  expect(stderr.split('\n')).toContain('takes no messages while it runs, and cannot be a crew member: forgets, plain')
})
