// `reeve usage` and its API. Usage stays counted when processes are removed, collected or restored, and the sums are
// those of the processes.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { join } from 'node:path'
import { connect } from '../../../src/index.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { changeStoreFile } from '../../support/store/test-store.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { UsageBy, UsageReportView } from '../../../src/api/views/usage.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_entries: 0 }\n' })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const readReport = (groupBy: UsageBy = 'agent', since?: string): Promise<UsageReportView> =>
  daemon.client.get('/v1/usage', { by: groupBy, since })
const readUsageLines = async (...args: string[]): Promise<string[]> =>
  (await runCli(daemon.home, ['usage', ...args])).stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replaceAll(/ {2,}/g, ' | '))

/** Runs a process of two steps to its end. */
async function runWithUsage(input: number, body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  const steps = [
    { tools: [{ name: 'ls', input: {} }], usage: { input, output: 10 } },
    { text: 'done', usage: { input: 1, output: 1 } },
  ]
  const { uuid } = await daemon.spawnScripted(steps, body)
  return daemon.waitForEnd(uuid)
}

test('a new home has no usage', async () => {
  expect(await readUsageLines()).toEqual([
    'AGENT | PROCESSES | STEPS | INPUT | OUTPUT | CACHE READ | CACHE WRITE | COST',
    'TOTAL | 0 | 0 | 0 | 0 | 0 | 0 | $0.00',
  ])
})

test('usage is reported by agent, model, day and tree, with a total', async () => {
  const root = await daemon.spawnScripted([{ text: 'hello', usage: { input: 5, output: 5 } }], {
    interactive: true,
    intent: 'talk',
    name: 'root',
  })
  await daemon.waitUntilReady(root.uuid)
  await runWithUsage(100, { parent: root.uuid, name: 'child' })
  const lastProcess = await runWithUsage(3000)
  expect(await readReport()).toMatchObject({
    by: 'agent',
    since: null,
    more: 0,
    rows: [{ key: 'default', root: null, processes: 3, steps: 5, inputTokens: 3107, outputTokens: 27 }],
    total: { processes: 3, steps: 5 },
  })
  expect((await readReport('tree')).rows).toMatchObject([
    { key: lastProcess.uuid, processes: 1, steps: 2, inputTokens: 3001 },
    {
      key: root.uuid,
      processes: 2,
      steps: 3,
      inputTokens: 106,
      root: { uuid: root.uuid, pid: root.pid, name: 'root', agent: 'default', removed: false },
    },
  ])
  expect((await readReport('model')).rows.map(({ key }) => key)).toHaveLength(3)
  const today = new Date()
  expect((await readReport('day')).rows).toMatchObject([{ key: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), steps: 5 }])
  expect((await readReport('agent', new Date(today.getTime() + 7_200_000).toISOString())).rows).toEqual([])
  expect(await readUsageLines('--by', 'tree')).toEqual([
    'TREE | PROCESSES | STEPS | INPUT | OUTPUT | CACHE READ | CACHE WRITE | COST',
    `default ${lastProcess.uuid.slice(-8)} | 1 | 2 | 3.0k | 11 | 0 | 0 | $0.00`,
    `root ${root.uuid.slice(-8)} | 2 | 3 | 106 | 16 | 0 | 0 | $0.00`,
    'TOTAL | 3 | 5 | 3.1k | 27 | 0 | 0 | $0.00',
  ])
  expect(await runCli(daemon.home, ['usage', '--by', 'week'])).toMatchObject({ code: 64, stderr: expect.stringContaining('--by "week"') })
})

test('the library returns sums that equal those of the processes', async () => {
  await runWithUsage(100)
  await runWithUsage(200)
  await using reeve = connect({ home: daemon.home, start: false })
  const { processes } = await daemon.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true })
  const sum = (name: 'steps' | 'inputTokens' | 'outputTokens' | 'costUsd'): number =>
    processes.reduce((total, { usage }) => total + (usage[name] ?? NaN), 0)
  const expected = {
    processes: 2,
    steps: sum('steps'),
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    costUsd: sum('costUsd'),
  }
  expect(await reeve.usage()).toMatchObject(expected)
  expect((await reeve.usageReport({ by: 'day', since: Date.now() })).total).toMatchObject(expected)
  expect(await reeve.usage(processes[0]?.uuid)).toMatchObject({ processes: 1, steps: 2 })
})

test('a removed and restored process is counted once', async () => {
  const [keptProcess, removedProcess] = [await runWithUsage(100), await runWithUsage(200, { name: 'gone' })]
  const dir = join(daemon.work, 'backup')
  await daemon.client.post(`/v1/processes/${removedProcess.uuid}/export`, { dir })
  await daemon.client.delete(`/v1/processes/${removedProcess.uuid}`)
  const { total } = await readReport()
  expect(total).toMatchObject({ processes: 2, steps: 4, inputTokens: 302 })
  expect((await readReport('tree')).rows).toMatchObject([
    { key: removedProcess.uuid, root: { pid: removedProcess.pid, name: 'gone', removed: true } },
    { key: keptProcess.uuid },
  ])
  expect((await readUsageLines('--by', 'tree'))[1]).toMatch(/^gone \w{8} \(removed\) \|/)
  await daemon.client.post('/v1/import', { dir })
  expect((await readReport()).total).toEqual(total)
  await daemon.restart()
  expect((await readReport()).total).toEqual(total)
})

