// ACP agents get reeve's own tools with their session, over HTTP or by a program, and use them without a question to the user.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { connectClient, callTool } from '../../support/agents/reeve-tools-client.ts'

const PROGRAM = resolve(import.meta.dirname, '../../support/programs/acp-agent.ts')

let daemon: LocalDaemon
let log: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  log = join(daemon.work, 'agent.log')
  await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

/** Writes an agent file; `options` are the arguments of its program. */
async function writeAgentFile(...options: string[]): Promise<void> {
  const command = [process.execPath, PROGRAM, `sessions=${daemon.work}`, `log=${log}`, ...options]
  await writeFile(join(daemon.work, '.reeve/agents/coder.md'), `---\ndriver: acp\nreeve: true\ncommand: ${JSON.stringify(command)}\n---\n`)
}

interface ReceivedServer {
  readonly type?: string
  readonly name: string
  readonly url: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly command: string
  readonly args: string[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
}

/** Returns the MCP server that the agent got with its session. */
async function readReceivedServer(): Promise<ReceivedServer> {
  const line = (await readFile(log, 'utf8')).split('\n').findLast((one) => one.includes('"mcpServers"')) ?? ''
  const [server] = (JSON.parse(line.slice(line.indexOf('{'))) as { readonly mcpServers: readonly ReceivedServer[] }).mcpServers
  if (!server) throw new Error(`no server in ${line}`)
  return server
}

/** Checks that the first session listed its tools before its prompt. */
async function expectToolsListedBeforePrompt(): Promise<void> {
  const lines = (await readFile(log, 'utf8')).split('\n').flatMap((line) => /^(new|tools \d+|prompt)/.exec(line)?.[0] ?? [])
  expect(lines).toEqual(['new', 'tools 200', 'prompt'])
}

const valuesByName = (pairs: ReceivedServer['env']): Record<string, string> =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

describe('an agent that takes servers over HTTP', () => {
  test('gets the address and its token, and reads its waiting messages in its turn', async () => {
    await writeAgentFile('http')
    const { uuid } = await daemon.spawn({ agent: 'coder', intent: 'hang', interactive: true })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.working')
    await expect.poll(readReceivedServer, { timeout: 60_000 }).toMatchObject({ type: 'http', name: 'reeve' })
    const { url, headers } = await readReceivedServer()
    const client = await connectClient({ url, token: (valuesByName(headers)['Authorization'] ?? '').replace('Bearer ', '') })
    expect((await callTool(client, 'inspect', { process: 'self' })).value).toMatchObject({ id: uuid })
    const { id } = await daemon.send(uuid, 'also this')
    await daemon.send(uuid, 'and that')
    expect((await callTool(client, 'inbox')).value).toMatchObject({
      messages: [{ id, from: 'user', text: 'also this' }, { text: 'and that' }],
    })
    expect((await callTool(client, 'inbox', { ack: [id] })).value).toMatchObject({ acknowledged: 1, messages: [{ text: 'and that' }] })
    expect((await callTool(client, 'inbox', { ack: [id] })).value).toMatchObject({ acknowledged: 0 })
    expect((await daemon.view(uuid)).queueCount).toBe(1)
    await client.close()
    await expectToolsListedBeforePrompt()
    await daemon.signal(uuid, 'SIGKILL')
    const journal = JSON.stringify(await daemon.readHistory(uuid))
    expect(valuesByName(headers)['Authorization'] && journal.includes(valuesByName(headers)['Authorization'] ?? '')).toBe(false)
  })
})

describe('an agent that takes only programs', () => {
  test('gets reeve itself as a program, with the token in its environment', async () => {
    await writeAgentFile()
    const { uuid } = await daemon.spawn({ agent: 'coder', intent: 'hang', interactive: true })
    await expect.poll(readReceivedServer, { timeout: 60_000 }).toMatchObject({ name: 'reeve', command: process.execPath })
    const { command, args, env } = await readReceivedServer()
    expect(args.at(-1)).toBe('mcp')
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ command, args, env: valuesByName(env), cwd: daemon.work }))
    expect((await callTool(client, 'inspect', { process: 'self' })).value).toMatchObject({ id: uuid })
    await client.close()
    await expectToolsListedBeforePrompt()
    await daemon.signal(uuid, 'SIGKILL')
  })
})

test('an agent without a network gets a program, also where it takes servers over HTTP, and reaches the tools with it', async () => {
  await writeAgentFile('http')
  const { uuid } = await daemon.spawn({ agent: 'coder', intent: 'hang', interactive: true, deny: ['network'] })
  await expect.poll(readReceivedServer, { timeout: 60_000 }).toMatchObject({ name: 'reeve', command: process.execPath })
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.working')
  await expect
    .poll(
      () =>
        expectToolsListedBeforePrompt().then(
          () => true,
          () => false,
        ),
      { timeout: 60_000 },
    )
    .toBe(true)
  await daemon.signal(uuid, 'SIGKILL')
})

test('the user is not asked about these tools, but about all others', async () => {
  await writeAgentFile('http')
  const one = await daemon.spawn({ agent: 'coder', intent: 'ask other mcp__reeve__ps' })
  expect(await daemon.waitForEnd(one.uuid)).toMatchObject({ status: 'completed' })
  expect((await daemon.readFactTypes(one.uuid)).includes('process.waiting')).toBe(false)
  for (const intent of [
    'ask other mcp__reeve__fly',
    'ask execute reeve/ps',
    'ask edit reeve/ps',
    'ask read mcp__reeve__ps',
    'ask other mcp__other__ps',
  ]) {
    const { uuid } = await daemon.spawn({ agent: 'coder', intent })
    await daemon.waitForStatus(uuid, 'waiting')
    await daemon.signal(uuid, 'SIGKILL')
  }
})
