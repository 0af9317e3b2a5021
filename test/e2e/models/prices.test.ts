// The user's prices, from config.yaml to the cost of a process: of a native agent with an unknown model, and of an external agent that
// reports only tokens. A change applies from the next start on.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer } from '../../support/models/model-server.ts'
import type { UsageReportView } from '../../../src/api/views/usage.ts'

let resources: AsyncDisposableStack
beforeEach(() => {
  resources = new AsyncDisposableStack()
})
afterEach(() => resources.disposeAsync())

test('a native agent is charged at the prices that the file had at its start', async () => {
  const answer = { text: 'done', usage: { input: 1_000, output: 500 } }
  const { url } = resources.use(await startModelServer([answer, answer]))
  const pricesConfig = (prices: string): string =>
    `providers:\n  - { name: work, kind: openai-compatible, baseURL: "${url}/v1" }\n${prices}`
  const daemon = resources.use(
    await LocalDaemon.start({ config: pricesConfig('prices: { "work/*": { input: 2, output: 4, window: 9000 } }\n') }),
  )
  const run = async () => daemon.waitForEnd((await daemon.spawn({ model: 'work/own-1', intent: 'work' })).uuid)
  expect((await run()).usage).toMatchObject({ costUsd: 0.004, unpriced: false, contextWindow: 9_000 })
  await writeFile(daemon.paths.configFile, pricesConfig(''))
  expect((await run()).usage).toMatchObject({ costUsd: null, unpriced: true })
  const { rows } = await daemon.client.get<UsageReportView>('/v1/usage', { by: 'model' })
  expect(rows).toMatchObject([{ key: 'work/own-1', processes: 2, costUsd: 0.004, unpriced: true }])
  const { stdout, stderr } = await runCli(daemon.home, ['usage', '--by', 'model'])
  expect(stdout).toMatch(/^work\/own-1 .* \$0\.0040\+\nTOTAL .* \$0\.0040\+$/m)
  expect(stderr).toContain('the price of some calls is unknown')
})

test('an external agent that reports only tokens is charged at the prices of the file', async () => {
  const daemon = resources.use(
    await LocalDaemon.start({ config: 'prices: { "openai/*": { input: 1000, output: 2000, cacheRead: 500 } }\n' }),
  )
  const lines = [
    { type: 'thread.started', thread_id: 't1' },
    { type: 'turn.started' },
    { type: 'turn.completed', usage: { input_tokens: 30, cached_input_tokens: 10, output_tokens: 5 } },
  ]
    .map((line) => JSON.stringify(line))
    .join('\n')
  const program = resolve(daemon.work, 'codex')
  await writeFile(program, `#!/bin/sh\ncat <<'END'\n${lines}\nEND\n`, { mode: 0o755 })
  const { uuid } = await daemon.spawn({ argv: [program, 'exec', '--json', '-m', 'gpt-unheard-of', 'work'] })
  const { usage } = await daemon.waitForEnd(uuid)
  expect(usage).toMatchObject({ inputTokens: 20, cacheReadTokens: 10, outputTokens: 5, unpriced: false })
  expect(usage.costUsd).toBeCloseTo((20 * 1000 + 10 * 500 + 5 * 2000) / 1e6, 9)
})
