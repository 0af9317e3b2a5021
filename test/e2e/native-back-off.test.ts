// The wait of a native agent before it asks a model again, with a real provider that says how long: a pause stops it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../support/living.ts'
import { modelServer } from '../support/model-server.ts'
import type { ModelServer } from '../support/model-server.ts'
import { nativeBench } from '../support/native-bench.ts'
import type { NativeBench, Run } from '../support/native-bench.ts'

let bench: NativeBench
let server: ModelServer

beforeEach(async () => { bench = await nativeBench() })
afterEach(async () => {
  await bench[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** An agent that was told to ask again after so many ms. */
async function waiting(ms: number): Promise<Run> {
  server = await modelServer([{ status: 429, headers: { 'retry-after-ms': String(ms) }, error: { type: 'rate_limit_error', message: 'slow down' } }, { text: 'done' }])
  const run = await bench.run({ spec: { model: 'anthropic/claude-sonnet-4-5' }, credentials: { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: server.url } })
  await run.send('go')
  await run.kernel.until(() => run.kernel.of('model.failed').length === 1, 'the first call has failed')
  return run
}

test('who waits an hour is drained at once, and asks nobody', async () => {
  const { agent, kernel } = await waiting(3_600_000)
  kernel.hold()
  await agent.pause(false)
  await kernel.until(() => kernel.drained === 1, 'it is at the gate')
  expect(kernel.reports('model.started')).toHaveLength(1)
  kernel.release()
  await agent.unpause()
  await agent.interrupt()
  await kernel.ended()
  expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'interrupted' }])
})

test('what is left of the wait is waited for after the pause', async () => {
  const { agent, kernel } = await waiting(2_000)
  const failedAt = kernel.reports('model.failed')[0]?.atMs ?? 0
  kernel.hold()
  await agent.pause(false)
  await kernel.until(() => kernel.drained === 1, 'it is at the gate')
  const drainedAt = performance.now()
  // The provider's time goes by; nobody asks.
  await eventually(() => performance.now() - drainedAt > 2_000, 'it is time')
  expect(server.requests).toHaveLength(1)
  const goesOnAt = performance.now()
  kernel.release()
  await agent.unpause()
  await kernel.ended()
  expect(kernel.of('process.ready')).toMatchObject([{ outcome: 'ok', result: 'done' }])
  expect((kernel.reports('model.started')[1]?.atMs ?? 0) - goesOnAt).toBeGreaterThanOrEqual(2_000 - (drainedAt - failedAt) - 50)
})
