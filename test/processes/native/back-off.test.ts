// A native agent waits before it retries a model call, as long as the provider demands. A pause interrupts this wait.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import type { ModelServer } from '../../support/models/model-server.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness, Run } from '../../support/models/native-harness.ts'

let harness: NativeHarness
let server: ModelServer

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** An agent whose provider demands a delay of this many ms. */
async function runWaitingAgent(ms: number): Promise<Run> {
  server = await startModelServer([
    { status: 429, headers: { 'retry-after-ms': String(ms) }, error: { type: 'rate_limit_error', message: 'slow down' } },
    { text: 'done' },
  ])
  const run = await harness.run({
    spec: { model: 'anthropic/claude-sonnet-4-5' },
    credentials: { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: server.url },
  })
  await run.send('go')
  await run.kernel.waitFor(() => run.kernel.factsOf('model.failed').length === 1, 'the first call has failed')
  return run
}

test('an agent that waits an hour is drained at once, and makes no request', async () => {
  const { agent, kernel } = await runWaitingAgent(3_600_000)
  kernel.hold()
  await agent.pause(false)
  await kernel.waitFor(() => kernel.pauseWaitCount === 1, 'it waits for the end of the pause')
  expect(kernel.reportsOf('model.started')).toHaveLength(1)
  kernel.release()
  await agent.unpause()
  await agent.interrupt()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
})

test('the rest of the delay passes after the pause', async () => {
  const { agent, kernel } = await runWaitingAgent(2_000)
  const failedAt = kernel.reportsOf('model.failed')[0]?.atMs ?? 0
  kernel.hold()
  await agent.pause(false)
  await kernel.waitFor(() => kernel.pauseWaitCount === 1, 'it waits for the end of the pause')
  const drainedAt = performance.now()
  // The provider's delay passes without a request.
  await waitUntil(() => performance.now() - drainedAt > 2_000, 'the delay has passed')
  expect(server.requests).toHaveLength(1)
  const resumedAtMs = performance.now()
  kernel.release()
  await agent.unpause()
  await kernel.waitForTurnEnd()
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  expect((kernel.reportsOf('model.started')[1]?.atMs ?? 0) - resumedAtMs).toBeGreaterThanOrEqual(2_000 - (drainedAt - failedAt) - 50)
})
