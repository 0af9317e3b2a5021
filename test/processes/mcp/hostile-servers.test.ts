// MCP servers that misbehave: each is skipped or ended with the reason, leaves nothing behind, and does not harm its agent.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { McpState } from '../../../src/kernel/model/facts.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { scriptOfCalls, runWithServers } from '../../support/agents/native-with-mcp.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness } from '../../support/models/native-harness.ts'

let harness: NativeHarness

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
  expect(findProcessesWith(harness.token)).toEqual([])
})

describe('at the start', () => {
  test.each<[string, string | readonly string[], number, Partial<McpState>]>([
    ['hangs', 'hang', 300, { state: 'failed', detail: 'it was not ready within 300 ms' }],
    ['ends', 'crash', 25_000, { state: 'failed', detail: expect.stringContaining('it has ended: exit code 5: cannot start') as string }],
    ['does not exist', ['no-such-program'], 25_000, { state: 'failed', detail: expect.stringContaining('no-such-program') as string }],
    ['writes other output before its answer', 'noisy', 25_000, { state: 'up', detail: 'fake 1 (2025-11-25)' }],
    ['ends at the question of the newer revision', 'ends-at-probe', 25_000, { state: 'up', detail: 'fake 1 (2025-11-25)' }],
    ['does not answer the question of the newer revision', 'silent-probe', 8_000, { state: 'up', detail: 'fake 1 (2025-11-25)' }],
  ])('a server that %s gets its state, and the turn completes', async (_, mode, startMs, expected) => {
    const { kernel, runTurn, serverState } = await runWithServers(harness, {
      servers: { bad: mode },
      settings: { startMs },
      script: '- text: done',
    })
    await runTurn('go')
    expect(serverState('bad')).toMatchObject(expected)
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
    expect(kernel.factsOf('process.note').map(({ text }) => text)).toEqual(
      expected.state === 'up' ? [] : [`MCP server bad is not used: ${String(serverState('bad')?.detail)}`],
    )
    if (expected.state !== 'up') await waitUntil(() => findProcessesWith(harness.token).length === 0, 'nothing of it is left')
  })

  test('twelve servers start, eight at a time, beside one that hangs', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `s${index}`)
    const servers = Object.fromEntries(names.map((name) => [name, name === 's3' ? 'hang' : 'usual']))
    const { kernel, runTurn, serverState } = await runWithServers(harness, {
      servers,
      settings: (name) => (name === 's3' ? { startMs: 500 } : {}),
      script: scriptOfCalls(['mcp__s11__echo']),
    })
    await runTurn('go')
    expect(names.filter((name) => serverState(name)?.state !== 'up')).toEqual(['s3'])
    expect(kernel.factsOf('tool.finished')).toMatchObject([{ outcome: 'ok' }])
  })
})

describe('in a call', () => {
  const endedResult = (description: string): object => ({
    outcome: 'error',
    content: `the MCP server "s" ended during this call (${description}): it may or may not have happened`,
  })

  test.each([
    ['long-line', endedResult('it wrote a line of more than 16 MiB')],
    ['flood', endedResult('it wrote more than 64 MiB without answering a request')],
    ['answers', endedResult('it wrote more than 64 MiB without answering a request')],
    ['die', endedResult('exit code 3')],
    ['huge-json', { outcome: 'ok', content: expect.stringMatching(/^y+\n\[… \d+ bytes omitted …\]\ny+$/) }],
    ['shout', { outcome: 'ok', content: 'shouted' }],
  ])('a call of `%s` gets its result, and later calls to both servers work', async (tool, expected) => {
    const { kernel, runTurn } = await runWithServers(harness, {
      servers: { s: 'usual', other: 'usual' },
      script: scriptOfCalls([`mcp__s__${tool}`], ['mcp__other__echo'], ['mcp__s__echo']),
    })
    await runTurn('go')
    expect(kernel.factsOf('tool.finished')).toMatchObject([expected, { outcome: 'ok' }, { outcome: 'ok', content: 'echo {}' }])
    expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok' }])
    // Its stderr is shown up to a limit, and not kept.
    expect(kernel.liveOutputs.reduce((sum, live) => sum + ('text' in live ? live.text.length : 0), 0)).toBeLessThan(3 * 256 * 1024)
  })
})

test('a server that does not read its requests is ended before they fill memory', async () => {
  const script = `- &call { tools: [{ name: mcp__s__echo, input: { text: ${'x'.repeat(1_000_000)} } }] }\n${'- *call\n'.repeat(20)}- text: done\n${'- tools: [{ name: mcp__s__echo }]\n- text: done\n'.repeat(200)}`
  const { kernel, runTurn, readLogLines } = await runWithServers(harness, { servers: { s: 'blind' }, settings: { callMs: 20 }, script })
  await runTurn('go')
  // The next call after its known end starts it again.
  while (readLogLines('s').filter((line) => line.startsWith('started')).length < 2) await runTurn('once more')
  expect(kernel.factsOf('process.ready').filter(({ outcome }) => outcome !== 'ok')).toEqual([])
})

describe('at the end', () => {
  test.each([
    ['killed', 'SIGKILL', 0],
    ['killed with a grace', 'SIGTERM', 300],
    ['stopped', 'SIGTERM', 5_000],
  ] as const)('a server that ignores the end of its input and SIGTERM is gone after its agent is %s', async (_, signal, graceMs) => {
    const { agent, runTurn, readLogLines } = await runWithServers(harness, {
      servers: { s: 'deaf', polite: 'usual' },
      script: '- text: done',
    })
    await runTurn('go')
    await agent.stop({ signal, graceMs })
    expect(findProcessesWith(harness.token)).toEqual([])
    // With a shorter grace period it may be gone before it has noted anything.
    if (graceMs > 1_000) expect(readLogLines('s').slice(1)).toEqual(['end of input', 'SIGTERM'])
  })

  test('a server ends with its agent', async () => {
    const { agent, runTurn, readLogLines } = await runWithServers(harness, { servers: { s: 'deaf' }, script: '- text: done' })
    await runTurn('go')
    await agent[Symbol.asyncDispose]()
    expect(readLogLines('s')).toContain('end of input')
    expect(findProcessesWith(harness.token)).toEqual([])
  })

  test('an agent that ends during the start of its servers leaves none of them', async () => {
    const { agent, send, readLogLines } = await runWithServers(harness, { servers: { s: 'hang', t: 'hang' }, script: '- text: done' })
    await send('go')
    await waitUntil(() => readLogLines('s').length > 0 && readLogLines('t').length > 0, 'they have started')
    await agent.stop({ signal: 'SIGTERM', graceMs: 1_000 })
    await agent[Symbol.asyncDispose]()
    expect(findProcessesWith(harness.token)).toEqual([])
  })
})

test('of a flood of progress messages only the newest of each interval is passed on', async () => {
  const { kernel, runTurn } = await runWithServers(harness, {
    servers: { s: 'usual' },
    script: scriptOfCalls(['mcp__s__progress-flood']),
  })
  await runTurn('go')
  expect(kernel.factsOf('tool.finished')).toMatchObject([{ outcome: 'ok', content: 'told' }])
  const words = kernel.liveOutputs.flatMap((live) => (live.type === 'tool-output' ? [live.text] : []))
  expect(words.length).toBeGreaterThan(0)
  // Without the limit each message would set a timer: 100,000 timers, and as many events for each viewer.
  expect(words.length).toBeLessThan(5_000)
})
