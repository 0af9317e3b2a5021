// A native agent whose provider announces that its rate limit ends in two hours. The agent is suspended instead of failing, and asks again
// after its resume. The provider is a real server; test/tables/kernel/decide/limits/rate-limits.test.ts tests the kernel's part.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ModelServer, ServedAnswer } from '../../support/models/model-server.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness, Run } from '../../support/models/native-harness.ts'

const HOUR = 3_600_000
const LIMIT = { type: 'rate_limit_error', message: 'This request would exceed your rate limit' }

let harness: NativeHarness
let server: ModelServer

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function startLimited(answers: readonly ServedAnswer[], fallback: readonly string[] = []): Promise<Run> {
  server = await startModelServer(answers)
  const run = await harness.run({
    spec: { model: 'anthropic/claude-sonnet-4-5', fallback },
    credentials: { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: server.url },
  })
  await run.send('go')
  return run
}

const inTwoHours = (): string => new Date(Date.now() + 2 * HOUR).toISOString()
const resets: readonly (readonly [string, () => Record<string, string>])[] = [
  ['retry-after', () => ({ 'retry-after': '7200' })],
  [
    'the reset of the used-up limit',
    () => ({
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': inTwoHours(),
      'anthropic-ratelimit-requests-remaining': '9',
      'anthropic-ratelimit-requests-reset': inTwoHours(),
    }),
  ],
]

test.each(resets)('an agent is suspended until the limit is over (%s), and continues where it was', async (_, headers) => {
  const { kernel, agent } = await startLimited([{ status: 429, headers: headers(), error: LIMIT }, { text: 'done' }])
  await kernel.waitFor(() => kernel.pauseWaitCount === 1, 'it waits for the end of the pause')
  const [failed] = kernel.reportsOf('model.failed')
  const untilResumeMs = failed?.report.type === 'model.failed' ? (failed.report.resumeAt ?? 0) - Date.now() : 0
  expect(untilResumeMs).toBeGreaterThan(1.9 * HOUR)
  expect(untilResumeMs).toBeLessThanOrEqual(2 * HOUR)
  expect(server.requests).toHaveLength(1)
  kernel.release()
  await agent.unpause()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  expect(kernel.factsOf('model.started').map(({ step, attempt }) => [step, attempt])).toEqual([
    [1, 1],
    [1, 2],
  ])
})

test('an agent is suspended again when it is resumed too early', async () => {
  const answer = { status: 429, headers: { 'retry-after': '7200' }, error: LIMIT }
  const { kernel, agent } = await startLimited([answer, answer, { text: 'done' }])
  for (const times of [1, 2]) {
    await kernel.waitFor(() => kernel.pauseWaitCount === times, 'it waits for the end of the pause')
    kernel.release()
    await agent.unpause()
  }
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok' }])
})

test('an agent with a fallback that can answer is not suspended', async () => {
  const { kernel } = await startLimited(
    [{ status: 429, headers: { 'retry-after': '7200' }, error: LIMIT }, { text: 'done' }],
    ['anthropic/claude-haiku-4-5'],
  )
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  expect(kernel.pauseWaitCount).toBe(0)
})

test('an agent whose fallback cannot be used is suspended, and a note and the later error give the reason', async () => {
  const limited = { status: 429, headers: { 'retry-after': '7200' }, error: LIMIT }
  const refused = { status: 400, error: { type: 'invalid_request_error', message: 'no' } }
  const { kernel, agent } = await startLimited([limited, refused], ['gone/x'])
  await kernel.waitFor(() => kernel.pauseWaitCount === 1, 'it waits for the end of the pause')
  const isSkipped = expect.stringMatching(/gone\/x is skipped: /) as string
  expect(kernel.factsOf('process.note').at(-1)?.text).toEqual(isSkipped)
  kernel.release()
  await agent.unpause()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'error', error: isSkipped }])
})

test('a rate limit without a known end ends the turn with an error, after the usual attempts', async () => {
  const { kernel } = await startLimited(Array.from({ length: 4 }, () => ({ status: 429, error: LIMIT })))
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'error' }])
  expect(kernel.pauseWaitCount).toBe(0)
})
