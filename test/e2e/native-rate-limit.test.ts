// A native agent whose provider says that its limit is over in hours: it is suspended instead of failing, and asks again when
// it goes on. The provider is a real server; what the kernel makes of it is in test/tables/rate-limits.test.ts.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { modelServer } from '../support/model-server.ts'
import type { ModelServer, ServedAnswer } from '../support/model-server.ts'
import { nativeBench } from '../support/native-bench.ts'
import type { NativeBench, Run } from '../support/native-bench.ts'

const HOUR = 3_600_000
const LIMIT = { type: 'rate_limit_error', message: 'This request would exceed your rate limit' }

let bench: NativeBench
let server: ModelServer

beforeEach(async () => { bench = await nativeBench() })
afterEach(async () => {
  await bench[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function limited(answers: readonly ServedAnswer[], fallback: readonly string[] = []): Promise<Run> {
  server = await modelServer(answers)
  const run = await bench.run({ spec: { model: 'anthropic/claude-sonnet-4-5', fallback }, credentials: { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: server.url } })
  await run.send('go')
  return run
}

const inTwoHours = (): string => new Date(Date.now() + 2 * HOUR).toISOString()
const resets: readonly (readonly [string, () => Record<string, string>])[] = [
  ['retry-after', () => ({ 'retry-after': '7200' })],
  ['the limit that is used up', () => ({ 'anthropic-ratelimit-tokens-remaining': '0', 'anthropic-ratelimit-tokens-reset': inTwoHours(), 'anthropic-ratelimit-requests-remaining': '9', 'anthropic-ratelimit-requests-reset': inTwoHours() })],
]

test.each(resets)('is suspended until the limit is over (%s), and goes on where it was', async (_, headers) => {
  const { kernel, agent } = await limited([{ status: 429, headers: headers(), error: LIMIT }, { text: 'done' }])
  await kernel.until(() => kernel.drained === 1, 'it waits at the gate')
  const [failed] = kernel.reports('model.failed')
  const until = failed?.report.type === 'model.failed' ? (failed.report.resumeAt ?? 0) - Date.now() : 0
  expect(until).toBeGreaterThan(1.9 * HOUR)
  expect(until).toBeLessThanOrEqual(2 * HOUR)
  expect(server.requests).toHaveLength(1)
  kernel.release()
  await agent.unpause()
  await kernel.ended()
  expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  expect(kernel.of('model.started').map(({ step, attempt }) => [step, attempt])).toEqual([[1, 1], [1, 2]])
})

test('who is resumed too early is suspended again', async () => {
  const answer = { status: 429, headers: { 'retry-after': '7200' }, error: LIMIT }
  const { kernel, agent } = await limited([answer, answer, { text: 'done' }])
  for (const times of [1, 2]) {
    await kernel.until(() => kernel.drained === times, 'it waits at the gate')
    kernel.release()
    await agent.unpause()
  }
  await kernel.ended()
  expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'ok' }])
})

test('another model that can answer is asked first', async () => {
  const { kernel } = await limited([{ status: 429, headers: { 'retry-after': '7200' }, error: LIMIT }, { text: 'done' }], ['anthropic/claude-haiku-4-5'])
  await kernel.ended()
  expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  expect(kernel.drained).toBe(0)
})

test('a limit whose end nobody knows fails as ever', async () => {
  const { kernel } = await limited(Array.from({ length: 4 }, () => ({ status: 429, error: LIMIT })))
  await kernel.ended()
  expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'error' }])
  expect(kernel.drained).toBe(0)
})
