// MCP servers of a native agent over stdio: one real server for each protocol revision, and a scripted one. Tests cover
// lists, calls, progress, cancellation, restarts, pauses and ends. Scripts play the models.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { McpTransport } from '../../../src/kernel/model/mcp-start.ts'
import { testEnv } from '../../support/env.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import {
  scriptOfCalls,
  EVERYTHING_SERVER,
  holdUntilListed,
  MCP_PROGRAM,
  newerServerArgv,
  runWithServers,
} from '../../support/agents/native-with-mcp.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness } from '../../support/models/native-harness.ts'

let harness: NativeHarness

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(() => harness[Symbol.asyncDispose]())

test('a real server of the 2025-11-25 revision: its tools are offered and called, and their images shown', async () => {
  const { kernel, runTurn, serverState } = await runWithServers(harness, {
    servers: { every: [process.execPath, EVERYTHING_SERVER, 'stdio'] },
    script: scriptOfCalls(
      ['mcp__every__echo', { message: 'hello' }],
      ['mcp__every__get-tiny-image'],
      ['mcp__every__get-structured-content', { location: 'New York' }],
      ['mcp__every__get-sum', { a: 2, b: 'x' }],
    ),
  })
  await runTurn('go')
  expect(serverState('every')).toMatchObject({ state: 'up', detail: expect.stringMatching(/\(2025-11-25\)$/) })
  expect(serverState('every')?.tools.find(({ name }) => name === 'mcp__every__echo')).toMatchObject({
    description: 'Echoes back the input string',
    schema: { type: 'object', properties: { message: {} } },
  })
  const [echo, image, structured, invalidResult] = kernel.factsOf('tool.finished')
  expect(echo).toMatchObject({ outcome: 'ok', content: 'Echo: hello' })
  expect(image).toMatchObject({ outcome: 'ok', images: [{ mediaType: 'image/png' }] })
  expect(structured).toMatchObject({ outcome: 'ok', content: expect.stringContaining('temperature') })
  expect(invalidResult).toMatchObject({ outcome: 'error', content: expect.stringMatching(/invalid/i) })
  expect(kernel.factsOf('tool.started').map(({ effect }) => effect)).toEqual(['once', 'once', 'once', 'once'])
})

test('a server of the 2026-07-28 revision answers calls, its growing list is offered, and its question to the user is an error', async () => {
  const { kernel, runTurn, serverState } = await runWithServers(harness, {
    servers: { new: newerServerArgv('stdio') },
    script: scriptOfCalls(['mcp__new__echo', { message: 'hi' }], ['mcp__new__more'], ['mcp__new__extra-1'], ['mcp__new__ask']),
  })
  holdUntilListed(kernel, 'mcp__new__extra-1')
  await runTurn('go')
  expect(serverState('new')).toMatchObject({ state: 'up', detail: 'modern 2 (2026-07-28)' })
  expect(kernel.factsOf('tool.finished').map(({ outcome, content }) => [outcome, content])).toEqual([
    ['ok', 'echo hi'],
    ['ok', 'more'],
    ['ok', 'extra'],
    ['error', expect.stringMatching(/elicitation/i)],
  ])
})

