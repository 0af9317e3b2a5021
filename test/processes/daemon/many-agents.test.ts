// Many agents at the same time in one daemon, to their end, within the promised memory: a thousand in the large size.
// The daemon runs from the bundle, as for users; `npm test` builds it first.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DaemonView } from '../../../src/api/views/daemon.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { deep } from '../../support/deep.ts'

const AGENTS = deep(60, 1_000)
/** spawn requests at the same time */
const AT_ONCE = 20
/** The duration of the longest step: all agents are spawned before the first has ended it. */
const LONG_MS = deep(45_000, 120_000)
/** minutes until the first agent has ended; one wait is a minute */
const WAITS = 4
const MAX_RSS_MIB = 300
const LIMIT_MS = 300_000

/** The peak memory of the daemon in MiB, as the system reports it. */
function readPeakMib(pid: number): number {
  const kib = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

test(`${AGENTS} concurrent agents complete in less than ${MAX_RSS_MIB} MiB`, { timeout: LIMIT_MS }, async () => {
  await using home = await DaemonHome.create('bundle')
  // By default only 500 ended processes are kept, checked once a minute.
  mkdirSync(home.path, { recursive: true, mode: 0o700 })
  writeFileSync(home.paths.configFile, 'gc: { max_entries: 0 }\n')
  const { pid } = await home.start()
  const listCall = { tools: [{ name: 'ls', input: {} }] }
  const model = home.writeScript([listCall, listCall, { ...listCall, delay_ms: LONG_MS }, listCall, { text: 'done' }])
  const uuids: string[] = []
  for (let first = 0; first < AGENTS; first += AT_ONCE) {
    const spawned = await Promise.all(Array.from({ length: AT_ONCE }, () => home.spawn({ model })))
    uuids.push(...spawned.map(({ uuid }) => uuid))
  }
  const { processes } = await home.client.get<DaemonView>('/v1/daemon')
  expect(processes).toMatchObject({ live: AGENTS, suspended: 0 })

  for (const uuid of uuids) await home.waitForEnd(uuid, WAITS)
  const views = await home.listProcesses()
  expect(views).toHaveLength(AGENTS)
  expect(views.filter(({ status, step, exit }) => status !== 'completed' || step !== 5 || exit?.code !== 0)).toEqual([])
  expect(new Set(views.map((view) => view.pid)).size).toBe(AGENTS)
  const peak = readPeakMib(pid)
  expect(peak).toBeLessThan(MAX_RSS_MIB)
  expect(peak).toBeGreaterThan(0)
  expect(await home.stop()).toEqual({ code: 0, signal: null })
  await home.waitUntilNothingIsLeft()
})
