// MCP servers through the whole daemon: configured, trusted or not, named for one run. Their secrets are never stored. Servers are
// restored after a resume, and gone after `kill -9` of the daemon.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { trustDirectory } from '../../../src/config/edit.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import type { McpState } from '../../../src/kernel/model/facts.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { testEnv } from '../../support/env.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { MCP_PROGRAM } from '../../support/agents/native-with-mcp.ts'

const token = newToken()
const server = (mode = 'usual', log = ''): { command: string; args: string[] } => ({
  command: process.execPath,
  args: [MCP_PROGRAM, mode, log, token],
})

afterEach(() => {
  const remaining = findProcessesWith(token)
  killRemaining(token)
  expect(remaining).toEqual([])
})

const isServers = (event: EventView): boolean => event['fact'] === 'mcp.servers'

async function readServerStates(daemon: LocalDaemon, ref: string): Promise<string[]> {
  const events = (await daemon.readHistory(ref)).filter(isServers)
  return ((events.at(-1)?.['servers'] as readonly McpState[] | undefined) ?? []).map(({ name, state }) => `${name}:${state}`)
}

async function writeTo(file: string, value: string | object): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, typeof value === 'string' ? value : JSON.stringify(value))
}

const ECHO = { tools: [{ name: 'mcp__user__echo', input: { n: 1 } }] }

test.each([
  [{ allow: ['read:.'] }, [], []],
  [{ allow: ['read:.'], mcp: ['user'] }, ['user:up'], ['paths: not enforced for the MCP server user']],
  [{ allow: ['read', 'mcp__user', 'read:.'] }, ['user:up'], ['paths: not enforced for the MCP server user']],
])('where folders are limited, a server program starts only when it is named (%j)', async (body, startsServer, notes) => {
  await using local = await LocalDaemon.start({ config: JSON.stringify({ mcp: { user: server() } }) })
  const { uuid } = await local.spawnScripted([ECHO, { text: 'done' }], { env: testEnv(local.home), ...body })
  const { capabilities } = await local.waitForEnd(uuid)
  expect(await readServerStates(local, uuid)).toEqual(startsServer)
  expect(capabilities).toMatchObject({ mcp: startsServer.length === 0 ? [] : ['user'], notes })
  const noteTexts = (await local.readHistory(uuid)).filter((event) => event['fact'] === 'process.note').map((event) => event['text'])
  expect(noteTexts).toEqual(startsServer.length === 0 ? ['the MCP server user: not permitted to it'] : [])
})

test("the user's servers start; a project's are reported and not started until the project is trusted", async () => {
  await using local = await LocalDaemon.start({ config: JSON.stringify({ mcp: { user: server() } }) })
  await writeTo(join(local.work, '.mcp.json'), { mcpServers: { project: server() } })
  const process = await local.spawnScripted([ECHO, { text: 'done' }], { env: testEnv(local.home) })
  await local.waitForEnd(process.uuid)
  expect(await readServerStates(local, process.uuid)).toEqual(['user:up', 'project:untrusted'])
  expect((await local.view(process.uuid)).capabilities.mcp).toEqual(['project', 'user'])
  const note = await local.waitForEvent(process.uuid, (event) => event['fact'] === 'process.note')
  expect(note['text']).toBe(
    `MCP server project is not used: ${local.work}/.mcp.json is not trusted to start programs: reeve config trust ${local.work}`,
  )
  const namedServer = await local.spawnScripted([{ text: 'done' }], { mcp: ['project'] })
  await local.waitForEnd(namedServer.uuid)
  expect(await readServerStates(local, namedServer.uuid)).toEqual(['project:up'])
  await trustDirectory(local.paths, await realpath(local.work))
  const trusted = await local.spawnScripted([{ text: 'done' }])
  await local.waitForEnd(trusted.uuid)
  expect((await readServerStates(local, trusted.uuid)).toSorted()).toEqual(['project:up', 'user:up'])
  expect(local.errors).toEqual([])
})