test('usage that the store cannot attribute is in no sum, and is reported', async () => {
  await using local = await LocalDaemon.start()
  await local.waitForEnd((await local.spawnScripted([{ text: 'done', usage: { input: 100, output: 10 } }])).uuid)
  await local.client.get('/v1/usage', {})
  await local.stop()
  changeStoreFile(local.paths.state, (db) => db.exec('DELETE FROM spenders'))
  await local.start()
  expect(await local.client.get('/v1/usage', {})).toMatchObject({ rows: [], unread: 1 })
  expect((await runCli(local.home, ['usage'])).stderr).toContain(
    '1 record of the store cannot be read, and is in no sum: `reeve doctor --verify` has details',
  )
})

test('usage can be grouped by two things, limited to a time or a tree, and read as a rate of the last minutes', async () => {
  const root = await daemon.spawnScripted([{ text: 'hello', usage: { input: 5, output: 5 } }], {
    interactive: true,
    intent: 'talk',
    name: 'root',
  })
  await daemon.waitUntilReady(root.uuid)
  await runWithUsage(100, { parent: root.uuid, name: 'child' })
  await runWithUsage(3000)
  await using reeve = connect({ home: daemon.home, start: false })
  const both = await reeve.usageReport({ by: 'day,agent' })
  expect([both.by, both.split]).toEqual(['day', 'agent'])
  expect(both.rows).toMatchObject([{ key: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), part: 'default', steps: 5 }])
  const every = await daemon.client.get<UsageReportView>('/v1/usage', { by: 'process', every: 'hour', under: 'root' })
  expect(every.rows.map(({ key, root: process, steps }) => [/^\d{4}-\d\d-\d\d \d\d:00$/.test(key), process?.name, steps])).toEqual([
    [true, 'child', 2],
    [true, 'root', 1],
  ])
  expect(every.under).toMatchObject({ uuid: root.uuid, name: 'root' })
  const hourAgo = Date.now() - 3_600_000
  expect((await reeve.usageReport({ until: hourAgo - 3_600_000 })).total.steps).toBe(0)
  expect((await reeve.usageReport({ since: hourAgo })).total.steps).toBe(5)
  const { total, trees } = await reeve.usageRate()
  expect(total.map(({ minutes }) => minutes)).toEqual([1, 5, 60])
  expect(total[0]?.tokens).toBeGreaterThan(3_000)
  expect(trees).toHaveLength(2)
  expect(trees.find(({ root: tree }) => tree.uuid === root.uuid)?.root.name).toBe('root')
  const lines = await readUsageLines('root')
  expect(lines[0]).toContain('PROCESS | PROCESSES | STEPS')
  expect(lines.at(-1)).toMatch(/^TOTAL \| 2 \| 3 \|/)
  expect((await readUsageLines('--by', 'day,model'))[0]).toContain('DAY | MODEL | PROCESSES')
  expect((await runCli(daemon.home, ['usage', '--by', 'day,month'])).code).toBe(64)
  expect((await runCli(daemon.home, ['usage', 'nobody'])).code).toBe(3)
})

test('usage can be grouped by the directory of the start, and by a label', async () => {
  await runWithUsage(100, { labels: { team: 'web' } })
  await runWithUsage(200, { labels: { team: 'docs' } })
  const removed = await runWithUsage(400, { labels: { team: 'docs' } })
  await daemon.client.delete(`/v1/processes/${removed.uuid}`)
  await using reeve = connect({ home: daemon.home, start: false })
  const projects = await reeve.usageReport({ by: 'project' })
  expect(projects.rows.map(({ key, inputTokens }) => [key, inputTokens])).toEqual([
    ['', 401],
    [daemon.work, 302],
  ])
  const teams = await reeve.usageReport({ by: 'day,label', label: 'team' })
  expect([teams.split, teams.label]).toEqual(['label', 'team'])
  expect(teams.rows.map(({ part, inputTokens }) => [part, inputTokens])).toEqual([
    ['', 401],
    ['docs', 201],
    ['web', 101],
  ])
  expect((await readUsageLines('--by', 'label:team'))[0]).toContain('TEAM | PROCESSES')
  for (const query of [{ by: 'label' }, { by: 'agent', label: 'team' }])
    await expect(daemon.client.get('/v1/usage', query)).rejects.toMatchObject({ code: 'INVALID' })
  expect((await runCli(daemon.home, ['usage', '--by', 'label'])).code).toBe(64)
  const web = await readUsageLines('-l', 'team=web', '--by', 'model')
  expect(web).toHaveLength(3)
  expect(web[0]).toContain('MODEL | PROCESSES')
  expect([web[1], web[2]]).toEqual([expect.stringContaining('| 101 |'), expect.stringMatching(/^TOTAL.*\| 101 \|/)])
  expect((await readUsageLines('-l', 'team')).at(-1), 'the removed process has no label any more').toMatch(/^TOTAL.*\| 302 \|/)
  expect((await readUsageLines('-l', 'team=none')).at(-1)).toMatch(/^TOTAL.*\| 0 \|/)
  expect((await readUsageLines('-l', 'team', '--by', 'agent,label:team')).at(-1)).toMatch(/^TOTAL.*\| 302 \|/)
  expect((await runCli(daemon.home, ['usage', '-l', '=web'])).code).toBe(64)
  await runWithUsage(800, { labels: { team: '' } })
  expect((await readUsageLines('-l', 'team')).at(-1), 'a label without a value').toMatch(/^TOTAL.*\| 1\.1k \|/)
  expect((await readUsageLines('-l', 'team=')).at(-1), 'only those without a value').toMatch(/^TOTAL.*\| 801 \|/)
})
