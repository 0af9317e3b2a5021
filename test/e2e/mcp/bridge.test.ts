// `reeve mcp` as clients start it: the user's clients from any directory and over a restart of the daemon, agents with their token. Also
// reports that are on disk when the daemon dies, which are delivered at its next start, once.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CLI } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { callTool, spawnWithReeveTools } from '../../support/agents/reeve-tools-client.ts'
import type { OutboxRecord } from '../../../src/api/views/mcp.ts'

let daemon: LocalDaemon
const clients: Client[] = []

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

async function connectBridge(env: Record<string, string> = {}, mode: 'auto' | 'legacy' = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const wholeEnv = { ...testEnv(daemon.work), REEVE_HOME: daemon.home, ...env }
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [CLI, 'mcp'], env: wholeEnv, cwd: daemon.work }))
  clients.push(client)
  return client
}

describe('the user', () => {
  test.each(['auto', 'legacy'] as const)(
    "has the tools for any process, and starts processes in the client's directory (%s)",
    async (mode) => {
      const client = await connectBridge({}, mode)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual(['ps', 'inspect', 'spawn', 'wait', 'signal', 'pause', 'resume', 'send'])
      const { value } = await callTool(client, 'spawn', { command: ['sh', '-c', 'pwd; exit 3'], name: 'here' })
      expect((await callTool(client, 'wait', { processes: ['here'] })).value).toMatchObject({
        done: true,
        processes: [{ exit: { code: 3 } }],
      })
      expect(await daemon.view(String(value['id']))).toMatchObject({ parentUuid: null, cwd: daemon.work })
      expect((await daemon.readHistory(String(value['id'])))[0]).toMatchObject({ by: 'user' })
      expect((await callTool(client, 'inspect', { process: 'self' })).text).toMatch(/^INVALID: you are the user here/)
    },
  )

  test('gets answers to all piped requests', async () => {
    const messages = [
      {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'pipe', version: '1' } },
      },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/list' },
      { id: 3, method: 'tools/call', params: { name: 'ps', arguments: {} } },
    ]
    const child = spawn(process.execPath, [CLI, 'mcp'], {
      cwd: daemon.work,
      env: { ...testEnv(daemon.work), REEVE_HOME: daemon.home },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin.end(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''))
    const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: number; result?: object })
    expect(
      answers
        .filter(({ result }) => result !== undefined)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([1, 2, 3])
    expect(code).toBe(0)
  })

  test('continues after a restart of the daemon', async () => {
    const client = await connectBridge()
    expect((await callTool(client, 'ps')).value).toEqual({ processes: [] })
    await daemon.restart()
    await daemon.spawnShell('sleep 60', { name: 'later' })
    expect((await callTool(client, 'ps')).text).toContain('later')
  })

  test('is notified of waits that still last', async () => {
    const client = await connectBridge()
    await daemon.spawnShell('sleep 60', { name: 'long' })
    const ending = new AbortController()
    const waited = client.callTool(
      { name: 'wait', arguments: { processes: ['long'], timeout_s: 200 } },
      { signal: ending.signal, onprogress: ({ message }) => ending.abort(new Error(message)) },
    )
    await expect(waited).rejects.toThrow(/waiting for long: 0 s/)
    // A cancelled wait delays no other request.
    expect((await callTool(client, 'ps')).text).toContain('long')
  })
})

describe('an agent', () => {
  test('is identified by its token', async () => {
    const { view, token } = await spawnWithReeveTools(daemon, { name: 'worker' })
    const client = await connectBridge({ REEVE_MCP_TOKEN: token, REEVE_MCP_SOCKET: daemon.paths.socket.replace('.sock', '.mcp.sock') })
    expect((await callTool(client, 'inspect', { process: 'self' })).value).toMatchObject({ id: view.uuid, name: 'worker' })
  })

  test('with an expired token gets an error', async () => {
    const { view, token } = await spawnWithReeveTools(daemon)
    await daemon.signal(view.uuid, 'SIGKILL')
    await daemon.waitForEnd(view.uuid)
    await expect(
      connectBridge({ REEVE_MCP_TOKEN: token, REEVE_MCP_SOCKET: daemon.paths.socket.replace('.sock', '.mcp.sock') }, 'legacy'),
    ).rejects.toThrow(/its process has ended/)
  })
})

describe('the outbox', () => {
  const record = (changes: Partial<OutboxRecord>): OutboxRecord => ({
    version: 1,
    id: 'report-0001',
    uuid: 'u',
    pid: 1,
    name: 'signal_ready',
    input: {},
    at: Date.now(),
    ...changes,
  })

  test('keeps a report that gets no answer, and the next daemon takes it', async () => {
    const { view, token } = await spawnWithReeveTools(daemon)
    const outbox = join(daemon.home, 'outbox')
    const env = {
      REEVE_MCP_TOKEN: token,
      REEVE_MCP_SOCKET: daemon.paths.socket.replace('.sock', '.mcp.sock'),
      REEVE_MCP_OUTBOX: outbox,
      REEVE_MCP_PROCESS: `${view.uuid}.${view.pid}`,
    }
    const client = await connectBridge(env)
    // The report is answered, so that nothing is left; the answer names the missing crew.
    expect((await callTool(client, 'signal_ready')).text).toMatch(/^PERMISSION: the tool "signal_ready" is for workers of a crew/)
    // The bridge answers first, and then removes the record.
    await expect.poll(() => readdir(outbox)).toEqual([])
    await daemon.stop()
    const stored = await client.callTool({ name: 'report_implementation_complete', arguments: { summary: 'all of it' } })
    expect(stored.content).toMatchObject([{ text: expect.stringContaining('The report is kept') }])
    const [name = ''] = await readdir(outbox)
    expect(JSON.parse(await readFile(join(outbox, name), 'utf8'))).toMatchObject({
      uuid: view.uuid,
      pid: view.pid,
      name: 'report_implementation_complete',
      input: { summary: 'all of it' },
    })
    expect([(await stat(join(outbox, name))).mode & 0o777, (await stat(outbox)).mode & 0o777]).toEqual([0o600, 0o700])
    await expect(client.callTool({ name: 'ps', arguments: {} })).rejects.toThrow(/reeve cannot be reached/)
    await client.close()
    await daemon.start()
    await expect.poll(() => readdir(outbox), { timeout: 60_000 }).toEqual([])
    expect(daemon.logMessages.find((line) => line.includes('report_implementation_complete'))).toMatch(
      /the report .* from before the last daemon ended/,
    )
  })

  test('is emptied of reports at the start, also of invalid ones', async () => {
    await daemon.stop()
    const outbox = join(daemon.home, 'outbox')
    await mkdir(outbox, { mode: 0o700 })
    await writeFile(join(outbox, 'report-0001.json'), JSON.stringify(record({})))
    await writeFile(join(outbox, 'report-0002.json'), JSON.stringify(record({ id: 'report-0001' })))
    await writeFile(join(outbox, 'report-0003.json'), 'no JSON')
    await writeFile(join(outbox, 'report-0004.json.new'), '{')
    await writeFile(join(outbox, 'other.txt'), 'stays')
    await daemon.start()
    await expect.poll(() => readdir(outbox), { timeout: 60_000 }).toEqual(['other.txt'])
    expect(daemon.logMessages.join('\n')).toMatch(/report-0002\.json is not a valid report: its file name does not match its id/)
    expect(daemon.logMessages.join('\n')).toMatch(/no process u had a turn at that time/)
    expect(existsSync(daemon.paths.socket)).toBe(true)
  })
})
