// MCP servers of a native agent over stdio: a real one of each revision of the protocol, lists, calls, progress,
// cancellation, restarts, pauses and ends. Models are played scripts.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually, livingWith } from '../support/living.ts'
import { calls, EVERYTHING, withServers } from '../support/mcp.ts'
import { nativeBench } from '../support/native-bench.ts'
import type { NativeBench } from '../support/native-bench.ts'

let bench: NativeBench

beforeEach(async () => { bench = await nativeBench() })
afterEach(() => bench[Symbol.asyncDispose]())

test('a real server of the 2025-11-25 revision: its tools are offered, called, and their pictures shown', async () => {
  const { kernel, turn, server } = await withServers(bench, {
    servers: { every: [process.execPath, EVERYTHING, 'stdio'] },
    script: calls(['mcp__every__echo', { message: 'hello' }], ['mcp__every__get-tiny-image'], ['mcp__every__get-structured-content', { location: 'New York' }], ['mcp__every__get-sum', { a: 2, b: 'x' }]),
  })
  await turn('go')
  expect(server('every')).toMatchObject({ state: 'up', detail: expect.stringMatching(/\(2025-11-25\)$/) })
  expect(server('every')?.tools.find(({ name }) => name === 'mcp__every__echo')).toMatchObject({ description: 'Echoes back the input string', schema: { type: 'object', properties: { message: {} } } })
  const [echo, image, structured, wrong] = kernel.of('tool.finished')
  expect(echo).toMatchObject({ outcome: 'ok', content: 'Echo: hello' })
  expect(image).toMatchObject({ outcome: 'ok', images: [{ mediaType: 'image/png' }] })
  expect(structured).toMatchObject({ outcome: 'ok', content: expect.stringContaining('temperature') })
  expect(wrong).toMatchObject({ outcome: 'error', content: expect.stringMatching(/invalid/i) })
  expect(kernel.of('tool.started').map(({ effect }) => effect)).toEqual(['once', 'once', 'once', 'once'])
})