test('servers that are missing for the same reason are reported together', async () => {
  await using local = await LocalDaemon.start()
  await writeTo(join(local.work, '.mcp.json'), { mcpServers: { one: server(), two: server() } })
  const process = await local.spawnScripted([{ text: 'done' }])
  await local.waitForEnd(process.uuid)
  const note = await local.waitForEvent(process.uuid, (event) => event['fact'] === 'process.note')
  expect(note['text']).toMatch(/^MCP servers one, two are not used: [^;]*\.mcp\.json is not trusted to start programs: [^;]*$/)
})

test('an agent file names its servers; `none` starts no server, and an unknown name is refused', async () => {
  await using local = await LocalDaemon.start({ config: JSON.stringify({ mcp: { user: server(), other: server() } }) })
  await writeTo(join(local.work, '.reeve/agents/one.md'), '---\nmcp: [user]\ntools: mcp__user__echo\n---\n')
  const one = await local.spawnScripted([ECHO, { tools: [{ name: 'mcp__user__env', input: {} }] }, { text: '{{ lastResult }}' }], {
    agent: 'one',
  })
  await local.waitForEnd(one.uuid)
  expect(await readServerStates(local, one.uuid)).toEqual(['user:up'])
  const none = await local.spawnScripted([{ text: 'done' }], { mcp: ['none'] })
  await local.waitForEnd(none.uuid)
  expect(await local.readFactTypes(none.uuid)).not.toContain('mcp.servers')
  await expect(local.spawnScripted([], { mcp: ['gone'] })).rejects.toThrow('there is no MCP server "gone"; there are user, other')
  await expect(local.spawnShell('true', { mcp: ['user'] })).rejects.toThrow('a plain command has no mcp')
})

/** All bytes that the daemon has written. */
function readAllFiles(dir: string): string {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && one.name !== 'config.yaml')
    .map((one) => readFileSync(join(one.parentPath, one.name), 'latin1'))
    .join('\n')
}

test('secrets reach the server and are never stored; without its secret the server does not start, but the process does', async () => {
  const [sentSecret, literal] = ['ghp_sent_0123456789abcdef', 'hunter2-literal-password']
  const config = {
    mcp: {
      user: { ...server(), env: { GH_TOKEN: '${GH_TOKEN}', DB_PASSWORD: literal } },
      gone: { ...server(), env: { X: '${NOT_THERE}' } },
      seen: { ...server(), args: [MCP_PROGRAM, 'usual', '', token, '${GH_TOKEN}'] },
    },
  }
  await using local = await LocalDaemon.start({ config: JSON.stringify(config) })
  const process = await local.spawnScripted([{ tools: [{ name: 'mcp__user__env', input: {} }] }, { text: 'done' }], {
    env: testEnv(local.work, { GH_TOKEN: sentSecret }),
  })
  const endedView = await local.waitForEnd(process.uuid)
  expect(endedView).toMatchObject({ status: 'completed' })
  const result = await local.waitForEvent(process.uuid, (event) => event['fact'] === 'tool.finished')
  expect(result['content']).toMatch(/"DB_PASSWORD":"\[secret\]".*|"GH_TOKEN":"\[secret\]"/)
  const servers = (await local.readHistory(process.uuid)).findLast(isServers)?.['servers'] as readonly McpState[]
  expect(servers).toMatchObject([
    { name: 'user', state: 'up' },
    { name: 'gone', state: 'failed', detail: 'the variable NOT_THERE is not set' },
    {
      name: 'seen',
      state: 'failed',
      detail: 'its arguments contain the secret GH_TOKEN, which other programs could read; put it into env',
    },
  ])
  await local.stop()
  expect(readAllFiles(local.home)).toContain('NOT_THERE') // the search really reads the records
  expect(readAllFiles(local.home)).not.toContain(sentSecret)
  expect(readAllFiles(local.home)).not.toContain(literal)
  expect(JSON.stringify([local.logMessages, local.errors])).not.toMatch(/ghp_sent|hunter2/)
  await local.start()
})

