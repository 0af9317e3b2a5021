// Budgets of the home as a user meets them. Calls stop at the budget, `usage` shows it, and `config set` or the next day lets them
// continue.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../support/clock.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { startModelServer, type ModelServer } from '../../support/models/model-server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { UsageReportView } from '../../../src/api/views/usage.ts'

const DAY_MS = 86_400_000
/** Each answer costs $0.40; each but the last calls a tool, so that another answer follows. */
const answers = Array.from({ length: 6 }, (_, index) => ({
  text: `step ${index}`,
  usage: { input: 100_000, output: 50_000 },
  ...(index < 5 ? { tools: [{ name: 'ls', input: {} }] } : {}),
}))

let resources: AsyncDisposableStack
let server: ModelServer
beforeEach(async () => {
  resources = new AsyncDisposableStack()
  server = resources.use(await startModelServer(answers))
})
afterEach(() => resources.disposeAsync())

const config = (budgets: string): string =>
  `providers: [{ name: work, kind: openai-compatible, baseURL: "${server.url}/v1", models: { m: { maxOutputTokens: 60000 } } }]\n` +
  `prices: { "work/*": { input: 2, output: 4, window: 900000 } }\n${budgets}`
const start = async (budgets: string, clock?: ManualClock): Promise<LocalDaemon> =>
  resources.use(await LocalDaemon.start({ config: config(budgets), ...(clock ? { clock } : {}) }))

test('a used-up daily budget suspends the process, `usage` shows both budgets, and a larger budget lets it continue', async () => {
  const clock = new ManualClock()
  const daemon = await start('budgets: { dailyUsd: 1.2, monthlyUsd: 50 }\n', clock)
  const { uuid, pid } = await daemon.spawn({ model: 'work/m', intent: 'work', name: 'port' })
  const held = await daemon.waitForStatus(uuid, 'suspended')
  expect(held.holds).toMatchObject([{ reason: 'budget', by: 'system', limit: 'dailyUsd' }])
  expect(held.note).toMatch(/^paused: budget until .*00:00 \(budget of the home: \$[\d.]+ of \$1\.2 are spent today/)
  expect(held.usage.costUsd).toBeLessThanOrEqual(1.2)
  // The log gets a line at 80 %, and one when the budget is used up. A single report beyond both marks causes one line.
  const isWarned = held.usage.costUsd !== null && held.usage.costUsd >= 0.96 && held.usage.costUsd < 1.2
  expect(daemon.logMessages.filter((line) => line.startsWith('budget of the home'))).toHaveLength(isWarned ? 2 : 1)
  const usage = await runCli(daemon.home, ['usage'])
  expect(usage.stderr).toMatch(/today: \$[\d.]+ of \$1\.20?, until .*\nthis month: \$[\d.]+ of \$50, until /)
  const resumed = await runCli(daemon.home, ['resume', '-d', String(pid)])
  expect(resumed.stdout + resumed.stderr).toContain('reeve config set budgets.dailyUsd')
  expect((await daemon.view(uuid)).status).toBe('suspended')
  await runCli(daemon.home, ['config', 'set', 'budgets.dailyUsd', '20'])
  // While a process waits for money, the daemon looks at config.yaml every second, not every minute.
  for (let second = 0; second < 30 && (await daemon.view(uuid)).status === 'suspended'; second += 1) clock.wind(1_000)
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', lastText: 'step 5' })
})

test('a budget set while the daemon runs is in `usage` at once, and holds the next process', async () => {
  const daemon = await start('')
  const first = await daemon.spawn({ model: 'work/m', intent: 'work' })
  await daemon.waitForEnd(first.uuid)
  const calls = server.requests.length
  await runCli(daemon.home, ['config', 'set', 'budgets.dailyUsd', '2'])
  expect((await runCli(daemon.home, ['usage'])).stderr).toContain('today: $2.40 of $2, until ')
  await runCli(daemon.home, ['config', 'set', 'budgets.dailyUsd', '1'])
  const { uuid } = await daemon.spawn({ model: 'work/m', intent: 'work' })
  expect((await daemon.waitForStatus(uuid, 'suspended')).holds).toMatchObject([{ limit: 'dailyUsd' }])
  expect(server.requests).toHaveLength(calls)
})

test('the spent money stays counted after a restart and a removal, and a used-up budget holds the next process', async () => {
  const daemon = await start('')
  const { uuid } = await daemon.spawn({ model: 'work/m', intent: 'work' })
  await daemon.waitForEnd(uuid)
  const spent = async (): Promise<number> => (await daemon.client.get<UsageReportView>('/v1/usage', { by: 'agent' })).home.month.costUsd
  expect(await spent()).toBeCloseTo(2.4, 9)
  expect((await runCli(daemon.home, ['rm', uuid])).code).toBe(0)
  await writeFile(daemon.paths.configFile, config('budgets: { monthlyUsd: 2 }\n'))
  await daemon.restart()
  expect(await spent()).toBeCloseTo(2.4, 9)
  const next = await daemon.spawn({ model: 'work/m', intent: 'work' })
  expect((await daemon.waitForStatus(next.uuid, 'suspended')).holds).toMatchObject([{ limit: 'monthlyUsd' }])
  expect(server.requests).toHaveLength(6)
})

test('a process held for a daily budget continues on the next day, but not when the clock jumps', async () => {
  const clock = new ManualClock()
  const daemon = await start('budgets: { dailyUsd: 1.2 }\n', clock)
  const { uuid } = await daemon.spawn({ model: 'work/m', intent: 'work' })
  await daemon.waitForStatus(uuid, 'suspended')
  const calls = server.requests.length
  clock.jump(DAY_MS)
  clock.wind(2_000)
  expect((await daemon.view(uuid)).status).toBe('suspended')
  clock.jump(-DAY_MS)
  // The kernel learns of the new day by an input of the daemon, some requests after the clock has passed midnight.
  for (let hour = 0; hour < 200 && server.requests.length === calls; hour += 1) {
    clock.wind(DAY_MS / 24)
    await daemon.view(uuid)
  }
  expect(server.requests.length).toBeGreaterThan(calls)
})

test('an agent outside of the gateway is frozen at the report that exceeds the budget, and a larger budget lets it continue', async () => {
  const clock = new ManualClock()
  const daemon = await start('budgets: { dailyUsd: 1 }\n', clock)
  const lines = [
    { type: 'thread.started', thread_id: 't1' },
    { type: 'turn.completed', usage: { input_tokens: 900_000, cached_input_tokens: 0, output_tokens: 0 } },
  ]
  const program = join(daemon.work, 'codex')
  await writeFile(program, `#!/bin/sh\ncat <<'END'\n${lines.map((line) => JSON.stringify(line)).join('\n')}\nEND\nexec sleep 1000\n`, {
    mode: 0o755,
  })
  const { uuid } = await daemon.spawn({ argv: [program, 'exec', '--json', '-m', 'gpt-5', 'work'] })
  expect(await daemon.waitForStatus(uuid, 'suspended')).toMatchObject({ holds: [{ limit: 'dailyUsd' }], metering: 'report' })
  await runCli(daemon.home, ['config', 'set', 'budgets.dailyUsd', '90'])
  await waitUntil(async () => {
    clock.wind(1_000)
    return (await daemon.view(uuid)).status === 'working'
  }, 'it continues')
  await daemon.signal(uuid, 'SIGKILL')
})
