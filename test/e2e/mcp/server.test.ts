// reeve's own tools over MCP, by public clients of both revisions of the protocol: their list, and each process tool.
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Client } from '@modelcontextprotocol/client'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { readProgramArgs, connectClient, callTool, spawnWithReeveTools } from '../../support/agents/reeve-tools-client.ts'
import type { ToolsSession } from '../../support/agents/reeve-tools-client.ts'

let daemon: LocalDaemon
let session: ToolsSession
let client: Client

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  session = await spawnWithReeveTools(daemon, { name: 'lead' })
  client = await connectClient(session)
})
afterEach(async () => {
  await client.close()
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const PROCESS_TOOLS = ['inbox', 'inspect', 'pause', 'ps', 'resume', 'send', 'sighandle', 'sigmask', 'signal', 'spawn', 'wait']

describe('a connected agent', () => {
  test.each(['auto', 'legacy'] as const)('finds the tools for any process (%s)', async (mode) => {
    const other = await connectClient(session, mode)
    expect(other.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25')
    const { tools } = await other.listTools()
    expect(tools.map(({ name }) => name).toSorted()).toEqual(PROCESS_TOOLS)
    for (const { description, inputSchema } of tools)
      expect([description?.includes('Example: {'), inputSchema.type]).toEqual([true, 'object'])
    expect((await callTool(other, 'ps')).value).toMatchObject({ processes: [{ pid: session.view.pid, name: 'lead', status: 'working' }] })
    await other.close()
  })

  test('may use the older revision of the protocol', async () => {
    const olderClient = new OlderClient({ name: 'older', version: '1' })
    await olderClient.connect(
      new OlderTransport(new URL(session.url), { requestInit: { headers: { Authorization: `Bearer ${session.token}` } } }),
    )
    expect((await olderClient.listTools()).tools.map(({ name }) => name).toSorted()).toEqual(PROCESS_TOOLS)
    expect((await olderClient.callTool({ name: 'ps', arguments: {} })).content).toMatchObject([
      { type: 'text', text: expect.stringContaining('"lead"') },
    ])
    await olderClient.close()
  })

  test('has a token that is neither in its arguments nor in the journal', async () => {
    expect(await readProgramArgs(daemon)).toContain('--mcp-config=')
    expect(await readProgramArgs(daemon)).not.toContain(session.token)
    expect(JSON.stringify([await daemon.readHistory(session.view.uuid), await daemon.view(session.view.uuid)])).not.toContain(session.token)
  })
})

test('variables that identify an incarnation do not reach the programs of its shell', async () => {
  const { uuid } = await daemon.spawnShell('echo home=$GEMINI_CLI_HOME', {
    env: { ...testEnv(daemon.work), GEMINI_CLI_HOME: join(daemon.paths.state, 'tmp', `${session.view.uuid}.1`, 'gemini') },
  })
  await daemon.waitForEnd(uuid)
  expect(await daemon.readOutput(uuid)).toBe('home=\n')
})

describe('another process', () => {
  test('is started below the caller, waited for, and its last output is read', async () => {
    const model = await daemon.writeScript([{ text: 'It is the cache.' }])
    const { value } = await callTool(client, 'spawn', { intent: 'find out', model, name: 'finder', max_steps: 5 })
    expect(value).toMatchObject({ name: 'finder', pid: expect.any(Number) })
    const child = await daemon.view(String(value['id']))
    expect(child).toMatchObject({ parentUuid: session.view.uuid, ppid: session.view.pid, cwd: daemon.work, limits: { maxSteps: 5 } })
    expect((await callTool(client, 'wait', { processes: ['finder'] })).value).toMatchObject({
      done: true,
      processes: [{ name: 'finder', status: 'completed', exit: { code: 0 }, result: 'It is the cache.' }],
    })
    expect((await callTool(client, 'ps', { ended: true })).value).toMatchObject({
      processes: [{ name: 'finder', exit: 0 }, { name: 'lead' }],
    })
    expect((await callTool(client, 'inspect', { process: String(value['pid']), lines: 5 })).value).toMatchObject({
      lastWords: 'It is the cache.',
      usage: { steps: 1 },
      log: expect.arrayContaining([expect.stringContaining('It is the cache.')]),
    })
  })

  test('may be a command; a wait is answered in time, with the next step', async () => {
    const { value } = await callTool(client, 'spawn', { command: ['sleep', '60'], name: 'sleeper' })
    const waited = await callTool(client, 'wait', { processes: ['sleeper'], timeout_s: 1 })
    expect(waited.value).toMatchObject({
      done: false,
      next: expect.stringContaining('call wait again'),
      processes: [{ name: 'sleeper', status: 'working' }],
    })
    expect((await callTool(client, 'pause', { process: 'sleeper', now: true })).value).toMatchObject({ affected: 1 })
    expect((await callTool(client, 'wait', { processes: ['sleeper'], for: 'suspended' })).value).toMatchObject({ done: true })
    expect((await callTool(client, 'resume', { process: 'sleeper' })).value).toMatchObject({ affected: 1 })
    expect((await callTool(client, 'signal', { process: 'sleeper', signal: 'SIGTERM' })).value).toMatchObject({ affected: 1 })
    expect((await callTool(client, 'wait', { processes: [String(value['pid'])] })).value).toMatchObject({
      done: true,
      processes: [{ status: 'stopped' }],
    })
  })

  test('gets a message of the caller; a wait for any of several processes returns at the first end', async () => {
    const model = await daemon.writeScript([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
    await callTool(client, 'spawn', { intent: 'begin', model, name: 'reader', interactive: true })
    await callTool(client, 'spawn', { command: ['sleep', '60'], name: 'long' })
    await daemon.waitUntilReady('reader')
    expect((await callTool(client, 'send', { to: 'reader', text: 'go on' })).value).toMatchObject({ message: expect.any(String) })
    expect(await daemon.waitForEvent('reader', ({ fact, turn }) => fact === 'process.incoming' && turn === 2)).toMatchObject({
      from: `agent:${session.view.uuid}`,
    })
    await callTool(client, 'signal', { process: 'long', signal: 'SIGKILL' })
    expect((await callTool(client, 'wait', { processes: ['reader', 'long'], any: true })).value).toMatchObject({ done: true })
  })

  test("outside the caller's subtree is not touched, and the attempt is in the caller's journal", async () => {
    const { uuid, pid } = await daemon.spawnShell('sleep 60', { name: 'theirs' })
    for (const [tool, input] of [
      ['signal', { process: 'theirs', signal: 'SIGKILL' }],
      ['pause', { process: 'theirs' }],
      ['resume', { process: String(pid) }],
    ] as const) {
      const answer = await callTool(client, tool, input)
      expect([answer.isError, answer.text]).toEqual([true, expect.stringMatching(/^PERMISSION: agent:.* descendants only\. /)])
    }
    const reader = await daemon.spawnScripted([{ text: 'one' }], { interactive: true, intent: 'begin' })
    expect((await callTool(client, 'send', { to: reader.uuid, text: 'x' })).text).toMatch(
      /^PERMISSION: .* may write only to its parent, itself and its descendants/,
    )
    expect((await daemon.readFactTypes(session.view.uuid)).filter((fact) => fact === 'capability.refused')).toHaveLength(4)
    expect((await daemon.view(uuid)).status).toBe('working')
    expect((await callTool(client, 'ps')).text).not.toContain('theirs')
    expect((await callTool(client, 'ps', { all: true })).text).toContain('theirs')
    // The caller sees that a process outside its subtree exists, and no text of it.
    const { value } = await callTool(client, 'inspect', { process: 'theirs', lines: 10 })
    expect(value).toEqual({ pid, id: uuid, name: 'theirs', agent: 'command', status: 'working' })
    expect((await callTool(client, 'ps', { all: true })).text).not.toContain('sleep 60')
    await daemon.signal(uuid, 'SIGKILL')
    expect((await callTool(client, 'wait', { processes: ['theirs'] })).value).toMatchObject({
      done: true,
      processes: [{ exit: { code: 137 } }],
    })
    expect((await callTool(client, 'wait', { processes: ['theirs'] })).text).not.toContain('sleep 60')
  })
})

describe('the caller itself', () => {
  test('changes and reads its own signal settings', async () => {
    expect((await callTool(client, 'sigmask', { block: ['SIGTERM', 'SIGPAUSE'] })).value).toMatchObject({ mask: ['SIGTERM', 'SIGPAUSE'] })
    expect((await callTool(client, 'sigmask', { unblock: ['SIGPAUSE'] })).value).toMatchObject({ mask: ['SIGTERM'] })
    expect((await callTool(client, 'sighandle', { signal: 'SIGINT', handler: 'ignore' })).value).toMatchObject({
      handlers: { SIGINT: 'ignore' },
    })
    expect((await callTool(client, 'sighandle', { signal: 'SIGTERM', handler: 'message' })).text).toMatch(/^INVALID: .*takes no messages/)
    expect((await callTool(client, 'inspect', { process: 'self' })).value).toMatchObject({ name: 'lead' })
  })

  test('has an inbox, also without messages', async () => {
    expect((await callTool(client, 'inbox')).value).toEqual({ messages: [] })
    expect((await callTool(client, 'inbox', { ack: ['nobody-wrote-this'] })).value).toMatchObject({
      acknowledged: 0,
      note: expect.stringContaining('is not queued'),
    })
  })

  test('gets the error of a wrong call, with a right one', async () => {
    expect((await callTool(client, 'spawn', {})).text).toMatch(/^INVALID: spawn needs either an intent or a command\. Give/)
    expect((await callTool(client, 'signal', { process: 'self', signal: 'SIGHUP' })).text).toMatch(
      /^INVALID: the input of signal is not valid: [^]*For example: \{"process"/,
    )
    expect((await callTool(client, 'wait', { processes: ['self'] })).text).toMatch(/^INVALID: you cannot wait for yourself/)
    expect((await callTool(client, 'inspect', { process: 'nobody' })).text).toMatch(/^NOT_FOUND: no process "nobody"\. The tool `ps` lists/)
    expect((await callTool(client, 'assign_task', { task: 'a', member: 'worker-1' })).text).toMatch(
      /^PERMISSION: the tool "assign_task" is for coordinators of a crew\. You have: ps,/,
    )
    expect((await callTool(client, 'fly')).text).toMatch(/^NOT_FOUND: there is no tool "fly"/)
  })
})
