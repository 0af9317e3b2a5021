// MCP servers that misbehave: each is left out or ended with the reason, nothing of it is left, and its agent is unharmed.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { McpState } from '../../src/kernel/facts.ts'
import { eventually, livingWith } from '../support/living.ts'
import { calls, withServers } from '../support/mcp.ts'
import { nativeBench } from '../support/native-bench.ts'
import type { NativeBench } from '../support/native-bench.ts'

let bench: NativeBench

beforeEach(async () => { bench = await nativeBench() })
afterEach(async () => {
  await bench[Symbol.asyncDispose]()
  expect(livingWith(bench.token)).toEqual([])
})

describe('at the start', () => {
  test.each<[string, string | readonly string[], number, Partial<McpState>]>([
    ['hangs', 'hang', 300, { state: 'failed', detail: 'it was not ready within 300 ms' }],
    ['ends', 'crash', 25_000, { state: 'failed', detail: expect.stringContaining('it has ended: exit code 5: cannot start') as string }],
    ['is not there', ['no-such-program'], 25_000, { state: 'failed', detail: expect.stringContaining('no-such-program') as string }],
    ['says other things before its answer', 'noisy', 25_000, { state: 'up', detail: 'fake 1 (2025-11-25)' }],
    ['ends at the question of the newer revision', 'ends-at-probe', 25_000, { state: 'up', detail: 'fake 1 (2025-11-25)' }],
    ['does not answer it', 'silent-probe', 8_000, { state: 'up', detail: 'fake 1 (2025-11-25)' }],
  ])('one that %s holds up nobody', async (_, how, startMs, expected) => {
    const { kernel, turn, server } = await withServers(bench, { servers: { bad: how }, more: { startMs }, script: '- text: done' })
    await turn('go')
    expect(server('bad')).toMatchObject(expected)
    expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
    expect(kernel.of('process.note').map(({ text }) => text)).toEqual(expected.state === 'up' ? [] : [`MCP server bad is not used: ${String(server('bad')?.detail)}`])
    if (expected.state !== 'up') await eventually(() => livingWith(bench.token).length === 0, 'nothing of it is left')
  })

  test('twelve servers start, eight at a time, beside one that hangs', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `s${index}`)
    const servers = Object.fromEntries(names.map((name) => [name, name === 's3' ? 'hang' : 'usual']))
    const { kernel, turn, server } = await withServers(bench, { servers, more: (name) => (name === 's3' ? { startMs: 500 } : {}), script: calls(['mcp__s11__echo']) })
    await turn('go')
    expect(names.filter((name) => server(name)?.state !== 'up')).toEqual(['s3'])
    expect(kernel.of('tool.finished')).toMatchObject([{ outcome: 'ok' }])
  })
})

describe('in a call', () => {
  const ended = (how: string): object => ({ outcome: 'error', content: `the MCP server "s" ended in this call (${how}): it may or may not have happened` })

  test.each([
    ['long-line', ended('it wrote a line of more than 16 MiB')],
    ['flood', ended('it wrote more than 64 MiB that nobody asked for')],
    ['answers', ended('it wrote more than 64 MiB that nobody asked for')],
    ['die', ended('exit code 3')],
    ['huge-json', { outcome: 'ok', content: expect.stringMatching(/^y+\n\[… \d+ bytes are left out here …\]\ny+$/) }],
    ['shout', { outcome: 'ok', content: 'shouted' }],
  ])('%s', async (tool, expected) => {
    const { kernel, turn } = await withServers(bench, { servers: { s: 'usual', other: 'usual' }, script: calls([`mcp__s__${tool}`], ['mcp__other__echo'], ['mcp__s__echo']) })
    await turn('go')
    expect(kernel.of('tool.finished')).toMatchObject([expected, { outcome: 'ok' }, { outcome: 'ok', content: 'echo {}' }])
    expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'ok' }])
    // What it shouts is shown up to a limit, and not kept.
    expect(kernel.lives.reduce((sum, live) => sum + ('text' in live ? live.text.length : 0), 0)).toBeLessThan(3 * 256 * 1024)
  })
})

test('one that does not read what it is asked is ended before all of it waits in our memory', async () => {
  const script = `- &call { tools: [{ name: mcp__s__echo, input: { text: ${'x'.repeat(1_000_000)} } }] }\n${'- *call\n'.repeat(20)}`
  const { kernel, turn, noted } = await withServers(bench, { servers: { s: 'blind' }, more: { callMs: 20 }, script })
  await turn('go')
  // The next call has started it again.
  expect(noted('s').filter((line) => line.startsWith('started')).length).toBeGreaterThan(1)
  expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'ok' }])
})

describe('at the end', () => {
  test.each([
    ['killed', 'SIGKILL', 0], ['killed with a grace', 'SIGTERM', 300], ['stopped', 'SIGTERM', 5_000],
  ] as const)('one that hears neither the end of its input nor SIGTERM: %s', async (_, signal, graceMs) => {
    const { agent, turn, noted } = await withServers(bench, { servers: { s: 'deaf', polite: 'usual' }, script: '- text: done' })
    await turn('go')
    await agent.stop({ signal, graceMs })
    expect(livingWith(bench.token)).toEqual([])
    // With less grace it may be gone before it has noted anything.
    if (graceMs > 1_000) expect(noted('s').slice(1)).toEqual(['end of input', 'SIGTERM'])
  })

  test('the end of the agent alone is enough', async () => {
    const { agent, turn, noted } = await withServers(bench, { servers: { s: 'deaf' }, script: '- text: done' })
    await turn('go')
    await agent[Symbol.asyncDispose]()
    expect(noted('s')).toContain('end of input')
    expect(livingWith(bench.token)).toEqual([])
  })

  test('an agent that ends while its servers start leaves none of them', async () => {
    const { agent, send, noted } = await withServers(bench, { servers: { s: 'hang', t: 'hang' }, script: '- text: done' })
    await send('go')
    await eventually(() => noted('s').length > 0 && noted('t').length > 0, 'they have started')
    await agent.stop({ signal: 'SIGTERM', graceMs: 1_000 })
    await agent[Symbol.asyncDispose]()
    expect(livingWith(bench.token)).toEqual([])
  })
})
