// reeve's own tools over MCP, by public clients of both revisions of the protocol: what is listed, and each tool of processes called.
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Client } from '@modelcontextprotocol/client'
import { testEnv } from '../support/env.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { argsOf, connect, say, seated } from '../support/own-tools.ts'
import type { Seated } from '../support/own-tools.ts'

let daemon: LocalDaemon
let seat: Seated
let client: Client

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  seat = await seated(daemon, { name: 'lead' })
  client = await connect(seat)
})
afterEach(async () => {
  await client.close()
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const PROCESS_TOOLS = ['inbox', 'inspect', 'pause', 'ps', 'resume', 'send', 'sighandle', 'sigmask', 'signal', 'spawn', 'wait']

describe('who is connected', () => {
  test.each(['auto', 'legacy'] as const)('finds the tools of any process (%s)', async (mode) => {
    const other = await connect(seat, mode)
    expect(other.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25')
    const { tools } = await other.listTools()
    expect(tools.map(({ name }) => name).toSorted()).toEqual(PROCESS_TOOLS)
    for (const { description, inputSchema } of tools) expect([description?.includes('Example: {'), inputSchema.type]).toEqual([true, 'object'])
    expect((await say(other, 'ps')).value).toMatchObject({ processes: [{ pid: seat.view.pid, name: 'lead', status: 'working' }] })
    await other.close()
  })

  test('may be a client that was made before the protocol changed', async () => {
    const older = new OlderClient({ name: 'older', version: '1' })
    await older.connect(new OlderTransport(new URL(seat.url), { requestInit: { headers: { Authorization: `Bearer ${seat.token}` } } }))
    expect((await older.listTools()).tools.map(({ name }) => name).toSorted()).toEqual(PROCESS_TOOLS)
    expect((await older.callTool({ name: 'ps', arguments: {} })).content).toMatchObject([{ type: 'text', text: expect.stringContaining('"lead"') }])
    await older.close()
  })

  test('has a token that stands neither in its arguments nor in the journal', async () => {
    expect(await argsOf(daemon)).toContain('--mcp-config=')
    expect(await argsOf(daemon)).not.toContain(seat.token)
    expect(JSON.stringify([await daemon.history(seat.view.uuid), await daemon.view(seat.view.uuid)])).not.toContain(seat.token)
  })
})

test('what names a place of an incarnation is not handed on to what its shell starts', async () => {
  const { uuid } = await daemon.sh('echo home=$GEMINI_CLI_HOME', { env: { ...testEnv(daemon.work), GEMINI_CLI_HOME: join(daemon.paths.state, 'tmp', `${seat.view.uuid}.1`, 'gemini') } })
  await daemon.ended(uuid)
  expect(await daemon.output(uuid)).toBe('home=\n')
})

describe('another process', () => {
  test('is started below who asks, waited for, and its last words are read', async () => {
    const model = await daemon.script([{ text: 'It is the cache.' }])
    const { value } = await say(client, 'spawn', { intent: 'find out', model, name: 'finder', max_steps: 5 })
    expect(value).toMatchObject({ name: 'finder', pid: expect.any(Number) })
    const child = await daemon.view(String(value['id']))
    expect(child).toMatchObject({ parentUuid: seat.view.uuid, ppid: seat.view.pid, cwd: daemon.work, limits: { maxSteps: 5 } })
    expect((await say(client, 'wait', { processes: ['finder'] })).value).toMatchObject({ done: true, processes: [{ name: 'finder', status: 'completed', exit: { code: 0 }, result: 'It is the cache.' }] })
    expect((await say(client, 'ps', { ended: true })).value).toMatchObject({ processes: [{ name: 'finder', exit: 0 }, { name: 'lead' }] })
    expect((await say(client, 'inspect', { process: String(value['pid']), lines: 5 })).value).toMatchObject({ lastWords: 'It is the cache.', usage: { steps: 1 }, log: expect.arrayContaining([expect.stringContaining('It is the cache.')]) })
  })

  test('may be a command; who waits is answered in time, with what to do next', async () => {
    const { value } = await say(client, 'spawn', { command: ['sleep', '60'], name: 'sleeper' })
    const waited = await say(client, 'wait', { processes: ['sleeper'], timeout_s: 1 })
    expect(waited.value).toMatchObject({ done: false, next: expect.stringContaining('call wait again'), processes: [{ name: 'sleeper', status: 'working' }] })
    expect((await say(client, 'pause', { process: 'sleeper', now: true })).value).toMatchObject({ affected: 1 })
    expect((await say(client, 'wait', { processes: ['sleeper'], for: 'suspended' })).value).toMatchObject({ done: true })
    expect((await say(client, 'resume', { process: 'sleeper' })).value).toMatchObject({ affected: 1 })
    expect((await say(client, 'signal', { process: 'sleeper', signal: 'SIGTERM' })).value).toMatchObject({ affected: 1 })
    expect((await say(client, 'wait', { processes: [String(value['pid'])] })).value).toMatchObject({ done: true, processes: [{ status: 'stopped' }] })
  })

  test('is written to, in the order of sending; the first of several to end is told of', async () => {
    const model = await daemon.script([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
    await say(client, 'spawn', { intent: 'begin', model, name: 'reader', interactive: true })
    await say(client, 'spawn', { command: ['sleep', '60'], name: 'long' })
    await daemon.ready('reader')
    expect((await say(client, 'send', { to: 'reader', text: 'go on' })).value).toMatchObject({ message: expect.any(String) })
    expect(await daemon.event('reader', ({ fact, turn }) => fact === 'process.incoming' && turn === 2)).toMatchObject({ from: `agent:${seat.view.uuid}` })
    await say(client, 'signal', { process: 'long', signal: 'SIGKILL' })
    expect((await say(client, 'wait', { processes: ['reader', 'long'], any: true })).value).toMatchObject({ done: true })
  })

  test('of somebody else is not touched, and that stands in the journal of who tried', async () => {
    const { uuid, pid } = await daemon.sh('sleep 60', { name: 'theirs' })
    for (const [tool, input] of [['signal', { process: 'theirs', signal: 'SIGKILL' }], ['pause', { process: 'theirs' }], ['resume', { process: String(pid) }]] as const) {
      const said = await say(client, tool, input)
      expect([said.isError, said.text]).toEqual([true, expect.stringMatching(/^PERMISSION: agent:.* descendants only\. /)])
    }
    const reader = await daemon.play([{ text: 'one' }], { interactive: true, intent: 'begin' })
    expect((await say(client, 'send', { to: reader.uuid, text: 'x' })).text).toMatch(/^PERMISSION: .* may write to its parent and its descendants only/)
    expect((await daemon.facts(seat.view.uuid)).filter((fact) => fact === 'capability.refused')).toHaveLength(4)
    expect((await daemon.view(uuid)).status).toBe('working')
    expect((await say(client, 'ps')).text).not.toContain('theirs')
    expect((await say(client, 'ps', { all: true })).text).toContain('theirs')
    // Of who is nobody of its own it sees that they are there, and no word.
    const { value } = await say(client, 'inspect', { process: 'theirs', lines: 10 })
    expect(value).toEqual({ pid, id: uuid, name: 'theirs', agent: 'command', status: 'working' })
    expect((await say(client, 'ps', { all: true })).text).not.toContain('sleep 60')
    await daemon.signal(uuid, 'SIGKILL')
    expect((await say(client, 'wait', { processes: ['theirs'] })).value).toMatchObject({ done: true, processes: [{ exit: { code: 137 } }] })
    expect((await say(client, 'wait', { processes: ['theirs'] })).text).not.toContain('sleep 60')
  })
})

describe('the caller itself', () => {
  test('says what signals do to it', async () => {
    expect((await say(client, 'sigmask', { block: ['SIGTERM', 'SIGPAUSE'] })).value).toMatchObject({ mask: ['SIGTERM', 'SIGPAUSE'] })
    expect((await say(client, 'sigmask', { unblock: ['SIGPAUSE'] })).value).toMatchObject({ mask: ['SIGTERM'] })
    expect((await say(client, 'sighandle', { signal: 'SIGINT', handler: 'ignore' })).value).toMatchObject({ handlers: { SIGINT: 'ignore' } })
    expect((await say(client, 'sighandle', { signal: 'SIGTERM', handler: 'message' })).text).toMatch(/^INVALID: .*takes no messages/)
    expect((await say(client, 'inspect', { process: 'self' })).value).toMatchObject({ name: 'lead' })
  })

  test('has an inbox, also where nothing waits', async () => {
    expect((await say(client, 'inbox')).value).toEqual({ messages: [] })
    expect((await say(client, 'inbox', { ack: ['nobody-wrote-this'] })).value).toMatchObject({ acknowledged: 0, note: expect.stringContaining('does not wait') })
  })

  test('is told what is wrong with a call, and what would be right', async () => {
    expect((await say(client, 'spawn', {})).text).toMatch(/^INVALID: spawn wants either an intent or a command\. Give/)
    expect((await say(client, 'signal', { process: 'self', signal: 'SIGHUP' })).text).toMatch(/^INVALID: the input of signal does not fit: [^]*For example: \{"process"/)
    expect((await say(client, 'wait', { processes: ['self'] })).text).toMatch(/^INVALID: you cannot wait for yourself/)
    expect((await say(client, 'inspect', { process: 'nobody' })).text).toMatch(/^NOT_FOUND: no process "nobody"\. `reeve ps -a`/)
    expect((await say(client, 'assign_task', { task: 'a', member: 'worker-1' })).text).toMatch(/^PERMISSION: the tool "assign_task" is of coordinators of a crew\. You have: ps,/)
    expect((await say(client, 'fly')).text).toMatch(/^NOT_FOUND: there is no tool "fly"/)
  })
})
