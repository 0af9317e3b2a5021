// The whole store is read while processes write, end and are removed. The readers report no damage, and the sums are right.
import { expect, test } from 'vitest'
import type { GcView } from '../../../src/api/views/gc.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import type { UsageReportView } from '../../../src/api/views/usage.ts'
import { deep } from '../../support/deep.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const ROUNDS = deep(8, 200)
const AGENTS = 3
const STEPS = 12

const SCRIPT = Array.from({ length: STEPS }, (_, step) => ({
  text: `step ${step}`,
  tools: [{ name: 'glob', input: { pattern: `${step}*` } }],
}))

test(`verify, export and usage are right during ${ROUNDS} rounds of agents, removals and collections`, { timeout: 600_000 }, async () => {
  await using daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_entries: 6 }\n' })
  const model = await daemon.writeScript([...SCRIPT, { text: 'done' }])
  let isOver = false
  let endedCount = 0
  const runAgents = async (): Promise<void> => {
    for (; !isOver; endedCount++) await daemon.waitForEnd((await daemon.spawn({ model })).uuid)
  }
  const agents = Array.from({ length: AGENTS }, runAgents)
  const damages: string[] = []
  let steps = 0
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const { processes } = await daemon.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true })
      const newest = processes.at(-1)
      const [{ checks }, , , usage] = await Promise.all([
        daemon.client.get<{ checks: { name: string; detail: string; ok: boolean }[] }>('/v1/doctor', { verify: true }, { extraMs: 60_000 }),
        round % 2 === 0 ? daemon.client.post<GcView>('/v1/gc', {}) : null,
        newest && daemon.client.post(`/v1/processes/${newest.uuid}/export`, { dir: `${daemon.work}/export-${round}` }),
        daemon.client.get<UsageReportView>('/v1/usage', { by: 'agent' }),
      ])
      damages.push(...checks.flatMap(({ name, ok, detail }) => (name === 'store' && !ok ? [detail] : [])))
      // Removed processes stay counted: the sum only grows.
      expect(usage.total.steps).toBeGreaterThanOrEqual(steps)
      steps = usage.total.steps
    }
  } finally {
    isOver = true
    await Promise.all(agents)
  }
  expect(damages).toEqual([])
  const { total } = await daemon.client.get<UsageReportView>('/v1/usage', { by: 'agent' })
  expect(total.steps).toBe(endedCount * (STEPS + 1))
  expect(daemon.errors).toEqual([])
})