test('servers restart with a resume, and their effects decide about an interrupted call', async () => {
  await using local = await LocalDaemon.start({ config: JSON.stringify({ mcp: { user: { ...server(), effects: { echo: 'read' } } } }) })
  const process = await local.spawnScripted([{ text: 'one' }, ECHO, { text: '{{ lastResult }}' }], { interactive: true, intent: 'go' })
  await local.waitUntilReady(process.uuid)
  await local.signal(process.uuid, 'SIGKILL')
  await local.waitForEnd(process.uuid)
  expect(findProcessesWith(token)).toEqual([])
  await local.resume(process.uuid, { message: 'again' })
  await local.waitUntilReady(process.uuid)
  const history = await local.readHistory(process.uuid)
  expect(history.filter(isServers).length).toBe(2)
  expect(history.findLast((event) => event['fact'] === 'tool.started')).toMatchObject({ name: 'mcp__user__echo', effect: 'read' })
  expect(history.findLast((event) => event['fact'] === 'tool.finished')).toMatchObject({ outcome: 'ok', content: 'echo {"n":1}' })
})

test('a call is cancelled by SIGINT, and the process continues', async () => {
  await using local = await LocalDaemon.start({ config: JSON.stringify({ mcp: { user: server() } }) })
  const process = await local.spawnScripted([{ tools: [{ name: 'mcp__user__hang', input: {} }] }, { text: 'done' }], {
    interactive: true,
    intent: 'go',
  })
  await local.waitForEvent(process.uuid, (event) => event['fact'] === 'tool.started')
  await local.signal(process.uuid, 'SIGINT')
  await local.waitUntilReady(process.uuid)
  expect(await local.waitForEvent(process.uuid, (event) => event['fact'] === 'tool.finished')).toMatchObject({ outcome: 'interrupted' })
  await local.send(process.uuid, 'go on')
  const readyView = await local.waitForView(process.uuid, (view: ProcessView) => view.turn === 2 && view.status === 'ready')
  expect(readyView.turn).toBe(2)
})

test('a call under which the daemon was killed twice is not made a third time, even if it may be repeated', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  const log = join(home.work, 'calls')
  await writeTo(home.paths.configFile, JSON.stringify({ mcp: { user: { ...server('usual', log), effects: { hang: 'idempotent' } } } }))
  const countCalls = (): number =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .filter((line) => line === 'call hang').length
      : 0
  const { uuid } = await home.spawn({
    model: home.writeScript([{ tools: [{ name: 'mcp__user__hang', input: {} }] }, { text: '{{ lastResult }}' }]),
  })
  for (const times of [1, 2]) {
    await waitUntil(() => countCalls() === times, `call ${times} is made`)
    await home.kill()
    await home.start()
    await home.resume(uuid)
  }
  expect(await home.waitForEnd(uuid)).toMatchObject({ exit: { code: 0 }, lastText: 'interrupted; it may or may not have happened' })
  expect(countCalls()).toBe(2)
  await home.stop()
  await home.waitUntilNothingIsLeft()
})

test('`kill -9` of the daemon leaves no server, however unresponsive', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  await writeTo(home.paths.configFile, JSON.stringify({ mcp: { deaf: server('deaf'), polite: server() } }))
  const process = await home.spawn({ model: home.writeScript([{ tools: [{ name: 'mcp__polite__hang', input: {} }] }]) })
  await home.waitForView(process.uuid, (view) => view.step === 1)
  // In its own namespace each server has a second process, which entered it.
  await waitUntil(() => findProcessesWith(token).length >= 2, 'both servers run')
  await home.kill()
  await home.waitUntilNothingIsLeft()
  expect(findProcessesWith(token)).toEqual([])
})