test('a list in several pages is read whole; a changed list is offered from the next step on', async () => {
  const { kernel, runTurn, serverState } = await runWithServers(harness, {
    servers: { old: 'usual' },
    script: scriptOfCalls(['mcp__old__more'], ['mcp__old__extra-1']),
  })
  holdUntilListed(kernel, 'mcp__old__extra-1')
  await runTurn('go')
  expect(kernel.factsOf('mcp.servers').map(({ servers: [only] }) => only?.tools.length)).toEqual([13, 14])
  expect(serverState('old')?.tools.map(({ name }) => name)).toContain('mcp__old__extra-1')
  expect(kernel.factsOf('tool.finished').map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
})

test('a list that changes during its first reading is read again', async () => {
  const { kernel, runTurn, serverState } = await runWithServers(harness, { servers: { s: 'grows-at-once' }, script: '- text: done' })
  await runTurn('go')
  await kernel.waitFor(() => serverState('s')?.tools.some(({ name }) => name === 'mcp__s__extra-1') === true, 'the new tool is reported')
})

test('a tool that is named like a property of objects has the effect `once`, too', async () => {
  const { kernel, runTurn, serverState } = await runWithServers(harness, {
    servers: { s: 'odd-names' },
    script: scriptOfCalls(['mcp__s__constructor'], ['mcp__s__toString'], ['mcp__s____proto__']),
  })
  await runTurn('go')
  expect(serverState('s')?.tools.map(({ name }) => name)).toEqual(['mcp__s____proto__', 'mcp__s__constructor', 'mcp__s__toString'])
  expect(kernel.factsOf('tool.started').map(({ effect }) => effect)).toEqual(['once', 'once', 'once'])
})

test('nothing is started before the first turn, and the first model call waits for all servers', async () => {
  const { kernel, send, readLogLines } = await runWithServers(harness, { servers: { one: 'usual', two: 'noisy' }, script: '- text: done' })
  await kernel.waitFor(() => kernel.reportsOf('up').length === 1, 'it is up')
  expect([readLogLines('one'), readLogLines('two')]).toEqual([[], []])
  await send('go')
  await kernel.waitForTurnEnd()
  const types = kernel.facts.map(({ body }) => body.type)
  expect(types.indexOf('mcp.servers')).toBeLessThan(types.indexOf('model.started'))
  expect(kernel.factsOf('mcp.servers')).toMatchObject([
    {
      servers: [
        { name: 'one', state: 'up' },
        { name: 'two', state: 'up' },
      ],
    },
  ])
  expect([readLogLines('one').length, readLogLines('two').length]).toEqual([1, 1])
})

test.each([
  ['older', 'usual', 'mcp__s__progress', 'cancelled'],
  ['newer', null, 'mcp__s__slow', 'slow is cancelled'],
])(
  'progress is shown and gives a call of the %s server more time; an interruption cancels the call there',
  async (_, mode, tool, cancelled) => {
    const { kernel, send, agent, readLogLines } = await runWithServers(harness, {
      servers: { s: mode ?? newerServerArgv('stdio', join(harness.dir, 's.log')) },
      settings: { callMs: 5_000 },
      script: scriptOfCalls([tool]),
    })
    await send('go')
    const readToolOutput = (): string => kernel.liveOutputs.map((live) => (live.type === 'tool-output' ? live.text : '')).join('')
    // The server waits 20 ms after each step: so many steps take longer than the longest silence.
    await kernel.waitFor(() => readToolOutput().includes('step 270 ') || kernel.factsOf('tool.finished').length > 0, 'progress is shown')
    expect(kernel.factsOf('tool.finished')).toEqual([])
    await agent.interrupt()
    await kernel.waitForTurnEnd()
    expect(kernel.factsOf('tool.finished')).toMatchObject([
      { outcome: 'interrupted', content: expect.stringContaining('may or may not have happened') },
    ])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
    await waitUntil(() => readLogLines('s').includes(cancelled), 'the server received the cancellation')
  },
)

test('an interruption does not wait for starting servers; the next turn waits for them', async () => {
  const { kernel, send, agent, runTurn, readLogLines, serverState } = await runWithServers(harness, {
    servers: { s: 'hang', t: 'usual' },
    settings: (name) => (name === 's' ? { startMs: 12_000 } : {}),
    script: '- text: done',
  })
  await send('go')
  await waitUntil(() => readLogLines('s').length > 0 && readLogLines('t').length > 0, 'they start')
  await agent.interrupt()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
  expect([kernel.factsOf('mcp.servers'), kernel.factsOf('model.started')]).toEqual([[], []])
  await runTurn('again')
  expect([serverState('s')?.state, serverState('t')?.state]).toEqual(['failed', 'up'])
  expect(kernel.factsOf('process.ready').at(-1)).toMatchObject({ outcome: 'ok', result: 'done' })
})

test('a call without output times out, is cancelled, and the server is used again', async () => {
  const { kernel, runTurn } = await runWithServers(harness, {
    servers: { s: 'usual' },
    settings: { callMs: 3_000 },
    script: scriptOfCalls(['mcp__s__hang'], ['mcp__s__echo']),
  })
  await runTurn('go')
  expect(kernel.factsOf('tool.finished')).toMatchObject([
    { outcome: 'error', content: 'the server sent nothing for 3000 ms, so the call was cancelled: it may or may not have happened' },
    { outcome: 'ok', content: 'echo {}' },
  ])
})

test('a freezing pause stops the server and the clock of its call', async () => {
  const { kernel, agent, send } = await runWithServers(harness, {
    servers: { s: 'usual' },
    settings: { callMs: 2_000 },
    script: scriptOfCalls(['mcp__s__progress']),
  })
  await send('go')
  await kernel.waitFor(() => kernel.liveOutputs.some((live) => live.type === 'tool-output'), 'the call has begun')
  kernel.hold()
  await agent.pause(true)
  await waitUntil(() => findProcessesWith(harness.token).every(({ state }) => 'TS'.includes(state)), 'all programs are stopped')
  const outputCount = kernel.liveOutputs.length
  await new Promise((resolve) => setTimeout(resolve, 2_500)) // a running timer would have ended the call by then
  expect(kernel.liveOutputs.length - outputCount).toBeLessThan(10)
  expect(kernel.factsOf('tool.finished')).toEqual([])
  kernel.release()
  await agent.unpause()
  await kernel.waitFor(() => kernel.liveOutputs.length > outputCount + 10, 'it goes on')
  await agent.interrupt()
  await kernel.waitForTurnEnd()
})

test('a server that dies during a call is restarted at the next call, at most three times in a row', async () => {
  const { kernel, runTurn, serverState, readLogLines } = await runWithServers(harness, {
    servers: { s: 'usual', other: 'usual' },
    script: scriptOfCalls(
      ['mcp__s__die'],
      ['mcp__s__echo', { n: 1 }],
      ['mcp__s__die'],
      ['mcp__s__die'],
      ['mcp__s__die'],
      ['mcp__s__die'],
      ['mcp__s__echo'],
      ['mcp__other__echo'],
    ),
  })
  await runTurn('go')
  const diedResult = {
    outcome: 'error',
    content: 'the MCP server "s" ended during this call (exit code 3): it may or may not have happened',
  }
  expect(kernel.factsOf('tool.finished')).toMatchObject([
    diedResult,
    { outcome: 'ok', content: 'echo {"n":1}' },
    diedResult,
    diedResult,
    diedResult,
    diedResult,
    {
      outcome: 'error',
      content: 'not done: the MCP server "s" has ended after 3 restarts, and is not started again; it has ended: exit code 3',
    },
    { outcome: 'ok', content: 'echo {}' },
  ])
  expect(readLogLines('s').filter((line) => line.startsWith('started')).length).toBe(5)
  expect(serverState('s')).toMatchObject({ state: 'failed', detail: 'it has ended: exit code 3' })
  expect(serverState('other')).toMatchObject({ state: 'up' })
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok' }])
})

test('the configuration sets the effects of tools; any other tool has the effect `once`', async () => {
  const { kernel, runTurn } = await runWithServers(harness, {
    servers: { s: 'usual' },
    settings: { effects: { echo: 'read', env: 'idempotent' } },
    script: JSON.stringify([
      { tools: ['echo', 'echo', 'env', 'more', 'gone'].map((name) => ({ name: `mcp__s__${name}`, input: {} })) },
      { text: 'done' },
    ]),
  })
  await runTurn('go')
  expect(kernel.factsOf('tool.started').map(({ effect }) => effect)).toEqual(['read', 'read', 'idempotent', 'once', 'once'])
  expect(kernel.factsOf('tool.finished').at(-1)).toMatchObject({
    outcome: 'error',
    content: expect.stringContaining('there is no tool "mcp__s__gone"'),
  })
})

test('forbidden tools are not offered, and a server without an allowed tool is not started', async () => {
  const { kernel, runTurn, serverState, readLogLines } = await runWithServers(harness, {
    servers: { a: 'usual', b: 'usual', c: 'usual' },
    spec: { tools: ['read', 'mcp__a', 'mcp__b__echo'], deny: ['mcp__a__d*'] },
    script: scriptOfCalls(['mcp__a__die'], ['mcp__b__env'], ['mcp__b__echo'], ['mcp__c__echo']),
  })
  await runTurn('go')
  expect(kernel.factsOf('tool.finished').map(({ outcome, content }) => [outcome, content.slice(0, 40)])).toEqual([
    ['denied', 'the tool "mcp__a__die" is denied to this'],
    ['denied', 'the tool "mcp__b__env" is denied to this'],
    ['ok', 'echo {}'],
    ['error', 'there is no tool "mcp__c__echo"; the ava'],
  ])
  expect([serverState('c'), readLogLines('c')]).toEqual([undefined, []])
})

test("secrets in a server's output are not stored", async () => {
  const secret = 'sk-very-secret-0123456789'
  const transportOf = (mode: string): McpTransport => ({
    kind: 'stdio',
    argv: [process.execPath, MCP_PROGRAM, mode, '', harness.token],
    cwd: harness.dir,
    env: { ...testEnv(harness.dir), TOKEN: secret },
  })
  const { kernel, runTurn, serverState } = await runWithServers(harness, {
    servers: { s: transportOf('usual'), leaky: transportOf('leaky'), broken: transportOf('crash') },
    settings: { secrets: [secret] },
    script: scriptOfCalls(['mcp__s__env']),
  })
  await runTurn('go')
  expect(kernel.factsOf('tool.finished')).toMatchObject([{ outcome: 'ok', content: expect.stringContaining('"TOKEN":"[secret]"') }])
  expect(serverState('leaky')?.tools[0]).toMatchObject({ schema: { properties: { token: { default: '[secret]' } } } })
  expect(serverState('broken')).toMatchObject({ state: 'failed', detail: 'it has ended: exit code 5: cannot start: TOKEN=[secret]' })
  expect(JSON.stringify([kernel.facts, kernel.liveOutputs])).not.toContain(secret)
})

test("a server's request to the user is declined", async () => {
  const { kernel, runTurn } = await runWithServers(harness, { servers: { s: 'usual' }, script: scriptOfCalls(['mcp__s__ask']) })
  await runTurn('go')
  expect(kernel.factsOf('tool.finished')).toMatchObject([
    { outcome: 'ok', content: expect.stringContaining('elicitation/create is declined: there is no user to answer it') },
  ])
})

test("on shutdown, a server's stdin is closed first, and it gets time to exit by itself", async () => {
  const { runTurn, agent, readLogLines } = await runWithServers(harness, { servers: { s: 'usual' }, script: '- text: done' })
  await runTurn('go')
  await agent[Symbol.asyncDispose]()
  expect(readLogLines('s').at(-1)).toBe('end of input')
  expect(findProcessesWith(harness.token)).toEqual([])
})
